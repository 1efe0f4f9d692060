"""Compare votes with an added squared term, in two forms, with SVC on musk and climate.

The vote minimises hinge loss + beta sum |a_kj| + rho/2 times a square: that of the weights,
sum a_kj^2, or that of the norms in the kernels' spaces, sum_k a_k^T K_k a_k. The kernels are
Gaussians exp(-gamma ||x - x'||^2 / N) with gamma = 0.03, 0.1, 0.3, 1, 3 on N standardised features:
either one of them, chosen by validation, or all five in one vote. rho = 0 is one of the choices.
There are three random partitions into five folds: fold i is for testing, fold i + 1 for validation,
the others for training. Each partition has one setting, chosen by mean validation error (ties go to
fewer support vectors). Errors and support vectors are means and standard deviations over the
fifteen runs; differences from SVC are computed run by run.
"""

import argparse
import itertools
import warnings
from pathlib import Path

import numpy as np
from _common import RESULTS, describe_run, format_table, report_progress, time_call, write_report
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from votedkernels import Gaussian, voted_kernel_path
from votedkernels.solvers.barrier import solve_pool

PACKAGES = ("numpy", "scipy", "scikit-learn", "highspy")
FILES = {"musk": "musk.csv.gz", "climate": "climate.csv"}
GAMMAS = (0.03, 0.1, 0.3, 1.0, 3.0)
COSTS = 10.0 ** np.arange(-1, 4.5, 0.5)
PLAIN_PENALTIES = 10.0 ** -np.arange(1.5, 6.5, 0.5)
#: For the hybrid norms: (l1 penalties, l2 penalties), with one width and with all widths.
ONE_WIDTH = ((3e-3, 1e-3, 3e-4, 1e-4, 1e-5), (1e-3, 1e-4, 1e-5))
ALL_WIDTHS = ((1e-3, 1e-4, 1e-5), (1e-3, 1e-4, 1e-5))
TOL = 1e-3
COLUMNS_PER_ROUND = 150
HEADER = ("data", "model", "widths", "error, %", "to SVC", "support vectors", "seconds", "chosen")
LEFT = (0, 1, 2, 7)


def load(folder, name):
    table = np.loadtxt(folder / FILES[name], delimiter=",", skiprows=1)
    return table[:, :-1], table[:, -1]


