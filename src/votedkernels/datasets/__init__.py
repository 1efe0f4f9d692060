"""Real data sets, and a generator, to try the classifiers on.

Two sets and the generator need no network: `load_ionosphere`, `load_breastcancer`,
`make_waveform`. `load` gives any of the eleven data sets of the paper by name.

The labels are -1 and +1; +1 is what one looks for (a malignant sample, a good radar return).
"""

from votedkernels.datasets.bundled import load_breastcancer, load_ionosphere
from votedkernels.datasets.catalogue import CATALOGUE, DataSet
from votedkernels.datasets.loading import load, locate
from votedkernels.datasets.waveform import make_waveform
from votedkernels.exceptions import DataFileError, DataNotFoundError, DownloadError

__all__ = [
    "CATALOGUE",
    "DataFileError",
    "DataNotFoundError",
    "DataSet",
    "DownloadError",
    "load",
    "load_breastcancer",
    "load_ionosphere",
    "locate",
    "make_waveform",
]
