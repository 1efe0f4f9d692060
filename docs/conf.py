"""Sphinx configuration."""

import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes

import votedkernels

sys.path.insert(0, str(Path(__file__).parent))
from gallery_pictures import use_small_thumbnails
from report_page import ReportOnExperiments

project = "votedkernels"
author = "votedkernels developers"
copyright = f"2026, {author}"
release = version = votedkernels.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
# The gallery's copies of the examples, such as the notebooks, are not pages.
exclude_patterns = ["results/**", "_build", "gallery/**/*.py", "gallery/**/*.ipynb"]
templates_path = ["_templates"]

html_theme = "pydata_sphinx_theme"
html_title = f"votedkernels {release}"
html_static_path = ["_static"]
html_css_files = ["votedkernels.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "votedkernels"},
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "show_toc_level": 2,
    # Pages that need all the width.
    "secondary_sidebar_items": {
        "**": ["page-toc", "edit-this-page", "sourcelink"],
        "index": [],
        "report": [],
    },
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_end": [],
}
# Pages that stand alone have no neighbours to list on the left.
html_sidebars = {"getting-started": [], "changelog": []}

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

default_role = "py:obj"  # of `names` in docstrings
toc_object_entries_show_parents = "hide"
autosummary_generate = True
autodoc_typehints = "none"
# The documentation of the export is built without what the export needs.
autodoc_mock_imports = ["onnx", "skl2onnx"]
# Members are listed in the docstring of their class, without a page for each.
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# MathJax renders mathematics, as in Sphinx by default, but from files next to the pages and not
# from another host: the built pages can be read without a network, and no other host learns who
# reads them. The package sphinx-mathjax-offline has the files. As an extension it would copy all 24
# MB of them; one script and its fonts are enough. (Images would need LaTeX where the pages are
# built, and MathML looks only as good as the reader's fonts.)
mathjax_path = "mathjax/tex-chtml.js"
MATHJAX_FILES = ("tex-chtml.js", "output/chtml/fonts/woff-v2")


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"[\\/]plot_",
    "ignore_pattern": r"demo\.py$",  # compares at length; `make demo` runs it
    "within_subsection_order": "gallery_pictures.TeachingOrder",
    "image_scrapers": ("gallery_pictures.save_figures",),
    "capture_repr": (),
    "abort_on_example_error": True,
    "doc_module": (),
    "download_all_examples": False,
    "min_reported_time": 5,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "thumbnail_size": (800, 560),
    "write_computation_times": False,
}


def copy_mathjax(app, exception):
    """Put MathJax where `mathjax_path` says that it is."""
    if exception is not None or app.builder.format != "html":
        return
    (package,) = find_spec("sphinx-mathjax-offline").submodule_search_locations
    for name in MATHJAX_FILES:
        source = Path(package) / "static" / "mathjax" / name
        target = Path(app.outdir) / "_static" / "mathjax" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copyfile(source, target)


def allow_breaks(app, doctree, docname):  # noqa: ARG001
    """Let long code in tables break after brackets, dots and underscores, and nowhere else."""
    for entry in doctree.findall(nodes.entry):
        for literal in entry.findall(nodes.literal):
            parts = re.split(r"(?<=[(._/=,])(?=\w)", literal.astext())
            literal.clear()
            for part in parts:
                if len(literal) > 0:
                    literal += nodes.raw("", "<wbr>", format="html")
                literal += nodes.Text(part)


def setup(app):
    app.connect("doctree-resolved", allow_breaks)
    app.connect("build-finished", copy_mathjax)
    app.connect("builder-inited", use_small_thumbnails, priority=900)  # after the gallery's own
    app.add_directive("report-on-experiments", ReportOnExperiments)
