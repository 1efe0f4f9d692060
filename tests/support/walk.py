"""Which modules one fit and one prediction go through, in the order of their first call.

Run it to print the table of docs/architecture.md, "One fit, step by step"::

    python tests/support/walk.py

A profile hook sees every call of a Python function, in all threads; the module of a call is the
one whose globals the function has, so generated methods of data classes count too. Code that
numba compiled is not seen, and neither are the statements that run when a module is imported.
"""

import ast
import sys
import threading
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

PACKAGE = "votedkernels"


@contextmanager
def modules_called():
    """Collect the modules of the package whose functions are called inside the block.

    Yields a dict from the name of each module to the function of it that was called first, in the
    order of first calls.
    """
    first_calls = {}

    def on_event(frame, event, _):
        name = frame.f_globals.get("__name__", "")
        if event == "call" and name.startswith(PACKAGE + ".") and name not in first_calls:
            function = _name_of(frame)
            if function != "<module>":
                first_calls[name] = function

    before = sys.getprofile()
    threading.setprofile(on_event)
    sys.setprofile(on_event)
    try:
        yield first_calls
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


def _name_of(frame):
    """The name of a called function; that of a generated ``__init__`` names its class."""
    name = frame.f_code.co_qualname
    if name.startswith("__create_fn__") and "self" in frame.f_locals:
        return f"{type(frame.f_locals['self']).__name__}.{frame.f_code.co_name}"
    return name


def walk(n_rows=1000):
    """Walk through ``fit`` and ``predict`` of a classifier with the default parameters.

    Returns what `modules_called` collects, once for ``fit`` and once for ``predict``.
    """
    from votedkernels import VotedKernelClassifier
    from votedkernels.datasets import make_waveform

    X, y = make_waveform(n_rows, random_state=0)
    model = VotedKernelClassifier()
    with modules_called() as in_fit:
        model.fit(X, y)
    with modules_called() as in_predict:
        model.predict(X)
    return in_fit, in_predict


def short_name(module):
    """The name of a module inside the package."""
    return module.removeprefix(PACKAGE + ".")


def summary(module):
    """The first line of a module's docstring."""
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]


def main():
    for title, calls in zip(("fit", "predict"), walk(), strict=True):
        print(f"\n{title}: {len(calls)} modules\n\n| | module | enters at | |\n|--:|---|---|---|")
        for number, (module, function) in enumerate(calls.items(), start=1):
            print(f"| {number} | `{short_name(module)}` | `{function}` | {summary(module)} |")


if __name__ == "__main__":
    main()
