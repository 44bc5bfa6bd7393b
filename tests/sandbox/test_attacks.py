"""Programs that try to reach out of the sandbox: none has an effect outside."""

import os
import pathlib
import secrets
import signal
import socket
import tempfile
import textwrap
import threading
import time

import pytest

from budget_envs.sandbox import Limits

TRY = """
def attempt(name, action):
    try:
        action()
    except (OSError, MemoryError, RuntimeError, ValueError, ImportError):
        return
    print('BREACH:', name)
"""

DENIED = {
    "fork": "import os\nattempt('fork', os.fork)",
    "vfork and clone by number": """
        import ctypes, platform
        libc = ctypes.CDLL(None, use_errno=True)
        numbers = {'x86_64': (56, 57, 58, 435), 'aarch64': (220, 435)}[platform.machine()]
        for number in numbers:
            if libc.syscall(number, 17, 0, 0, 0, 0) >= 0: print('BREACH: clone', number)
        """,
    "fork bomb": """
        import os
        for _ in range(1000):
            attempt('fork', os.fork)
        """,
    "posix_spawn": "import os\nattempt('spawn', lambda: os.posix_spawn('/bin/true', ['t'], {}))",
    "subprocess": """
        import subprocess
        attempt('run', lambda: subprocess.run(['/bin/sh', '-c', 'id']))
        """,
    "os.system": "import os\nif os.system('true') == 0: print('BREACH: system')",
    "multiprocessing": """
        import multiprocessing
        attempt('start', multiprocessing.Process(target=print).start)
        """,
    "exec": "import os\nattempt('exec', lambda: os.execv('/bin/echo', ['echo', 'BREACH']))",
    "setsid grandchild": """
        import os
        def escape():
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    import time
                    time.sleep(30)
                os._exit(0)
        attempt('daemon', escape)
        """,
    "TCP": """
        import socket
        for kind in (socket.AF_INET, socket.AF_INET6):
            attempt('tcp', lambda: socket.socket(kind, socket.SOCK_STREAM))
        """,
    "UDP": """
        import socket
        attempt('udp', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        """,
    "unix socket": "import socket\nattempt('unix', lambda: socket.socket(socket.AF_UNIX))",
    "netlink and raw sockets": """
        import socket
        attempt('netlink', lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW))
        attempt('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
        attempt('packet', lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
        """,
    "datagram pair": """
        import socket
        attempt('pair', lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
        """,
    "DNS": "import socket\nattempt('dns', lambda: socket.getaddrinfo('example.com', 80))",
    "urllib": """
        import urllib.request
        attempt('url', lambda: urllib.request.urlopen('http://127.0.0.1/', None, 1))
        """,
    "io_uring, bpf, perf, userfaultfd, keyctl": """
        import ctypes
        libc = ctypes.CDLL(None)
        for number in (425, 426, 427, 321, 298, 323, 250, 248):
            if libc.syscall(number, 1, 0, 0, 0, 0) >= 0: print('BREACH:', number)
        """,
    "memory outside the address space": """
        import ctypes, os
        attempt('memfd', lambda: os.memfd_create('m'))
        if ctypes.CDLL(None).shmget(0, 1 << 20, 0o1600) >= 0: print('BREACH: shm')
        """,
    "namespaces and mounts": """
        import ctypes
        libc = ctypes.CDLL(None)
        for flag in (0x10000000, 0x20000, 0x40000000, 0x20000000):
            if libc.unshare(flag) == 0: print('BREACH: unshare')
        if libc.mount(b'x', b'.', b'tmpfs', 0, None) == 0: print('BREACH: mount')
        if libc.chroot(b'.') == 0: print('BREACH: chroot')
        """,
    "root": """
        import os
        for action in (os.setuid, os.setgid):
            attempt('become root', lambda: action(0))
        attempt('groups', lambda: os.setgroups([0]))
        if os.getuid() == 0 or os.geteuid() == 0: print('BREACH: is root')
        """,
    "ptrace": """
        import ctypes, os
        libc = ctypes.CDLL(None)
        for request in (0, 16, 0x4206):
            if libc.ptrace(request, os.getppid(), 0, 0) == 0: print('BREACH: ptrace')
        """,
    "memory of other processes": """
        import ctypes, os
        libc = ctypes.CDLL(None)
        buffer = ctypes.create_string_buffer(64)
        vector = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 64)
        for pid in (os.getppid(), 1):
            if libc.process_vm_readv(pid, vector, 1, vector, 1, 0) >= 0: print('BREACH: read')
            if libc.process_vm_writev(pid, vector, 1, vector, 1, 0) >= 0: print('BREACH: write')
            attempt('mem', lambda: open(f'/proc/{pid}/mem', 'rb'))
            attempt('environ', lambda: open(f'/proc/{pid}/environ', 'rb').read())
        """,
    "signals": """
        import os, signal
        targets = (os.getppid(), 1, -1, 0, os.getpid() - 1, os.getpid() + 1)
        for pid in targets:
            for number in (0, signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
                attempt(f'kill {pid}', lambda: os.kill(pid, number))
        attempt('killpg', lambda: os.killpg(0, 0))
        """,
    "signals by descriptor and by file owner": """
        import ctypes, fcntl, os
        libc = ctypes.CDLL(None)
        if libc.syscall(434, os.getppid(), 0) >= 0: print('BREACH: pidfd_open')
        reader, writer = os.pipe()
        attempt('own', lambda: fcntl.fcntl(reader, fcntl.F_SETOWN, os.getppid()))
        attempt('sig', lambda: fcntl.fcntl(reader, 10, 9))
        """,
    "tgkill of another": """
        import ctypes, os, platform
        number = {'x86_64': 234, 'aarch64': 131}[platform.machine()]
        if ctypes.CDLL(None).syscall(number, os.getppid(), os.getppid(), 9) == 0:
            print('BREACH: tgkill')
        """,
    "rights of files": """
        import os
        open('mine', 'w')
        attempt('chmod', lambda: os.chmod('mine', 0o4777))
        attempt('chown', lambda: os.chown('mine', 0, 0))
        attempt('utime', lambda: os.utime('/usr/lib', (0, 0)))
        attempt('xattr', lambda: os.setxattr('mine', 'user.x', b'x'))
        """,
    "devices, pipes and links": """
        import os
        attempt('mknod', lambda: os.mknod('null', 0o20666, os.makedev(1, 3)))
        attempt('mkfifo', lambda: os.mkfifo('fifo'))
        attempt('link', lambda: open(os.link('/etc/passwd', 'passwd') or 'passwd').read())
        attempt('symlink', lambda: open(os.symlink('/etc/passwd', 'pw') or 'pw').read())
        """,
    "secrets": """
        import os
        home = os.path.expanduser('~')
        for path in ('/etc/shadow', '/etc/hostname', '/root/.bashrc', '/root', '/home',
                     home + '/.ssh', '/proc/1/cmdline', '/proc/1/environ', '/var/log'):
            attempt(path, lambda: os.listdir(path) if os.path.isdir(path) else open(path).read())
        """,
    "writing elsewhere": """
        import os, sys
        for folder in ('/', '/tmp/..', '/var/tmp', '/dev/shm', '/usr/lib', '/etc', '/root',
                       os.path.dirname(os.__file__), '/run', '/home', '/proc/self'):
            attempt(folder, lambda: open(folder + '/planted', 'w'))
            attempt(folder, lambda: os.mkdir(folder + '/planted-dir'))
        attempt('truncate', lambda: os.truncate(os.__file__, 0))
        attempt('append', lambda: open(os.__file__, 'a'))
        attempt('unlink', lambda: os.unlink(os.__file__))
        """,
    "the terminal": """
        import fcntl
        attempt('type', lambda: fcntl.ioctl(0, 0x5412, b'x'))
        attempt('tty', lambda: open('/dev/tty', 'w'))
        """,
    "weaker limits": """
        import resource as r
        for kind in (r.RLIMIT_AS, r.RLIMIT_CPU, r.RLIMIT_FSIZE, r.RLIMIT_NOFILE, r.RLIMIT_CORE):
            hard = r.getrlimit(kind)[1]
            attempt('raise', lambda: r.setrlimit(kind, (hard + 1, hard + 1)))
        attempt('prlimit', lambda: r.prlimit(1, r.RLIMIT_AS))
        """,
    "ways around the filter": """
        import ctypes
        libc = ctypes.CDLL(None)
        for number in (57 | 0x40000000, 41 | 0x40000000):
            if libc.syscall(number, 1, 1, 0) >= 0: print('BREACH: x32')
        if libc.prctl(22, 0, 0, 0, 0) == 0 or libc.prctl(38, 0, 0, 0, 0) == 0:
            print('BREACH: prctl')
        attempt('priority', lambda: __import__('os').nice(-5))
        """,
}


