"""Runs a candidate in its child as a fresh interpreter would, and answers calls of its functions.

This module runs inside the sandbox and imports only small modules of the standard library. It
holds no secret: sources and inputs come in, values and output go out.
"""

from __future__ import annotations

import atexit
import builtins
import gc
import io
import os
import struct
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

from budget_envs.sandbox.codec import MAX_BYTES, NotPlainError, decode, encode

__all__ = [
    "DONE",
    "OUT_OF_MEMORY",
    "answer_calls",
    "complain",
    "prepare_modules",
    "prepare_streams",
    "run_program",
    "warm_up",
]

PROGRAM_NAME = "main.py"
OUT_OF_MEMORY, LOADED, DONE = b"M", b"L", b"D"
"""Written to the status socket: the program ran out of memory; it can be called; it was told to
end."""

_LONGEST_MESSAGE = 2000
_CHUNK = 1 << 14  # larger buffers are mapped and unmapped for each read
_WARM_UP = 40
_SIZE = struct.Struct("<I")
_NONCE_BYTES = 8
"""Each request starts with fresh random bytes that its reply must repeat."""


def prepare_streams() -> None:
    """Make the candidates' standard streams once, before the fork: it costs as much as a fork.

    A stream asks its descriptor once what it can do, so for the moment the three descriptors
    become what they will be: a file in memory and two pipes.
    """
    usual = [os.dup(descriptor) for descriptor in range(3)]
    memory = os.memfd_create("stdin", os.MFD_CLOEXEC)
    ends = os.pipe()
    for descriptor, template in enumerate((memory, ends[1], ends[1])):
        os.dup2(template, descriptor)
    sys.stdin = _stream(0, "r", "<stdin>", "strict")
    sys.stdout = _stream(1, "w", "<stdout>", "strict")
    sys.stderr = _stream(2, "w", "<stderr>", "backslashreplace")
    for name in ("stdin", "stdout", "stderr"):
        setattr(sys, f"__{name}__", getattr(sys, name))
    for descriptor, template in enumerate(usual):
        os.dup2(template, descriptor)
    for descriptor in (memory, *ends, *usual):
        os.close(descriptor)


def _stream(descriptor: int, mode: str, name: str, errors: str) -> io.TextIOWrapper:
    raw = io.FileIO(descriptor, mode, closefd=False)
    raw.name = name
    buffer = io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)
    newline = None if mode == "r" else "\n"
    is_stderr = descriptor == 2
    return io.TextIOWrapper(buffer, "utf-8", errors, newline, line_buffering=is_stderr)


_main, _candidate = (types.ModuleType(name) for name in ("__main__", "candidate"))
"""Where a program runs as a whole, and where one whose functions are called does."""


def prepare_modules() -> None:
    """Make the interpreter look as if it was started to run a program."""
    sys.argv[:] = [PROGRAM_NAME]
    for module in (_main, _candidate):
        module.__dict__.update({"__builtins__": builtins, "__file__": PROGRAM_NAME})
    sys.modules["__main__"].__dict__.clear()
    sys.modules["__main__"] = _main


def warm_up() -> None:
    """Do what every candidate does, before the fork: a child then has less of its own to make.

    The interpreter adapts code that runs often by writing into it, and a page that is written to
    in a child is copied first. Once adapted here, it is shared.
    """
    arguments = ([1, 2.5, "text", None, True], {"k": (1,)})
    request = bytes(_NONCE_BYTES) + encode(("f", arguments, {}))
    for _ in range(_WARM_UP):
        module = types.ModuleType("warm")
        _execute("def f(a, b):\n    return [a, b]\n", module, -1)
        _reply(request, module.__dict__, {})


def run_program(source: str, status: int) -> int:
    """Run the source as ``__main__`` and return the exit code of the process."""
    exit_code = _execute(source, _main, status)
    return _finalize(_main, exit_code or 0)


def _execute(source: str, module: types.ModuleType, status: int) -> int | None:
    """Run the source in a module; return its exit code if it ended the process, else None."""
    try:
        exec(compile(source, PROGRAM_NAME, "exec", dont_inherit=True), module.__dict__)
    except BaseException as error:
        if isinstance(error, MemoryError):
            os.write(status, OUT_OF_MEMORY)
        return _exit_code(error, source)
    return None


def _exit_code(error: BaseException, source: str) -> int:
    """Do what the interpreter does with an exception that nobody caught."""
    if isinstance(error, SystemExit):
        code = error.code
        if code is None or isinstance(code, int):
            return int(code or 0) & 0xFF
        complain(f"{code}\n")
        return 1
    if error.__traceback__ is not None:
        error.__traceback__ = error.__traceback__.tb_next  # without the frame of this module
    _show_exception(error, source)
    return 130 if isinstance(error, KeyboardInterrupt) else 1


