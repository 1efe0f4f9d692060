"""The gallery: an order that teaches, and thumbnails with text that can be read.

A whole figure, shrunk to a thumbnail, has text too small to read. So the first axes of an example's
first figure are drawn again, on a small figure without title, legend and annotations.
"""

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.gridspec import GridSpec
from sphinx_gallery.scrapers import matplotlib_scraper

ORDER = (
    "plot_first_fit",
    "plot_voting_boundary",
    "plot_against_svc",
    "plot_choosing_penalties",
    "plot_probabilities",
    "plot_quantiles",
    "plot_intervals",
    "plot_strings",
    "plot_mass_per_degree",
    "plot_support_path",
    "plot_continuous_widths",
    "plot_bound_terms",
    "plot_time_limit",
    "plot_convergence",
)
SMALL = "small"


class TeachingOrder:
    """The sort key of an example: its place in `ORDER`."""

    def __init__(self, src_dir):
        self.src_dir = src_dir

    def __call__(self, filename):
        return ORDER.index(Path(filename).stem)


def save_figures(block, block_vars, gallery_conf):
    """Save the figures of a block as sphinx-gallery does, then the first one as a thumbnail."""
    pictures = block_vars["image_path_iterator"]
    is_first = len(pictures) == 0 and bool(plt.get_fignums())
    figure = plt.figure(plt.get_fignums()[0]) if is_first else None
    rest = matplotlib_scraper(block, block_vars, gallery_conf)
    if figure is not None:
        folder = Path(pictures.image_path).parent / SMALL
        folder.mkdir(exist_ok=True)
        save_small(figure, folder / f"{Path(block_vars['src_file']).stem}.png")
    return rest


def save_small(figure, path):
    """Change a figure to its first axes, without the text inside, and save it."""
    first, *others = figure.axes
    for axes in others:
        axes.remove()
    if first.get_legend() is not None:
        first.get_legend().remove()
    for text in list(first.texts):
        text.remove()
    first.set_title("")
    first.set_subplotspec(GridSpec(1, 1, figure=figure)[0])
    figure.suptitle("")
    figure.set_layout_engine("constrained")
    figure.set_size_inches(3.2, 2.24)
    figure.savefig(path, dpi=250)


def use_small_thumbnails(app):
    """Put the small pictures where sphinx-gallery has put its thumbnails."""
    images = Path(app.srcdir) / "gallery" / "images"
    for small in (images / SMALL).glob("*.png"):
        thumbnail = images / "thumb" / f"sphx_glr_{small.stem}_thumb.png"
        thumbnail.write_bytes(small.read_bytes())