@pytest.mark.parametrize("attack", DENIED)
def test_what_is_forbidden_fails(sandbox, attack):
    run = sandbox.run_program(TRY + textwrap.dedent(DENIED[attack]))
    assert (run.stdout, run.status) == ("", "ok"), run.stderr
    assert sandbox.run_program("print('next')").stdout == "next\n"


def test_an_attempt_that_is_allowed_is_seen(sandbox):
    """The probe itself works: what is allowed shows up as a breach."""
    assert sandbox.run_program(TRY + "attempt('list', lambda: 1)").stdout == "BREACH: list\n"


def test_a_listener_of_the_judge_hears_nothing(sandbox):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.05)
        port = listener.getsockname()[1]
        source = f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 1)"
        assert sandbox.run_program(source).status == "error"
        with pytest.raises(TimeoutError):
            listener.accept()


def test_a_file_of_the_judge_is_neither_read_nor_written(sandbox):
    with tempfile.NamedTemporaryFile("w+", dir="/var/tmp") as file:
        file.write("expected output")
        file.flush()
        os.chmod(file.name, 0o666)
        for action in ("open(p).read()", "open(p, 'w')", "__import__('os').unlink(p)"):
            run = sandbox.run_program(f"p = {file.name!r}\nprint({action})")
            assert (run.status, run.stdout) == ("error", "")
        assert pathlib.Path(file.name).read_text() == "expected output"


