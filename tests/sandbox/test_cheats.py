"""Programs that try to pass without being right: every one of them scores nothing."""

import gc
import secrets
import textwrap

import pytest

from budget_envs.sandbox import Call, CandidateError, Limits, NotPlainError, Reference, codec

CANARY = "canary-" + secrets.token_hex(16)
"""What a judge would hold: the expected output of a hidden test."""


def is_right(sandbox, source, inputs, expected, name="f"):
    """Judge as the design says: by value and exact type, the exact number, a clean end."""
    run = sandbox.run_calls(textwrap.dedent(source), [Call(name, (i,)) for i in inputs])
    if run.execution.status != "ok" or len(run.results) != len(expected):
        return False
    pairs = zip(run.results, expected, strict=True)
    return all(
        r.status == "ok" and type(r.value) is type(e) and bool(r.value == e) for r, e in pairs
    )


def prints(sandbox, source, expected):
    run = sandbox.run_program(textwrap.dedent(source))
    return run.status == "ok" and run.stdout == expected


def test_an_honest_function_is_right(sandbox):
    assert is_right(sandbox, "def f(x):\n    return x * x", [2, 3], [4, 9])


def test_a_wrong_function_is_not(sandbox):
    assert not is_right(sandbox, "def f(x):\n    return x + 2", [2, 3], [4, 9])


def always_equal(base):
    """Source of a subclass that equals everything, and hashes like its base."""
    return (
        f"class Yes({base}):\n"
        "    def __eq__(self, other): return True\n"
        "    def __ne__(self, other): return False\n"
        f"    __hash__ = {base}.__hash__\n"
    )


ALWAYS_EQUAL = {
    **{base: always_equal(base) for base in ("object", "int", "str", "float", "list")},
    **{base: always_equal(base) for base in ("tuple", "dict", "set", "frozenset", "bytes")},
    "metaclass": (
        "class Meta(type):\n    def __eq__(self, o): return True\n    __hash__ = type.__hash__\n"
        "    __instancecheck__ = lambda *a: True\n    __subclasscheck__ = lambda *a: True\n"
        "class Yes(metaclass=Meta): pass\n"
    ),
    "lying about its class": (
        "class Yes:\n    __class__ = int\n    def __eq__(self, other): return True\n"
    ),
    "lying about its type": (
        "import builtins\nclass Yes(int):\n    def __eq__(self, o): return True\n"
        "    __hash__ = int.__hash__\n"
        "real = type\nbuiltins.type = lambda x, *a: int if real(x) is Yes else real(x, *a)\n"
    ),
}


@pytest.mark.parametrize("kind", ALWAYS_EQUAL)
def test_an_object_that_equals_everything_does_not_cross(sandbox, kind):
    places = ["Yes()", "[Yes()]", "{'k': Yes()}", "(Yes(),)", "{1: [(Yes(),)]}"]
    source = ALWAYS_EQUAL[kind] + f"def f(x):\n    return [{', '.join(places)}][x]\n"
    calls = [Call("f", (place,)) for place in range(len(places))]
    for result in sandbox.run_calls(source, calls).results:
        assert all(type(part) in codec.PLAIN_TYPES for part in _parts(result.value))
    for place in range(len(places)):
        assert not is_right(sandbox, source, [place], [4])


