"""Compare a vote over string kernels with other ways to use an indefinite similarity of strings.

The edit distances are exp(-d / s) with the normalised Levenshtein distance d and s = 0.1, 0.3, 1.
The spectrum kernels are those of lengths 1, 2 and 3, and blended ones of lengths 3 and 5, with ends
and with positions. The vote is the default search of `VotedKernelClassifierCV` over edit distances,
over spectrum kernels, or over both. The other methods choose one kernel by the 3-fold
cross-validation on the training rows that also chooses their other parameters, and the vote uses
the same folds. SVC is run with two sets of spectrum kernels: the plain ones, and all those that
vote. Errors and support vectors are means and standard deviations over several random splits of a
part of the rows. Two tables compare the best variant of the vote with the best of the others, split
by split: without SVC on the further spectrum kernels, and with it. Then all rows of each data set
are fitted with the edit distances and with a similarity that is not symmetric, a search is run, and
SVC is tuned, each in its own process, to measure memory and time. The spectrum kernels, and how the
search thins votes, were chosen on other splits (random_state=101 and 102).
"""

import argparse
import csv
import gzip
import io
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from _common import (
    RESULTS,
    describe_run,
    format_markdown_table,
    format_table,
    report_progress,
    time_call,
    write_report,
)
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from votedkernels import (
    EditDistance,
    Similarity,
    Spectrum,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
)

PACKAGES = ("numpy", "scipy", "scikit-learn", "rapidfuzz")
#: Training rows, test rows, splits.
SIZES = {
    "promoters": (80, 26, 10),
    "splice": (500, 1000, 4),
    "names_gender": (500, 1000, 4),
    "sms_spam": (400, 800, 4),
}
SCALES = (0.1, 0.3, 1.0)
LENGTHS = (1, 2, 3)
BLENDED = (3, 5)
COSTS = (0.1, 1.0, 10.0, 100.0)
NEIGHBOURS = (1, 3, 5, 9, 15)
#: What is fitted to all rows.
FITS = {
    "edit": "vote, edit distances",
    "coverage": "vote, coverage, not symmetric",
    "search": "search, edit distances",
    "svc": "distances once, SVC tuned",
}
FULL_PENALTIES = {"complexity_penalty": 1e-3, "l1_penalty": 2e-3}
TOL = 1e-6
#: The rival with the same spectrum kernels as the vote.
FURTHER = "SVC, further spectrum kernels"
HEADER = ("data", "model", "error, %", "support vectors", "seconds", "largest gap")
BEST_HEADER = (
    "data", "best vote", "error, %", "support vectors", "best other", "error, %",
    "support vectors", "difference", "its standard error", "support vectors of SVC",
)  # fmt: skip
FULL_HEADER = (
    "data",
    "rows",
    "fit",
    "CPU seconds",
    "gap",
    "support vectors",
    "peak, MiB",
    "of fit",
)


def load(folder, name):
    """Return the strings, unchanged, and the labels."""
    path = folder / f"{name}.csv"
    if path.exists():
        content = path.read_bytes()
    else:
        content = gzip.decompress((folder / f"{name}.csv.gz").read_bytes())
    rows = list(csv.reader(io.StringIO(content.decode(), newline="")))[1:]
    return [text for text, _ in rows], np.array([int(label) for _, label in rows])


def coverage(A, B):
    """Return the share of the three-letter pieces of b that occur in a; it is not symmetric."""
    vectorizer = CountVectorizer(analyzer="char", ngram_range=(3, 3), binary=True, lowercase=False)
    right = vectorizer.fit_transform([f"^{b}$$" for b in B])
    left = vectorizer.transform([f"^{a}$$" for a in A])
    return (left @ right.T).toarray() / np.asarray(right.sum(axis=1)).ravel()


def edit():
    return EditDistance(SCALES, normalised=True)


def spectra():
    """Return the plain spectrum kernels, and the further ones."""
    return [
        Spectrum(LENGTHS),
        Spectrum(BLENDED, blended=True, ends=True),
        Spectrum(BLENDED, blended=True, positions=True),
    ]


