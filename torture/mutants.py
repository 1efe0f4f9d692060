"""Change the code in 500 places, one at a time, and see whether the tests notice.

Of the tests that execute the changed line, the quick ones run on each mutant. One that they fail
on, or on which a test takes many times as long, is killed. Results are JSON lines; what is there
already is not done again. The page lists survivors, with the reasons of `survivors.toml`.
"""

import argparse
import hashlib
import json
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from collections import Counter
from functools import partial
from pathlib import Path

from _chosen_tests import (
    COMPILED,
    PACKAGE,
    ROOT,
    Chosen,
    Table,
    Watched,
    fork_all,
    import_heavy,
    run_tests,
)
from _mutations import find_sites, mutate

#: What is changed.
MODULES = ("problem.py", "certificate.py", "bounds.py", "complexity", "solvers")
#: The tests that look at it.
TESTS = (
    "barrier", "bounds", "callbacks", "certificate", "classifier", "classifier_cv",
    "column_generation", "complexity", "complexity_empirical", "complexity_local",
    "continuous_gaussian", "coordinate_descent", "corner_cases", "dense_simplex", "hybrid_norm",
    "ladder", "lemmas_on_data", "limits", "lp", "master", "path", "problem", "sample",
)  # fmt: skip
WORK = ROOT / "build" / "mutants"
REASONS = Path(__file__).with_name("survivors.toml")
PAGE = ROOT / "docs" / "mutants.md"
#: A mutant: its file, the code of the line, the change, and which of several such.
KEY = ("file", "code", "change", "which")
HEAD = """# Mutants

`make mutants` changes the code of `problem`, `certificate`, `bounds`, `complexity` and `solvers` in
one place at a time, as a slip of the pen would (a comparison, an operator, a constant, a sign), and
runs the tests that execute the changed line. A mutant that no test notices has survived.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mutants", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--budget", type=float, default=15, help="seconds of tests for a mutant")
    parser.add_argument("--again", action="store_true", help="try survivors once more")
    parser.add_argument("--output", type=Path, default=WORK / "results.jsonl")
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args()
    import_heavy()
    base = WORK / "base"
    shutil.copytree(PACKAGE, base / "votedkernels", dirs_exist_ok=True)
    table = watch_tests(base, options.jobs)
    mutants = sample(options.mutants, options.seed)
    results = read(options.output)
    wanted = [
        mutant for mutant in mutants
        if mutant not in results or (options.again and not results[mutant]["killed"])
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder, options.output.open("a") as file:
        tasks = (prepare(mutant, base, Path(folder), table, options.budget) for mutant in wanted)
        started = time.monotonic()
        for number, (mutant, code, seconds) in enumerate(fork_all(tasks, options.jobs), 1):
            results[mutant] = judge(mutant, code, seconds, Path(folder) / name_of(mutant))
            print(json.dumps(results[mutant]), file=file, flush=True)
            tell(f"{number}/{len(wanted)}, {(time.monotonic() - started) / 60:.0f} min")
    page = page_of([results[mutant] for mutant in mutants], read_reasons())
    options.page.write_text(page, encoding="utf-8")
    print(page)


def tell(text):
    print(f"\r{text}", end="", file=sys.stderr, flush=True)


def watch_tests(base, jobs):
    """Run all tests once on the package as it is, unless it was done since they changed."""
    outputs, tasks = [], []
    for name in TESTS:
        source, output = ROOT / "tests" / f"test_{name}.py", WORK / f"{name}.json"
        outputs.append(output)
        newest = max(path.stat().st_mtime for path in [source, *PACKAGE.rglob("*.py")])
        if not output.exists() or output.stat().st_mtime < newest:
            tasks.append((name, partial(watch, base, source, output)))
    for number, (name, code, seconds) in enumerate(fork_all(tasks, jobs), 1):
        if code != 0:
            raise SystemExit(f"tests/test_{name}.py fails on the package as it is (exit {code})")
        tell(f"{number}/{len(tasks)} files of tests watched; {name}: {seconds:.0f} s\n")
    return Table(outputs)


def watch(base, source, output):
    return run_tests(base, [str(source)], Watched(output))


def sample(n_mutants, seed):
    """Choose mutants, (file, code of the line, change, which of several such)."""
    keys = [key for path in files() for key in sites_of(path)]
    keys.sort(key=lambda key: hashlib.sha256(json.dumps([seed, *key]).encode()).digest())
    return keys[:n_mutants]


def files():
    for name in MODULES:
        yield from sorted((PACKAGE / name).rglob("*.py")) or [PACKAGE / name]


def sites_of(path):
    """Return the sites of a file by keys that outlast changes elsewhere in it."""
    source, seen = path.read_text(encoding="utf-8"), Counter()
    lines, name = source.splitlines(), str(path.relative_to(PACKAGE))
    sites = {}
    for site in find_sites(source):
        same = name, lines[site.line - 1].strip(), site.change
        sites[*same, seen[same]] = site
        seen[same] += 1
    return sites


def name_of(mutant):
    return hashlib.sha256(json.dumps(mutant).encode()).hexdigest()[:16]


def prepare(mutant, base, folder, table, budget):
    """Write a copy of the package with one change; return the work to be done on it."""
    path, copy = PACKAGE / mutant[0], folder / name_of(mutant)
    site = sites_of(path)[mutant]
    # Times of files are kept, and so are numba's caches, but for those of a changed file.
    shutil.copytree(base / "votedkernels", copy / "votedkernels")
    changed = mutate(path.read_text(encoding="utf-8"), site)
    (copy / "votedkernels" / mutant[0]).write_text(changed, encoding="utf-8")
    tests = table.choose(mutant[0], site.line, budget)
    (copy / "tests").write_text(str(len(tests)), encoding="utf-8")
    sources = sorted({test.partition("::")[0] for test in tests})
    plugin, compiled = Chosen(tests, copy / "running"), mutant[0] not in COMPILED
    return mutant, partial(run_tests, copy, sources, plugin, compiled=compiled)


def judge(mutant, code, seconds, copy):
    """Say what became of a mutant, and remove its copy."""
    running, n_tests = copy / "running", int((copy / "tests").read_text())
    by = running.read_text() if running.exists() else "import"
    shutil.rmtree(copy)
    killed = n_tests > 0 and code != 0
    how = "too slow" if code == -signal.SIGALRM else "failed" if code == 1 else f"exit {code}"
    return {
        **dict(zip(KEY, mutant, strict=True)), "killed": killed,
        "by": by if killed else None, "how": how if killed else None, "n_tests": n_tests,
        "seconds": round(seconds, 1),
    }  # fmt: skip


def read(path):
    """Return results by mutant; the last word on each counts."""
    if not path.exists():
        return {}
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {tuple(result[key] for key in KEY): result for result in found}


def page_of(results, reasons):
    """Return the page of a campaign; ``reasons`` are those of survivors."""
    killed = Counter(result["file"] for result in results if result["killed"])
    total = Counter(result["file"] for result in results)
    share = killed.total() / max(1, total.total())
    survivors = [result for result in results if not result["killed"]]
    lines = [
        HEAD, f"**{killed.total()} of {total.total()} mutants were killed ({share:.1%}).**", "",
        "| file | mutants | killed |", "|---|---|---|",
        *(f"| {name} | {total[name]} | {killed[name]} |" for name in sorted(total)), "",
        "## Survivors", "", "| line | code | change | why no test can or need notice |",
        "|---|---|---|---|",
    ]  # fmt: skip
    rows = []
    for result in survivors:
        key = tuple(result[part] for part in KEY)
        line = sites_of(PACKAGE / key[0])[key].line
        code = key[1].replace("|", "\\|")
        rows.append((key[0], line, code, key[2], reasons.get(key[:3], "**not explained**")))
    lines += [
        f"| {f}:{at} | `{code}` | {change} | {why} |" for f, at, code, change, why in sorted(rows)
    ]
    return "\n".join(lines) + "\n"


def read_reasons():
    """Return why survivors survive, by file, code and change."""
    found = tomllib.loads(REASONS.read_text(encoding="utf-8")).get("survivor", [])
    return {(entry["file"], entry["code"], entry["change"]): entry["why"] for entry in found}


if __name__ == "__main__":
    main()
