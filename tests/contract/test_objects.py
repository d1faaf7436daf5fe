"""Results as Python objects: read-only records, frames, heads and roles by name, prompts, and colours."""

import re
import sys
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import headroles
from headroles import Example, Labelling
from headroles.errors import BadInput
from headroles.exporting import load_result
from headroles.progress import KEEP, LOAD, REPORT, SCORE, TEST, Phases
from headroles.records import (
    COLUMNS,
    DECISIONS,
    FAMILIES,
    SHADES,
    Decision,
    Rule,
    Scores,
    looks_of,
    tone_of,
    without_wholes,
)
from headroles.sieves import BUILT_IN
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


@pytest.mark.usefixtures("unchecked")
def test_arrays_that_do_not_fit_are_refused(run: Labelling) -> None:
    scores, found = run.scores, run.findings
    columns, count, layers, heads = scores.values.shape
    shapes = (
        ("tokens", (count - 1,)), ("cells", (columns, count - 1)), ("cells", (columns - 1, count)),
        ("null", (count, columns)), ("values", (columns, count - 1, layers, heads)),
    )  # fmt: skip
    for name, shape in shapes:
        with pytest.raises(BadInput, match=f"scores of {columns} sieves and {count} examples have '{name}'"):
            replace(scores, **{name: np.zeros(shape, getattr(scores, name).dtype)})  # type: ignore[arg-type]
    with pytest.raises(BadInput, match=f"{count} examples have one unit each, but got {count - 1}"):
        replace(scores, units=scores.units[1:])
    for name in ("p", "decision", "count"):
        with pytest.raises(BadInput, match="findings have one entry per sieve, layer and head"):
            replace(found, **{name: getattr(found, name)[:2]})
    for name in ("segment", "special", "first", "word"):
        with pytest.raises(BadInput, match=rf"'x' has 2 tokens but its '{name}' has shape \(7,\)"):
            Example("x", ("a", "b"), **{name: np.zeros(7, dtype=np.int64)})  # type: ignore[arg-type]


def test_units_with_a_score_are_counted_once_each(run: Labelling) -> None:
    values = np.zeros((1, 6, 2, 3), dtype=np.float32)
    values[0, :2], values[0, 2, 0] = np.nan, np.nan
    scores = Scores(
        ("a",), tuple("uvwxyz"), ("a", "b", "b", "b", "c", "c"), np.full(6, 9), np.ones((1, 6)), values,
        np.zeros((1, 6)),
    )  # fmt: skip
    assert scores.count_units(0) == 2


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
        means = [float(run.findings.mean[place][head]) for head in role.heads]
        assert means == sorted(means, reverse=True)
        assert role.strongest == (role.heads[0] if role.heads else None)
        assert sum(role.counts.values()) == len(role.frame()) == run.findings.decision[0].size
    assert run.roles["local"].title == "neighbours (±2)"
    assert ("locl" in run.roles, run.roles.get("locl")) == (False, None)
    none = replace(run.findings, decision=np.ones_like(run.findings.decision))
    role = replace(run, findings=none, assessment=None).roles["local"]
    assert (role.strongest, role.counts) == (None, {"not": 6})


