"""What only a container has: the engine's own limits, a label, and a reaper."""

import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from budget_envs.sandbox import Limits, candidate, docker, open_sandbox

IMAGE = "budget-envs-test-python:latest"


@pytest.fixture
def opened(docker_engine):
    with open_sandbox("docker", limits=Limits(memory_bytes=200 << 20), image=IMAGE) as sandbox:
        yield sandbox


def ours(engine):
    """Return the containers of this process."""
    owner = docker._owner(os.getpid())
    return [
        container
        for container in engine.containers(all=True, filters={"label": docker.LABEL})
        if container["Labels"][docker.LABEL] == owner
    ]


def test_a_container_is_locked_down(docker_engine, opened):
    before = {container["Id"] for container in ours(docker_engine)}
    assert len(before) >= 1
    facts = docker_engine.inspect_container(ours(docker_engine)[0]["Id"])
    host = facts["HostConfig"]
    assert host["NetworkMode"] == "none"
    assert host["ReadonlyRootfs"] is True
    assert host["CapDrop"] == ["ALL"]
    assert host["SecurityOpt"] == ["no-new-privileges:true"]
    assert host["PidsLimit"] <= 100
    assert host["NanoCpus"] == 10**9
    assert host["Memory"] == host["MemorySwap"] == (200 << 20) + (32 << 20) + (64 << 20)
    assert host["AutoRemove"] is True
    assert host["Privileged"] is False
    assert host["Binds"] in (None, [])
    assert facts["Config"]["User"] == "10001:10001"
    assert not any("canary" in variable for variable in facts["Config"]["Env"])


def test_no_folder_of_the_image_can_be_written_to(opened):
    source = """
import os
for path in ('/', '/usr', '/dev/shm', '/dev', '/home', '/var/tmp', '/proc'):
    try: open(path + '/planted', 'w'); print(path)
    except OSError: pass
print(os.getuid())
"""
    assert opened.run_program(source).stdout == "10001\n"


def test_closing_removes_the_containers_at_once(docker_engine):
    before = len(ours(docker_engine))
    sandbox = open_sandbox("docker", workers=2, image=IMAGE)
    first, second = (sandbox.open_candidate("x = 1") for _ in range(2))
    assert len(ours(docker_engine)) == before + 2
    first.finish()
    second.finish()
    sandbox.close()
    assert len(ours(docker_engine)) == before


def test_a_container_killed_from_outside_is_replaced(docker_engine, opened):
    known = {container["Id"] for container in ours(docker_engine)}
    assert opened.run_program("print(1)").status == "ok"
    for container in known:
        docker_engine.kill(container)
    # The engine may tell of its death only while the next program runs, which then is lost.
    assert opened.run_program("print(1)").status in ("ok", "lost")
    assert opened.run_program("print(2)").stdout == "2\n"
    assert known.isdisjoint(container["Id"] for container in ours(docker_engine))


def test_an_interrupt_while_a_container_starts_leaves_none(docker_engine, monkeypatch):
    before = {container["Id"] for container in ours(docker_engine)}  # some may be going just now
    for step in ("_AttachedStream", "check_confinement"):

        def interrupt(*_):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(docker, step, interrupt)
            with pytest.raises(KeyboardInterrupt):
                open_sandbox("docker", image=IMAGE)
        assert {container["Id"] for container in ours(docker_engine)} <= before


def make_container(engine, owner):
    name = f"budget-envs-test-{time.monotonic_ns()}"
    engine.create_container(IMAGE, ["python3", "-c", "0"], name=name, labels={docker.LABEL: owner})
    return name


def exists(engine, name):
    return bool(engine.containers(all=True, filters={"name": name}))


@pytest.fixture
def a_dead_process():
    process = subprocess.Popen([sys.executable, "-c", "0"])
    owner = docker._owner(process.pid)
    process.wait()
    return owner


def test_the_reaper_removes_what_a_dead_process_left(docker_engine, a_dead_process):
    name = make_container(docker_engine, a_dead_process)
    assert docker.remove_stale_containers() >= 1
    assert not exists(docker_engine, name)


def test_opening_a_sandbox_reaps_first(docker_engine, a_dead_process):
    name = make_container(docker_engine, a_dead_process)
    open_sandbox("docker", image=IMAGE).close()
    assert not exists(docker_engine, name)


@pytest.mark.parametrize(
    "owner",
    [
        docker._owner(os.getpid()),
        docker._owner(os.getppid()),
        docker._owner(os.getpid()).replace(socket.gethostname(), "another-machine"),
        "unreadable",
        "a/b/c/d",
    ],
    # Every process that collects the tests must give them the same names.
    ids=["this process", "its parent", "another machine", "unreadable", "of another form"],
)
def test_the_reaper_leaves_what_is_alive_elsewhere_or_unreadable(docker_engine, owner):
    name = make_container(docker_engine, owner)
    docker.remove_stale_containers()
    assert exists(docker_engine, name)
    docker_engine.remove_container(name, force=True)


def test_a_reused_pid_is_another_process(docker_engine):
    host, boot, pid, start = docker._owner(os.getpid()).split("/")
    name = make_container(docker_engine, f"{host}/{boot}/{pid}/{int(start) - 1}")
    docker.remove_stale_containers()
    assert not exists(docker_engine, name)


def test_an_earlier_boot_is_a_dead_process():
    host, _, pid, start = docker._owner(os.getpid()).split("/")
    assert docker._is_stale(f"{host}/another-boot/{pid}/{start}")


def test_a_stopped_server_is_noticed_by_the_judges_own_deadline(docker_engine, opened, monkeypatch):
    """The SDK's timeout does not hold on an attached stream; ours does."""
    monkeypatch.setattr(candidate, "GRACE_S", 0.5)
    (worker,) = opened._pool.workers
    newest = max(ours(docker_engine), key=lambda container: container["Created"])
    os.kill(docker_engine.inspect_container(newest["Id"])["State"]["Pid"], signal.SIGSTOP)
    execution = opened.run_program("print(1)", limits=Limits(time_s=0.2, memory_bytes=1 << 20))
    assert execution.status == "lost"
    assert worker.is_lost
    assert opened.run_program("print(2)").stdout == "2\n"
