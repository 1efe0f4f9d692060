"""Bars of progress, in terminals only."""

from rich.console import Console
from rich.progress import Progress, ProgressColumn


class TerminalProgress(Progress):
    """A bar where the console is a terminal, and nothing at all elsewhere.

    Before rich 14.3, even a bar that is disabled ends in an empty line.
    """

    def __init__(self, *columns: ProgressColumn, console: Console, transient: bool = False) -> None:
        super().__init__(
            *columns, console=console, disable=not console.is_terminal, transient=transient
        )

    def stop(self) -> None:
        """Leave the bar, if there was one."""
        if not self.disable:
            super().stop()
