"""Where things are."""

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
#: Data that lie beside a checkout; tests that use them are skipped where there are none.
SHARED_DATA = ROOT.parent / "shared" / "data"
