"""Progress goes to the right place in the right form."""

import contextlib
import io
import os
import pty
import re
import subprocess
import sys
import threading

import pytest

from votedkernels._system import progress_display
from votedkernels._system.progress_display import ProgressDisplay

#: The module alone is run, because importing the package takes longer.
SCRIPT = """
import runpy, sys, time
ProgressDisplay = runpy.run_path(sys.argv[2])["ProgressDisplay"]
with ProgressDisplay("Fit", int(sys.argv[1])) as display:
    for number in range(3):
        time.sleep(0.15)
        display.step(f"step {number} [red]")
        display.detail(f"detail {number}")
    display.finish("all done")
"""


def run_in_terminal(verbose, script=SCRIPT, **environment):
    """Run a script with a terminal as standard error; return what the terminal got."""
    main, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(verbose), progress_display.__file__],
        stderr=terminal,
        stdout=subprocess.DEVNULL,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "80"} | environment,
    )
    os.close(terminal)
    received = b""
    while True:
        try:
            piece = os.read(main, 4096)
        except OSError:
            break
        if not piece:
            break
        received += piece
    assert process.wait() == 0
    os.close(main)
    return received.decode()


def shown(text):
    """What is left on a terminal: text after the last carriage return of each line."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    lines = [line.rstrip("\r").rpartition("\r")[2].strip() for line in text.split("\n")]
    return [line for line in lines if line]


def speak(verbose):
    with ProgressDisplay("Fit", verbose) as display:
        display.step("step")
        display.detail("detail")
        display.finish("done")


@pytest.mark.parametrize(
    ("verbose", "words"), [(1, ["step", "done"]), (2, ["step", "detail", "done"])]
)
def test_a_file_gets_one_line_per_step(verbose, words):
    with contextlib.redirect_stderr(io.StringIO()) as stderr:
        speak(verbose)
    assert re.sub(r"\d\.\d s", "T", stderr.getvalue()).splitlines() == [
        f"Fit, T: {word}" for word in words
    ]


def test_a_terminal_keeps_the_last_line_only():
    pytest.importorskip("rich")
    received = run_in_terminal(1)
    assert "step 1 [red]" in received
    kept = [line for line in shown(received) if line.startswith("Fit, ")]
    assert len(kept) == 1
    assert kept[0].endswith("all done")


def test_a_long_line_leaves_room_for_the_clock_and_for_an_interrupt():
    pytest.importorskip("rich")
    received = run_in_terminal(1, SCRIPT.replace("step ", "step " + 20 * "word "), COLUMNS="60")
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", received)
    lines = [line for line in re.split("[\r\n]", plain) if "word word" in line]
    assert lines
    assert all(len(line.rstrip()) <= 58 for line in lines)
    assert all(re.search(r"\.\.\. 0:00:\d\d$", line.rstrip()) for line in lines)


def test_a_terminal_keeps_all_lines_at_verbose_2():
    received = run_in_terminal(2)
    for word in ("step 0 [red]", "detail 2", "all done"):
        assert re.search(rf"Fit, 0\.\d s: {re.escape(word)}", received)


def test_a_terminal_without_rich_overwrites_its_line():
    broken = "import sys; sys.modules['rich'] = sys.modules['rich.console'] = None\n"
    received = run_in_terminal(1, broken + SCRIPT)
    assert "\x1b" not in received
    assert "\rFit: step 1 [red]" in received
    assert shown(received)[-1].endswith("all done")
    assert len(shown(received)) == 1


def test_a_dumb_terminal_gets_plain_lines():
    received = run_in_terminal(1, TERM="dumb")
    assert "\x1b" not in received
    assert len(shown(received)) == 4


def test_a_notebook_overwrites_its_line(monkeypatch):
    class OutStream(io.StringIO):
        """Notebooks replace standard error by a stream of this name."""

    OutStream.__module__ = "ipykernel.iostream"
    stream = OutStream()
    monkeypatch.setattr(progress_display, "PAUSE", 0.0)
    with contextlib.redirect_stderr(stream):
        speak(1)
    text = stream.getvalue()
    assert text.startswith("\rFit: step")
    assert "\rFit: detail" in text
    assert shown(text) == [text.splitlines()[-1].rpartition("\r")[2].strip()]
    assert text.endswith(": done\n")


def test_threads_write_lines_even_in_a_terminal(monkeypatch):
    stderr = io.StringIO()
    monkeypatch.setattr(stderr, "isatty", lambda: True, raising=False)
    worker = threading.Thread(target=speak, args=(1,))
    with contextlib.redirect_stderr(stderr):
        worker.start()
        worker.join()
    assert stderr.getvalue().count("\n") == 2
    assert "\r" not in stderr.getvalue()


def test_no_standard_error_is_no_error(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    speak(2)


def test_long_lines_are_cut():
    stream = io.StringIO()
    line = progress_display.OverwrittenLine(30)
    with contextlib.redirect_stderr(stream):
        line.show("x" * 50)
        line.close()
    assert stream.getvalue().split("\r")[1] == "x" * 27 + "..."
