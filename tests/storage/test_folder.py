"""Folders of results: what may be replaced, what leaves with an earlier outcome, and what stays."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

import headroles
from headroles.errors import BadInput
from headroles.storage.folder import (
    MANIFEST,
    check_free,
    figure_names,
    make_folder,
    read_manifest,
    write_text,
)
from headroles.storage.integrity.switch import replace_files

NOTES = ("notes.txt", ".hidden", "matrix.SVG", "matrix.svg.bak")


def _figures(folder: Path, *names: str) -> Path:
    place = folder / "figures"
    place.mkdir()
    for name in names:
        (place / name).write_text(name)
    return place


def _there(place: Path) -> list[str]:
    return sorted(each.name for each in place.iterdir())


def test_figures_leave_with_their_folder(tmp_path: Path) -> None:
    place = _figures(tmp_path, "matrix.svg", "means.pdf", "layers.png")
    replace_files(tmp_path, {}, figure_names(tmp_path), MANIFEST)
    assert not place.exists()
    assert figure_names(tmp_path) == []


def test_what_a_user_put_beside_figures_stays(tmp_path: Path) -> None:
    place = _figures(tmp_path, "matrix.svg", *NOTES)
    (place / "drafts.svg").mkdir()
    (place / "drafts.svg" / "first.svg").write_text("a draft")
    replace_files(tmp_path, {}, figure_names(tmp_path), MANIFEST)
    assert _there(place) == sorted((*NOTES, "drafts.svg"))
    assert (place / "drafts.svg" / "first.svg").read_text() == "a draft"


@pytest.mark.parametrize("name", NOTES)
def test_a_run_with_notes_among_its_figures_is_not_replaced(name: str, run: Path) -> None:
    _figures(run, "matrix.svg", name)
    with pytest.raises(BadInput, match=f"also holds 'figures/{name}'; move it away"):
        check_free(run, read_manifest(run)["settings"], overwrite=True)
    assert _there(run / "figures") == sorted(("matrix.svg", name))


def test_a_run_with_a_folder_called_as_a_figure_is_not_replaced(run: Path) -> None:
    (_figures(run) / "drafts.svg").mkdir()
    with pytest.raises(BadInput, match=r"also holds 'figures/drafts.svg'"):
        check_free(run, read_manifest(run)["settings"], overwrite=True)


def test_a_run_with_nothing_but_figures_beside_is_replaced(run: Path) -> None:
    _figures(run, "matrix.svg", "matrix.pdf", "matrix.png")
    check_free(run, read_manifest(run)["settings"], overwrite=False)


def test_judging_anew_removes_figures_and_keeps_notes(run: Path) -> None:
    place = _figures(run, "matrix.svg", "notes.txt")
    headroles.judge_again(run, alpha=0.01)
    assert _there(place) == ["notes.txt"]


def test_folders_made_for_nothing_leave_again(tmp_path: Path) -> None:
    (tmp_path / "held").mkdir()
    with pytest.raises(KeyError), make_folder(tmp_path / "held" / "new" / "newer"):
        raise KeyError
    assert _there(tmp_path) == ["held"]
    assert _there(tmp_path / "held") == []
    with make_folder(tmp_path / "held" / "new"):
        (tmp_path / "held" / "new" / "file").write_text("something")
    assert _there(tmp_path / "held" / "new") == ["file"]


def _full(self: Path, *content: Any, **how: Any) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_leaves_neither_files_nor_folders(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "headroles.reports.print.files.files_of", lambda figures, form: dict.fromkeys(figures, b"drawn")
    )
    monkeypatch.setattr(Path, "write_bytes", _full)
    monkeypatch.setattr(Path, "write_text", _full)
    with pytest.raises(BadInput, match=r"cannot be written \(No space left on device\)"):
        headroles.figures(run)
    with pytest.raises(BadInput, match=r"cannot be written \(No space left on device\)"):
        write_text(tmp_path / "new" / "report.html", "a report")
    assert not (run / "figures").exists()
    assert not (tmp_path / "new").exists()


def test_a_name_that_no_system_takes_is_one_sentence(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "headroles.reports.print.files.files_of", lambda figures, form: dict.fromkeys(figures, b"drawn")
    )
    with pytest.raises(BadInput, match="at most 255 bytes of UTF-8"):
        headroles.figures(run, out="f" * 300)
