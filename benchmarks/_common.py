"""What the benchmarks share: the machine, the clock, and tables for people and programs."""

import datetime
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from votedkernels import __version__

RESULTS = Path(__file__).parent / "results"


def report_progress(text: str) -> None:
    """Print on stderr what is being measured; stdout is for the table."""
    print(text, file=sys.stderr, flush=True)


@contextmanager
def counted_values(kind, *passes):
    """Count the kernel values that the passes of a class of columns evaluate, in a list."""
    count, originals = [0], {name: getattr(kind, name) for name in passes or ("sum_kernels",)}

    def counting(original):
        def priced(self, v, *rest):
            some = original.__name__ != "worst_columns" and rest and rest[0] is not None
            n_centers = len(rest[0]) if some else self.n_centers
            active = np.count_nonzero(v if v.ndim == 1 else v.any(axis=0))  # of any vector
            count[0] += self.n_kernels * n_centers * int(active)
            return original(self, v, *rest)

        return priced

    for name, original in originals.items():
        setattr(kind, name, counting(original))
    try:
        yield count
    finally:
        for name, original in originals.items():
            setattr(kind, name, original)


# -- the machine ---------------------------------------------------------------------------


def describe_run(packages: Sequence[str]) -> dict[str, Any]:
    """Return the date, the machine and the versions of Python and the packages."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": {
            "cpu": _cpu_model(),
            "cores": os.cpu_count(),
            "memory_gb": round((_meminfo("MemTotal") or 0) / 1e9, 1) or None,
            "system": f"{platform.system()} {platform.machine()}",
        },
        "versions": {"votedkernels": __version__, "python": platform.python_version()}
        | {name: installed_version(name) for name in packages},
    }


def installed_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def available_memory():
    """Return the bytes that can be allocated without swapping, or None if they are not known."""
    return _meminfo("MemAvailable")


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    for line in lines:
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def _meminfo(field: str) -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith(f"{field}:"):
            return 1024 * int(line.split()[1])
    return None


# -- the clock -----------------------------------------------------------------------------


def time_call(function: Callable[..., Any]) -> tuple[Any, float]:
    """Return the result of a call and its wall time in seconds."""
    start = time.perf_counter()
    result = function()
    return result, time.perf_counter() - start


def time_repeatedly(function, repeats, budget):
    """Call a function at least once, at most ``repeats`` times, for about ``budget`` seconds.

    Returns the result of the last call and the seconds of all calls.
    """
    seconds: list[float] = []
    while not seconds or (len(seconds) < repeats and sum(seconds) < budget):
        result, elapsed = time_call(function)
        seconds.append(elapsed)
    return result, seconds


# -- tables --------------------------------------------------------------------------------


def format_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = ()
) -> str:
    """Return aligned text; the columns in ``left`` are aligned left, the others right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    rule = ["-" * width for width in widths]
    lines = [
        "  ".join(
            f"{cell:<{width}}" if column in left else f"{cell:>{width}}"
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (header, rule, *rows)
    ]
    return "\n".join(lines)


def format_markdown_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = ()
) -> str:
    rule = [":--" if column in left else "--:" for column in range(len(header))]
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, rule, *rows))


def write_report(
    folder: Path,
    name: str,
    *,
    title: str,
    run: dict[str, Any],
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    left: Sequence[int],
    lines: Sequence[str],
    data: dict[str, Any] | None = None,
) -> None:
    """Write ``name.md`` for people and ``name.json`` for programs.

    Parameters
    ----------
    folder : Path
    name : str
    title : str
    run : dict
        From `describe_run`.
    header, rows, left
        The table, as for `format_table`.
    lines : list of str
        The explanation of the table, by paragraphs.
    data : dict, default=None
        The numbers, unrounded; None if they are in a file of their own.
    """
    folder.mkdir(parents=True, exist_ok=True)
    machine = run["machine"]
    memory = f", {machine['memory_gb']} GB" if machine["memory_gb"] else ""
    versions = ", ".join(f"{package} {number}" for package, number in run["versions"].items())
    text = [
        f"# {title}",
        f"{run['date']}. {machine['cpu']}, {machine['cores']} cores{memory}, {machine['system']}.",
        f"{versions}.",
        format_markdown_table(header, rows, left),
        *filter(None, lines),
    ]
    (folder / f"{name}.md").write_text("\n\n".join(text) + "\n", encoding="utf-8")
    if data is None:
        return
    (folder / f"{name}.json").write_text(json.dumps(run | data, indent=2) + "\n", encoding="utf-8")
