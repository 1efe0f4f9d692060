"""The command line: helpful, documented, and without tracebacks."""

import os
import signal
import subprocess
import sys
import threading
import time
import tomllib
from importlib import import_module

import click
import pytest
from support.paths import ROOT
from support.published import invented, original, serving

from votedkernels import __version__
from votedkernels.cli import group, main
from votedkernels.cli.group import COMMANDS
from votedkernels.datasets import CATALOGUE, DataFileError, fetching
from votedkernels.datasets.reading import write_samples

DOCUMENTATION = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Set up an empty cache, no data folder and no server; return the folder of the cache."""
    monkeypatch.delenv("VOTEDKERNELS_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for variable in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(variable, "127.0.0.1")
    monkeypatch.setenv(fetching.MIRROR, "http://127.0.0.1:9")
    return tmp_path / "cache"


@pytest.fixture
def call(capsys):
    """Return a function that runs a command and returns exit code, output and error output."""

    def run(*args):
        with pytest.raises(SystemExit) as ended:
            main(args)
        printed = capsys.readouterr()
        return ended.value.code, printed.out, printed.err

    return run


def every_command():
    """Return all commands with their full names, including those of nested groups."""
    context = click.Context(group.votedkernels)
    found = [("votedkernels", group.votedkernels)]
    for name, command in found:
        for child in command.list_commands(context) if isinstance(command, click.Group) else ():
            found.append((f"{name} {child}", command.get_command(context, child)))
    return found


COMMAND_PARAMETERS = [
    pytest.param(name, command, parameter, id=f"{name} {parameter.name}")
    for name, command in every_command()
    for parameter in command.get_params(click.Context(command))
]


@pytest.mark.parametrize(("name", "command"), every_command())
def test_every_command_has_help_and_documentation(name, command):
    assert command.help
    assert command.help.strip().endswith(".")
    assert f"`{name}" in DOCUMENTATION, f"docs/command-line.md does not tell of {name}"


@pytest.mark.parametrize(("name", "command", "parameter"), COMMAND_PARAMETERS)
def test_every_parameter_has_help_and_documentation(name, command, parameter):
    if isinstance(parameter, click.Option):
        assert parameter.help
        shown = parameter.opts[0]
    else:  # click has no help for arguments, so the command's help must mention them
        shown = parameter.metavar or parameter.name.upper()
        assert shown in command.help
    assert shown in DOCUMENTATION, f"docs/command-line.md does not tell of {shown} of {name}"


def test_the_table_of_commands_says_what_the_commands_say():
    for name, command in every_command()[1:]:
        if name.count(" ") == 1:
            assert command.help.startswith(COMMANDS[name.split()[1]])


def test_help_lists_the_commands_without_importing_them(call, monkeypatch):
    monkeypatch.setattr(group, "import_module", lambda name: pytest.fail(f"{name} was imported"))
    for args in ((), ("--help",), ("-h",)):
        code, out, err = call(*args)
        assert (code, err) == (0, "")
        for name in COMMANDS:
            assert f"\n  {name} " in out


def test_the_script_is_the_one_of_the_package():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    module, function = tomllib.loads(text)["project"]["scripts"]["votedkernels"].split(":")
    assert getattr(import_module(module), function) is main


def test_version(call):
    assert call("--version") == (0, f"votedkernels, version {__version__}\n", "")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["nonsense"], "there is no command 'nonsense'; the commands are fit, predict"),
        (["--nonsense"], "there is no option --nonsense; 'votedkernels -h' lists all options"),
        (["datasets", "iris"], "'iris' is not one of 'breastcancer'"),
        (["datasets", "--nonsense"], "'votedkernels datasets -h' lists all options"),
        (["datasets", "--fecth"], "there is no option --fecth; did you mean '--fetch'?"),
        (["predcit"], "there is no command 'predcit'; did you mean 'predict'?"),
        (["datasets", "--data-dir", "/no/such/folder"], "data_dir is '/no/such/folder'"),
        (["datasets", "--fetch", "ocr49"], "the ocr49 data are not on this machine"),
        (["datasets", "--fetch", "climate"], "could not download the climate data from http://127"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_expected_error_is_one_line(call, args, words):
    code, _, err = call(*args)
    assert code == 2
    assert err.startswith("votedkernels: ")
    assert words in err
    assert len(err.splitlines()) == 1


@pytest.fixture
def failing(monkeypatch):
    """Return a function that makes the command ``datasets`` raise a given error."""

    def enter(error):
        @click.command()
        def datasets():
            raise error

        module = type("Module", (), {"datasets": datasets})
        monkeypatch.setattr(group, "import_module", lambda name: module)

    return enter


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (DataFileError("x.csv, line 3:\nno good."), "x.csv, line 3: no good."),
        (PermissionError(13, "Permission denied", "x.csv"), "x.csv: Permission denied"),
        (OSError("the disk is full"), "the disk is full"),
        (click.ClickException("no"), "no"),
    ],
)
def test_errors_of_ours_and_of_the_system_are_expected(call, failing, error, words):
    failing(error)
    assert call("datasets") == (2, "", f"votedkernels: {words}\n")


@pytest.mark.parametrize("error", [ValueError("a bug"), TypeError("a bug"), KeyError("a bug")])
def test_a_bug_keeps_its_traceback(failing, error):
    failing(error)
    with pytest.raises(type(error), match="a bug"):
        main(["datasets"])


def test_an_interrupt_ends_with_130(call, failing):
    failing(KeyboardInterrupt())
    code, out, err = call("datasets")
    # click ends the line that shows ^C
    assert (code, out, err.strip()) == (130, "", "votedkernels: stopped; nothing was written.")


def run_python(code, **kwargs):
    # Shells start jobs in the background with Ctrl-C ignored, and the tests may be such a job.
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    arguments = [sys.executable, "-c", heed + code]
    return subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kwargs
    )


def test_control_c_in_a_download_leaves_nothing(cache):
    asked, answer = threading.Event(), threading.Event()

    class Waiting(dict):
        def get(self, path, default=None):
            asked.set()
            answer.wait(60)
            return (404, b"", {})

    with serving(Waiting()) as address:
        process = run_python(
            "from votedkernels.cli import main; main(['datasets', '--fetch', 'climate'])",
            env={**os.environ, fetching.MIRROR: address},
        )
        assert asked.wait(60)
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        answer.set()
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert not list(cache.rglob("*.csv*"))


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_without_the_extra_one_line_tells_what_to_install(missing):
    process = run_python(
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from votedkernels.cli import main; main(['datasets'])"
    )
    out, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert out == ""
    assert err == (f"votedkernels: this needs {missing}; try pip install 'votedkernels[cli]'.\n")


def rows_of(out):
    return {line.split()[0]: line for line in out.splitlines() if line.split()}


def test_datasets_lists_what_is_known_and_where(call):
    code, out, err = call("datasets")
    assert (code, err) == (0, "")
    rows = rows_of(out)
    for facts in CATALOGUE.values():
        row = rows[facts.name]
        for n in (facts.n_samples, facts.n_features, facts.n_positive, facts.n_negative):
            assert f" {n} " in row
        assert facts.licence in row
        bundled = facts.name in ("breastcancer", "ionosphere")
        assert ("not here" in row) != bundled
        assert (f"{facts.name}.csv" in row) == bundled


def test_datasets_names_the_file_that_would_be_read(call, tmp_path):
    folder = tmp_path / "[red]:smile: data"
    write_samples(invented("musk")[0], folder / "musk.csv")
    code, out, _ = call("datasets", "musk", "climate", "--data-dir", str(folder))
    assert code == 0
    assert str(folder / "musk.csv") in out
    assert list(rows_of(out))[2:] == ["musk", "climate"]


def test_datasets_check_reads_the_files(call, tmp_path):
    assert call("datasets", "--check")[0] == 0
    path = tmp_path / "musk.csv"
    write_samples(invented("musk")[0], path)
    code, out, err = call("datasets", "--check", "--data-dir", str(tmp_path))
    assert code == 2
    assert str(path) in out
    assert err.startswith(f"votedkernels: {path} is not the musk data: it has 12 rows, not 476")


def test_datasets_fetch_downloads_what_it_can(call, cache, monkeypatch):
    pages = {}
    for name in ("musk", "german"):
        samples, facts = invented(name)
        monkeypatch.setitem(CATALOGUE, name, facts)
        pages["/" + facts.address.split("/", 3)[3]] = original(name, samples)
    with serving(pages) as address:
        monkeypatch.setenv(fetching.MIRROR, address)
        code, out, err = call("datasets", "--fetch", "german")
        assert (code, err) == (0, "")
        assert f"{cache}" in rows_of(out)["german"]
        code, out, err = call("datasets", "--fetch")
    assert code == 2
    assert f"{cache}" in rows_of(out)["musk"]
    assert "not here" in rows_of(out)["climate"]
    assert err.count("404 Not Found") == 6
    assert len(err.splitlines()) == 1
    assert sorted(path.name for path in cache.rglob("*.*")) == ["german.csv", "musk.csv"]
