"""No kill, error, damage or hostile input loses a run, blesses one or ends in a traceback."""

import random
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tests.faults.children import Ended
from tests.faults.damage import Damage
from tests.faults.mutations import mutate
from tests.faults.parsers import CONLLU, GAP
from tests.faults.strikes import spread

LEAST = {"kills": 30, "errors": 14, "flips": 6_000, "mutations": 2_000}
"""Fewest trials of each part of the short mode."""


@pytest.mark.ci
def test_the_short_mode_finds_no_fault() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults", "--short"],
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = dict(re.findall(r"^(\w+)[^:]*: (.*)$", done.stdout, re.MULTILINE))
    assert [*lines] == [*LEAST]
    for part, least in LEAST.items():
        assert int(re.findall(r"\d+", lines[part])[0]) >= least, lines[part]


def test_the_harness_knows_a_fault_of_every_kind_when_it_sees_one() -> None:
    assert Ended(0, "note\nanother").fault is None
    assert Ended(1, "headroles: no such file\n").fault is None
    assert "lines instead of a sentence" in str(Ended(1, "one\ntwo").fault)
    assert "never ended" in str(Ended(None, "").fault)
    assert "exit code -11" in str(Ended(-11, "").fault)
    said = 'Traceback (most recent call last):\n  File "headroles/a.py", line 3, in b\nKeyError: 1\n'
    assert Ended(1, said).fault == 'traceback: File "headroles/a.py", line 3, in b: KeyError: 1'
    for count in (1, 2, 7, 60):
        numbers = [number for _, number in spread(count, random.Random(count))]
        assert sorted(numbers) == list(range(1, count + 1))
    assert min(abs(one - other) for one, other in pairwise(numbers[:4])) > 10
    changes = [Damage("flip", 1, 3), Damage("cut", 1), Damage("append"), Damage("missing")]
    assert [change.of(b"abc") for change in changes] == [b"aac", b"a", b"abc\n", None]
    seeds = (CONLLU.encode(), GAP.encode())
    chance, again, other = random.Random(1), random.Random(1), random.Random(2)
    made = [mutate(seeds[0], seeds, chance) for _ in range(200)]
    assert made == [mutate(seeds[0], seeds, again) for _ in range(200)]
    assert made != [mutate(seeds[0], seeds, other) for _ in range(200)]
    assert sum(data == seeds[0] for data in made) < 20
    assert any(len(data) > 4300 for data in made)
