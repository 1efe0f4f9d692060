"""Random problems compared with exact rational arithmetic."""

import sys
import warnings
from functools import cache

import numpy as np
from _dense import Recorder, class_factors, kernel_values, members_of, take
from _problems import draw_problem
from _spread import spread
from _trial import Trial
from support import oracles

N_PROBLEMS = 200
AGREEMENT = 1e-9


def main():
    exact = oracles.is_installed("esolver")
    who = "QSopt_ex, exact rational arithmetic" if exact else "Clarabel and SCIP"
    trial = Trial(2, f"{N_PROBLEMS} random problems against {who}", "objective to 1e-9")
    n = trial.count(N_PROBLEMS)
    first = 1_000_000 + trial.options.seed * 100_000
    worst, done, no_answer = 0.0, 0, 0
    seeds = range(first, first + n + n // 4 + 4)
    # Some problems have no linear program that fits, so there are more seeds than needed.
    for seed, difference, text in spread(compare, seeds, few=8):
        if text == "skipped" or done == n:
            continue
        done += 1
        trial.tell(f"{done} of {n} problems")
        if text == "no answer":
            no_answer += 1
        elif not difference <= AGREEMENT:
            trial.fail(f"problem {seed}: differs by {difference:.3g} ({text})")
        else:
            worst = max(worst, difference)
    if done < n or no_answer > n // 20:
        trial.fail(f"only {done - no_answer} of {n} problems were compared")
    trial.end(
        f"{done - no_answer} of {done} compared with {who}; relative differences up to {worst:.2g}"
    )


recorder = cache(Recorder)  # one in each process


def compare(seed):
    """Return (seed, relative difference of the objectives, state)."""
    drawn = draw_problem(seed, most_rows=14)
    model = drawn.model.set_params(tol=1e-11, l2_penalty=0.0)
    kernels = model.kernels if isinstance(model.kernels, list) else [model.kernels]
    if len(drawn.X) > 20 or getattr(kernels[-1], "is_continuous", False):
        return seed, 0.0, "skipped"
    recorder().seen.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(drawn.X, drawn.y, drawn.sample_weight)
    problem, value = first_problem(model, drawn), model.class_objectives_[0]
    try:
        if oracles.is_installed("esolver"):
            truths = [oracles.by_qsopt_ex(problem)]
        else:
            truths = [oracles.by_clarabel(problem), oracles.by_scip(problem)]
    except oracles.NoAnswer:
        return seed, 0.0, "no answer"
    return seed, min(abs(value - truth) / truth for truth in truths), repr(model)


def first_problem(model, drawn):
    """Return the (first) problem on plain arrays; another trial checks its penalties."""
    y = np.asarray(drawn.y)
    s = np.ones(len(y)) if drawn.sample_weight is None else drawn.sample_weight
    alive = np.flatnonzero(s > 0)
    rows, labels, s = take(drawn.X, alive), y[alive], s[alive]
    w = s * class_factors(model, labels, s)
    centers = recorder().seen[0][0].columns.centers
    matrices = [
        kernel_values(family, k, rows, centers, model).astype(float)
        for family, k in members_of(model)
    ]
    positive = model.classes_[1 if len(model.classes_) == 2 else 0]
    signs = np.where(labels == positive, 1.0, -1.0)
    return oracles.PlainProblem(matrices, signs, w / w.sum(), model.penalties_, model.fit_intercept)


if __name__ == "__main__":
    sys.exit(main())
