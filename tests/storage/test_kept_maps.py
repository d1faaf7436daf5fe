"""Kept maps as files of a run folder, and back; what is damaged or of another run is refused."""

import csv
import hashlib
import zlib
from collections.abc import Callable
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headroles
from headroles import Labelling
from headroles.errors import BadInput
from headroles.exporting import save
from headroles.records.example import Example, Scores
from headroles.records.kept_maps import KeptMaps
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.engine import judge
from headroles.storage.folder import CELLS, KEPT_MAP_FILES, MAPS, SHOWN, TYPICAL, read_manifest
from headroles.storage.kept_maps import (
    candidates,
    choose_kept_maps,
    kept_map_files,
    read_kept_maps,
    wanted_maps,
)
from tests.storage.manifests import change_manifest, hash_again

Made = Callable[..., tuple[Scores, list[Rule]]]
Label = Callable[..., Labelling]
HOSTILE = ("[CLS]", "<script>alert(1)</script>", "\u202eabc", "👩‍🚀", "a" * 10_000, "\x00", '"', "\n")


def _example(key: str, size: int) -> Example:
    rest = (f"##{key}",) * (size - len(HOSTILE) - 1)
    segment = np.array([-1, *[0] * (size - 2), -1])
    return Example(key, (*HOSTILE, *rest, "[SEP]"), segment, word=np.arange(size) - 1)


@pytest.fixture(scope="module")
def scores(scores_of: Made) -> Scores:
    found, _ = scores_of(5, units=40, heads=3)
    return found


@pytest.fixture(scope="module")
def kept(scores_of: Made, scores: Scores) -> KeptMaps:
    """What would be kept of a made-up run; maps are random rows."""
    _, rules = scores_of(5, units=40, heads=3)
    found = candidates(judge(scores, rules, Decision()), scores)
    places = wanted_maps(found, scores.tokens, 20)
    chance = np.random.default_rng(1)
    maps = {place: chance.integers(0, 256, (12, 12), dtype=np.uint8) for place in places}
    examples = {place: _example(scores.examples[place], 12) for place, _, _ in places}
    counted = {(each.place[0], each.sieve): chance.random((12, 12)) < 0.2 for each in found if each.sieve}
    return choose_kept_maps(found, maps, examples, 20, counted=counted)


@pytest.fixture
def folder(kept: KeptMaps, tmp_path: Path) -> Path:
    """Its files, to be spoiled."""
    for name, content in kept_map_files(kept).items():
        data = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(data)
    return tmp_path


