"""Random regression problems over the three losses, each compared with two other solvers."""

import contextlib
import sys
import warnings

from _spread import spread
from _trial import Trial
from support.regressions import (
    by_clarabel_of_residuals,
    by_linprog_of_residuals,
    random_regression,
)

from votedkernels.solvers import CONVERGENT_SOLVERS, SOLVERS

N_PROBLEMS = 500
CHUNK = 10
#: Allowed differences of objectives, which are sums over targets of about 1 with weights of sum 1.
AGREEMENT = 1e-8
TOL = 1e-9
#: Solvers that must reach the optimum; the others may say that they did not.
EXACT = ("column-generation", "lp")


def main():
    trial = Trial(
        21,
        f"{N_PROBLEMS} random regression problems over three losses, with weights, intercepts, "
        "repeated rows and constant targets",
        f"F and its proved bound within {AGREEMENT:g} of the optimum of the full LP, by HiGHS and "
        "by Clarabel; coordinate descent within it if it says 'optimal'",
    )
    n = trial.count(N_PROBLEMS)
    first = trial.options.seed * N_PROBLEMS
    chunks = [
        range(start, min(start + CHUNK, first + n)) for start in range(first, first + n, CHUNK)
    ]
    worst, done, compared = 0.0, 0, 0
    for results in spread(judge, chunks):
        for seed, differences, by_both in results:
            done, compared = done + 1, compared + by_both
            for name, difference in differences.items():
                worst = max(worst, difference)
                if not difference <= AGREEMENT:
                    trial.fail(f"problem {seed}: {name} is off by {difference:.2g}")
        trial.tell(f"{done} of {n} problems")
    trial.end(
        f"{done} problems, {compared} compared with Clarabel too; differences up to {worst:.1g}"
    )


def judge(seeds):
    """Return (seed, largest difference of each solver, whether both others had an answer)."""
    return [judge_one(seed) for seed in seeds]


def judge_one(seed):
    problem, data = random_regression(seed)
    optima = [by_linprog_of_residuals(problem, *data)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(AssertionError):  # it may stop before its tolerance
            optima.append(by_clarabel_of_residuals(problem, *data))
    found = {}
    for name in CONVERGENT_SOLVERS:
        solution = SOLVERS[name].solve(problem, tol=TOL)
        objective, bound = problem.certify(solution.terms, solution.dual)
        errors = [bound - optimum for optimum in optima]
        if name in EXACT or solution.stop_reason == "optimal":
            errors += [abs(value - optimum) for value in (objective, bound) for optimum in optima]
        found[name] = max(errors)
    return seed, found, len(optima) == 2


if __name__ == "__main__":
    sys.exit(main())
