"""The solvers that are compared: each solves an `Instance` and returns an `Outcome`.

The linear programs and skglm work on m F, with slack costs of 1 instead of 1/m, because their
tolerances are absolute and this serves them better.
"""

import functools
import re
import shutil
import subprocess
import tempfile
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from _common import available_memory, time_repeatedly
from _instance import DEGREES
from scipy.optimize import OptimizeWarning, linprog

from votedkernels import Polynomial, VotedKernelClassifier


class NotInstalled(Exception):
    """The competitor is not on this machine."""


class Failed(Exception):
    """The competitor returned no answer; the message says why."""


@dataclass(frozen=True)
class Limits:
    """How long and how often a competitor may run."""

    repeats: int
    cap: float
    repeat_budget: float = 20.0
    n_jobs: int = 1


@dataclass
class Outcome:
    """What a competitor did.

    Attributes
    ----------
    seconds : list of float
        The wall time of each repeat.
    weights : array of shape (n_kernels, n_rows) or None
        The weights a_kj that it returned.
    is_unfinished : bool
        Whether it was stopped: ``seconds`` is then a lower limit.
    note : str
        A remark for the table.
    details : dict
        Details for the JSON file.
    """

    seconds: list[float]
    weights: np.ndarray | None
    is_unfinished: bool = False
    note: str = ""
    details: dict[str, object] = field(default_factory=dict)


# -- votedkernels --------------------------------------------------------------------------


def run_ours(instance, limits, *, solver="column-generation", tol=1e-6):
    """Time `VotedKernelClassifier.fit` with all parameters set."""

    def fit():
        model = VotedKernelClassifier(
            Polynomial(degrees=DEGREES, gamma=1.0, coef0=1.0),
            complexity_penalty=instance.complexity_penalty,
            l1_penalty=instance.l1_penalty,
            complexity="trace",
            centers=None,
            solver=solver,
            fit_intercept=False,
            class_weight=None,
            tol=tol,
            max_iter=None,
            time_limit=limits.cap,
            memory_limit=None,
            n_jobs=limits.n_jobs,
            random_state=0,
        )
        return model.fit(instance.X, instance.y)

    model, seconds = time_repeatedly(fit, limits.repeats, limits.cap)
    weights = np.zeros((len(DEGREES), instance.n_rows))
    rows = model.support_[model.term_support_indices_]
    weights[model.term_kernel_indices_, rows] = model.term_weights_[0]
    return Outcome(
        seconds,
        weights,
        is_unfinished=model.stop_reason_ == "time-limit",
        note=f"{weights.astype(bool).sum()} terms",
        details={
            "stop_reason": model.stop_reason_,
            "n_iter": model.n_iter_,
            "claimed_relative_gap": model.dual_gap_ / model.objective_,
        },
    )


# -- the whole LP by SciPy -----------------------------------------------------------------


@dataclass(frozen=True)
class LPVariant:
    """One way to call `scipy.optimize.linprog`."""

    name: str
    method: str
    presolve: bool
    bytes_per_entry: int  # peak memory as measured at m = 1000, SciPy's copies included


# Presolve finds nothing to remove in a dense LP, so leaving it out saves time.
DUAL_SIMPLEX = LPVariant("highs-ds", "highs-ds", True, 125)
DUAL_SIMPLEX_BARE = LPVariant("highs-ds, no presolve", "highs-ds", False, 110)
INTERIOR_POINT = LPVariant("highs-ipm", "highs-ipm", True, 125)


def run_full_lp(instance, limits):
    """Time building and solving the paper's LP by the fastest of three ways to call linprog.

    The interior point method gets as much time as the faster dual simplex took. If the first way
    reaches the cap, the others are not tried.
    """
    runs: dict[str, Outcome] = {}
    failures: dict[str, str] = {}
    for variant in (DUAL_SIMPLEX_BARE, DUAL_SIMPLEX, INTERIOR_POINT):
        limit = limits.cap
        if variant is INTERIOR_POINT and runs:
            limit = min(min(run.seconds) for run in runs.values())
        try:
            runs[variant.name] = _run_linprog(instance, variant, limit, limits)
        except Failed as failure:
            failures[variant.name] = str(failure)
            continue
        if runs[variant.name].is_unfinished and variant is not INTERIOR_POINT:
            break
    if not runs:
        raise Failed("; ".join(dict.fromkeys(failures.values())))
    name, best = min(
        runs.items(), key=lambda run: (run[1].is_unfinished, np.median(run[1].seconds))
    )
    best.note = name
    best.details = {
        "variants": {
            name: {"seconds": run.seconds, "is_unfinished": run.is_unfinished}
            for name, run in runs.items()
        },
        "failures": failures,
    }
    return best


