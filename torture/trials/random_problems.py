"""Ten thousand random problems over all options, each checked by simple dense code."""

import sys

from _dense import Recorder, Untrue, fit_and_check
from _problems import draw_problem
from _spread import spread
from _trial import Trial

N_PROBLEMS = 10_000
CHUNK = 50


def main():
    trial = Trial(
        1,
        f"{N_PROBLEMS} random problems over every option, a third of them degenerate",
        "gap <= tol * F, or a ConvergenceWarning with the true gap; never a silent miss",
    )
    n = trial.count(N_PROBLEMS)
    first = trial.options.seed * N_PROBLEMS
    chunks = [
        range(start, min(start + CHUNK, first + n)) for start in range(first, first + n, CHUNK)
    ]
    certified = warned = done = 0
    worst = 0.0
    for results in spread(judge, chunks):
        for seed, state, gap in results:
            done += 1
            if state == "certified":
                certified, worst = certified + 1, max(worst, gap)
            elif state == "warned":
                warned += 1
            else:
                trial.fail(f"problem {seed}: {state}")
        trial.tell(f"{done} of {n} problems")
    trial.end(
        f"{certified} certified (true gap at most {worst:.2g} tol), {warned} warned with the true "
        f"gap, {done - certified - warned} silent misses, of {done}"
    )


RECORDER = None


def judge(seeds):
    """Return (seed, result, true gap divided by tol) of some problems."""
    global RECORDER
    if RECORDER is None:
        RECORDER = Recorder()
    return [judge_one(seed) for seed in seeds]


def judge_one(seed):
    drawn = draw_problem(seed)
    try:
        certified, gap = fit_and_check(RECORDER, drawn.model, drawn.X, drawn.y, drawn.sample_weight)
    except Untrue as untruth:
        return seed, f"{untruth} ({drawn.model!r})", 0.0
    except Exception as error:
        return seed, f"{type(error).__name__}: {error} ({drawn.model!r})", 0.0
    return seed, "certified" if certified else "warned", gap / drawn.model.tol


if __name__ == "__main__":
    sys.exit(main())
