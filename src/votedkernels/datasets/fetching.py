"""Download the originals and store them in the format of this package.

A download is kept in memory until its content has been checked. Only then is a file written, to the
user's cache and nowhere else.
"""

import io
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from votedkernels.datasets.catalogue import DataSet
from votedkernels.datasets.originals import read_original
from votedkernels.datasets.reading import MAX_BYTES, Samples, check_content, write_samples
from votedkernels.exceptions import DataFileError, DownloadError, DownloadTooLarge

MIRROR = "VOTEDKERNELS_MIRROR"
"""The environment variable that names the host to use instead of those in the catalogue."""

_TIMEOUT = 30  # seconds without receiving a byte


def cache_folder() -> Path | None:
    """Return the folder for downloaded data; None without pooch, which chooses the folder."""
    try:
        import pooch
    except ModuleNotFoundError:
        return None
    return Path(pooch.os_cache("votedkernels"))


def fetch(facts: DataSet) -> Samples:
    """Download a data set that has an address, check it, and store it in the cache."""
    folder = cache_folder()
    if folder is None:
        raise DownloadError(
            f"downloading the {facts.name} data needs pooch; try pip install 'votedkernels[cli]'."
        )
    address = address_of(facts)
    samples = read_original(_download(address, facts.name), facts, address)
    check_content(samples.X, samples.y, facts, address)
    write_samples(samples, folder / f"{facts.name}.csv")
    return samples


def address_of(facts: DataSet) -> str:
    """Return where to download a data set: its address, or the same path on the mirror."""
    assert facts.address is not None
    mirror = os.environ.get(MIRROR)
    return mirror.rstrip("/") + urlsplit(facts.address).path if mirror else facts.address


def _download(address: str, name: str) -> bytes:
    # Both are slow to import, and most calls need neither. pooch depends on requests.
    import pooch
    import requests

    received = _Bounded()
    try:
        pooch.HTTPDownloader(timeout=_TIMEOUT, chunk_size=1 << 16)(address, received, None)
    except requests.RequestException as error:
        raise DownloadError(
            f"could not download the {name} data from {address}: {_reason(error)}."
        ) from error
    except DownloadTooLarge:
        raise DataFileError(f"{address}: the download has more than {MAX_BYTES} bytes.") from None
    return received.getvalue()


class _Bounded(io.BytesIO):
    """A buffer that refuses to grow beyond `MAX_BYTES`."""

    def write(self, data: Any) -> int:
        if self.tell() + len(data) > MAX_BYTES:
            raise DownloadTooLarge
        return super().write(data)


def _reason(error: Any) -> str:
    """Say in a few words why a request failed."""
    import requests

    if error.response is not None:
        return f"{error.response.status_code} {error.response.reason}"
    reasons = {
        requests.Timeout: f"no answer within {_TIMEOUT} seconds",
        requests.exceptions.ChunkedEncodingError: "the connection was lost",
        requests.ConnectionError: "no connection",
    }
    known = (words for kind, words in reasons.items() if isinstance(error, kind))
    return next(known, type(error).__name__)