def _run_linprog(instance, variant, limit, limits):
    _check_memory(variant.bytes_per_entry * 2 * instance.n_columns * instance.n_rows)

    def build_and_solve():
        cost, matrix = _build_lp(instance)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OptimizeWarning)
            return linprog(
                cost,
                A_ub=matrix,
                b_ub=-np.ones(instance.n_rows),
                method=variant.method,
                options={"time_limit": limit, "presolve": variant.presolve},
            )

    result, seconds = time_repeatedly(build_and_solve, limits.repeats, limits.repeat_budget)
    is_unfinished = result.status == 1
    if not is_unfinished and result.status != 0:
        raise Failed(result.message)
    weights = None
    if result.x is not None:
        positive, negative = result.x[: 2 * instance.n_columns].reshape(2, len(DEGREES), -1)
        weights = positive - negative
    return Outcome(seconds, weights, is_unfinished)


def _build_lp(instance):
    """Return cost and A of ``A x <= -1``, x = (a+, a-, slack) >= 0."""
    m, n = instance.n_rows, instance.n_columns
    matrix = np.empty((m, 2 * n + m))
    for k, kernel in enumerate(instance.kernels()):
        np.multiply(kernel, -instance.y[:, None], out=matrix[:, k * m : (k + 1) * m])
    np.negative(matrix[:, :n], out=matrix[:, n : 2 * n])
    matrix[:, 2 * n :] = -np.eye(m)
    penalties = m * np.repeat(instance.penalties, m)
    return np.concatenate([penalties, penalties, np.ones(m)]), matrix


def _check_memory(needed):
    """Raise if there is not enough memory: the process would be killed."""
    available = available_memory()
    if available is not None and needed > available:
        raise Failed(f"needs about {needed / 1e9:.0f} GB, {available / 1e9:.0f} GB are available")


# -- lp_solve, the paper's solver ----------------------------------------------------------


def lp_solve_version():
    """Return the version of the lp_solve on the path, or "not installed"."""
    if shutil.which("lp_solve") is None:
        return "not installed"
    usage = subprocess.run(["lp_solve", "-h"], capture_output=True, text=True, check=False)
    found = re.search(r"version ([\d.]*\d)", usage.stdout + usage.stderr)
    return found.group(1) if found else "unknown"


def run_lp_solve(instance, limits, lower_bound):
    """Time the command lp_solve on a file: reading and solving, but not writing it."""
    if shutil.which("lp_solve") is None:
        raise NotInstalled
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lp.mps"
        _write_mps(instance, path)
        command = ["lp_solve", "-S3", "-fmps", str(path)]

        def solve():
            return subprocess.run(
                command,
                capture_output=True,
                text=True,
                check=False,
                timeout=limits.cap,
                stdin=subprocess.DEVNULL,
            )

        try:
            answer, seconds = time_repeatedly(solve, limits.repeats, limits.repeat_budget)
        except subprocess.TimeoutExpired:
            return Outcome([limits.cap], None, is_unfinished=True, note="stopped")
    values = dict(re.findall(r"^([ab]\d+)\s+(\S+)$", answer.stdout, flags=re.MULTILINE))
    if not values:
        reason = " ".join((answer.stdout + answer.stderr).split())
        raise Failed(reason[:80] or f"exit status {answer.returncode}")
    weights = np.array(
        [float(values[f"a{j}"]) - float(values[f"b{j}"]) for j in range(instance.n_columns)]
    )
    # Weights are printed with 6 digits, the objective with 9: the gap is mostly due to that.
    printed = re.search(r"objective function: (\S+)", answer.stdout)
    if printed is None:
        raise Failed("no objective in the printout")
    objective = float(printed[1])
    excess = abs(objective / instance.n_rows - lower_bound) / lower_bound
    return Outcome(
        seconds,
        weights.reshape(len(DEGREES), -1),
        note=f"weights printed to 6 digits; gap by its own objective {excess:.0e}",
        details={"printed_objective": objective / instance.n_rows},
    )


def _write_mps(instance, path):
    """Write the LP of `_build_lp` in free MPS: a and b are the parts of a_kj, s the slacks."""
    rows = [f"r{i}" for i in range(instance.n_rows)]
    with path.open("w", encoding="ascii") as file:
        file.write("NAME vote\nROWS\n N cost\n")
        file.writelines(f" G {row}\n" for row in rows)
        file.write("COLUMNS\n")
        number = 0
        for kernel, penalty in zip(instance.kernels(), instance.penalties, strict=True):
            cost = repr(float(instance.n_rows * penalty))
            for column in (kernel * instance.y[:, None]).T.tolist():
                for name, sign in ((f"a{number}", 1.0), (f"b{number}", -1.0)):
                    file.write(f" {name} cost {cost}\n")
                    file.writelines(
                        f" {name} {row} {sign * value!r}\n"
                        for row, value in zip(rows, column, strict=True)
                    )
                number += 1
        file.writelines(f" s{i} cost 1 {row} 1\n" for i, row in enumerate(rows))
        file.write("RHS\n")
        file.writelines(f" RHS {row} 1\n" for row in rows)
        file.write("ENDATA\n")


