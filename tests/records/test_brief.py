"""What is typed at a prompt shows itself in a few lines, however large it is."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from inspect import unwrap
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import numpy as np
import pytest

import headroles.records
from headroles import (
    Example,
    Labelling,
    cluster,
    compare,
    extract,
    label,
    load,
    probe,
    replicate,
    surface,
    view,
)
from headroles.catalogue import sieves_of
from headroles.errors import describe_object
from headroles.planning import study
from headroles.records.documents import Choices, Document
from headroles.records.example import Lexical
from headroles.records.shown.brief import MOST_LETTERS, MOST_LINES, brief_lines, describe
from headroles.shards.verify import verify
from headroles.sieves import BUILT_IN
from tests.support.clustered_runs import labelled
from tests.support.made_views import HOSTILE, LONG, pair

MOST = 2000
"""Most characters of a text at a prompt."""


def _check(record: object) -> None:
    text = repr(record)
    assert len(text.splitlines()) <= MOST_LINES, text
    assert len(text) <= MOST, text
    assert type(record).__name__.strip("_") in text


def _inside(value: Any, seen: set[int]) -> Iterator[object]:
    """Every record inside a value, the first few of a sequence."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if is_dataclass(value) and not isinstance(value, type):
        yield value
        for field in fields(value):
            yield from _inside(getattr(value, field.name), seen)
    elif isinstance(value, Mapping):
        yield from _inside(tuple(value.values()), seen)
    elif isinstance(value, tuple | list):
        for item in value[:3]:
            yield from _inside(item, seen)


@pytest.fixture(scope="module")
def results(
    planted: Path, even: Path, table: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, object]:
    """A result of every public function that returns one, on a real model and real texts."""
    folder = tmp_path_factory.mktemp("results")
    how: dict[str, Any] = {"data": table, "task": "QNLI", "model": planted, "max_length": 48}
    rows = [
        {
            "words": ["the", f"cat{'s' * number}", "sat", "it", "sat"],
            "sentences": [3, 2],
            "heads": [2, 3, 0, 2, 0],
            "relations": ["det", "nsubj", "root", "nsubj", "root"],
            "clusters": [[[0, 2], [3, 4]]],
        }
        for number in range(8)
    ]
    few = ["local", "delimiter", "block"]
    first = label(**how, sieve=few, out=folder / "a", limit=40)
    label(**how, sieve=few, out=folder / "b", limit=40, device="cpu", seed=1)
    label(**how | {"model": even}, sieve=few, out=folder / "even", limit=40)
    texts = ("the cat sat", "it is red")
    return {
        "label": first,
        "published": label(**how, limit=40, sieve=few, preset="published"),
        "load": load(folder / "a"),
        "cluster": cluster(**how, sieve=few),
        "surface": surface(**how),
        "dependency": probe(["dependency", "trees"], data=rows, model=planted),
        "coreference": probe("coreference", data=rows, model=planted),
        "compare": compare(folder / "a", folder / "even", swaps=0),
        "replicate": replicate(folder / "a", folder / "b"),
        "view": view(*texts, model=planted),
        "view of arrays": view(np.full((2, 3, 4, 4), 0.25), list("abcd")),
        "verify": verify(folder / "a"),
        "study": study(effect=0.5, head_count=144),
        "extract": extract(list(texts), out=folder / "maps.npz", model=planted),
    }


def test_every_record_in_every_result_is_short(results: dict[str, object]) -> None:
    seen: set[int] = set()
    records = [record for result in results.values() for record in _inside(result, seen)]
    for record in records:
        _check(record)
    shown = {type(record) for record in records}
    assert len(shown) > 25
    for kind in (
        "Scores",
        "Findings",
        "Assessment",
        "ClusterResults",
        "SurfaceResults",
        "ProbeResults",
        "Maps",
    ):
        assert kind in {record.__name__ for record in shown}


def test_a_run_says_its_model_inputs_roles_and_folder(results: dict[str, object], planted: Path) -> None:
    first, loaded = results["label"], results["load"]
    assert isinstance(first, Labelling)
    text = repr(first)
    assert repr(loaded) == text
    assert text.startswith("Labelling of 2 layers × 3 heads\n")
    for fact in (
        f"model     {planted}"[:60],
        "QNLI, ",
        "40 examples",
        "t-skew, fdr_bh over family 'sieve'",
        "folder",
    ):
        assert fact in text
    count = int((first.findings.decision[first.findings.of("local")] == 0).sum())
    assert f"local     {count} role" in text


def test_a_comparison_and_a_replication_count_their_outcomes(results: dict[str, object]) -> None:
    assert "changed" in repr(results["compare"])
    assert "within ± 0.05 is equivalent" in repr(results["compare"])
    assert "roles again" in repr(results["replicate"])


def _records() -> Iterator[type]:
    """Every record of the package."""
    for module in iter_modules(headroles.records.__path__, "headroles.records."):
        for kind in vars(import_module(module.name)).values():
            if isinstance(kind, type) and is_dataclass(kind) and kind.__module__ == module.name:
                yield kind


def test_records_that_hold_many_things_do_not_spell_them_out() -> None:
    plain = {"str", "int", "float", "bool", "None"}
    for kind in _records():
        types = " | ".join(str(getattr(field.type, "__name__", field.type)) for field in fields(kind))
        if unwrap(kind.__repr__).__code__.co_filename == "<string>":  # made by dataclass
            assert {part.strip() for part in types.split("|")} <= plain, kind
    assert len(list(_records())) > 40


def test_sieves_and_inputs_are_short_whatever_they_hold() -> None:
    chosen, _ = sieves_of([*BUILT_IN])
    tokens = (LONG, HOSTILE, *map(str, range(5000)))
    heads = np.zeros((40, 1), dtype=np.float32)
    for record in (
        *chosen,
        pair(),
        Example(LONG, tokens, lexical=Lexical(tokens, heads)),
        Document(LONG, LONG, np.zeros((40, 2), dtype=np.int64), tokens[:40], np.zeros(40, dtype=np.int32)),
        labelled(12, 12, tuple(f"sieve {number} {LONG}" for number in range(60))),
    ):
        assert len(repr(record).splitlines()) <= MOST_LINES
        assert len(repr(record)) <= MOST
        assert "\x1b" not in repr(record)


def test_lines_and_facts_are_cut() -> None:
    text = brief_lines("Title", [(f"{LONG}{number}", "fact\nof two lines \x1b[31m") for number in range(50)])
    assert len(text.splitlines()) == MOST_LINES
    assert text.endswith("and 32 more")
    assert max(map(len, text.splitlines())) <= MOST_LETTERS
    assert "\x1b" not in text
    assert describe([LONG] * 3).count(LONG) == 0


def test_a_result_in_an_error_is_named_by_its_class(results: dict[str, object]) -> None:
    assert describe_object(results["label"]) == "a Labelling"
    assert describe(Choices) == "the class Choices"
