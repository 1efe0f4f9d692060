"""Measure kernel values per second of a pricing pass, compared with the limit of the machine.

The roof (upper limit) is measured in the same run, on the same cores:

- polynomials: the least work of a pass over ten degrees: one multiplication and one addition per
  kernel value, in registers, and the inner product that ten values share, at the speed of a large
  matrix product (or reading the base at the speed of memory, if that is slower);
- Gaussians: one exponential per kernel value, in a loop that computes nothing else; the distances
  that seven widths share are not counted.

`loops alone` is the first part of the polynomials' roof: the speed if the inner products cost
nothing.

With ``--thresholds``: CPU seconds to price all thresholds of 20 features of 1,000,000 rows, and
ten polynomials over the same rows, when only some samples have u > 0. `rounds`
is what each round of column generation asks for: the worst columns, which also prove the bound
of the certificate. `all columns` is a sum for every column. It writes 168 MB, so its time depends
on how quickly the system provides memory. All passes take turns in one process with one thread,
and the smallest of several times counts.
"""

import argparse
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
from _common import RESULTS, describe_run, format_table, report_progress, time_call, write_report
from numba import njit
from threadpoolctl import threadpool_limits

from votedkernels import Gaussian, Polynomial, Threshold, _native
from votedkernels._system.budget import Budget
from votedkernels.datasets import make_waveform
from votedkernels.kernels import LocalColumns

PACKAGES = ("numpy", "numba")
HEADER = (
    "family", "threads", "rows", "centres", "pass, G/s", "roof, G/s", "share",
    "loops alone, G/s", "NumPy, G/s",
)  # fmt: skip
LEFT = (0,)
REPEATS = 9
HEADER_OF_THRESHOLDS = (
    "samples with u > 0", "ten polynomials, s", "thresholds, rounds, s", "share",
    "thresholds, all columns, s", "share",
)  # fmt: skip
ROWS_OF_THRESHOLDS, FEATURES_OF_THRESHOLDS = 1_000_000, 20
ACTIVE = (100, 300, 1000, 5000)
REPEATS_OF_THRESHOLDS = 5


@njit(nogil=True, fastmath={"reassoc", "contract", "nsz"})
def multiply_add(factor, n):
    """Run n rounds of ten multiplications and ten additions in each of 16 lanes."""
    power, total = np.ones(16), np.zeros(16)
    for _ in range(n):
        for lane in range(16):
            p = power[lane]
            for _ in range(10):
                p *= factor
                total[lane] += p
            power[lane] = p
    return total.sum()


