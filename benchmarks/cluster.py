"""Measure what a fit on a Dask cluster sends, computes and keeps; estimate larger fits.

Fits waveform data of growing size on two local workers. For each size, it measures the bytes that
the client sent and received in each round (counted by the client, and by the machine for the
loopback device), kernel values and seconds. The model

    seconds = a * kernel values + b * bytes + c * rounds

is fitted to these numbers and extrapolated to sizes that were not run.
"""

import argparse
import time

import dask.array as da
import numpy as np
import psutil
from _common import (
    RESULTS,
    counted_values,
    describe_run,
    format_table,
    report_progress,
    write_report,
)
from distributed import Client, LocalCluster

from votedkernels import Polynomial, VotedKernelClassifier
from votedkernels._system.budget import Budget
from votedkernels.datasets import make_waveform
from votedkernels.distributed.columns import DaskColumns
from votedkernels.preparation.training import Training
from votedkernels.solvers import solve_problem

SIZES = (8_000, 16_000, 32_000, 64_000, 128_000)
PENALTIES = (1e-2, 1e-3)
TOL = 1e-6


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    with (
        LocalCluster(
            n_workers=options.workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster),
    ):
        measure(min(options.sizes))  # so that imports and compilation are not timed
        runs = [measure(size) for size in options.sizes]
    report(runs)


def measure(n_rows):
    """Fit this many rows; return the measurements."""
    X, y = make_waveform(n_rows, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    chunks = -(-n_rows // 8)
    model = VotedKernelClassifier(Polynomial((1, 2, 3, 4, 5)), complexity="trace", tol=TOL)
    started, loopback = time.perf_counter(), loopback_bytes()
    training = Training.prepare(model, da.from_array(X, chunks=(chunks, -1)), y, budget=Budget())
    rounds: list[tuple[int, int]] = []
    columns = training.columns
    assert isinstance(columns, DaskColumns)

    def on_round(_state):
        rounds.append((columns.rows.traffic.sent, columns.rows.traffic.received))
        return False

    problem = training.problems(*PENALTIES)[0]
    with counted_values(DaskColumns, "correlate", "worst_columns") as n_values:
        solution = solve_problem("column-generation", problem, tol=TOL, on_round=on_round)
    seconds = time.perf_counter() - started
    per_round = np.diff(rounds, axis=0) if len(rounds) > 1 else np.zeros((1, 2))
    out = {
        "rows": n_rows,
        "seconds": round(seconds, 2),
        "rounds": len(rounds),
        "terms": len(solution.terms.kernels),
        "active": int(np.count_nonzero(solution.dual)),
        "rows_at_client": columns.rows.n_fetched,
        "kernel_values": n_values[0],
        "sent": columns.rows.traffic.sent,
        "received": columns.rows.traffic.received,
        "loopback": loopback_bytes() - loopback,
        "sent_last_round": int(per_round[-1][0]),
        "received_last_round": int(per_round[-1][1]),
        "gap": solution.gap / solution.objective,
    }
    report_progress(str(out))
    return out


def loopback_bytes():
    """Return the bytes sent over the loopback device so far."""
    return psutil.net_io_counters(pernic=True)["lo"].bytes_sent


def fit_costs(runs):
    """Return the seconds per kernel value, per byte and per round, all non-negative."""
    from scipy.optimize import nnls

    figures = [(r["kernel_values"], r["sent"] + r["received"], r["rounds"]) for r in runs]
    A = np.array(figures, float)
    b = np.array([r["seconds"] for r in runs])
    scale = A.max(axis=0)
    weights = 1 / b  # relative errors
    return nnls(A / scale * weights[:, None], b * weights)[0] / scale


def predict(runs, n_rows, costs, n_workers):
    """Estimate a fit of this many rows; each figure is extrapolated as a power of the rows."""
    sizes = np.log([r["rows"] for r in runs])

    def carried(name):
        slope, offset = np.polyfit(sizes, np.log([max(1, r[name]) for r in runs]), 1)
        return float(np.exp(offset + slope * np.log(n_rows))), slope

    values, bytes_moved = carried("kernel_values")[0], carried("sent")[0] + carried("received")[0]
    at_client = carried("rows_at_client")[0]
    rounds = runs[-1]["rounds"]
    hours = (costs[0] * values * 2 / n_workers + costs[1] * bytes_moved + costs[2] * rounds) / 3600
    return values, bytes_moved, at_client, hours


def report(runs):
    header = (
        "rows", "rounds", "terms", "active", "rows at client", "kernel values", "sent, MB",
        "received, MB", "loopback, MB", "sent in last round, kB", "received in last round, kB",
        "seconds", "gap",
    )  # fmt: skip
    rows = [
        (f"{r['rows']:,}", str(r["rounds"]), str(r["terms"]), f"{r['active']:,}",
         f"{r['rows_at_client']:,}", f"{r['kernel_values']:.2g}", f"{r['sent'] / 1e6:.1f}",
         f"{r['received'] / 1e6:.1f}", f"{r['loopback'] / 1e6:.1f}",
         f"{r['sent_last_round'] / 1e3:.1f}", f"{r['received_last_round'] / 1e3:.1f}",
         f"{r['seconds']:.1f}", f"{r['gap']:.0e}")
        for r in runs
    ]  # fmt: skip
    costs = fit_costs(runs)
    guesses = []
    for n_rows, n_workers in ((10**6, 2), (10**7, 20), (10**8, 200), (10**9, 2000)):
        values, moved, at_client, hours = predict(runs, n_rows, costs, n_workers)
        guesses.append(
            (f"{n_rows:.0e}", f"{n_workers}", f"{values:.1g}", f"{moved / 1e9:.2g}",
             f"{at_client:.1g}", f"{hours:.2g}")
        )  # fmt: skip
    guess_header = ("rows", "workers", "kernel values", "GB moved", "rows at client", "hours")
    lines = [
        f"Waveform data, degrees 1 to 5, penalties {PENALTIES}, tol {TOL:g}, eight chunks, two "
        "workers with one thread each. Sent and received: bytes of arrays between client and "
        "workers, counted once per receiver; loopback: all bytes that the machine moved between "
        "processes meanwhile, including those of loading the rows.",
        "",
        f"Model: {costs[0]:.2g} s per kernel value, {costs[1]:.2g} s per byte, {costs[2]:.2g} s "
        "per round; kernel values, bytes and rows at the client are extrapolated as powers of the "
        "rows. These sizes were NOT run:",
        "",
        "```text",
        *format_table(guess_header, guesses).splitlines(),
        "```",
    ]
    write_report(
        RESULTS,
        "cluster",
        title="Fitting on a Dask cluster",
        run=describe_run(["dask", "distributed", "numpy"]),
        header=header,
        rows=rows,
        left=(),
        lines=lines,
        data={"runs": runs, "seconds_a_kernel_value_a_byte_a_round": costs.tolist()},
    )
    print(format_table(header, rows))
    print(format_table(guess_header, guesses))


if __name__ == "__main__":
    main()
