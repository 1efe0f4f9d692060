"""The columns of a problem over a table, by their definitions, and the optimum of SciPy.

Everything is computed from the plain Python values of `_tables`. From the model come only the
terms, the parameters of the kernel families and the penalties.
"""

import itertools

import numpy as np
from scipy import optimize

from votedkernels import Categories, Gaussian, Missing, MixedGaussian


def numbers(values):
    """Return values as floats, NaN for a gap."""
    return np.array([np.nan if value is None else float(value) for value in values])


def rule_values(columns, text, level, part):
    """Return the column of a rule, given its text and its level."""
    if text == "constant":
        return np.ones(len(getattr(columns[0], part)))
    for column in columns:
        values = getattr(column, part)
        if text == f"{column.name} is missing":
            return np.array([float(value is None) for value in values])
        for value in column.known:
            if not column.is_numeric and text == f"{column.name} = {value}":
                return np.array([float(other == value) for other in values])
        if column.is_numeric and text == f"{column.name} = {level:.6g}":
            return np.array([float(other == level) for other in numbers(values)])
        if text == f"{column.name} > {level:.6g}":
            return threshold(numbers(values), level)
    raise LookupError(text)


def threshold(values, level):
    """Return 1 above the level, -1 below, 0 for a gap."""
    return np.array([0.0 if v != v else 1.0 if v > level else -1.0 for v in values])


def embedded(columns, numeric, categorical, alive, weights, part):
    """Return rows as points, scaled by the training rows with a weight."""
    parts = []
    share = weights / weights.sum()
    for column in (columns[j] for j in numeric):
        train, rows = numbers(column.train)[alive], numbers(getattr(column, part))
        known = ~np.isnan(train)
        if known.sum() == 0 or np.ptp(train[known]) == 0:
            parts.append(np.zeros(len(rows)))
            continue
        of_known = share[known] / share[known].sum()
        mean = of_known @ train[known]
        deviation = np.sqrt(of_known @ (train[known] - mean) ** 2)
        parts.append(np.where(np.isnan(rows), 0.0, (rows - mean) / deviation))
    for column in (columns[j] for j in categorical):
        for value in {column.train[i] for i in np.flatnonzero(alive)}:
            parts.append(np.array([float(v == value) for v in getattr(column, part)]))
    return np.stack(parts, axis=1)


def problems_of(model, y, w, alive):
    """Yield the unit of each problem, and its hinges: signs, goals, weights and rows."""
    y, rows = np.asarray(y)[alive], np.arange(len(w))
    if hasattr(model, "classes_"):
        positives = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
        for positive in positives:
            yield 1.0, (np.where(y == positive, 1.0, -1.0), np.ones(len(w)), w, rows)
        return
    unit = model.target_scale_
    epsilon = getattr(model, "epsilon_", 0.0) / unit
    tau = (model.quantile, 1 - model.quantile) if model.loss == "quantile" else (1.0, 1.0)
    yield (
        unit,
        (
            np.repeat([1.0, -1.0], len(w)),
            np.concatenate([y / unit - epsilon, -y / unit - epsilon]),
            np.concatenate([tau[0] * w, tau[1] * w]),
            np.concatenate([rows, rows]),
        ),
    )


def votes(model, columns, weights, part):
    """Return f on the rows of a part, from the terms, and the sum of the sizes of its parts."""
    n_rows = len(getattr(columns[0], part))
    values = np.zeros((n_rows, len(model.term_weights_))) + model.intercept_
    sizes = np.abs(values) + 1e-12
    texts, levels = model.term_rules_, model.term_levels_
    members = members_of(model)
    for t, k in enumerate(model.term_kernel_indices_):
        if texts[t]:
            column = rule_values(columns, texts[t], levels[t], part)
        else:
            center = model.support_[model.term_support_indices_[t]]
            column = kernel_values(*members[k], columns, weights, part)[:, center]
        values += np.outer(column, model.term_weights_[:, t])
        sizes += np.abs(np.outer(column, model.term_weights_[:, t]))
    return values, sizes


def members_of(model):
    return [(family, k) for family in model.kernels_ for k in range(family.n_kernels)]


def kernel_values(family, k, columns, weights, part):
    """Return a Gaussian on the rows of a part and all training rows, from its definition."""
    alive = weights > 0
    share = weights / weights.sum()
    if isinstance(family, MixedGaussian):
        used = family.numeric, family.categorical, alive, weights[alive]
        points = [embedded(columns, *used, p) for p in (part, "train")]
        mean = share @ points[1]
    else:
        points = [np.stack([numbers(getattr(c, p)) for c in columns], 1) for p in (part, "train")]
        mean = (share @ points[1]).mean()
    variance = float((share @ (points[1] - mean) ** 2).sum())
    unit = 1 / variance if np.ptp(points[1][alive], axis=0).any() else 1.0
    squares = ((points[0][:, None, :] - points[1][None, :, :]) ** 2).sum(axis=-1)
    return np.exp(-family.gammas[k] * unit * squares)


def all_columns(model, columns, weights):
    """Return all columns of the problem on the training rows, and the kernel of each."""
    alive = weights > 0
    found, kernel_of = [], []
    for number, (family, k) in enumerate(members_of(model)):
        for column in columns_of(family, k, columns, weights, alive):
            found.append(column)
            kernel_of.append(number)
    none = np.zeros((alive.sum(), 0))
    return np.column_stack(found or [none]), np.array(kernel_of, int)


def columns_of(family, k, columns, weights, alive):
    if isinstance(family, Gaussian):
        return kernel_values(family, k, columns, weights, "train")[np.ix_(alive, alive)].T
    j = int(family.features_[k])
    if j < 0:
        return [np.ones(alive.sum())]
    values = [columns[j].train[i] for i in np.flatnonzero(alive)]
    if isinstance(family, Missing):
        return [np.array([float(v is None) for v in values])]
    distinct = sorted({v for v in values if v is not None})
    if isinstance(family, Categories):
        return [np.array([float(v == other) for v in values]) for other in distinct]
    cuts = [(low + high) / 2 for low, high in itertools.pairwise(distinct)]
    return [threshold(numbers(values), cut) for cut in cuts]


def optimum(A, prices, hinges, intercept):
    """Return min F by SciPy, or None if it fails."""
    signs, goals, w, rows = hinges
    Z = signs[:, None] * A[rows]
    if intercept:
        Z, prices = np.column_stack([Z, signs]), np.append(prices, 0.0)
    n = len(w)
    found = optimize.linprog(
        np.concatenate([w * n, prices * n, prices * n]),
        A_ub=-np.hstack([np.eye(n), Z, -Z]),
        b_ub=-goals,
        method="highs",
    )
    return float(found.fun) / n if found.status == 0 else None
