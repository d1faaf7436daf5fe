"""Whole runs on heads that are written by hand: what is planted is found, and its removal ends the role."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headroles
from headroles import Labelling
from headroles.kinds import kind_of
from headroles.records.causal.origins import KnockOut, Origin, Origins
from tests.runs.why.conftest import PAIRS

PREVIOUS, SPECIAL, OWN_TEXT, NEXT = (0, 0), (0, 2), (1, 1), (1, 2)
"""Heads of the planted model that look anywhere."""
QUARTER = PAIRS // 4


def _part(run: Labelling) -> Origins:
    assert run.origins is not None
    return run.origins


def _origin(run: Labelling, role: str, head: tuple[int, int]) -> Origin:
    (row,) = (row for row in _part(run).origins if (row.role, row.layer, row.head) == (role, *head))
    return row


def _knock_outs(run: Labelling, role: str, head: tuple[int, int]) -> dict[str, KnockOut]:
    """Return what is said of the role itself, by what was removed."""
    return {
        row.by: row
        for row in _part(run).knockouts
        if (row.role, row.layer, row.head) == (role, *head) and row.scored == role
    }


def test_the_heads_that_hold_roles_are_asked_about_and_no_others(answered: Labelling) -> None:
    families = {(row.role, (row.layer, row.head)) for row in _part(answered).origins}
    assert families == {
        ("local", PREVIOUS), ("local", NEXT), ("delimiter", SPECIAL), ("block", OWN_TEXT),
    }  # fmt: skip


def test_a_head_that_finds_special_tokens_by_a_bias_is_vertical_and_has_one_neuron(
    answered: Labelling,
) -> None:
    row = _origin(answered, "delimiter", SPECIAL)
    assert row.verdict == "vertical"
    assert row.share == pytest.approx(1, abs=0.01)
    assert row.share_low <= row.share <= row.share_high
    assert (row.found, row.few, row.rank) == (1, "few neurons", 1)
    assert row.participation == pytest.approx(1, abs=0.05)
    found = [test.dimension for test in _part(answered).dimensions if test.found and test.role == "delimiter"]
    assert found == [0]  # the dimension whose key reads special tokens


def test_heads_that_find_neighbours_and_their_own_text_do_so_by_the_query(answered: Labelling) -> None:
    for role, head in (("local", PREVIOUS), ("local", NEXT), ("block", OWN_TEXT)):
        row = _origin(answered, role, head)
        assert row.verdict == "by query", (role, head)
        assert row.share < 0.2
        assert row.contrast > 1
    assert _origin(answered, "local", PREVIOUS).few == "as rotated"  # four waves of positions
    assert _origin(answered, "block", OWN_TEXT).few == "few neurons"


def test_removing_what_was_found_ends_the_role(answered: Labelling) -> None:
    for role, head in (("delimiter", SPECIAL), ("block", OWN_TEXT)):
        rows = _knock_outs(answered, role, head)
        assert set(rows) == {"dimensions", "subspace"}
        for row in rows.values():
            assert row.before > 0.8
            assert abs(row.after) < 0.05
            assert row.verdict == "falls"
            assert row.removed == 1


def test_scores_before_a_removal_are_those_of_the_label_run(answered: Labelling, labelled: Path) -> None:
    knocked, labels = _part(answered).knocked, headroles.load(labelled).scores
    assert knocked is not None
    products = _part(answered).products
    for row, role in enumerate(knocked.scored):
        layer, head = (int(of[knocked.family[row]]) for of in (products.layers, products.heads))
        values = labels.values[labels.sieves.index(role), :, layer, head]
        for unit, before in zip(knocked.units, knocked.before[row], strict=True):
            own = [value for value, name in zip(values, labels.units, strict=True) if name == unit]
            np.testing.assert_allclose(before, np.nanmean(own), atol=1e-5)
        assert knocked.threshold[row] == pytest.approx(0.1)


def test_no_unit_decides_a_role_and_measures_or_knocks_out(answered: Labelling) -> None:
    part = _part(answered)
    assert part.knocked is not None
    groups = [{*part.held.units}, {*part.products.units}, {*part.knocked.units}]
    assert [len(group) for group in groups] == [2 * QUARTER, QUARTER, QUARTER]
    assert len(groups[0] | groups[1] | groups[2]) == PAIRS
    facts = answered.manifest["why"]
    assert facts["units"] == {"deciding": 2 * QUARTER, "measured": QUARTER, "knocked": QUARTER}
    measured = ~np.isnan(answered.scores.values).all(axis=(0, 2, 3))
    units = {unit for unit, own in zip(answered.scores.units, measured, strict=True) if own}
    assert units == groups[1]


def test_columns_are_contrasts_and_hold_for_heads_with_the_role_alone(answered: Labelling) -> None:
    scores, part = answered.scores, _part(answered)
    wanted = [
        f"{what}:{role}" for role in ("local", "delimiter", "block") for what in ("contrast", "vertical")
    ]
    assert list(scores.sieves) == wanted
    places = [scores.units.index(unit) for unit in part.products.units]  # a unit is one input here
    for family, row in enumerate(part.origins):
        contrast, vertical = (
            scores.values[scores.sieves.index(f"{what}:{row.role}"), places, row.layer, row.head]
            for what in ("contrast", "vertical")
        )
        total = part.products.parts[:, family].sum(axis=1)
        np.testing.assert_allclose(contrast, total, rtol=1e-4)
        np.testing.assert_allclose(
            vertical, 2 * part.products.vertical[:, family] - total, rtol=1e-3, atol=1e-3
        )
    delimiter = scores.values[scores.sieves.index("contrast:delimiter")]
    assert np.isnan(delimiter[:, 0, 0]).all()
    assert np.isnan(delimiter[:, 1]).all()


def test_a_contrast_is_that_of_the_queries_and_keys_of_the_model(
    answered: Labelling, planted: Path, labelled: Path
) -> None:
    """The head of layer 0 reads embeddings, so its contrast follows from a few lines of torch."""
    from transformers import BertModel, BertTokenizer

    unit = _part(answered).products.units[0]
    rows = (labelled.parent / "pairs.tsv").read_text().splitlines()[1:]
    question, sentence, _ = rows[int(unit.partition("/")[2])].split("\t")
    model: Any = BertModel.from_pretrained(planted)
    model.eval()
    encoded = BertTokenizer.from_pretrained(planted)(question, sentence, return_tensors="pt")
    with torch.no_grad():
        states = model.embeddings(encoded["input_ids"], encoded["token_type_ids"])[0].double()
        attention = model.encoder.layer[0].attention.self.double()
        query, key = (getattr(attention, name)(states)[:, 16:24] for name in ("query", "key"))
    special = (encoded["input_ids"][0] == 2) | (encoded["input_ids"][0] == 3)
    apart = (key[special].mean(0) - key[~special].mean(0)) / 8**0.5
    expected = (query[~special] @ apart).mean()
    family = _part(answered).products.roles.index("delimiter")
    assert _part(answered).products.parts[0, family].sum() == pytest.approx(float(expected), rel=1e-3)


def test_verdicts_are_the_decisions_of_the_run(answered: Labelling) -> None:
    kind = kind_of(answered)
    assert kind.name == "why"
    decided, findings = kind.decided(answered), answered.findings
    words = {
        (role, head): kind.outcomes[decided[findings.of(f"vertical:{role}")][head]]
        for role, head in (("delimiter", SPECIAL), ("local", PREVIOUS), ("local", SPECIAL), ("block", NEXT))
    }
    assert words == {
        ("delimiter", SPECIAL): "vertical", ("local", PREVIOUS): "by query",
        ("local", SPECIAL): "untestable", ("block", NEXT): "untestable",
    }  # fmt: skip
    assert (decided[findings.of("contrast:local")] == -1).all()


def test_other_inputs_leave_all_units_to_decide_roles(labelled: Path, planted: Path, table: Path) -> None:
    texts: dict[str, Any] = {"data": table, "text_a": "question", "text_b": "sentence", "model": planted}
    run = headroles.why(labelled, **texts, max_length=48, redeals=0, rotations=99, alpha=0.01)
    part = _part(run)
    assert len(part.held.units) == PAIRS
    assert part.knocked is not None
    assert {*part.products.units} | {*part.knocked.units} == {*run.scores.units}
    assert not {*part.products.units} & {*part.knocked.units}
    assert {row.by for row in part.knockouts} == {"dimensions"}  # no re-deals, no subspace
    assert {row.rank for row in part.origins} == {-1}
    assert run.manifest["why"]["references"]["of"] == "knocked"
    notes = " ".join(run.manifest["notes"])
    assert "No input of this run decided a role. So mean queries are those of" in notes
    assert "Without re-deals of cells (--redeals 0), no directions are tested." in notes
    assert f"Give at least --rotations {100 * len(part.origins) - 1}." in notes


def test_where_no_head_holds_a_role_the_run_says_so_and_ends(
    planted: Path, table: Path, tmp_path: Path
) -> None:
    headroles.label(
        "QNLI", data=table, model=planted, max_length=48, limit=16, sieve=["duplicate"], margin=0.9, maps=0,
        out=tmp_path / "labels",
    )  # fmt: skip
    run = headroles.why(tmp_path / "labels", out=tmp_path / "run")
    assert not _part(run).origins
    assert not _part(run).dimensions
    assert _part(run).knocked is None
    assert any(
        note.startswith("No head holds a role whose cells can be counted") for note in run.manifest["notes"]
    )
    assert run.scores.sieves == ("contrast:duplicate", "vertical:duplicate")
    assert np.isnan(run.scores.values).all()
    assert headroles.load(tmp_path / "run").origins is not None


def test_few_units_are_noted_and_decide_nothing(labelled: Path) -> None:
    run = headroles.why(labelled, limit=40, rotations=99)
    part = _part(run)
    assert {row.verdict for row in part.origins} == {"untestable"}
    assert (
        "below 20 units, nothing is decided about queries and keys: 4 of 4 pairs of head and role."
        in run.skipped
    )
