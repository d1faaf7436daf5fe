"""Damage of stored runs: every file and byte counts, also where all hashes are renewed."""

import hashlib
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headroles
from headroles.errors import BadInput, HeadrolesError
from headroles.storage import parse_manifest
from tests.support.folders import change_manifest, contents, hash_again, verify

Copied = Callable[[str], Path]
KINDS = ("label", "sums", "surface", "probe", "cluster", "ablate", "why")
FEW = 80 if os.environ.get("HEADROLES_REQUIRE_ALL") == "1" else 12
"""Damages of a kind of run; CI draws more of them."""
NOT_READ = ("labels.csv", "report.html", "plan.json")
"""Files that are made of others; ``verify`` looks at them."""


@pytest.fixture(autouse=True)
def _seeded() -> None:
    """Draw the same changes every time; ``tests.faults`` draws others."""
    random.seed(16)


def refused(folder: Path) -> bool:
    """Return whether a run is refused in one sentence; any other error is raised."""
    try:
        headroles.load(folder)
    except HeadrolesError as error:
        return "\n" not in str(error)
    return False


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_bytes_are_refused_in_a_sentence_or_read_where_hashes_fit(kind: str, copied: Copied) -> None:
    folder = copied(kind)
    files = [file for file in sorted(folder.iterdir()) if file.suffix in (".npz", ".parquet", ".csv")]
    for _ in range(FEW):
        file = random.choice(files)
        data = file.read_bytes()
        start, length = random.randrange(len(data)), random.choice((1, 1, 4, 40))
        new = random.randbytes(random.choice((length, length, 0, 2)))
        file.write_bytes(data[:start] + new + data[start + length :])
        hash_again(folder)
        refused(folder)  # any other error is raised
        file.write_bytes(data)
    for file in files:
        if file.suffix != ".csv" and file.stem != "sets":
            data = file.read_bytes()
            file.write_bytes(data[: len(data) // 2])
            hash_again(folder)
            assert refused(folder), file.name
            file.write_bytes(data)


def test_a_finished_run_is_whole_and_every_file_is_hashed_and_watched(run: Path) -> None:
    files = json.loads((run / "manifest.json").read_text())["files"]
    before = contents(run)
    assert [*files] == [name for name in before if name != "manifest.json"]
    assert files == {name: hashlib.sha256(before[name]).hexdigest() for name in files}
    whole = verify(run)
    assert (whole.files, whole.shards, whole.examples, whole.findings) == (len(files), 1, 60, 30)
    for name, data in before.items():
        for spoiled in (data + b"\n", data[: len(data) // 2], bytes([data[0] ^ 1]) + data[1:], None):
            (run / name).unlink()
            if spoiled is not None:
                (run / name).write_bytes(spoiled)
            with pytest.raises(BadInput, match=name if name != "manifest.json" else "run"):
                verify(run)
            assert name in NOT_READ or name.startswith("shards/") or refused(run)
            (run / name).write_bytes(data)
    (run / "scores" / "part-00009.parquet").write_bytes(b"of another run")
    for read in (verify, headroles.load):
        with pytest.raises(BadInput, match=r"part-00009\.parquet'? is no file of (the run|it); move it"):
            read(run)


def test_a_manifest_counts_byte_for_byte(run: Path) -> None:
    data, taken = (run / "manifest.json").read_bytes(), []
    parse_manifest(data)
    changes = [data[:-1], data + b"\n", b" " + data, data.replace(b"\n", b"\r\n"), b"[1, 2]"]
    for place in range(random.randrange(7), len(data), 7):
        changes.append(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
    for changed in changes:
        try:
            parse_manifest(changed)
        except (ValueError, BadInput):
            continue
        taken.append(changed)
    assert taken == []


def test_a_manifest_that_does_not_fit_its_files_is_refused(run: Path) -> None:
    manifest = (run / "manifest.json").read_bytes()
    changes: tuple[Callable[[dict[str, Any]], Any], ...] = (
        lambda record: record["model"].update(heads=7),
        lambda record: record["rules"][0].update(colour="red"),
        lambda record: record["rules"].reverse(),
        lambda record: record["rules"].pop(),
        lambda record: record["decision"].update(colour="red"),
        lambda record: record.pop("rules"),
        lambda record: record.update(parts={"surface": ["layers.csv"]}),
        lambda record: record.update(parts={"exhibited": ["manifest.json"]}),
        lambda record: record.update(parts={"colour": []}),
    )
    for change in changes:
        change_manifest(run, change)
        before = contents(run)
        with pytest.raises(BadInput, match="is damaged or from another version"):
            headroles.judge_again(run)
        assert contents(run) == before
        (run / "manifest.json").write_bytes(manifest)


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_lost_files_of_its_part_does_not_pass_for_a_plain_one(kind: str, copied: Copied) -> None:
    folder = copied(kind)
    parts = json.loads((folder / "manifest.json").read_text())["parts"]
    files = {name: (folder / name).read_bytes() for own in parts.values() for name in own}
    manifest = (folder / "manifest.json").read_bytes()
    for name, data in files.items():
        (folder / name).unlink()
        hash_again(folder)
        with pytest.raises(BadInput, match=f"{name} is missing, which manifest.json promises"):
            headroles.load(folder)
        (folder / name).write_bytes(data)
        (folder / "manifest.json").write_bytes(manifest)
    for name in files:
        (folder / name).unlink()
    hash_again(folder)
    assert refused(folder) == bool(files)


def test_findings_that_do_not_follow_from_the_scores_are_told_up_to_rounding(run: Path) -> None:
    tables = {name: (run / name).read_text().splitlines() for name in ("findings.csv", "labels.csv")}
    mean, label = (table[-1].split(",") for table in tables.values())
    for name, column, cell, fits in (
        ("findings.csv", 3, "59", False),
        ("findings.csv", 5, repr(float(mean[5]) * (1 + 1e-14)), True),
        ("findings.csv", 5, repr(float(mean[5]) * (1 + 1e-10)), False),
        ("labels.csv", len(label) - 1, "" if label[-1] else "1", False),
    ):
        *lines, last = tables[name]
        cells = last.split(",")
        cells[column] = cell
        (run / name).write_text("\n".join([*lines, ",".join(cells), ""]))
        hash_again(run)
        if fits:
            verify(run)
        else:
            with pytest.raises(BadInput, match=rf"{name}' is not what the scores of the run give; decide"):
                verify(run)
        (run / name).write_text("\n".join([*tables[name], ""]))
