"""The code in the pages of the documentation: what is to be run, and what it should print.

A fence is Python (```python), commands (```console, each after "$ "), or anything else. A fence
```text that follows at once, with only blank lines between, is what the code prints; "..." in it
stands for anything, and white space counts as one blank.
"""

import doctest
import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from support.paths import ROOT

FENCE = re.compile(r"^```(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Packages of recipes that nobody needs for anything else.
OPTIONAL = ("aeon", "grakel")


@dataclass(frozen=True)
class Block:
    """A fence of code, the output that the page shows for it, and where it is."""

    language: str
    code: str
    output: str | None
    page: Path
    line: int

    @property
    def is_runnable(self):
        """Whether all optional packages that it imports are here."""
        named = re.findall(rf"^from ({'|'.join(OPTIONAL)})\b", self.code, re.MULTILINE)
        return all(find_spec(name) for name in named)

    def compiled(self):
        """The code, with the lines that it has in the page, so that tracebacks lead there."""
        return compile("\n" * self.line + self.code, str(self.page), "exec")


def pages():
    """All pages that are written by hand."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page):
    """The fences of a page, in their order."""
    text = page.read_text(encoding="utf-8")
    found = list(FENCE.finditer(text))
    following_ones = [*found, None][1:]
    return [
        Block(
            language=fence[1],
            code=fence[2],
            output=following[2] if _is_output(text, fence, following) else None,
            page=page,
            line=text.count("\n", 0, fence.start()) + 1,
        )
        for fence, following in zip(found, following_ones, strict=True)
    ]


def _is_output(text, fence, following):
    between = "" if following is None else text[fence.end() : following.start()]
    return following is not None and following[1] == "text" and not between.strip()


def promised_in_comments(code):
    """What a block prints by its own comments: ``print(...)  # this``."""
    return re.findall(r"^print\(.*\)  # (.*)$", code, flags=re.MULTILINE)


def agrees(printed, promised):
    """Whether the output is what the page shows."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(promised, printed, flags)


def commands(page):
    """All commands in fences of a page that are no synopses, one list of lines for each."""
    return [
        command.removeprefix("$ ").split("  # ")[0].strip()
        for block in blocks(page)
        if block.language in ("", "console", "sh")
        for command in block.code.splitlines()
        if re.match(r"(\$ )?(make|pip|python3?|votedkernels|\.venv/bin/\w+|zcat) ", command)
        and not re.search(r"\s\[|\.\.\.", command.split("#")[0])
    ]
