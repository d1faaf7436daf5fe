"""Every public function refuses an object of the wrong kind in one short sentence."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import headroles
from headroles import HeadrolesError
from headroles.options.cluster import ClusterOptions
from headroles.options.extract import ExtractOptions
from headroles.options.label import LabelOptions
from headroles.options.probe import ProbeOptions
from headroles.options.surface import SurfaceOptions
from headroles.options.values import record_of
from headroles.options.view import ViewOptions

WRONG: dict[str, Any] = {
    "module": torch.nn.Linear(200, 300),
    "object": object(),
    "dictionary": {"a": torch.nn.Linear(2, 3)},
    "set": {1, 2},
    "bytes": b"x" * 10_000,
    "array": np.zeros((30, 30)),
    "table": pd.DataFrame({"zz": ["y" * 1000]}),
    "function": len,
    "class": torch.nn.Linear,
    "number": 2.5,
    "list of modules": [torch.nn.Linear(2, 3)] * 50,
    "list of numbers": list(range(1000)),
    "empty": "",
    "list of nothing": [None],
}
KINDS: dict[str, tuple[type, dict[str, Any]]] = {
    "label": (LabelOptions, {"data": ["a"]}),
    "cluster": (ClusterOptions, {"data": ["a"]}),
    "surface": (SurfaceOptions, {"data": ["a"]}),
    "probe": (ProbeOptions, {"probes": "trees", "data": "a.conllu"}),
    "view": (ViewOptions, {"text": "It rains."}),
    "extract": (ExtractOptions, {"file": "texts.json", "out": "maps.npz"}),
}
NO_OPTIONS = {"sieve", "sieve_family"}
"""Functions that make sieves, which check their own arguments."""


def _functions() -> Iterator[str]:
    for name in headroles.__all__:
        if inspect.isfunction(getattr(headroles, name)) and name not in NO_OPTIONS:
            yield name


def _check(act: Callable[[], object]) -> None:
    """Check that a call fails in a sentence of a line, without what the object prints."""
    with pytest.raises(HeadrolesError) as error:
        act()
    sentence = str(error.value)
    assert len(sentence) < 400, sentence
    for printed in ("object at 0x", "in_features", "[0., 0.", "yyyyyyyyyy" * 8, "xxxxxxxxxx" * 8):
        assert printed not in sentence


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", list(_functions()))
def test_a_public_function_refuses_an_object_as_its_first_arguments(name: str, wrong: str) -> None:
    function = getattr(headroles, name)
    parameters = list(inspect.signature(function).parameters.values())
    needed = [one for one in parameters if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD]
    _check(lambda: function(*[WRONG[wrong]] * max(len(needed), 1)))


@pytest.mark.parametrize("wrong", ["module", "object", "dictionary", "array", "table", "list of modules"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_option_refuses_an_object_of_another_library(kind: str, wrong: str) -> None:
    record, usual = KINDS[kind]
    names = {"data", "file", "sieve", "also"} if wrong in ("table", "dictionary") else set()
    for name in {field.name for field in fields(record)} - names:
        _check(lambda given=usual | {name: WRONG[wrong]}: record_of(record, **given))  # type: ignore[misc]
