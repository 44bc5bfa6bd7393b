"""Where a program can be edited: a walk over its syntax tree that knows the variables in reach."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from budget_envs.tasks.mutation.operators import Site, edits_at

__all__ = ["Edit", "edits"]

_SKIPPED_FIELDS = {"annotation", "returns", "decorator_list", "pattern", "format_spec", "names"}
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass
class Edit:
    """One place in a tree and what to put there; entered, the tree is changed; left, restored.

    Attributes:
        kind: Name of the operator.
        parent: Node whose field holds the place.
        field: Name of that field.
        index: Position in the field if it is a list, else None.
        old: Node at the place.
        new: Node to put there.
        after: If true, ``new`` is a statement that goes after ``old`` instead.
    """

    kind: str
    parent: ast.AST
    field: str
    index: int | None
    old: ast.expr | ast.stmt
    new: ast.AST
    after: bool = False

    def __enter__(self) -> None:
        content = getattr(self.parent, self.field)
        if self.index is None:
            setattr(self.parent, self.field, self.new)
        elif self.after:
            content.insert(self.index + 1, self.new)
        else:
            content[self.index] = self.new

    def __exit__(self, *_: object) -> None:
        content = getattr(self.parent, self.field)
        if self.index is None:
            setattr(self.parent, self.field, self.old)
        elif self.after:
            del content[self.index + 1]
        else:
            content[self.index] = self.old

    @property
    def description(self) -> str:
        """The edit in words."""
        place, new = f"line {self.old.lineno}", _excerpt(self.new)
        if self.after:
            return f"{place}: `{new}` added after `{_excerpt(self.old)}`"
        if isinstance(self.new, ast.Pass):
            return f"{place}: `{_excerpt(self.old)}` removed"
        return f"{place}: `{_excerpt(self.old)}` became `{new}`"


def _excerpt(node: ast.AST) -> str:
    text = ast.unparse(node).strip().splitlines()
    return text[0][:77] + "..." if len(text) > 1 or len(text[0]) > 80 else text[0]


def edits(tree: ast.Module) -> Iterator[Edit]:
    """Yield every edit of every kind, in the order of a walk through the tree."""
    for site in _sites(tree):
        for kind, new, after in edits_at(site):
            if isinstance(site.node, ast.expr | ast.stmt):
                yield Edit(kind, site.parent, site.field, site.index, site.node, new, after)


def _sites(tree: ast.Module) -> Iterator[Site]:
    stack = [Site(tree, tree, "", None, _bound_in(tree.body))]
    while stack:
        site = stack.pop()
        yield site
        stack += reversed(list(_children(site)))


def _children(site: Site) -> Iterator[Site]:
    node, variables = site.node, site.variables
    if isinstance(node, _FUNCTIONS):
        body = node.body if isinstance(node.body, list) else []
        parameters = [item.arg for item in ast.walk(node.args) if isinstance(item, ast.arg)]
        variables = {**variables, **dict.fromkeys(parameters, node.lineno), **_bound_in(body)}
    if isinstance(node, _COMPREHENSIONS):
        variables = {**variables, **_bound_in([each.target for each in node.generators])}
    for field, content in ast.iter_fields(node):
        if field in _SKIPPED_FIELDS:
            continue
        reach = variables
        if isinstance(node, ast.comprehension) and field == "iter":  # read before it is bound
            own = _bound_in([node.target])
            reach = {name: line for name, line in variables.items() if name not in own}
        for index, child in enumerate(content if isinstance(content, list) else [content]):
            if isinstance(child, ast.AST) and not _is_docstring(child):
                place = index if isinstance(content, list) else None
                yield Site(child, node, field, place, reach)


def _bound_in(nodes: Sequence[ast.AST]) -> dict[str, int]:
    """Return the variables assigned in nodes, not in functions or comprehensions inside."""
    bound: dict[str, int] = {}
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, (*_FUNCTIONS, *_COMPREHENSIONS, ast.ClassDef)):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound[node.id] = min(node.lineno, bound.get(node.id, node.lineno))
        stack += ast.iter_child_nodes(node)
    return bound


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
