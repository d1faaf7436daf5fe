"""Damage of stored runs: every file, byte, row and array counts, also where all hashes are renewed."""

import csv
import hashlib
import io
import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headroles
from headroles.errors import BadInput, HeadrolesError
from headroles.exporting import report
from headroles.storage import parse_manifest
from tests.support.folders import change_manifest, contents, hash_again, verify

Copied = Callable[[str], Path]
KINDS = ("label", "sums", "surface", "probe", "cluster", "ablate", "why")
FEW = 80 if os.environ.get("HEADROLES_REQUIRE_ALL") == "1" else 12
"""Damages of a kind of run, of which more are drawn in CI."""
NOT_READ = ("labels.csv", "report.html")
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


LISTS = frozenset(
    f"{name}.csv"
    for line in (
        "depth sensitivity sets several together groups margins prediction sites removals claims choices",
        "baselines best conditions contests trained weights dimensions knockouts",
    )
    for name in line.split()
)
"""Tables of what was found, whose rows are not known from elsewhere."""
BY_PLACE = "precision.csv"
"""The table that is read by its rows alone, as older versions had fewer columns."""


def damages(folder: Path) -> Iterator[tuple[str, str, bytes]]:
    """Yield the name of each file that a run is read from, what is changed in it, and its changed bytes."""
    ways = {"csv": damaged_tables, "npz": damaged_archives, "parquet": damaged_columns}
    for name, data in contents(folder).items():
        if name in NOT_READ or name.endswith(".json"):
            continue
        if name not in LISTS:
            yield name, "half", data[: len(data) // 2]
            yield name, "empty", b""
        for how, changed in ways[name.rpartition(".")[2]](data):
            free = name in LISTS and "row" in how
            if not free and not (
                name == BY_PLACE and how.startswith("no ") and how not in ("no text", "no rows")
            ):
                yield name, how, changed


def damaged_tables(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield changes of a table of text."""
    header, *rows = csv.reader(data.decode().splitlines())

    def text(table: list[list[str]]) -> bytes:
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows(table)
        return out.getvalue().encode()

    yield "no text", b"\xff\xfe" + data
    yield "a field without end", data + b'"' + b"9" * 200_000
    if not rows:
        return
    for place, name in enumerate(header):
        left = [*header[:place], *header[place + 1 :]]
        yield f"no {name}", text([left, *([*row[:place], *row[place + 1 :]] for row in rows)])
        if rows[0][place].replace(".", "").isdigit():
            row = [*rows[0][:place], "much", *rows[0][place + 1 :]]
            yield f"no number in {name}", text([header, row, *rows[1:]])
    yield "no rows", text([header])
    yield "a cell less", text([header, *rows[:-1], rows[-1][:-1]])
    if len(rows) > 1 and rows[0] != rows[1]:
        yield "a row less", text([header, *rows[:-1]])
        yield "a row twice", text([header, *rows, rows[-1]])
        yield "rows swapped", text([header, rows[1], rows[0], *rows[2:]])


def damaged_archives(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield changes of an archive of arrays."""
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        arrays: dict[str, Any] = {name: archive[name] for name in archive.files}

    def packed(**changed: Any) -> bytes:
        out = io.BytesIO()
        np.savez(out, **{name: array for name, array in (arrays | changed).items() if array is not None})
        return out.getvalue()

    for name, array in arrays.items():
        yield f"no {name}", packed(**{name: None})
        yield f"objects as {name}", packed(**{name: array.astype(object)})
        if array.ndim and array.shape[0] > 1:
            yield f"a row less of {name}", packed(**{name: array[:-1]})
            yield f"an axis more of {name}", packed(**{name: array[None]})
    yield "a pickle", b"\x80\x04N."
    yield "torn", b"PK\x03\x04 torn"


def damaged_columns(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield changes of a table of Parquet."""
    table = pq.read_table(pa.BufferReader(data))

    def written(changed: pa.Table) -> bytes:
        out = pa.BufferOutputStream()
        pq.write_table(changed, out)
        return bytes(out.getvalue().to_pybytes())

    for name in table.column_names:
        yield f"no {name}", written(table.drop_columns([name]))
    if table.num_rows > 1:
        yield "a row less", written(table.slice(0, table.num_rows - 1))
        yield "rows swapped", written(table.take([1, 0, *range(2, table.num_rows)]))


@pytest.mark.parametrize("kind", KINDS)
def test_no_change_of_a_file_that_a_run_is_read_from_goes_unseen(kind: str, copied: Copied) -> None:
    folder, unseen = copied(kind), []
    whole = {name: data for name, data in contents(folder).items() if name not in NOT_READ}
    assert not refused(folder)
    changes: list[tuple[str, Any]] = [(name, None) for name in whole]
    for name, data in whole.items():
        changes += [(name, data[:-1]), (name, data + b"\n")]
        for place in {0, len(data) - 1, *random.sample(range(len(data)), 4)}:
            changes.append(
                (name, data[:place] + bytes([data[place] ^ random.randint(1, 255)]) + data[place + 1 :])
            )
    for name, changed in random.sample(changes, min(2 * FEW, len(changes))):
        (folder / name).unlink()
        if changed is not None:
            (folder / name).write_bytes(changed)
        unseen += [] if refused(folder) else [name]
        (folder / name).write_bytes(whole[name])
    assert unseen == []
    assert not refused(folder)


TAKEN = {
    "cells.parquet": "a row less, rows swapped",
    "typical.csv": "rows swapped",
    "precision.csv": "rows swapped",
    "held.npz": "a row less of units, an axis more of units",
    "divergence.npz": "a row less of cloud",
    "noop.csv": "rows swapped",
    "origins.npz": "a row less of held.units, an axis more of held.units, a row less of knocked.scored, "
    "an axis more of knocked.scored",
}
"""Changes by file that a run is read with all the same."""


@pytest.mark.parametrize("kind", KINDS)
def test_rows_columns_and_arrays_that_do_not_fit_are_refused_where_hashes_fit(
    kind: str, copied: Copied
) -> None:
    folder, taken = copied(kind), []
    for name, how, changed in random.sample(found := [*damages(folder)], min(FEW, len(found))):
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(changed)
        hash_again(folder)
        taken += [] if refused(folder) else [(name, how)]
        (folder / name).write_bytes(data)
    assert [(name, how) for name, how in taken if how not in TAKEN.get(name, "").split(", ")] == []


@pytest.mark.parametrize("kind", ["label", "sums", "cluster", "probe", "ablate", "why"])
def test_bytes_changed_at_random_where_hashes_fit_end_in_a_run_or_in_a_sentence(
    kind: str, copied: Copied
) -> None:
    folder = copied(kind)
    files = [file for file in sorted(folder.iterdir()) if file.suffix in (".npz", ".parquet", ".csv")]
    for _ in range(FEW):
        file = random.choice(files)
        data = file.read_bytes()
        start, length = random.randrange(len(data)), random.choice((1, 1, 4, 40))
        new = random.randbytes(random.choice((length, length, 0, 2)))
        file.write_bytes(data[:start] + new + data[start + length :])
        hash_again(folder)
        refused(folder)
        file.write_bytes(data)


def test_a_finished_run_is_whole_and_every_file_is_hashed_and_watched(run: Path) -> None:
    files = json.loads((run / "manifest.json").read_text())["files"]
    before = contents(run)
    assert [*files] == [name for name in before if name != "manifest.json"]
    assert files == {name: hashlib.sha256(before[name]).hexdigest() for name in files}
    whole = verify(run)
    assert (whole.files, whole.shards, whole.examples, whole.findings) == (len(files), 1, 60, 30)
    for name, data in before.items():
        for spoiled in (data + b"\n", data[: len(data) // 2], None):
            (run / name).unlink()
            if spoiled is not None:
                (run / name).write_bytes(spoiled)
            with pytest.raises(BadInput, match=name if name != "manifest.json" else "run"):
                verify(run)
            (run / name).write_bytes(data)
    (run / "scores" / "part-00009.parquet").write_bytes(b"of another run")
    for read in (verify, headroles.load):
        with pytest.raises(
            BadInput, match=r"scores/part-00009\.parquet'? is no file of (the run|it); move it"
        ):
            read(run)


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.ci)])
def test_every_byte_of_a_manifest_counts(run: Path, step: int) -> None:
    file = run / "manifest.json"
    data = file.read_bytes()
    parse_manifest(data)
    taken = []
    for place in range(random.randrange(step), len(data), step):
        for other in {data[place] ^ 1, ord(" "), ord("1"), ord("9")} - {data[place]}:
            try:
                parse_manifest(data[:place] + bytes([other]) + data[place + 1 :])
            except (ValueError, BadInput):
                continue
            taken.append((place, other))
    assert taken == []
    for spoiled in (
        data[:-1],
        data + b"\n",
        b" " + data,
        data.replace(b"\n", b"\r\n"),
        b"[1, 2]",
        b'{"format": 3}',
    ):
        file.write_bytes(spoiled)
        for read in (verify, headroles.load, headroles.judge_again):
            with pytest.raises(
                BadInput, match=r"damaged|was altered since it was written|later version|no run"
            ):
                read(run)


def test_judging_and_reporting_do_not_make_damaged_files_right(run: Path) -> None:
    for name in ("examples.parquet", "scores/part-00000.parquet", "shown.parquet", "typical.csv"):
        data = (run / name).read_bytes()
        (run / name).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        before = contents(run)
        for read in (headroles.judge_again, headroles.load, report, headroles.table):
            with pytest.raises(BadInput, match=f"is damaged .*{name} was altered since it was written"):
                read(run)
        assert contents(run) == before
        (run / name).write_bytes(data)
    headroles.judge_again(run, alpha=0.01)
    verify(run)


def test_scores_and_their_cells_must_be_of_the_same_examples_in_the_same_order(run: Path) -> None:
    files = [run / "examples.parquet", run / "scores" / "part-00000.parquet"]
    for file in files:
        data = file.read_bytes()
        file.write_bytes(dict(damaged_columns(data))["rows swapped"])
        hash_again(run)
        with pytest.raises(BadInput, match="the two tables of scores have different examples"):
            headroles.load(run)
        file.write_bytes(data)


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record["model"].update(heads=7),
        lambda record: record["rules"][0].update(colour="red"),
        lambda record: record["rules"].reverse(),
        lambda record: record["rules"].pop(),
        lambda record: record["decision"].update(colour="red"),
        lambda record: record.pop("rules"),
        lambda record: record.pop("model"),
        lambda record: record.update(parts={"surface": ["layers.csv"]}),
        lambda record: record.update(parts={"exhibited": ["manifest.json"]}),
        lambda record: record.update(parts={"exhibited": None}),
        lambda record: record.update(parts=["exhibited"]),
        lambda record: record.update(parts={"colour": []}),
    ],
    ids=range(12),
)
def test_a_manifest_that_does_not_fit_its_files_is_refused(
    run: Path, change: Callable[[dict[str, Any]], Any]
) -> None:
    change_manifest(run, change)
    before = contents(run)
    with pytest.raises(BadInput, match="is damaged or from another version"):
        headroles.judge_again(run)
    assert contents(run) == before


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_lost_files_of_its_part_does_not_pass_for_a_plain_one(kind: str, copied: Copied) -> None:
    folder = copied(kind)
    parts = json.loads((folder / "manifest.json").read_text())["parts"]
    files = [name for own in parts.values() for name in own]
    manifest = (folder / "manifest.json").read_bytes()
    for name in files:
        (folder / name).rename(folder.parent / "aside")
        hash_again(folder)
        with pytest.raises(BadInput, match=f"{name} is missing, which manifest.json promises"):
            headroles.load(folder)
        (folder.parent / "aside").rename(folder / name)
        (folder / "manifest.json").write_bytes(manifest)
    for name in files:
        (folder / name).unlink()
    hash_again(folder)
    assert refused(folder) == bool(files)


@pytest.mark.parametrize(("name", "place"), [("findings.csv", 3), ("labels.csv", -1)])
def test_findings_that_do_not_follow_from_the_scores_are_told_up_to_rounding(
    run: Path, name: str, place: int
) -> None:
    *lines, last = (run / name).read_text().splitlines()
    cells, changes = last.split(","), list[tuple[int, str, bool]]()
    changes.append((place, "59" if name == "findings.csv" else "" if cells[-1] else "1", False))
    if name == "findings.csv":
        changes += [
            (5, repr(float(cells[5]) * (1 + 1e-14)), True),
            (5, repr(float(cells[5]) * (1 + 1e-10)), False),
        ]
    for column, cell, same in changes:
        changed = [cell if number == column % len(cells) else old for number, old in enumerate(cells)]
        (run / name).write_text("\n".join([*lines, ",".join(changed), ""]))
        hash_again(run)
        if same:
            verify(run)
        else:
            with pytest.raises(
                BadInput, match=rf"{name}' is not what the scores of the run give; decide again"
            ):
                verify(run)


def test_a_receipt_of_another_shard_is_told(run: Path) -> None:
    from dataclasses import replace

    from headroles.shards import receipt_bytes, receipt_of

    file = run / "shards" / "00000.json"
    receipt = receipt_of(file.read_bytes())
    for data, words in (
        (
            receipt_bytes(replace(receipt, examples=59)),
            "hold its 60 examples, but they belong to 1 and hold 59",
        ),
        (receipt_bytes(replace(receipt, number=1)), r"shards/00000.json' does not say what its shard is"),
        (b"{}", r"shards/00000.json' does not say what its shard is"),
    ):
        file.write_bytes(data)
        hash_again(run)
        with pytest.raises(BadInput, match=words):
            verify(run)


def test_an_altered_comparison_is_refused_and_is_no_run(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "compared"
    headroles.compare(run, run, swaps=0, out=out)
    for name in ("differences.csv", "labels.csv", "layers.csv", "manifest.json"):
        data = (out / name).read_bytes()
        (out / name).write_bytes(data.replace(b"0", b"1", 1))
        with pytest.raises(
            BadInput, match=rf"the comparison in '.*' is damaged .*{name} was altered since it"
        ):
            headroles.table(out)
        (out / name).write_bytes(data)
    for read in (verify, headroles.load, headroles.judge_again, report):
        with pytest.raises(BadInput, match=r"^this needs a run, but '.*/compared' is a comparison"):
            read(out)
    headroles.table(out)
