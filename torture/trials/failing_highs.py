"""LP solvers that return wrong results, fail or hang at random calls."""

import sys
import time
import warnings
from dataclasses import replace

import highspy
import numpy as np
from _dense import Recorder, Untrue, fit_and_check
from _trial import Trial

from votedkernels import Gaussian, Polynomial, VotedKernelClassifier
from votedkernels.exceptions import Infeasible
from votedkernels.solvers import full_lp
from votedkernels.solvers.lp import ladder as lp
from votedkernels.solvers.lp.linear_program import Basis

N_FITS = 240
HANG_SECONDS = 1.0
SHARES = (0.1, 0.5, 1.0)  # the share of calls that go wrong
SOLVE_HIGHS, SOLVE_DENSE = lp.solve_highs, lp.solve_dense
TRUE = {name: getattr(highspy.Highs, name) for name in ("run", "getModelStatus", "setBasis")}
STATUSES = [
    status
    for name, status in vars(highspy.HighsModelStatus).items()
    if name.startswith("k") and name not in ("kOptimal", "kTimeLimit", "kMin", "kMax")
]


def main():
    trial = Trial(
        3,
        "HiGHS and the dense simplex made to fail: wrong status, wrong basis, exception, NaN, "
        "wrong numbers, time-out, hang",
        "the right answer, or a partial one with its true gap; no crash",
    )
    recorder, faults = Recorder(), list(FAULTS)
    n, certified, warned, n_faults = trial.count(N_FITS), 0, 0, 0
    for number in range(n):
        random = np.random.default_rng((3, trial.options.seed, number))
        fault, share = faults[number % len(faults)], random.choice(SHARES)
        model, X, y = draw(random)
        breaking = Breaking(random, fault, share, also_dense=random.random() < 0.5)
        case = (
            f"fit {number}: {fault} at {share:.0%} of the calls, dense too: {breaking.also_dense}"
        )
        try:
            with breaking:
                good, _ = fit_and_check(recorder, model, X, y)
            certified, warned = certified + good, warned + (not good)
            if model.objective_ > (1 + 1e-12) * len(recorder.seen):
                trial.fail(f"{case}: objective {model.objective_} above that of no vote")
            if not np.isfinite(model.decision_function(X)).all():
                trial.fail(f"{case}: decisions are not finite")
        except Untrue as untruth:
            trial.fail(f"{case}: {untruth} ({model!r})")
        except Exception as error:
            trial.fail(f"{case}: {type(error).__name__}: {error} ({model!r})")
        n_faults += breaking.n_faults
        trial.tell(f"{number + 1} of {n} fits, {n_faults} faults")
    trial.end(
        f"{n_faults} faults in {n} fits: {certified} certified nevertheless, {warned} partial "
        f"answers with their true gap, {n - certified - warned} crashes or false claims"
    )


def draw(random):
    n = int(random.integers(20, 60))
    X = random.standard_normal((n, 4))
    y = (X[:, 0] * X[:, 1] + 0.3 * random.standard_normal(n) > 0).astype(int)
    y[:2] = 0, 1
    kernels = [Polynomial((1, 2, 3)), Gaussian((0.3, 3.0))]
    model = VotedKernelClassifier(
        kernels,
        complexity_penalty=float(10 ** random.uniform(-4, -1)),
        l1_penalty=1e-4,
        fit_intercept=bool(random.random() < 0.3),
        solver=str(random.choice(["column-generation", "column-generation", "lp"])),
        time_limit=20,
    )
    return model, X, y


