"""The command line: ``votedkernels``.

It shows what the public API does, and knows nothing more. One command a file, entered in the table
of `votedkernels.cli.group`. What it needs comes with ``pip install votedkernels[cli]``.
"""

import sys
from collections.abc import Sequence
from typing import NoReturn

__all__ = ["main"]

_EXTRA = ("click", "jinja2", "matplotlib", "pooch", "rich")


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command line, and end the process.

    The exit code is 0 for success, 2 for an error that can be expected (told in one line on
    standard error), 130 for an interrupt.

    Parameters
    ----------
    args : sequence of str, default=None
        The arguments; None are those of the process.
    """
    try:
        from votedkernels.cli.group import run

        code = run(args)
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        print(
            f"votedkernels: this needs {error.name}; try pip install 'votedkernels[cli]'.",
            file=sys.stderr,
        )
        code = 2
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)
