"""A file of short texts in many units, and runs on it that may stop."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headroles import Labelling

UNITS = 150


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300 texts of several lengths in 150 units of two."""
    chance = np.random.default_rng(5)
    words = ["the", "cat", "dog", "house", "rain", "who", "sat", "on", "small", "red", "is"]
    rows = ["text\tdocument"]
    for row in range(2 * UNITS):
        text = " ".join(chance.choice(words, size=chance.integers(9, 20)))
        rows.append(f"{text} {row} .\tdocument {row % UNITS}")
    file = tmp_path_factory.mktemp("texts") / "texts.tsv"
    file.write_text("\n".join(rows) + "\n")
    return file


@pytest.fixture(scope="session")
def settings(planted: Path, texts: Path) -> dict[str, Any]:
    """Options of a run on these texts that may stop."""
    return {
        "data": str(texts), "text_a": "text", "group": "document", "model": str(planted), "max_length": 48,
        "sieve": ["local", "delimiter"], "until": "decided", "units_per_look": 16, "maps": 4,
    }  # fmt: skip


@pytest.fixture
def until(settings: dict[str, Any]) -> Callable[..., Labelling]:
    """Label the planted model on these texts until all heads are decided, unless told otherwise."""
    from headroles import label

    def run(**options: Any) -> Labelling:
        return label(**settings | options)

    return run


@pytest.fixture(scope="session")
def stopped(settings: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that stopped."""
    from headroles import label

    folder = tmp_path_factory.mktemp("runs") / "stopped"
    label(**settings, out=folder)
    return folder
