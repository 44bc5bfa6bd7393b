"""Reading ``assert`` tests without running them: splitting, renaming, taking them apart."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable

__all__ = ["called_names", "comparison", "parse_source", "split_assertions"]


class _Rename(ast.NodeTransformer):
    def __init__(self, old: str, new: str) -> None:
        self.old, self.new = old, new

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """Give the name its new spelling."""
        return ast.Name(self.new, node.ctx) if node.id == self.old else node


def parse_source(source: str) -> ast.Module:
    """Parse Python, silent about the odd escapes and comparisons of benchmark code.

    Raises:
        SyntaxError: If it is not Python.
        ValueError: If it holds a null character.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def called_names(source: str) -> list[str]:
    """Names of the functions that ``source`` calls by plain name, in order of appearance.

    Raises:
        SyntaxError: If ``source`` is not Python.
    """
    calls = [node for node in ast.walk(parse_source(source)) if isinstance(node, ast.Call)]
    calls.sort(key=lambda node: (node.lineno, node.col_offset))
    return [node.func.id for node in calls if isinstance(node.func, ast.Name)]


def split_assertions(function: ast.FunctionDef, name: str) -> tuple[str, ...]:
    """Cut the body of a ``check(candidate)`` function into tests that stand on their own.

    A statement that asserts is one test, preceded by every statement before it that does not
    (imports, variables). ``candidate`` becomes ``name``, messages are dropped, and an ``assert``
    of a constant is left out: it tests nothing, and would hand every program a share of the
    tests. All the tests pass exactly when the function raises nothing, provided the candidate
    keeps no state between calls. Where a later statement needs a variable of an earlier test
    (a loop's, say), the whole body stays one test.

    Args:
        function: The syntax tree of the function; its one parameter is the candidate.
        name: What the candidate's function is called in the tests.

    Returns:
        The source of each test.
    """
    rename = _Rename(function.args.args[0].arg, name)
    body = [_tidied(statement) for statement in function.body if not _is_idle(statement)]
    sources = [ast.unparse(ast.fix_missing_locations(rename.visit(node))) for node in body]
    if _tests_share_variables(body):
        return ("\n".join(sources),)
    setup: list[str] = []
    tests: list[str] = []
    for node, source in zip(body, sources, strict=True):
        if _asserts(node):
            tests.append("\n".join([*setup, source]))
        else:
            setup.append(source)
    return tuple(tests)


def _asserts(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Assert) for part in ast.walk(node))


def _is_idle(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assert):
        return isinstance(statement.test, ast.Constant) and bool(statement.test.value)
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant | ast.Name)


def _tidied(statement: ast.stmt) -> ast.stmt:
    for part in ast.walk(statement):
        if isinstance(part, ast.Assert):
            part.msg = None
    return statement


def _tests_share_variables(body: list[ast.stmt]) -> bool:
    bound: set[str] = set()
    for statement in body:
        names = [part for part in ast.walk(statement) if isinstance(part, ast.Name)]
        stored = {part.id for part in names if isinstance(part.ctx, ast.Store)}
        if bound & {part.id for part in names} - stored:
            return True
        bound = (bound | stored) if _asserts(statement) else bound - stored
    return False


def comparison(source: str, function_name: str) -> tuple[str, str] | None:
    """Take ``assert f(...) == value`` apart, so that a judge may compare outside the sandbox.

    Args:
        source: The source of one ``assert`` test.
        function_name: The candidate's function.

    Returns:
        The two expressions ``("f(...)", "value")``, the first of which calls ``function_name``
        and the second does not; ``None`` for a test of any other form.
    """
    body = parse_source(source).body
    if len(body) != 1 or not isinstance(body[0], ast.Assert):
        return None
    match body[0].test:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            if _mentions(left, {function_name}) and not _mentions(right, {function_name}):
                return ast.unparse(left), ast.unparse(right)
    return None


def _mentions(node: ast.AST, names: Iterable[str]) -> bool:
    wanted = set(names)
    return any(isinstance(part, ast.Name) and part.id in wanted for part in ast.walk(node))