def test_a_file_in_the_current_folder_of_the_judge_is_out_of_reach(sandbox, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "expected.txt").write_text("42")
    tmp_path.chmod(0o777)
    run = sandbox.run_program(f"print(open({str(tmp_path / 'expected.txt')!r}).read())")
    assert (run.status, run.stdout) == ("error", "")


def test_killing_everything_in_reach_kills_neither_judge_nor_server(sandbox):
    source = """
        import os, signal
        for pid in [-1, 0, os.getppid(), -os.getppid(), *range(1, 400)]:
            try: os.kill(pid, signal.SIGKILL)
            except OSError: pass
        print('still here')
        """
    run = sandbox.run_program(textwrap.dedent(source))
    # its own pid may be in the range, and itself it may kill
    assert run.status in ("ok", "crash")
    assert sandbox.run_program("print('next')").stdout == "next\n"


@pytest.mark.parametrize(
    ("source", "status"),
    [
        ("import ctypes\nctypes.string_at(0)", "crash"),
        ("import os\nos.abort()", "crash"),
        ("import sys\nsys.setrecursionlimit(10 ** 9)\ndef f(): return [f()]\nf()", None),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "crash"),
        ("import signal\nsignal.raise_signal(signal.SIGTERM)", "crash"),
        ("exec('(' * 100000)", None),
    ],
    ids=["segfault", "abort", "endless recursion", "suicide", "SIGTERM", "nesting"],
)
def test_a_program_that_breaks_the_interpreter_breaks_only_its_own(sandbox, source, status):
    run = sandbox.run_program(source, limits=Limits(time_s=1))
    assert run.status not in ("ok", "lost")
    if status is not None:
        assert run.status == status
        assert run.exit_code is not None
        assert run.exit_code < 0
    assert sandbox.run_program("print('next')").stdout == "next\n"


LOOPS = {
    "loop": "while True: pass",
    "sleep": "import time\ntime.sleep(60)",
    "inside a C call": "sum(range(10 ** 15))",
    "pow": "pow(3, 10 ** 9)",
    "regular expression": "import re\nre.match(r'(a+)+$', 'a' * 40 + 'b')",
    "ignores SIGTERM and SIGXCPU": (
        "import signal\nfor s in (signal.SIGTERM, signal.SIGINT, signal.SIGXCPU, signal.SIGALRM):\n"
        "    signal.signal(s, signal.SIG_IGN)\nwhile True: pass"
    ),
    "blocks all signals": (
        "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nwhile True: pass"
    ),
    "waits for a thread": (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()"
    ),
    "closes its descriptors": "import os\nos.closerange(0, 65)\nwhile True: pass",
    "at exit": "import atexit, time\natexit.register(time.sleep, 60)",
    "reads for ever": "import os\nr, w = os.pipe()\nos.read(r, 1)",
    "many threads": (
        "import threading\ndef spin():\n    while True: pass\n"
        "for _ in range(8): threading.Thread(target=spin).start()"
    ),
}