def in_threads(work, n_threads):
    """Run the same work in each of several threads; return the seconds."""

    def run():
        threads = [threading.Thread(target=work) for _ in range(n_threads)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return min(time_call(run)[1] for _ in range(REPEATS))


def multiply_add_rate(n_threads):
    n = 200_000
    multiply_add(1.0, 10)
    return n_threads * n * 160 / in_threads(lambda: multiply_add(0.999999, n), n_threads)


def product_rate(n_threads):
    """Return the multiply-adds per second of a large matrix product."""
    n = 768
    left, right = np.ones((n, n)), np.ones((n, n))
    out = [np.empty((n, n)) for _ in range(n_threads)]

    def work():
        np.matmul(left, right, out=out[threading.get_ident() % n_threads])

    work()
    return n_threads * n**3 / in_threads(work, n_threads)


def memory_rate(n_threads):
    """Return the doubles read per second."""
    data = np.ones(2**24)
    return n_threads * len(data) / in_threads(data.sum, n_threads)


def polynomial_roof(n_threads, n_features):
    """Return kernel values per second: ten powers and sums, and their shared inner product."""
    seconds = 10 / multiply_add_rate(n_threads) + n_features / product_rate(n_threads)
    return 10 / max(seconds, 1 / memory_rate(n_threads))


def exponential_rate(n_threads):
    x = -np.linspace(0, 30, 2**14)[None]

    def work():
        out = np.empty_like(x)
        for _ in range(200):
            _native.loops.exponentials(x, out)

    return n_threads * 200 * x.size / in_threads(work, n_threads)


def measure(family, n_rows, n_centers, n_jobs):
    """Return kernel values per second of a pass, in compiled code and in NumPy."""
    X, _ = make_waveform(n_centers, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0) / np.sqrt(X.shape[1])
    family.fit(X, np.ones(n_centers))
    v = np.zeros(n_centers)
    v[:n_rows] = np.random.default_rng(0).standard_normal(n_rows)
    n_values = family.n_kernels * n_rows * n_centers
    rates, loops = [], _native.loops
    columns = LocalColumns([family], X, X, for_bases=0, budget=Budget(n_jobs=n_jobs))
    for _native.loops in (loops, None):
        columns.correlate(v)
        seconds = [time_call(partial(columns.correlate, v))[1] for _ in range(REPEATS)]
        rates.append(n_values / min(seconds))  # the best, as for the roofs
    _native.loops = loops
    return rates


def price_thresholds(n_rows, n_active):
    """Return one record for each number of active samples."""
    random = np.random.default_rng(0)
    X = random.standard_normal((n_rows, FEATURES_OF_THRESHOLDS))
    budget = Budget(n_jobs=1)
    rules, plain = (
        LocalColumns([family.fit(X, np.ones(n_rows))], X, X, for_bases=0, budget=budget)
        for family in (Threshold(), Polynomial(gamma=1.0 / X.shape[1]))
    )
    order = random.permutation(n_rows)
    records = []
    for n in n_active:
        v = np.zeros(n_rows)
        v[order[:n]] = random.standard_normal(n)
        passes = {
            "polynomials": lambda v=v: plain.worst_columns(v, np.ones(plain.n_kernels)),
            "rounds": lambda v=v: rules.worst_columns(v, np.ones(rules.n_kernels)),
            "all": lambda v=v: rules.correlate(v),
        }
        seconds: dict[str, list[float]] = {name: [] for name in passes}
        for _ in range(1 + REPEATS_OF_THRESHOLDS):
            for name, run in passes.items():
                started = time.process_time()
                run()
                seconds[name].append(time.process_time() - started)
        best = {name: min(times[1:]) for name, times in seconds.items()}  # the first one is slower
        records.append({"active": n, "rows": n_rows, "features": X.shape[1]} | best)
        report_progress(f"{n} samples: {best}")
    return records


def report_thresholds(options):
    """Measure, print and write the table of thresholds."""
    with threadpool_limits(1):
        records = price_thresholds(options.threshold_rows, ACTIVE)
    rows = [
        (str(r["active"]), f"{r['polynomials']:.3f}",
         f"{r['rounds']:.4f}", f"{r['rounds'] / r['polynomials']:.3f}",
         f"{r['all']:.3f}", f"{r['all'] / r['polynomials']:.3f}")
        for r in records
    ]  # fmt: skip
    print(format_table(HEADER_OF_THRESHOLDS, rows))
    last = __doc__.strip().rpartition("\n\n")[2]
    write_report(
        options.output, "threshold-pricing", title="Pricing thresholds",
        run=describe_run(PACKAGES), header=HEADER_OF_THRESHOLDS, rows=rows,
        left=(), lines=[" ".join(last.split())], data={"records": records},
    )  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=4096, help="samples with u > 0")
    parser.add_argument("--centers", type=int, default=20_000)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--thresholds", action="store_true", help="make the table of thresholds")
    parser.add_argument("--threshold-rows", type=int, default=ROWS_OF_THRESHOLDS)
    arguments = parser.parse_args()
    if arguments.thresholds:
        report_thresholds(arguments)
        return
    run = describe_run(PACKAGES)
    families = {
        "polynomial, degrees 1-10": Polynomial(gamma=1.0),
        "gaussian, 7 widths": Gaussian(unit=1.0),
    }
    rows, data = [], []
    with threadpool_limits(1):
        for n_threads in arguments.threads:
            roofs = {
                "polynomial, degrees 1-10": polynomial_roof(n_threads, n_features=21),
                "gaussian, 7 widths": exponential_rate(n_threads),
            }
            loops = {"polynomial, degrees 1-10": multiply_add_rate(n_threads)}
            for name, family in families.items():
                report_progress(f"{name}, {n_threads} threads")
                fused, plain = measure(family, arguments.rows, arguments.centers, n_threads)
                roof = roofs[name]
                data.append({"family": name, "threads": n_threads, "rows": arguments.rows,
                             "centers": arguments.centers, "pass": fused, "roof": roof,
                             "loops": loops.get(name, roof),
                             "numpy": plain})  # fmt: skip
                rows.append(
                    (name, str(n_threads), str(arguments.rows), str(arguments.centers),
                     f"{fused / 1e9:.2f}", f"{roof / 1e9:.2f}", f"{fused / roof:.2f}",
                     f"{loops.get(name, roof) / 1e9:.2f}", f"{plain / 1e9:.2f}")
                )  # fmt: skip
    print(format_table(HEADER, rows, LEFT))
    of_kernels = __doc__.strip().rpartition("\n\n")[0]
    write_report(
        arguments.output, "pricing", title="Pricing", run=run, header=HEADER, rows=rows,
        left=LEFT, lines=[" ".join(of_kernels.split())], data={"records": data},
    )  # fmt: skip


if __name__ == "__main__":
    main()
