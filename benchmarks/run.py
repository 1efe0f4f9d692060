"""Compare five solvers: votedkernels, its coordinate descent, the full LP, lp_solve and skglm.

Prints a table and writes it to ``benchmarks/results/solvers.md`` and ``.json``.
Run it with ``make bench``; README.md in this folder says what is measured.
"""

import argparse
import statistics
from dataclasses import replace
from functools import partial
from pathlib import Path

from _common import (
    RESULTS,
    describe_run,
    format_table,
    report_progress,
    write_report,
)
from _competitors import (
    DUAL_SIMPLEX,
    Failed,
    Limits,
    NotInstalled,
    lp_solve_version,
    run_full_lp,
    run_lp_solve,
    run_ours,
    run_skglm,
)
from _instance import make_instance
from threadpoolctl import threadpool_limits

PACKAGES = ("numpy", "scipy", "scikit-learn", "highspy", "numba", "skglm")
SOLVERS = {
    "ours": "votedkernels",
    "cd-1e-3": "coordinate descent to 1e-3",
    "cd-1e-6": "coordinate descent to 1e-6",
    "lp": "full LP, SciPy",
    "lp_solve": "lp_solve",
    "skglm": "skglm",
}
HEADER = ("m", "lambda", "solver", "seconds", "best", "gap", "ratio", "remark")
LEFT = (2, 7)


def main():
    arguments = parse_arguments()
    limits = Limits(arguments.repeats, arguments.cap, n_jobs=arguments.n_jobs)
    run = describe_run(PACKAGES)
    run["versions"]["lp_solve"] = lp_solve_version()
    run["settings"] = {
        "repeats": limits.repeats,
        "cap": limits.cap,
        "n_jobs": limits.n_jobs,
    }
    records = []
    with threadpool_limits(limits.n_jobs):
        for n_rows in arguments.sizes:
            # Loading and compiling on first use are not timed.
            run_ours(make_instance(n_rows, 1e-2), replace(limits, repeats=1))
            for complexity_penalty in arguments.lambdas:
                records += compare(n_rows, complexity_penalty, arguments, limits)
                # Save after each problem: a complete run takes hours and may be stopped.
                save(records, run, arguments)
    print(format_table(HEADER, list(map(as_row, records)), LEFT))
    print()
    print("\n".join(summary_lines(records)))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small run, about two minutes")
    parser.add_argument("--sizes", type=int, nargs="+", metavar="M", help="numbers of rows")
    parser.add_argument("--lambdas", type=float, nargs="+", metavar="LAMBDA")
    parser.add_argument("--repeats", type=int, help="of everything that is not slow")
    parser.add_argument("--cap", type=float, metavar="SECONDS", help="for each competitor's run")
    parser.add_argument("--n-jobs", type=int, default=1, help="threads, for all alike")
    parser.add_argument(
        "--solvers", nargs="+", choices=SOLVERS, default=list(SOLVERS), help="ours always runs"
    )
    parser.add_argument(
        "--lp-solve-sizes",
        type=int,
        nargs="*",
        metavar="M",
        help="where to run lp_solve; its file takes 60 MB for 300 rows, 600 MB for 1000",
    )
    parser.add_argument("--output", type=Path, default=RESULTS, metavar="DIR")
    arguments = parser.parse_args()
    defaults = {
        "sizes": [300, 1000, 3000],
        "lambdas": [1e-2, 1e-3, 1e-4],
        "repeats": 7,
        "cap": 900.0,
        "lp_solve_sizes": [300],
    }
    if arguments.quick:
        defaults |= {"sizes": [100, 200], "repeats": 3, "cap": 10.0, "lp_solve_sizes": [100, 200]}
    for name, value in defaults.items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, value)
    return arguments


def compare(n_rows, complexity_penalty, arguments, limits):
    """Run all solvers on one problem; return one record per solver."""
    instance = make_instance(n_rows, complexity_penalty)
    case = {"m": n_rows, "lambda": complexity_penalty}
    where = f"m = {n_rows}, lambda = {complexity_penalty:g}"
    report_progress(f"{where}: {SOLVERS['ours']}")
    ours = run_ours(instance, limits)
    lower_bound = instance.lower_bound(ours.weights)
    records = [case | describe_outcome("ours", ours, instance, lower_bound, ours)]
    descend = partial(run_ours, instance, limits, solver="coordinate-descent")
    for solver, solve in (
        ("cd-1e-3", lambda: descend(tol=1e-3)),
        ("cd-1e-6", lambda: descend(tol=1e-6)),
        ("lp", lambda: run_full_lp(instance, limits)),
        ("lp_solve", lambda: run_lp_solve(instance, limits, lower_bound)),
        ("skglm", lambda: run_skglm(instance, limits, lower_bound)),
    ):
        if solver not in arguments.solvers:
            continue
        if solver == "lp_solve" and n_rows not in arguments.lp_solve_sizes:
            continue
        report_progress(f"{where}: {SOLVERS[solver]}")
        try:
            outcome = solve()
        except NotInstalled:
            record = {"solver": solver, "remark": "not installed"}
        except Failed as failure:
            record = {"solver": solver, "remark": f"failed: {failure}"}
        except Exception as error:  # go on with the other solvers
            reason = " ".join(str(error).split())[:80]
            record = {"solver": solver, "remark": f"failed: {type(error).__name__} {reason}"}
        else:
            record = describe_outcome(solver, outcome, instance, lower_bound, ours)
        records.append(case | record)
    return records


