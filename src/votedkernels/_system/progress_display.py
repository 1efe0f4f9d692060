"""Progress on standard error, for ``verbose=1`` and ``verbose=2``.

In a terminal or a notebook there is one line, which is overwritten and disappears at the end. If
rich is installed, terminals show a spinner and a clock next to it. Everywhere else (files, pipes,
joblib's worker processes and threads), each step is a separate line, so that several workers do not
overwrite each other's lines.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import sys
import threading
import time
from types import TracebackType
from typing import Protocol, Self

#: An overwritten line changes at most once in this many seconds.
PAUSE = 0.1
#: The width of an overwritten line in a notebook.
NOTEBOOK_WIDTH = 110
#: The room that rich needs for the spinner and the clock, and the terminal for an echoed ^C. A full
#: line would wrap there and could not be removed.
BESIDE_TEXT = 14


class View(Protocol):
    """A place where progress appears."""

    #: Whether `show` does anything.
    overwrites: bool

    def show(self, text: str) -> None:
        """Replace the temporary line."""

    def write(self, text: str) -> None:
        """Write a permanent line."""

    def close(self) -> None:
        """Remove the temporary line."""


class ProgressDisplay:
    """The progress of one call, as a context manager.

    Parameters
    ----------
    title : str
        The beginning of each line.
    verbose : int
        1 shows steps; 2 also keeps a line for each step and each detail.
    """

    def __init__(self, title: str, verbose: int) -> None:
        self.title, self.verbose = title, int(verbose)
        self.started = time.perf_counter()
        self._last = 0.0
        self._view: View | None = None

    def __enter__(self) -> Self:
        self._view = choose_view()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._view is not None:
            self._view.close()

    @property
    def seconds(self) -> float:
        """The time since the start."""
        return time.perf_counter() - self.started

    def step(self, text: str) -> None:
        """Show that a step is done; where nothing can be overwritten, write a line."""
        if self._view is None:
            return
        if self.verbose > 1 or not self._view.overwrites:
            self._view.write(self._line(text))
        self._view.show(f"{self.title}: {text}")
        self._last = time.perf_counter()

    def detail(self, text: str) -> None:
        """Show what happens inside a step; it stays on screen only with ``verbose=2``."""
        if self._view is None:
            return
        if self.verbose > 1:
            self._view.write(self._line(text))
        elif time.perf_counter() - self._last >= PAUSE:
            self._view.show(f"{self.title}: {text}")
            self._last = time.perf_counter()

    def finish(self, text: str) -> None:
        """Write the last line, which is permanent."""
        if self._view is not None:
            self._view.write(self._line(text))

    def _line(self, text: str) -> str:
        return f"{self.title}, {in_words(self.seconds)}: {text}"


def choose_view() -> View | None:
    """Return where progress appears; None if there is no standard error."""
    if sys.stderr is None:
        return None
    alone = (
        multiprocessing.current_process().name == "MainProcess"
        and threading.current_thread() is threading.main_thread()
    )
    if alone and type(sys.stderr).__module__.partition(".")[0] == "ipykernel":
        return OverwrittenLine(NOTEBOOK_WIDTH)
    is_terminal = getattr(sys.stderr, "isatty", lambda: False)()
    if not (alone and is_terminal) or os.environ.get("TERM") == "dumb":
        return Lines()
    try:
        return RichLine()
    except ImportError:
        return OverwrittenLine(shutil.get_terminal_size().columns - 1)


class Lines:
    """Plain lines."""

    overwrites = False

    def show(self, text: str) -> None:
        """Do nothing: lines in a file cannot be overwritten."""

    def write(self, text: str) -> None:
        """Write a line."""
        # With print, the lines of several processes could mix.
        sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def close(self) -> None:
        """Do nothing."""


class OverwrittenLine:
    """A line that a carriage return overwrites, in terminals without rich and in notebooks."""

    overwrites = True

    def __init__(self, width: int) -> None:
        self.width = max(20, width)
        self._used = 0

    def show(self, text: str) -> None:
        """Replace the line."""
        text = shorten(text, self.width)
        sys.stderr.write("\r" + text.ljust(self._used))
        sys.stderr.flush()
        self._used = len(text)

    def write(self, text: str) -> None:
        """Write a line above the temporary one."""
        self.close()
        sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def close(self) -> None:
        """Remove the line."""
        if self._used:
            sys.stderr.write("\r" + " " * self._used + "\r")
            sys.stderr.flush()
            self._used = 0


class RichLine:
    """A line with a spinner and a clock, drawn by rich."""

    overwrites = True

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        # Paths and names of kernels may contain brackets and colons.
        console = Console(stderr=True, markup=False, highlight=False, emoji=False)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._task = self._progress.add_task("", total=None)
        self._progress.start()

    def show(self, text: str) -> None:
        """Replace the line."""
        room = max(20, self._progress.console.width - BESIDE_TEXT)
        self._progress.update(self._task, description=shorten(text, room))

    def write(self, text: str) -> None:
        """Write a line above the temporary one."""
        self._progress.console.print(text, soft_wrap=True)

    def close(self) -> None:
        """Remove the line."""
        with contextlib.suppress(OSError):  # the terminal may be gone
            self._progress.stop()


def shorten(text: str, width: int) -> str:
    """Return a text, cut to at most ``width`` characters.

    >>> shorten("level 12 done", 10)
    'level 1...'
    """
    return text if len(text) <= width else text[: width - 3] + "..."


def in_words(seconds: float) -> str:
    """Return a time as text.

    >>> [in_words(seconds) for seconds in (0.04, 12.3, 75, 4000)]
    ['0.0 s', '12 s', '1 min 15 s', '1 h 6 min']
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
