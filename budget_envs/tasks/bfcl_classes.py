"""BFCL's API classes, loaded from the files of the distribution without importing it.

The files are code of others that runs in this process, so each is taken only with the checksum that
the registry pins, whatever path it comes from. They are executed as private modules: an import of
``bfcl_eval`` inside them gets such a module too, so that neither that package nor what it depends
on is needed, and nothing is added to `sys.modules`.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Final

from budget_envs.errors import TaskDataInvalid, require
from budget_envs.tasks.sources import LocatedFile

__all__ = ["ApiClass", "api_classes", "parameter_names"]

_ROLE: Final = "code/"
_PACKAGE: Final = "bfcl_eval."


class ApiClass:
    """One of the API classes.

    Args:
        cls: The class as the file defines it.

    Attributes:
        cls: The class.
        name: Its name.
        methods: The names of its public methods: the functions that an agent can call.
        fresh: Method -> the parameters whose default is a list or dict, with that default. Python
            makes such a default once: handed on as it is, one episode would leave its tags in it
            for all others.
    """

    def __init__(self, cls: type[Any]) -> None:
        self.cls = cls
        self.name = cls.__name__
        functions = inspect.getmembers(cls, inspect.isfunction)
        self.methods = frozenset(name for name, _ in functions if not name.startswith("_"))
        defaults = {name: _mutable_defaults(function) for name, function in functions}
        self.fresh: Mapping[str, Mapping[str, Any]] = {
            name: found for name, found in defaults.items() if found
        }


def _mutable_defaults(function: Callable[..., Any]) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters.values()
    return {each.name: each.default for each in parameters if isinstance(each.default, list | dict)}


def api_classes(files: Sequence[LocatedFile]) -> Mapping[str, ApiClass]:
    """Load the classes.

    Args:
        files: The files of a BFCL dataset, as `budget_envs.tasks.locate` returns them.

    Returns:
        Class name -> class. The same objects for the same files of code.

    Raises:
        TaskDataInvalid: If a file of code is not the pinned one.
        DependencyNotInstalled: If ``mpmath`` is missing.
    """
    require("mpmath", "bfcl")  # imported by the class for mathematics
    return _loaded(tuple(file for file in files if file.role.startswith(_ROLE)))


@lru_cache(maxsize=4)
def _loaded(files: tuple[LocatedFile, ...]) -> Mapping[str, ApiClass]:
    code = {file.path.stem: file for file in files}
    modules: dict[str, ModuleType] = {}

    def module(stem: str) -> ModuleType:
        if stem not in modules:
            modules[stem] = _executed(code[stem], module)
        return modules[stem]

    names = [(file.role.removeprefix(_ROLE), stem) for stem, file in code.items()]
    return MappingProxyType(
        {name: ApiClass(getattr(module(stem), name)) for name, stem in names if name != stem}
    )


def _executed(file: LocatedFile, module: Callable[[str], ModuleType]) -> ModuleType:
    """Execute a file as a module that imports its siblings through ``module``."""

    def import_(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith(_PACKAGE):
            return module(name.rpartition(".")[2])
        return builtins.__import__(name, *rest, **more)

    private = ModuleType(f"budget_envs.tasks.bfcl_classes.{file.path.stem}")
    private.__dict__["__builtins__"] = {**vars(builtins), "__import__": import_}
    exec(compile(_source(file), str(file.path), "exec"), private.__dict__)
    return private


def _source(file: LocatedFile) -> bytes:
    """Read a file of code, and make sure that what was read is what the registry pins."""
    source = file.path.read_bytes()
    if not file.pinned or hashlib.sha256(source).hexdigest() != file.sha256:
        raise TaskDataInvalid(
            f"{file.path} would be executed and is not the pinned file. Expected the file of "
            "bfcl-eval that the registry names; changed code is not run, wherever it lies."
        )
    return source


def parameter_names(path: Path, class_name: str) -> Mapping[str, Sequence[str]]:
    """Read, without executing anything, the parameters of a class's public methods.

    Args:
        path: A file of Python.
        class_name: A class in it.

    Returns:
        Method -> names of its parameters in order, without ``self``.
    """
    tree = ast.parse(path.read_bytes())
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    body = next((node.body for node in classes if node.name == class_name), [])
    functions = [node for node in body if isinstance(node, ast.FunctionDef)]
    return {
        function.name: [argument.arg for argument in function.args.args[1:]]
        for function in functions
        if not function.name.startswith("_")
    }
