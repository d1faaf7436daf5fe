"""What probes found as tables of a run folder: everything comes back, and damage is one sentence."""

import csv
import math
import shutil
from collections.abc import Callable
from dataclasses import fields, replace
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headroles
from headroles.errors import BadInput
from headroles.exporting import save
from headroles.records.findings import Labelling
from headroles.records.probes import BaselineCounts, ProbeResults
from headroles.storage.folder import PROBE_FILES, RUN, TALLIES, write_files
from headroles.storage.probes import KINDS, counts_bytes, probe_texts, read_probes
from headroles.storage.run import write_results
from tests.storage.manifests import hash_again

Made = Callable[..., Labelling]

_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00\r"), min_size=1, max_size=8)
_VALUES: dict[type, st.SearchStrategy[Any]] = {
    str: _TEXT,
    int: st.integers(-(2**40), 2**40),
    float: st.floats(),
}


def _records(kind: type) -> st.SearchStrategy[tuple[Any, ...]]:
    values = {each.name: _VALUES[each.type] for each in fields(kind) if isinstance(each.type, type)}
    assert len(values) == len(fields(kind))
    return st.lists(st.builds(kind, **values), max_size=3).map(tuple)


@st.composite
def _tallies(draw: st.DrawFn) -> dict[str, Any]:
    """The fields of tallies; the record is made in the test, where its types are checked."""
    rows = draw(st.lists(_TEXT, max_size=3, unique=True))
    baselines = draw(st.lists(_TEXT, max_size=3))
    examples = draw(st.integers(0, 4))
    large = st.integers(-1, 2**31 - 1)

    def numbers(*shape: int) -> np.ndarray:
        size = math.prod(shape)
        drawn = draw(st.lists(large, min_size=size, max_size=size))
        return np.array(drawn, dtype=np.int64).reshape(shape)

    return {
        "rows": tuple(rows),
        "baselines": tuple(baselines),
        "rivals": tuple(tuple(range(draw(st.integers(0, len(baselines))))) for _ in rows),
        "hits": numbers(len(rows), examples, len(baselines)),
        "items": numbers(len(rows), examples),
        "lost": numbers(len(rows), examples),
    }


def _same(one: object, other: object) -> bool:
    if isinstance(one, float) and math.isnan(one):
        return isinstance(other, float) and math.isnan(other)
    return type(one) is type(other) and one == other


def _equal(one: ProbeResults, other: ProbeResults) -> None:
    for field, kind in KINDS.values():
        mine, theirs = getattr(one, field), getattr(other, field)
        assert len(mine) == len(theirs), field
        for first, second in zip(mine, theirs, strict=True):
            for each in fields(kind):
                assert _same(getattr(first, each.name), getattr(second, each.name)), (field, each.name)
    assert (one.tallies is None) == (other.tallies is None)
    if one.tallies is not None and other.tallies is not None:
        for each in fields(BaselineCounts):
            mine, theirs = getattr(one.tallies, each.name), getattr(other.tallies, each.name)
            assert type(mine) is type(theirs)
            assert np.array_equal(mine, theirs) if isinstance(mine, np.ndarray) else mine == theirs


