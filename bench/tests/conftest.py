"""The bench's own tests: no server, no clock, but for test_real.py and test_bad_input.py."""

from __future__ import annotations

import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCH), str(BENCH / "tests")]
