"""``budget-envs doctor``: what is installed here, and what each environment lacks."""

from __future__ import annotations

import os
import platform
import re
import sys
import tempfile
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, Final

from budget_envs.cli.ids import lacks
from budget_envs.cli.output import console, print_json
from budget_envs.cli.parameters import Flag
from budget_envs.registration import PRESETS, Preset
from budget_envs.version import __version__

__all__ = ["doctor"]

_DISTRIBUTION: Final = "budget-envs"
_REQUIREMENT: Final = re.compile(r"^(?P<name>[\w.-]+)(?:\[(?P<extras>[\w,\s.-]+)\])?")
_EXTRA: Final = re.compile(r"""extra\s*==\s*['"](?P<extra>[\w.-]+)['"]""")


def doctor(*, json: Flag = False) -> None:
    """Say what is installed and what each environment lacks, for a person or a bug report.

    Every environment is made and starts an episode. What cannot be examined is a finding too.

    Args:
        json: Print one JSON document.
    """
    findings = _examine()
    if json:
        print_json(findings)
    else:
        _print_findings(findings)


def _examine() -> dict[str, Any]:
    requirements = _requirements()
    installed = {name: _version(name) for names in requirements.values() for name in names}
    return {
        "versions": {
            "budget-envs": __version__,
            "python": platform.python_version(),
            **{name: installed[name] for name in sorted(installed, key=str.lower)},
        },
        "platform": platform.platform(),
        "executable": sys.executable,
        "extras": {
            extra: {
                "missing": [name for name in names if installed[name] is None],
                "install": f'pip install "{_DISTRIBUTION}[{extra}]"',
            }
            for extra, names in requirements.items()
            if extra
        },
        "environments": {preset.id: _environment(preset) for preset in PRESETS},
        "sandbox": _sandbox(),
        "cache": _cache(),
    }


def _failure(error: Exception) -> str:
    """Say what examining a part failed with: whatever is wrong with one is a finding."""
    return f"{type(error).__name__}: {error}"


def _requirements() -> dict[str, list[str]]:
    """Return the packages that the core (``""``) and each extra need, from the metadata."""
    needs: dict[str, list[tuple[str, str]]] = {"": []}
    for line in _metadata_lines():
        found = _REQUIREMENT.match(line)
        extra = _EXTRA.search(line)
        if found:
            entry = (found["name"], found["extras"] or "")
            needs.setdefault(extra["extra"] if extra else "", []).append(entry)
    return {extra: sorted(_expand(extra, needs), key=str.lower) for extra in needs}


def _metadata_lines() -> list[str]:
    try:
        return metadata.requires(_DISTRIBUTION) or []
    except metadata.PackageNotFoundError:  # run from a folder, without being installed
        return []


def _expand(extra: str, needs: dict[str, list[tuple[str, str]]]) -> set[str]:
    """Resolve extras that name other extras of this package, as ``all`` does."""
    names: set[str] = set()
    for name, inner in needs.get(extra, ()):
        if name.lower() == _DISTRIBUTION:
            names.update(*(_expand(part.strip(), needs) for part in inner.split(",")))
        else:
            names.add(name)
    return names


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _environment(preset: Preset) -> list[str]:
    try:
        return lacks(preset, start=True)
    except Exception as error:
        return [_failure(error)]


def _sandbox() -> dict[str, Any] | None:
    """Return what this machine offers to confine code; ``None`` where there is no sandbox."""
    try:
        sandbox = import_module("budget_envs.sandbox")
        tiers = {name: problem or "works" for name, problem in sandbox.available().items()}
    except ImportError:
        return None
    except Exception as error:
        tiers = {"problem": _failure(error)}
    return {
        "platform": f"{platform.system()} {platform.release()} on {platform.machine()}",
        "landlock_abi": _landlock_abi(),
        "seccomp": _kernel_has_seccomp(),
        "user_namespaces": _read_number("/proc/sys/user/max_user_namespaces"),
        **tiers,
    }


def _landlock_abi() -> int | None:
    """Return the version of the kernel's interface, 0 without it, ``None`` if nobody can say."""
    if sys.platform != "linux":
        return 0
    try:
        return int(import_module("budget_envs.sandbox.landlock").abi_version())
    except Exception:
        return None


def _kernel_has_seccomp() -> bool:
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return "\nSeccomp:" in status


def _read_number(path: str) -> int | None:
    try:
        return int(Path(path).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _cache() -> dict[str, Any]:
    """Return the folder for task files, and why it cannot be written to, if so."""
    try:
        folder: Path = import_module("budget_envs.tasks").cache_folder()
    except Exception as error:
        return {"folder": None, "problem": _failure(error)}
    try:
        existing = next(place for place in (folder, *folder.parents) if place.exists())
        with tempfile.TemporaryFile(dir=existing):
            problem = None
    except OSError as error:
        problem = f"{error.strerror or error}: set BUDGET_ENVS_CACHE to a folder you can write to"
    return {"folder": os.fspath(folder), "problem": problem}


def _print_findings(findings: dict[str, Any]) -> None:
    from rich import box
    from rich.table import Table

    grid = Table(box=box.SIMPLE, show_header=False)
    grid.add_row("platform", findings["platform"])
    grid.add_row("executable", findings["executable"])
    for name, version in findings["versions"].items():
        grid.add_row(name, version or "not installed")
    grid.add_section()
    for extra, found in findings["extras"].items():
        lacking = f"lacks {', '.join(found['missing'])}: {found['install']}"
        grid.add_row(f"extra {extra}", lacking if found["missing"] else "complete")
    grid.add_section()
    for env_id, missing in findings["environments"].items():
        grid.add_row(env_id, "; ".join(missing) or "ready")
    grid.add_section()
    for name, value in (findings["sandbox"] or {"": "none in this installation"}).items():
        grid.add_row(f"sandbox {name.replace('_', ' ')}".strip(), str(value))
    cache = findings["cache"]
    grid.add_row("cache", f"{cache['folder'] or '-'} ({cache['problem'] or 'can be written to'})")
    console().print(grid)
