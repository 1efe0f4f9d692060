"""``votedkernels reproduce``, killed at random moments and started again."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from _trial import Trial

from votedkernels.experiments.records import read_records

N_KILLS = 50
SECONDS = 300
TIMES = ("fit_seconds", "predict_seconds", "finished")
COMMAND = [
    sys.executable, "-c", "from votedkernels.cli import main; main()", "reproduce", "--dataset",
    "ionosphere", "--algorithm", "vkr-dimension", "--algorithm", "vkr-trace", "--jobs", "2",
    "--output",
]  # fmt: skip


def main():
    trial = Trial(
        6,
        f"kill -9 during reproduce, at {N_KILLS} random moments",
        "resumes; records neither lost nor doubled; final table identical",
    )
    random = np.random.default_rng(trial.options.seed)
    n_kills = trial.count(N_KILLS)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        started = time.monotonic()
        expected = outcome(finish(folder / "undisturbed"))
        whole = time.monotonic() - started
        kills = resumed = grown = campaigns = 0
        campaign = folder / "campaign-0"
        while kills < n_kills:
            before = lines_of(campaign)
            killed = kill_one(trial, campaign, random, whole)
            check_lines(trial, f"kill {kills}", before, lines_of(campaign))
            if killed:
                kills += 1
                resumed += len(before) > 1
                grown += len(lines_of(campaign)) > len(before)
                trial.tell(f"{kills} of {n_kills} kills, {len(lines_of(campaign))} lines")
                continue
            campaigns += 1
            compare(trial, campaign, expected)
            campaign = folder / f"campaign-{campaigns}"
        compare(trial, finish(campaign), expected)
    trial.end(
        f"{kills} kills, {resumed} of them in runs that already had records, {grown} after new "
        f"records were written; {campaigns + 1} runs were completed, each with the records and "
        "tables of an uninterrupted run; no process was left"
    )


def finish(folder):
    """Run the experiments to the end."""
    done = subprocess.run(
        [*COMMAND, str(folder)], capture_output=True, text=True, timeout=SECONDS, check=False
    )
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr[-500:]}")
    return folder


def kill_one(trial, folder, random, whole):
    """Run the experiments until a random moment; return whether they were killed before the end."""
    process = subprocess.Popen(
        [*COMMAND, str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    # A resumed run has less to do, so a random moment of the whole time is often too late. Half of
    # the moments are therefore after a new record, while others are computed or written.
    if random.random() < 0.5:
        wait_for_record(process, folder, whole)
        moment = float(random.exponential(0.3))
    else:
        moment = float(random.uniform(0, whole))
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=moment)
    killed = process.poll() is None
    if killed:
        # Sometimes kill the parent alone: its workers must end, too.
        alone = random.random() < 0.3
        with_all = os.killpg if not alone else os.kill
        with_all(process.pid, signal.SIGKILL)
        process.communicate()
    elif process.returncode:
        trial.fail(f"a campaign that was resumed ended with exit code {process.returncode}")
    left = wait_for_group(process.pid)
    if left:
        trial.fail(f"processes {left} stayed behind")
        os.killpg(process.pid, signal.SIGKILL)
    return killed


def wait_for_record(process, folder, seconds):
    """Wait for a new record or the end."""
    n_lines, end = len(lines_of(folder)), time.monotonic() + seconds
    while process.poll() is None and len(lines_of(folder)) <= max(n_lines, 1):
        if time.monotonic() > end:
            return
        time.sleep(0.01)


def wait_for_group(group, seconds=30):
    """Return the processes of a session that do not end."""
    end = time.monotonic() + seconds
    while (left := members_of(group)) and time.monotonic() < end:
        time.sleep(0.05)
    return left


def members_of(session):
    """Return the processes of a session, without zombies."""
    listing = subprocess.run(
        ["ps", "-eo", "pid,sess,stat"], capture_output=True, text=True, check=True
    ).stdout
    rows = (line.split() for line in listing.splitlines()[1:])
    return [int(pid) for pid, sess, state in rows if int(sess) == session and state[0] != "Z"]


def lines_of(folder):
    """Return the complete lines of the records."""
    path = folder / "records.jsonl"
    content = path.read_bytes() if path.exists() else b""
    return content[: content.rfind(b"\n") + 1].splitlines()


def check_lines(trial, where, before, after):
    """Check that a kill has not lost, changed or doubled anything."""
    if after[: len(before)] != before:
        trial.fail(f"{where}: {len(before)} lines were there, and are changed or gone")
    keys = [json.loads(line)["key"] for line in after[1:]]
    if len(set(keys)) < len(keys):
        trial.fail(f"{where}: a record is there twice")


def outcome(folder):
    """Return the records and the tables, without seconds."""
    records = sorted(read_records(folder / "records.jsonl"), key=lambda record: record["key"])
    plain = [{k: v for k, v in record.items() if k not in TIMES} for record in records]
    markdown = (folder / "tables.md").read_text(encoding="utf-8")
    table = (folder / "tables.csv").read_text(encoding="utf-8")
    return (
        plain,
        markdown.partition("### How fits ended")[0],
        [line for line in table.splitlines() if ",seconds," not in line],
    )


def compare(trial, folder, expected):
    """Check that a run has the same result."""
    for one, other, what in zip(
        outcome(folder), expected, ("records", "tables.md", "tables.csv"), strict=True
    ):
        if one != other:
            trial.fail(f"{folder.name}: {what} are not those of the undisturbed campaign")


if __name__ == "__main__":
    sys.exit(main())
