"""Fixtures shared by the tests: where the reference material is, and examples drawn by hand."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def needed(path: Path, what: str) -> Path:
    """The path, or a skip; a failure instead where everything is required."""
    if path.exists():
        return path
    reason = f"{what} is not here ({path})"
    if os.environ.get("HEADROLES_REQUIRE_ALL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Reference data and golden values, which are not part of the project."""
    return needed(ROOT.parent / "shared", "the folder of reference data")
