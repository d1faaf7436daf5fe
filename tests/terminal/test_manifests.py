"""Every writer takes the manifest of maps from anywhere, which names few facts."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from headroles.kinds import kind_of
from headroles.records.findings import Labelling
from headroles.reports.page import page_of
from headroles.reports.print.tables import table_text
from headroles.terminal.console import Detail
from headroles.terminal.run import show_result
from tests.support.clustered_runs import clustered_run

MODEL = {"name": "maps", "layers": 2, "heads": 3}
FEW: list[Mapping[str, Any]] = [
    {},
    {"model": MODEL},
    {"model": MODEL, "source": {"kind": "maps", "name": "maps.npz"}, "counts": {"examples": 9}},
]


@pytest.fixture(scope="module")
def runs(probed_run: Callable[..., Labelling], surface_run: Callable[..., Labelling]) -> list[Labelling]:
    return [
        probed_run(("all", "det"), shape=(30, 2, 3)),
        surface_run((20, 2, 3)),
        clustered_run(2, 3),
        replace(clustered_run(2, 3), clustered=None),
    ]


@pytest.mark.parametrize("facts", FEW)
def test_every_kind_of_run_is_shown_with_the_facts_that_there_are(
    runs: list[Labelling], facts: Mapping[str, Any]
) -> None:
    for run in runs:
        bare = replace(run, manifest=facts)
        console = Console(width=120, color_system=None, force_terminal=True)
        with console.capture() as captured:
            show_result(console, bare, "runs/x", Detail(verbose=True))
        shown = captured.get()
        assert f"model   {'maps' if facts else 'unknown'}\n" in shown
        assert ("the file maps.npz: 9 examples" in shown) == ("source" in facts)
        assert "None" not in shown.replace("None of ", "")
        assert page_of(bare).startswith("<!doctype html>")
        assert bare._repr_html_()
        for name in kind_of(bare).tables(bare):
            assert table_text(bare, name)