def _show_exception(error: BaseException, source: str) -> None:
    try:
        if sys.excepthook is not sys.__excepthook__:
            sys.excepthook(type(error), error, error.__traceback__)
            return
        import linecache
        import traceback

        lines = source.splitlines(keepends=True)
        linecache.cache[PROGRAM_NAME] = (len(source), None, lines, PROGRAM_NAME)
        complain("".join(traceback.format_exception(error)))
    except BaseException:  # a hostile __str__, or no memory left to format with
        complain(f"{type(error).__name__}\n")


def complain(text: str) -> None:
    """Write to stderr after what the program wrote there."""
    try:
        sys.stderr.flush()
        os.write(2, text.encode("utf-8", "backslashreplace"))
    except BaseException:  # the program closed or replaced its stderr: nothing to say then
        return


def _finalize(main: types.ModuleType, exit_code: int) -> int:
    """Do what the interpreter does at exit and a program can notice, in its order."""
    threading = sys.modules.get("threading")
    if threading is not None:
        threading._shutdown()
    atexit._run_exitfuncs()
    flushed = _flush()
    sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__
    main.__dict__.clear()  # closes, and so flushes, files that the program left open
    gc.collect()
    return exit_code if _flush() and flushed else exit_code or 120


def _flush() -> bool:
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except BaseException:
            if stream is sys.stdout:
                return False
    return True


def answer_calls(source: str, channel: int, status: int) -> int:
    """Load the source, then call its functions as told, until the channel is closed."""
    sys.modules["candidate"] = _candidate
    exit_code = _execute(source, _candidate, status)
    if exit_code is not None:  # it raised, or called sys.exit: nothing is there to be called
        _flush()
        return exit_code
    os.write(status, LOADED)
    kept: dict[int, object] = {}
    for request in _requests(channel):
        _send(channel, request[:_NONCE_BYTES] + _reply(request, _candidate.__dict__, kept))
    _flush()
    os.write(status, DONE)
    os.closerange(1, 3)  # the server takes this for the end
    return 0


def _requests(channel: int) -> Iterator[bytes]:
    """Yield the requests until the channel is closed; the judge may send some ahead."""
    buffer = bytearray()
    while chunk := os.read(channel, _CHUNK):
        buffer += chunk
        while len(buffer) >= 4 and len(buffer) >= (end := 4 + _SIZE.unpack_from(buffer)[0]):
            yield bytes(buffer[4:end])
            del buffer[:end]


def _send(channel: int, body: bytes) -> None:
    rest = memoryview(_SIZE.pack(len(body)) + body)
    while rest:
        rest = rest[os.write(channel, rest) :]


def _reply(request: bytes, names: Mapping[str, Any], kept: dict[int, object]) -> bytes:
    """Make one call and encode what came of it."""
    try:
        name, args, kwargs = decode(request[_NONCE_BYTES:], kept.__getitem__)
        if name not in names:
            raise NameError(f"the program defines no {name!r} at its top level")
        function = names[name]
        value = function(*args, **kwargs)
    except BaseException as error:
        return encode(("raised", _plain(type(error).__name__), _describe(error)))
    try:
        wire = encode(("value", value))
        if len(wire) > MAX_BYTES - _NONCE_BYTES:
            raise NotPlainError(f"a value of {len(wire)} bytes, more than {MAX_BYTES}")
        return wire
    except NotPlainError as error:
        if type(value) is function:
            return encode(_keep(value, kept))
        return encode(("opaque", _plain(f"{name} returned what does not cross: {error}")))


def _keep(value: object, kept: dict[int, object]) -> tuple[str, int, str]:
    """Keep the instance that a call of the candidate's class made, and name it for later calls."""
    key = int.from_bytes(os.urandom(8), "little")
    kept[key] = value
    return ("made", key, _plain(type(value).__name__))


def _describe(error: BaseException) -> str:
    """Say what was raised and on which line of the program, whatever its ``__str__`` does."""
    try:
        message = _plain(str(error))
    except BaseException:
        message = "(an error that cannot be shown)"
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == PROGRAM_NAME:
            line = trace.tb_lineno
        trace = trace.tb_next
    return message + (f" (line {line})" if line else "")


def _plain(text: str) -> str:
    """Return an exact ``str`` of bounded length."""
    return str.encode(text[:_LONGEST_MESSAGE], "utf-8", "backslashreplace").decode("utf-8")
