"""The paper's protocol: folds and scaling; held-out rows have no influence on models."""

import numpy as np
import pytest
from sklearn.svm import SVC

from votedkernels import Local, Polynomial, VotedKernelClassifier
from votedkernels.complexity import measure_complexities
from votedkernels.complexity.local import measure_at_radii
from votedkernels.datasets import load_ionosphere, make_waveform
from votedkernels.exceptions import DataNotFoundError
from votedkernels.experiments import algorithms, peers
from votedkernels.experiments.algorithms import (
    COSTS,
    DEGREES,
    PENALTIES,
    RADII,
    fit_svc,
    make_kernels,
    run_extended_vote,
    run_l1_svm,
    run_l2_svm,
    run_path,
    run_vote,
)
from votedkernels.experiments.protocol import N_FOLDS, SCALINGS, Split, Unit, partition, split
from votedkernels.experiments.runner import load_data
from votedkernels.kernels import LocalColumns


@pytest.fixture(scope="module")
def small():
    """Return sixty rows, split by the protocol."""
    X, y = make_waveform(60, random_state=0)
    return split(X / 5, y, seed=0, run=0, scaling="none")


@pytest.mark.parametrize("n_rows", [10, 53, 351])
def test_folds_are_a_partition_of_equal_parts(n_rows):
    folds = partition(n_rows, seed=3)
    assert len(folds) == N_FOLDS
    np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.arange(n_rows))
    sizes = [len(fold) for fold in folds]
    assert max(sizes) - min(sizes) <= 1


def test_partitions_are_told_by_their_seed():
    first, again, other = partition(50, 0), partition(50, 0), partition(50, 1)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


def test_every_fold_tests_once_validates_once_and_trains_three_times():
    X, y = np.arange(50.0)[:, None], np.tile([-1, 1], 25)
    folds = partition(50, 7)
    for run in range(N_FOLDS):
        rows = split(X, y, seed=7, run=run, scaling="none")
        np.testing.assert_array_equal(rows.X_test[:, 0], folds[run])
        np.testing.assert_array_equal(rows.X_validation[:, 0], folds[(run + 1) % N_FOLDS])
        used = np.concatenate([rows.X_train, rows.X_validation, rows.X_test])[:, 0]
        np.testing.assert_array_equal(np.sort(used), np.arange(50))
        np.testing.assert_array_equal(rows.y_train, y[rows.X_train[:, 0].astype(int)])


@pytest.mark.parametrize("scaling", SCALINGS)
def test_scaling_knows_the_training_rows_only(scaling):
    X, y = load_ionosphere(return_X_y=True)
    rows = split(X, y, seed=0, run=2, scaling=scaling)
    folds = partition(len(y), 0)
    held_out = np.concatenate([folds[2], folds[3]])
    changed = X.copy()
    changed[held_out] = 1000 * np.random.default_rng(0).normal(size=changed[held_out].shape)
    other = split(changed, y, seed=0, run=2, scaling=scaling)
    np.testing.assert_array_equal(rows.X_train, other.X_train)
    assert not np.array_equal(rows.X_test, other.X_test)
    if scaling == "range":
        assert rows.X_train.min() == -1.0
        assert rows.X_train.max() == 1.0
    if scaling == "standard":
        varying = rows.X_train.std(axis=0) > 0
        np.testing.assert_allclose(rows.X_train.mean(axis=0)[varying], 0, atol=1e-12)
        np.testing.assert_allclose(rows.X_train.std(axis=0)[varying], 1)


def test_an_unknown_scaling_is_an_error():
    with pytest.raises(ValueError, match="scaling must be one of none, standard, range"):
        split(np.ones((10, 1)), np.ones(10), seed=0, run=0, scaling="log")