# -- the models: each returns (predictions, number of support vectors, gap or None) --------------


class Split:
    """Training and test strings, and the matrices that the models share."""

    def __init__(self, X, y, train, test):
        self.X, self.y = [X[i] for i in train], y[train]
        self.X_test, self.y_test = [X[i] for i in test], y[test]
        self.cv = StratifiedKFold(3, shuffle=True, random_state=0)
        family = edit().fit(self.X, np.ones(len(self.X)))
        self.distances = [family.base(rows, self.X) for rows in (self.X, self.X_test)]
        self.spectra = []
        for spectrum in spectra():
            spectrum.fit(self.X, np.ones(len(self.X)))
            bases = [spectrum.base(rows, self.X) for rows in (self.X, self.X_test)]
            self.spectra += [
                tuple(spectrum.member(base, k) for base in bases) for k in range(spectrum.n_kernels)
            ]
        self.kernels = [tuple(np.exp(-d / s) for d in self.distances) for s in SCALES]


def search(split, model, grid, train, test):
    """Return the best score, and the predictions and the model of the best parameters."""
    found = GridSearchCV(model, grid, cv=split.cv).fit(train, split.y)
    return found.best_score_, found.predict(test), found.best_estimator_


def vote(split, family):
    model = VotedKernelClassifierCV(family, cv=split.cv, tol=TOL).fit(split.X, split.y)
    gaps = model.dual_gap_ / model.objective_, model.relaxed_dual_gap_ / model.relaxed_objective_
    return model.predict(split.X_test), len(model.support_), max(gaps)


def support_vector_machine(split, kernels, repair=None):
    found = []
    for train, test in kernels:
        K, K_test = (train, test) if repair is None else repair(train, test)
        model = SVC(kernel="precomputed", max_iter=10**6)
        found.append(search(split, model, {"C": COSTS}, K, K_test))
    _, predictions, model = max(found, key=lambda one: one[0])
    return predictions, len(model.support_), None


def clip(K, K_test):
    """Remove the negative eigenvalues; new rows are projected in the same way."""
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    kept = vectors[:, values > 0]
    projection = kept @ kept.T
    return (kept * values[values > 0]) @ kept.T, K_test @ projection


def shift(K, K_test):
    """Add to the diagonal until no eigenvalue is negative."""
    smallest = np.linalg.eigvalsh((K + K.T) / 2)[0]
    return K + max(0.0, -smallest) * np.eye(len(K)), K_test


def neighbours(split):
    model = KNeighborsClassifier(metric="precomputed")
    grid = {"n_neighbors": NEIGHBOURS}
    _, predictions, model = search(split, model, grid, *split.distances)
    return predictions, len(split.X), None


def similarities_as_features(split):
    train, test = (np.hstack([pair[i] for pair in split.kernels]) for i in (0, 1))
    model = LinearSVC(dual=False, max_iter=5000)
    _, predictions, _ = search(split, model, {"C": COSTS}, train, test)
    return predictions, len(split.X), None


MODELS = {
    "vote, edit distances": lambda s: vote(s, edit()),
    "vote, spectrum": lambda s: vote(s, spectra()),
    "vote, both": lambda s: vote(s, [edit(), *spectra()]),
    "SVC, edit distance, raw": lambda s: support_vector_machine(s, s.kernels),
    "SVC, edit distance, clipped": lambda s: support_vector_machine(s, s.kernels, clip),
    "SVC, edit distance, shifted": lambda s: support_vector_machine(s, s.kernels, shift),
    "SVC, spectrum": lambda s: support_vector_machine(s, s.spectra[: len(LENGTHS)]),
    FURTHER: lambda s: support_vector_machine(s, s.spectra),
    "nearest neighbours": neighbours,
    "similarities as features": similarities_as_features,
}


