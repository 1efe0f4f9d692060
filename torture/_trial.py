"""What trials share: arguments, progress messages and the line of JSON at the end."""

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path


def capture_foreign_output():
    """Send all output that Python does not print to a file; return the file's path.

    Compiled libraries, and processes that are started later, write to the file descriptors 1 and
    2. Python's own streams get copies of these, so that only others write to the file.
    """
    for name, number in (("stdout", 1), ("stderr", 2)):
        getattr(sys, name).flush()
        setattr(sys, name, os.fdopen(os.dup(number), "w", 1, encoding="utf-8"))
    handle, path = tempfile.mkstemp(prefix="foreign-output-")
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    os.close(handle)
    return Path(path)


@dataclass
class Trial:
    """One row of the reliability table.

    Attributes
    ----------
    number : int
        Its place in the table.
    what : str
        What is done to the library.
    must_show : str
        What the result must be.
    failures : list of str
        One message per failed case.
    """

    number: int
    what: str
    must_show: str
    failures: list = field(default_factory=list)

    def __post_init__(self):
        parser = argparse.ArgumentParser(description=f"{self.what}: {self.must_show}")
        parser.add_argument("--share", type=float, default=1.0, help="of the cases, such as 0.1")
        parser.add_argument("--seed", type=int, default=0)
        self.options = parser.parse_args()
        self.started = self._told = time.perf_counter()
        self._foreign = capture_foreign_output()

    def count(self, n_cases):
        """Return how many of this many cases to run."""
        return max(1, round(self.options.share * n_cases))

    def tell(self, text):
        """Print progress, at most every two seconds."""
        now = time.perf_counter()
        if now - self._told >= 2:
            self._told = now
            print(f"  {self.number:2d} {text}", file=sys.stderr, flush=True)

    def fail(self, case):
        """Record a failed case."""
        self.failures.append(str(case))
        print(f"  {self.number:2d} FAILED {case}", file=sys.stderr, flush=True)

    def end(self, shown):
        """Print the line of JSON and exit, with code 0 if nothing failed."""
        printed = self._foreign.read_text(errors="replace").strip()
        if printed:
            self.fail(f"printed past Python: {printed[:300]!r}")
        self._foreign.unlink()
        result = {
            "number": self.number,
            "what": self.what,
            "must_show": self.must_show,
            "shown": shown,
            "failures": self.failures,
            "share": self.options.share,
            "seconds": round(time.perf_counter() - self.started, 1),
        }
        print(json.dumps(result), flush=True)
        sys.exit(1 if self.failures else 0)
