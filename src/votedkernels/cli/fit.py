"""``votedkernels fit``: fit a model to a table and save it."""

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from votedkernels import (
    VotedKernelClassifier,
    VotedKernelClassifierCV,
    VotedKernelRegressor,
    VotedKernelRegressorCV,
    model_report,
    save_model,
)
from votedkernels.cli.column_kinds import Overruled
from votedkernels.cli.console import messages, output, printable, table_of_facts, table_of_kernels
from votedkernels.cli.kernel_options import HELP, families_of
from votedkernels.cli.models import classifier_of, predicts_numbers, rows_without_names
from votedkernels.cli.places import check_model_path, check_output
from votedkernels.cli.training_table import read_training
from votedkernels.exceptions import FitLimitError
from votedkernels.report.held_out import predict_held_out

SCALERS = {
    "standard": StandardScaler,
    "range": lambda: MinMaxScaler((-1, 1)),
    "none": None,
}
FOLDS = 5


@click.command()
@click.argument("data", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--target", required=True, metavar="COLUMN", help="Column of class labels, or of numbers."
)
@click.option(
    "--task",
    type=click.Choice(["classification", "regression"]),
    default="classification",
    show_default=True,
    help="Predict classes or numbers.",
)
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
    help=f"Kernels that may vote: {HELP}; repeatable.  [default: gaussian; with penalties or "
    "--no-cv, also polynomial:1-3]",
)
@click.option(
    "--complexity-penalty",
    type=click.FloatRange(0),
    help="Penalty on the complexity of the kernels, instead of a search.",
)
@click.option(
    "--l1-penalty",
    type=click.FloatRange(0),
    help="Penalty on every weight, instead of a search.",
)
@click.option(
    "--cv/--no-cv",
    default=None,
    help="Search for the best model by five-fold cross-validation, or use default penalties.  "
    "[default: search, unless a penalty is set]",
)
@click.option(
    "--probabilities",
    is_flag=True,
    help="Fit probabilities too, in five more fits; a search includes them at no cost.",
)
@click.option(
    "--report",
    "report_path",
    type=click.Path(path_type=Path),
    help="Page to write about the model and the data (.html); it takes five more fits.",
)
@click.option(
    "--no-held-out",
    is_flag=True,
    help="Without a search, skip the five fits that measure the error on held-out rows.",
)
@click.option(
    "--drop", multiple=True, metavar="COLUMN", help="Column that is not a feature; repeatable."
)
@click.option(
    "--categorical",
    multiple=True,
    metavar="COLUMN",
    help="Column whose values are categories, even if they are numbers; repeatable.",
)
@click.option(
    "--numeric",
    "number_columns",
    multiple=True,
    metavar="COLUMN",
    help="Column whose values are numbers; repeatable.",
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
    help="Save the model even if no kernel has a weight, so that it predicts only one class.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Number of threads.",
)
@click.help_option("-h", "--help", help="Show this message and exit.")
def fit(
    data: Path,
    target: str,
    task: str,
    model_path: Path,
    scaling: str,
    specs: Sequence[str],
    complexity_penalty: float | None,
    l1_penalty: float | None,
    cv: bool | None,
    probabilities: bool,
    report_path: Path | None,
    no_held_out: bool,
    drop: Sequence[str],
    categorical: Sequence[str],
    number_columns: Sequence[str],
    seed: int,
    time_limit: float | None,
    allow_empty: bool,
    jobs: int,
) -> None:
    """Fit a model to a table and save it.

    DATA is a .csv or .parquet file, or - for CSV from standard input. It has one row per sample
    and named columns. Every column except --target and --drop is a feature: numbers, or categories
    if it holds text. Values may be missing. Numbers are scaled to mean 0 and variance 1, and the
    model is chosen by cross-validation.
    """
    search = is_search(cv, given=complexity_penalty is not None or l1_penalty is not None)
    numeric = task == "regression"
    if numeric:
        refuse_options_of_classes(probabilities, report_path)
    check_model_path(model_path)
    if report_path is not None:
        check_output(report_path)
    settings: dict[str, Any] = {
        "kernels": families_of(specs) if specs else None,
        "complexity_penalty": complexity_penalty,
        "l1_penalty": l1_penalty,
        "probability": probabilities or None,
        "time_limit": time_limit,
        "n_jobs": jobs,
    }
    with saying_what_is_kept(model_path):
        with messages().status("reading the table"):
            kinds = Overruled(categorical, number_columns)
            folds = FOLDS if search else 1
            names, X, y = read_training(data, target, drop, kinds, folds=folds, numeric=numeric)
        settings, scaling = with_table(X, data, settings, scaling)
        model = (make_regressor if numeric else make_classifier)(search, seed, settings)
        model = behind_scaler(model, scaling)
        fitted = fit_model(model, data, names, X, y)
        if not allow_empty:
            refuse_empty(classifier_of(model), data)
        save_model(model, model_path)
    messages().print(f"Saved the model to {printable(model_path)}.", soft_wrap=True)
    with saying_what_is_kept(report_path, saved=model_path):
        held_out = None
        if report_path is not None:
            held_out = write_report(fitted, report_path, f"{data.name}: {target}")
        elif not (search or no_held_out or time_limit):
            held_out = error_of_numbers(fitted) if numeric else error_on_held_out(fitted)
    show_fit(fitted, held_out)


