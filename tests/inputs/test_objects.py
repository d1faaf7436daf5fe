"""Runs on tables and lists: columns, groups and texts are those of the same inputs in a file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from headroles import HeadrolesError, Labelling, extract, label, load, probe, surface
from headroles.errors import BadInput
from headroles.inputs.objects import object_columns
from headroles.options.label import LabelOptions
from headroles.options.values import record_of

PAIRS = [(f"Is number {number} here?", f"It is here, with {number + 1}.") for number in range(12)]
SHORT: dict[str, Any] = {"maps": 0, "max_length": 48}
FEW: dict[str, Any] = {"sieve": ["local", "block"], **SHORT}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The pairs as a table."""
    lines = ["a\tb\tdoc", *(f"{a}\t{b}\t{number // 2}" for number, (a, b) in enumerate(PAIRS))]
    path = tmp_path / "pairs.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _same(one: Labelling, other: Labelling) -> bool:
    """Whether two runs have the same scores, up to rounding, and as many units."""
    units = [len(set(run.scores.units)) for run in (one, other)]
    close = np.allclose(one.scores.values, other.scores.values, rtol=0, atol=1e-6, equal_nan=True)
    return close and units[0] == units[1]


def _frame() -> pd.DataFrame:
    return pd.DataFrame(PAIRS, columns=["a", "b"]).assign(doc=[number // 2 for number in range(len(PAIRS))])


def test_every_object_scores_as_the_same_pairs_in_a_file(planted: Path, file: Path) -> None:
    from datasets import Dataset

    columns: dict[str, Any] = {"text_a": "a", "text_b": "b", "group": "doc"}
    usual = [{"text_a": a, "text_b": b, "group": number // 2} for number, (a, b) in enumerate(PAIRS)]
    of_file = label(data=file, model=planted, **columns, **FEW)
    assert len(set(of_file.scores.units)) == len(PAIRS) // 2
    for data, named in (
        (_frame(), columns),
        (Dataset.from_pandas(_frame()), columns),
        (usual, {}),
        (pd.DataFrame(usual), {}),
    ):
        assert _same(label(data=data, model=planted, **named, **FEW), of_file)
    alone = label(data=file, model=planted, text_a="a", text_b="b", **FEW)
    assert _same(label(data=PAIRS, model=planted, **FEW), alone)


def test_a_list_of_texts_is_a_run_of_single_texts(planted: Path) -> None:
    run = label(data=[a for a, _ in PAIRS], model=planted, sieve="local", **SHORT)
    assert run.scores.examples[:2] == ("data/0", "data/1")
    assert run.manifest["source"]["kind"] == "object"
    assert run.manifest["settings"]["data"].startswith("list of 12 texts (sha256 ")


def test_a_limit_draws_the_same_inputs_as_of_a_file(planted: Path, file: Path) -> None:
    limited: dict[str, Any] = {"limit": 5, "seed": 3, "text_a": "a", "text_b": "b"}
    assert _same(
        label(data=_frame(), model=planted, **limited, **FEW),
        label(data=file, model=planted, **limited, **FEW),
    )


def test_a_resumed_run_of_another_object_is_refused(planted: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    first = label(data=PAIRS, model=planted, out=out, sieve="local", **SHORT)
    again = label(data=list(PAIRS), model=planted, out=out, sieve="local", **SHORT)
    assert _same(first, again)
    assert first.manifest["settings"] == load(out).manifest["settings"]
    with pytest.raises(BadInput, match=r"holds a run with other settings \(data\)"):
        label(data=PAIRS[:-1], model=planted, out=out, sieve="local", **SHORT)


def test_a_run_cannot_be_made_again_from_the_name_of_an_object(planted: Path) -> None:
    run = label(data=PAIRS, model=planted, sieve="local", **SHORT)
    with pytest.raises(BadInput, match="is not stored with its run"):
        label(data=run.manifest["settings"]["data"], model=planted, **SHORT)


@pytest.mark.slow
def test_several_workers_get_the_rows(planted: Path) -> None:
    one = label(data=_frame(), text_a="a", text_b="b", model=planted, **FEW)
    two = label(data=_frame(), text_a="a", text_b="b", model=planted, workers=2, shard_size=6, **FEW)
    assert _same(one, two)


@pytest.mark.parametrize(
    ("data", "named", "columns"),
    [
        ([{"text": "a"}], {}, (("text",), None)),
        ([{"text_a": "a", "text": "b"}], {}, (("text_a",), None)),
        ([{"text": "a", "group": 1}], {"text_a": "text"}, (("text",), None)),
        ([{"text": "a", "group": 1}], {"group": "text"}, (("text",), "text")),
        ([{"question": "a", "sentence": "b"}], {"task": "QNLI"}, (("question", "sentence"), None)),
        ([{"#1 String": "a", "#2 String": "b"}], {"task": "MRPC"}, (("#1 String", "#2 String"), None)),
        ([{"sentence1": "a", "sentence2": "b"}], {"task": "MRPC"}, (("sentence1", "sentence2"), None)),
        (["a", "b"], {"task": "SST-2"}, (("text",), None)),
    ],
)
def test_columns_are_those_named_then_the_tasks_then_the_usual_ones(
    data: Any, named: dict[str, Any], columns: tuple[Any, ...]
) -> None:
    options = record_of(LabelOptions, data=data, **named)
    assert object_columns(options, options.data) == columns  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("data", "named", "sentence"),
    [
        ([{"body": "a"}], {}, "has no column 'text' or 'text_a'"),
        ([{"body": "a"}], {"task": "QNLI"}, "the column 'question' is needed but not there; columns: body"),
        ([{"body": "a"}], {"text_a": "text"}, "the column 'text' is needed but not there"),
        ([{"text": "a"}], {"group": "doc"}, "the column 'doc' is needed but not there"),
        (["a"], {"text_a": "text"}, "text_a names a column of a table or a key of dictionaries"),
        (["a", " "], {}, "list of 2 texts, row 1: every row has its texts"),
        ([{"text": "a"}, {"text": "b", "text_b": "c"}], {}, "this one also has 'text_b'"),
        (["a"], {"source": "hub", "task": "QNLI"}, "source 'hub' names a dataset of the hub"),
        (["a\ud800"], {}, "half a character"),
    ],
)
def test_inputs_without_their_columns_or_texts_are_refused(
    data: Any, named: dict[str, Any], sentence: str, planted: Path
) -> None:
    with pytest.raises(HeadrolesError) as error:
        label(data=data, model=planted, sieve="local", **SHORT, **named)
    assert sentence in str(error.value)


def test_the_inputs_may_not_change_while_a_run_is_made(planted: Path) -> None:
    rows = [a for a, _ in PAIRS]

    def change(done: int, total: int) -> None:
        rows[-1] = "Another text altogether."

    with pytest.raises(BadInput, match="must not change until it is finished"):
        label(data=rows, model=planted, sieve="local", **SHORT, shard_size=2, progress=change)


def test_labels_of_a_table_give_the_losses_of_a_file(headed: Callable[..., Path], tmp_path: Path) -> None:
    table = pd.DataFrame({"text": [f"number {number} is here" for number in range(6)], "class": [0, 1] * 3})
    file = tmp_path / "labelled.csv"
    table.to_csv(file, index=False)
    model = headed("bert", "SequenceClassification")
    how: dict[str, Any] = {
        "text_a": "text",
        "gradients": True,
        "label": "class",
        "model": model,
        "max_length": 32,
    }
    assert _same(surface(data=table, **how), surface(data=file, **how))


def test_extract_writes_the_maps_of_objects_as_of_json_lines(planted: Path, tmp_path: Path) -> None:
    rows = [{"text": list(pair), "note": number} for number, pair in enumerate(PAIRS)]
    file = tmp_path / "texts.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    extract(file, out=tmp_path / "file.npz", model=planted)
    extract(rows, out=tmp_path / "rows.npz", model=planted)
    extract(PAIRS, out=tmp_path / "pairs.npz", model=planted)
    one, two, three = (np.load(tmp_path / f"{name}.npz") for name in ("file", "rows", "pairs"))
    assert all(np.array_equal(one[key], two[key]) and np.array_equal(one[key], three[key]) for key in one)
    assert (tmp_path / "file.json").read_text() == (tmp_path / "rows.json").read_text()
    with pytest.raises(BadInput, match="all fields are kept as JSON in UTF-8"):
        extract([{"text": "a", "note": object()}], out=tmp_path / "bad.npz", model=planted)


def test_probes_ask_dictionaries_as_lines_of_json(planted: Path, tmp_path: Path) -> None:
    rows = [
        {
            "words": ["the", f"number{'s' * number}", "is"],
            "heads": [2, 3, 0],
            "relations": ["det", "nsubj", "root"],
        }
        for number in range(6)
    ]
    file = tmp_path / "data.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    of_rows = probe("dependency", data=rows, model=planted)
    assert _same(of_rows, probe("dependency", data=file, model=planted))
    assert (
        of_rows.scores.examples == probe("dependency", data=pd.DataFrame(rows), model=planted).scores.examples
    )
    with pytest.raises(BadInput, match=r"list of 1 dictionary \(sha256 .*'words' is a list of"):
        probe("dependency", data=[{"words": []}], model=planted)
