"""Probabilities of random classifiers and searches, compared with decisions, files and ONNX."""

import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from _trial import Trial
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from votedkernels import (
    ContinuousGaussian,
    Gaussian,
    Polynomial,
    Similarity,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
    load_model,
    save_model,
)
from votedkernels.exceptions import ExportError, FitLimitError

try:
    import onnxruntime

    from votedkernels.onnx import to_onnx
except ImportError:
    onnxruntime = None

N_MODELS = 600
N_NEW = 20
#: Of these models, one is exported.
EXPORT_EVERY = 3
SUM, LOGARITHM, RUNTIME = 1e-12, 1e-9, 1e-5
#: Parts of the errors for data that allow no probabilities; each says what to do.
KNOWN = (
    "use a larger time_limit",
    "with a larger time_limit",
    "add rows, or use probability=False",
    "use other folds (cv), or search without a grid",
)
#: Warnings that say what is the case; the second is that of scikit-learn's folds.
TRUE_WARNINGS = (
    "The penalties are so large",
    "The least populated class in y has only",
    "sample_weight sums to",
)


def main():
    trial = Trial(
        23,
        f"{N_MODELS} random classifiers and searches with probabilities: 2 to 5 classes, tiny "
        "classes, weights, separable data and noise, time limits, pipelines",
        f"rows of predict_proba in [0, 1], with sum 1 within {SUM:g}; predict is their argmax and "
        "that of the votes; the same numbers from a file, and within "
        f"{RUNTIME:g} from onnxruntime; errors of our own class say what to do",
    )
    n = trial.count(N_MODELS)
    first = trial.options.seed * N_MODELS
    counts = {"checked": 0, "exported": 0, "refused": 0}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        for done, seed in enumerate(range(first, first + n), 1):
            state = judge(seed, path)
            if state in counts:
                counts[state] += 1
            else:
                trial.fail(f"model {seed}: {state}")
            trial.tell(f"{done} of {n} models")
    trial.end(
        f"{counts['checked'] + counts['exported']} models, {counts['exported']} of them compared "
        f"with onnxruntime, {counts['refused']} refused with a way out, of {n}"
    )


