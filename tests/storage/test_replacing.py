"""What may be replaced, what stays of others, and what a crash or a full disk leaves behind."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import headroles
from headroles import Labelling
from headroles.errors import BadInput
from headroles.exporting import figures, report, table
from headroles.storage import FIGURE_MARKS, check_free, place_of, write_files
from tests.support.crashing import replace_everywhere
from tests.support.folders import contents, names

Label = Callable[..., Labelling]
FOREIGN = "is there and was not written by headroles; give --overwrite to replace it, or another --out"
NO_RUN = "holds files that are no run of headroles"
MINE = "my own notes\n"
FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def painted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures without a browser: one bare file of the form each."""
    from headroles.reports import files_of

    def drawn(plots: dict[str, object], form: str) -> dict[str, bytes]:
        return {name: b"<svg></svg>" + str(FIGURE_MARKS[form]).encode() for name in plots}

    replace_everywhere(monkeypatch, files_of, drawn)


@pytest.mark.with_report
@pytest.mark.usefixtures("painted")
def test_single_files_of_a_user_are_replaced_on_request_only_and_own_ones_at_once(
    run: Path, tmp_path: Path
) -> None:
    even = np.full((1, 2, 4, 4), 1 / 4)
    viewed = headroles.view(even, list("abcd"))
    (tmp_path / "paper").mkdir()
    writers: dict[str, Callable[[Path, bool], object]] = {
        "report.html": lambda path, over: report(run, path, overwrite=over),
        "view.html": lambda path, over: headroles.view(even, list("abcd"), out=path, overwrite=over),
        "view.svg": lambda path, over: headroles.view(even, list("abcd"), layers=0, svg=path, overwrite=over),
        "saved.html": lambda path, over: viewed.save(path, overwrite=over),
        "paper/matrix.svg": lambda path, over: figures(run, "svg", path.parent, overwrite=over),
    }
    for form in ("markdown", "latex", "csv"):
        writers[f"{form}.txt"] = lambda path, over, form=form: table(  # type: ignore[misc]
            run, "roles", form, out=path, overwrite=over
        )
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
        table(run, "findings", "csv", out=tmp_path / "csv.txt")
    inside: dict[str, Callable[[Path], object]] = {"report.html": report, "figures/matrix.svg": figures}
    for name, write_inside in inside.items():
        (run / name).parent.mkdir(exist_ok=True)
        (run / name).write_text(MINE)  # within a run folder all is the run's
        write_inside(run)
        assert (run / name).read_text() != MINE


def test_a_table_and_a_report_take_no_part_of_a_run(run: Path, tmp_path: Path) -> None:
    before = contents(run)
    with pytest.raises(BadInput, match="must not replace a file of its run"):
        table(run, "findings", "csv", out=run / "findings.csv", overwrite=True)
    with pytest.raises(BadInput, match="must not replace a file of its run"):
        report(run, run / "manifest.json", overwrite=True)
    (tmp_path / "roles.csv").write_text(MINE)
    with pytest.raises(BadInput, match=FOREIGN):
        headroles.replicate(run, run, out=tmp_path / "roles.csv")
    assert contents(run) == before


def test_a_file_at_an_address_is_looked_at_before_it_is_replaced(finished: Path) -> None:
    place = place_of("memory://origin")
    place.write("report.html", MINE.encode())
    with pytest.raises(BadInput, match="'memory://origin/report.html' " + FOREIGN):
        report(finished, "memory://origin/report.html")
    assert place.read("report.html") == MINE.encode()
    report(finished, "memory://origin/report.html", overwrite=True)
    assert place.read("report.html") != MINE.encode()
    place.delete("report.html")
    assert report(finished, "memory://origin/report.html") == "memory://origin/report.html"


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_folder_that_is_no_run_is_never_replaced(label: Label, run: Path, overwrite: bool) -> None:
    thesis = run.parent / "thesis"
    thesis.mkdir()
    (thesis / "chapter.tex").write_text("years of work")
    for manifest in (None, '{"name": "a web application"}', "not json"):
        if manifest is not None:
            (thesis / "manifest.json").write_text(manifest)
        with pytest.raises(BadInput, match=NO_RUN):
            label(out=thesis, overwrite=overwrite)
    with pytest.raises(BadInput, match=r"must be a folder, but .* is a file"):
        label(out=thesis / "chapter.tex", overwrite=overwrite)
    theirs = run.parent / "theirs"
    for name, text in (("shards/00000.json", '{"identity": "x", "sha256": "y"}'), ("scores/part-0", "1:0")):
        (theirs / name).parent.mkdir(parents=True)
        (theirs / name).write_text(text)
    with pytest.raises(BadInput, match=NO_RUN):
        check_free(theirs, {}, overwrite=overwrite)
    (run / "notes.txt").write_text("my notes")
    with pytest.raises(BadInput, match=r"also holds 'notes.txt'; move it away"):
        label(out=run, overwrite=overwrite)
    assert (thesis / "chapter.tex").read_text() == "years of work"
    assert names(thesis) == ["chapter.tex", "manifest.json"]


