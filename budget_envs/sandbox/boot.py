"""Starts the slim server inside a sandbox from its source text.

Nothing of this package has to be installed, or even readable, where the sandbox runs: the
server's modules travel over its control stream. They are the ones imported and tested here.
"""

from __future__ import annotations

import functools
from importlib import resources

__all__ = ["SERVER_ENVIRONMENT", "server_command", "server_sources"]

_SHIPPED = ("codec", "landlock", "runner", "confined", "nursery", "files", "pipes", "zygote")

SERVER_ENVIRONMENT = {
    "PYTHONHASHSEED": "0",  # the order of a set of strings repeats itself
    "LD_BIND_NOW": "1",  # else every child links every C function it calls anew
}
"""All of the server's environment; candidates see none of it."""

_BOOT = """\
import sys
if not sys.path[0]:
    del sys.path[0]
import os
from types import ModuleType
package = sys.modules["budget_envs"] = sys.modules["budget_envs.sandbox"] = ModuleType("server")
mode, size = sys.argv[1], int(sys.argv[2])
text = b""
while len(text) < size:
    chunk = os.read(0, size - len(text))
    if not chunk:
        sys.exit()
    text += chunk
parts = text.decode().split(chr(0))
for name, source in zip(parts[::2], parts[1::2]):
    module = sys.modules["budget_envs.sandbox." + name] = ModuleType(name)
    setattr(package, name, module)
    exec(compile(source, name + ".py", "exec", optimize=2), module.__dict__)
module.main(mode == "local")
"""


@functools.cache
def server_sources() -> bytes:
    """Return the first bytes that the server expects on its control stream."""
    folder = resources.files("budget_envs.sandbox")
    texts = [(name, (folder / f"{name}.py").read_text("utf-8")) for name in _SHIPPED]
    return "\0".join(part for pair in texts for part in pair).encode()


def server_command(python: str, local: bool) -> list[str]:
    """Return the arguments that start the server.

    Args:
        python: The interpreter's path, where the sandbox runs.
        local: See `budget_envs.sandbox.pipes.Control`.
    """
    flags = ("-S", "-s", "-B", "-X", "utf8")
    mode = "local" if local else "relayed"
    return [python, *flags, "-c", _BOOT, mode, str(len(server_sources()))]
