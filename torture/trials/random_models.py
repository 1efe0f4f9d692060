"""Random models, compared with what they report and with the optimum of another solver.

No internals of the library are used: F is computed by dense code from the fitted attributes,
and the optimum by SciPy (if it disagrees with a model, also by Clarabel). The options are those
that `random_problems` does not draw: kernels without a penalty, weights of any size, centres far
outside, sparse rows, limits, features of other scales, searches.
"""

import sys
import warnings

import numpy as np
from _spread import spread
from _trial import Trial
from scipy import optimize, sparse

from votedkernels import (
    Empirical,
    Gaussian,
    Local,
    Polynomial,
    Precomputed,
    Similarity,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
)
from votedkernels.exceptions import FitLimitError

N_MODELS = 10_000
CHUNK = 50
#: How much two solvers may differ, relative to F, and the rounding error relative to the sums.
SLACK = 1e-6
EPS = 1e-13
#: Expected errors: weights whose sum overflows, and folds that lack a class.
KNOWN = ("overflow", "at least 2 classes")
SOLVERS = ("column-generation", "column-generation", "coordinate-descent", "lp")


def main():
    trial = Trial(
        19,
        f"{N_MODELS} random models: no penalties, weights of any size, centres far outside, sparse "
        "rows, limits, searches",
        "objective_ is F of the attributes; no dual bound above the optimum that SciPy finds; "
        "'optimal' within tol of it; predictions those of the attributes",
    )
    n = trial.count(N_MODELS)
    first = trial.options.seed * N_MODELS
    chunks = [
        range(start, min(start + CHUNK, first + n)) for start in range(first, first + n, CHUNK)
    ]
    counts = {"optimal": 0, "stopped": 0, "refused": 0}
    for results in spread(judge, chunks):
        for seed, state in results:
            if state in counts:
                counts[state] += 1
            else:
                trial.fail(f"model {seed}: {state}")
        trial.tell(f"{sum(counts.values())} of {n} models")
    trial.end(
        f"{counts['optimal']} proved optimal, {counts['stopped']} stopped early with a true bound, "
        f"{counts['refused']} refused with an error of our own class, of {n}"
    )


def judge(seeds):
    """Return (seed, state) of some models; a state that is not counted is a failure."""
    return [(seed, judge_one(seed)) for seed in seeds]


def judge_one(seed):
    rng = np.random.default_rng((19, seed))
    model, X, y, weights = draw(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X, y, weights)
        except (FitLimitError, ValueError) as error:
            known = isinstance(error, FitLimitError) or any(text in str(error) for text in KNOWN)
            return "refused" if known else f"{type(error).__name__}: {error} ({model!r})"
        except Exception as error:
            return f"{type(error).__name__}: {error} ({model!r})"
        wrong = complaint(model, X, y, weights)
    if wrong:
        return f"{wrong} ({model!r})"
    return "optimal" if model.stop_reason_ == "optimal" else "stopped"


# -- drawing -------------------------------------------------------------------------------


def crooked(A, B):
    """Neither symmetric nor definite."""
    return np.tanh(np.asarray(A) @ np.roll(np.asarray(B), 1, axis=1).T - 0.2)


