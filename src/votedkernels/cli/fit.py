"""``votedkernels fit``: fit a model to a table and save it."""

import logging
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.markup import escape
from rich.status import Status
from rich.table import Table as Printed
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from votedkernels import VotedKernelClassifier, VotedKernelClassifierCV, save_model
from votedkernels.cli.console import messages, output, printable, table_of_facts
from votedkernels.cli.kernel_options import HELP, families_of
from votedkernels.cli.places import check_output
from votedkernels.cli.tables import Piece, Table, check_names, missing, open_table
from votedkernels.datasets import DataFileError
from votedkernels.exceptions import FitLimitError

SCALERS = {
    "standard": StandardScaler,
    "range": lambda: MinMaxScaler((-1, 1)),
    "none": None,
}
Label = str | int | float
DEFAULTS = VotedKernelClassifier().get_params()
MANY = 20
"""Up to this many distinct values are treated as classes, even in a small table."""
MAX_LABEL = 1000
"""The longest label in characters: NumPy gives each row as much memory as the longest takes."""


@click.command()
@click.argument("data", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--target", required=True, metavar="COLUMN", help="Column of class labels.")
@click.option(
    "--model",
    "model_path",
    required=True,
    type=click.Path(path_type=Path),
    help="Model file to write; the usual extension is .safetensors.",
)
@click.option(
    "--scaling",
    type=click.Choice(list(SCALERS)),
    default="standard",
    show_default=True,
    help="How to scale the features; the scaling is saved with the model.",
)
@click.option(
    "--kernels",
    "specs",
    multiple=True,
    metavar="KIND",
    help=f"Kernels that may vote: {HELP}; repeatable.  [default: polynomial:1-3 and gaussian]",
)
@click.option(
    "--complexity-penalty",
    type=click.FloatRange(0),
    help=f"Penalty on the complexity of the kernels.  [default: {DEFAULTS['complexity_penalty']}]",
)
@click.option(
    "--l1-penalty",
    type=click.FloatRange(0),
    help=f"Penalty on every weight.  [default: {DEFAULTS['l1_penalty']}]",
)
@click.option("--cv", is_flag=True, help="Choose both penalties by five-fold cross-validation.")
@click.option(
    "--probabilities",
    is_flag=True,
    help="Fit probabilities too, in five more fits; with --cv, they cost nothing and are included.",
)
@click.option(
    "--drop", multiple=True, metavar="COLUMN", help="Column that is not a feature; repeatable."
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Random seed for the folds.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    help="Time limit for the whole fit, in seconds.",
)
@click.option(
    "--allow-empty",
    is_flag=True,
    help="Save the model even if no kernel got a weight and it always predicts the same class.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Number of threads, or of processes with --cv.",
)
@click.help_option(help="Show this message and exit.")
def fit(
    data: Path,
    target: str,
    model_path: Path,
    scaling: str,
    specs: Sequence[str],
    complexity_penalty: float | None,
    l1_penalty: float | None,
    cv: bool,
    probabilities: bool,
    drop: Sequence[str],
    seed: int,
    time_limit: float | None,
    allow_empty: bool,
    jobs: int,
) -> None:
    """Fit a model to a table and save it.

    DATA is a .csv or .parquet file, or - for CSV from standard input. It has one row per sample
    and named columns. Every column except --target and --drop is a feature and must be numeric.
    """
    if cv and (complexity_penalty is not None or l1_penalty is not None):
        raise click.UsageError("--cv chooses the penalties; drop the penalty options or drop --cv.")
    check_output(model_path)
    classifier = VotedKernelClassifierCV() if cv else VotedKernelClassifier()
    classifier.set_params(
        kernels=families_of(specs) if specs else None, time_limit=time_limit, n_jobs=jobs
    )
    if cv:
        classifier.set_params(cv=StratifiedKFold(5, shuffle=True, random_state=seed))
    else:
        classifier.set_params(probability=probabilities)
    if complexity_penalty is not None:
        classifier.set_params(complexity_penalty=complexity_penalty)
    if l1_penalty is not None:
        classifier.set_params(l1_penalty=l1_penalty)
    make_scaler = SCALERS[scaling]
    model = classifier if make_scaler is None else make_pipeline(make_scaler(), classifier)
    with messages().status("reading the table") as status:
        names, X, y = read_training(data, target, drop, folds=5 if cv else 1)
        started = time.perf_counter()
        with showing_rounds(status), telling_warnings():
            try:
                model.fit(X, y)
            except (ValueError, FitLimitError) as error:
                raise click.ClickException(f"{data}: {error}") from error
        seconds = time.perf_counter() - started
    first = model if model is classifier else model[0]
    first.feature_names_in_ = np.array(names, dtype=object)
    if not allow_empty and classifier.term_weights_.shape[1] == 0:
        raise click.ClickException(
            f"{data}: no kernel got a weight, so the model would predict the same class for every "
            "row; it was not saved. Use smaller penalties or --cv, or save it with --allow-empty."
        )
    save_model(model, model_path)
    output().print(describe_fit(model, classifier, X, y, seconds))
    messages().print(f"Saved the model to {printable(model_path)}.", soft_wrap=True)


def read_training(
    path: Path, target: str, drop: Sequence[str], *, folds: int
) -> tuple[list[str], Any, Any]:
    """Return the names of the features, the features and the labels."""
    with open_table(path) as table:
        check_names(table, [target, *drop])
        names = [name for name in table.columns if name != target and name not in drop]
        if not names:
            raise DataFileError(f"{table.name}: there is no column left to learn from.")
        pieces = list(table.pieces(names, [target]))
    y = np.array(as_integers(read_labels(table, pieces, target)))
    check_classes(table, target, y, folds)
    return names, np.concatenate([piece.numbers for piece in pieces]), y


def read_labels(table: Table, pieces: Sequence[Piece], target: str) -> list[Label]:
    """Return the labels; raise if one is missing, too long, or neither text nor a number."""
    labels = []
    for piece in pieces:
        for place, label in zip(piece.places, _listed(piece.others[0]), strict=True):
            if label is None or str(label).strip() in ("", "nan"):
                raise DataFileError(f"{table.name}, {table.unit} {place}: {missing(target)}")
            if isinstance(label, str) and len(label) > MAX_LABEL:
                raise DataFileError(
                    f"{table.name}, {table.unit} {place}: the class label has {len(label)} "
                    f"characters; at most {MAX_LABEL} are allowed."
                )
            labels.append(label)
    if not all(isinstance(label, str | int | float) for label in labels):
        raise DataFileError(
            f"{table.name}: column {target} holds neither text nor numbers; use another --target."
        )
    return labels


def check_classes(table: Table, target: str, y: Any, folds: int) -> None:
    """Raise if the labels cannot be classes, or if a class has too few rows for the folds."""
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) > max(MANY, len(y) // 2):
        raise DataFileError(
            f"{table.name}: column {target} has {len(classes)} distinct values in {len(y)} rows, "
            "too many for class labels; use another column as --target."
        )
    if len(classes) < 2:
        raise DataFileError(
            f"{table.name}: all {len(y)} rows belong to class {classes[0]}; at least two classes "
            "are needed."
        )
    if counts.min() < folds:
        raise DataFileError(
            f"{table.name}: class {classes[counts.argmin()]} has {counts.min()} rows, but --cv "
            f"needs {folds} of each class."
        )


def _listed(values: Any) -> list[Any]:
    return values.to_pylist() if hasattr(values, "to_pylist") else list(values)


def as_integers(labels: list[Label]) -> list[Label]:
    """Return labels as integers if all are written as integers; other text is only stripped."""
    texts = [label.strip() for label in labels if isinstance(label, str)]
    if len(texts) < len(labels):
        return labels
    try:
        numbers = {text: int(text) for text in set(texts)}
    except ValueError:
        return [*texts]
    if any(str(n) != text or abs(n) >= 2**63 for text, n in numbers.items()):
        return [*texts]
    return [numbers[text] for text in texts]


@contextmanager
def showing_rounds(status: Status) -> Iterator[None]:
    """Show the rounds of the solver, which the estimators write to the log."""

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            progress = getattr(record, "progress", None)
            if progress is None:
                return
            text = record.getMessage()
            if progress.n_iter is not None:
                proved = f"proved within {progress.relative_gap:.2g}"
                text = f"{progress.task}, round {progress.n_iter}, {proved}"
            status.update(escape(printable(f"fitting: {text}")))

    logger, handler = logging.getLogger("votedkernels"), Handler()
    level, propagate = logger.level, logger.propagate
    status.update("fitting")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagate


@contextmanager
def telling_warnings() -> Iterator[None]:
    """Print each warning once, on one line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for text in dict.fromkeys(str(warning.message) for warning in caught):
        messages().print("note:", printable(text), soft_wrap=True)


def describe_fit(model: Any, classifier: Any, X: Any, y: Any, seconds: float) -> Printed:
    """Return a table of what was fitted."""
    gap = classifier.dual_gap_ / classifier.objective_ if classifier.objective_ else 0.0
    facts = {
        "rows": len(X),
        "features": X.shape[1],
        "classes": ", ".join(map(str, classifier.classes_)),
        "kernels that vote": int((classifier.kernel_mass_ > 0).sum()),
        "support vectors": len(classifier.support_),
        "terms": classifier.term_weights_.shape[1],
        "objective": f"{classifier.objective_:.6g}",
        "proved gap": f"{gap:.2g} of the objective ({classifier.stop_reason_})",
        "training error": f"{float(np.mean(_predict(model, X) != y)):.4f}",
        "seconds": f"{seconds:.1f}",
    }
    if isinstance(classifier, VotedKernelClassifierCV):
        facts["chosen complexity penalty"] = f"{classifier.complexity_penalty_:g}"
        facts["chosen l1 penalty"] = f"{classifier.l1_penalty_:g}"
        if "kernel" in classifier.best_params_:
            facts["chosen kernel"] = classifier.best_params_["kernel"]
        facts["accuracy in cross-validation"] = f"{classifier.best_score_:.4f}"
    return table_of_facts(facts)


def _predict(model: Any, X: Any) -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return model.predict(X)
