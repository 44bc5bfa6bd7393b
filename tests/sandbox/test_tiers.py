import io
import os
import sys
import tarfile

import pytest

from budget_envs import sandbox as package
from budget_envs.errors import DependencyNotInstalled, OptionError
from budget_envs.sandbox import (
    TIERS,
    SandboxUnavailable,
    available,
    bubblewrap,
    docker,
    landlock,
    open_sandbox,
    process,
    tiers,
)
from budget_envs.sandbox.worker import Worker


@pytest.fixture
def nothing_works(monkeypatch):
    """Every tier misses what it needs; what a test adds to it works."""

    def missing(name):
        def launch(*_):
            raise SandboxUnavailable(f"{name} is missing. Run: install {name}")

        return launch

    monkeypatch.setattr(process, "launch_process_worker", missing("landlock"))
    monkeypatch.setattr(bubblewrap, "launch_bubblewrap_worker", missing("bwrap"))
    monkeypatch.setattr(docker, "remove_stale_containers", missing("docker"))
    return monkeypatch


def fake_worker(*_):
    return Worker(FakeStream(), local=True, end=lambda: None)


class FakeStream:
    def close(self):
        pass


def test_auto_takes_the_strongest_tier_that_works(nothing_works):
    nothing_works.setattr(process, "launch_process_worker", fake_worker)
    assert open_sandbox("auto").tier == "process"
    nothing_works.setattr(bubblewrap, "launch_bubblewrap_worker", fake_worker)
    assert open_sandbox("auto").tier == "bubblewrap"
    nothing_works.setattr(docker, "remove_stale_containers", lambda: 0)
    nothing_works.setattr(docker, "launch_docker_worker", fake_worker)
    assert open_sandbox("auto").tier == "docker"
    assert open_sandbox().tier == "docker"


def test_auto_without_any_tier_says_what_each_of_them_needs(nothing_works):
    with pytest.raises(SandboxUnavailable) as caught:
        open_sandbox("auto")
    for name in ("landlock", "bwrap", "docker"):
        assert f"Run: install {name}" in str(caught.value)


@pytest.mark.parametrize("tier", TIERS)
def test_a_tier_that_is_missing_is_never_replaced_by_another(nothing_works, tier):
    for other in (process, bubblewrap):
        name = f"launch_{other.__name__.rpartition('.')[2]}_worker"
        if tier not in name:
            nothing_works.setattr(other, name, fake_worker)
    with pytest.raises(SandboxUnavailable, match="is missing"):
        open_sandbox(tier)


def test_available_says_why_a_tier_is_not(nothing_works):
    nothing_works.setattr(process, "launch_process_worker", fake_worker)
    reasons = available()
    assert list(reasons) == list(TIERS)
    assert reasons["process"] is None
    assert "Run: install bwrap" in reasons["bubblewrap"]


def test_an_unknown_tier_gets_the_nearest_name():
    with pytest.raises(OptionError, match="Did you mean 'bubblewrap'"):
        open_sandbox("bubble-wrap")


def test_a_missing_bwrap_names_the_install_line(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxUnavailable, match="apt-get install bubblewrap"):
        open_sandbox("bubblewrap")


def test_a_missing_sdk_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "docker", None)
    with pytest.raises((DependencyNotInstalled, ImportError)) as caught:
        open_sandbox("docker")
    assert 'pip install "budget-envs[sandbox]"' in str(caught.value)


def test_an_absent_engine_names_the_install_line(monkeypatch, tmp_path):
    pytest.importorskip("docker", reason="the docker SDK is not installed")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    with pytest.raises(SandboxUnavailable, match=r"apt-get install docker\.io"):
        open_sandbox("docker")


def test_a_missing_image_names_the_command_that_brings_it(docker_engine):
    with pytest.raises(SandboxUnavailable, match=r"docker pull no/such:image"):
        open_sandbox("docker", image="no/such:image")


def test_the_image_can_be_named_in_the_environment(docker_engine, monkeypatch):
    monkeypatch.setenv(docker.IMAGE_VARIABLE, "no/such:image")
    with pytest.raises(SandboxUnavailable, match=r"docker pull no/such:image"):
        open_sandbox("docker")


def test_an_image_without_python_is_unavailable_and_leaves_no_container(docker_engine):
    packed = io.BytesIO()
    tarfile.open(fileobj=packed, mode="w").close()
    docker_engine.import_image_from_data(packed.getvalue(), "empty", "latest")
    with pytest.raises(SandboxUnavailable):
        open_sandbox("docker", image="empty:latest")
    assert docker_engine.containers(all=True, filters={"ancestor": "empty:latest"}) == []
    docker_engine.remove_image("empty:latest")


def test_a_kernel_without_landlock_is_refused_and_others_are_named(monkeypatch):
    monkeypatch.setattr(process, "server_command", without_landlock)
    with pytest.raises(SandboxUnavailable, match=r"Landlock.*apt-get install bubblewrap"):
        process.launch_process_worker()


def without_landlock(python, local):
    """The server's command, on a kernel that answers as if it had no Landlock."""
    command = package.boot.server_command(python, local)
    boot = command[command.index("-c") + 1]
    patched = boot.replace(
        'module.main(mode == "local")',
        'import ctypes, os\npackage.landlock._CREATE_RULESET = 1023\nmodule.main(mode == "local")',
    )
    return [patched if part == boot else part for part in command]


@pytest.mark.parametrize("open_fresh", ["bubblewrap"], indirect=True)
def test_bubblewrap_does_without_landlock(open_fresh, monkeypatch):
    monkeypatch.setattr(bubblewrap, "server_command", without_landlock)
    sandbox = open_fresh()
    source = "import os\nfor p in ('/etc/passwd', '/root', '/var'): print(os.path.exists(p))"
    assert sandbox.run_program(source).stdout == "False\n" * 3
    assert sandbox.run_program("open('/planted', 'w')").status == "error"
    assert sandbox.run_program("open('/usr/planted', 'w')").status == "error"
    source = """
import os, time
time.sleep(0.05)  # the child of the next run is there now, beside the server and the forking one
others = [pid for pid in os.listdir('/proc') if pid.isdecimal() and int(pid) != os.getpid()]
for pid in others:
    for name, mode in (('mem', 'rb'), ('mem', 'r+b'), ('environ', 'rb'), ('maps', 'rb')):
        try: print('BREACH', pid, name, open(f'/proc/{pid}/{name}', mode))
        except PermissionError: pass
print(len(others))
"""
    assert sandbox.run_program(source).stdout == "3\n"


def test_an_unknown_machine_is_refused(monkeypatch):
    real = os.uname()
    monkeypatch.setattr(os, "uname", lambda: os.uname_result((*real[:4], "riscv64")))
    with pytest.raises(SandboxUnavailable, match="riscv64"):
        open_sandbox("process")


def test_another_operating_system_is_pointed_to_docker(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SandboxUnavailable, match="docker"):
        open_sandbox("process")


def test_a_leak_in_the_confinement_is_found_at_the_start(monkeypatch):
    """A server whose filter lets everything through is not used."""
    allow_all = b"\x06\0\0\0\0\0\xff\x7f"
    monkeypatch.setattr(
        process,
        "server_filters",
        lambda *machines: {os.uname().machine: (allow_all, allow_all, ())},
    )
    with pytest.raises(SandboxUnavailable, match="does not isolate") as caught:
        process.launch_process_worker()
    assert "make sockets" in str(caught.value)


def test_landlock_reports_a_version():
    assert landlock.abi_version() >= 0


@pytest.mark.skipif(not os.path.exists("/usr/bin/python3"), reason="no /usr/bin/python3 here")
def test_no_interpreter_in_a_private_folder_is_used_for_another_user(monkeypatch, tmp_path):
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    (private / "python").write_bytes(b"")
    (private / "python").chmod(0o755)
    monkeypatch.setattr(sys, "_base_executable", str(private / "python"))
    assert process.find_python(None) == str(private / "python")
    assert process.find_python(60600) == "/usr/bin/python3"


def test_tiers_are_listed_strongest_first():
    assert tiers.TIERS == ("docker", "bubblewrap", "process")
