"""verify: every file is what it was when it was written, and findings follow from scores."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import headroles
from headroles import Labelling
from headroles.errors import BadInput
from headroles.exporting import report
from headroles.shards.files import receipt_bytes, receipt_of
from headroles.shards.verify import Verified, _same_table, verify
from headroles.storage.integrity.manifest import parse_manifest
from tests.storage.manifests import change_manifest, hash_again, unseal

Label = Callable[..., Labelling]
Command = Callable[..., tuple[int, str, str]]


def _files(folder: Path) -> list[str]:
    return sorted(each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file())


def test_a_finished_run_is_whole_and_every_file_is_hashed(run: Path) -> None:
    files = json.loads((run / "manifest.json").read_text())["files"]
    assert [*files] == [name for name in _files(run) if name != "manifest.json"]
    for name, digest in files.items():
        assert hashlib.sha256((run / name).read_bytes()).hexdigest() == digest
    assert verify(run) == Verified(files=len(files), shards=1, examples=60, findings=30)


def test_every_single_file_is_watched(run: Path) -> None:
    for name in _files(run):
        file = run / name
        data = file.read_bytes()
        for spoiled in (data + b"\n", data[: len(data) // 2], None):
            if spoiled is None:
                file.unlink()
            else:
                file.write_bytes(spoiled)
            with pytest.raises(BadInput, match=name if name != "manifest.json" else "run"):
                verify(run)
        file.write_bytes(data)
    verify(run)


def test_files_that_are_not_of_the_run_are_told(run: Path) -> None:
    (run / "scores" / "part-00009.parquet").write_bytes(b"of another run")
    with pytest.raises(BadInput, match=r"scores/part-00009.parquet' is no file of the run; move it away"):
        verify(run)


def _forged(run: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    """Change a file, and its hash as well."""
    (run / name).write_bytes(change((run / name).read_bytes()))
    hash_again(run)


@pytest.mark.parametrize("name", ["findings.csv", "labels.csv"])
def test_findings_that_do_not_follow_from_the_scores_are_told(run: Path, name: str) -> None:
    def change(data: bytes) -> bytes:
        *rows, last = data.decode().splitlines()
        cells = last.split(",")
        place = 3 if name == "findings.csv" else -1
        cells[place] = "59" if name == "findings.csv" else "" if cells[-1] else "1"
        return ("\n".join([*rows, ",".join(cells)]) + "\n").encode()

    _forged(run, name, change)
    with pytest.raises(BadInput, match=rf"{name}' is not what the scores of the run give; decide again"):
        verify(run)


def test_a_receipt_of_another_shard_is_told(run: Path) -> None:
    def change(data: bytes) -> bytes:
        receipt = receipt_of(data)
        assert receipt is not None
        return receipt_bytes(replace(receipt, examples=59))

    _forged(run, "shards/00000.json", change)
    with pytest.raises(BadInput, match="hold its 60 examples, but they belong to 1 and hold 59"):
        verify(run)
    _forged(run, "shards/00000.json", lambda data: b"{}")
    with pytest.raises(BadInput, match=r"shards/00000.json' does not say what its shard is"):
        verify(run)


def test_a_run_stays_verified_after_judge_report_and_save(run: Path, tmp_path: Path) -> None:
    before = verify(run)
    headroles.judge_again(run, alpha=0.2, family="run")
    assert verify(run).files == before.files
    report(run)
    assert verify(run).files == before.files
    headroles.save(headroles.load(run), tmp_path / "saved")
    assert verify(tmp_path / "saved").shards == 0


def test_judging_does_not_make_damaged_files_right(run: Path) -> None:
    for name in ("examples.parquet", "scores/part-00000.parquet", "shown.parquet", "typical.csv"):
        data = (run / name).read_bytes()
        (run / name).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        for read in (headroles.judge_again, headroles.load, report, headroles.exporting.table):
            with pytest.raises(BadInput, match=f"is damaged .*{name} was altered since it was written"):
                read(run)
        (run / name).write_bytes(data)
    headroles.judge_again(run, alpha=0.01)
    verify(run)


def test_every_byte_of_a_manifest_counts(run: Path) -> None:
    file = run / "manifest.json"
    data = file.read_bytes()
    parse_manifest(data)
    for place in range(len(data)):
        for other in {data[place] ^ 1, ord(" "), ord("1"), ord("9")} - {data[place]}:
            with pytest.raises((ValueError, BadInput)):
                parse_manifest(data[:place] + bytes([other]) + data[place + 1 :])
    for spoiled in (data[:-1], data + b"\n", b" " + data, data.replace(b"\n", b"\r\n")):
        file.write_bytes(spoiled)
        for read in (verify, headroles.load, headroles.judge_again):
            with pytest.raises(BadInput, match=r"damaged .*manifest\.json was altered since it was written"):
                read(run)


def test_a_later_format_is_refused_and_an_earlier_one_read(run: Path) -> None:
    before = headroles.load(run)
    unseal(run)
    assert headroles.load(run).manifest == before.manifest
    verify(run)
    (run / "manifest.json").write_text('{"format": 3, "headroles": "9.0"}')
    for read in (verify, headroles.load, headroles.judge_again, report):
        with pytest.raises(BadInput, match=r"cannot be read: .*a later version wrote format 3; install"):
            read(run)


def test_an_earlier_format_becomes_the_present_one_when_it_is_judged_again(run: Path) -> None:
    unseal(run)
    headroles.judge_again(run)
    assert json.loads((run / "manifest.json").read_text())["format"] == 2
    verify(run)


def test_a_comparison_is_called_one(run: Path, tmp_path: Path) -> None:
    headroles.compare(run, run, swaps=0, out=tmp_path / "compared")
    for read in (verify, headroles.load, headroles.judge_again, report):
        with pytest.raises(BadInput, match=r"^this needs a run, but '.*/compared' is a comparison"):
            read(tmp_path / "compared")
    headroles.exporting.table(tmp_path / "compared")


@pytest.mark.parametrize(
    "made",
    [
        lambda out, **usual: headroles.surface("QNLI", **usual, out=out),
        lambda out, **usual: headroles.cluster("QNLI", **usual, sieve="local", draws=20, out=out),
    ],
)
def test_other_kinds_of_runs_are_verified_too(
    made: Callable[..., Any], planted: Path, table: Path, tmp_path: Path
) -> None:
    made(tmp_path / "run", data=table, model=planted, max_length=48, limit=30)
    assert verify(tmp_path / "run").examples == 30
    part = tmp_path / "run" / "scores" / "part-00000.parquet"
    part.write_bytes(part.read_bytes()[:-1])
    with pytest.raises(BadInput, match=r"part-00000.parquet' was altered"):
        verify(tmp_path / "run")


def test_what_is_no_finished_run_is_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"holds a manifest\.json, but"):
        verify(tmp_path)
    (run / "manifest.json").rename(tmp_path / "manifest.json")
    with pytest.raises(BadInput, match="is read when it is finished"):
        verify(run)
    (tmp_path / "manifest.json").rename(run / "manifest.json")
    change_manifest(run, lambda record: record.pop("files"))
    with pytest.raises(BadInput, match="has none"):
        verify(run)


def test_the_command_says_what_it_checked_or_names_the_first_wrong_file(command: Command, run: Path) -> None:
    code, out, err = command("verify", run)
    assert (code, err) == (0, "")
    assert "every SHA-256 is that of the manifest" in out
    assert "shards    1: all there, 60 examples" in out
    assert out.splitlines()[-1] == f"{run} is whole"
    (run / "depth.csv").unlink()
    code, out, err = command("verify", run)
    assert (code, out) == (1, "")
    assert err.startswith(f"headroles: '{run / 'depth.csv'}' is missing; ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("change", "same"), [(0.0, True), (1e-14, True), (1e-10, False)], ids=["equal", "rounded", "altered"]
)
def test_a_number_may_differ_by_rounding_only(change: float, same: bool) -> None:
    stored = f"sieve,q,decision\nlocal,{0.012345 * (1 + change)!r},role\n"
    assert _same_table(stored, f"sieve,q,decision\nlocal,{0.012345!r},role\n") is same


@pytest.mark.parametrize(
    "stored", ["sieve,q\nblock,0.5\n", "sieve,q\n", "sieve,q\nlocal,\n", "sieve,q\nlocal\n"]
)
def test_words_rows_and_empty_cells_must_be_equal(stored: str) -> None:
    assert not _same_table(stored, "sieve,q\nlocal,0.5\n")
