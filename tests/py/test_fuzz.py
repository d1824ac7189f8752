"""The protocol fuzzer (tests/fuzz): what it once found, and 300 random sequences.

The library's server must answer every message as one without the library does. `make fuzz` runs
more; a failure prints the script that shows it, which `--replay` takes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import ROOT

sys.path.insert(0, str(ROOT / "tests"))

from fuzz.runner import Pair
from fuzz.script import Script
from fuzz.sequences import sequence
from fuzz.shrink import smallest

KNOWN = sorted((ROOT / "tests" / "fuzz" / "known").glob("*.fuzz"))
SEED = int(os.environ.get("PFS_FUZZ_SEED", "1"))
COUNT = int(os.environ.get("PFS_FUZZ_COUNT", "300"))
FINDINGS = 3
"""So many are shown, then it is enough."""
SHRINK_S = 20.0
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def pair(pg_config: str) -> Iterator[Pair]:
    """The two servers."""
    with Pair(pg_config) as servers:
        yield servers


@pytest.mark.parametrize("path", KNOWN, ids=lambda path: path.stem)
def test_known_sequence(pair: Pair, path: Path) -> None:
    """What was found once, by hand or by the fuzzer."""
    script = Script.read(path)
    finding = pair.run(script)
    assert finding is None, finding.text(script)


def test_random_sequences(pair: Pair) -> None:
    """Nobody can tell from the answers that the library is there."""
    found = []
    for number in range(COUNT):
        script = sequence(SEED, number)
        finding = pair.run(script)
        if finding is None:
            continue
        small = smallest(script, pair.run, SHRINK_S) if not found else None
        found.append(small.text() if small else f"{finding.text(script)}\n{script.text()}")
        if len(found) == FINDINGS:
            break
    assert not found, f"seed {SEED}:\n" + "\n".join(found)


def test_sequences_are_the_same_each_time() -> None:
    """Seed and number are all that is needed to repeat a sequence."""
    assert sequence(7, 3).text() == sequence(7, 3).text() != sequence(7, 4).text()