@pytest.mark.parametrize(
    "algorithm",
    [
        run_l2_svm,
        run_l1_svm,
        lambda s, f: run_vote(s, f, "trace"),
        run_extended_vote,
        lambda s, _: peers.available_peers()["vkr-default"](s),
        lambda s, _: peers.available_peers()["vkr-search"](s),
        lambda s, _: peers.available_peers()["svm-ensemble"](s),
    ],
    ids=["l2-svm", "l1-svm", "vkr", "extended", "default", "search", "ensemble"],
)
def test_held_out_rows_do_not_touch_the_models(algorithm, small):
    """Permuting validation and test rows, or changing their labels, does not change the models."""
    random = np.random.default_rng(0)
    a, b = (random.permutation(len(y)) for y in (small.y_validation, small.y_test))
    permuted = Split(
        small.X_train, small.y_train,
        small.X_validation[a], small.y_validation[a], small.X_test[b], small.y_test[b],
    )  # fmt: skip
    flipped = Split(
        small.X_train, small.y_train,
        small.X_validation, -small.y_validation, small.X_test, -small.y_test,
    )  # fmt: skip
    plain, other, turned = (algorithm(s, "polynomial") for s in (small, permuted, flipped))
    assert plain.n_support == other.n_support == turned.n_support
    assert plain.validation_errors == other.validation_errors
    assert plain.test_errors == other.test_errors
    assert [len(b) - errors for errors in turned.test_errors] == plain.test_errors


def test_a_path_is_what_single_fits_are(small):
    out = run_path(
        small, Polynomial((1, 2), gamma=1.0), complexity_penalties=(1e-2,), complexity="trace"
    )
    for setting, errors, n_support in zip(
        out.settings, out.test_errors, out.n_support, strict=True
    ):
        model = VotedKernelClassifier(Polynomial((1, 2), gamma=1.0), complexity="trace", **setting)
        if setting["l1_penalty"] < 1e-3:
            continue  # several optima, or few decisive rows
        model.fit(small.X_train, small.y_train)
        assert np.sum(model.predict(small.X_test) != small.y_test) == errors
        assert len(model.support_) == n_support
    assert out.gap < algorithms.TOL


@pytest.mark.parametrize("family", ["polynomial", "gaussian", "both"])
def test_the_extended_vote_is_one_path_per_radius(family, small, monkeypatch):
    monkeypatch.setattr(algorithms, "PENALTIES", (0.1, 0.01))
    out = run_extended_vote(small, family)
    kernels = make_kernels(family)
    parts = [
        run_path(small, kernels, complexity_penalties=(0.1, 0.01), complexity=Local(radius))
        for radius in RADII
    ]
    assert [setting["radius"] for setting in out.settings] == [r for r in RADII for _ in range(4)]
    assert out.test_errors == [errors for part in parts for errors in part.test_errors]
    assert out.n_support == [n for part in parts for n in part.n_support]
    assert [len(mass) for mass in out.mass] == [
        17 if family == "both" else 10 - 3 * (family == "gaussian")
    ] * 20
    assert out.gap < algorithms.TOL


def test_radii_reach_from_trace_to_dimension(small):
    """At radius 1 nothing is cut off. Below all eigenvalues, only their number counts."""
    m = len(small.y_train)
    kernels = [Polynomial((1, 2), gamma=1.0, coef0=1.0)]
    columns = LocalColumns(
        [kernels[0].fit(small.X_train, np.ones(m))], small.X_train, small.X_train
    )
    weights = np.ones(m)
    trace = measure_complexities("trace", columns, weights)
    values = measure_at_radii(columns, weights, (1.0, 1e-12))
    np.testing.assert_allclose(values[0], np.sqrt(2) * trace)
    kappa_squared = columns.diagonal_range(0, weights)[1]
    ranks = [np.linalg.matrix_rank((small.X_train @ small.X_train.T + 1) ** k) for k in (1, 2)]
    np.testing.assert_allclose(
        values[1], kappa_squared * np.sqrt(2e-12 / m) * np.sqrt(ranks), rtol=1e-3
    )


def test_every_setting_of_the_paper_is_there(small):
    out = run_l2_svm(small, "polynomial")
    assert [(s["degree"], s["C"]) for s in out.settings] == [(k, C) for k in DEGREES for C in COSTS]
    out = run_l1_svm(small, "polynomial")
    assert sorted((s["degree"], s["l1_penalty"]) for s in out.settings) == sorted(
        (k, beta) for k in DEGREES for beta in PENALTIES
    )
    out = run_vote(small, "polynomial", "dimension")
    assert [(s["complexity_penalty"], s["l1_penalty"]) for s in out.settings] == [
        (lam, beta) for lam in PENALTIES for beta in PENALTIES
    ]
    assert np.shape(out.mass) == (49, 10)


