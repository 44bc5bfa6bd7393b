"""What a normal interpreter does with a program, the sandbox does too."""

import subprocess
import sys
import textwrap

import pytest

from budget_envs.sandbox import Limits


def run(sandbox, source, stdin="", **limits):
    return sandbox.run_program(textwrap.dedent(source), stdin, Limits(**limits))


HONEST = {
    "input and print": ("a, b = map(int, input().split())\nprint(a + b)", "3 4\n"),
    "missing trailing newline": ("print(input() + input())", "first\nlast"),
    "no newline at the end of the output": ("print('x', end='')", ""),
    "main guard": (
        "def main():\n    print('main')\nif __name__ == '__main__':\n    main()",
        "",
    ),
    "sys.exit with 0": ("import sys\nprint('done')\nsys.exit(0)\nprint('no')", ""),
    "sys.exit without a code": ("import sys\nprint('done')\nsys.exit()", ""),
    "exit without import": ("print('done')\nexit()", ""),
    "quit without import": ("print('done')\nquit(0)", ""),
    "os._exit after a flush": ("import os\nprint('done', flush=True)\nos._exit(0)", ""),
    "sys.stdin.buffer": (
        "import sys\nprint(sum(map(int, sys.stdin.buffer.read().split())))",
        "1 2\n3",
    ),
    "sys.stdin lines": ("import sys\nfor line in sys.stdin:\n    print(repr(line))", "a\nb"),
    "readlines": ("import sys\nprint(sys.stdin.readlines())", "a\nb\n"),
    "open(0)": ("print(open(0).read().split())", "1 2 3"),
    "open /dev/stdin": ("print(open('/dev/stdin').read())", "abc"),
    "os.read of stdin": ("import os\nprint(os.read(0, 100))", "abc"),
    "fast input": (
        "import sys, io, os\ninput = io.BytesIO(os.read(0, os.fstat(0).st_size)).readline\n"
        "print(int(input()) + int(input()))",
        "20\n22\n",
    ),
    "sys.stdout.write": ("import sys\nsys.stdout.write('a\\n')\nsys.stdout.write('b')", ""),
    "sys.stdout.buffer": ("import sys\nsys.stdout.buffer.write(b'bytes\\n')", ""),
    "print flushed at exit": ("print('x' * 100)", ""),
    "replaced stdout": (
        "import sys, io\nsys.stdout = io.StringIO()\nprint('lost')\n"
        "sys.__stdout__.write(sys.stdout.getvalue())",
        "",
    ),
    "file left open on stdout": ("out = open(1, 'w', closefd=False)\nout.write('kept')", ""),
    "atexit": ("import atexit\natexit.register(print, 'last')\nprint('first')", ""),
    "destructor at exit": (
        "class Loud:\n    def __del__(self):\n        print('bye')\nloud = Loud()",
        "",
    ),
    "unicode": ("print(input()[::-1], '\\u00e9\\u4e2d\\U0001f600')", "h\u00e9llo"),
    "huge integers": ("print(3 ** 5000 % 10 ** 9, len(bin(7 ** 40000)))", ""),
    "digits beyond the limit": (
        "import sys\nsys.set_int_max_str_digits(0)\nprint(len(str(7 ** 40000)))",
        "",
    ),
    "recursion just under the limit": (
        "def f(n):\n    return 0 if n == 0 else 1 + f(n - 1)\nprint(f(995))",
        "",
    ),
    "deep recursion": (
        "import sys\nsys.setrecursionlimit(10 ** 6)\n"
        "def f(n):\n    return 0 if n == 0 else 1 + f(n - 1)\nprint(f(100000))",
        "",
    ),
    "recursion in a big thread": (
        "import sys, threading\nsys.setrecursionlimit(10 ** 6)\nthreading.stack_size(1 << 26)\n"
        "def f(n):\n    return 0 if n == 0 else 1 + f(n - 1)\n"
        "threading.Thread(target=lambda: print(f(50000))).start()",
        "",
    ),
    "thread outlives the main program": (
        "import threading, time\n"
        "def late():\n    time.sleep(0.05)\n    print('late')\n"
        "threading.Thread(target=late).start()\nprint('early')",
        "",
    ),
    "thread pool": (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(4) as pool:\n    print(list(pool.map(str, range(5))))",
        "",
    ),
    "asyncio": (
        "import asyncio\nasync def main():\n    await asyncio.sleep(0.01)\n    print('async')\n"
        "asyncio.run(main())",
        "",
    ),
    "own signal handler": (
        "import os, signal\nsignal.signal(signal.SIGUSR1, lambda *_: print('caught'))\n"
        "os.kill(os.getpid(), signal.SIGUSR1)",
        "",
    ),
    "alarm": (
        "import signal, time\nsignal.signal(signal.SIGALRM, lambda *_: print('rang'))\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.01)\ntime.sleep(0.1)",
        "",
    ),
    "files in the working directory": (
        "import os\nos.mkdir('d')\nwith open('d/f', 'w') as f:\n    f.write('text')\n"
        "print(open('d/f').read(), os.listdir('.'))\nos.rename('d/f', 'g')\nos.remove('g')",
        "",
    ),
    "tempfile": (
        "import tempfile\nwith tempfile.TemporaryFile() as f:\n    f.write(b'x')\n    f.seek(0)\n"
        "    print(f.read())",
        "",
    ),
    "many modules": (
        "import collections, dataclasses, datetime, decimal, enum, fractions, hashlib, sqlite3\n"
        "import statistics, string, uuid, heapq, numbers, array, pprint, textwrap, queue, zlib\n"
        "@dataclasses.dataclass\nclass P:\n    x: int\n"
        "print(P(1), hashlib.sha256(b'').hexdigest()[:8], fractions.Fraction(1, 3))",
        "",
    ),
    "raise the stack limit": (
        "import resource\nresource.setrlimit(resource.RLIMIT_STACK, "
        "(resource.getrlimit(resource.RLIMIT_STACK)[1],) * 2)\nprint('ok')",
        "",
    ),
    "own recursion limit untouched by ours": (
        "def f():\n    return f()\ntry:\n    f()\nexcept RecursionError:\n    print('caught')",
        "",
    ),
    "windows line ends": ("def f():\r\n    return 1\r\nprint(f())\r\n", ""),
    "name and file": ("print(__name__)", ""),
    "class pickles itself": (
        "import pickle\nclass A:\n    pass\nprint(type(pickle.loads(pickle.dumps(A()))).__name__)",
        "",
    ),
    "set order repeats": ("print({'b', 'a', 'c'} == {'a', 'b', 'c'})", ""),
    "locale-free bytes": (
        "import sys\nprint(sys.stdout.encoding, sys.getfilesystemencoding())",
        "",
    ),
}