# -- skglm ---------------------------------------------------------------------------------

SKGLM_TARGETS = (1e-3, 1e-6)


def run_skglm(instance, limits, lower_bound):
    """Time skglm's primal-dual coordinate descent until F is within 1e-3 of the optimum.

    It uses the scaling that worked best for it overall: the sum of the losses instead of the mean,
    and each column divided by its penalty, so that all penalties are the same. It continues to
    1e-6 or to the cap.
    """
    solver_class, datafit, penalty_class = _skglm_parts()
    _warm_skglm_up()
    common_penalty = 0.1
    start = time.perf_counter()
    scale = np.repeat(instance.n_rows * instance.penalties / common_penalty, instance.n_rows)
    columns = instance.columns(order="F")
    columns /= scale
    # The solver updates these two in place, so that `watch` can read them.
    weights, decision = np.zeros(instance.n_columns), np.zeros(instance.n_rows)
    reached: dict[float, float] = {}
    best = (np.inf, weights.copy())

    def watch():
        nonlocal best
        elapsed = time.perf_counter() - start
        loss = np.maximum(0.0, 1.0 - instance.y * decision).sum()
        value = (loss + common_penalty * np.abs(weights).sum()) / instance.n_rows
        if value < best[0]:
            best = value, weights.copy()
        for target in SKGLM_TARGETS:
            if value <= (1 + target) * lower_bound:
                reached.setdefault(target, elapsed)
        return elapsed >= limits.cap or len(reached) == len(SKGLM_TARGETS)

    solver = solver_class(watch)
    penalty = penalty_class(common_penalty, np.ones(instance.n_columns))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solver.solve(columns, instance.y, datafit, penalty, weights, decision)
    elapsed = time.perf_counter() - start
    first, second = SKGLM_TARGETS
    if second in reached:
        note = f"time to {first:g}; {second:g} after {reached[second]:.3g} s"
    elif first in reached:
        note = f"time to {first:g}; {second:g} not reached in {elapsed:.0f} s"
    else:
        note = f"{first:g} not reached"
    return Outcome(
        [reached.get(first, elapsed)],
        (best[1] / scale).reshape(len(DEGREES), -1),
        is_unfinished=first not in reached,
        note=note,
        details={"seconds_to": {f"{target:g}": reached.get(target) for target in SKGLM_TARGETS}},
    )


@functools.cache
def _skglm_parts():
    """Return a solver that can be watched, the hinge loss, and the class of the penalty."""
    try:
        from numba import float64
        from skglm.datafits import BaseDatafit
        from skglm.experimental import PDCD_WS
        from skglm.penalties import WeightedL1
    except ModuleNotFoundError as error:
        raise NotInstalled from error

    class WatchedSolver(PDCD_WS):
        """PDCD_WS that calls ``watch`` in each iteration to ask whether to stop.

        PDCD_WS has no callback, but reads its tolerance once per iteration.
        """

        def __init__(self, watch):
            super().__init__(max_iter=10**9)
            self.watch = watch

        @property
        def tol(self):
            return np.inf if self.watch() else 0.0

        @tol.setter
        def tol(self, value):
            pass

    class Hinge(BaseDatafit):
        """sum_i c max(0, 1 - y_i f_i); its conjugate is y_i z_i on -c <= y_i z_i <= 0."""

        def __init__(self, c):
            self.c = c

        def get_spec(self):
            return (("c", float64),)

        def params_to_dict(self):
            return {"c": self.c}

        def value(self, y, _w, Xw):
            return self.c * np.sum(np.maximum(0.0, 1.0 - y * Xw))

        def prox_conjugate(self, z, step, y):
            return y * np.minimum(0.0, np.maximum(-self.c, y * z - step))

    return WatchedSolver, Hinge(1.0), WeightedL1


@functools.cache
def _warm_skglm_up():
    """Compile skglm on a problem with two rows, so that compilation is not timed."""
    solver_class, datafit, penalty_class = _skglm_parts()
    answers = iter([False, True])
    solver_class(lambda: next(answers)).solve(
        np.asfortranarray([[1.0, 0.5], [0.5, 1.0]]),
        np.array([1.0, -1.0]),
        datafit,
        penalty_class(0.1, np.ones(2)),
        np.zeros(2),
        np.zeros(2),
    )
