"""The code in the pages of the documentation, and what it should print.

A fence is Python (```python), commands (```console, each after "$ "), or anything else. A fence
```text that follows directly, after blank lines only, shows what the code prints; "..." in it
matches anything, and any white space counts as one space.
"""

import doctest
import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from support.paths import ROOT

FENCE = re.compile(r"^```(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Packages that only a few recipes need.
OPTIONAL = ("aeon", "grakel", "parasail")


@dataclass(frozen=True)
class Block:
    """A fence of code, the output that the page shows for it, and its place."""

    language: str
    code: str
    output: str | None
    page: Path
    line: int

    @property
    def is_runnable(self):
        """Whether all optional packages that it imports are installed."""
        named = re.findall(rf"^(?:from|import) ({'|'.join(OPTIONAL)})\b", self.code, re.MULTILINE)
        return all(find_spec(name) for name in named)

    def compiled(self):
        """Return the code with the line numbers of the page, for tracebacks."""
        return compile("\n" * self.line + self.code, str(self.page), "exec")


def pages():
    """Return all pages that are written by hand."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page):
    """Return the fences of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found = list(FENCE.finditer(text))
    following_ones = [*found, None][1:]
    return [
        Block(
            language=fence[1],
            code=fence[2],
            output=_output(text, fence, following),
            page=page,
            line=text.count("\n", 0, fence.start()) + 1,
        )
        for fence, following in zip(found, following_ones, strict=True)
    ]


def _output(text, fence, following):
    """Return what the following fence shows, if it is the output of this one."""
    if following is None or following[1] != "text":
        return None
    return None if text[fence.end() : following.start()].strip() else following[2]


def promised_in_comments(code):
    """Return what a block prints according to its comments: ``print(...)  # this``."""
    return re.findall(r"^print\(.*\)  # (.*)$", code, flags=re.MULTILINE)


def agrees(printed, promised):
    """Whether the output is what the page shows."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(promised, printed, flags)


def commands(page):
    """Return all commands in the fences of a page, except synopses."""
    return [
        command.removeprefix("$ ").split("  # ")[0].strip()
        for block in blocks(page)
        if block.language in ("", "console", "sh")
        for command in block.code.splitlines()
        if re.match(r"(\$ )?(make|pip|python3?|votedkernels|\.venv/bin/\w+|zcat) ", command)
        and not re.search(r"\s\[|\.\.\.", command.split("#")[0])
    ]