def test_a_run_with_other_settings_is_kept_unless_told_otherwise(label: Label, run: Path) -> None:
    before = contents(run)
    with pytest.raises(BadInput, match=r"holds a run with other settings \(limit, seed\); give --overwrite"):
        label(limit=10, seed=1, out=run)
    assert contents(run) == before
    label(limit=10, out=run, overwrite=True)
    assert len(headroles.load(run).scores.examples) == 10


def test_folders_that_cannot_be_replaced_are_refused_and_links_are_filled(
    label: Label, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    monkeypatch.setattr(Path, "is_mount", lambda self: True)
    with pytest.raises(BadInput, match="mount point; name a new folder"):
        label(out=tmp_path / "real")


@pytest.mark.usefixtures("painted")
def test_figures_leave_with_the_run_they_show_and_notes_among_them_stay(run: Path) -> None:
    notes = ["notes.txt", ".hidden", "matrix.SVG", "matrix.svg.bak"]
    place = run / "figures"
    figures(run)
    check_free(run, headroles.load(run).manifest["settings"], overwrite=False)
    headroles.judge_again(run, alpha=0.01)
    assert not place.exists()
    figures(run)
    for name in notes:
        (place / name).write_text("mine")
    (place / "drafts.svg").mkdir()
    (place / "drafts.svg" / "first.svg").write_text("a draft")
    headroles.judge_again(run, alpha=0.05)
    assert names(place) == sorted([*notes, "drafts.svg"])
    assert (place / "drafts.svg" / "first.svg").read_text() == "a draft"
    for name in (*notes, "drafts.svg"):
        with pytest.raises(BadInput, match=f"also holds 'figures/{sorted(names(place))[0]}'; move it away"):
            check_free(run, {}, overwrite=True)
        shutil.rmtree(place / name) if (place / name).is_dir() else (place / name).unlink()


@pytest.mark.parametrize("trouble", [RuntimeError("a bug"), KeyboardInterrupt(), OSError("not ours")])
@pytest.mark.parametrize("step", ["load", "stream"])
def test_a_crash_before_the_first_shard_leaves_nothing_new_and_the_run_that_was_there(
    label: Label,
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    trouble: BaseException,
) -> None:
    from headroles.extraction import load, stream_tokenised
    from headroles.stats import judge

    def crash(*_: object, **__: object) -> None:
        raise trouble

    before = contents(run)
    replace_everywhere(monkeypatch, {"load": load, "stream": stream_tokenised}[step], crash)
    for folder in (tmp_path / "new" / "deep" / "run", run):
        with pytest.raises(type(trouble)) as raised:
            label(limit=5, out=folder, overwrite=True)
        assert raised.value is trouble or isinstance(trouble, KeyboardInterrupt)
    replace_everywhere(monkeypatch, judge, crash)
    with pytest.raises(type(trouble)):
        headroles.judge_again(run, alpha=0.1)
    assert contents(run) == before
    assert names(tmp_path) == ["run"]


def test_a_full_disk_is_one_sentence_and_keeps_what_was_there(
    label: Label, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise FULL

    before, sentence = contents(run), r"cannot be written \(No space left on device\)"
    with monkeypatch.context() as full:
        full.setattr("os.fsync", fail)
        with pytest.raises(BadInput, match=sentence):
            label(limit=5, out=tmp_path / "runs" / "run")
    assert names(tmp_path) == ["run"]
    with monkeypatch.context() as full:
        full.setattr(Path, "write_text", fail)
        full.setattr(Path, "write_bytes", fail)
        with pytest.raises(BadInput, match=rf"the results of the run {sentence}"):
            headroles.judge_again(run, alpha=0.01)
        with pytest.raises(BadInput, match=rf"'.*report.html' {sentence}"):
            report(run)
        with pytest.raises(OSError, match="No space left"):
            write_files({tmp_path / "new.csv": "whole"})
    with monkeypatch.context() as full:  # after the shards: they stay
        full.setattr(Path, "write_text", fail)
        with pytest.raises(BadInput, match=sentence):
            label(limit=5, out=tmp_path / "late")
    assert contents(run) == before
    assert names(tmp_path) == ["late", "run"]
    assert [path.name for path in (tmp_path / "late" / "shards").glob("*.json")] == ["00000.json"]
