"""Where things are."""

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
#: Data next to a checkout; tests that use them are skipped if there are none.
SHARED_DATA = ROOT.parent / "shared" / "data"
