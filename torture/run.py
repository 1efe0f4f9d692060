"""Run trials, print a table of their results, and write it to docs/reliability.md.

Two trials run at a time, the longest first, and then one by one those that measure seconds. The
last result of each trial is kept in results.json; the page shows all of them.
"""

import argparse
import datetime
import json
import os
import platform
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
PAGE = FOLDER.parent / "docs" / "reliability.md"
RESULTS = FOLDER / "results.json"
#: Time limits in seconds: for all trials together, and for each of them.
LIMIT, LIMIT_OF_ONE = 120 * 60, 60 * 60
AT_ONCE = 2
#: Trials whose required results are seconds, so that nothing else may run.
ALONE = ("hostile_kernels", "interruptions", "limited_searches")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="trials, such as random_problems; all by default")
    parser.add_argument("--share", type=float, default=1.0, help="share of its cases to run")
    options = parser.parse_args()
    scripts = sorted((FOLDER / "trials").glob("[a-z]*.py"))
    known = [script.stem for script in scripts]
    unknown = sorted(set(options.names) - set(known))
    if unknown:
        parser.error(f"there is no trial {unknown[0]}; choose from {', '.join(known)}")
    if options.names:
        scripts = [script for script in scripts if script.stem in options.names]
    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    started = time.monotonic()
    results = run_trials(scripts, options.share, started + LIMIT, kept)
    results.sort(key=_place)
    print(table_of(results))
    print(f"{len(results)} trials in {(time.monotonic() - started) / 60:.0f} minutes")
    if options.share == 1:
        kept |= {result["name"]: result for result in results}
        kept = {name: kept[name] for name in known if name in kept}
        RESULTS.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
        PAGE.write_text(page_of(sorted(kept.values(), key=_place)), encoding="utf-8")
        print(f"written to {PAGE}")
    return 1 if any(result["failures"] for result in results) else 0


def _place(result):
    return result["number"], result["name"]


def run_trials(scripts, share, end, kept):
    """Return the results of trials; ``kept`` holds earlier results, which say how long each takes.

    A trial that has never run counts as long.
    """

    def run(script):
        return run_trial(script, share, end)

    def seconds(script):
        return kept.get(script.stem, {}).get("seconds", LIMIT_OF_ONE)

    together = [script for script in scripts if script.stem not in ALONE]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(pool.map(run, sorted(together, key=seconds, reverse=True)))
    return results + [run(script) for script in scripts if script.stem in ALONE]


def run_trial(script, share, end):
    """Run one trial in its own process group; return its result, even if it dies."""
    print(f"{script.stem} ...", file=sys.stderr, flush=True)
    seconds = max(1.0, min(LIMIT_OF_ONE, end - time.monotonic()))
    started = time.monotonic()
    path = [str(FOLDER), str(FOLDER.parent / "tests"), os.environ.get("PYTHONPATH", "")]
    process = subprocess.Popen(
        [sys.executable, str(script), "--share", str(share)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
    )
    try:
        printed, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        printed, _ = process.communicate()
        return _failed(script, f"not done after {seconds:.0f} s", started)
    lines = printed.strip().splitlines()
    try:
        return {"name": script.stem, "date": _today()} | json.loads(lines[-1])
    except (IndexError, ValueError):
        return _failed(script, f"ended with exit code {process.returncode} and no result", started)


def _failed(script, why, started):
    return {
        "name": script.stem, "date": _today(), "number": 99, "what": script.stem, "must_show": "",
        "shown": "", "failures": [why], "share": None,
        "seconds": round(time.monotonic() - started, 1),
    }  # fmt: skip


def _today():
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def table_of(results):
    """Return the table for a terminal."""
    lines = []
    for result in results:
        state = "FAILED" if result["failures"] else "ok"
        lines.append(
            f"{result['number']:>3}  {state:6}  {result['seconds']:7.1f} s  {result['what']}"
        )
        lines.append(f"{'':23}  {result['shown']}")
        lines += [f"{'':23}  ! {failure}" for failure in result["failures"][:5]]
    return "\n".join(lines)


def page_of(results):
    """Return the page of the documentation."""
    rows = [
        f"| {r['number']} | {_cell(r['what'])} | {_cell(r['must_show'])} | {_cell(r['shown'])} | "
        f"{'**failed**: ' + _cell('; '.join(r['failures'][:3])) if r['failures'] else 'yes'} | "
        f"{r['seconds']:.0f} | {r['date']} |"
        for r in results
    ]
    return "\n".join([
        "# Reliability",
        "",
        "`make torture` tries to break the library. The table shows the latest results, with "
        f"Python {platform.python_version()} on {os.cpu_count()} cores. The seconds of all trials "
        f"add up to {sum(r['seconds'] for r in results) / 60:.0f} minutes; two run at a time. The "
        "quick ones are also part of the test suite.",
        "",
        "| # | trial | required result | result | passed | seconds | date |",
        "|--:|---|---|---|---|--:|---|",
        *rows,
        "",
        "Three more checks have their own make targets:",
        "",
        "| # | check | required result | command |",
        "|--:|---|---|---|",
        "| 16 | the tests with the oldest and newest versions of the dependencies | all pass | "
        "`make test-oldest`, `make test`, both in CI |",
        "| 17 | statements that the tests execute | at least 95 % | `make coverage`, which fails "
        "otherwise |",
        "| 17 | mutants of problem, complexity, solvers and the theorems | at least 85 % killed, "
        "survivors explained | `make mutants`, with these [results](mutants.md) |",
        "",
    ])  # fmt: skip


def _cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    sys.exit(main())
