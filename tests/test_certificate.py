"""The certificate against exact rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from votedkernels.certificate import (
    closer_rounding_error,
    extended_values,
    rounding_error,
    verify,
)
from votedkernels.kernels import Gram, Polynomial
from votedkernels.problem import Problem
from votedkernels.solvers import solve_by_column_generation


def exact_values(problem, solution, degrees):
    """F and D in rational numbers, from the data as stored."""
    X = [[Fraction(value) for value in row] for row in problem.gram.X.tolist()]
    y = [Fraction(value) for value in problem.y.tolist()]
    w = [Fraction(value) for value in problem.w.tolist()]
    L = [Fraction(value) for value in problem.penalties.tolist()]
    u = [Fraction(value) for value in problem.feasible_box(solution.dual).tolist()]
    base = [[sum(a * b for a, b in zip(p, q, strict=True)) + 1 for q in X] for p in X]
    terms = [
        (int(k), int(j), Fraction(a))
        for k, j, a in zip(
            solution.terms.kernels,
            solution.terms.centers,
            solution.terms.weights.tolist(),
            strict=True,
        )
    ]
    f = [sum(a * base[i][j] ** degrees[k] for k, j, a in terms) for i in range(len(y))]
    loss = sum(wi * max(0, 1 - yi * fi) for wi, yi, fi in zip(w, y, f, strict=True))
    objective = loss + sum(L[k] * abs(a) for k, _, a in terms)
    excess = max(
        abs(sum(u[i] * y[i] * base[i][j] ** degree for i in range(len(y)))) / L[k]
        for k, degree in enumerate(degrees)
        for j in range(len(y))
    )
    return float(objective), float(sum(u) / max(1, excess))


@pytest.mark.parametrize("size", [1.0, 30.0, 3000.0])
@pytest.mark.parametrize("seed", range(4))
def test_values_and_their_errors_are_as_exact_arithmetic_says(seed, size):
    random = np.random.default_rng(seed)
    degrees = (1, 2, 5)
    X = size * random.standard_normal((25, 3))
    y = np.where(random.random(25) < 0.5, 1.0, -1.0)
    gram = Gram([Polynomial(degrees, gamma=1.0).fit(X, np.ones(25))], X, X)
    problem = Problem(gram, y, np.full(25, 1 / 25), np.full(3, 1e-3))
    solution = solve_by_column_generation(problem, tol=1e-6)
    objective, bound = exact_values(problem, solution, degrees)
    extended = extended_values(problem, solution)
    assert extended == pytest.approx((objective, bound), rel=1e-9)
    plain = problem.certify(solution.terms, solution.dual)
    closer = closer_rounding_error(problem, solution)
    assert abs(plain[0] - objective) <= closer * objective
    assert plain[1] - bound <= closer * objective
    assert closer <= 1.01 * rounding_error(problem, solution)


def test_a_proof_is_not_stopped_by_a_deadline():
    random = np.random.default_rng(0)
    X = 1e4 * random.standard_normal((30, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    gram = Gram([Polynomial((9,), gamma=1.0).fit(X, np.ones(30))], X, X)
    problem = Problem(gram, y, np.full(30, 1 / 30), np.full(1, 1e-6))
    solution = solve_by_column_generation(problem, tol=1e-6)
    gram.deadline = 0.0
    assert verify(problem, solution, 1e-6).gap == pytest.approx(solution.gap, abs=1e-6)