@pytest.mark.parametrize("name", HONEST)
def test_a_program_prints_what_it_prints_in_a_normal_interpreter(sandbox, name, tmp_path):
    source, stdin = HONEST[name]
    ours = sandbox.run_program(source, stdin)
    (tmp_path / "stdin").write_text(stdin, "utf-8")
    (tmp_path / "empty").mkdir()
    with (tmp_path / "stdin").open() as file:
        normal = subprocess.run(
            [sys.executable, "-X", "utf8", "-c", source],
            stdin=file,
            capture_output=True,
            cwd=tmp_path / "empty",
            check=False,
        )
    assert (ours.status, ours.stderr) == ("ok", normal.stderr.decode())
    assert ours.stdout == normal.stdout.decode()


FAILING = {
    "an exception": ("print('right')\nraise ValueError('no')", 1),
    "exit code": ("print('right')\nimport sys\nsys.exit(3)", 3),
    "exit code above a byte": ("import sys\nsys.exit(258)", 2),
    "exit message": ("import sys\nsys.exit('why')", 1),
    "True": ("import sys\nsys.exit(True)", 1),
    "os._exit": ("import os\nprint('right', flush=True)\nos._exit(7)", 7),
    "input at the end of the input": ("input()", 1),
    "syntax": ("print('right'\n", 1),
    "unflushable output": ("import os\nprint('right')\nos.close(1)", 120),
    "undecodable name": ("undefined", 1),
    "interrupt": ("raise KeyboardInterrupt", 130),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_program_that_does_not_end_well_is_an_error_with_its_exit_code(sandbox, name):
    source, code = FAILING[name]
    execution = sandbox.run_program(source)
    assert (execution.status, execution.exit_code) == ("error", code)


def test_a_traceback_shows_the_candidates_lines_and_nothing_of_ours(sandbox):
    execution = run(sandbox, "def f(x):\n    return 1 / x\n\nf(0)\n")
    assert execution.stderr.splitlines()[:4] == [
        "Traceback (most recent call last):",
        '  File "main.py", line 4, in <module>',
        "    f(0)",
        '  File "main.py", line 2, in f',
    ]
    assert execution.stderr.endswith("ZeroDivisionError: division by zero\n")
    assert "runner" not in execution.stderr


def test_a_chained_exception_shows_its_cause(sandbox):
    execution = run(sandbox, "try:\n    {}['k']\nexcept KeyError:\n    raise ValueError('v')\n")
    assert "KeyError: 'k'" in execution.stderr
    assert "During handling of the above exception" in execution.stderr


def test_a_syntax_error_points_at_the_line(sandbox):
    execution = run(sandbox, "x = 1\nif x\n    pass\n")
    assert 'File "main.py", line 2' in execution.stderr
    assert "SyntaxError" in execution.stderr


def test_an_excepthook_of_the_program_is_used(sandbox):
    execution = run(sandbox, "import sys\nsys.excepthook = lambda *e: print('hook')\n1 / 0\n")
    assert (execution.status, execution.stdout) == ("error", "hook\n")


def test_an_error_whose_text_cannot_be_made_is_still_an_error(sandbox):
    source = "class E(Exception):\n    def __str__(self):\n        raise E\nraise E\n"
    assert run(sandbox, source).status == "error"


def test_stdin_is_empty_by_default_and_never_the_judges_own(sandbox):
    execution = run(sandbox, "import sys\nprint(repr(sys.stdin.read()))")
    assert execution.stdout == "''\n"


def test_a_large_stdin_arrives_whole(sandbox):
    stdin = "".join(f"{i}\n" for i in range(200_000))
    execution = run(sandbox, "import sys\nprint(sum(map(int, sys.stdin)))", stdin)
    assert execution.stdout == f"{sum(range(200_000))}\n"


def test_a_program_need_not_read_its_stdin(sandbox):
    assert run(sandbox, "print('ok')", "x" * 1_000_000).stdout == "ok\n"


def test_undecodable_output_is_shown_with_replacement_characters(sandbox):
    execution = run(sandbox, "import os\nos.write(1, b'a\\xff\\xfeb')")
    assert (execution.status, execution.stdout) == ("ok", "a\ufffd\ufffdb")


def test_the_environment_is_empty_and_the_directory_private(sandbox):
    source = "import os\nprint(dict(os.environ), os.listdir('.'), os.access('.', os.W_OK))"
    assert run(sandbox, source).stdout == "{} [] True\n"


def test_stderr_comes_after_what_was_printed_before_it(sandbox):
    execution = run(sandbox, "import sys\nprint('note', file=sys.stderr)\n1 / 0")
    assert execution.stderr.startswith("note\nTraceback")


def test_a_set_of_strings_has_one_order_in_every_run_and_worker(open_fresh):
    source = "print(list({'a', 'b', 'c', 'd', 'e', 'f', 'g'}))"
    printed = {open_fresh().run_program(source).stdout for _ in range(3)}
    assert len(printed) == 1


def test_random_numbers_differ_from_run_to_run(sandbox):
    source = "import random\nprint(random.random())"
    assert len({sandbox.run_program(source).stdout for _ in range(5)}) == 5
