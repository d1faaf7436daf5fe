"""Every public function, and every option, refuses an object of the wrong kind in one short sentence."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np
import pytest

import headroles
from headroles import HeadrolesError
from headroles.options.values import record_of

USUAL: dict[str, dict[str, Any]] = {
    "label": {"data": ["a"]}, "cluster": {"data": ["a"]}, "surface": {"data": ["a"]},
    "probe": {"probes": "trees", "data": "a.conllu"}, "view": {"text": "It rains."},
    "extract": {"file": "texts.json", "out": "maps.npz"},
}  # fmt: skip
"""Functions whose options are all tried, and options that are right."""
NO_OPTIONS = {"sieve", "sieve_family"}
"""Functions that make sieves, which check their own arguments."""
PRINTED = ("object at 0x", "in_features", "[0., 0.", "y" * 80, "x" * 80)
"""What objects print, which has no place in a sentence."""


@pytest.fixture(scope="module")
def wrong() -> dict[str, Any]:
    """Objects that nothing takes."""
    import pandas as pd
    import torch

    return {
        "module": torch.nn.Linear(200, 300), "object": object(), "dictionary": {"a": torch.nn.Linear(2, 3)},
        "set": {1, 2}, "bytes": b"x" * 10_000, "array": np.zeros((30, 30)), "function": len,
        "table": pd.DataFrame({"zz": ["y" * 1000]}), "class": torch.nn.Linear, "number": 2.5, "empty": "",
        "modules": [torch.nn.Linear(2, 3)] * 50, "numbers": list(range(1000)), "nothing": [None],
    }  # fmt: skip


def _faults(asked: Iterator[tuple[str, Callable[[], object]]]) -> list[str]:
    """Return the calls that were not refused, or not in a sentence of a line without what objects print."""
    found = []
    for name, act in asked:
        try:
            act()
            found.append(f"{name}: not refused")
        except HeadrolesError as error:
            sentence = str(error)
            if len(sentence) >= 400 or any(printed in sentence for printed in PRINTED):
                found.append(f"{name}: {sentence}")
        except Exception as error:
            found.append(f"{name}: {type(error).__name__}: {error}")
    return found


def test_a_public_function_refuses_an_object_as_its_first_arguments(wrong: dict[str, Any]) -> None:
    def calls() -> Iterator[tuple[str, Callable[[], object]]]:
        for name in headroles.__all__:
            function = getattr(headroles, name)
            if not inspect.isfunction(function) or name in NO_OPTIONS:
                continue
            parameters = inspect.signature(function).parameters.values()
            needed = sum(
                each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD for each in parameters
            )
            for kind, given in wrong.items():
                yield f"{name} {kind}", partial(function, *[given] * max(needed, 1))

    assert _faults(calls()) == []


def test_every_option_refuses_an_object_of_another_library(wrong: dict[str, Any]) -> None:
    def calls() -> Iterator[tuple[str, Callable[[], object]]]:
        for name, usual in USUAL.items():
            record: Any = getattr(headroles, name).record
            for kind in ("module", "object", "dictionary", "array", "table", "modules"):
                taken = {"data", "file", "sieve", "also"} if kind in ("table", "dictionary") else set()
                for option in {field.name for field in fields(record)} - taken:
                    given = usual | {option: wrong[kind]}
                    yield f"{name} {option} {kind}", partial(record_of, record, **given)

    assert _faults(calls()) == []
