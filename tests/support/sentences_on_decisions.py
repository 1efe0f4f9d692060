"""Sentences in docs/decisions whose numbers come from a results file."""

from statistics import geometric_mean, mean
from typing import Any

from support.recorded import load, one
from support.sentences import Sentence
from support.sentences_on_benchmarks import (
    STRINGS,
    behind_on_edit_distances,
    cluster_growth,
    cluster_run,
    gigabytes_at_the_client,
    grid,
    hybrid,
    scale,
    seconds,
)

FOLDER = "docs/decisions/"
MODELS = ("plain vote", "weights squared", "RKHS norm squared")
DEGREES, WIDTHS = "polynomial, degrees 1-10", "gaussian, 7 widths"


def pricing(family: str, threads: int) -> Any:
    return one(load("pricing")["records"], family=family, threads=threads)


def two_threads(family: str) -> float:
    return float(pricing(family, 2)["pass"] / pricing(family, 1)["pass"])


def share_of_the_roof() -> list[float]:
    found = [pricing(WIDTHS, n) for n in (1, 2)]
    return [100 * record["pass"] / record["roof"] for record in found]


def ratios_of_the_whole_program() -> list[float]:
    found = [
        r["ratio"] for r in load("solvers")["records"] if r["m"] == 1000 and r["solver"] != "ours"
    ]
    return [min(found), max(found), geometric_mean(found)]


def prediction(data: str) -> list[float]:
    """Return our milliseconds, and the ratio to SVC."""
    records = load("prediction")["records"]
    ours, svc = (
        1000 * mean(one(records, data_set=data, model=model)["seconds"])
        for model in ("votedkernels", "SVC")
    )
    return [ours, svc / ours]


def default(kernels: str, complexity_penalty: float, l1_penalty: float) -> list[float]:
    """Return the mean error of a setting, and its mean number of support vectors over data sets."""
    found = load("defaults")
    wanted = {
        "kernels": kernels, "complexity_penalty": complexity_penalty, "l1_penalty": l1_penalty,
    }  # fmt: skip
    (place,) = (i for i, setting in enumerate(found["settings"]) if setting == wanted)
    return [100 * mean(found["errors"][place]), mean(found["support_vectors"][place])]


def times_without_squares(case: str) -> float:
    return seconds(case, "elastic net") / seconds(case, "l1")


def behind_with_edit_distances() -> list[float]:
    found = sorted(map(behind_on_edit_distances, STRINGS))
    return found[1:][:: len(found) - 2]


SENTENCES = [
    Sentence(
        FOLDER + "accurate-gaussians.md",
        "A pass reaches {} to {} % of the speed of its exponentials alone",
        share_of_the_roof,
    ),
    Sentence(
        FOLDER + "own-threads.md",
        "two cores price columns {} times (polynomials) and {} times (Gaussians) as fast as one",
        lambda: [two_threads(DEGREES), two_threads(WIDTHS)],
    ),
    Sentence(
        FOLDER + "dual-master.md",
        "takes {} to {} times as long as column generation on the dual; the geometric mean over "
        "three penalties is {}.",
        ratios_of_the_whole_program,
    ),
    Sentence(
        FOLDER + "dual-master.md",
        "a fit takes {} s for $\\lambda = 10^{-2}$.",
        lambda: [scale(100_000)["seconds"]],
    ),
    Sentence(
        FOLDER + "prediction.md",
        "it is {} ms on average over three splits, {} times as fast as `SVC`.",
        lambda: prediction("digits"),
    ),
    Sentence(
        FOLDER + "prediction.md",
        "prediction is {} times as fast.",
        lambda: prediction("waveform")[1:],
    ),
    Sentence(
        FOLDER + "penalty-grid.md",
        "49 pairs take {} s in one walk and {} s as separate fits ({} s with features in "
        "$[-1, 1]$).",
        lambda: [
            grid("none", "path"), grid("none", "cold fits"), grid("to [-1, 1]", "cold fits"),
        ],
    ),
    Sentence(
        FOLDER + "squared-norm.md",
        "plain vote {} %, weights squared {} %, RKHS norm {} %, `SVC` {} %.",
        lambda: [
            *(hybrid("musk", m, "all").mean() for m in MODELS), hybrid("musk", "SVC", "one").mean(),
        ],
    ),
    Sentence(
        FOLDER + "squared-norm.md",
        "the plain vote then has an error of {} %, compared with {} % for `SVC`.",
        lambda: [hybrid("climate", m, "one").mean() for m in ("plain vote", "SVC")],
    ),
    Sentence(
        FOLDER + "default-kernels-and-penalties.md",
        "have a mean error of {} % with {} support vectors.",
        lambda: default("polynomial 1-3 and gaussian", 0.01, 0.003),
    ),
    Sentence(
        FOLDER + "default-kernels-and-penalties.md",
        "have {} % with {}.",
        lambda: default("polynomial 1-10", 0.001, 0.001),
    ),
    Sentence(
        FOLDER + "division-of-a-cluster.md",
        "the number of pairs of rows grew {}-fold. A fit of 128,000 rows with five degrees took "
        "{} s on two workers.",
        lambda: [cluster_growth("rows") ** 2, cluster_run(128_000)["seconds"]],
    ),
    Sentence(
        FOLDER + "division-of-a-cluster.md",
        "by extrapolation, {}0 GB for a billion rows.",
        lambda: [gigabytes_at_the_client()[0] / 10],
    ),
    Sentence(
        FOLDER + "elastic-net-master.md",
        "In the library, the two paths take {} and {} times as long as without squared weights "
        "(`benchmarks/results/everyday.md`).",
        lambda: [times_without_squares(f"elastic-net-{data}") for data in ("musk", "noisy")],
    ),
    Sentence(
        FOLDER + "indefinite-kernels.md",
        "the vote was behind the best `SVC` by {} to {} points on three data sets",
        behind_with_edit_distances,
    ),
]  # fmt: skip
