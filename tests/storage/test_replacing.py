"""What may be replaced, and what stays of others."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import headroles
from headroles import Labelling
from headroles.errors import BadInput
from headroles.exporting import figures, report, table
from headroles.storage import FIGURE_MARKS, check_free
from tests.support.crashing import replace_everywhere
from tests.support.folders import contents, names

Label = Callable[..., Labelling]
FOREIGN = "is there and was not written by headroles; give --overwrite to replace it, or another --out"
MINE = "my own notes\n"


@pytest.fixture
def painted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures without a browser: one bare file of the form each."""
    from headroles.reports import files_of

    def drawn(plots: dict[str, object], form: str) -> dict[str, bytes]:
        return {name: b"<svg></svg>" + str(FIGURE_MARKS[form]).encode() for name in plots}

    replace_everywhere(monkeypatch, files_of, drawn)


@pytest.mark.with_report
@pytest.mark.usefixtures("painted")
def test_files_of_a_user_are_replaced_on_request_only(run: Path, tmp_path: Path) -> None:
    even = np.full((1, 2, 4, 4), 1 / 4)
    (tmp_path / "paper").mkdir()
    writers: dict[str, Callable[[Path, bool], object]] = {
        "report.html": lambda path, over: report(run, path, overwrite=over),
        "view.html": lambda path, over: headroles.view(even, list("abcd"), out=path, overwrite=over),
        "view.svg": lambda path, over: headroles.view(even, list("abcd"), layers=0, svg=path, overwrite=over),
        "paper/matrix.svg": lambda path, over: figures(run, "svg", path.parent, overwrite=over),
        "markdown": lambda path, over: table(run, "roles", "markdown", out=path, overwrite=over),
        "csv": lambda path, over: table(run, "roles", "csv", out=path, overwrite=over),
    }
    for name, write in writers.items():
        path = tmp_path / name
        path.write_text(MINE)
        with pytest.raises(BadInput, match=FOREIGN):
            write(path, False)
        assert path.read_text() == MINE, name
        write(path, True)
        written = path.read_bytes()
        assert written != MINE.encode()
        write(path, False)
        assert path.read_bytes() == written, name
    with pytest.raises(BadInput, match=FOREIGN):  # a table of other columns
        table(run, "findings", "csv", out=tmp_path / "csv")
    (tmp_path / "roles.csv").write_text(MINE)
    with pytest.raises(BadInput, match=FOREIGN):
        headroles.replicate(run, run, out=tmp_path / "roles.csv")
    inside: dict[str, Callable[[Path], object]] = {"report.html": report, "figures/matrix.svg": figures}
    for name, write_inside in inside.items():
        (run / name).parent.mkdir(exist_ok=True)
        (run / name).write_text(MINE)  # within a run folder all is the run's
        write_inside(run)
        assert (run / name).read_text() != MINE


def test_a_folder_that_is_no_run_is_never_replaced_nor_a_run_with_notes(label: Label, run: Path) -> None:
    thesis = run.parent / "thesis"
    thesis.mkdir()
    (thesis / "chapter.tex").write_text("years of work")
    theirs = run.parent / "theirs"
    for name, text in (("shards/00000.json", '{"identity": "x", "sha256": "y"}'), ("scores/part-0", "1:0")):
        (theirs / name).parent.mkdir(parents=True)
        (theirs / name).write_text(text)
    (run / "notes.txt").write_text("my notes")
    before = contents(run.parent)
    for overwrite in (False, True):
        for manifest in (None, '{"name": "a web application"}', "not json"):
            if manifest is not None:
                (thesis / "manifest.json").write_text(manifest)
            with pytest.raises(BadInput, match="holds files that are no run of headroles"):
                label(out=thesis, overwrite=overwrite)
        (thesis / "manifest.json").unlink()
        with pytest.raises(BadInput, match="holds files that are no run of headroles"):
            check_free(theirs, {}, overwrite=overwrite)
        with pytest.raises(BadInput, match=r"also holds 'notes.txt'; move it away"):
            label(out=run, overwrite=overwrite)
    assert contents(run.parent) == before


def test_links_to_folders_are_filled(label: Label, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    for place in (".", "..", tmp_path):
        with pytest.raises(BadInput, match="is the current folder, holds it, or is a mount point"):
            label(out=place)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real").mkdir()
    for _ in range(2):
        label(limit=5, out=tmp_path / "link", maps=0)
    assert (tmp_path / "link").is_symlink()
    assert "manifest.json" in names(tmp_path / "real")
    assert names(tmp_path) == ["inner", "link", "real"]


@pytest.mark.usefixtures("painted")
def test_figures_leave_with_the_run_they_show_and_notes_among_them_stay(run: Path) -> None:
    notes, place = ["notes.txt", ".hidden", "matrix.SVG", "matrix.svg.bak"], run / "figures"
    figures(run)
    check_free(run, headroles.load(run).manifest["settings"], overwrite=False)
    headroles.judge_again(run, alpha=0.01)
    assert not place.exists()
    figures(run)
    for name in notes:
        (place / name).write_text("mine")
    headroles.judge_again(run, alpha=0.05)
    assert names(place) == sorted(notes)
    with pytest.raises(BadInput, match=r"also holds 'figures/\.hidden'; move it away"):
        check_free(run, {}, overwrite=True)