@pytest.fixture(scope="module")
def _saved(probed_run: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("probed") / "run"
    save(probed_run(), folder)
    return folder


@pytest.fixture
def saved(_saved: Path, tmp_path: Path) -> Path:
    """A copy of a run of probes, to be changed at will."""
    return Path(shutil.copytree(_saved, tmp_path / "run"))


@settings(deadline=None)
@given(
    drawn=st.none() | _tallies(),
    records=st.fixed_dictionaries({field: _records(kind) for field, kind in KINDS.values()}),
)
def test_what_probes_found_comes_back_from_its_tables(
    drawn: dict[str, Any] | None, records: dict[str, Any]
) -> None:
    tallies = None if drawn is None else BaselineCounts(**drawn)
    found = ProbeResults(tallies, **records)
    with TemporaryDirectory() as folder:
        place = Path(folder)
        contents: dict[Path, str | bytes] = {place / name: text for name, text in probe_texts(found).items()}
        if tallies is not None:
            keys = [f"e{number}" for number in range(tallies.items.shape[1])]
            contents[place / TALLIES] = counts_bytes(tallies, keys)
        write_files(contents)
        assert {each.name for each in place.iterdir()} == {each.name for each in contents}
        read = read_probes(place)
        if contents:
            assert read is not None
            _equal(found, read)
        else:
            assert read is None


def test_a_table_has_the_fields_as_header_and_empty_cells_for_nothing_to_say(probed_run: Made) -> None:
    found = probed_run().probed
    assert found is not None
    texts = probe_texts(found)
    assert set(texts) == set(KINDS)
    for name, (field, kind) in KINDS.items():
        rows = list(csv.DictReader(StringIO(texts[name])))
        assert list(rows[0]) == [each.name for each in fields(kind)]
        assert len(rows) == len(getattr(found, field))
    best = {row["row"]: row for row in csv.DictReader(StringIO(texts["best.csv"]))}
    assert best["coreference:pronoun"]["contrast"] == ""
    assert float(best["dependency:nsubj"]["contrast"]) == 0.11


def test_tallies_are_one_row_per_example_with_a_list_per_row_of_the_result(probed_run: Made) -> None:
    run = probed_run()
    assert run.probed is not None
    assert run.probed.tallies is not None
    file = pq.ParquetFile(buffer(counts_bytes(run.probed.tallies, run.scores.examples)))
    table = file.read()
    assert table["example"].to_pylist() == list(run.scores.examples)
    place = run.probed.tallies.rows.index("coreference:pronoun")
    assert table["hits:coreference:pronoun"][5].as_py() == run.probed.tallies.hits[place, 5].tolist()
    assert table["lost:coreference:pronoun"].to_pylist() == run.probed.tallies.lost[place].tolist()


def buffer(content: bytes) -> Any:
    """A buffer that Parquet reads."""
    import pyarrow as pa

    return pa.BufferReader(content)


def test_a_run_of_probes_is_saved_and_loaded_whole(probed_run: Made, tmp_path: Path) -> None:
    run = probed_run()
    save(run, tmp_path / "run")
    names = {each.name for each in (tmp_path / "run").iterdir()}
    assert set(PROBE_FILES) < names <= RUN.holds
    again = headroles.load(tmp_path / "run")
    assert run.probed is not None
    assert again.probed is not None
    _equal(run.probed, again.probed)
    save(again, tmp_path / "run", overwrite=True)


def test_a_run_without_probes_holds_and_loads_none(run: Path) -> None:
    assert headroles.load(run).probed is None
    assert not {each.name for each in run.iterdir()} & set(PROBE_FILES)


def test_tables_of_an_earlier_outcome_do_not_stay(probed_run: Made, saved: Path) -> None:
    run = probed_run()
    assert run.probed is not None
    fewer = replace(run, probed=replace(run.probed, gaps=(), tallies=None))
    write_results(saved, fewer, "report")
    assert not (saved / "conditions.csv").exists()
    assert not (saved / TALLIES).exists()
    again = headroles.load(saved).probed
    assert again is not None
    _equal(again, fewer.probed or run.probed)


@pytest.mark.parametrize(
    ("name", "damage", "said"),
    [
        ("best.csv", lambda old: old.replace(b"accuracy", b"rightness"), "KeyError"),
        ("weights.csv", lambda old: old + b"attention,0,x,\xe2\x86\x92,1.0\n", "invalid literal"),
        ("trained.csv", lambda old: old[:-8], "trained.csv has not one cell per column"),
        ("contests.csv", lambda old: old + b"a,b,c,d,e,f,g,h\n", "could not convert"),
        ("baselines.csv", lambda old: b"\xff" + old, "UnicodeDecodeError"),
        ("tallies.parquet", lambda old: old[: len(old) // 2], "ArrowInvalid"),
        ("tallies.parquet", lambda old: b"", "ArrowInvalid"),
    ],
)
def test_a_damaged_table_is_one_sentence(
    saved: Path, name: str, damage: Callable[[bytes], bytes], said: str
) -> None:
    file = saved / name
    file.write_bytes(damage(file.read_bytes()))
    hash_again(saved)
    with pytest.raises(BadInput, match=r"is damaged or from another version") as caught:
        headroles.load(saved)
    assert said in str(caught.value)


def test_tallies_of_other_examples_or_without_names_are_refused(probed_run: Made, saved: Path) -> None:
    run = probed_run()
    file = saved / TALLIES
    assert run.probed is not None
    assert run.probed.tallies is not None
    others = [f"other {number}" for number in range(len(run.scores.examples))]
    file.write_bytes(counts_bytes(run.probed.tallies, others))
    hash_again(saved)
    with pytest.raises(BadInput, match=r"the examples of tallies\.parquet are not those of the run"):
        headroles.load(saved)
    pq.write_table(pq.read_table(file).replace_schema_metadata({}), file)
    hash_again(saved)
    with pytest.raises(BadInput, match="KeyError"):
        headroles.load(saved)
