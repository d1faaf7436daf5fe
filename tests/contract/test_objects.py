"""Results as Python objects: read-only records, frames, heads and roles by name, prompts, and marks."""

import re
from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles import Example, Labelling
from headroles.catalogue import sieve_of
from headroles.exporting import load_result
from headroles.records import (
    COLUMNS,
    DECISIONS,
    Decision,
    Rule,
    looks_of,
    phrase_of,
    without_wholes,
)
from headroles.sieves import BUILT_IN, TITLES
from tests.contract.conftest import Again
from tests.contract.recorded import NAMES

MOST_LINES, MOST_LETTERS = 20, 2000
"""Of what is shown at a prompt."""


@pytest.fixture(scope="module")
def run(again: Again) -> Labelling:
    """The recorded label run."""
    return headroles.load(again("label")[0])


def test_records_cannot_be_written_into_and_are_deaf_to_later_changes(run: Labelling) -> None:
    segment = np.array([-1, 0, 0, 1], dtype=np.int32)
    example = Example("x", ("[CLS]", "a", "b", "c"), segment=segment)
    segment[:] = 5
    assert (example.size, example.texts, example.segment.tolist()) == (4, 2, [-1, 0, 0, 1])
    assert (example.special.tolist(), example.first.tolist()) == ([True, False, False, False],) * 2
    assert (example.word.tolist(), example.arcs) == ([-1] * 4, None)
    arrays = [getattr(example, name) for name in ("segment", "special", "first", "word")]
    arrays += [getattr(run.scores, name) for name in ("tokens", "cells", "values", "null")]
    arrays += [getattr(run.findings, name) for name in (*COLUMNS, "decision")]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    for record, name in ((example, "key"), (run.scores, "values"), (run.findings, "p"), (run, "skipped")):
        with pytest.raises(FrozenInstanceError):
            setattr(record, name, None)
    assert Rule("x", null=1.0, margin=2.0).threshold == 3.0
    assert Decision() == Decision("t-skew", "fdr_bh", "sieve", 0.05)


def test_frames_labels_and_arrays_say_what_the_tables_of_the_folder_say(run: Labelling, again: Again) -> None:
    folder, found = again("label")[0], run.findings
    assert run.frame().to_csv(index=False, lineterminator="\n") == (folder / "findings.csv").read_text(
        "utf-8"
    )
    assert run.labels().to_csv(index=False, lineterminator="\n") == (folder / "labels.csv").read_text("utf-8")
    data, table = run.to_xarray(), run.to_pandas().set_index(["sieve", "layer", "head"])
    assert data["score"].dims == ("sieve", "input", "layer", "head")
    assert data["score"].dtype == np.float32
    np.testing.assert_array_equal(data["score"].to_numpy(), run.scores.values)
    for name in table.columns:
        for sieve, layer, head in (("local", 0, 0), ("delimiter", 1, 2)):
            value = data[name].sel(sieve=sieve, layer=layer, head=head).item()
            assert value == table.loc[(sieve, layer, head), name] or np.isnan(value)
    assert (data.attrs["alpha"], [*data["unit"].to_numpy()]) == (0.05, [*run.scores.units])
    low, high = run.mean_intervals()
    for row in run.evidence().to_dict("records"):
        place = found.of(str(row["sieve"])), row["layer"], row["head"]
        assert (row["mean"], row["q"]) == (found.mean[place], found.q[place])
        assert row["threshold"] == found.null[place] + found.margin[place]
        assert (row["low"], row["high"]) == (low[place], high[place])
        assert row["verdict"] in {DECISIONS[found.decision[place]], "absent", "explained by position"}


