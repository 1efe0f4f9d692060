"""Every example of the gallery runs, draws, and has the form that sphinx-gallery reads."""

import ast
import re
import runpy

import matplotlib
from support.paths import ROOT

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest

FOLDER = ROOT / "examples"
EXAMPLES = sorted(FOLDER.glob("plot_*.py"))


def test_there_are_examples_and_a_header():
    assert len(EXAMPLES) >= 8
    title, line = (FOLDER / "README.rst").read_text(encoding="utf-8").splitlines()[:2]
    assert line == "=" * len(title)


def test_the_gallery_has_an_order_for_all_of_them():
    text = (ROOT / "docs" / "gallery_pictures.py").read_text(encoding="utf-8")
    order = text.partition("ORDER = (")[2].partition(")")[0]
    assert sorted(re.findall(r'"(\w+)"', order)) == [path.stem for path in EXAMPLES]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_has_a_title_and_prose(path):
    text = path.read_text(encoding="utf-8")
    title, line = ast.get_docstring(ast.parse(text)).splitlines()[:2]
    assert line == "=" * len(title)
    assert "\n# %%\n# " in text
    assert "savefig" not in text


@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive:UserWarning")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_draws(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plt.close("all")
    with matplotlib.rc_context():
        runpy.run_path(str(path), run_name="__main__")
        figures = [plt.figure(number) for number in plt.get_fignums()]
        assert figures
        for figure in figures:
            figure.canvas.draw()
            assert len(np.unique(np.asarray(figure.canvas.buffer_rgba()))) > 10  # not blank
            for ax in figure.axes:
                assert ax.has_data() or ax.images or ax.collections
    plt.close("all")
    assert not list(tmp_path.iterdir())  # nothing is left behind
