"""Random sequences of the raw protocol, run with and without the library; see README.md."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
for folder in ("scripts", "tests/py"):  # pfs_cluster, helpers
    if str(ROOT / folder) not in sys.path:
        sys.path.append(str(ROOT / folder))
