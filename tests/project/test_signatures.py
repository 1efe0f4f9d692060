"""Code inside the package is easy to read: short, and with signatures that say what they take."""

import ast

from support.paths import ROOT

PACKAGE = ROOT / "src" / "votedkernels"
ROOMS = (
    "_system",
    "kernels",
    "complexity",
    "problem",
    "distributed",
    "guarantees",
    "solvers",
    "preparation",
)

#: Most lines of a function.
LONGEST = 60

#: Where ``Any`` is right, and why.
ALLOWED = {
    "kernels/similarity.py:Similarity.__init__": "the user's function chooses its own types",
    "guarantees/of_model.py:VotingModel": "centers, as the user passed them",
    "distributed/loading.py:check_array": "X, as the user passed it",
    "distributed/loading.py:collect": "y and sample_weight, as the user passed them",
    "preparation/validation.py:check_parameters": "parameters of any type, before their check",
    "preparation/validation.py:validate_rows": "X, as the user passed it",
    "preparation/validation.py:as_strings": "X, as the user passed it",
    "preparation/validation.py:unwrap_column": "X, as the user passed it",
    "preparation/validation.py:_holds_numbers": "a column of pandas or polars",
    "preparation/validation.py:as_objects": "X, as the user passed it",
    "preparation/validation.py:validate_labels": "y, as the user passed it",
    "preparation/validation.py:validate_numbers": "y, as the user passed it",
}


def annotations(node):
    """The annotations of a function's signature, or of a class's fields."""
    if isinstance(node, ast.ClassDef):
        return [field.annotation for field in node.body if isinstance(field, ast.AnnAssign)]
    arguments = [part for part in ast.walk(node.args) if isinstance(part, ast.arg)]
    return [*(argument.annotation for argument in arguments), node.returns]


def mentions_any(annotation):
    parts = ast.walk(annotation) if annotation is not None else ()
    return any(
        (isinstance(part, ast.Name) and part.id == "Any")
        or (isinstance(part, ast.Attribute) and part.attr == "Any")
        for part in parts
    )


def definitions(node, name=""):
    """Yield all functions and classes, with their qualified names."""
    for child in ast.iter_child_nodes(node):
        inside = name
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inside = f"{name}.{child.name}".lstrip(".")
            yield inside, child
        yield from definitions(child, inside)


def with_any():
    for room in ROOMS:
        for path in sorted((PACKAGE / room).rglob("*.py")):
            module = path.relative_to(PACKAGE).as_posix()
            for name, node in definitions(ast.parse(path.read_text(encoding="utf-8"))):
                if any(map(mentions_any, annotations(node))):
                    yield f"{module}:{name}"


def test_only_what_users_pass_is_any():
    assert set(with_any()) == set(ALLOWED)


def test_any_is_found_wherever_it_hides():
    source = "class A:\n    x: list[Any]\n    def f(self, *, y: typing.Any) -> dict[str, Any]: ..."
    found = dict(definitions(ast.parse(source)))
    assert [name for name, node in found.items() if any(map(mentions_any, annotations(node)))] == [
        "A",
        "A.f",
    ]


def lines_of(function):
    """The number of lines of a function, without its docstring."""
    documentation = ast.get_docstring(function, clean=False) or ""
    return function.end_lineno - function.lineno + 1 - len(documentation.splitlines())


def test_no_function_is_longer_than_a_screen():
    """Docstrings of public functions may be long. ruff limits the complexity (C901)."""
    too_long = [
        f"{path.relative_to(PACKAGE)}:{name}"
        for path in PACKAGE.rglob("*.py")
        for name, node in definitions(ast.parse(path.read_text(encoding="utf-8")))
        if not isinstance(node, ast.ClassDef) and lines_of(node) > LONGEST
    ]
    assert too_long == []
