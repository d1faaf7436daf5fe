"""Runs that ask what makes heads attend, on the model whose heads are written by hand."""

from pathlib import Path

import pytest

import headroles
from headroles import Labelling
from tests.support.planted import write_pairs

PAIRS = 240


@pytest.fixture(scope="session")
def labelled(planted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a label run on 240 pairs, beside its table."""
    folder = tmp_path_factory.mktemp("why")
    data = write_pairs(folder / "pairs.tsv", PAIRS)
    headroles.label(
        "QNLI", data=data, model=planted, max_length=48, sieve=["local", "delimiter", "block"], maps=0,
        out=folder / "labels",
    )  # fmt: skip
    return folder / "labels"


@pytest.fixture(scope="session")
def asked(labelled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that asks about these roles; tests that write into it take a copy."""
    folder = tmp_path_factory.mktemp("asked") / "run"
    headroles.why(labelled, rotations=199, out=folder)
    return folder


@pytest.fixture(scope="session")
def answered(asked: Path) -> Labelling:
    """The same run, as it is loaded."""
    return headroles.load(asked)
