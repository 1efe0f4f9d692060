"""Random data frames, from pandas and polars, compared with rules evaluated one value at a time.

The columns are plain Python values (`_tables`), from which both the frames and the columns of the
problem are made. So this checks how frames are read, too: gaps, categories, dates, types.
"""

import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _table_columns import all_columns, optimum, problems_of, votes
from _tables import PLAIN, draw_columns, frame_of, pl, repeat_rows
from _trial import Trial
from sklearn.exceptions import ConvergenceWarning

from votedkernels import (
    Categories,
    Gaussian,
    Missing,
    MixedGaussian,
    Threshold,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
    VotedKernelRegressor,
    VotedKernelRegressorCV,
    load_model,
    save_model,
)
from votedkernels.exceptions import FitLimitError

N_TABLES = 1_500
N_NEW = 12
AGREEMENT = 1e-9
#: How far HiGHS may be from the optimum, relative to F.
SLACK = 1e-6
#: Warnings that say what is the case.
TRUE_WARNINGS = ("No kernel has a penalty", "The penalties are so large", "sample_weight sums to")
SOLVERS = ("column-generation", "column-generation", "coordinate-descent", "lp")


def main():
    trial = Trial(
        22,
        f"{N_TABLES} random data frames, from pandas and polars: numbers, categories, dates, gaps, "
        "repeated rows, values that are new at prediction, and columns that cannot be used",
        f"objective_ within {AGREEMENT:g} of F of the rules, evaluated one value at a time; no "
        "dual bound above the optimum that SciPy finds; the same finite predictions from a file; "
        "errors name the column",
    )
    n = trial.count(N_TABLES)
    counts = {"optimal": 0, "stopped": 0, "searched": 0, "refused": 0}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        for seed in range(trial.options.seed * N_TABLES, trial.options.seed * N_TABLES + n):
            state = judge(seed, path)
            if state in counts:
                counts[state] += 1
            else:
                trial.fail(f"table {seed}: {state}")
            trial.tell(f"{sum(counts.values())} of {n} tables")
    trial.end(
        f"{counts['optimal']} proved optimal, {counts['stopped']} stopped early with a true bound, "
        f"{counts['searched']} searches, {counts['refused']} refused with the name of the column, "
        f"of {n}"
    )


def judge(seed, path):
    """Return what happened to a table; anything that `main` does not count is a failure."""
    rng = np.random.default_rng((22, seed))
    library = "polars" if pl is not None and rng.random() < 0.4 else "pandas"
    kind = rng.random()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if kind < 0.15:
                state = judge_fault(rng, library)
            else:
                state = judge_table(rng, library, path, search=kind > 0.93)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    for warning in caught:
        if warning.category is not ConvergenceWarning and not (
            warning.category is UserWarning and str(warning.message).startswith(TRUE_WARNINGS)
        ):
            return f"{warning.category.__name__}: {warning.message}"
    return state


# -- drawing -------------------------------------------------------------------------------


def draw_table(rng, library, kinds=None, *, gaps=True):
    """Return columns and labels; a part of the tables has repeated rows."""
    n = int(rng.integers(8, 36))
    options = {} if kinds is None else {"kinds": kinds}
    columns = draw_columns(rng, n, N_NEW, gaps=gaps, only_texts=library == "polars", **options)
    told = columns[int(rng.integers(0, len(columns)))].train
    score = np.array([number_of(value) for value in told]) + rng.normal(0, 0.5, n)
    if rng.random() < 0.3:
        columns, rows = repeat_rows(rng, columns, n)
        score = score[rows] + np.where(rng.random(len(rows)) < 0.2, rng.normal(0, 1, len(rows)), 0)
    return columns, score


def number_of(value):
    """Return a number for a value, which is what labels depend on."""
    if value is None:
        return 1.5
    if isinstance(value, str):
        return (sum(map(ord, value)) % 7) / 3 - 1
    return float(np.tanh(value))


def draw_kernels(rng, columns):
    """Return "table", or a list of families, and whether only plain numbers are allowed."""
    if rng.random() < 0.5:
        return "table"
    everyone = list(range(len(columns)))
    numeric = [j for j in everyone if columns[j].is_numeric]
    categorical = [j for j in everyone if not columns[j].is_numeric]
    families = [Missing(some(rng, everyone))]
    if numeric:
        families.append(Threshold(some(rng, numeric)))
    if numeric and rng.random() < 0.3:
        categorical = [*categorical, numeric[0]]
    if categorical:
        families.append(Categories(some(rng, categorical)))
    if rng.random() < 0.5:
        used = some(rng, everyone)
        mixed = [[j for j in used if columns[j].is_numeric is flag] for flag in (True, False)]
        families.append(MixedGaussian((0.1, 1.0), numeric=mixed[0], categorical=mixed[1]))
    order = rng.permutation(len(families))
    return [families[i] for i in order[: int(rng.integers(1, len(families) + 1))]]


