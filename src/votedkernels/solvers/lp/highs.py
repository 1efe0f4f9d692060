"""Linear programs solved by HiGHS. Only this module imports highspy.

HiGHS is the solver of Huangfu and Hall (Parallelizing the dual revised simplex method,
Mathematical Programming Computation 10, 2018). Each call creates a new HiGHS object and passes it
the last basis, because hot restarts of an existing object sometimes return wrong statuses. Runs are
cut into slices, so that Ctrl-C and deadlines are noticed.
"""

from __future__ import annotations

import time

import highspy
import numpy as np

from ...exceptions import Infeasible
from .linear_program import BASIC, LOWER, UPPER, Basis, LinearProgram, LPResult

SLICE_SECONDS = 0.5
FEASIBILITY = 1e-9

_STATUS = highspy.HighsBasisStatus
_FROM_INT = {LOWER: _STATUS.kLower, BASIC: _STATUS.kBasic, UPPER: _STATUS.kUpper}


def solve_highs(
    lp: LinearProgram,
    *,
    basis: Basis | None = None,
    end: float,
    solver: str = "simplex",
    strategy: int = 1,
    rescale: bool = False,
) -> LPResult | None:
    """Solve a linear program with HiGHS until ``end`` (on the clock of `time.perf_counter`).

    Returns None unless HiGHS reports an optimum with finite numbers; raises `Infeasible` if HiGHS
    says so. ``strategy`` 1 is the dual simplex, 4 the primal. ``rescale`` lets HiGHS scale the
    matrix, although callers have already done so.
    """
    highs = _load(lp)
    highs.setOptionValue("solver", solver)
    highs.setOptionValue("simplex_strategy", strategy)
    highs.setOptionValue("presolve", "off" if solver == "simplex" else "choose")
    highs.setOptionValue("simplex_scale_strategy", 1 if rescale else 0)
    if basis is not None:
        start = highspy.HighsBasis()
        start.col_status = [_FROM_INT[s] for s in basis.columns.tolist()]
        start.row_status = [_FROM_INT[s] for s in basis.rows.tolist()]
        start.valid = True
        start.alien = False  # we built it, at full size: HiGHS need not check it by a factorisation
        if highs.setBasis(start) != highspy.HighsStatus.kOk:
            return None
    status = _run_in_slices(highs, solver, end)
    if status == highspy.HighsModelStatus.kInfeasible:
        raise Infeasible
    if status != highspy.HighsModelStatus.kOptimal:
        return None
    return _read(highs)


def _run_in_slices(highs: highspy.Highs, solver: str, end: float) -> highspy.HighsModelStatus:
    """Run until done or ``end``; Python handles signals between slices."""
    piece = SLICE_SECONDS
    while True:
        remaining = end - time.perf_counter()
        if remaining <= 0:
            return highspy.HighsModelStatus.kTimeLimit
        # The interior point method cannot be resumed after a slice.
        slice_end = remaining if solver == "ipm" else min(piece, remaining)
        highs.setOptionValue("time_limit", highs.getRunTime() + slice_end)
        try:
            highs.run()
        except Exception:  # after any exception, another method is tried
            return highspy.HighsModelStatus.kSolveError
        status = highs.getModelStatus()
        if status != highspy.HighsModelStatus.kTimeLimit:
            return status
        if highs.getInfo().simplex_iteration_count <= 0:
            piece *= 2  # too short even to set up the method


def _load(lp: LinearProgram) -> highspy.Highs:
    n_rows, n_cols = lp.matrix.shape
    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    highs.setOptionValue("small_matrix_value", 1e-12)
    highs.setOptionValue("primal_feasibility_tolerance", FEASIBILITY)
    highs.setOptionValue("dual_feasibility_tolerance", FEASIBILITY)
    value = np.ascontiguousarray(lp.matrix).ravel()
    # The array form of passModel: setting single attributes would copy through Python lists.
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


def _read(highs: highspy.Highs) -> LPResult | None:
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