def _same(found: KeptMaps, kept: KeptMaps) -> None:
    assert [*map(str, map(astuple, found.exhibits))] == [*map(str, map(astuple, kept.exhibits))]
    assert {key: cells.tolist() for key, cells in found.counted.items()} == {
        key: cells.tolist() for key, cells in kept.counted.items()
    }
    assert (found.left, found.limit) == (kept.left, kept.limit)
    np.testing.assert_array_equal(found.places, kept.places)
    assert [each.tolist() for each in found.weights] == [each.tolist() for each in kept.weights]
    for one, other in zip(found.examples, kept.examples, strict=True):
        assert (one.key, one.tokens) == (other.key, other.tokens)
        for name in ("segment", "special", "first", "word"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
            assert getattr(one, name).dtype == getattr(other, name).dtype


def test_what_is_written_comes_back_whatever_the_tokens_are(
    kept: KeptMaps, folder: Path, scores: Scores
) -> None:
    assert kept.left > 0
    assert len(kept.weights) == 20
    _same(read_kept_maps(folder, scores), kept)


def test_the_same_maps_give_the_same_bytes_and_what_is_loaded_does_too(
    kept: KeptMaps, folder: Path, scores: Scores
) -> None:
    files = kept_map_files(kept)
    assert tuple(files) == KEPT_MAP_FILES
    assert files == kept_map_files(replace(kept))
    assert files == kept_map_files(read_kept_maps(folder, scores))


def test_nothing_kept_but_something_left_comes_back_as_that(
    kept: KeptMaps, scores: Scores, tmp_path: Path
) -> None:
    nothing = KeptMaps((), np.zeros((0, 3), np.int64), (), (), left=7, limit=0)
    for name, content in kept_map_files(nothing).items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    _same(read_kept_maps(tmp_path, scores), nothing)


def test_the_files_are_plain_tables(kept: KeptMaps, folder: Path) -> None:
    rows = _read(folder / TYPICAL)
    assert list(rows[0]) == ["sieve", "layer", "head", "rank", "example", "score", "map"]
    assert len(rows) == len(kept.exhibits)
    maps = pq.read_table(folder / MAPS)
    assert maps.column_names == ["example", "layer", "head", "weights"]
    plain = zlib.decompress(maps["weights"][0].as_py())
    assert plain == kept.weights[0].tobytes()
    shown = pq.read_table(folder / SHOWN)
    assert shown.column_names == ["example", "tokens", "segment", "special", "first", "word"]
    assert shown["tokens"][0].as_py() == list(kept.examples[0].tokens)


def _read(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def _spoiled(folder: Path, file: str, column: str, row: int, value: Any) -> None:
    """Write another value into one cell of a file."""
    if file == TYPICAL:
        rows = _read(folder / file)
        rows[row][column] = value
        with (folder / file).open("w", newline="") as text:
            writer = csv.DictWriter(text, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        return
    table = pq.read_table(folder / file)
    values = table[column].to_pylist()
    values[row] = value
    place = table.column_names.index(column)
    array = pa.array(values, table.schema.field(column).type)
    pq.write_table(table.set_column(place, table.schema.field(column), array), folder / file)


BOMB = zlib.compress(bytes(10**7))
SMALL = zlib.compress(bytes(11 * 12))
WHOLE = zlib.compress(bytes(12 * 12))


@pytest.mark.parametrize(
    ("file", "column", "value", "sentence"),
    [
        (TYPICAL, "sieve", "s9", "a sieve, rank or map that is not there"),
        (TYPICAL, "rank", "4", "a sieve, rank or map that is not there"),
        (TYPICAL, "rank", "0", "a sieve, rank or map that is not there"),
        (TYPICAL, "map", "20", "a sieve, rank or map that is not there"),
        (TYPICAL, "map", "-1", "a sieve, rank or map that is not there"),
        (TYPICAL, "layer", "7", "belongs to another example or head"),
        (TYPICAL, "example", "x0x", "belongs to another example or head"),
        (TYPICAL, "score", "0.125", "a score of .* that is not that of the run"),
        (TYPICAL, "score", "", "a score of .* that is not that of the run"),
        (TYPICAL, "score", "much", "could not convert"),
        (TYPICAL, "rank", "one", "invalid literal"),
        (MAPS, "example", 99, "an example, a layer or a head that is not there"),
        (MAPS, "layer", 2, "an example, a layer or a head that is not there"),
        (MAPS, "head", -1, "an example, a layer or a head that is not there"),
        (MAPS, "weights", b"nothing", "a map that is damaged"),
        (MAPS, "weights", None, "a map that is damaged"),
        (MAPS, "weights", BOMB, "of another size than its example"),
        (MAPS, "weights", SMALL, "of another size than its example"),
        (MAPS, "weights", WHOLE[:-1], "of another size than its example"),
        (MAPS, "weights", WHOLE + b"more", "of another size than its example"),
        (CELLS, "example", 99, "an example or a role that is not there"),
        (CELLS, "sieve", None, "an example or a role that is not there"),
        (CELLS, "cells", None, "a map that is damaged"),
        (CELLS, "cells", BOMB, "of another size than its example"),
        (SHOWN, "example", "x0x", "is none of the run"),
        (SHOWN, "tokens", ["a"] * 11, "is none of the run, or not as long as there"),
        (SHOWN, "tokens", ["a"] * 11 + [None], "an empty cell"),
        (SHOWN, "word", None, "an empty cell"),
        (SHOWN, "word", [0], "have not one entry per token"),
        (SHOWN, "special", [True], "have not one entry per token"),
    ],
)
def test_a_cell_that_does_not_fit_the_run_is_refused(
    file: str, column: str, value: Any, sentence: str, folder: Path, scores: Scores
) -> None:
    read_kept_maps(folder, scores)
    _spoiled(folder, file, column, 1, value)
    with pytest.raises((ValueError, BadInput), match=sentence):
        read_kept_maps(folder, scores)


def test_maps_and_ranks_are_there_once(folder: Path, scores: Scores, kept: KeptMaps) -> None:
    first, second = kept.exhibits[:2]
    assert (first.sieve, first.layer, first.head) == (second.sieve, second.layer, second.head)
    _spoiled(folder, TYPICAL, "rank", 1, first.rank)
    with pytest.raises(ValueError, match="a rank of a role and head twice"):
        read_kept_maps(folder, scores)
    for column, value in zip(("example", "layer", "head"), kept.places[0].tolist(), strict=True):
        _spoiled(folder, MAPS, column, 1, value)
    with pytest.raises(ValueError, match="two maps of one example and head"):
        read_kept_maps(folder, scores)


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {"left": "3"},
        {"left": "few", "limit": "3", "rows": "3"},
        {"left": "-1", "limit": "3", "rows": "3"},
    ],
)
def test_counts_that_are_missing_or_none_are_refused(
    metadata: dict[str, str] | None, folder: Path, scores: Scores
) -> None:
    pq.write_table(pq.read_table(folder / MAPS).replace_schema_metadata(metadata), folder / MAPS)
    with pytest.raises((ValueError, KeyError)):
        read_kept_maps(folder, scores)


def test_rows_that_were_lost_are_noticed(folder: Path, scores: Scores) -> None:
    lines = (folder / TYPICAL).read_text().splitlines(keepends=True)
    (folder / TYPICAL).write_text("".join(lines[:-1]))
    with pytest.raises(ValueError, match=f"{TYPICAL} has {len(lines) - 2} rows, but {MAPS} says"):
        read_kept_maps(folder, scores)


def test_scores_of_another_run_are_noticed(folder: Path, scores_of: Made) -> None:
    other, _ = scores_of(6, units=40, heads=3)
    with pytest.raises(ValueError, match="not that of the run"):
        read_kept_maps(folder, other)


def test_a_finished_run_has_the_files_and_another_like_it_the_same_bytes(
    label: Label, finished: Path, tmp_path: Path
) -> None:
    found = label().exhibited
    assert found is not None
    assert read_manifest(finished)["parts"] == {"exhibited": sorted(KEPT_MAP_FILES)}
    loaded = headroles.load(finished)
    assert loaded.exhibited is not None
    _same(loaded.exhibited, found)
    save(loaded, tmp_path / "again")
    for name in KEPT_MAP_FILES:
        assert (tmp_path / "again" / name).read_bytes() == (finished / name).read_bytes()


@pytest.mark.parametrize("name", KEPT_MAP_FILES)
def test_a_run_with_a_damaged_file_is_one_sentence(name: str, run: Path) -> None:
    (run / name).write_bytes((run / name).read_bytes()[:40])
    with pytest.raises(
        BadInput, match=rf"from another version \(ValueError: {name} was altered .*; run it again"
    ):
        headroles.load(run)
    hash_again(run)
    with pytest.raises(BadInput, match=r"is damaged or from another version .*; run it again"):
        headroles.load(run)


@pytest.mark.parametrize("hashed", [True, False], ids=["hashed", "without hashes"])
def test_judging_again_leaves_files_of_maps_even_of_roles_that_are_no_longer_held(
    hashed: bool, run: Path
) -> None:
    if not hashed:
        change_manifest(run, lambda record: record.pop("files"))
    before = {name: ((run / name).read_bytes(), (run / name).stat().st_ino) for name in KEPT_MAP_FILES}
    after = headroles.judge_again(run, margin=0.99)
    assert not (after.findings.decision == 0).any()
    assert after.exhibited is not None
    for name, (content, file) in before.items():
        assert ((run / name).read_bytes(), (run / name).stat().st_ino) == (content, file)
        assert read_manifest(run)["files"][name] == hashlib.sha256(content).hexdigest()
    assert headroles.load(run).exhibited is not None
    assert read_manifest(run)["settings"]["maps"] == 1000


def test_a_run_without_maps_takes_the_place_of_one_with_them(label: Label, run: Path) -> None:
    label(maps=0, out=run, overwrite=True)
    assert not any((run / name).exists() for name in KEPT_MAP_FILES)
    assert read_manifest(run)["parts"] == {}
    assert headroles.load(run).exhibited is None
