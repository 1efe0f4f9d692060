"""Recompute what a fit reports from the definitions, by simple dense code.

    F(a, b) = sum_i w_i max(0, 1 - y_i f_i) + sum_kj L_k |a_kj| + rho/2 sum_k a_k^T K_k a_k

All given rows count separately; none are merged. Kernels, complexities and weights are computed
here again, in extended precision if that costs little. From the library come only the numbers that
it reports, complexities that are estimates, and the dual vectors, which `Recorder` keeps.
"""

import math
import re
import warnings
from collections import Counter

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from votedkernels import (
    ContinuousGaussian,
    EditDistance,
    Gaussian,
    Polynomial,
    Precomputed,
    Similarity,
    Spectrum,
    StableRank,
)
from votedkernels.estimators import _ongoing_fit

WIDTHS = 200  # at which the dual constraints of a continuum are checked


class Recorder:
    """Keeps (problem, solution) of all problems that classifiers solve from now on."""

    def __init__(self):
        self.seen = []
        solve, solve_group = _ongoing_fit.solve_problem, _ongoing_fit.solve_group

        def recording(solver, problem, **options):
            solution = solve(solver, problem, **options)
            self.seen.append((problem, solution))
            return solution

        def recording_group(fit, numbers):
            stops = solve_group(fit, numbers)
            self.seen += [(fit.problems[number], fit.solutions[number]) for number in numbers]
            return stops

        _ongoing_fit.solve_problem = recording
        _ongoing_fit.solve_group = recording_group


class Untrue(Exception):
    """A fit reported something that is not true."""


def fit_and_check(recorder, model, X, y, sample_weight=None, *, slack=1e-9):
    """Fit; raise `Untrue` if a report or a missing warning is wrong; return (certified, gap).

    ``slack`` is the relative error that is allowed in addition to ``tol``.
    """
    recorder.seen.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, sample_weight)
    said = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    values = list(true_values(recorder, model, X, y, sample_weight))
    gaps, floors = [], []
    for number, (objective, bound, noise) in enumerate(values):
        told = float(model.class_objectives_[number])
        told_bound = float(model.class_dual_bounds_[number])
        error = slack + noise
        least = error * objective + 1e-300
        # With extreme penalties, F is rounded up, but by no more than the stated gap.
        if not -least <= told - objective <= max(least, told - told_bound):
            raise Untrue(f"objective {told!r}, but F is {objective!r}")
        if not told_bound <= bound + error * objective:
            raise Untrue(f"dual bound {told_bound!r}, but {bound!r} is all that u proves")
        gaps.append((objective - bound) / objective if objective > 0 else 0.0)
        floors.append(error)
    worst = int(np.argmax(gaps))
    gap, error = max(0.0, gaps[worst]), max(floors)
    if not said:
        if gap > model.tol + error:
            raise Untrue(f"no warning, and the gap is {gap:.3g}")
        return True, gap
    stated = float(re.search(r"relative duality gap of ([-+.e\d]+),", said[0])[1])
    told_gap = model.dual_gap_ / model.objective_ if len(values) == 1 else stated
    # Two digits are printed. What is stated may be larger than the gap of the exact values, as F is
    # rounded up and the bound down, and as a grid of widths proves more than the continuum.
    if stated < 0.94 * gap - error or abs(stated - told_gap) > 0.06 * told_gap:
        raise Untrue(f"the warning says {stated:.3g}, and the gap is {gap:.3g}")
    return False, gap


def true_values(recorder, model, X, y, sample_weight):
    """Yield (F, the bound that u proves, relative rounding error) of each problem."""
    y = np.asarray(y)
    s = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
    alive = np.flatnonzero(s > 0)
    families = _families(model)
    pairwise = isinstance(families[0], Precomputed)
    rows = take(X, alive)
    labels, s = y[alive], s[alive].astype(np.longdouble)
    w = s * class_factors(model, labels, s)
    w = w / w.sum()
    problem = recorder.seen[0][0]
    centers = problem.columns.centers
    _check_centers(model, X, alive, centers, pairwise)
    penalties = _penalties(model, families, rows, s, centers, problem.columns)
    used = model.support_ if pairwise else model.support_vectors_
    columns = [kernel_values(f, k, rows, used, model) for f, k in members_of(model)]
    positives = [model.classes_[1]] if len(model.classes_) == 2 else model.classes_
    for number, positive in enumerate(positives):
        problem, solution = recorder.seen[number]
        signs = np.where(labels == positive, 1.0, -1.0)
        a = model.term_weights_[number].astype(np.longdouble)
        value, noise = _objective(model, a, columns, signs, w, penalties, rows, solution)
        u = _spread(solution.dual, problem, rows, signs, w, pairwise, alive)
        bound, dual_noise = _bound(model, solution, u, rows, signs, w, centers, families, penalties)
        yield float(value), float(bound), float(max(noise, dual_noise))


