"""The fixture of tests that read texts with gold annotations."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., list[Any]]:
    """Documents of a text in a file of some name, in a named layout or the one that is recognised."""
    from headroles.extraction.gold.read import read_documents

    def make(text: str, file: str = "gold.txt", layout: str | None = None) -> list[Any]:
        path = tmp_path / file
        data = text.encode()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
        return list(read_documents(path, "dev", layout))

    return make
