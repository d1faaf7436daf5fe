"""Recorded runs made again, and the same runs made on the seeded checkpoint: once a session, read-only."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.contract.kinds import make, prepare_models
from tests.contract.recorded import READ, make_again, words_of

Again = Callable[[str], tuple[Path, dict[str, str]]]
Made = Callable[[str], Path]


@pytest.fixture(scope="session")
def again(tmp_path_factory: pytest.TempPathFactory) -> Again:
    """Make a recorded result again; gives its folder and all its words."""
    workspace = tmp_path_factory.mktemp("again")

    @cache
    def get(name: str) -> tuple[Path, dict[str, str]]:
        if name == "prune":
            prepare_models(workspace)
        result: Any = make_again(name, workspace)
        return workspace / name, words_of(name, workspace, result)

    return get


@pytest.fixture(scope="session")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with inputs, checkpoints and stored maps, in which runs are made."""
    folder = tmp_path_factory.mktemp("live")
    make(folder, ())
    return folder


@pytest.fixture(scope="session")
def made(workspace: Path) -> Made:
    """Make a run of a kind on the checkpoint, in the workspace, when it is first needed; gives its folder."""

    def get(name: str) -> Path:
        needed = READ.get(name, ("label",) if name in ("ablate", "why") else ())
        make(workspace, (*needed, name))
        return workspace / name

    return get
