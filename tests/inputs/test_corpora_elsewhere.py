"""Corpora in Parquet files, on the hub and at addresses."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headroles.errors import BadInput
from headroles.inputs.passages import read_corpus
from headroles.options.label import LabelOptions
from headroles.options.values import record_of
from tests.inputs.corpus_files import NOWHERE, ROWS, read, written


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        (
            {"text": ["a"], "from": [1.5]},
            "column 'from' must hold names or whole numbers, but it holds double",
        ),
        ({"text": [3], "from": ["x"]}, "the column 'text' must hold texts, but it holds int64"),
        ({"words": ["a"], "from": ["x"]}, "the column 'text' is needed but not there; columns: words, from"),
        ({"text": ["a", " "], "from": ["x", "y"]}, "own.parquet, row 1: every row has its texts, but 'text'"),
        (
            {"text": ["a", None], "from": ["x", "y"]},
            "own.parquet, row 1: every row has its texts, but 'text'",
        ),
        ({"text": pa.array([], pa.string()), "from": pa.array([], pa.string())}, "at least one row"),
    ],
)
def test_a_bad_parquet_file_is_one_sentence(columns: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    pq.write_table(pa.table(columns), tmp_path / "own.parquet")
    with pytest.raises(BadInput, match=sentence):
        read(tmp_path / "own.parquet")


def test_a_torn_parquet_file_is_one_sentence(tmp_path: Path) -> None:
    whole = written(tmp_path / "own.parquet", ROWS).read_bytes()
    for torn in (whole[:-30], b"PAR1", whole[:200] + b"\xff" * 400 + whole[600:]):
        (tmp_path / "own.parquet").write_bytes(torn)
        with pytest.raises(BadInput, match="cannot be read as a Parquet file: "):
            read(tmp_path / "own.parquet")


def test_texts_and_groups_of_parquet_may_be_kept_once_each(tmp_path: Path) -> None:
    columns = {
        "text": pa.array(["a b", "c d", "a b"]).dictionary_encode(),
        "from": pa.array([7, None, 9], pa.int32()),
        "embedding": pa.array([[1.0], [2.0], [3.0]]),
    }
    pq.write_table(pa.table(columns), tmp_path / "own.parquet")
    found = read(tmp_path / "own.parquet")
    assert found == [("own/0", ("a b",), "7"), ("own/1", ("c d",), None), ("own/2", ("a b",), "9")]


def test_a_task_in_parquet_has_the_names_of_the_hub(tmp_path: Path) -> None:
    rows = [{"sentence1": "It rains.", "sentence2": "It pours."}]
    written(tmp_path / "dev.parquet", rows)
    corpus = read_corpus(
        record_of(LabelOptions, task="MRPC", data=str(tmp_path / "dev.parquet")), frozenset(), NOWHERE
    )
    assert [each.texts for each in corpus] == [("It rains.", "It pours.")]


@pytest.fixture
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in the layout of the hub with 300 rows of QNLI, and a cache of its own."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "glue"
    (folder / "qnli").mkdir(parents=True)
    rows = {"question": [f"Who is {n}?" for n in range(300)], "sentence": [f"He is {n}." for n in range(300)]}
    pd.DataFrame(rows).to_parquet(folder / "qnli" / "validation-00000-of-00001.parquet")
    files = "- config_name: qnli\n  data_files:\n  - split: validation\n    path: qnli/validation-*\n"
    (folder / "README.md").write_text(f"---\nconfigs:\n{files}---\n")
    return folder


@pytest.mark.parametrize("stream", [False, True])
def test_a_dataset_of_the_hub_is_read_as_it_comes(stream: bool, dataset: Path, tmp_path: Path) -> None:
    subset = {"first": 20} if stream else {"limit": 20}
    options = record_of(LabelOptions, task="QNLI", source="hub", data=str(dataset), stream=stream, **subset)
    corpus = read_corpus(options, frozenset(), NOWHERE)
    numbers = [int(each.key.rpartition("/")[2]) for each in corpus]
    random = np.sort(np.random.default_rng(0).choice(300, size=20, replace=False)).tolist()
    assert numbers == (list(range(20)) if stream else random)
    assert [each.texts[0] for each in corpus] == [f"Who is {n}?" for n in numbers]
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("stream", [False, True])
def test_a_dataset_on_the_hub_is_fetched_as_it_is_read_when_it_is_streamed(
    stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Any, ...]] = []

    def load(*given: Any, split: str, streaming: bool, cache_dir: str | None) -> Iterator[dict[str, str]]:
        asked.append((*given, split, streaming, cache_dir))
        return ({"question": f"Who is {n}?", "sentence": f"He is {n}."} for n in range(40))

    monkeypatch.setattr("headroles.extraction.texts.hub.reachable", lambda *given: None)
    monkeypatch.setattr("datasets.load_dataset", load)
    options = record_of(LabelOptions, task="QNLI", source="hub", data="owner/glue", stream=stream, first=3)
    assert len(list(read_corpus(options, frozenset(), NOWHERE))) == 3
    assert set(asked) == {("owner/glue", "qnli", "validation", stream, None)}


def test_corpora_at_addresses_are_read_by_the_same_door() -> None:
    import fsspec

    system = fsspec.filesystem("memory")
    lines = [json.dumps(row) for row in ROWS]
    try:
        for number in range(2):
            text = "\n".join(lines[number * 25 : number * 25 + 25])
            system.pipe_file(f"/corpus/part-{number}.jsonl.gz", gzip.compress(text.encode()))
        wanted = [(f"corpus/{n}", (row["text"],), row["from"]) for n, row in enumerate(ROWS)]
        assert read("memory://corpus") == read("memory://corpus/*.jsonl.gz") == wanted
        assert len(read("memory://corpus/part-1.jsonl.gz")) == 25
        with pytest.raises(BadInput, match=r"^No such file: memory://corpus/part-7\.jsonl$"):
            read("memory://corpus/part-7.jsonl")
    finally:
        system.rm("/corpus", recursive=True)
