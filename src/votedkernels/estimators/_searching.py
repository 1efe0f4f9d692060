"""What both searches by cross-validation share: alternatives, metadata, and the default search."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.validation import check_is_fitted

from ..kernels.base import IntArray, count_rows
from ..kernels.families import is_for_tables
from ..preparation.tables import mixed_kernels
from ..preparation.validation import check_parameters, check_penalties, check_verbose
from ._ongoing_fit import FitAttempt, FitProgress, fitted_attributes
from ._path_search import MOST_LEVELS, MOST_THINNED_OF_FEW
from ._path_strategy import PathStrategy
from ._search_data import Alternative, SearchData
from .path import refuse_continuum

if TYPE_CHECKING:
    from .._system.progress_display import ProgressDisplay

#: Parameters that searches pass on to single fits unchanged.
SHARED_PARAMETERS = (
    "centers",
    "fit_intercept",
    "tol",
    "max_iter",
    "time_limit",
    "memory_limit",
    "random_state",
)


class SearchMixin:
    """A search over kernels, complexities and settings."""

    #: The class for single fits, the scorer to report, and the parameters to pass on.
    _single: ClassVar[Any]
    _score_name: ClassVar[str]
    _shared_parameters: ClassVar[tuple[str, ...]]
    kernels: Any
    complexity: Any
    l2_penalties: Any
    cv: Any
    scoring: Any
    prefer: str
    committee: int
    refit: bool
    verbose: int
    cv_results_: dict[str, Any]

    def _check_choice(self) -> None:
        """Raise if the parameters that choose the model are not valid."""
        if self.prefer not in ("best", "sparse"):
            raise ValueError(f"prefer must be 'best' or 'sparse', got {self.prefer!r}.")
        if not isinstance(self.committee, Integral) or self.committee < 1:
            raise ValueError(f"committee must be an integer >= 1, got {self.committee!r}.")
        check_verbose(self.verbose)

    def _gather(
        self, X: Any, classes: Any, codes: IntArray, sample_weight: Any, routed: Bunch, default: Any
    ) -> SearchData:
        """Return the data of the search, with its folds; ``default`` splits if cv is None."""
        numeric = not is_classifier(self)
        labels = classes[codes] if numeric else codes
        cv = default if self.cv is None and default is not None else None
        cv = cv or check_cv(self.cv, labels, classifier=not numeric)
        splits = list(cv.split(np.zeros((count_rows(X), 1)), labels, **routed.splitter.split))
        self.n_splits_ = len(splits)
        scorer = None
        if self.scoring is not None:
            scorer = check_scoring(self._single(), scoring=self.scoring)
        score_params = routed.scorer.score
        return SearchData(X, classes, codes, sample_weight, splits, scorer, score_params, numeric)

    def _note_choice(self, index: int) -> None:
        self.best_index_ = index
        self.best_params_ = self.cv_results_["params"][index]
        self.best_score_ = float(self.cv_results_["mean_test_score"][index])
        self.complexity_penalty_ = self.best_params_["complexity_penalty"]

    def _fit_by_path(
        self, strategy: PathStrategy, attempt: FitAttempt, display: ProgressDisplay | None
    ) -> None:
        """Search down a path, and fit the committee of the best settings."""
        data = strategy.data
        n_levels = len(strategy.alternatives) * (2 * MOST_LEVELS + MOST_THINNED_OF_FEW)
        progress = FitProgress(self, data.X, data.labels, n_levels + 1, display=display)
        strategy.run(progress)
        self.n_kernels_tried_ = strategy.n_kernels_tried()
        if not strategy.found:
            model = strategy.fit_plain()
            attempt.publish(fitted_attributes(model))
            self.complexity_penalty_, self.l1_penalty_ = (
                model.complexity_penalty_,
                model.l1_penalty_,
            )
            self.best_score_, self.best_params_, self.cv_results_ = math.nan, {}, {}
            self.best_index_, self._chosen = 0, model
        else:
            strategy.warn_of_limits()
            self.cv_results_ = strategy.results()
            found, committee, index = strategy.choose()
            self._note_choice(index)
            self.complexity_penalty_ = found.penalty_of(committee)
            self.l1_penalty_ = 0.0
            self._chosen = found.estimator
            if self.refit:
                if display is not None:
                    display.detail("fitting the chosen votes on all rows")
                attempt.publish(strategy.refit(found, committee))
        progress.end()

    def _checked_alternatives(self, X: Any) -> list[Alternative]:
        alternatives = list(self._alternatives())
        for _, estimator in alternatives:
            check_parameters(estimator)
            refuse_continuum(estimator.kernels, type(self).__name__)
        return [choice for given in alternatives for choice in for_tables(*given, X)]

    def _alternatives(self) -> Iterator[Alternative]:
        """Yield (names, unfitted estimator) for every choice of kernels and complexity."""
        searched = {
            name: value
            for name, value in (("kernels", self.kernels), ("complexity", self.complexity))
            if isinstance(value, dict)
        }
        for name, value in searched.items():
            if not value:
                raise ValueError(f"{name} is an empty dict; pass at least one alternative.")
        shared = {name: getattr(self, name) for name in self._shared_parameters}
        if getattr(self, "l2_penalties", None) is not None:
            squares = check_penalties(self.l2_penalties, "l2_penalties", ())
            searched["l2_penalty"] = {value: value for value in map(float, squares)}
        for choice in product(*searched.values()):
            named = dict(zip(searched, choice, strict=True))
            values = {name: searched[name][key] for name, key in named.items()}
            yield (
                named,
                self._single(
                    clone(values.pop("kernels", self.kernels), safe=False),
                    complexity=values.pop("complexity", self.complexity),
                    **values,
                    **shared,
                ),
            )

    def _route(self, sample_weight: Any, params: dict[str, Any]) -> Bunch:
        """Return the arguments for the splitter and for the scorer."""
        if _routing_enabled():
            weight = {} if sample_weight is None else {"sample_weight": sample_weight}
            routed: Bunch = process_routing(self, "fit", **weight, **params)
            return routed
        unknown = set(params) - {"groups"}
        if unknown:
            raise TypeError(
                f"fit got unexpected arguments {sorted(unknown)}; enable metadata routing to "
                "pass metadata to the splitter or the scorer."
            )
        return Bunch(
            splitter=Bunch(split={"groups": params.get("groups")}),
            scorer=Bunch(score={} if sample_weight is None else {"sample_weight": sample_weight}),
        )

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata routing of this object.

        Returns
        -------
        MetadataRouter
        """
        scoring = self.scoring
        if scoring is None or (isinstance(scoring, str) and scoring in get_scorer_names()):
            scoring = check_scoring(self._single(), scoring=scoring or self._score_name)
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                splitter=check_cv(self.cv, classifier=is_classifier(self)),
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
            .add(
                scorer=scoring,
                method_mapping=MethodMapping()
                .add(caller="fit", callee="score")
                .add(caller="score", callee="score"),
            )
        )

    def _chosen_single(self) -> Any:
        """Return an unfitted estimator with the parameters that the search chose."""
        check_is_fitted(self, "complexity_penalty_")
        return clone(self._chosen).set_params(
            complexity_penalty=self.complexity_penalty_, l1_penalty=self.l1_penalty_
        )


def for_tables(named: dict[str, Any], estimator: Any, X: Any) -> Iterator[Alternative]:
    """Yield an alternative or, for ``kernels="table"``, two: without rules, and with them.

    Where no rule is right, rules still attract weight on the path, so the search must be able to do
    without them.
    """
    if not is_for_tables(estimator.kernels):
        yield named, estimator
        return
    families = mixed_kernels(X)
    plain = [family for family in families if not family.is_coded]
    for name, kernels in {"without rules": plain, "with rules": families}.items():
        named_so = f"{named['kernels']}, {name}" if "kernels" in named else name
        choice = clone(estimator)
        choice.kernels = kernels
        yield named | {"kernels": named_so}, choice