def test_svc_is_scikit_learns(small):
    """Also if a larger C was not solved again."""
    out = run_l2_svm(small, "polynomial")
    for setting, errors, n_support in zip(
        out.settings, out.test_errors, out.n_support, strict=True
    ):
        if setting["degree"] not in (1, 3) or setting["C"] > 1e4:
            continue
        model = SVC(kernel="poly", degree=setting["degree"], gamma=1.0, coef0=1.0, C=setting["C"])
        model.fit(small.X_train, small.y_train)
        assert np.sum(model.predict(small.X_test) != small.y_test) == errors
        assert abs(len(model.support_) - n_support) <= 1  # rounding of the kernel matrix


def test_svc_at_its_cap_is_recorded(small, monkeypatch):
    monkeypatch.setattr(algorithms, "SVC_MAX_ITER", 3)
    assert set(run_l2_svm(small, "polynomial").status) == {"cap"}


def test_capped_iterations_that_repeat_are_not_run_again(small, monkeypatch):
    monkeypatch.setattr(algorithms, "SVC_MAX_ITER", 40)
    solved = []

    def fit(K, y, C):
        solved.append(C)
        return fit_svc(K, y, C)

    monkeypatch.setattr(algorithms, "fit_svc", fit)
    out = run_l2_svm(small, "polynomial")
    capped = [i for i, status in enumerate(out.status) if status == "cap"]
    K, K_test = ((X @ small.X_train.T + 1) ** 2 for X in (small.X_train, small.X_test))
    wanted = [i for i in capped if out.settings[i]["degree"] == 2]
    assert len(wanted) > 3
    for i in wanted:
        model, status = fit_svc(K, small.y_train, out.settings[i]["C"])
        assert status == "cap"
        assert np.sum(model.predict(K_test) != small.y_test) == out.test_errors[i]
        assert len(model.support_) == out.n_support[i]
    assert len(solved) < len(out.settings) - 30


def test_kernels_that_overflow_are_a_failure_that_counts_as_wrong():
    X, y = make_waveform(40, random_state=0)
    rows = split(X * 1e40, y, seed=0, run=0, scaling="none")
    out = run_l2_svm(rows, "polynomial")
    failed = [i for i, s in enumerate(out.settings) if s["degree"] == 10]
    assert {out.status[i] for i in failed} == {"failed"}
    assert {out.test_errors[i] for i in failed} == {len(rows.y_test)}
    assert set(run_vote(rows, "polynomial", "trace").status) == {"failed"}


def test_gaussians_are_the_papers(small):
    out = run_l1_svm(small, "gaussian")
    assert sorted({s["gamma"] for s in out.settings}) == [10.0**i for i in range(-6, 1)]


def test_a_path_of_empty_votes_is_recorded(small, monkeypatch):
    monkeypatch.setattr(algorithms, "PENALTIES", (1e7, 1e6))
    family = algorithms.make_family("polynomial", (2,))
    out = algorithms.run_path(small, family, complexity_penalties=(0.0,))
    assert out.n_support == [0, 0]
    assert out.status == ["ok", "ok"]


def test_peers_run(small):
    for name, run in peers.available_peers().items():
        out = run(small)
        assert len(out.settings) == len(out.test_errors) >= 1, name
        assert "ok" in out.status, name
        assert min(out.test_errors) < len(small.y_test) / 2, name


def test_other_data_sets_are_csv_files(tmp_path):
    rows = ["a,b,target", "1,2,1", "3,,1", "4,5,-1", "6,7,1"]
    (tmp_path / "mine.csv").write_text("\n".join(rows))
    X, y = load_data("mine", str(tmp_path))
    np.testing.assert_array_equal(X, [[1, 2], [4, 5], [6, 7]])  # without the incomplete row
    np.testing.assert_array_equal(y, [1, -1, 1])
    with pytest.raises(DataNotFoundError, match="there is no data set 'yours'"):
        load_data("yours", str(tmp_path))


def test_keys_of_units_differ():
    units = {
        Unit(family, scaling, seed, name, run, "l2-svm").key
        for family in ("polynomial", "gaussian")
        for scaling in SCALINGS
        for seed in range(3)
        for name in ("a", "b")
        for run in range(5)
    }
    assert len(units) == 2 * 3 * 3 * 2 * 5