def compare(X, y, name):
    n_train, n_test, n_splits = SIZES[name]
    splits = StratifiedShuffleSplit(n_splits, train_size=n_train, test_size=n_test, random_state=0)
    results: dict[str, list[dict[str, object]]] = {model: [] for model in MODELS}
    for number, (train, test) in enumerate(splits.split(np.zeros(len(y)), y)):
        split = Split(X, y, train, test)
        for model, run in MODELS.items():
            (predictions, n_support, gap), seconds = time_call(lambda run=run, s=split: run(s))
            error = float(np.mean(predictions != split.y_test))
            results[model].append(
                {"error": error, "n_support": n_support, "seconds": seconds, "gap": gap}
            )
            report_progress(f"{name} {number} {model}: {100 * error:.1f} % in {seconds:.1f} s")
    return results


# -- fits on all rows ----------------------------------------------------------------------------


def peak_mib():
    """Return the peak memory of this process; ru_maxrss would include that of its parent."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def search_of_svc(X, y):
    """Compute the distances once, and tune SVC over costs and scales with the vote's folds."""
    distances = edit().fit(X, np.ones(len(X))).base(X, X)
    best = (-1.0, None)
    for scale in SCALES:
        K = np.exp(distances * (-1 / scale))
        model = SVC(kernel="precomputed", max_iter=10**6)
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        found = GridSearchCV(model, {"C": COSTS}, cv=folds).fit(K, y)
        best = max(best, (found.best_score_, found.best_estimator_), key=lambda one: one[0])
    return best[1]


def fit_all_rows(folder, name, kind):
    """Fit all rows in this process and return the record."""
    X, y = load(folder, name)
    family = Similarity(coverage) if kind == "coverage" else edit()
    VotedKernelClassifier(family).fit(X[:20] + X[-20:], np.arange(40) % 2)  # imports
    before, started = peak_mib(), time.process_time()
    record: dict[str, object] = {}
    if kind == "svc":
        model = search_of_svc(X, y)
    elif kind == "search":
        model = VotedKernelClassifierCV(family, tol=TOL).fit(X, y)
    else:
        model = VotedKernelClassifier(family, complexity="massart", tol=TOL)
        model.set_params(**FULL_PENALTIES).fit(X, y)
        record["stop_reason"] = str(model.stop_reason_)
    if kind != "svc":
        record["gap"] = float(model.dual_gap_ / model.objective_)
    return record | {
        "rows": len(X),
        "cpu_seconds": time.process_time() - started,
        "n_support": len(model.support_),
        "peak_mib": peak_mib(),
        "extra_mib": peak_mib() - before,
    }


def fit_in_a_process(folder, name, kind):
    command = [sys.executable, __file__, "--data-dir", str(folder), "--fit", name, kind]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(out.splitlines()[-1])


def mean_and_deviation(values, digits=1):
    return f"{np.mean(values):.{digits}f} ± {np.std(values, ddof=1):.{digits}f}"


def tabulate(results):
    rows = []
    for name, models in results.items():
        for model, runs in models.items():
            gaps = [run["gap"] for run in runs if run["gap"] is not None]
            rows.append((
                name,
                model,
                mean_and_deviation([100 * run["error"] for run in runs]),
                mean_and_deviation([run["n_support"] for run in runs], 0),
                f"{np.mean([run['seconds'] for run in runs]):.1f}",
                f"{max(gaps):.0e}" if gaps else "",
            ))  # fmt: skip
    return rows


def tabulate_best(results, without=()):
    """Compare the best vote with the best of the others; SVC is the best of its variants."""

    def mean(runs, key):
        return float(np.mean([run[key] for run in runs]))

    rows = []
    for name, models in results.items():
        groups = {
            kind: [m for m in models if m.split(",")[0] == kind and m not in without]
            for kind in ("vote", "SVC")
        }
        others = [m for m in models if m not in groups["vote"] and m not in without]
        ours, theirs, svc = (
            min(group, key=lambda m: mean(models[m], "error"))
            for group in (groups["vote"], others, groups["SVC"])
        )
        pairs = zip(models[ours], models[theirs], strict=True)
        differences = 100 * np.array([a["error"] - b["error"] for a, b in pairs])
        rows.append((
            name,
            ours,
            f"{100 * mean(models[ours], 'error'):.1f}",
            f"{mean(models[ours], 'n_support'):.0f}",
            theirs,
            f"{100 * mean(models[theirs], 'error'):.1f}",
            f"{mean(models[theirs], 'n_support'):.0f}",
            f"{differences.mean():+.1f}",
            f"{differences.std(ddof=1) / len(differences) ** 0.5:.1f}",
            f"{mean(models[svc], 'n_support'):.0f}",
        ))  # fmt: skip
    return rows