def describe_outcome(solver, outcome, instance, lower_bound, ours):
    """Return the record of a run; the gap is recomputed from the weights."""
    seconds = statistics.median(outcome.seconds)
    record = {
        "solver": solver,
        "seconds": seconds,
        "best_seconds": min(outcome.seconds),
        "n_repeats": len(outcome.seconds),
        "is_unfinished": outcome.is_unfinished,
        "ratio": seconds / statistics.median(ours.seconds),
        "objective": None,
        "relative_gap": None,
        "lower_bound": lower_bound,
        "remark": outcome.note,
        "details": outcome.details,
    }
    if outcome.weights is not None:
        objective = instance.objective(outcome.weights)
        record["objective"] = objective
        record["relative_gap"] = max(0.0, objective - lower_bound) / objective
    return record


def as_row(record):
    more = "> " if record.get("is_unfinished") else ""
    gap = record.get("relative_gap")
    measured = "seconds" in record
    return (
        str(record["m"]),
        f"{record['lambda']:.0e}",
        SOLVERS[record["solver"]],
        f"{more}{record['seconds']:.3g}" if measured else "-",
        f"{record['best_seconds']:.3g}" if measured and record["n_repeats"] > 1 else "-",
        "-" if gap is None else f"{gap:.0e}",
        f"{more}{record['ratio']:.3g}" if measured and record["solver"] != "ours" else "-",
        record["remark"],
    )


def summarise(records):
    """Return, for each m, the geometric mean and the smallest ratio of the full LP to ours.

    The full LP is solved by the fastest way to call linprog, and by the dual simplex with its
    defaults. A mean that includes an unfinished run is a lower limit.
    """
    medians = {(r["m"], r["lambda"]): r["seconds"] for r in records if r["solver"] == "ours"}
    summary = []
    for n_rows in dict.fromkeys(r["m"] for r in records):
        runs = [r for r in records if r["m"] == n_rows and r["solver"] == "lp" and "ratio" in r]
        fastest = [(r["ratio"], r["is_unfinished"]) for r in runs]
        usual = [
            (
                statistics.median(run["seconds"]) / medians[n_rows, r["lambda"]],
                run["is_unfinished"],
            )
            for r in runs
            if (run := r["details"]["variants"].get(DUAL_SIMPLEX.name))
        ]
        for name, ratios in (("fastest", fastest), (DUAL_SIMPLEX.name, usual)):
            if ratios:
                values = [ratio for ratio, _ in ratios]
                summary.append(
                    {
                        "m": n_rows,
                        "full_lp": name,
                        "geometric_mean_ratio": statistics.geometric_mean(values),
                        "smallest_ratio": min(values),
                        "n_lambdas": len(values),
                        "is_lower_limit": any(unfinished for _, unfinished in ratios),
                    }
                )
    return summary


def summary_lines(records):
    return [
        f"m = {entry['m']}: full LP ({entry['full_lp']}) / votedkernels, "
        f"{'more than ' if entry['is_lower_limit'] else ''}"
        f"{entry['geometric_mean_ratio']:.1f} in the geometric mean over "
        f"{entry['n_lambdas']} lambda, {entry['smallest_ratio']:.1f} at least."
        for entry in summarise(records)
    ]


def save(records, run, arguments):
    write_report(
        arguments.output,
        "solvers",
        title="Solvers, side by side",
        run=run,
        header=HEADER,
        rows=list(map(as_row, records)),
        left=LEFT,
        lines=[
            "\n".join(f"- {line}" for line in summary_lines(records)),
            "Waveform data, standardised and divided by sqrt(21); polynomial kernels of degree 1 "
            "to 10 with gamma = 1, trace complexity, beta = lambda / 10; one process, "
            f"{arguments.n_jobs} thread(s). `seconds` is the median of up to {arguments.repeats} "
            "repeats (fewer if they take long), `best` the fastest of them. `ratio` is the median "
            "divided by that of votedkernels in the same run.",
            "`gap` is (F - D) / F. F is recomputed by NumPy from the weights that a solver "
            "returned. D, a lower bound on the optimum, is computed by NumPy from the weights of "
            "votedkernels and is the same for all solvers of a problem.",
            "The time of the full LP includes its construction. The remark names the fastest of "
            "the dual simplex with and without presolve and the interior point method. The last "
            "gets as much time as the faster dual simplex took, and nothing else is tried if the "
            f"first dual simplex reaches the cap of {arguments.cap:g} s. For lp_solve, the time "
            "to read the file and solve is counted, but not the time to write it. For skglm, the "
            "time to a relative excess of 1e-3 is counted, without compilation; `gap` shows how "
            "far it got in the end. "
            'Coordinate descent is `solver="coordinate-descent"`, which uses no LP solver.',
        ],
        data={"records": records, "summary": summarise(records)},
    )


if __name__ == "__main__":
    main()
