import os
import re
import subprocess
import sys
from itertools import pairwise

import pytest
from support.running import not_tested

FILES = {
    "test_programs.py": """
        import pytest
        @pytest.mark.skipif(True, reason="glpsol (glpk-utils) is not installed")
        @pytest.mark.parametrize("n", range(3))
        def test_skipped(n): pass
        """,
    "test_packages.py": "import pytest; pytest.importorskip('no_aeon', reason='aeon is missing')",
    "test_many.py": """
        import pytest
        @pytest.mark.parametrize("n", range(20))
        def test_number(n): pass
        """,
}


@pytest.fixture
def run(tmp_path):
    """Run pytest with our hooks on these files, and return the lines it prints."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text.replace("\n        ", "\n"), "utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "support.running", "--rootdir", str(tmp_path)]
    # The worker of pytest-xdist that runs this test must not be taken for one of those.
    environment = {key: v for key, v in os.environ.items() if not key.startswith("PYTEST")}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # loading them takes most of the time

    def lines_of(*options):
        done = subprocess.run(
            [*command, *options], cwd=tmp_path, env=environment, capture_output=True, text=True,
            timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.splitlines()

    return lines_of


@pytest.mark.parametrize("workers", [(), ("-p", "xdist", "-n", "2")], ids=["one process", "xdist"])
def test_the_last_line_says_what_was_not_tested(run, workers):
    assert run(*workers)[-1] == (
        "not tested: GLPK (3), aeon (1); "
        "to have it tested: apt install glpk-utils; pip install aeon"
    )
    assert run(*workers, "test_many.py")[-1] == "not tested: nothing, no test was skipped"


def test_other_reasons_are_given_as_they_are():
    assert not_tested(["Skipped: no such clock"]) == "not tested: no such clock (1)"


def test_a_seed_gives_an_order_in_which_files_stay_together(run):
    def order(*options):
        return re.findall(r"^\S+\.py::\S+", "\n".join(run("-v", *options)), re.M)

    plain, first, again, other = (
        order(*options)
        for options in [(), ("--shuffle", "1"), ("--shuffle", "1"), ("--shuffle", "2")]
    )
    assert first == again != plain
    assert sorted(first) == sorted(other) == sorted(plain)
    assert first != other
    files = [name.split("::")[0] for name in first]
    assert len(dict.fromkeys(files)) == 1 + sum(a != b for a, b in pairwise(files))
