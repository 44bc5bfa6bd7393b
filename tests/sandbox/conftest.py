"""The tiers that run here, each as one sandbox for the whole session, and a Docker engine."""

import glob
import io
import os
import secrets
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import pytest

from budget_envs.sandbox import Limits, SandboxUnavailable, landlock, open_sandbox, process
from budget_envs.sandbox import docker as docker_tier
from budget_envs.sandbox.boot import server_command
from budget_envs.sandbox.pool import PooledSandbox

IMAGE = "budget-envs-test-python:latest"
TIERS = ("process", "process-unprivileged", "bubblewrap", "docker")


@pytest.fixture(scope="session", autouse=True)
def private_temporary_folder():
    """A folder for temporary files that is this session's alone, and open to other users."""
    with tempfile.TemporaryDirectory(prefix="budget-envs-tests-", dir="/tmp") as folder:
        os.chmod(folder, 0o777)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tempfile, "tempdir", folder)
            yield folder


def launch_unprivileged():
    """Start a process worker as on the machine of a user who is not root."""
    uid = process.next_uid()
    config = {
        "filters": process.server_filters(os.uname().machine),
        "uid": None,
        "processes": None,
        "root": os.path.join(tempfile.gettempdir(), f"budget-envs-{secrets.token_hex(8)}"),
        "make_root": True,
        "landlock": True,
        "follow_parent": False,
    }
    command = server_command(process.find_python(uid), local=True)
    return process.start_local_worker(command, config, "", user=uid)


def open_tier(tier, workers=1, limits=None):
    if tier == "process-unprivileged":
        return PooledSandbox("process", launch_unprivileged, workers, limits or Limits())
    return open_sandbox(tier, workers, limits, image=IMAGE)


def require_tier(tier, request):
    """Skip, and say why, where a tier's software is missing; where it is there it has to work."""
    if tier.startswith("process"):
        if not sys.platform.startswith("linux") or landlock.abi_version() == 0:
            pytest.skip("the process tier needs a Linux kernel with Landlock")
        if tier == "process-unprivileged" and os.geteuid() != 0:
            pytest.skip("the tests do not run as root: the process tier is the unprivileged one")
    elif tier == "bubblewrap" and shutil.which("bwrap") is None:
        pytest.skip("bwrap is not installed (apt-get install bubblewrap)")
    elif tier == "docker":
        request.getfixturevalue("docker_engine")


@pytest.fixture(scope="session", params=TIERS)
def sandbox(request):
    """One open sandbox per tier: what one test does to it, the next ones would feel."""
    require_tier(request.param, request)
    with open_tier(request.param) as opened:
        yield opened


@pytest.fixture(params=TIERS)
def open_fresh(request):
    """A function that opens a sandbox of the tier for this test alone."""
    require_tier(request.param, request)
    opened = []

    def open_one(**settings):
        opened.append(open_tier(request.param, **settings))
        return opened[-1]

    open_one.tier, open_one.image, open_one.opened = request.param, IMAGE, opened
    yield open_one
    for one in opened:
        one.close()


@pytest.fixture(scope="session")
def docker_engine(tmp_path_factory):
    """An engine with a small Python image: the one that answers, else one started here."""
    pytest.importorskip("docker", reason="the docker SDK is not installed")
    if _engine_answers():
        yield from _with_image()
        return
    if shutil.which("dockerd") is None:
        pytest.skip("no Docker engine answers and dockerd is not installed")
    if os.geteuid() != 0:
        pytest.skip("no Docker engine answers and only root can start one")
    with pytest.MonkeyPatch.context() as patch:
        yield from _started_engine(patch)


def _engine_answers():
    try:
        docker_tier.connect().close()
    except SandboxUnavailable:
        return False
    return True


def _started_engine(patch):
    # In /var/tmp: the images' layers need a file system that can be overlaid.
    home = Path(tempfile.mkdtemp(prefix="budget-envs-engine-", dir="/var/tmp"))
    address = f"unix://{home}/docker.sock"
    command = ["dockerd", "--host", address, "--data-root", f"{home}/images"]
    command += ["--exec-root", f"{home}/exec", "--pidfile", f"{home}/docker.pid"]
    command += ["--iptables=false", "--ip6tables=false", "--bridge=none", "--log-level=warn"]
    log = home / "log"
    with log.open("w") as file:
        engine = subprocess.Popen(command, stdout=file, stderr=file, start_new_session=True)
    try:
        patch.setenv("DOCKER_HOST", address)
        deadline = time.monotonic() + 30
        while not _engine_answers():
            if engine.poll() is not None or time.monotonic() > deadline:
                pytest.skip(f"dockerd is installed but does not start: {log.read_text()[-500:]}")
            time.sleep(0.05)
        yield from _with_image()
    finally:
        engine.terminate()
        engine.wait(30)
        shutil.rmtree(home, ignore_errors=True)


def _with_image():
    engine = docker_tier.connect()
    if not engine.images(IMAGE, quiet=True):
        engine.import_image_from_data(_python_root(), *IMAGE.split(":"))
    yield engine
    engine.close()


def _python_root():
    """Return a tar file of this machine's Python and the libraries it needs, nothing else."""
    uid = 65534 if os.geteuid() == 0 else None
    script = "import os, sys; print(os.path.realpath(sys.executable), os.path.dirname(os.__file__))"
    python, library = subprocess.run(
        [process.find_python(uid), "-S", "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    modules = [python, *glob.glob(f"{library}/lib-dynload/*.so")]
    listing = subprocess.run(["ldd", *modules], capture_output=True, text=True, check=True).stdout
    shared = {word for word in listing.split() if word.startswith("/") and word[-1] != ":"}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", dereference=True) as tar:
        for path in sorted(shared):
            tar.add(path)
        tar.add(python)
        tar.add(library, filter=_without_tests)
        if python != "/usr/bin/python3":
            link = tarfile.TarInfo("usr/bin/python3")
            link.type, link.linkname = tarfile.SYMTYPE, python
            tar.addfile(link)
    return packed.getvalue()


def _without_tests(member):
    skipped = {"test", "idlelib", "ensurepip", "lib2to3", "tkinter", "config-3.11"}
    return None if skipped.intersection(member.name.split("/")) else member
