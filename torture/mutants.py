"""Change the code in 500 places, one at a time, and see whether the tests notice.

The quick tests among those that execute the changed line run on each mutant. A mutant is killed if
one of them fails or takes many times as long. Results are JSON lines; mutants that have a result
are not tried again. The page lists the survivors, with reasons from `survivors.toml`.
"""

import argparse
import hashlib
import json
import shutil
import signal
import sys
import tempfile
import tomllib
from collections import Counter
from functools import partial
from pathlib import Path

import _chosen_tests as tests
from _chosen_tests import PACKAGE, ROOT
from _mutations import find_sites, mutate

#: The files that are changed.
MODULES = ("problem", "guarantees/theorems.py", "complexity", "solvers")
#: The tests that check them.
TESTS = (
    "complexity/test_empirical", "complexity/test_lemmas_on_data", "complexity/test_local",
    "complexity/test_measures", "complexity/test_memory", "complexity/test_outside_centers",
    "complexity/test_stable_rank",
    "display/test_convergence", "estimators/test_both_stages", "estimators/test_callbacks",
    "estimators/test_classifier", "estimators/test_classifier_cv", "estimators/test_corner_cases",
    "estimators/test_explanation", "estimators/test_limits", "estimators/test_memory_limits",
    "estimators/test_path", "estimators/test_path_search", "estimators/test_regressor",
    "estimators/test_relaxation", "estimators/test_relevance", "estimators/test_voting",
    "guarantees/test_theorems", "kernels/test_continuous_gaussian",
    "preparation/test_default_penalties", "preparation/test_sample", "problem/test_losses",
    "problem/test_problem", "problem/test_relaxed", "problem/test_rounding", "problem/test_vote",
    "solvers/lp/test_dense_simplex", "solvers/lp/test_ladder", "solvers/lp/test_linear_programs",
    "solvers/test_barrier", "solvers/test_box_newton", "solvers/test_column_generation",
    "solvers/test_coordinate_descent", "solvers/test_elastic_net", "solvers/test_elastic_pool",
    "solvers/test_greedy", "solvers/test_grid", "solvers/test_grid_order",
    "solvers/test_hybrid_norm", "solvers/test_master", "solvers/test_newton",
    "solvers/test_passes", "solvers/test_pool", "solvers/test_quantiles",
    "solvers/test_relaxation", "solvers/test_rounds", "solvers/test_together",
    "solvers/test_trace", "solvers/test_unpenalised_kernels",
)  # fmt: skip
WORK, PAGE = ROOT / "build" / "mutants", ROOT / "docs" / "mutants.md"
BASE = WORK / "base" / "votedkernels"
RESULTS, REASONS = (
    Path(__file__).with_name("mutants.jsonl"),
    Path(__file__).with_name("survivors.toml"),
)
#: What identifies a mutant: file, code of the line, change, and number among equal ones.
KEY = ("file", "code", "change", "which")
HEAD = """# Mutants

`make mutants` changes the code of `problem`, `complexity`, `solvers` and `guarantees/theorems.py`
in one place at a time, like a typical programming mistake: a comparison, an operator, a constant
or a sign. It then runs the tests that execute the changed line. A mutant that no test detects
survives.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mutants", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--budget", type=float, default=25, help="seconds of tests per mutant")
    parser.add_argument("--again", action="store_true", help="try unexplained survivors once more")
    options = parser.parse_args()
    mutants, results = sample(options.mutants), read_results()
    unexplained = {key for key in results if key[:3] not in read_reasons()}
    wanted = [
        key for key in mutants
        if key not in results
        or (options.again and key in unexplained and not results[key]["killed"])
    ]  # fmt: skip
    if wanted:
        tests.import_heavy()
        table = watch_tests(options.jobs)
    with tempfile.TemporaryDirectory() as folder, RESULTS.open("a", encoding="utf-8") as file:
        work = (prepare(mutant, Path(folder), table, options.budget) for mutant in wanted)
        for number, (mutant, code) in enumerate(tests.fork_all(work, options.jobs), 1):
            results[mutant] = judge(mutant, code, Path(folder) / name_of(mutant))
            print(json.dumps(results[mutant]), file=file, flush=True)
            print(f"\r{number}/{len(wanted)} mutants", end="", file=sys.stderr, flush=True)
    PAGE.write_text(page_of([results[mutant] for mutant in mutants], read_reasons()), "utf-8")
    print(f"\nwritten to {PAGE}")


def watch_tests(jobs):
    """Run all tests once on the unchanged package, unless nothing has changed since last time."""
    shutil.copytree(PACKAGE, BASE, dirs_exist_ok=True)
    newest = max(path.stat().st_mtime for path in PACKAGE.rglob("*.py"))
    work = {}
    for name in TESTS:
        source, output = ROOT / "tests" / f"{name}.py", _output_of(name)
        if not output.exists() or output.stat().st_mtime < max(newest, source.stat().st_mtime):
            work[name] = partial(watch, source, output)
    for name, code in tests.fork_all(work.items(), jobs):
        failed = "; tests that fail on the unchanged package are left out" if code else ""
        print(f"tests/{name}.py: watched{failed}", file=sys.stderr)
    return tests.Table([_output_of(name) for name in TESTS])


def _output_of(name):
    return WORK / f"{name.replace('/', '-')}.json"


def watch(source, output):
    return tests.run_tests(BASE.parent, [str(source)], tests.Watched(output))


def sample(n_mutants):
    """Choose mutants at random; changes to other code do not change the choice."""
    keys = [key for path in files() for key in sites_of(path)]
    return sorted(keys, key=lambda key: hashlib.sha256(json.dumps([0, *key]).encode()).digest())[
        :n_mutants
    ]


def files():
    for name in MODULES:
        yield from sorted((PACKAGE / name).rglob("*.py")) or [PACKAGE / name]


def sites_of(path):
    """Return the sites of a file, by mutant."""
    source, seen, sites = path.read_text(encoding="utf-8"), Counter(), {}
    for site in find_sites(source):
        code = source.splitlines()[site.line - 1].strip()
        same = str(path.relative_to(PACKAGE)), code, site.change
        sites[*same, seen[same]] = site
        seen[same] += 1
    return sites


def name_of(mutant):
    return hashlib.sha256(json.dumps(mutant).encode()).hexdigest()[:16]


def prepare(mutant, folder, table, budget):
    """Write a copy of the package with one change; return the mutant and the work to do."""
    path, copy = PACKAGE / mutant[0], folder / name_of(mutant)
    site = sites_of(path)[mutant]
    # File times are kept, so that numba's caches stay valid except those of the changed file.
    shutil.copytree(BASE, copy / "votedkernels")
    changed = mutate(path.read_text(encoding="utf-8"), site)
    (copy / "votedkernels" / mutant[0]).write_text(changed, encoding="utf-8")
    chosen = table.choose(mutant[0], site.line, budget)
    sources = sorted({test.partition("::")[0] for test in chosen})
    plugin, compiled = tests.Chosen(chosen, copy / "running"), mutant[0] not in tests.COMPILED
    return mutant, partial(
        tests.run_tests, copy, sources, plugin, compiled=compiled
    ) if chosen else int


def judge(mutant, code, copy):
    """Return what happened to a mutant, and remove its copy."""
    note = copy / "running"
    by = note.read_text(encoding="utf-8") if note.exists() else "import"
    shutil.rmtree(copy)
    how = "too slow" if code == -signal.SIGALRM else "failed" if code == 1 else f"exit {code}"
    fate = {"killed": code != 0, "by": by, "how": how} if code else {"killed": False}
    return dict(zip(KEY, mutant, strict=True)) | fate


def read_results():
    """Return results by mutant; the last result of each counts."""
    lines = RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.exists() else []
    return {tuple(result[key] for key in KEY): result for result in map(json.loads, lines)}


def read_reasons():
    """Return the reasons why mutants survive, by file, code and change."""
    found = tomllib.loads(REASONS.read_text(encoding="utf-8")).get("survivor", [])
    return {(entry["file"], entry["code"], entry["change"]): entry["why"] for entry in found}


def page_of(results, reasons):
    """Return the page of results; ``reasons`` explain survivors."""
    killed = Counter(result["file"] for result in results if result["killed"])
    total = Counter(result["file"] for result in results)
    rows = []
    for key in (tuple(result[part] for part in KEY) for result in results if not result["killed"]):
        line, code = sites_of(PACKAGE / key[0])[key].line, key[1].replace("|", "\\|")
        why = reasons.get(key[:3], "**not explained**")
        rows.append((key[0], line, f"| {key[0]}:{line} | `{code}` | {key[2]} | {why} |"))
    return "\n".join([
        HEAD, f"**{killed.total()} of {total.total()} mutants were killed"
        f" ({killed.total() / max(1, total.total()):.1%}).**",
        "", "| file | mutants | killed |", "|---|---|---|",
        *(f"| {name} | {total[name]} | {killed[name]} |" for name in sorted(total)),
        "", "## Survivors", "", "| line | code | change | why no test notices |",
        "|---|---|---|---|", *(row for _, _, row in sorted(rows)), "",
    ])  # fmt: skip


if __name__ == "__main__":
    main()
