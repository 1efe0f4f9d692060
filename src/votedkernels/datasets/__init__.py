"""Real data sets and a generator, to try the classifiers on.

Two data sets and the generator need no network: `load_ionosphere`, `load_breastcancer` and
`make_waveform`. `load` returns any of the paper's eleven data sets by name.

Labels are -1 and +1; +1 is the class of interest (a malignant sample, a good radar return).
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