def test_heads_and_roles_are_found_by_name_with_their_evidence(run: Labelling) -> None:
    labels = run.labels().set_index(["layer", "head"])["roles"]
    for layer, number in np.ndindex(run.scores.layers, run.scores.heads):
        head = run.head(layer, number)
        assert sorted(head.roles) == sorted(name for name in labels[layer, number].split(";") if name)
        table = head.to_pandas()
        assert [*table["sieve"][: len(head.roles)]] == [*head.roles]
        assert table["mean"][: len(head.roles)].is_monotonic_decreasing
        assert head.sentence.startswith(f"{layer}-{number} ")
    assert [*run.roles] == [*run.findings.roles]
    for name, role in run.roles.items():
        place = run.findings.of(name)
        held = np.argwhere(run.findings.decision[place] == 0)
        assert sorted(role.heads) == sorted(map(tuple, held.tolist()))
        contrast = run.findings.rules[place].contrast
        lows = run.mean_intervals()[0][run.findings.of(contrast) if contrast else place]
        ends = [float(lows[head]) for head in role.heads]
        assert ends == sorted(ends, reverse=True)
        assert role.strongest == (role.heads[0] if role.heads else None)
        assert sum(role.counts.values()) == len(role.frame()) == run.findings.decision[0].size
    assert {run.head(name).sentence for name in ("1-2", "L1H2", "1.2", (1, 2))} == {run.head(1, 2).sentence}
    assert run.roles["neighbours"].sieve == "local"
    assert ("locl" in run.roles, run.roles.get("locl")) == (False, None)
    assert {phrase_of(name).title: name for name in TITLES.values()} == TITLES
    assert sieve_of("neighbours").name == "local"
    none = replace(run.findings, decision=np.ones_like(run.findings.decision))
    role = replace(run, findings=none, assessment=None).roles["local"]
    assert (role.strongest, role.counts) == (None, {"not": 6})


def test_every_result_and_its_records_are_short_at_a_prompt(again: Again) -> None:
    results: list[Any] = [load_result(again(name)[0]) for name in NAMES if name not in ("replicate", "prune")]
    parts = [getattr(result, field.name) for result in results for field in fields(result)]
    records = [*results, *filter(is_dataclass, parts)]
    assert len({type(record) for record in records}) > 12
    for record in records:
        text = repr(record)
        assert len(text.splitlines()) <= MOST_LINES, text
        assert len(text) <= MOST_LETTERS, text
        assert type(record).__name__.strip("_") in text


def test_a_callback_gets_the_scored_inputs(label: Callable[..., Labelling]) -> None:
    told: list[tuple[int, int]] = []
    label(limit=50, batch_size=8, progress=lambda done, total: told.append((done, total)))
    assert told == [(done, 50) for done in (8, 16, 24, 32, 40, 48, 50)]


def test_inputs_may_be_objects_of_every_form(planted: Path) -> None:
    import pandas as pd
    from datasets import Dataset

    texts = ["the cat sat", "it is red", "who did it ?", "the dog sat in the house"]
    rows: list[Any] = [{"text": text} for text in texts]
    table = Dataset.from_list(rows)
    forms = (texts, rows, pd.DataFrame(rows), table, table.with_format("torch"))
    how: dict[str, Any] = {"model": planted, "sieve": "local", "maps": 0, "max_length": 48}
    runs = [headroles.label(data=data, **how) for data in forms]
    assert len({run.scores.values.tobytes() for run in runs}) == 1
    assert len({run.manifest["source"]["sha256"] for run in runs}) == 1
    turned = headroles.label(data=texts[::-1], **how)
    assert turned.manifest["source"]["sha256"] != runs[0].manifest["source"]["sha256"]
    assert runs[3].manifest["source"]["name"].startswith("Dataset of 4 rows (sha256 ")


def test_marks_of_roles_differ_and_a_whole_is_drawn_only_where_no_part_holds() -> None:
    names = [*BUILT_IN, "x", "X", "", "1", "<b>", "ß", *(f"role{k}" for k in range(40))]
    marks = [look.mark for look in looks_of(names)]
    assert len(set(marks)) == len(names)
    assert all(re.fullmatch("[A-Z][a-z]?|[0-9]+", mark) for mark in marks)
    assert [look.mark for look in looks_of([*BUILT_IN])] == [looks_of([name])[0].mark for name in BUILT_IN]
    held = np.array([[[True, True, False]], [[True, False, False]], [[True, True, True]]])
    parts = ["syntactic", "syntactic:obj", "local"]
    assert without_wholes(parts, held)[:, 0].tolist() == [
        [False, True, False], [True, False, False], [True, True, True],
    ]  # fmt: skip
