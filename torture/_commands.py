"""Call the command line within this process, and check its errors."""

import contextlib
import io
import sys
import traceback
from typing import NamedTuple

from votedkernels.cli import main


class Ended(NamedTuple):
    """How a command ended: its exit code and output, or None and a traceback."""

    code: int | None
    out: str
    err: str


def call(*args):
    """Run a command of votedkernels; return how it ended."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n") for _ in range(2))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main([str(arg) for arg in args])
    except SystemExit as ended:
        code, problem = ended.code or 0, ""
    except BaseException:
        code, problem = None, traceback.format_exc()
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode("utf-8", "surrogateescape"))
    return Ended(code, texts[0], texts[1] + problem)


def complaint_about(ended, *words):
    """Return what is wrong with an error message, which must be one line with the given words."""
    if ended.code != 2:
        return f"exit code {ended.code}, not 2: {' '.join(ended.err.split())[-300:]}"
    lines = [line for line in ended.err.splitlines() if not line.startswith("note:")]
    if len(lines) != 1 or not lines[0].startswith("votedkernels: "):
        return f"not one line: {ended.err[-300:]!r}"
    missing = [word for word in words if word not in lines[0]]
    if missing:
        return f"no {missing[0]!r} in {lines[0][:300]!r}"
    if not all(c.isprintable() for c in lines[0]):
        return f"control characters in {lines[0]!r}"
    return ""


def contents_of(folder):
    """Return the bytes of all files under a folder, and None for folders."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def peak_memory():
    """Return the peak memory of this process, in bytes."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )
