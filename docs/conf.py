"""Sphinx configuration."""

import votedkernels

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
]
exclude_patterns = ["results/**", "_build"]
templates_path = ["_templates"]
html_theme = "furo"
html_title = f"votedkernels {release}"
html_static_path = ["_static"]

myst_enable_extensions = ["dollarmath"]

autosummary_generate = True
autodoc_typehints = "none"
# The documentation of the export is built without what the export needs.
autodoc_mock_imports = ["onnx", "skl2onnx"]
# Members are listed in the docstring of their class, without a page for each.
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