def is_search(cv: bool | None, *, given: bool) -> bool:
    """Whether to search; ``given`` says whether there are penalties."""
    if cv and given:
        raise click.UsageError("--cv chooses the penalties; drop the penalty options or drop --cv.")
    return not given if cv is None else cv


def refuse_options_of_classes(probabilities: bool, report_path: Path | None) -> None:
    """Raise for options that --task regression does not support."""
    if probabilities or report_path is not None:
        option = "--probabilities" if probabilities else "--report"
        raise click.UsageError(f"{option} is for classes; drop it, or drop --task regression.")


def refuse_empty(model: Any, data: Path) -> None:
    """Raise if no kernel has a weight."""
    if model.term_weights_.shape[1] == 0:
        what = "number" if predicts_numbers(model) else "class"
        raise click.ClickException(
            f"{data}: no kernel got a weight, so the model would predict the same {what} for every "
            "row; it was not saved. Use smaller penalties or --cv, or save it with --allow-empty."
        )


def with_table(
    X: Any, data: Path, settings: dict[str, Any], scaling: str
) -> tuple[dict[str, Any], str]:
    """Return settings and scaling for X; raise if options do not suit categories or gaps."""
    if not hasattr(X, "columns"):
        return settings, scaling
    for option, given in (
        ("--kernels", settings["kernels"] is not None),
        ("--scaling", scaling != "standard"),
    ):
        if given:
            raise click.ClickException(
                f"{data}: {option} is for tables of numbers without gaps, but this one has "
                "categories or gaps, for which kernels and scaling are built in; leave the option "
                "out, or the columns (--drop)."
            )
    return settings | {"kernels": "table"}, "none"


def behind_scaler(model: Any, scaling: str) -> Any:
    """Return an unfitted model, behind a scaler if there is one."""
    make_scaler = SCALERS[scaling]
    return model if make_scaler is None else make_pipeline(make_scaler(), model)


def make_classifier(search: bool, seed: int, settings: Mapping[str, Any]) -> Any:
    """Return an unfitted classifier; settings that are None keep their defaults."""
    given = {name: value for name, value in settings.items() if value is not None}
    verbose = int(messages().is_terminal)
    if not search:
        return VotedKernelClassifier(**given, verbose=verbose)
    given.pop("probability", None)  # a search always fits probabilities
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    return VotedKernelClassifierCV(**given, cv=folds, verbose=verbose)


def make_regressor(search: bool, seed: int, settings: Mapping[str, Any]) -> Any:
    """Return an unfitted regressor; settings that are None keep their defaults."""
    given = {name: value for name, value in settings.items() if value is not None}
    verbose = int(messages().is_terminal)
    if not search:
        return VotedKernelRegressor(**given, verbose=verbose)
    folds = KFold(FOLDS, shuffle=True, random_state=seed)
    return VotedKernelRegressorCV(**given, cv=folds, verbose=verbose)