def _parts(value):
    yield value
    if isinstance(value, list | tuple | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _parts(part)


def test_what_does_not_cross_says_so(sandbox):
    source = ALWAYS_EQUAL["int"] + "def f(x):\n    return [Yes(4)]\n"
    (result,) = sandbox.run_calls(source, [Call("f", (2,))]).results
    assert result.status == "error"
    assert "'Yes' object does not cross by value" in result.error


@pytest.mark.parametrize(
    "value", ["(i for i in [4])", "lambda: 4", "object()", "open(0)", "f", "bytearray(1)"]
)
def test_values_that_are_not_data_are_errors(sandbox, value):
    (result,) = sandbox.run_calls(f"def f(x):\n    return {value}", [Call("f", (2,))]).results
    assert (result.status, result.value) == ("error", None)
    assert "does not cross by value" in result.error


def test_an_instance_of_a_candidates_class_answers_no_question(sandbox):
    source = ALWAYS_EQUAL["int"] + "f = Yes\ndef value(x):\n    return int(x)\n"
    with sandbox.open_candidate(source) as candidate:
        instance = candidate.call("f", (4,))
        assert type(instance) is Reference
        for question in (
            lambda: instance == 4,
            lambda: instance in [4],
            lambda: instance != 4,
            lambda: bool(instance),
            lambda: instance < 5,
            lambda: list(instance),
            lambda: instance.real,
            lambda: [instance] == [4],
        ):
            with pytest.raises(NotPlainError):
                question()
        assert candidate.call("value", (instance,)) == 4


EARLY_ENDS = {
    "sys.exit while loading": "import sys\nsys.exit(0)\ndef f(x):\n    return 4",
    "os._exit while loading": "import os\nos._exit(0)",
    "os._exit while called": "import os\ndef f(x):\n    os._exit(0)",
    "sys.exit while called": "import sys\ndef f(x):\n    sys.exit(0)",
    "SystemExit with the answer": "def f(x):\n    raise SystemExit(4)",
    "raise while loading": "raise ValueError\ndef f(x):\n    return 4",
    "no such function": "def g(x):\n    return 4",
    "not a function": "f = 4",
    "nothing": "",
    "signal": "import os, signal\ndef f(x):\n    os.kill(os.getpid(), signal.SIGKILL)",
    "segfault": "import ctypes\ndef f(x):\n    ctypes.string_at(0)",
    "os._exit from a thread": (
        "import os, threading\ndef f(x):\n    threading.Timer(0.01, os._exit, (0,)).start()\n"
        "    import time\n    time.sleep(1)\n    return 4"
    ),
    "exec of another program": "import os\ndef f(x):\n    os.execv('/bin/true', ['true'])",
}


@pytest.mark.parametrize("how", EARLY_ENDS)
def test_ending_early_is_not_an_answer(sandbox, how):
    assert not is_right(sandbox, EARLY_ENDS[how], [2], [4])
    assert is_right(sandbox, "def f(x):\n    return x * x", [2], [4])


def test_right_answers_followed_by_a_bad_end_are_not_right(sandbox):
    source = "import os\ndef f(x):\n    if x == 3:\n        os._exit(0)\n    return x * x"
    run = sandbox.run_calls(source, [Call("f", (2,)), Call("f", (3,)), Call("f", (2,))])
    assert run.execution.status == "crash"
    assert [result.status for result in run.results] == ["ok", "crash", "crash"]


def test_right_output_with_a_bad_exit_code_is_not_ok(sandbox):
    assert prints(sandbox, "print(4)", "4\n")
    assert not prints(sandbox, "print(4)\n1 / 0", "4\n")
    assert not prints(sandbox, "import sys\nprint(4)\nsys.exit(1)", "4\n")
    assert not prints(sandbox, "import os\nprint(4, flush=True)\nos.abort()", "4\n")


FORGERIES = {
    "frames on every descriptor": """
        import os, struct
        def f(x):
            body = b'\\0' * 8 + b't\\2\\0\\0\\0s\\5\\0\\0\\0valuei' + struct.pack('<q', 4)
            for fd in range(3, 65):
                try: os.write(fd, struct.pack('<I', len(body)) + body)
                except OSError: pass
            return 5
        """,
    "sentinels on every descriptor": """
        import os
        for fd in range(1, 65):
            try: os.write(fd, b'PASSED\\nok\\n{"passed": true}\\nR D\\n')
            except OSError: pass
        def f(x): return 5
        """,
    "marks of a clean end": """
        import os
        def f(x):
            for fd in range(3, 65):
                try: os.write(fd, b'RD')
                except OSError: pass
            os._exit(0)
        """,
    "a flood on every descriptor": """
        import os
        def f(x):
            for fd in range(3, 65):
                try:
                    os.set_blocking(fd, False)
                    while True: os.write(fd, b'D' * 65536)
                except OSError: pass
            os._exit(0)
        """,
    "a reply that is too long": """
        import os
        def f(x):
            for fd in range(3, 65):
                try: os.write(fd, b'\\xff' * 4)
                except OSError: pass
            return 4
        """,
    "the reply written over": """
        import os
        real = os.write
        os.write = lambda fd, b: real(fd, b.tobytes()[::-1]) if fd > 2 else real(fd, b)
        def f(x): return 4
        """,
    "all descriptors closed": """
        import os
        def f(x):
            os.closerange(0, 65)
            return 4
        """,
}


@pytest.mark.parametrize("how", FORGERIES)
def test_writing_to_descriptors_forges_no_verdict(sandbox, how):
    assert not is_right(sandbox, FORGERIES[how], [2], [4])
    assert is_right(sandbox, "def f(x):\n    return x * x", [2], [4])


def test_a_candidate_that_answers_for_itself_gives_a_value_and_no_more(sandbox):
    """The frames of our own code are open to it; what it can do with them is give a value."""
    source = """
        import sys
        def f(x):
            frame = sys._getframe()
            while frame is not None:
                for name in ("value", "nonce", "kept", "request"):
                    if name in frame.f_locals: frame.f_locals[name] = 4
                frame = frame.f_back
            return 5
        """
    assert not is_right(sandbox, source, [2], [4])


SEARCHES = {
    "frames": """
        import sys
        frame = sys._getframe()
        while frame is not None:
            look(frame.f_locals); look(frame.f_globals)
            frame = frame.f_back
        """,
    "the garbage collector": "import gc\nfor thing in gc.get_objects(): look(thing)",
    "unfrozen objects": "import gc\ngc.unfreeze()\nfor thing in gc.get_objects(): look(thing)",
    "modules": "import sys\nfor module in list(sys.modules.values()): look(vars(module))",
    "main": "import __main__\nlook(vars(__main__))",
    "the environment": "import os\nlook(dict(os.environ))",
    "arguments": "import sys\nlook(sys.argv)\nlook(getattr(sys, 'orig_argv', ''))",
    "files in reach": """
        import os
        for folder in ('.', '..', '/tmp', '/', '/home', os.path.expanduser('~')):
            try:
                for name in os.listdir(folder):
                    look(name)
                    try: look(open(os.path.join(folder, name), 'rb').read(1 << 20))
                    except OSError: pass
            except OSError: pass
        """,
    "proc": """
        import os
        pids = list(range(1, 200)) + [os.getpid(), os.getppid(), 'self']
        for pid in pids:
            for name in ('environ', 'cmdline', 'maps', 'mem', 'stack', 'fd/3', 'cwd'):
                try: look(open(f'/proc/{pid}/{name}', 'rb').read(1 << 16))
                except OSError: pass
        """,
    "its own memory": """
        import ctypes, os
        libc = ctypes.CDLL(None)
        libc.sbrk.restype = ctypes.c_void_p
        reader, writer = os.pipe()
        def scan(start, stop):  # the kernel says which pages are there, instead of a crash
            for page in range(start & ~4095, stop, 4096):
                if libc.write(writer, ctypes.c_void_p(page), 4096) == 4096:
                    look(os.read(reader, 4096))
        heap = libc.sbrk(0)
        scan(heap - (16 << 20), heap)
        scan(id(object()) - (32 << 20), id(object()) + (32 << 20))
        """,
}

LOOK = """
first, second = {halves!r}  # together they would find themselves
def contains(text, first, second):
    at = text.find(first)
    while at >= 0:
        if text[at + len(first):at + len(first) + len(second)] == second: return True
        at = text.find(first, at + 1)
    return False
def look(thing, depth=3, seen=set()):
    if isinstance(thing, str) and contains(thing, first, second): print('found')
    if isinstance(thing, bytes) and contains(thing, first.encode(), second.encode()): print('found')
    if depth == 0 or not isinstance(thing, (dict, list, tuple, set)) or id(thing) in seen: return
    seen.add(id(thing))
    if isinstance(thing, dict):
        for key, value in list(thing.items()): look(key, depth - 1); look(value, depth - 1)
    else:
        for value in list(thing): look(value, depth - 1)
"""


def halves(secret):
    return secret[: len(secret) // 2], secret[len(secret) // 2 :]


def searching(how, secret):
    """Source of a program that prints ``found`` wherever it finds the secret."""
    return LOOK.format(halves=halves(secret)) + textwrap.dedent(SEARCHES[how])


@pytest.mark.parametrize("how", SEARCHES)
def test_what_the_judge_holds_is_found_nowhere(sandbox, how, monkeypatch):
    monkeypatch.setenv("EXPECTED", CANARY)
    held = [CANARY]
    assert gc.is_tracked(held)
    run = sandbox.run_program(searching(how, CANARY))
    assert (run.status, run.stdout) == ("ok", "")


@pytest.mark.parametrize("how", ["its own memory", "the garbage collector", "files in reach"])
def test_the_search_finds_what_is_there(sandbox, how):
    """The search is not blind: it finds a secret that the program itself holds."""
    secret = secrets.token_hex(16)
    holder = f"secret = [''.join({halves(secret)!r})]\nopen('f', 'w').write(secret[0])\n"
    assert "found" in sandbox.run_program(holder + searching(how, secret)).stdout


@pytest.mark.parametrize("how", SEARCHES)
def test_nothing_of_an_earlier_run_is_found(sandbox, how):
    """Neither its program, nor its input, nor the right answer that it printed."""
    secrets_of_the_run = [secrets.token_hex(16) for _ in range(4)]
    inside, stdin, printed, argument = secrets_of_the_run
    honest = f"print(input(), ''.join({halves(printed)!r}))\nopen('f', 'w').write('{inside}')"
    assert printed in sandbox.run_program(honest, stdin).stdout
    assert sandbox.run_calls("def f(x):\n    return x", [Call("f", (argument,))]).results[0].value
    for secret in secrets_of_the_run:
        assert sandbox.run_program(searching(how, secret)).stdout == ""


MONKEYPATCHES = {
    "equality of builtins": "import builtins\nbuiltins.abs = builtins.isinstance = lambda *a: True",
    "print": "import builtins\nbuiltins.print = lambda *a, **k: None",
    "exec and compile": "import builtins\nbuiltins.exec = builtins.compile = builtins.eval = None",
    "struct": "import struct\nstruct.pack = lambda *a: b''\nstruct.unpack = lambda *a: (0,)",
    "os": "import os\nos.fork = os.kill = os.waitpid = lambda *a: 0",
    "open": "import builtins\nbuiltins.open = lambda *a, **k: 4",
    "types": "import builtins\nbuiltins.int = builtins.str = builtins.list = object",
}


@pytest.mark.parametrize("what", MONKEYPATCHES)
def test_monkeypatches_reach_neither_the_judge_nor_the_next_run(sandbox, what):
    source = MONKEYPATCHES[what] + "\ndef f(x):\n    return 5\n"
    assert not is_right(sandbox, source, [2], [4])
    assert is_right(sandbox, "def f(x):\n    return x * x", [2], [4])
    assert prints(sandbox, "print(len('four'))", "4\n")


def test_a_planted_file_is_gone_in_the_next_run(sandbox):
    plant = """
        import os
        for path in ('answer', '../answer', '/tmp/answer', '/dev/shm/answer', '/var/tmp/answer'):
            try: open(path, 'w').write('4')
            except OSError: pass
        os.makedirs('a/b/c')
        """
    assert sandbox.run_program(textwrap.dedent(plant)).status == "ok"
    hunt = """
        import os
        for path in ('answer', '../answer', '/tmp/answer', '/dev/shm/answer', 'a', 'a/b'):
            if os.path.exists(path): print(path)
        """
    assert prints(sandbox, hunt, "")


def test_a_module_planted_for_the_next_run_is_not_imported(sandbox):
    plant = "for name in ('json', 'typing', 'bisect', 'statistics'):\n    open(name + '.py', 'w')"
    assert sandbox.run_program(plant).status == "ok"
    assert prints(sandbox, "import statistics\nprint(statistics.mean([4]))", "4\n")


def test_an_expected_error_can_not_be_had_by_running_out_of_time(sandbox):
    """A test that wants any exception is not fooled, since the end of the run is looked at too."""
    source = "def f(x):\n    while True: pass"
    with sandbox.open_candidate(source, Limits(time_s=0.3)) as candidate:
        with pytest.raises(CandidateError):
            candidate.call("f", (1,))
        assert candidate.finish().status == "timeout"