def tabulate_full(full):
    return [
        (
            name,
            str(fit["rows"]),
            FITS[kind],
            f"{fit['cpu_seconds']:.1f}",
            f"{fit['gap']:.0e}" if "gap" in fit else "",
            str(fit["n_support"]),
            f"{fit['peak_mib']:.0f}",
            f"{fit['extra_mib']:.0f}",
        )
        for name, fits in full.items()
        for kind, fit in fits.items()
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, required=True, help="folder of the CSV files")
    parser.add_argument("--data", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--output-dir", type=Path, default=RESULTS)
    parser.add_argument("--fit", nargs=2, metavar=("DATA", "KIND"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.fit:
        with threadpool_limits(1):
            print(json.dumps(fit_all_rows(args.data_dir, *args.fit)))
        return
    warnings.simplefilter("ignore")  # models that have not converged are scored anyway
    results = {}
    full: dict[str, dict[str, object]] = {}
    with threadpool_limits(1):
        for name in args.data:
            X, y = load(args.data_dir, name)
            results[name] = compare(X, y, name)
    for name in args.data:
        full[name] = {}
        for kind in FITS:
            full[name][kind] = fit_in_a_process(args.data_dir, name, kind)
            report_progress(f"{name}, all rows, {kind}: {full[name][kind]}")
    report(results, full, args.output_dir)


def report(results, full, folder):
    """Print the tables, and write the record."""
    rows, full_rows = tabulate(results), tabulate_full(full)
    listed_rows, best_rows = tabulate_best(results, (FURTHER,)), tabulate_best(results)
    print(format_table(HEADER, rows, left=(0, 1)))
    print(format_table(BEST_HEADER, listed_rows, left=(0, 1, 4)))
    print(format_table(BEST_HEADER, best_rows, left=(0, 1, 4)))
    print(format_table(FULL_HEADER, full_rows, left=(0, 2)))
    sizes = "; ".join(
        f"{name} {SIZES[name][0]} / {SIZES[name][1]} / {SIZES[name][2]}" for name in results
    )
    write_report(
        folder,
        "strings",
        title="Strings: a vote over edit distances and substrings",
        run=describe_run(PACKAGES),
        header=HEADER,
        rows=rows,
        left=(0, 1),
        lines=[
            " ".join(__doc__.split("\n\n", 1)[1].split()),
            f"Training rows / test rows / splits: {sizes}. Seconds are for fitting and choosing on "
            "one core of a busy machine; only those of the vote include the kernels (the others "
            "share theirs). "
            "Matrices are clipped or shifted before the cross-validation, so this step uses all "
            "training rows. Nearest neighbours and similarities as features need all training "
            "rows, which count as their support vectors.",
            "## The best vote and the best of the others",
            format_markdown_table(BEST_HEADER, listed_rows, (0, 1, 4)),
            "The same, if SVC may choose among the further spectrum kernels too:",
            format_markdown_table(BEST_HEADER, best_rows, (0, 1, 4)),
            "The difference is the mean over the splits, and negative if the vote has the smaller "
            "error. Its standard error is that of the differences of single splits, which overlap. "
            "The last column is that of the best SVC.",
            "## All rows",
            format_markdown_table(FULL_HEADER, full_rows, (0, 2)),
            "Penalties: "
            + ", ".join(f"{key}={value:g}" for key, value in FULL_PENALTIES.items())
            + f"; tol={TOL:g}. The search is that of `VotedKernelClassifierCV` with five folds. "
            "SVC is tuned with the same folds over three scales and four values of C. The peak is "
            "that of the process, and the last column how much of it the fit added.",
        ],
        data={"results": results, "all_rows": full},
    )


if __name__ == "__main__":
    main()
