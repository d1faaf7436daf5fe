"""Fixtures of tests of pruning: tiny models, and finished runs of ablations in folders."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.pruning.made import Made, ablated_run, made_of  # noqa: F401

MadeOf = Callable[[str], Made]
SMALL = "<!doctype html><title>report</title>"


@pytest.fixture(autouse=True)
def _small_pages(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write small pages in place of reports, which take longer to draw than tiny models run."""
    if request.node.get_closest_marker("with_report"):
        return
    from headroles.reports.causal import page, pruning_page

    monkeypatch.setattr(page, "ablation_page", lambda labelling: SMALL)
    monkeypatch.setattr(pruning_page, "pruning_page", lambda pruning, files: SMALL)


@pytest.fixture
def run_of(made_of: MadeOf, tmp_path: Path) -> Callable[..., Path]:  # noqa: F811
    """The folder of a run of ablations of a tiny model, by its name."""
    from headroles.exporting import save

    def make(name: str, folder: str = "run", **options: Any) -> Path:
        place = tmp_path / folder
        save(ablated_run(made_of(name), **options), place)
        return place

    return make