def _families(model):
    kernels = [Polynomial((1, 2, 3)), Gaussian()] if model.kernels is None else model.kernels
    kernels = kernels if isinstance(kernels, list) else [kernels]
    return [entry[1] if isinstance(entry, tuple) else entry for entry in kernels]


def members_of(model):
    """Return (fitted family, member) of each kernel of the model."""
    return [(family, k) for family in model.kernels_ for k in range(family.n_kernels)]


def take(X, rows):
    return [X[i] for i in rows] if isinstance(X, list) else np.asarray(X)[rows]


def class_factors(model, labels, s):
    if model.class_weight is None:
        return np.ones(len(labels))
    if model.class_weight == "balanced":
        classes = np.unique(labels)
        mass = {c: s[labels == c].sum() for c in classes}
        return np.array([s.sum() / (len(classes) * mass[c]) for c in labels])
    return np.array([model.class_weight.get(c, 1.0) for c in labels.tolist()])


def _key(row):
    return row if isinstance(row, str) else tuple(np.asarray(row, float).tolist())


def _check_centers(model, X, alive, centers, pairwise):
    """Check that the centres are those that the user asked for."""
    given = model.centers
    if pairwise:
        living = np.asarray(X)[np.ix_(alive, alive)]
        points = {tuple((living[:, j] + 0.0).tolist()) for j in range(len(alive))}
        if given is None and len(centers) != len(points):
            raise Untrue(f"{len(centers)} centres for {len(points)} different columns")
        return
    mine = {_key(row) for row in centers}
    points = {_key(row) for row in take(X, alive)}
    if given is None and mine != points:
        raise Untrue("the centres are not the training rows")
    if isinstance(given, int) and not (mine <= points and len(mine) == min(given, len(points))):
        raise Untrue(f"the centres are not {given} of the training rows")
    if given is not None and not isinstance(given, int) and mine != {_key(row) for row in given}:
        raise Untrue("the centres are not those given")


def kernel_values(family, k, A, B, model):
    """Return member k of a family on rows A and centres B, from its definition."""
    if isinstance(family, Precomputed):
        return np.asarray(A)[:, np.asarray(B, int)].astype(np.longdouble)
    if isinstance(family, Similarity):
        values = family.function(A, B) if len(B) else np.zeros((len(A), 0))
        return np.asarray(values).astype(np.longdouble)
    if isinstance(family, EditDistance):
        distance = np.array([[_levenshtein(a, b) for b in B] for a in A], float)
        return np.exp(-distance.reshape(len(A), len(B)) / family.scales[k]).astype(np.longdouble)
    if isinstance(family, Spectrum):
        n = family.lengths[k]
        cosines = [[_cosine(_pieces(a, n), _pieces(b, n)) for b in B] for a in A]
        return np.array(cosines, np.longdouble).reshape(len(A), len(B))
    A, B = np.asarray(A, np.longdouble), np.asarray(B, np.longdouble)
    B = B.reshape(-1, A.shape[1])
    if isinstance(family, Polynomial):
        return (np.longdouble(family.gamma_) * (A @ B.T) + family.coef0) ** int(family.degrees[k])
    gamma = np.longdouble(family.gammas_[k])
    return np.exp(-gamma * np.longdouble(family.unit_) * _squared_distances(A, B))


def _squared_distances(A, B):
    return ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=-1)


def _levenshtein(a, b):
    row = list(range(len(b) + 1))
    for i, one in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, other in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (one != other))
    return row[-1]


def _pieces(text, n):
    return Counter(text[i : i + n] for i in range(len(text) - n + 1))


def _cosine(first, second):
    if not first or not second:
        return 0.0
    product = sum(count * second[piece] for piece, count in first.items())
    norms = [sum(count**2 for count in pieces.values()) for pieces in (first, second)]
    return product / math.sqrt(norms[0] * norms[1])