@pytest.mark.parametrize("how", LOOPS)
def test_a_program_that_does_not_end_is_ended(sandbox, how):
    run = sandbox.run_program(LOOPS[how], limits=Limits(time_s=0.15))
    assert run.status == "timeout"
    assert sandbox.run_program("print('next')").stdout == "next\n"


def test_output_up_to_the_timeout_is_kept(sandbox):
    source = "print('so far', flush=True)\nwhile True: pass"
    assert sandbox.run_program(source, limits=Limits(time_s=0.6)).stdout == "so far\n"


@pytest.mark.parametrize(
    "source",
    [
        "x = bytearray(10 ** 11)",
        "x = []\nwhile True: x.append(bytearray(1 << 20))",
        "x = 'a' * (1 << 28)\ny = [x + str(i) for i in range(100)]",
        "import mmap\nm = []\nwhile True: m.append(mmap.mmap(-1, 1 << 26))",
    ],
)
def test_a_memory_bomb_is_stopped_at_the_limit(sandbox, source):
    run = sandbox.run_program(source, limits=Limits(memory_bytes=200 << 20))
    assert run.status in ("memory", "error")
    assert "Error" in run.stderr
    assert sandbox.run_program("print('next')").stdout == "next\n"


def test_running_out_of_memory_is_reported_as_that(sandbox):
    run = sandbox.run_program("x = bytearray(1 << 30)", limits=Limits(memory_bytes=200 << 20))
    assert run.status == "memory"


def test_a_program_may_use_the_memory_it_has(sandbox):
    run = sandbox.run_program(
        "print(len(bytearray(300 << 20)))", limits=Limits(memory_bytes=400 << 20)
    )
    assert run.stdout == f"{300 << 20}\n"


@pytest.mark.parametrize(
    "flood",
    [
        "while True: print('x' * 1000)",
        "import os\nwhile True: os.write(1, b'x' * 65536)",
        "import sys\nwhile True: sys.stdout.buffer.write(b'x' * 1000)",
    ],
)
def test_a_flood_of_output_is_stopped_while_it_comes(sandbox, flood):
    run = sandbox.run_program(flood, limits=Limits(output_bytes=10_000))
    assert (run.status, run.stdout_truncated) == ("output", True)
    assert len(run.stdout) == 10_000


def test_output_of_exactly_the_limit_is_whole(sandbox):
    run = sandbox.run_program("print('x' * 99)", limits=Limits(output_bytes=100))
    assert (run.status, run.stdout_truncated) == ("ok", False)
    assert run.stdout == "x" * 99 + "\n"


def test_one_byte_more_than_the_limit_is_too_much(sandbox):
    run = sandbox.run_program("print('x' * 100)", limits=Limits(output_bytes=100))
    assert (run.status, run.stdout) == ("output", "x" * 100)


def test_a_flood_of_errors_is_cut_and_costs_nothing_but_itself(sandbox):
    source = "import sys\nfor _ in range(1000): print('x' * 1000, file=sys.stderr)\nprint('done')"
    run = sandbox.run_program(source, limits=Limits(output_bytes=10_000))
    assert (run.status, run.stdout, len(run.stderr)) == ("ok", "done\n", 10_000)
    assert run.stderr_truncated


def test_called_functions_may_print_what_they_like(sandbox):
    source = "def f():\n    print('x' * 1_000_000)\n    return 4"
    with sandbox.open_candidate(source) as candidate:
        assert candidate.call("f") == 4
        execution = candidate.finish()
    assert (execution.status, execution.stdout_truncated) == ("ok", True)
    assert len(execution.stdout) == Limits().output_bytes


FILE_BOMBS = {
    "one large file": "f = open('f', 'wb')\nwhile True: f.write(b'x' * (1 << 20))",
    "many large files": (
        "i = 0\nwhile True:\n    i += 1\n    open(f'{i}', 'wb').write(b'x' * (1 << 19))"
    ),
    "many empty files": "i = 0\nwhile True:\n    i += 1\n    open(f'{i}', 'w')",
    "many folders": "import os\ni = 0\nwhile True:\n    i += 1\n    os.mkdir(f'{i}')",
    "a deep folder": "import os\nwhile True:\n    os.mkdir('d' * 200)\n    os.chdir('d' * 200)",
    "hidden in a deep folder": (
        "import os\nfor _ in range(100):\n    os.mkdir('d' * 200)\n    os.chdir('d' * 200)\n"
        "i = 0\nwhile True:\n    i += 1\n    open(f'{i}', 'wb').write(b'x' * (1 << 19))"
    ),
}


