import warnings

import pytest
from sklearn.utils.estimator_checks import check_estimator

from votedkernels import (
    Gaussian,
    Polynomial,
    Precomputed,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
    VotedKernelRegressor,
    VotedKernelRegressorCV,
)
from votedkernels.solvers import CONVERGENT_SOLVERS

#: Few kernels and large penalties, for entries that are about something else. The first entry of
#: each kind has the defaults.
FEW = Polynomial((1, 2))
QUICK = {"kernels": FEW, "complexity_penalty": 0.3, "l1_penalty": 1e-2}
ESTIMATORS = {
    "default": VotedKernelClassifier(),
    "gaussian": VotedKernelClassifier(Gaussian()),
    "precomputed": VotedKernelClassifier(Precomputed()),
    "table": VotedKernelClassifier("table", tol=1e-3),
    "intercept": VotedKernelClassifier(fit_intercept=True, **QUICK),
    "hybrid": VotedKernelClassifier(solver="coordinate-descent", l2_penalty=1e-2, **QUICK),
    "relaxed": VotedKernelClassifier(relaxation="auto", **QUICK),
    "probability": VotedKernelClassifier(probability=True, **QUICK),
    "default search": VotedKernelClassifierCV(Gaussian(1.0), cv=2),
    "search": VotedKernelClassifierCV(
        Polynomial((1, 2)), complexity_penalties=(0.1, 1e-2), l1_penalties=(0.1,), cv=2
    ),
    "search precomputed": VotedKernelClassifierCV(
        Precomputed(), complexity_penalties=(0.1,), l1_penalties=(1.0, 1e-2), cv=2
    ),
    "regression": VotedKernelRegressor(),
    "regression precomputed": VotedKernelRegressor(Precomputed(), l1_penalty=1e-3),
    "absolute": VotedKernelRegressor(FEW, loss="absolute", relaxation="auto"),
    "quantile": VotedKernelRegressor(FEW, loss="quantile", quantile=0.3),
    "several quantiles": VotedKernelRegressor(
        Gaussian(1.0), loss="quantile", quantiles=(0.2, 0.5, 0.8), tol=1e-2
    ),
    "regression search": VotedKernelRegressorCV(Gaussian(1.0), cv=2),
} | {
    solver: VotedKernelClassifier(solver=solver, **QUICK)
    for solver in CONVERGENT_SOLVERS
    if solver != VotedKernelClassifier().solver
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_check_of_scikit_learn_passes(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(ESTIMATORS[name], on_skip=None, on_fail=None)
    # A skipped check is a failed one: the packages it needs are among the test packages.
    others = {
        result["check_name"]: (result["status"], str(result["exception"]))
        for result in results
        if result["status"] != "passed"
    }
    assert not others
    assert len(results) >= 40