def _check_scale(family, rows, s):
    """Check the value to which "scale" was resolved."""
    name = "gamma" if isinstance(family, Polynomial) else "unit"
    asked, found = getattr(family, name), getattr(family, name + "_")
    if asked == "scale":
        X = np.asarray(rows, np.longdouble)
        mean = (s @ X).sum() / (s.sum() * X.shape[1])
        variance = (s @ (X - mean) ** 2).sum() / (s.sum() * X.shape[1])
        asked = 1 / (X.shape[1] * variance) if np.ptp(X) > 0 else 1.0
    if not abs(found - asked) <= 1e-6 * abs(asked):  # a table may be constant up to rounding
        raise Untrue(f"{name} of {family!r} is {found!r} and should be {float(asked)!r}")


def _penalties(model, families, rows, s, centers, library):
    """Return L_k; raise if those of the library differ."""
    told = np.asarray(model.complexities_, float)
    r, start = told.copy(), 0
    for f, (given, family) in enumerate(zip(families, model.kernels_, strict=True)):
        sample = library.sample(StableRank().n_rows)
        only_with_centers = library.only_with_centers(f)
        if only_with_centers:
            sample = sample[0], centers
        mine = slice(start, start + family.n_kernels)
        start += family.n_kernels
        if isinstance(family, Polynomial | Gaussian):
            _check_scale(family, rows, s)
        if isinstance(model.complexity, str) and not isinstance(given, ContinuousGaussian):
            r[mine] = [
                _complexity(
                    model, family, k, rows, s, centers, sample, only_with_centers, told[mine][k]
                )
                for k in range(family.n_kernels)
            ]
        elif not isinstance(model.complexity, str):
            r[mine] = np.asarray(model.complexity, float)[mine]
    penalties = model.complexity_penalty_ * r + model.l1_penalty_
    if not np.allclose(penalties, model.penalties_, rtol=1e-8, atol=0):
        raise Untrue(f"penalties {model.penalties_}, and should be {penalties}")
    return np.asarray(model.penalties_, np.longdouble)


def _complexity(model, family, k, rows, s, centers, sample, only_with_centers, told):
    measure, m = model.complexity, s.sum()
    if measure in ("auto", "stable-rank"):
        values = kernel_values(family, k, *sample, model).astype(float)
        largest = np.abs(values).max()
        if largest == 0:
            return 0.0
        _, sigma, right = np.linalg.svd(values / largest, full_matrices=False)
        kappa_squared = largest
        if not only_with_centers:
            kappa_squared *= np.diagonal((right.T * sigma) @ right).max()
        rank = sigma.sum() ** 2 / (sigma**2).sum()
        return float(kappa_squared * np.sqrt(rank / m))
    if measure == "massart":
        squares = s @ kernel_values(family, k, rows, centers, model) ** 2
        return float(np.sqrt(squares.max() * 2 * np.log(2 * squares.shape[0])) / m)
    if measure in ("trace", "dimension"):
        diagonal = np.array([kernel_values(family, k, [x], [x], model)[0, 0] for x in rows])
        outside = [kernel_values(family, k, [c], [c], model)[0, 0] for c in centers]
        supremum = max(diagonal.max(), *outside)
        if measure == "trace":
            return float(np.sqrt(supremum * (s @ diagonal)) / m)
        n = len(rows[0]) if family.coef0 != 0 else len(rows[0]) - 1
        degree = int(family.degrees[k])
        return float(supremum * math.sqrt(math.comb(n + degree, degree)))
    return told  # an estimate


def _objective(model, a, columns, signs, w, penalties, rows, solution):
    kernels, supports = model.term_kernel_indices_, model.term_support_indices_
    f = np.full(len(signs), np.longdouble(solution.terms.intercept))
    sizes = np.abs(f)
    for weight, k, j in zip(a, kernels, supports, strict=True):
        f = f + weight * columns[k][:, j]
        sizes = sizes + np.abs(weight * columns[k][:, j])
    value = w @ np.maximum(0, 1 - signs * f) + penalties[kernels] @ np.abs(a)
    # The library computes kernels in double precision.
    near = signs * f < 1 + 1e-13 * sizes
    error = 1e-14 * (w[near] @ sizes[near])
    if model.l2_penalty:
        square = _square(model, a, kernels, supports, model.support_vectors_)
        value += model.l2_penalty / 2 * square
    return value, float(error / value) if value > 0 else 0.0


