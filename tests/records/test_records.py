"""Records: what they refuse, that nobody can write into them, and how they look."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from headroles import Example
from headroles.errors import BadInput
from headroles.records.example import Arc, Scores
from headroles.records.findings import COLUMNS, Findings, Labelling
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.engine import judge
from headroles.storage.run import findings_texts

TOKENS = ("[CLS]", "who", "is", "it", "[SEP]", "a", "cat", "[SEP]")
RULES = (Rule("local", low=-1.0, high=1.0), Rule("a;<b>", contrast="c"), Rule("c", margin=0.02, role=False))


def _scores(examples: int = 60) -> Scores:
    rng = np.random.default_rng(0)
    level = np.array([[0.5, 0.0, 0.1], [-0.2, 0.3, 0.0]])
    values = level + rng.normal(scale=0.1, size=(3, examples, 2, 3))
    return Scores(
        sieves=tuple(rule.sieve for rule in RULES),
        examples=tuple(f"x/{k}" for k in range(examples)),
        units=tuple(f"x/{k}" for k in range(examples)),
        tokens=np.full(examples, 9),
        cells=np.full((3, examples), 4.0),
        values=values.astype(np.float32),
        null=np.zeros((3, examples)),
    )


@pytest.fixture
def labelling() -> Labelling:
    """A labelling of made-up scores."""
    scores = _scores()
    return Labelling(scores, judge(scores, RULES, Decision()), Decision())


def test_units_with_a_score_are_counted_once_each() -> None:
    scores = _scores(6)
    values = scores.values.copy()
    values[0, :2] = np.nan
    values[0, 2, 0] = np.nan
    grouped = replace(scores, values=values, units=("a", "b", "b", "b", "c", "c"))
    assert [grouped.count_units(position) for position in range(3)] == [2, 3, 3]


def test_an_example_fills_what_is_not_given() -> None:
    segment = np.array([-1, 0, 0, 0, -1, 1, 1, -1])
    example = Example("x", TOKENS, segment=segment)
    assert (example.size, example.texts) == (8, 2)
    np.testing.assert_array_equal(example.special, segment < 0)
    np.testing.assert_array_equal(example.first, np.arange(8) == 0)
    np.testing.assert_array_equal(example.word, np.full(8, -1))
    assert example.arcs is None
    plain = Example("y", ("a", "b"))
    assert plain.texts == 1
    assert not plain.special.any()
    assert not plain.first.any()


@pytest.mark.parametrize("name", ["segment", "special", "first", "word"])
@pytest.mark.usefixtures("unchecked")
def test_an_example_refuses_an_array_of_another_length(name: str) -> None:
    with pytest.raises(BadInput, match=rf"'x' has 8 tokens but its '{name}' has shape \(7,\)"):
        Example("x", TOKENS, **{name: np.zeros(7, dtype=np.int64)})  # type: ignore[arg-type]


def test_an_example_is_deaf_to_later_changes_of_what_it_was_made_of() -> None:
    segment = np.zeros(8, dtype=np.int32)
    example = Example("x", TOKENS, segment=segment)
    segment[:] = 5
    assert not example.segment.any()


def test_records_cannot_be_written_into(labelling: Labelling) -> None:
    example, scores, found = Example("x", TOKENS), labelling.scores, labelling.findings
    arrays = [getattr(example, name) for name in ("segment", "special", "first", "word")]
    arrays += [getattr(scores, name) for name in ("tokens", "cells", "values", "null")]
    arrays += [getattr(found, name) for name in (*COLUMNS, "decision")]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    for record, name in ((example, "key"), (scores, "values"), (found, "p"), (labelling, "skipped")):
        with pytest.raises(FrozenInstanceError):
            setattr(record, name, None)
    with pytest.raises(FrozenInstanceError):
        setattr(Arc(0, 1, "det"), "head", 2)  # noqa: B010


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("tokens", (59,)),
        ("cells", (3, 59)),
        ("cells", (2, 60)),
        ("null", (60, 3)),
        ("values", (3, 59, 2, 3)),
        ("values", (2, 60, 2, 3)),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_scores_refuse_arrays_that_do_not_fit(name: str, shape: tuple[int, ...]) -> None:
    scores = _scores()
    given = {each: getattr(scores, each) for each in Scores.__dataclass_fields__}
    given[name] = np.zeros(shape, dtype=given[name].dtype)
    with pytest.raises(BadInput, match=f"scores of 3 sieves and 60 examples have '{name}'"):
        Scores(**given)


def test_scores_refuse_units_of_other_examples() -> None:
    scores = _scores()
    given = {each: getattr(scores, each) for each in Scores.__dataclass_fields__}
    with pytest.raises(BadInput, match="60 examples have one unit each, but got 59"):
        Scores(**given | {"units": scores.units[1:]})


@pytest.mark.parametrize("name", ["p", "decision", "count"])
@pytest.mark.usefixtures("unchecked")
def test_findings_refuse_arrays_that_do_not_fit(labelling: Labelling, name: str) -> None:
    found = labelling.findings
    given = {each: getattr(found, each) for each in Findings.__dataclass_fields__}
    given[name] = given[name][:2]
    with pytest.raises(BadInput, match="findings have one entry per sieve, layer and head"):
        Findings(**given)


def test_a_frame_has_one_row_per_sieve_layer_and_head(labelling: Labelling) -> None:
    frame = labelling.frame()
    assert list(frame) == ["sieve", "layer", "head", *COLUMNS, "decision"]
    assert list(frame[["sieve", "layer", "head"]].itertuples(index=False, name=None)) == [
        (rule.sieve, layer, head) for rule in RULES for layer in range(2) for head in range(3)
    ]
    assert set(frame["decision"]) <= {"role", "not", "undetermined", "untestable", ""}
    assert set(frame.loc[frame["sieve"] == "c", "decision"]) == {""}
    row = frame.iloc[6 + 4]
    assert row["mean"] == labelling.findings.mean[1, 1, 1]
    assert row["p"] == labelling.findings.p[1, 1, 1]


def test_labels_say_role_not_or_nothing(labelling: Labelling) -> None:
    labels, decision = labelling.labels(), labelling.findings.decision
    assert list(labels) == ["layer", "head", "roles", "local", "a;<b>"]
    for place, name in enumerate(("local", "a;<b>")):
        told = labels[name].astype(object).where(labels[name].notna(), None).tolist()
        assert told == [{0: 1, 1: 0}.get(int(code)) for code in decision[place].ravel()]
    assert labels["roles"][0] == "local;a;<b>"
    assert {0, 1, 2} <= set(decision[:2].ravel().tolist())


@pytest.mark.parametrize("shared", [False, True], ids=["own keys", "shared keys"])
def test_tables_of_a_run_folder_are_those_that_pandas_writes(labelling: Labelling, shared: bool) -> None:
    effect = labelling.findings.effect.copy()
    effect.ravel()[:8] = [np.nan, np.inf, -np.inf, -0.0, 1e-300, 1e22, 1 / 3, 123456789.0]
    manifest = {"model": {"kv_heads": 1}} if shared else {}
    given = replace(labelling, findings=replace(labelling.findings, effect=effect), manifest=manifest)
    texts = findings_texts(given)
    assert texts["findings.csv"] == given.frame().to_csv(index=False, lineterminator="\n")
    assert texts["labels.csv"] == given.labels().to_csv(index=False, lineterminator="\n")
    assert ("kv_group" in texts["labels.csv"]) is shared


def test_a_notebook_shows_counts_and_takes_no_markup_from_names(labelling: Labelling) -> None:
    from headroles.kinds import kind_of
    from headroles.reports.notebook import tables_html

    assert "<b>" not in labelling._repr_html_()
    shown = tables_html(labelling, kind_of(labelling).answer(labelling))
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown
    counts = [int((labelling.findings.decision[0] == code).sum()) for code in range(4)]
    assert (
        "".join(shown.split()).count("<th>local</th>" + "".join(f"<td>{each}</td>" for each in counts)) == 1
    )
    for word in ("role", "not", "undetermined", "untestable"):
        assert f"<th>{word}</th>" in shown


def test_the_threshold_of_a_rule_is_its_null_and_its_margin() -> None:
    assert Rule("x", null=1.0, margin=2.0).threshold == 3.0
    assert Decision() == Decision("t-skew", "fdr_bh", "sieve", 0.05)
