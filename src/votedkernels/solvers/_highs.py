"""Linear programs for HiGHS, and the ladder for when it fails. The only importer of highspy.

    max  cost.x     s.t.  0 <= x <= upper,   row_lower <= A x <= row_upper

HiGHS's word is not trusted anywhere: whoever calls this recomputes the gap from the data.
What is here makes an answer likely: fresh objects (hot restarts of HiGHS objects return wrong
statuses at times), a time limit for every run, cut into slices so that Ctrl-C and deadlines
are seen, and after any status but Optimal the next rung of the ladder.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from ..kernels.base import FloatArray

SLICE_SECONDS = 0.5
FEASIBILITY = 1e-9

_STATUS = highspy.HighsBasisStatus
LOWER, BASIC, UPPER = int(_STATUS.kLower), int(_STATUS.kBasic), int(_STATUS.kUpper)
_FROM_INT = {int(status): status for status in _STATUS.__members__.values()}


@dataclass(frozen=True)
class Basis:
    """Basis statuses (LOWER, BASIC, UPPER) of columns and rows."""

    columns: NDArray[np.int8]
    rows: NDArray[np.int8]


@dataclass(frozen=True)
class LPResult:
    """An answer of HiGHS: x, the row duals (of the maximisation), and the basis."""

    x: FloatArray
    row_dual: FloatArray
    basis: Basis
    iterations: int


@dataclass(frozen=True)
class LinearProgram:
    """max cost.x  s.t.  0 <= x <= upper, row_lower <= A x <= row_upper."""

    cost: FloatArray
    upper: FloatArray
    matrix: FloatArray
    row_lower: FloatArray
    row_upper: FloatArray


#: (start from the given basis, HiGHS solver, simplex strategy): tried in this order.
LADDER = (
    (True, "simplex", 1),
    (False, "simplex", 1),
    (False, "simplex", 4),
    (False, "ipm", 1),
)


def solve_lp(
    lp: LinearProgram,
    *,
    basis: Basis | None = None,
    seconds: float,
    deadline: float | None = None,
) -> LPResult | None:
    """Solve a linear program, rung by rung; None when every rung failed.

    ``seconds`` limits each rung, ``deadline`` (of `time.perf_counter`) the whole call.
    """
    for use_basis, solver, strategy in LADDER:
        if use_basis and basis is None:
            continue
        end = time.perf_counter() + seconds
        if deadline is not None:
            end = min(end, deadline)
        result = _run(lp, basis if use_basis else None, solver, strategy, end)
        if result is not None:
            return result
        if deadline is not None and time.perf_counter() >= deadline:
            return None
    return None


def _run(
    lp: LinearProgram, basis: Basis | None, solver: str, strategy: int, end: float
) -> LPResult | None:
    highs = _load(lp)
    highs.setOptionValue("solver", solver)
    highs.setOptionValue("simplex_strategy", strategy)
    highs.setOptionValue("presolve", "off" if solver == "simplex" else "choose")
    if basis is not None:
        start = highspy.HighsBasis()
        start.col_status = [_FROM_INT[s] for s in basis.columns.tolist()]
        start.row_status = [_FROM_INT[s] for s in basis.rows.tolist()]
        start.valid = True
        start.alien = False  # built here, of full size: no need to check it by factoring
        if highs.setBasis(start) != highspy.HighsStatus.kOk:
            return None
    status = _run_in_slices(highs, solver, end)
    if status != highspy.HighsModelStatus.kOptimal:
        return None
    return _read(highs)


def _run_in_slices(highs: Any, solver: str, end: float) -> Any:
    """Run until done or ``end``; between slices Python sees signals."""
    iterations = -1
    while True:
        remaining = end - time.perf_counter()
        if remaining <= 0:
            return highspy.HighsModelStatus.kTimeLimit
        # A slice of the interior point method cannot be resumed.
        piece = remaining if solver == "ipm" else min(SLICE_SECONDS, remaining)
        highs.setOptionValue("time_limit", highs.getRunTime() + piece)
        try:
            highs.run()
        except Exception:  # whatever HiGHS throws, the next rung is tried
            return highspy.HighsModelStatus.kSolveError
        status = highs.getModelStatus()
        if status != highspy.HighsModelStatus.kTimeLimit:
            return status
        done = highs.getInfo().simplex_iteration_count
        if done == 0 and iterations == 0:  # two slices without a pivot: it hangs
            return status
        iterations = done


def _load(lp: LinearProgram) -> Any:
    n_rows, n_cols = lp.matrix.shape
    highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    highs.setOptionValue("small_matrix_value", 1e-12)
    highs.setOptionValue("primal_feasibility_tolerance", FEASIBILITY)
    highs.setOptionValue("dual_feasibility_tolerance", FEASIBILITY)
    value = np.ascontiguousarray(lp.matrix).ravel()
    # The array form of passModel: attribute by attribute it copies through Python lists.
    highs.passModel(
        n_cols,
        n_rows,
        len(value),
        int(highspy.MatrixFormat.kRowwise),
        int(highspy.ObjSense.kMinimize),
        0.0,
        -lp.cost,
        np.zeros(n_cols),
        lp.upper,
        lp.row_lower,
        lp.row_upper,
        np.arange(0, n_rows * n_cols + 1, n_cols, dtype=np.int32),
        np.tile(np.arange(n_cols, dtype=np.int32), n_rows),
        value,
        np.zeros(n_cols, np.int32),
    )
    return highs


def _read(highs: Any) -> LPResult | None:
    solution = highs.getSolution()
    x, row_dual = np.array(solution.col_value), np.array(solution.row_dual)
    if not (np.isfinite(x).all() and np.isfinite(row_dual).all()):
        return None
    basis = highs.getBasis()
    return LPResult(
        x=x,
        row_dual=-row_dual,
        basis=Basis(
            np.array([int(s) for s in basis.col_status], dtype=np.int8),
            np.array([int(s) for s in basis.row_status], dtype=np.int8),
        ),
        iterations=int(highs.getInfo().simplex_iteration_count),
    )