def _square(model, a, kernels, places, points):
    """Return sum_k a_k^T K_k a_k."""
    total = np.longdouble(0)
    for k, (family, member) in enumerate(members_of(model)):
        mine = kernels == k
        if mine.any():
            points_of = take(points, places[mine])
            total += a[mine] @ kernel_values(family, member, points_of, points_of, model) @ a[mine]
    return total


def _spread(dual, problem, rows, signs, w, pairwise, alive):
    """Return the dual vector of the given rows: each gets its share of the merged row's."""

    def key(row, sign):
        return _key(row[alive] if pairwise else row), sign

    # Rows of two other classes may be the same point: their sum counts.
    share = Counter()
    for number in range(problem.n_rows):
        share[key(problem.columns.X[number], problem.y[number])] += dual[number]
    keys = [key(row, sign) for row, sign in zip(rows, signs, strict=True)]
    mass = Counter()
    for name, weight in zip(keys, w, strict=True):
        mass[name] += weight
    return np.array(
        [share[name] * weight / mass[name] for name, weight in zip(keys, w, strict=True)]
    )


def _bound(model, solution, u, rows, signs, w, centers, families, penalties):
    """Return the bound that u proves, and its approximate relative error."""
    u = np.minimum(np.maximum(u, 0), w)
    if model.fit_intercept:
        mass = u[signs > 0].sum(), u[signs < 0].sum()
        if min(mass) == 0:
            return 0.0, 0.0
        u = u * np.where(signs > 0, min(mass) / mass[0], min(mass) / mass[1])
    if isinstance(families[-1], ContinuousGaussian):
        return _bound_of_continuum(model, solution, u, rows, signs, centers), 1e-12
    v = solution.dual_terms if model.l2_penalty else None
    worst, error, square = np.longdouble(1), 0.0, np.longdouble(0)
    for k, (family, member) in enumerate(members_of(model)):
        if penalties[k] <= 0:
            return 0.0, 0.0
        K = kernel_values(family, member, rows, centers, model)
        correlation = (u * signs) @ K
        if v is not None and (v.kernels == k).any():
            mine = v.kernels == k
            weights, points = v.weights[mine].astype(np.longdouble), v.centers[mine]
            C = kernel_values(family, member, take(centers, points), centers, model)
            correlation = correlation - model.l2_penalty * (weights @ C)
            square += model.l2_penalty * (weights @ C[:, points] @ weights)
        worst = max(worst, np.abs(correlation).max() / penalties[k])
        error = max(error, 1e-14 * float((u @ np.abs(K)).max() / penalties[k]))
    total = u.sum()
    if v is None or square <= 0:
        return total / worst, error / float(worst)
    shrink = min(1 / worst, total / square)
    return shrink * total - shrink**2 * square / 2, error / float(worst)


def _bound_of_continuum(model, solution, u, rows, signs, centers):
    """Return the bound at many widths, which is at least the bound over all widths."""
    family, worst = solution.columns.families[-1], np.longdouble(1)
    distance = _squared_distances(*(np.asarray(P, np.longdouble) for P in (rows, centers)))
    start = 0
    for other in model.kernels_[:-1]:
        for k in range(other.n_kernels):
            correlation = (u * signs) @ kernel_values(other, k, rows, centers, model)
            worst = max(worst, np.abs(correlation).max() / model.penalties_[start])
            start += 1
    knots = solution.columns.families[-1].knots_
    gammas = np.union1d(np.geomspace(knots[0], knots[-1], WIDTHS), family.gammas_)
    if model.complexity_penalty_ == 0:
        penalties = np.full(len(gammas), model.l1_penalty_)
    else:  # trace: sum of a diagonal of ones
        r = model.complexities_[-1]
        penalties = np.full(len(gammas), model.complexity_penalty_ * r + model.l1_penalty_)
    for gamma, penalty in zip(gammas, penalties, strict=True):
        K = np.exp(-np.longdouble(gamma) * np.longdouble(family.unit_) * distance)
        worst = max(worst, np.abs((u * signs) @ K).max() / penalty)
    return u.sum() / worst