def some(rng, places):
    return sorted(rng.choice(places, int(rng.integers(1, len(places) + 1)), False).tolist())


def draw_model(rng, kernels, n_classes, *, search):
    """Return an unfitted model: a classifier, or a regressor if there are no classes."""
    if search:
        search_class = VotedKernelClassifierCV if n_classes else VotedKernelRegressorCV
        return search_class(kernels, cv=2, committee=int(rng.integers(1, 4)))
    options = {
        "complexity_penalty": ["auto", 0.0, float(10 ** rng.uniform(-4, 0))][rng.integers(0, 3)],
        "l1_penalty": ["auto", 0.0, float(10 ** rng.uniform(-4, 0))][rng.integers(0, 3)],
        "fit_intercept": bool(rng.random() < 0.5),
        "solver": str(rng.choice(SOLVERS)),
        "tol": float(rng.choice([1e-3, 1e-6, 1e-9])),
    }
    if not n_classes:
        loss = str(rng.choice(["epsilon-insensitive", "absolute", "quantile"]))
        quantile = float(rng.choice([0.1, 0.5, 0.8])) if loss == "quantile" else 0.5
        return VotedKernelRegressor(kernels, loss=loss, quantile=quantile, **options)
    return VotedKernelClassifier(kernels, **options)


def draw_targets(rng, score, n_classes):
    if not n_classes:
        return score * 10.0 ** rng.integers(-3, 4) + rng.choice([0.0, 10.0])
    codes = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    codes[:n_classes] = np.arange(n_classes)
    if rng.random() < 0.5:
        return codes
    return np.array(["no", "yes", "maybe"])[codes]


def draw_weights(rng, y, n_classes):
    if rng.random() < 0.6:
        return None
    weights = rng.choice([0.0, 1.0, 2.0, 0.3], len(y))
    weights[:2] = 1.0
    if n_classes:
        weights[np.unique(y, return_index=True)[1]] = 1.0
    return weights * 10.0 ** rng.choice([0, 0, -20, 5])


# -- tables that can be used ---------------------------------------------------------------


def judge_table(rng, library, path, *, search):
    plain = rng.random() < 0.15
    columns, score = draw_table(rng, library, PLAIN if plain else None, gaps=not plain)
    kernels = [Gaussian((0.1, 1.0)), Threshold(), Categories([0])] if plain else (
        draw_kernels(rng, columns)
    )  # fmt: skip
    n_classes = int(rng.choice([0, 2, 2, 3]))
    y = draw_targets(rng, score, n_classes)
    weights = None if search else draw_weights(rng, y, n_classes)
    model = draw_model(rng, kernels, n_classes, search=search)
    try:
        model.fit(frame_of(rng, columns, "train", library), y, weights)
    except FitLimitError:
        return f"FitLimitError without a limit ({model!r})"
    weights = np.ones(len(y)) if weights is None else weights / weights.max()
    wrong = wrong_predictions(rng, library, model, columns, weights, path)
    if not wrong and not search:
        wrong = wrong_report(model, columns, y, weights)
    if wrong:
        return f"{wrong} ({model!r})"
    if search:
        return "searched"
    return "optimal" if model.stop_reason_ == "optimal" else "stopped"


def wrong_predictions(rng, library, model, columns, weights, path):
    """Return what is wrong with predictions on new rows, or nothing."""
    frame = frame_of(rng, columns, "new", library)
    decide = getattr(model, "decision_function", model.predict)
    told = np.asarray(decide(frame))
    if not np.isfinite(told).all():
        return "predictions are not finite"
    values, sizes = votes(model, columns, weights, "new")
    error = np.abs(told.reshape(values.shape) - values)
    if not (error <= AGREEMENT * sizes).all():
        return f"predictions differ by {error.max():.3g}"
    save_model(model, path)
    again = load_model(path)
    same = np.array_equal(getattr(again, "decision_function", again.predict)(frame), told)
    same &= np.array_equal(again.predict(frame), model.predict(frame))
    if not same or again.term_rules_ != model.term_rules_:
        return "another model in the file"
    return ""


