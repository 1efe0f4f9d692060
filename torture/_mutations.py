"""Small changes to source code, like typical programming mistakes.

`find_sites` lists all places of a module that can be changed, `mutate` changes one of them.
"""

import ast
import copy
from dataclasses import dataclass

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
NAMES = {
    "min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "argmin": "argmax",
    "argmax": "argmin", "any": "all", "all": "any", "zeros": "ones", "ones": "zeros",
    "floor": "ceil", "ceil": "floor",
}  # fmt: skip


@dataclass(frozen=True)
class Site:
    """A place that can be changed: its node number in the module, its line, and the change."""

    node: int
    line: int
    change: str


def find_sites(source):
    """Return all sites of a module, except in annotations, docstrings and messages."""
    tree = ast.parse(source)
    passed_over = set()
    for node in ast.walk(tree):
        for part in _without_effect(node):
            passed_over.update(map(id, ast.walk(part)))
    return [
        Site(number, node.lineno, change)
        for number, node in enumerate(ast.walk(tree))
        if id(node) not in passed_over and (change := _change_of(node)) is not None
    ]


def _without_effect(node):
    """Yield the parts of a node in which no test could notice a change."""
    if isinstance(node, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom):
        yield node
    if isinstance(node, ast.AnnAssign):
        yield node.annotation
    if isinstance(node, ast.arg) and node.annotation is not None:
        yield node.annotation
    if isinstance(node, ast.FunctionDef):
        yield from node.decorator_list
        if node.returns is not None:
            yield node.returns
    if isinstance(node, ast.Assign) and _names_type(node):
        yield node


def _names_type(node):
    """Whether an assignment names a type, such as Four = tuple[...]."""
    return isinstance(node.value, ast.Subscript) and isinstance(node.value.value, ast.Name)


def _change_of(node):
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        return f"{type(node.ops[0]).__name__} -> {COMPARISONS[type(node.ops[0])].__name__}"
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in OPERATORS:
        return f"{type(node.op).__name__} -> {OPERATORS[type(node.op)].__name__}"
    if isinstance(node, ast.BoolOp):
        return "and <-> or"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        return f"drop {type(node.op).__name__}"
    if isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
        return f"{node.value!r} -> {_other(node.value)!r}"
    if isinstance(node, ast.Name) and node.id in NAMES:
        return f"{node.id} -> {NAMES[node.id]}"
    if isinstance(node, ast.Attribute) and node.attr in NAMES:
        return f"{node.attr} -> {NAMES[node.attr]}"
    return None


def _other(value):
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else value * 2 if value else 1.0


def mutate(source, site):
    """Return the source with one site changed."""
    tree = copy.deepcopy(ast.parse(source))
    node = list(ast.walk(tree))[site.node]
    if isinstance(node, ast.Compare):
        node.ops[0] = COMPARISONS[type(node.ops[0])]()
    elif isinstance(node, ast.BinOp | ast.AugAssign):
        node.op = OPERATORS[type(node.op)]()
    elif isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif isinstance(node, ast.UnaryOp):
        _replace(tree, node, node.operand)
    elif isinstance(node, ast.Constant):
        node.value = _other(node.value)
    elif isinstance(node, ast.Name):
        node.id = NAMES[node.id]
    else:
        node.attr = NAMES[node.attr]
    return ast.unparse(ast.fix_missing_locations(tree))


def _replace(tree, old, new):
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, name, new)
            elif isinstance(value, list) and any(entry is old for entry in value):
                value[value.index(old)] = new