def inside(value: Any, seen: set[int]) -> Iterator[object]:
    """Yield every record inside a value, the first few of a sequence."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if is_dataclass(value) and not isinstance(value, type):
        yield value
        for field in fields(value):
            yield from inside(getattr(value, field.name), seen)
    elif isinstance(value, Mapping):
        yield from inside(tuple(value.values()), seen)
    elif isinstance(value, tuple | list):
        for item in value[:3]:
            yield from inside(item, seen)


def test_every_record_in_every_result_is_short_at_a_prompt(again: Again) -> None:
    seen: set[int] = set()
    results = [load_result(again(name)[0]) for name in NAMES if name not in ("replicate", "prune")]
    records = [record for result in results for record in inside(result, seen)]
    assert len({type(record) for record in records}) > 25
    for record in records:
        text = repr(record)
        assert len(text.splitlines()) <= MOST_LINES, text
        assert len(text) <= MOST_LETTERS, text
        assert type(record).__name__.strip("_") in text


def test_a_report_is_found_and_shown_in_a_browser_or_notebook(
    run: Labelling, again: Again, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Any] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    page = again("label")[0] / "report.html"
    assert run.report_path == page
    assert run.head(1, 2).link == f"{page}#head-1-2"
    assert replace(run, folder=None).report_path is None
    run.show()
    assert opened == [page.as_uri()]
    shell, shown = SimpleNamespace(kernel=object()), list[Any]()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=shown.append))
    run.show()
    assert shown == [run]


class Heard(Phases):
    """Phases that keep what they are told."""

    def __init__(self) -> None:
        """Hear nothing yet."""
        super().__init__()
        self.told: list[tuple[str, str]] = []
        self.reached: dict[str, tuple[int, int]] = {}

    def start(self, name: str, total: int = 0) -> None:
        """Keep the phase that starts."""
        super().start(name, total)
        self.told.append(("start", name))

    def reach(self, name: str, done: int, total: int) -> None:
        """Keep how far a phase is."""
        super().reach(name, done, total)
        self.reached[name] = (done, total)

    def end(self, name: str) -> None:
        """Keep the phase that ends."""
        super().end(name)
        self.told.append(("end", name))


def test_a_run_tells_its_phases_and_a_callback_gets_the_scored_inputs(
    label: Callable[..., Labelling], tmp_path: Path
) -> None:
    heard, told = Heard(), list[tuple[int, int]]()
    label(limit=20, progress=heard, out=tmp_path / "run")
    assert heard.told == [
        (what, name) for name in (LOAD, SCORE, TEST, KEEP, REPORT) for what in ("start", "end")
    ]
    assert heard.reached == {SCORE: (20, 20)}
    label(limit=50, batch_size=8, progress=lambda done, total: told.append((done, total)))
    assert told == [(done, 50) for done in (8, 16, 24, 32, 40, 48, 50)]


def test_inputs_may_be_objects_of_every_form(planted: Path) -> None:
    import pandas as pd
    from datasets import Dataset

    texts = ["the cat sat", "it is red", "who did it ?", "the dog sat in the house"]
    rows: list[Any] = [{"text": text} for text in texts]
    forms = (
        texts,
        rows,
        pd.DataFrame(rows),
        Dataset.from_list(rows),
        Dataset.from_list(rows).with_format("torch"),
    )
    how: dict[str, Any] = {"model": planted, "sieve": "local", "maps": 0, "max_length": 48}
    runs = [headroles.label(data=data, **how) for data in forms]
    assert len({run.scores.values.tobytes() for run in runs}) == 1
    assert len({run.manifest["source"]["sha256"] for run in runs}) == 1
    turned = headroles.label(data=texts[::-1], **how)
    assert turned.manifest["source"]["sha256"] != runs[0].manifest["source"]["sha256"]
    assert runs[3].manifest["source"]["name"].startswith("Dataset of 4 rows (sha256 ")


LINEAR = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
"""What is seen of linear RGB, severity 1 (Machado, Oliveira and Fernandes 2009)."""
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def linear(colour: str) -> np.ndarray:
    """Return linear RGB of a colour such as "#0063a8"."""
    parts = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(colour: np.ndarray) -> np.ndarray:
    """Return CIELAB of linear RGB under D65."""
    scaled = np.clip(colour, 0, 1) @ TO_XYZ.T / np.array([0.95047, 1.0, 1.08883])
    root = np.where(scaled > 0.008856, np.cbrt(scaled), 7.787 * scaled + 16 / 116)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


def contrast(one: np.ndarray, other: np.ndarray) -> float:
    """Return the contrast of two colours as WCAG 2 defines it."""
    high, low = sorted((float(TO_XYZ[1] @ one), float(TO_XYZ[1] @ other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1])
def test_families_are_told_apart_by_all_eyes_and_marks_can_be_read_on_them(theme: int) -> None:
    style = files("headroles.reports").joinpath("templates/shared/page.css").read_text(encoding="utf-8")
    text = style.partition("prefers-color-scheme: dark")[::2][theme].split("* { box-sizing")[0]
    colours = dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{6});", text))
    for eyes in LINEAR.values():
        seen = [lab(eyes @ linear(colours[f"tone-{tone_of(family)}"])) for family in FAMILIES]
        assert min(np.linalg.norm(seen[i] - seen[j]) for i in range(len(seen)) for j in range(i)) > 20
    for family in FAMILIES:
        for place in range(SHADES):
            tone = linear(colours[f"tone-{tone_of(family, place)}"])
            assert contrast(tone, linear(colours["on-tone"])) >= 4.5
            assert contrast(tone, linear(colours["paper"])) >= 4.5


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
