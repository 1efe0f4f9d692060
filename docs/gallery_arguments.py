"""What the examples of the gallery are called with: a file to write, outside of the checkout.

A module of its own, because Sphinx keeps its settings in a file and can keep the name of a function
there, but not the function.
"""

import tempfile
from pathlib import Path


def picture(gallery, variables):
    """Return the arguments of an example: where to put its picture."""
    folder = Path(tempfile.gettempdir()) / "votedkernels-gallery"
    folder.mkdir(exist_ok=True)
    return [str(folder / Path(variables["src_file"]).with_suffix(".png").name)]