def wrong_report(model, columns, y, weights):
    """Return what is wrong with the objective or the bound, or nothing."""
    L = np.asarray(model.penalties_)
    if not (np.isfinite(L).all() and (L >= 0).all()):
        return f"penalties {L}"
    decisions, sizes = votes(model, columns, weights, "train")
    alive = weights > 0
    A, kernel_of = all_columns(model, columns, weights)
    prices, w = L[kernel_of], weights[alive] / weights.sum()
    for number, (unit, hinges) in enumerate(problems_of(model, y, w, alive)):
        signs, goals, of_hinges, rows = hinges
        f, a = decisions[alive, number] / unit, model.term_weights_[number] / unit
        if hasattr(model, "classes_") and not model.fit_intercept and not a.any():
            f = np.zeros_like(f)  # the report is that of the constant of the heavier class
        F = unit * (of_hinges @ np.maximum(0, goals - signs * f[rows]))
        F += unit * (L[model.term_kernel_indices_] @ np.abs(a))
        is_classifier = hasattr(model, "classes_")
        told = model.class_objectives_[number] if is_classifier else model.objective_
        bound = model.class_dual_bounds_[number] if is_classifier else model.dual_bound_
        noise = AGREEMENT * 1e-3 * float(w @ sizes[alive, number])
        if not abs(told - F) <= AGREEMENT * F + noise:
            return f"objective {told!r}, and F is {F!r}"
        best = optimum(A, prices, hinges, model.fit_intercept)
        if best is None:
            continue
        best, slack = unit * best, SLACK * (F + unit * 1e-3)
        if not -noise <= bound <= best + slack:
            return f"bound {bound!r}, and the optimum is {best!r}"
        if not told >= best - 10 * slack:  # F is that of a vote, so this checks SciPy, too
            return f"objective {told!r}, and the optimum is {best!r}"
        if model.stop_reason_ == "optimal" and told - best > model.tol * told + slack:
            return f"'optimal' at {told!r}, and the optimum is {best!r}"
    return ""


# -- tables that cannot be used ------------------------------------------------------------


def judge_fault(rng, library):
    """Put a column that cannot be used into a frame; return "refused" if the error names it."""
    columns, score = draw_table(rng, library)
    n = len(score)
    y = draw_targets(rng, score, 2)
    column = columns[int(rng.integers(0, len(columns)))]
    train = frame_of(rng, columns, "train", library)
    new = frame_of(rng, columns, "new", library)
    model = VotedKernelClassifier("table", l1_penalty=0.1)
    if rng.random() < 0.1:
        model = VotedKernelClassifierCV("table", cv=2, committee=1)
    in_fit = rng.random() < 0.5
    if in_fit:
        if rng.random() < 0.3:
            if all(c.holds_numbers for c in columns):
                return "refused"  # nothing is wrong with this one
            return refused(lambda: VotedKernelClassifier(Gaussian()).fit(train, y), columns)
        faults = faults_of_any(n, library)
    else:
        model.fit(train, y)
        faults = faults_after_fit(column, N_NEW, library)
        if rng.random() < 0.3:
            return refused(lambda: model.predict(moved(rng, new, columns, library)), columns)
    values = faults[int(rng.integers(0, len(faults)))]
    if library == "pandas":
        bad = (train if in_fit else new).assign(**{column.name: values})
    else:
        bad = (train if in_fit else new).with_columns(pl.Series(column.name, values))
    work = (lambda: model.fit(bad, y)) if in_fit else (lambda: model.predict(bad))
    return refused(work, [column])


def faults_of_any(n, library):
    """Return columns that no kernel can use."""
    infinite = [np.inf, *[1.0] * (n - 1)]
    lists = [[1.0, 2.0]] * n
    texts = [f"word {i}" for i in range(n)] if n > 20 else infinite
    if library == "polars":
        return [infinite, lists, texts, [{"a": 1}] * n]
    mixed = pd.Series(["a", 1.0, *["b"] * (n - 2)], dtype=object)
    objects = pd.Series([object()] * n, dtype=object)
    return [infinite, pd.Series(lists, dtype=object), texts, mixed, objects, [1j] * n]


def faults_after_fit(column, n, library):
    """Return columns of another kind than in fit."""
    if not column.is_numeric:
        return [[1.5] * n, [True] * n]
    if column.kind == "nothing" and library == "pandas":
        return [[-np.inf] * n]
    faults = [["old"] * n, [None, -np.inf] * (n // 2)]
    return [faults[1]] if column.kind == "nothing" else faults


def moved(rng, frame, columns, library):
    """Return the frame without a column, or with the columns in another order."""
    if len(columns) == 1 or rng.random() < 0.5:
        name = columns[int(rng.integers(0, len(columns)))].name
        if library == "pandas":
            return frame.drop(columns=name).assign(other=1.0)
        return frame.drop(name).with_columns(pl.lit(1.0).alias("other"))
    return frame[[c.name for c in columns[1:]] + [columns[0].name]]


def refused(work, columns):
    """Return "refused" if work raises a ValueError that names one of the columns."""
    try:
        work()
    except ValueError as error:
        names = {form for c in columns for form in (c.name, repr(c.name)[1:-1])}
        if any(name in str(error) for name in names):
            return "refused"
        return f"no column named: {error}"
    return "a table that cannot be used was accepted"


if __name__ == "__main__":
    sys.exit(main())
