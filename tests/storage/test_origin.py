"""Single files of a user are replaced on request only; those that headroles wrote are replaced at once."""

from collections.abc import Callable
from pathlib import Path

import pytest

import headroles
from headroles.comparing.replicate import COLUMNS
from headroles.errors import BadInput
from headroles.exporting import figures, report, table
from headroles.reports.print.files import _make_repeatable
from headroles.storage.integrity.origin import FIGURE_MARKS, check_replaceable, check_replaceable_at, mark_of
from headroles.storage.places import place_of

FOREIGN = "is there and was not written by headroles; give --overwrite to replace it, or another --out"
MINE = "my own notes\n"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(25)
DRAWN = {"svg": b'<svg width="1" height="1"></svg>', "png": PNG, "pdf": b"%PDF-1.4\n%%EOF\n"}


def _refuses_and_replaces(path: Path, write: Callable[[bool], object]) -> None:
    """Check that a foreign file stays without, and is replaced with overwrite; and own ones without it."""
    path.write_text(MINE)
    with pytest.raises(BadInput, match=FOREIGN):
        write(False)
    assert path.read_text() == MINE
    write(True)
    written = path.read_bytes()
    assert written != MINE.encode()
    write(False)
    assert path.read_bytes() == written


@pytest.mark.with_report
def test_a_report_replaces_reports_only(run: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.html"
    _refuses_and_replaces(own, lambda overwrite: report(run, own, overwrite=overwrite))
    (run / "report.html").write_text(MINE)
    report(run)
    assert (run / "report.html").read_bytes() == own.read_bytes()


@pytest.mark.parametrize("form", ["markdown", "latex", "csv"])
def test_a_table_replaces_tables_with_its_columns_only(form: str, finished: Path, tmp_path: Path) -> None:
    own = tmp_path / "roles.txt"
    _refuses_and_replaces(own, lambda overwrite: table(finished, "roles", form, out=own, overwrite=overwrite))
    assert own.read_text() == table(finished, "roles", form)


def test_a_table_of_other_columns_is_kept(finished: Path, tmp_path: Path) -> None:
    own = tmp_path / "roles.csv"
    table(finished, "roles", "csv", out=own)
    with pytest.raises(BadInput, match=FOREIGN):
        table(finished, "findings", "csv", out=own)


def test_a_table_takes_no_part_of_a_run_and_no_folder(run: Path, tmp_path: Path) -> None:
    before = (run / "findings.csv").read_bytes()
    with pytest.raises(BadInput, match="must not replace a file of its run"):
        table(run, "findings", "csv", out=run / "findings.csv", overwrite=True)
    for place in (tmp_path, "s3://bucket/table.md"):
        with pytest.raises(BadInput, match="a table is written to a file of this machine"):
            table(run, out=place)
    assert (run / "findings.csv").read_bytes() == before


@pytest.fixture
def painted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures without a browser: one bare file of the form each."""

    def drawn(plots: dict[str, object], form: str) -> dict[str, bytes]:
        return {name: DRAWN[form] + str(FIGURE_MARKS[form]).encode() for name in plots}

    monkeypatch.setattr("headroles.reports.print.files.files_of", drawn)


@pytest.mark.usefixtures("painted")
def test_figures_replace_figures_only_outside_of_a_run(run: Path, tmp_path: Path) -> None:
    place = tmp_path / "paper"
    place.mkdir()
    _refuses_and_replaces(
        place / "matrix.svg", lambda overwrite: figures(run, "svg", place, overwrite=overwrite)
    )
    (run / "figures").mkdir()
    (run / "figures" / "matrix.svg").write_text(MINE)
    figures(run)
    assert (run / "figures" / "matrix.svg").read_text() != MINE


def test_every_form_of_figures_has_its_mark() -> None:
    import plotly.graph_objects as go

    figure = go.Figure(layout={"width": 100, "height": 50})
    for form, data in DRAWN.items():
        made = _make_repeatable(data, form, figure)
        mark = FIGURE_MARKS[form]
        assert mark_of(made) == (mark.encode() if isinstance(mark, str) else mark)


def test_a_view_replaces_views_only(finished: Path, tmp_path: Path) -> None:
    own, drawn = tmp_path / "view.html", tmp_path / "view.svg"
    weights = _even(4)

    def write(overwrite: bool) -> object:
        return headroles.view(weights, list("abcd"), layers=0, out=own, svg=drawn, overwrite=overwrite)

    _refuses_and_replaces(own, write)
    _refuses_and_replaces(drawn, write)
    viewed = headroles.view(weights, list("abcd"))
    _refuses_and_replaces(own, lambda overwrite: viewed.save(own, overwrite=overwrite))


def _even(tokens: int) -> object:
    import numpy as np

    return np.full((1, 2, tokens, tokens), 1 / tokens)


def test_a_replication_replaces_its_own_table_only(finished: Path, tmp_path: Path) -> None:
    own = tmp_path / "roles.csv"
    own.write_text(MINE)
    with pytest.raises(BadInput, match=FOREIGN):
        headroles.replicate(finished, finished, out=own)
    own.write_text(",".join(COLUMNS) + "\n")
    with pytest.raises(BadInput, match="a replication needs new inputs"):
        headroles.replicate(finished, finished, out=own)


def test_a_file_at_an_address_is_looked_at(finished: Path) -> None:
    import fsspec

    place = place_of("memory://origin")
    system = fsspec.filesystem("memory")
    try:
        check_replaceable_at(place, "report.html", "mark", overwrite=False)
        place.write("report.html", MINE.encode())
        with pytest.raises(BadInput, match="'memory://origin/report.html' " + FOREIGN):
            report(finished, "memory://origin/report.html")
        report(finished, "memory://origin/report.html", overwrite=True)
        assert place.read("report.html") != MINE.encode()
    finally:
        system.rm("/origin", recursive=True)


def test_a_mark_counts_at_the_beginning_of_a_table_line_only(tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("key,layer,head\n")
    with pytest.raises(BadInput, match=FOREIGN):
        check_replaceable(other, mark_of("layer,head\n0,1\n"), overwrite=False)
    check_replaceable(tmp_path / "missing.csv", mark_of("layer,head\n"), overwrite=False)