def squared_distances(A, B):
    return np.maximum((A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2 * A @ B.T, 0)


class Run:
    """A training set with its validation and test rows."""

    def __init__(self, X, y, folds, i):
        self.test, self.validation = folds == i, folds == (i + 1) % 5
        train = ~(self.test | self.validation)
        deviation = np.where(X[train].std(axis=0) > 0, X[train].std(axis=0), 1)
        self.X = (X - X[train].mean(axis=0)) / deviation / np.sqrt(X.shape[1])
        self.y, self.train = y, train
        self.distances = squared_distances(self.X, self.X[train])

    def score(self, decision, n_support):
        """Return validation error, test error and number of support vectors."""
        wrong = np.where(decision >= 0, 1, -1) != self.y
        return wrong[self.validation].mean(), wrong[self.test].mean(), n_support

    def kernels(self, gammas):
        """Return K_k(x_i, c_j) for all rows, shape (n_kernels, n_rows, n_train)."""
        return np.exp(-np.array(gammas)[:, None, None] * self.distances)


# -- the models: each returns {setting: score} for a run ---------------------------------------


def score_svc(run, gammas):
    scores = {}
    for gamma, cost in itertools.product(gammas, COSTS):
        model = SVC(C=cost, gamma=gamma).fit(run.X[run.train], run.y[run.train])
        scores[f"gamma={gamma:g}, C={cost:.3g}"] = run.score(
            model.decision_function(run.X), len(model.support_)
        )
    return scores


def score_plain(run, gammas):
    X, y = run.X[run.train], run.y[run.train]
    family = Gaussian(gammas, unit=1.0)
    path = voted_kernel_path(
        X, y, family, complexity_penalties=[0.0], l1_penalties=PLAIN_PENALTIES, tol=1e-6
    )
    centers = path.support[path.term_support_indices]
    columns = run.kernels(gammas)[path.term_kernel_indices, :, centers].T
    return {
        setting(gammas, penalty, 0.0): run.score(columns @ path.weights[0, j, 0], n_support)
        for j, (penalty, n_support) in enumerate(
            zip(path.l1_penalties, path.n_support[0], strict=True)
        )
    }


def score_hybrid(run, gammas, form):
    penalties, squares = ONE_WIDTH if len(gammas) == 1 else ALL_WIDTHS
    everywhere = run.kernels(gammas)
    kernels, y = everywhere[:, run.train], run.y[run.train]
    scores = {}
    for l2_penalty in squares:
        start = None
        for l1_penalty in penalties:
            terms, weights = fit_hybrid(kernels, y, l1_penalty, l2_penalty, form, start)
            start = terms
            decision = everywhere[terms[0], :, terms[1]].T @ weights
            scores[setting(gammas, l1_penalty, l2_penalty)] = run.score(
                decision, len(np.unique(terms[1]))
            )
    return scores


def setting(gammas, l1_penalty, l2_penalty):
    name = f"gamma={gammas[0]:g}, " if len(gammas) == 1 else ""
    return f"{name}beta={l1_penalty:.1g}, rho={l2_penalty:.1g}"


# -- a vote with a squared term ----------------------------------------------------------------


def fit_hybrid(kernels, y, l1_penalty, l2_penalty, form, start):
    """Return ((kernel, centre) of each term, weights), to a relative gap of about TOL.

    Columns are added to a pool until none violates its constraint by more than a few TOL. With a
    single kernel, all columns are added at once.
    """
    n_kernels, n, _ = kernels.shape
    w = np.full(n, 1 / n)
    member = np.zeros((n_kernels, n), bool)
    if n_kernels == 1:
        member[:] = True
    elif start is not None:
        member[start] = True
    u, weights = w, np.zeros(0)
    while True:
        terms = np.nonzero(member)
        if len(terms[0]):
            Z = (kernels[terms[0], :, terms[1]] * y).T
            squared = l2_penalty * square_matrix(kernels, terms, form)
            prices = np.full(len(terms[0]), l1_penalty)
            found = solve_pool(Z, w, prices, 0.3 * TOL, None, squared)
            u, weights = found.dual, found.weights
        correlation = np.einsum("i,kij->kj", u * y, kernels, optimize=True)
        if form == "RKHS":
            for k in range(n_kernels):
                mine = terms[0] == k
                pull = kernels[k][:, terms[1][mine]] @ weights[mine]
                correlation[k] -= l2_penalty * pull
        excess = np.where(member, 0.0, np.abs(correlation) / l1_penalty)
        worst = np.argsort(-excess, axis=None)[:COLUMNS_PER_ROUND]
        # Rounding and the gap of the pool matter if the l1 penalty is tiny.
        worst = worst[excess.ravel()[worst] > 1 + 3 * TOL * max(1, 1e-3 / l1_penalty)]
        if len(worst) == 0:
            voting = weights != 0
            return (terms[0][voting], terms[1][voting]), weights[voting]
        member.ravel()[worst] = True


def square_matrix(kernels, terms, form):
    if form == "weights":
        return np.eye(len(terms[0]))
    same = terms[0][:, None] == terms[0]
    return np.where(same, kernels[terms[0][:, None], terms[1][:, None], terms[1]], 0.0)


# -- the protocol ------------------------------------------------------------------------------


MODELS = {
    "SVC": score_svc,
    "plain vote": score_plain,
    "weights squared": lambda run, gammas: score_hybrid(run, gammas, "weights"),
    "RKHS norm squared": lambda run, gammas: score_hybrid(run, gammas, "RKHS"),
}


def choose(runs):
    """Return the setting with the lowest mean validation error."""
    return min(
        runs[0],
        key=lambda name: (
            round(float(np.mean([scores[name][0] for scores in runs])), 12),
            np.mean([scores[name][2] for scores in runs]),
        ),
    )


def measure(name, X, y, seeds):
    """Return one record per model and choice of widths."""
    candidates = {}
    seconds: dict[tuple[str, str], float] = {}
    for seed in seeds:
        folds = np.random.default_rng(seed).permutation(len(y)) % 5
        runs = [Run(X, y, folds, i) for i in range(5)]
        for model, score in MODELS.items():
            for widths in ("one", "all"):
                if (model, widths) == ("SVC", "all"):
                    continue
                groups = [(gamma,) for gamma in GAMMAS] if widths == "one" else [GAMMAS]

                def score_all(score=score, groups=groups, runs=runs):
                    return [
                        {k: v for group in groups for k, v in score(run, group).items()}
                        for run in runs
                    ]

                scores, elapsed = time_call(score_all)
                report_progress(f"{name}, partition {seed}, {model}, {widths}: {elapsed:.0f} s")
                candidates[model, widths, seed] = scores
                seconds[model, widths] = seconds.get((model, widths), 0.0) + elapsed
    records = []
    for model, widths in seconds:
        chosen, errors, supports = [], [], []
        for seed in seeds:
            scores = candidates[model, widths, seed]
            if model not in ("SVC", "plain vote"):  # rho = 0 is a choice
                plain = candidates["plain vote", widths, seed]
                scores = [a | b for a, b in zip(plain, scores, strict=True)]
            best = choose(scores)
            chosen.append(best)
            errors += [float(run[best][1]) for run in scores]
            supports += [int(run[best][2]) for run in scores]
        records.append(
            {
                "data": name, "model": model, "widths": widths, "errors": errors,
                "support_vectors": supports, "seconds": seconds[model, widths], "chosen": chosen,
            }
        )  # fmt: skip
    return records


def as_row(record, svc):
    errors, supports = 100 * np.array(record["errors"]), np.array(record["support_vectors"])
    difference = errors - 100 * np.array(svc["errors"])
    return (
        record["data"],
        record["model"],
        record["widths"],
        f"{errors.mean():.1f} ± {errors.std(ddof=1):.1f}",
        "-" if record is svc else f"{difference.mean():+.1f} ± {difference.std(ddof=1):.1f}",
        f"{supports.mean():.0f} ± {supports.std(ddof=1):.0f}",
        f"{record['seconds']:.0f}",
        "; ".join(dict.fromkeys(record["chosen"])),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data_dir", type=Path, help="a folder with musk.csv.gz and climate.csv")
    parser.add_argument("--data", nargs="+", choices=FILES, default=list(FILES))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    run = describe_run(PACKAGES)
    records, rows = [], []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in arguments.data:
            X, y = load(arguments.data_dir, name)
            found = measure(name, X, y, arguments.seeds)
            records += found
            rows += [as_row(record, found[0]) for record in found]
    print(format_table(HEADER, rows, LEFT))
    write_report(
        arguments.output, "hybrid-norm", title="A squared term beside the l1 norm", run=run,
        header=HEADER, rows=rows, left=LEFT, lines=[" ".join(__doc__.split())],
        data={"records": records},
    )  # fmt: skip


if __name__ == "__main__":
    main()
