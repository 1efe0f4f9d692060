"""Measure time, passes, kernel values, memory and gap on waveform data of growing size.

There are ten degrees, beta = lambda / 10, and features are standardised and divided by sqrt(21).
Each fit runs in its own process, so that its peak memory can be measured. A pass has
p * n_centers * |{u > 0}| kernel values, at the last dual vector; `passes` is the number of all
kernel values divided by that.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from _common import (
    RESULTS,
    counted_values,
    describe_run,
    format_table,
    report_progress,
    write_report,
)

PACKAGES = ("numpy", "scipy", "scikit-learn", "highspy", "numba")
HEADER = (
    "m", "lambda", "seconds", "full passes", "passes", "values", "extra MB", "gap", "terms", "svs"
)  # fmt: skip


def fit_one(n_rows, complexity_penalty, n_jobs, memory_limit):
    """Fit and return the record; to be run in a fresh process."""
    from votedkernels import Polynomial, VotedKernelClassifier
    from votedkernels.kernels import LocalColumns
    from votedkernels.solvers import SOLVERS

    X, y = load(n_rows)
    seen = {}
    solver = SOLVERS["column-generation"]

    def recording(problem, **options):
        seen["columns"], seen["solution"] = problem.columns, solver.solve(problem, **options)
        return seen["solution"]

    SOLVERS["column-generation"] = replace(solver, solve=recording)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model = VotedKernelClassifier(
        Polynomial(gamma=1.0),
        complexity_penalty=complexity_penalty,
        l1_penalty=complexity_penalty / 10,
        complexity="trace",
        n_jobs=n_jobs,
        memory_limit=memory_limit,
    )
    start = time.perf_counter()
    with counted_values(LocalColumns) as n_values:
        model.fit(X, y)
    seconds = time.perf_counter() - start
    columns = seen["columns"]
    active = int(np.count_nonzero(seen["solution"].dual))
    return {
        "m": n_rows,
        "lambda": complexity_penalty,
        "seconds": seconds,
        "full_passes": model.n_iter_,
        "values": n_values[0],
        "passes": n_values[0] / (columns.n_kernels * columns.n_centers * active),
        "extra_mb": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e3,
        "gap": model.dual_gap_ / model.objective_,
        "objective": model.objective_,
        "terms": model.term_weights_.shape[1],
        "support": len(model.support_),
        "stop_reason": model.stop_reason_,
    }


def fit_svc(n_rows):
    """Return the seconds of one SVC fit, polynomial of degree 3 with C = 100, to the same rows."""
    from sklearn.svm import SVC

    X, y = load(n_rows)
    model = SVC(kernel="poly", degree=3, gamma=1.0, coef0=1.0, C=100.0, cache_size=1000)
    start = time.perf_counter()
    model.fit(X, y)
    return {"m": n_rows, "seconds": time.perf_counter() - start, "support": len(model.support_)}


def load(n_rows):
    from votedkernels.datasets import make_waveform

    X, y = make_waveform(n_rows, random_state=0)
    return (X - X.mean(axis=0)) / X.std(axis=0) / np.sqrt(X.shape[1]), y


def as_row(record):
    return (
        f"{record['m']:.0e}", f"{record['lambda']:.0e}", f"{record['seconds']:.1f}",
        str(record["full_passes"]), f"{record['passes']:.2f}", f"{record['values']:.2e}",
        f"{record['extra_mb']:.0f}", f"{record['gap']:.1e}", str(record["terms"]),
        str(record["support"]),
    )  # fmt: skip


def growth_lines(records):
    """Return the exponent of m in the seconds, fitted on a log scale."""
    lines = []
    for penalty in sorted({r["lambda"] for r in records}, reverse=True):
        some = [r for r in records if r["lambda"] == penalty]
        if len(some) > 1:
            slope, _ = np.polyfit(
                np.log([r["m"] for r in some]), np.log([r["seconds"] for r in some]), 1
            )
            lines.append(f"lambda = {penalty:g}: seconds grow as m^{slope:.2f}.")
    return lines


def svc_lines(records, svc):
    """Compare with SVC on the same number of rows."""
    return [
        f"m = {r['m']}, lambda = {r['lambda']:g}: one fit of SVC (polynomial of degree 3, C = 100, "
        f"one core) takes {svc['seconds']:.1f} s, {svc['seconds'] / r['seconds']:.1f} times as "
        f"long, and has {svc['support']} support vectors."
        for r in records
        if svc and r["m"] == svc["m"]
    ]


def run_alone(options):
    """Run this file in a new process and return what it prints."""
    command = [sys.executable, __file__, *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=float, nargs="+", default=[1e4, 2e4, 3e4, 1e5, 3e5, 1e6])
    parser.add_argument("--lambdas", type=float, nargs="+", default=[1e-2, 1e-3])
    parser.add_argument("--largest-small", type=float, default=1e5, help="for lambda below 1e-2")
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--memory-limit", default=None)
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument(
        "--svc-rows", type=int, default=20_000, help="rows for one fit of SVC; 0: none"
    )
    parser.add_argument("--one-svc", type=int, default=None)
    parser.add_argument("--one", type=float, nargs=2, metavar=("M", "LAMBDA"), default=None)
    arguments = parser.parse_args()
    if arguments.one:
        m, penalty = arguments.one
        json.dump(fit_one(int(m), penalty, arguments.n_jobs, arguments.memory_limit), sys.stdout)
        return
    if arguments.one_svc:
        json.dump(fit_svc(arguments.one_svc), sys.stdout)
        return
    run = describe_run(PACKAGES)
    run["settings"] = {"n_jobs": arguments.n_jobs, "memory_limit": arguments.memory_limit}
    svc = None
    if arguments.svc_rows:
        report_progress(f"SVC, m = {arguments.svc_rows}")
        svc = run_alone(["--one-svc", str(arguments.svc_rows)])
    records = []
    for penalty in arguments.lambdas:
        for m in arguments.sizes:
            if penalty < 1e-2 and m > arguments.largest_small:
                continue
            report_progress(f"m = {m:g}, lambda = {penalty:g}")
            options = ["--one", repr(m), repr(penalty), "--n-jobs", str(arguments.n_jobs)]
            if arguments.memory_limit:
                options += ["--memory-limit", arguments.memory_limit]
            records.append(run_alone(options))
            lines = [" ".join(__doc__.split()), *growth_lines(records), *svc_lines(records, svc)]
            # Save after each fit: the largest take long and may be stopped.
            write_report(
                arguments.output, "scale", title="Many rows", run=run, header=HEADER,
                rows=list(map(as_row, records)), left=(), lines=lines,
                data={"records": records, "svc": svc},
            )  # fmt: skip
    print(format_table(HEADER, list(map(as_row, records))))
    print("\n".join([*growth_lines(records), *svc_lines(records, svc)]))


if __name__ == "__main__":
    main()