def judge(seed, path):
    """Return what happened to a model; anything that `main` does not count is a failure."""
    rng = np.random.default_rng((23, seed))
    X, y, X_new = draw_rows(rng)
    model = draw_model(rng)
    weights = draw_weights(rng, y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            state = judge_model(model, (X, y, X_new, weights), path, seed % EXPORT_EVERY == 0)
        except Exception as error:
            return f"{type(error).__name__}: {error} ({model!r})"
    for warning in caught:
        if warning.category is not ConvergenceWarning and not (
            warning.category is UserWarning and str(warning.message).startswith(TRUE_WARNINGS)
        ):
            return f"{warning.category.__name__}: {warning.message} ({model!r})"
    return state if state in ("checked", "exported", "refused") else f"{state} ({model!r})"


# -- drawing -------------------------------------------------------------------------------


def draw_rows(rng):
    """Return training rows, labels, and new rows, some of them far outside."""
    n, d, n_classes = int(rng.integers(8, 70)), int(rng.integers(1, 5)), int(rng.integers(2, 6))
    n = max(n, 3 * n_classes)
    shares = rng.dirichlet(np.full(n_classes, rng.choice([0.3, 1.0, 100.0])))
    codes = rng.choice(n_classes, n, p=shares)
    codes[: 3 * n_classes] = np.tile(np.arange(n_classes), 3)
    if rng.random() < 0.2:  # a class of one or two rows
        keep = int(rng.integers(1, 3))
        codes[np.flatnonzero(codes == 1)[keep:]] = 0
    distance = float(rng.choice([0.0, 1.0, 3.0, 100.0]))
    centers = distance * rng.standard_normal((n_classes, d))
    X, X_new = rng.standard_normal((n, d)) + centers[codes], 3 * rng.standard_normal((N_NEW, d))
    if rng.random() < 0.2:  # repeated rows, some with another label
        again = rng.integers(0, n, n // 2)
        X, codes = np.vstack([X, X[again]]), np.append(codes, rng.permutation(codes[again]))
    if rng.random() < 0.1:
        X[:, 0] = X_new[:, 0] = 1.0
    scale = 10.0 ** rng.choice([0, 0, 0, -5, 3])
    X_new[: N_NEW // 2] = X[rng.integers(0, len(X), N_NEW // 2)]
    X_new[-2], X_new[-1] = 1e3 * X_new[-2], 1e60 * X_new[-1]
    names = [
        np.arange(5) - 2,
        np.array(["e", "dd", "", "é", "a b"]),
        np.array([0.0, -1.0, 2.0, 3.0, 1e9]),
        np.array([False, True]),
    ][int(rng.integers(0, 4 if n_classes == 2 else 3))]
    return scale * X, names[codes], scale * X_new


def crooked(A, B):
    """Neither symmetric nor definite."""
    return np.tanh(np.asarray(A) @ np.roll(np.asarray(B), 1, axis=1).T - 0.2)


def draw_kernels(rng):
    return [
        None,
        Gaussian((0.1, 1.0, 10.0)),
        Polynomial((1, 2, 3)),
        [Polynomial((1,)), Gaussian((0.3, 3.0))],
        "table",
        Similarity(crooked, name="crooked"),
        ContinuousGaussian(0.1, 10.0),
    ][int(rng.integers(0, 7))]


def draw_model(rng):
    """Return an unfitted classifier, search or pipeline."""
    options = {
        "kernels": draw_kernels(rng),
        "fit_intercept": bool(rng.random() < 0.4),
        "class_weight": "balanced" if rng.random() < 0.2 else None,
        "time_limit": float(10 ** rng.uniform(-1.5, 0.5)) if rng.random() < 0.25 else None,
    }
    kind = rng.random()
    if kind < 0.65:
        continuous = isinstance(options["kernels"], ContinuousGaussian)
        model = VotedKernelClassifier(
            probability=True,
            l1_penalty=float(rng.choice([1e-4, 1e-2, 0.3])) if rng.random() < 0.5 else "auto",
            relaxation="auto" if rng.random() < 0.3 and not continuous else None,
            tol=1e-4,
            **options,
        )
    else:
        if isinstance(options["kernels"], ContinuousGaussian):
            options["kernels"] = None
        options |= {"cv": int(rng.integers(2, 4)), "tol": 1e-4}
        if kind < 0.8:
            options |= {"complexity_penalties": [1e-1, 1e-3], "l1_penalties": [1e-2]}
        else:
            options["committee"] = int(rng.integers(1, 6))
        model = VotedKernelClassifierCV(**options)
    steps = rng.random()
    if steps < 0.2:
        return make_pipeline(StandardScaler(), model)
    return make_pipeline(MinMaxScaler(), model) if steps < 0.3 else model


def draw_weights(rng, y):
    if rng.random() < 0.6:
        return None
    weights = rng.choice([0.0, 1.0, 2.0, 0.1], len(y))
    for label in np.unique(y):
        weights[np.flatnonzero(y == label)[:3]] = 1.0
    return weights * 10.0 ** rng.choice([0, 0, -10, 5])


# -- judging -------------------------------------------------------------------------------


def judge_model(model, data, path, export):
    """Return "checked", "exported" or "refused", or else what is wrong."""
    X, y, X_new, weights = data
    fit_params = {}
    if weights is not None:
        last = model.steps[-1][0] + "__" if hasattr(model, "steps") else ""
        fit_params = {f"{last}sample_weight": weights}
    try:
        model.fit(X, y, **fit_params)
        told = model.predict_proba(X_new)
    except (FitLimitError, NotFittedError, ValueError) as error:
        return "refused" if any(text in str(error) for text in KNOWN) else f"refused: {error}"
    decisions = model.decision_function(X_new)
    wrong = wrong_rows(model, X_new, told, decisions) or wrong_file(model, X_new, told, path)
    if wrong or not export or onnxruntime is None:
        return wrong or "checked"
    return wrong_export(model, X_new[:-2], told[:-2])


def wrong_rows(model, X, told, decisions):
    """Return what is wrong with probabilities, or nothing."""
    classes = model.classes_
    if told.shape != (len(X), len(classes)) or not np.isfinite(told).all():
        return f"probabilities of shape {told.shape}, some not finite"
    if not ((told >= 0) & (told <= 1)).all():
        return f"probabilities from {told.min()!r} to {told.max()!r}"
    if not (np.abs(told.sum(axis=1) - 1) <= SUM).all():
        return f"sums differ from 1 by {np.abs(told.sum(axis=1) - 1).max():.3g}"
    labels = model.predict(X)
    if not np.array_equal(classes[told.argmax(axis=1)], labels):
        return "predict is not the most probable class"
    winners = (decisions > 0).astype(int) if decisions.ndim == 1 else decisions.argmax(axis=1)
    if not np.array_equal(classes[winners], labels):
        return "predict is not the winner of the vote"
    logs = model.predict_log_proba(X)
    if np.isnan(logs).any() or (logs > 0).any():
        return f"log-probabilities up to {logs.max()!r}"
    seen = told > 1e-300
    if not np.allclose(logs[seen], np.log(told[seen]), rtol=LOGARITHM, atol=LOGARITHM):
        return "log-probabilities are not the logarithms"
    if not (logs[~seen] < -600).all():
        return "log-probabilities of classes that have none"
    return ""


def wrong_file(model, X, told, path):
    """Return what is different in a model from a file, or nothing."""
    save_model(model, path)
    again = load_model(path, functions={"crooked": crooked})
    if not np.array_equal(again.predict_proba(X), told):
        return "other probabilities from the file"
    if not np.array_equal(again.predict_log_proba(X), model.predict_log_proba(X)):
        return "other log-probabilities from the file"
    if not np.array_equal(again.predict(X), model.predict(X)):
        return "other classes from the file"
    return ""


def wrong_export(model, X, told):
    """Return "exported", "checked" if ONNX cannot express the model, or what is wrong."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    exportable = all(type(f) in (Gaussian, Polynomial, ContinuousGaussian) for f in last.kernels_)
    try:
        graph = to_onnx(model)
    except ExportError as error:
        refused = not exportable and "save_model" in str(error)
        return "checked" if refused else f"not exported: {error}"
    if not exportable:
        return "exported, although ONNX cannot express it"
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    labels, _, probabilities = session.run(["label", "scores", "probabilities"], {"X": X})
    error = np.abs(probabilities - told).max()
    if not error <= RUNTIME:
        return f"onnxruntime differs by {error:.3g}"
    clear = np.diff(np.sort(told, axis=1)[:, -2:], axis=1)[:, 0] > RUNTIME
    if not np.array_equal(np.asarray(labels)[clear], model.predict(X)[clear]):
        return "other classes from onnxruntime"
    return "exported"


if __name__ == "__main__":
    sys.exit(main())
