"""Versions, for bug reports."""

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from threadpoolctl import threadpool_info

from . import _native
from ._version import __version__

# Distribution names. The version of highspy is that of HiGHS, the linear programming solver.
_DEPENDENCIES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "highspy",
    "numba",
    "joblib",
    "threadpoolctl",
    "matplotlib",
    "pandas",
    "polars",
)


def show_versions() -> None:
    """Print the versions of votedkernels, Python and the main dependencies, for bug reports.

    It imports only NumPy, SciPy and their BLAS libraries, so that it also works if another
    package is broken.

    Examples
    --------
    >>> from votedkernels import show_versions
    >>> show_versions()  # doctest: +SKIP
    """
    _print_section(
        "System",
        [
            ("python", sys.version.replace("\n", " ")),
            ("executable", sys.executable),
            ("machine", platform.platform()),
            ("compiled loops", "none" if _native.loops is None else _native.loops.CPU),
        ],
    )
    _print_section(
        "Packages",
        [("votedkernels", __version__), *((name, _installed(name)) for name in _DEPENDENCIES)],
    )
    _print_section("Thread pools", _describe_thread_pools())


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _describe_thread_pools() -> list[tuple[str, str]]:
    """Return the name, version and thread count of each BLAS and OpenMP library in this process."""
    import numpy  # noqa: F401  loads its BLAS
    import scipy.linalg  # noqa: F401  loads its own BLAS

    return [
        (
            f"{pool['user_api']} ({pool['internal_api']})",
            f"version {pool['version']}, {pool['num_threads']} threads",
        )
        for pool in threadpool_info()
    ]


def _print_section(title: str, entries: list[tuple[str, str]]) -> None:
    width = max((len(name) for name, _ in entries), default=0)
    print(f"\n{title}:")
    for name, value in entries:
        print(f"{name:>{width + 4}}: {value}")
