"""Other classifiers under the same protocol, for comparison, with the parameters that are tuned.

    svc-gaussian             scikit-learn's SVC; width and C
    logistic-regression      C
    hist-gradient-boosting   learning rate and number of leaves
    rvm                      relevance vector machine (package fastrvm); width
    easymkl                  EasyMKL over the same kernels (package MKLpy); lambda
    vkr-all                  our vote over polynomials and Gaussians together; both penalties
    svm-ensemble             one SVC per kernel, combined in a second stage; weight of the l1 norm
    svm-ensemble-joint       the same in a single stage (see `ensembles`); C
    vkr-default              ``VotedKernelClassifier()`` with its defaults; nothing is tuned
    vkr-search               ``VotedKernelClassifierCV()`` with its defaults, which tunes itself by
                             cross-validation on the training rows

Features are standardised, and widths are in units of 1 / n_features. A method without support
vectors has a count of -1.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from ..estimators.classifier import VotedKernelClassifier
from ..estimators.classifier_cv import VotedKernelClassifierCV
from ..kernels import Gaussian, Polynomial
from ..kernels.base import KernelFamily
from .algorithms import PENALTIES, SVC_MAX_ITER, Algorithm, run_path
from .ensembles import COSTS, run_one_stage, run_two_stages
from .outcomes import Outcomes
from .protocol import Split
from .records import Setting

WIDTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
RVM_WIDTHS = (0.1, 0.3, 1.0)
RVM_MAX_ITER = 500
NO_SUPPORT = -1

Fit = tuple[Setting, Any]


def run_settings(
    split: Split, models: Iterable[Fit], count: Callable[[Any], int] = lambda _model: NO_SUPPORT
) -> Outcomes:
    """Fit and test each model; a model that raises counts as a failure."""
    out = Outcomes()
    for setting, model in models:
        started = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(split.X_train, split.y_train)
        except (ValueError, ArithmeticError, np.linalg.LinAlgError):
            out.fit_seconds += time.perf_counter() - started
            out.add_failure(split, setting)
            continue
        out.fit_seconds += time.perf_counter() - started
        started = time.perf_counter()
        try:
            predictions = model.predict(split.X_validation), model.predict(split.X_test)
        except ValueError:  # fastrvm raises if a model has no relevance vectors
            out.add_failure(split, setting)
            continue
        out.predict_seconds += time.perf_counter() - started
        status = "cap" if getattr(model, "fit_status_", 0) and isinstance(model, SVC) else "ok"
        out.add(split, setting, *predictions, count(model), status)
    return out


def run_svc(split: Split) -> Outcomes:
    """Run SVC with a Gaussian kernel."""
    models: list[Fit] = [
        (
            {"gamma": width, "C": C},
            SVC(C=C, gamma=width / split.X_train.shape[1], max_iter=SVC_MAX_ITER, cache_size=500),
        )
        for width, C in product(WIDTHS, COSTS)
    ]
    return run_settings(split, models, lambda model: len(model.support_))


def run_logistic_regression(split: Split) -> Outcomes:
    """Run logistic regression."""
    models: list[Fit] = [({"C": C}, LogisticRegression(C=C, max_iter=2000)) for C in COSTS]
    return run_settings(split, models)


def run_boosting(split: Split) -> Outcomes:
    """Run gradient-boosted trees."""
    models: list[Fit] = [
        (
            {"learning_rate": rate, "max_leaf_nodes": leaves},
            HistGradientBoostingClassifier(
                learning_rate=rate, max_leaf_nodes=leaves, random_state=0, early_stopping=False
            ),
        )
        for rate, leaves in product((0.03, 0.1, 0.3), (4, 8, 31))
    ]
    return run_settings(split, models)


def run_rvm(split: Split) -> Outcomes:
    """Run a relevance vector machine with a Gaussian kernel."""
    from fastrvm import RVC

    models: list[Fit] = [
        (
            {"gamma": width},
            RVC(gamma=width / split.X_train.shape[1], fit_intercept=True, max_iter=RVM_MAX_ITER),
        )
        for width in RVM_WIDTHS
    ]
    return run_settings(split, models, lambda model: len(model.relevance_))


def run_easymkl(split: Split) -> Outcomes:
    """Run EasyMKL over the Gaussian kernels."""
    from MKLpy.algorithms import EasyMKL
    from sklearn.metrics.pairwise import rbf_kernel

    scale = split.X_train.shape[1]

    def kernels(X: Any) -> list[Any]:
        return [rbf_kernel(X, split.X_train, gamma=width / scale) for width in WIDTHS]

    out = Outcomes()
    train, validation, test = map(kernels, (split.X_train, split.X_validation, split.X_test))
    for C, lam in product((0.1, 1.0, 10.0, 100.0), (0.0, 0.1, 0.5)):
        started = time.perf_counter()
        model = EasyMKL(lam=lam, learner=SVC(C=C, kernel="precomputed")).fit(train, split.y_train)
        out.fit_seconds += time.perf_counter() - started
        started = time.perf_counter()
        predictions = np.asarray(model.predict(validation)), np.asarray(model.predict(test))
        out.predict_seconds += time.perf_counter() - started
        out.add(split, {"lam": lam, "C": C}, *predictions, len(model.learner.support_))
    return out


def run_vote_of_all(split: Split) -> Outcomes:
    """Run our vote over polynomials and Gaussians together."""
    return run_path(split, kernels_of_both_kinds(split), complexity_penalties=PENALTIES)


def kernels_of_both_kinds(split: Split) -> list[KernelFamily]:
    """Return the polynomials and Gaussians over which our vote and the ensembles are taken."""
    scale = split.X_train.shape[1]
    return [
        Polynomial((1, 2, 3, 4, 5), gamma=1.0 / scale),
        Gaussian(WIDTHS, unit=1.0 / scale),
    ]


def run_untuned(split: Split, make: Callable[[], Any]) -> Outcomes:
    """Run one of our classifiers with its defaults."""
    return run_settings(split, [({}, make())], lambda model: len(model.support_))


def available_peers() -> dict[str, Algorithm]:
    """Return the peers whose packages are installed."""
    peers: dict[str, Algorithm] = {
        "svc-gaussian": run_svc,
        "logistic-regression": run_logistic_regression,
        "hist-gradient-boosting": run_boosting,
        "vkr-all": run_vote_of_all,
        "vkr-default": partial(run_untuned, make=VotedKernelClassifier),
        "vkr-search": partial(run_untuned, make=VotedKernelClassifierCV),
        "svm-ensemble": lambda split: run_two_stages(split, kernels_of_both_kinds(split)),
        "svm-ensemble-joint": lambda split: run_one_stage(split, kernels_of_both_kinds(split)),
    }
    if find_spec("fastrvm") is not None:
        peers["rvm"] = run_rvm
    if find_spec("MKLpy") is not None and find_spec("torch") is not None:
        peers["easymkl"] = run_easymkl
    return peers