@pytest.mark.parametrize("how", FILE_BOMBS)
def test_files_are_bounded_and_removed(sandbox, how):
    limits = Limits(time_s=2, file_bytes=1 << 20)
    run = sandbox.run_program(FILE_BOMBS[how], limits=limits)
    assert run.status in ("output", "error", "timeout")
    after = sandbox.run_program("import os\nprint(os.listdir('.'))")
    assert after.stdout == "[]\n"


def test_folders_without_rights_are_removed(sandbox):
    source = "import os\nos.mkdir('a')\nos.mkdir('a/b')\nos.umask(0o777)\nos.mkdir('a/b/c')"
    assert sandbox.run_program(source).status == "ok"
    assert sandbox.run_program("import os\nprint(os.listdir('.'))").stdout == "[]\n"


def test_a_large_file_is_refused_by_the_kernel(sandbox):
    source = "open('f', 'wb').write(b'x' * 2_000_000)"
    run = sandbox.run_program(source, limits=Limits(file_bytes=1_000_000))
    assert "File too large" in run.stderr


def test_a_thread_bomb_ends_with_its_program(sandbox):
    source = """
        import threading, time
        threading.stack_size(1 << 16)
        started = 0
        try:
            while True:
                threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
                started += 1
        except (RuntimeError, MemoryError):
            print(started < 20000)
        """
    run = sandbox.run_program(textwrap.dedent(source), limits=Limits(time_s=5))
    assert (run.status, run.stdout) in (("ok", "True\n"), ("timeout", ""))
    assert sandbox.run_program("print('next')").stdout == "next\n"


def test_no_process_of_an_attack_survives_it(sandbox):
    marker = f"marker_{secrets.token_hex(8)}"
    source = f"""
        import os, threading, time
        try:
            import ctypes
            ctypes.CDLL(None).prctl(15, b'{marker[:15]}', 0, 0, 0)
        except OSError: pass
        for _ in range(3):
            try: os.fork()
            except OSError: pass
        threading.Thread(target=time.sleep, args=(60,)).start()
        """
    run = sandbox.run_program(textwrap.dedent(source), limits=Limits(time_s=0.3))
    assert run.status == "timeout"
    assert _processes_named(marker[:15]) == []


def test_a_process_is_found_by_its_name_while_it_lives(sandbox):
    """The search of the test above is not blind."""
    marker = f"m{secrets.token_hex(7)}"
    source = (
        f"import ctypes, time\nctypes.CDLL(None).prctl(15, b'{marker}', 0, 0, 0)\ntime.sleep(0.7)"
    )
    thread = threading.Thread(target=sandbox.run_program, args=(source,))
    thread.start()
    deadline = time.monotonic() + 0.6
    found = []
    while not found and time.monotonic() < deadline:
        found = _processes_named(marker)
    thread.join()
    assert len(found) == 1
    assert _processes_named(marker) == []


def _processes_named(name):
    found = []
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            comm = pathlib.Path(f"/proc/{pid}/comm").read_text()
        except OSError:
            continue
        if comm.strip() == name:
            found.append(int(pid))
    return found


def test_the_judges_own_signals_are_untouched(sandbox):
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGCHLD)}
    sandbox.run_program("print(1)")
    assert {number: signal.getsignal(number) for number in before} == before


def test_output_beyond_the_limit_is_noticed_also_when_the_program_is_over_at_once(sandbox):
    source = "import os\nos.write(1, b'x' * 2000)\nos._exit(0)"
    for _ in range(20):
        run = sandbox.run_program(source, limits=Limits(output_bytes=1000))
        assert (run.status, len(run.stdout)) == ("output", 1000)


def test_a_program_cannot_take_back_what_is_said_of_it(sandbox):
    """Without the mark that it was confined a run is void, and void is better than wrong."""
    source = """
        import os
        for number in range(16):
            try: os.read(os.open(f'/proc/self/fd/{number}', os.O_RDONLY | os.O_NONBLOCK), 100)
            except OSError: pass
        raise SystemExit(1)
        """
    assert sandbox.run_program(textwrap.dedent(source)).status == "error"


def test_a_program_stopped_before_it_began_is_a_timeout(sandbox):
    for time_s in (1e-6, 1e-4, 1e-3, 2e-3):
        assert (
            sandbox.run_program("while True: pass", limits=Limits(time_s=time_s)).status
            == "timeout"
        )
    assert sandbox.run_program("print('next')").stdout == "next\n"
