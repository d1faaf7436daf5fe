"""Inputs as Python objects: what is taken, how it is named, and what is refused in a sentence."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroles.errors import BadInput, describe_object, shorten
from headroles.records.objects import DataObject, data_object, is_name, refuse_name, take_objects

TEXTS = st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=6)


def _dataset(rows: dict[str, list[Any]]) -> Any:
    from datasets import Dataset

    return Dataset.from_dict(rows)


def _cells(data: DataObject) -> list[dict[str, Any]]:
    return [row for _, row in data.rows()]


@given(TEXTS)
def test_texts_of_every_form_are_read_in_their_order(texts: list[str]) -> None:
    expected = [{"text": text} for text in texts]
    assert _cells(data_object(texts)) == expected
    assert _cells(data_object(expected)) == expected
    assert _cells(data_object(pd.DataFrame({"text": pd.Series(texts, dtype=object)}))) == expected


def test_rows_of_a_dataset_are_those_of_its_columns() -> None:
    rows = {"a": ["one", "two", "three"] * 400, "n": [*range(1200)]}
    data = data_object(_dataset(rows))
    assert data.columns == ("a", "n")
    assert [row["n"] for row in _cells(data)] == rows["n"]
    assert [row for _, row in data.rows(["a"])] == [{"a": text} for text in rows["a"]]
    assert data.name.startswith("Dataset of 1,200 rows (sha256 ")


def test_a_dataset_is_read_as_plain_values_whatever_its_format() -> None:
    data = _dataset({"a": ["one", "two"], "n": [1, 2]})
    assert data_object(data.with_format("torch")).sha256 == data_object(data).sha256
    assert _cells(data_object(data.with_format("numpy"))) == [{"a": "one", "n": 1}, {"a": "two", "n": 2}]


def test_equal_content_has_one_hash_and_other_content_another() -> None:
    whole = _dataset({"a": [f"text {number}" for number in range(1500)]})
    part = _dataset({"a": [f"text {number}" for number in range(1100)]})
    assert data_object(whole.select(range(1100))).sha256 == data_object(part).sha256
    assert data_object(whole).sha256 != data_object(part).sha256
    assert data_object(["a", "b"]).sha256 != data_object(["b", "a"]).sha256
    assert data_object([("a", "b")]).sha256 != data_object([{"text_a": "a", "text_b": "b"}]).sha256


def test_values_that_json_has_no_type_for_have_the_same_hash_in_every_process() -> None:
    def made() -> list[dict[str, Any]]:
        return [{"text": "a", "other": [object(), np.arange(2), b"x"], "when": pd.Timestamp("2020-01-01")}]

    assert data_object(made()).sha256 == data_object(made()).sha256


def test_missing_cells_of_a_table_are_none() -> None:
    table = pd.DataFrame(
        {"text": ["a", None, "c"], "group": [1.0, np.nan, 3.0], "mark": pd.array([1, None, 2])}
    )
    assert [row["group"] for row in _cells(data_object(table))] == [1.0, None, 3.0]
    assert [row["mark"] for row in _cells(data_object(table))] == [1, None, 2]
    assert _cells(data_object(table))[1]["text"] is None


def test_an_object_travels_to_another_process_with_its_rows() -> None:
    data = data_object(pd.DataFrame({"text": ["a", "b"]}))
    other = pickle.loads(pickle.dumps(data))
    assert other.name == data.name
    assert _cells(other) == _cells(data)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ([], "at least one row, but the list is empty"),
        (pd.DataFrame({"text": []}), "at least one row, but the DataFrame is empty"),
        (("a", "b"), "data as objects is a list, but got a tuple of 2"),
        ([3], "the list holds an int"),
        ([["a", "b", "c"]], "the list holds a list"),
        (
            ["a", 3],
            "row 1: all items of a list must be of one kind, texts as the first one, but this is an int",
        ),
        ([{"text": "a"}, "b"], "dictionaries as the first one, but this is a str"),
        ({"text": ["a"]}, "but got a dict"),
        (np.array(["a"]), "but got a ndarray"),
        (pd.Series(["a"]), "but got a Series"),
        (iter(["a"]), "but got a list_iterator"),
        (DataObject, "but got the class DataObject"),
        (pd.DataFrame([["a", "b"]], columns=["text", "text"]), "two are called 'text'"),
    ],
)
def test_inputs_of_another_kind_are_refused_by_their_class(data: Any, sentence: str) -> None:
    with pytest.raises(BadInput) as error:
        take_objects({"data": data}, data="data")
    assert sentence in str(error.value)
    assert len(str(error.value)) < 200


def test_paths_and_names_stay_as_they_are() -> None:
    given = {"data": "texts.tsv", "model": "some/model", "seed": 1}
    assert take_objects(given, model=True, data="data") == given
    files = {"data": ["a.conllu", "b.conllu"]}
    assert take_objects(files, data="data", files=True) == files


def test_where_strings_name_files_only_dictionaries_are_inputs() -> None:
    taken = take_objects({"data": [{"words": ["a"]}]}, data="data", files=True)
    assert isinstance(taken["data"], DataObject)
    with pytest.raises(BadInput, match="a list of dictionaries, but the list holds a tuple"):
        take_objects({"data": [("a", "b")]}, data="data", files=True)


def test_a_tokenizer_belongs_to_a_model_object() -> None:
    with pytest.raises(BadInput, match="tokenizer is that of a transformers model given as an object"):
        take_objects({"model": "some/model", "tokenizer": object()}, model=True)
    with pytest.raises(BadInput, match="but model is None"):
        take_objects({"tokenizer": object()}, model=True)
    with pytest.raises(BadInput, match="tokenizer is a transformers tokenizer, but got an object"):
        take_objects({"tokenizer": object()}, model=True, weights=False)


def test_a_model_of_another_library_is_named_by_its_class() -> None:
    import torch

    with pytest.raises(BadInput) as error:
        take_objects({"model": torch.nn.Linear(200, 300)}, model=True)
    assert str(error.value) == "model is a name, a folder or a transformers model, but got a Linear"


def test_names_of_objects_are_known_and_refused_where_the_object_is_needed() -> None:
    name = data_object(["a"]).name
    assert is_name(name)
    refuse_name("runs/texts.tsv")
    with pytest.raises(BadInput, match="is not stored with its run"):
        refuse_name(name)


@given(
    st.one_of(st.text(), st.integers(), st.floats(), st.binary(), st.lists(st.text()), st.sets(st.integers()))
)
def test_a_value_in_a_message_is_short_and_on_one_line(value: object) -> None:
    assert len(shorten(value)) <= 60
    assert "\n" not in shorten(value)


def test_objects_in_a_message_are_named_by_their_class() -> None:
    assert shorten(np.zeros((30, 30))) == "a ndarray"
    assert shorten({"a": np.zeros(3)}) == "{'a': a ndarray}"
    assert describe_object(print) == "the function print"
    assert shorten(np.float64(0.5)) == "np.float64(0.5)"