@dataclass(frozen=True)
class Fitted:
    """A fitted model, its training rows, and the time that the fit took."""

    model: Any
    X: Any
    y: Any
    seconds: float


def fit_model(model: Any, data: Path, names: Sequence[str], X: Any, y: Any) -> Fitted:
    """Fit a model, and note the names of its features."""
    classifier, started = classifier_of(model), time.perf_counter()
    with telling_warnings():
        try:
            model.fit(X, y)
        except (ValueError, FitLimitError) as error:
            raise click.ClickException(f"{data}: {error}") from error
    seconds = time.perf_counter() - started
    classifier.set_params(verbose=0)
    first = model if model is classifier else model[0]
    first.feature_names_in_ = np.array(names, dtype=object)
    return Fitted(model, X, y, seconds)


@contextmanager
def saying_what_is_kept(path: Path | None, saved: Path | None = None) -> Iterator[None]:
    """After Ctrl-C, report what was kept."""
    try:
        yield
    except KeyboardInterrupt:
        if saved is not None:
            rest = "" if path is None else f", and {path} was not written"
            raise click.Abort(f"the model is in {saved}{rest}.") from None
        state = "is unchanged" if path is not None and path.exists() else "was not written"
        raise click.Abort(
            f"{path} {state}. With --time-limit, the best model so far is saved."
        ) from None


def write_report(fitted: Fitted, path: Path, title: str) -> float | None:
    """Write the page about a model; return its error on held-out rows."""
    verbose = int(messages().is_terminal)
    with rows_without_names():
        report = model_report(
            fitted.model, fitted.X, fitted.y, title=title, n_folds=FOLDS, verbose=verbose
        )
    report.save(path)
    messages().print(f"Wrote the report to {printable(path)}.", soft_wrap=True)
    return report.held_out_error


def error_on_held_out(fitted: Fitted) -> float | None:
    """Return the error on held-out rows; None if a class has a single row."""
    with messages().status("measuring the error on held-out rows"):
        held_out = predict_held_out(fitted.model, fitted.X, fitted.y, FOLDS)
    return None if held_out is None else held_out.error


def error_of_numbers(fitted: Fitted) -> float | None:
    """Return the mean absolute error on held-out rows; None if there are too few rows."""
    if len(fitted.y) < 2 * FOLDS:
        return None
    folds = KFold(FOLDS, shuffle=True, random_state=0)
    with messages().status("measuring the error on held-out rows"), rows_without_names():
        found = cross_val_predict(clone(fitted.model), fitted.X, fitted.y, cv=folds)
    return float(np.abs(found - fitted.y).mean())


@contextmanager
def telling_warnings() -> Iterator[None]:
    """Print each warning once, on one line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for text in dict.fromkeys(str(warning.message) for warning in caught):
        messages().print("note:", printable(text), soft_wrap=True)


def show_fit(fitted: Fitted, held_out: float | None) -> None:
    """Print what a model has learned."""
    summary = describe_fit(fitted, held_out)
    output().print(table_of_facts(summary.facts))
    if summary.kernels:
        output().print(table_of_kernels(summary.kernels))


def describe_fit(fitted: Fitted, held_out: float | None) -> Any:
    """Return the summary of a model, with facts that only this fit knows."""
    with rows_without_names():
        predicted = fitted.model.predict(fitted.X)
    classifier = classifier_of(fitted.model)
    summary = classifier.summary()
    if predicts_numbers(fitted.model):
        best, errors = 0.0, {"training error": f"{np.abs(predicted - fitted.y).mean():.6g}"}
        digits, unit = ".6g", " (mean absolute error)"
    else:
        best, errors = 1.0, {"training error": f"{np.mean(predicted != fitted.y):.4f}"}
        digits, unit = ".4f", ""
    if hasattr(classifier, "best_score_"):
        errors["cross-validated error"] = f"{best - classifier.best_score_:{digits}}{unit}"
    if held_out is not None:
        errors["error on held-out rows"] = f"{held_out:{digits}}{unit}"
    facts = {"rows": str(len(fitted.X))} | summary.facts | errors
    return replace(summary, facts=facts | {"seconds": f"{fitted.seconds:.1f}"})
