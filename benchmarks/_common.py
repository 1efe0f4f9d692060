"""What the benchmarks share: the machine, the clock, and tables for people and programs."""

import datetime
import json
import os
import platform
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from votedkernels import __version__

RESULTS = Path(__file__).parent / "results"


def report_progress(text):
    """Tell on stderr what is being measured; stdout is for the table."""
    print(text, file=sys.stderr, flush=True)


# -- the machine ---------------------------------------------------------------------------


def describe_run(packages):
    """Return the date, the machine and the versions of Python and the packages."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": {
            "cpu": _cpu_model(),
            "cores": os.cpu_count(),
            "memory_gb": round(_meminfo("MemTotal") / 1e9, 1) if _meminfo("MemTotal") else None,
            "system": f"{platform.system()} {platform.machine()}",
        },
        "versions": {"votedkernels": __version__, "python": platform.python_version()}
        | {name: installed_version(name) for name in packages},
    }


def installed_version(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def available_memory():
    """Return the bytes that can be allocated without swapping, or None where nobody tells."""
    return _meminfo("MemAvailable")


def _cpu_model():
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    for line in lines:
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def _meminfo(field):
    try:
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith(f"{field}:"):
            return 1024 * int(line.split()[1])
    return None


# -- the clock -----------------------------------------------------------------------------


def time_call(function):
    """Return what a call returns, and its seconds of wall time."""
    start = time.perf_counter()
    result = function()
    return result, time.perf_counter() - start


def time_repeatedly(function, repeats, budget):
    """Call up to ``repeats`` times, at least once, until ``budget`` seconds are spent.

    Returns the result of the last call and the seconds of all of them.
    """
    seconds = []
    while not seconds or (len(seconds) < repeats and sum(seconds) < budget):
        result, elapsed = time_call(function)
        seconds.append(elapsed)
    return result, seconds


# -- tables --------------------------------------------------------------------------------


def format_table(header, rows, left=()):
    """Return aligned text; the columns numbered in ``left`` are flush left, the rest right."""
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


def format_markdown_table(header, rows, left=()):
    rule = [":--" if column in left else "--:" for column in range(len(header))]
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, rule, *rows))


def write_report(folder, name, *, title, run, header, rows, left, lines, data):
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
        What the table means; one paragraph or list item each.
    data : dict
        The numbers, unrounded.
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
    (folder / f"{name}.json").write_text(json.dumps(run | data, indent=2) + "\n", encoding="utf-8")