class Breaking:
    """Breaks the LP solvers while the context is open."""

    def __init__(self, random, fault, share, *, also_dense):
        self.random, self.fault, self.share = random, FAULTS[fault], share
        self.also_dense, self.n_faults, self.n_hangs = also_dense, 0, 0

    def __enter__(self):
        if self.fault in HIGHS_FAULTS.values():
            self.fault(self)
            return
        lp.solve_highs = full_lp.solve_highs = self.broken(SOLVE_HIGHS)
        if self.also_dense:
            lp.solve_dense = self.broken(SOLVE_DENSE)

    def __exit__(self, *_):
        lp.solve_highs = full_lp.solve_highs = SOLVE_HIGHS
        lp.solve_dense = SOLVE_DENSE
        for name, method in TRUE.items():
            setattr(highspy.Highs, name, method)

    def strikes(self):
        """Decide at random whether this call goes wrong."""
        strikes = self.random.random() < self.share
        self.n_faults += strikes
        return strikes

    def broken(self, solve):
        """Return an entry point that sometimes fails."""

        def solve_or_not(problem, **options):
            if not self.strikes():
                return solve(problem, **options)
            return self.fault(self, solve, problem, options)

        return solve_or_not


# -- faults of the entry points ----------------------------------------------------------


def no_answer(breaking, solve, problem, options):
    return None


def infeasible(breaking, solve, problem, options):
    raise Infeasible


def exception(breaking, solve, problem, options):
    raise breaking.random.choice([RuntimeError, ValueError, MemoryError, np.linalg.LinAlgError])(
        "the solver broke down"
    )


def not_a_number(breaking, solve, problem, options):
    result = solve(problem, **options)
    if result is None:
        return None
    value = breaking.random.choice([np.nan, np.inf, -np.inf])
    places = breaking.random.random(len(result.x)) < 0.5
    return replace(result, x=np.where(places, value, result.x), row_dual=result.row_dual * value)


def wrong_numbers(breaking, solve, problem, options):
    result = solve(problem, **options)
    if result is None:
        return None
    size = 10 ** breaking.random.uniform(-9, 2)
    noise = breaking.random.standard_normal(len(result.row_dual))
    return replace(result, x=result.x * (1 + size), row_dual=result.row_dual * (1 + size * noise))


def wrong_basis(breaking, solve, problem, options):
    result = solve(problem, **options)
    if result is None:
        return None
    columns, rows = (
        breaking.random.integers(0, 3, len(v)).astype(np.int8) for v in (result.x, result.row_dual)
    )
    return replace(result, basis=Basis(columns, rows))


def timeout(breaking, solve, problem, options):
    time.sleep(0.02)
    return None


def hang(breaking, solve, problem, options):
    """Ignore the time limit, but not too often, to keep the trial short."""
    breaking.n_hangs += 1
    if breaking.n_hangs <= 2:
        time.sleep(HANG_SECONDS)
    return None


# -- faults inside of HiGHS --------------------------------------------------------------


def wrong_status(breaking):
    def status(highs):
        true = TRUE["getModelStatus"](highs)
        return breaking.random.choice(STATUSES) if breaking.strikes() else true

    highspy.Highs.getModelStatus = status


def optimal_without_a_run(breaking):
    highspy.Highs.run = lambda highs: (
        highspy.HighsStatus.kOk if breaking.strikes() else TRUE["run"](highs)
    )
    highspy.Highs.getModelStatus = lambda highs: highspy.HighsModelStatus.kOptimal


def run_that_raises(breaking):
    def run(highs):
        if breaking.strikes():
            raise RuntimeError("HiGHS broke down")
        return TRUE["run"](highs)

    highspy.Highs.run = run


def basis_that_raises(breaking):
    def set_basis(highs, *args):
        if breaking.strikes():
            raise RuntimeError("HiGHS wants no basis")
        return TRUE["setBasis"](highs, *args)

    highspy.Highs.setBasis = set_basis


HIGHS_FAULTS = {
    "wrong status": wrong_status,
    "optimal without a run": optimal_without_a_run,
    "a run that raises": run_that_raises,
    "a basis that raises": basis_that_raises,
}
FAULTS = {
    "no answer": no_answer,
    "claim of infeasibility": infeasible,
    "exception": exception,
    "NaN": not_a_number,
    "wrong numbers": wrong_numbers,
    "wrong basis": wrong_basis,
    "time-out": timeout,
    "hang": hang,
    **HIGHS_FAULTS,
}


if __name__ == "__main__":
    warnings.simplefilter("ignore", RuntimeWarning)
    sys.exit(main())