def draw(rng):
    """Return an unfitted model and its data."""
    n, d = int(rng.integers(6, 26)), int(rng.integers(1, 5))
    n_classes = int(rng.choice([2, 2, 2, 3, 4]))
    X = rng.standard_normal((n, d))
    score = X @ rng.standard_normal(d) + rng.normal(0, 0.7, n)
    codes = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    codes[:n_classes] = np.arange(n_classes)
    if rng.random() < 0.2:
        again = rng.integers(0, n, n // 2)
        X, codes = np.vstack([X, X[again]]), np.concatenate([codes, codes[again]])
    if rng.random() < 0.1:
        X[:, 0] = 1.0
    X *= 10.0 ** rng.choice([0, 0, 0, -6, -2, 2, 4])
    kind = str(rng.choice(["default", "polynomial", "gaussian", "precomputed", "mixed", "crooked"]))
    kernels = {
        "default": None,
        "polynomial": Polynomial((1, 2, 4)),
        "gaussian": Gaussian((0.1, 1.0, 10.0)),
        "precomputed": Precomputed(),
        "mixed": [("p", Polynomial((1, 3))), ("g", Gaussian((0.3, 3.0)))],
        "crooked": Similarity(crooked),
    }[kind]
    options = draw_options(rng, kind, X)
    if kind == "precomputed":
        X = crooked(X, X) if d > 1 else X @ X.T / (1 + np.abs(X @ X.T).max())
        options.pop("centers", None)
    elif kind in ("default", "polynomial", "gaussian", "mixed") and rng.random() < 0.2:
        X = sparse.csr_matrix(np.where(rng.random(X.shape) < 0.5, X, 0.0))
        if rng.random() < 0.5:
            X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    y = codes if rng.random() < 0.5 else np.array(["a", "b", "c", "d"])[codes]
    if rng.random() < 0.1:
        grid = {"complexity_penalties": [1e-1, 1e-3], "l1_penalties": [1e-1, 1e-2], "cv": 2}
        for name in ("solver", "complexity_penalty", "l1_penalty"):
            options.pop(name)
        model = VotedKernelClassifierCV(kernels, **grid, **options)
    else:
        model = VotedKernelClassifier(kernels, **options)
    return model, X, y, draw_weights(rng, codes)


def draw_options(rng, kind, X):
    n_kernels = {"default": 10, "polynomial": 3, "gaussian": 3, "mixed": 4}.get(kind, 1)
    options = {
        "complexity_penalty": float(rng.choice([0.0, 1.0, 10 ** rng.uniform(-5, 0)])),
        "l1_penalty": float(rng.choice([0.0, 10 ** rng.uniform(-5, 0), 10 ** rng.uniform(-3, 0)])),
        "solver": str(rng.choice(SOLVERS)),
        "fit_intercept": bool(rng.random() < 0.4),
        "tol": float(rng.choice([1e-3, 1e-6, 1e-9])),
    }  # fmt: skip
    if rng.random() < 0.3:
        options["complexity"] = tuple(rng.choice([0.0, 0.1, 1.0], n_kernels).tolist())
    elif kind in ("default", "polynomial", "gaussian", "mixed"):
        options["complexity"] = [
            "auto", "trace", Local(1e-3), Local(np.inf), Empirical(8), "massart",
        ][int(rng.integers(0, 6))]  # fmt: skip
    if rng.random() < 0.2:
        options["class_weight"] = "balanced"
    if rng.random() < 0.2:
        options["centers"] = X[: len(X) // 2] * float(rng.choice([1.0, 3.0, 100.0]))
    limit = rng.random()
    if limit < 0.1:
        options["max_iter"] = int(rng.integers(1, 4))
    elif limit < 0.15:
        options["time_limit"] = float(rng.choice([1e-3, 5e-3, 0.05]))
    return options


def draw_weights(rng, codes):
    if rng.random() < 0.5:
        return None
    weights = rng.integers(0, 4, len(codes)).astype(float)
    for code in np.unique(codes):
        weights[np.flatnonzero(codes == code)[0]] = 1.0
    return weights * 10.0 ** float(rng.choice([0, 0, -200, -3, 5, 100, 300]))


# -- judging -------------------------------------------------------------------------------


def complaint(model, X, y, weights):
    """Return what is wrong, or None."""
    s = np.ones(len(y)) if weights is None else weights / weights.max()
    alive = s > 0
    precomputed = model.kernels_[0].is_precomputed if hasattr(
        model.kernels_[0], "is_precomputed"
    ) else isinstance(model.kernels_[0], Precomputed)  # fmt: skip
    table = X.toarray() if sparse.issparse(X) else X
    rows, labels, s = table[alive], np.asarray(y)[alive], s[alive]
    w = s / s.sum()
    if model.class_weight == "balanced":
        mass = {c: w[labels == c].sum() for c in np.unique(labels)}
        w = np.array([weight / mass[c] for weight, c in zip(w, labels, strict=True)])
        w /= w.sum()
    L = np.asarray(model.penalties_)
    if not (np.isfinite(L).all() and (L >= 0).all()):
        return f"penalties {L}"
    if precomputed:
        centers = np.flatnonzero(alive)
        used = model.support_
    else:
        centers = rows if model.centers is None else model.centers
        used = model.support_vectors_
        used = used.toarray() if sparse.issparse(used) else used
    grams = [values(f, k, rows, centers) for f in model.kernels_ for k in range(f.n_kernels)]
    voting = [values(f, k, rows, used) for f in model.kernels_ for k in range(f.n_kernels)]
    columns = np.column_stack(
        [voting[k][:, j] for k, j in zip(model.term_kernel_indices_, model.term_support_indices_,
                                         strict=True)]
        or [np.zeros((len(rows), 0))]
    )  # fmt: skip
    decisions = columns @ model.term_weights_.T + model.intercept_
    largest = np.abs(columns) @ np.abs(model.term_weights_.T) + 1
    wrong = wrong_predictions(model, table[alive], decisions, EPS * largest)
    if wrong:
        return wrong
    prices = L[model.term_kernel_indices_]
    positives = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    for number, positive in enumerate(positives):
        signs = np.where(labels == positive, 1.0, -1.0)
        f = decisions[:, number]
        if not model.fit_intercept and not model.term_weights_[number].any():
            f = np.zeros_like(f)  # the report is that of the constant of the heavier class
        F = w @ np.maximum(0, 1 - signs * f)
        F += prices @ np.abs(model.term_weights_[number])
        noise = EPS * float(w @ largest[:, number])
        wrong = wrong_values(model, number, F, noise, grams, signs, w, L)
        if wrong:
            return f"problem {number}: {wrong}"
    return None


def values(family, k, A, B):
    """Return member k of a family on rows A and centres B, from its definition."""
    if isinstance(family, Precomputed):
        return np.asarray(A)[:, np.asarray(B, int)]
    A, B = np.asarray(A, float), np.asarray(B, float).reshape(-1, np.shape(A)[1])
    if isinstance(family, Similarity):
        return crooked(A, B)
    if isinstance(family, Polynomial):
        return (family.gamma_ * (A @ B.T) + family.coef0) ** int(family.degrees[k])
    squares = ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=-1)
    return np.exp(-family.gammas_[k] * family.unit_ * squares)


def wrong_predictions(model, rows, decisions, noise):
    told = model.decision_function(rows)
    told = told[:, None] if told.ndim == 1 else told
    if not (np.abs(told - decisions) <= 10 * noise + 1e-12).all():
        return f"decisions differ by {np.abs(told - decisions).max():.3g}"
    return None


def wrong_values(model, number, F, noise, grams, signs, w, L):
    objective, bound = model.class_objectives_[number], model.class_dual_bounds_[number]
    slack = SLACK * F + noise + 1e-12
    if not abs(objective - F) <= slack:
        return f"objective {objective!r}, and F is {F!r}"
    if not 0 <= bound <= objective + slack:
        return f"bound {bound!r} beside an objective of {objective!r}"
    best = optimum(grams, signs, w, L, model.fit_intercept)
    tolerance = model.tol if model.stop_reason_ == "optimal" else 1.0
    if best is None or fits(objective, bound, best, tolerance, slack):
        return None
    second = second_opinion(grams, signs, w, L, model.fit_intercept)
    if second is None or fits(objective, bound, second, tolerance, slack):
        return None
    return f"{bound!r} <= F <= {objective!r} ({model.stop_reason_}), optimum {best!r} or {second!r}"


def fits(objective, bound, best, tolerance, slack):
    """Whether values agree with the optimum of another solver, or are below it."""
    return bound <= best + slack and objective - best <= tolerance * objective + slack


def scaled_columns(grams, L):
    """Return the columns and their penalties divided by the same sizes; the optimum is the same."""
    A = np.concatenate(grams, axis=1)
    size = np.abs(A).max(axis=0)
    size = np.where(size > 1e-200, size, 1.0)
    return A / size, np.repeat(L, [K.shape[1] for K in grams]) / size


def optimum(grams, signs, w, L, intercept):
    """Return min F by SciPy, or None if it fails."""
    A, prices = scaled_columns(grams, L)
    Z = signs[:, None] * A
    if intercept:
        Z, prices = np.column_stack([Z, signs]), np.append(prices, 0.0)
    n = len(w)
    found = optimize.linprog(
        np.concatenate([w * n, prices * n, prices * n]),
        A_ub=-np.hstack([np.eye(n), Z, -Z]),
        b_ub=-np.ones(n),
        method="highs",
    )
    return float(found.fun) / n if found.status == 0 else None


def second_opinion(grams, signs, w, L, intercept):
    """Return min F by Clarabel, or None if it fails or is not installed."""
    try:
        import cvxpy
    except ImportError:
        return None
    A, prices = scaled_columns(grams, L)
    a, b = cvxpy.Variable(A.shape[1]), cvxpy.Variable() if intercept else 0.0
    margins = cvxpy.multiply(signs, A @ a + b)
    value = w @ cvxpy.pos(1 - margins) + prices @ cvxpy.abs(a)
    problem = cvxpy.Problem(cvxpy.Minimize(value))
    try:
        problem.solve(solver="CLARABEL")
    except cvxpy.SolverError:
        return None
    return float(problem.value) if problem.status == "optimal" else None


if __name__ == "__main__":
    sys.exit(main())
