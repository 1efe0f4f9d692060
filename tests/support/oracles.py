"""The learning problem on plain arrays, and solvers of it that share no code with the library.

    min_{a, b}  sum_i w_i max(0, 1 - y_i f_i) + sum_k L_k sum_j |a_kj|,
                f = sum_k K_k a_k + b             (b only with an intercept)

As a linear program, with a = a+ - a- and b = b+ - b-:

    min  w.xi + sum_k L_k (a+_k + a-_k)
    s.t. xi_i + y_i f_i >= 1,    xi, a+, a-, b+, b- >= 0

Columns are divided by max |K_k| and the objective is counted in units of the smallest price,
because most solvers stop at absolute tolerances of 1e-9 and penalties are as small as 1e-6.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import cvxpy
import numpy as np
import pyscipopt
from scipy.optimize import linprog


class NoAnswer(Exception):
    """A solver gave up without an answer."""


@dataclass(frozen=True)
class PlainProblem:
    """Kernel matrices (n_rows, n_centers), labels -1 and +1, row weights and penalties."""

    matrices: list[np.ndarray]
    y: np.ndarray
    w: np.ndarray
    penalties: np.ndarray
    intercept: bool = False

    def weights_of(self, kernels, centers, weights):
        """Return one weight vector per kernel, from a list of terms."""
        out = [np.zeros(K.shape[1]) for K in self.matrices]
        for k, j, weight in zip(kernels, centers, weights, strict=True):
            out[k][j] += weight
        return out

    def extended(self):
        """Return the problem in extended precision, if the machine has it."""
        matrices = [K.astype(np.longdouble) for K in self.matrices]
        y, w, penalties = (v.astype(np.longdouble) for v in (self.y, self.w, self.penalties))
        return PlainProblem(matrices, y, w, penalties, self.intercept)


def objective(problem, a, b=0.0):
    f = sum(K @ a_k for K, a_k in zip(problem.matrices, a, strict=True)) + b
    loss = problem.w @ np.maximum(0, 1 - problem.y * f)
    return loss + sum(L * np.abs(a_k).sum() for L, a_k in zip(problem.penalties, a, strict=True))


def dual_bound(problem, u):
    y, w = problem.y, problem.w
    u = np.minimum(np.maximum(u, 0), w)
    if problem.intercept:
        positive, negative = u[y > 0].sum(), u[y < 0].sum()
        if min(positive, negative) == 0:
            return 0.0
        u = u * (min(positive, negative) / np.where(y > 0, positive, negative))
    excess = [
        np.abs((u * y) @ K).max() / L
        for K, L in zip(problem.matrices, problem.penalties, strict=True)
    ]
    return u.sum() / max(1.0, *excess)


def plain_gap(problem, a, b, u):
    """Return (F, F - D), in the precision of the arrays."""
    value = objective(problem, a, b)
    return float(value), float(value - dual_bound(problem, u))


# -- the linear program ------------------------------------------------------------------


@dataclass(frozen=True)
class PlainLP:
    """min cost.x  s.t.  matrix x >= 1, x >= 0; its value times ``unit`` is the optimum."""

    cost: np.ndarray
    matrix: np.ndarray
    unit: float


def linear_program(problem):
    y, n = problem.y, len(problem.y)
    scales = [np.abs(K).max() or 1.0 for K in problem.matrices]
    costs = [
        np.full(K.shape[1], L / s)
        for K, L, s in zip(problem.matrices, problem.penalties, scales, strict=True)
    ]
    signed = [y[:, None] * K / s for K, s in zip(problem.matrices, scales, strict=True)]
    parts = [np.eye(n), *signed, *[-S for S in signed]]
    cost = np.concatenate([problem.w, *costs, *costs])
    if problem.intercept:
        parts += [y[:, None], -y[:, None]]
        cost = np.concatenate([cost, np.zeros(2)])
    prices = [L / s for L, s in zip(problem.penalties, scales, strict=True) if L > 0]
    unit = min([*prices, problem.w.max()])
    return PlainLP(cost / unit, np.hstack(parts), float(unit))


def write_mps(lp, path):
    """Write the linear program as free MPS, with all digits."""
    n_rows, n_columns = lp.matrix.shape
    lines = ["NAME vote", "ROWS", " N cost", *[f" G r{i}" for i in range(n_rows)], "COLUMNS"]
    for j in range(n_columns):
        if lp.cost[j]:
            lines.append(f" x{j} cost {float(lp.cost[j])!r}")
        lines += [f" x{j} r{i} {float(lp.matrix[i, j])!r}" for i in np.flatnonzero(lp.matrix[:, j])]
    lines += ["RHS", *[f" rhs r{i} 1" for i in range(n_rows)], "ENDATA", ""]
    Path(path).write_text("\n".join(lines))


def by_linprog(problem):
    lp = linear_program(problem)
    result = linprog(lp.cost, A_ub=-lp.matrix, b_ub=-np.ones(len(lp.matrix)), method="highs")
    if result.status != 0:
        raise NoAnswer(result.message)
    return lp.unit * result.fun


def by_clarabel(problem):
    lp = linear_program(problem)
    x = cvxpy.Variable(len(lp.cost))
    model = cvxpy.Problem(cvxpy.Minimize(lp.cost @ x), [lp.matrix @ x >= 1, x >= 0])
    tolerances = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
    model.solve(solver=cvxpy.CLARABEL, max_iter=500, **tolerances)
    if model.status != cvxpy.OPTIMAL:
        raise NoAnswer(model.status)
    return lp.unit * float(model.value)


def by_scip(problem):
    lp = linear_program(problem)
    with TemporaryDirectory() as folder:
        path = Path(folder, "vote.mps")
        write_mps(lp, path)
        model = pyscipopt.Model()
        model.hideOutput()
        # SCIP treats numbers below epsilon as zero, entries of the matrix included.
        model.setParam("numerics/epsilon", 1e-13)
        model.setParam("numerics/sumepsilon", 1e-12)
        model.readProblem(str(path))
        try:
            model.optimize()
        except Exception as error:  # SCIP has no class for "error in LP solver"
            raise NoAnswer(str(error)) from error
        if model.getStatus() != "optimal":
            raise NoAnswer(model.getStatus())
        return lp.unit * model.getObjVal()


def by_glpk(problem):
    lp = linear_program(problem)
    with TemporaryDirectory() as folder:
        path, out = Path(folder, "vote.mps"), Path(folder, "out")
        write_mps(lp, path)
        _run(["glpsol", "--freemps", path, "-w", out])
        line = next(line for line in out.read_text().splitlines() if line.startswith("s bas"))
    *_, primal, dual, value = line.split()
    if (primal, dual) != ("f", "f"):
        raise NoAnswer(line)
    return lp.unit * float(value)


def by_qsopt_ex(problem):
    """Return the exact optimum of the LP, a fraction that is rounded once."""
    lp = linear_program(problem)
    with TemporaryDirectory() as folder:
        path, out = Path(folder, "vote.mps"), Path(folder, "out.sol")
        write_mps(lp, path)
        _run(["esolver", "-O", out, path])
        text = out.read_text()
    if not text.startswith("status = OPTIMAL"):
        raise NoAnswer(text[:100])
    return float(Fraction(lp.unit) * Fraction(_found(r"Value = (\S+)", text)))


def by_lp_solve(problem):
    """Return the optimum found by the paper's solver, which prints eight digits."""
    lp = linear_program(problem)
    with TemporaryDirectory() as folder:
        path = Path(folder, "vote.mps")
        write_mps(lp, path)
        text = _run(["lp_solve", "-fmps", path])
    return lp.unit * float(_found(r"Value of objective function: (\S+)", text))


def _found(pattern, text):
    match = re.search(pattern, text)
    assert match, f"no {pattern!r} in {text[:100]!r}"
    return match[1]


def _run(command):
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=120, check=False
    )
    if done.returncode != 0:
        raise NoAnswer(done.stdout[-500:] + done.stderr[-500:])
    return done.stdout


#: Solvers not based on HiGHS, and the program that each needs (None: a Python package).
INDEPENDENT = {
    "Clarabel": (by_clarabel, None),
    "SCIP": (by_scip, None),
    "GLPK": (by_glpk, "glpsol"),
    "QSopt_ex": (by_qsopt_ex, "esolver"),
}


def is_installed(program):
    return program is None or shutil.which(program) is not None
