"""The answer of a run that takes heads out agrees with its tables."""

import re
from dataclasses import replace

import numpy as np
import pytest

from headroles.records.causal.ablation import VERDICTS, Ablation, GroupTest, RoleTest
from headroles.records.causal.columns import main_arm
from headroles.records.findings import Labelling
from headroles.records.shown.phrases import phrase_of
from headroles.reports.causal.answer import LOWER_BOUND, answer_of, head_sentence
from headroles.reports.causal.words import (
    arm_name,
    cell_rows,
    damage_text,
    glossary,
    role_title,
    rows_of,
    threshold_text,
    verdict_counts,
)
from headroles.reports.words.words import number, share
from tests.support.causal.ablated_runs import ablated_run


@pytest.fixture(scope="module")
def run() -> Labelling:
    return ablated_run()


def _part(labelling: Labelling) -> Ablation:
    assert labelling.ablated is not None
    return labelling.ablated


def _sentences(labelling: Labelling) -> list[str]:
    return [sentence.text for sentence in answer_of(labelling).sentences]


def _with(labelling: Labelling, **fields: object) -> Labelling:
    return replace(labelling, ablated=replace(_part(labelling), **fields))  # type: ignore[arg-type]


def test_the_first_sentence_counts_the_verdicts_of_the_main_arm(run: Labelling) -> None:
    damage = _part(run).damage
    codes = damage.verdict[damage.of("loss:mean")]
    counts = {word: int((codes == code).sum()) for code, word in enumerate(VERDICTS)}
    said = _sentences(run)[0]
    assert said.startswith(f"{counts['needed']} of 72 heads are needed; {counts['negligible']} negligible")
    for word in ("interfering", "undetermined"):
        assert f"{counts[word]} {word}" in said
    assert "untestable" not in said
    assert sum(verdict_counts(run, "loss:mean")) == 72


def test_the_largest_damage_and_the_layers_are_those_of_the_table(run: Labelling) -> None:
    damage = _part(run).damage
    means = damage.mean[damage.of("loss:mean")]
    layer, head = np.unravel_index(means.argmax(), means.shape)
    layers = means.mean(axis=1)
    said = _sentences(run)[1]
    assert said.startswith(f"Head {layer}-{head} does most damage, {number(means.max())} [")
    assert "] nats. " in said
    assert f"Heads of layer {layers.argmax()} do most on average ({number(layers.max())})" in said
    assert f"those of layer {layers.argmin()} least ({number(layers.min())})" in said


def test_layers_of_which_a_screen_left_heads_out_are_not_compared(run: Labelling) -> None:
    damage = _part(run).damage
    means, place = damage.mean.copy(), damage.of("loss:mean")
    means[place][means[place] == means[place].min(axis=1, keepdims=True)] = np.nan
    said = _sentences(_with(run, damage=replace(damage, mean=means)))[1]
    assert re.match(r"Head \d+-\d+ does most damage of the 66 that were taken out, ", said)
    assert "on average" not in said


def test_roles_that_predict_no_damage_are_counted_by_their_heads(run: Labelling) -> None:
    part = _part(run)
    assert part.held is not None
    codes = part.damage.verdict[part.damage.of("loss:mean")]
    held = part.held.heads("delimiter")
    (row,) = [row for row in part.roles if row.role == "delimiter" and row.arm == "loss:mean"]
    (said,) = [text for text in _sentences(run) if phrase_of("delimiter").many in text]
    heads = f"{held.sum()} heads that look at special tokens"
    assert said.startswith(f"{(codes[held] == 1).sum()} of {heads} are negligible. ")
    words = ", which is negligible" if row.no_damage == "negligible" else ": not shown to be negligible"
    mean = damage_text(row.damage, row.damage_low, row.damage_high, " nats")
    assert f"The mean damage of all {held.sum()} is {mean}{words}." in said
    first = part.held.heads("first")
    others = f"{(codes[first] == 1).sum()} of {first.sum()} heads that look at the first token"
    assert f"Also negligible: {others}." in said


def test_roles_with_more_damage_are_those_of_the_tests(run: Labelling) -> None:
    rows = rows_of(_part(run).roles, "loss:mean")
    more = [row.role for row in rows if row.decision == "more damage"]
    tested = [row for row in rows if row.decision != "untestable"]
    (said,) = [text for text in _sentences(run) if "more damage within layers" in text]
    assert said.startswith(f"{len(more)} of {len(tested)} roles")
    assert all(f"{role_title(row.role)} (area {row.area:.2f}" in said for row in rows if row.role in more)
    chances = [row.p_labels for row in rows if row.role in more]
    assert f". Such areas or larger: {share(chances[0])} of random labellings" in said or len(chances) != 1
    none = _with(run, roles=tuple(replace(row, decision="undetermined") for row in _part(run).roles))
    assert "None of 5 roles is shown to go with more damage within layers." in _sentences(none)
    less = _with(run, roles=tuple(replace(row, decision="less damage") for row in _part(run).roles))
    assert any(". 5 roles go with less damage: " in text and "1 other" in text for text in _sentences(less))
    untestable = _with(run, roles=tuple(replace(row, decision="untestable") for row in _part(run).roles))
    assert not any("within layers" in text for text in _sentences(untestable))


def test_sites_and_cells_are_counted_as_in_their_tables(run: Labelling) -> None:
    sites, cells = rows_of(_part(run).sites, "loss:mean"), cell_rows(_part(run).cells, "loss:mean")
    found = sum(row.decision == "at its sites" for row in sites)
    said = [text for text in _sentences(run) if text.startswith(f"{found} of {len(sites)} labelled heads")]
    assert len(said) == 1
    own = sum(row.decision == "its cells matter" for row in cells)
    assert any(f"For {own} of {len(cells)} labelled heads, the attention" in text for text in _sentences(run))
    other = _with(run, cells=tuple(replace(row, decision="other cells matter more") for row in cells))
    assert any(f"For {len(cells)} it matters less." in text for text in _sentences(other))


def test_sets_are_compared_with_random_ones_and_with_the_sum_of_their_heads(run: Labelling) -> None:
    rows = rows_of(_part(run).groups, "loss:mean")
    more = [row for row in rows if row.decision == "more than random sets"]
    (said,) = [text for text in _sentences(run) if text.startswith("Taken out together")]
    assert f"the heads of {len(more)} of {len(rows)} roles do more damage" in said
    for row in more:
        text = f"({number(row.damage)}; random sets {number(row.random_low)} to {number(row.random_high)})"
        assert text in said
    beyond = [row.role for row in rows if row.excess_decision == "more than the sum"]
    assert f"For {len(beyond)} roles, the set does more damage than its heads do alone, added up." in said
    open_ = "undetermined"
    none = _with(run, groups=tuple(replace(row, decision=open_, excess_decision=open_) for row in rows))
    assert (
        "Taken out together, the heads of no role are shown to do more damage than random sets."
        in _sentences(none)
    )


def test_the_answer_always_says_that_damage_is_a_lower_bound() -> None:
    for made in (ablated_run(), ablated_run(roles=(), outcome="representation", by=("mean",))):
        assert answer_of(made).sentences[-1] == LOWER_BOUND


def test_without_a_label_run_nothing_is_said_of_roles() -> None:
    bare = ablated_run(roles=(), outcome="representation", by=("mean",))
    answer = answer_of(bare)
    assert len(answer.sentences) == 3
    assert "role" not in " ".join(sentence.text for sentence in answer.sentences)
    assert "damage: 1 − cosine of the representations" in answer.line
    assert "threshold 0.01 · " in answer.line
    assert "nats" not in answer.line


def test_the_line_names_the_measure_the_threshold_and_the_error_rate(run: Labelling) -> None:
    damage = _part(run).damage
    line = answer_of(run).line
    assert (
        "damage: rise of the loss (cross-entropy of its label) in nats · in place of a head: mean output"
        in line
    )
    assert f"threshold {number(damage.threshold[0])} nats (1\u00a0% of the loss)" in line
    assert line.endswith("false verdicts ≤ 5\u00a0% per verdict and arm")
    assert threshold_text(run, "loss:zero") == threshold_text(run, "loss:mean")


def test_heads_that_stay_are_counted_as_untestable() -> None:
    screened = ablated_run(screened=3)
    assert "18 untestable. Each is taken out alone." in _sentences(screened)[0]
    assert re.fullmatch(r"0-11 is untestable\.( Its roles: [^.]+\.)?", head_sentence(screened, 0, 11))


def test_the_sentence_of_a_head_has_its_damage_and_its_roles(run: Labelling) -> None:
    part = _part(run)
    assert part.held is not None
    damage = part.damage
    place = damage.of("loss:mean")
    layer, head = (int(index[0]) for index in np.nonzero(damage.verdict[place] == 0))
    said = head_sentence(run, layer, head)
    at = (place, layer, head)
    text = damage_text(float(damage.mean[at]), float(damage.low[at]), float(damage.high[at]), " nats")
    assert said.startswith(f"{layer}-{head} is needed: its damage, measured on the loss, is {text}. ")
    roles = [role for role in part.held.roles if part.held.heads(role)[layer, head]]
    assert roles
    assert all(role_title(role) in said for role in roles)


def test_every_word_of_a_verdict_is_explained(run: Labelling) -> None:
    terms = dict(glossary(run))
    assert {*VERDICTS, "damage", "threshold", "arm", "area", "sites", "random sets"} <= terms.keys()
    bare = dict(glossary(ablated_run(roles=(), outcome="representation", by=("mean",))))
    assert {"area", "sites", "random sets"}.isdisjoint(bare)


def test_every_arm_has_a_name_of_its_own() -> None:
    arms = [
        f"{outcome}:{what}"
        for outcome in ("loss", "distribution", "representation", "tokens")
        for what in ("mean", "zero", "resample", "even", "sites:local", "cells:local", "cells:matched:local")
    ]
    names = [arm_name(arm) for arm in [*arms, "loss:clean", "loss:screen", "norm"]]
    assert len({*names}) == len(names)


def test_rows_of_another_arm_are_shown_where_the_main_one_has_none(run: Labelling) -> None:
    assert main_arm(["tokens:zero", "tokens:mean"]) == "tokens:mean"
    rows: tuple[RoleTest, ...] = _part(run).roles
    moved = tuple(replace(row, arm="tokens:mean") for row in rows)
    assert rows_of(moved, "loss:mean") == moved
    groups: tuple[GroupTest, ...] = ()
    assert rows_of(groups, "loss:mean") == ()


def test_a_squared_error_has_no_unit() -> None:
    run = ablated_run()
    facts = dict(run.manifest) | {
        "ablation": {"loss": "The loss of an input is the squared error of the model's number."}
    }
    said = answer_of(replace(run, manifest=facts))
    assert "nats" not in said.line + " ".join(sentence.text for sentence in said.sentences)
    assert "damage: rise of the loss (squared error of the model's number) · " in said.line
    bare = answer_of(replace(run, manifest={}))
    assert "damage: rise of the loss in nats · " in bare.line


def test_needed_heads_of_one_layer_are_said_to_be_of_that_layer(run: Labelling) -> None:
    damage = _part(run).damage
    verdict = np.where(np.arange(6)[:, None] == 5, 0, 1) * np.ones((2, 6, 12), dtype=np.int64)
    moved = replace(run, ablated=replace(_part(run), damage=replace(damage, verdict=verdict)))
    assert _sentences(moved)[0].startswith("12 of 72 heads are needed, all of layer 5; 60 negligible. Each")
    assert "all of layer" not in _sentences(run)[0]


def test_an_arm_that_is_not_that_of_the_verdicts_is_named(run: Labelling) -> None:
    sites = tuple(replace(row, arm="tokens:mean") for row in _part(run).sites)
    said = " ".join(_sentences(_with(run, sites=sites)))
    assert "at the sites of their role (token states, mean output), where it has" in said


def test_a_run_that_decides_little_names_the_margin_at_which_it_would_decide_more(run: Labelling) -> None:
    part = _part(run)
    verdict = np.full_like(part.damage.verdict, 2)
    open_run = replace(run, ablated=replace(part, damage=replace(part.damage, verdict=verdict)))
    said = answer_of(open_run).sentences
    assert said[0].text.startswith(
        "None of 72 heads is shown to be needed; 0 negligible and 72 undetermined."
    )
    assert (said[0].sieve, said[0].decision) == ("", "")
    wide = min(
        (row for row in part.margins if row.arm == "loss:mean" and row.negligible > 36),
        key=lambda row: row.margin,
    )
    assert said[1].text == (
        f"These inputs leave most heads open. More inputs would decide more. At a margin of "
        f"{share(wide.margin)} of the loss, {wide.negligible} would be negligible."
    )
    assert not any("leave most heads open" in text for text in _sentences(run))
    none = replace(open_run, ablated=replace(_part(open_run), margins=()))
    assert answer_of(none).sentences[1].text == (
        "These inputs leave most heads open. More inputs would decide more."
    )


def test_labelled_heads_that_could_not_be_tested_are_counted_by_themselves(run: Labelling) -> None:
    sites, cells = _part(run).sites, _part(run).cells
    bare = _with(
        run,
        sites=(*sites, *(replace(row, decision="untestable") for row in sites[:3])),
        cells=(*cells, *(replace(row, decision="untestable") for row in cells[:2])),
    )
    said, before = _sentences(bare), _sentences(run)
    assert any(text.endswith(". 3 more could not be tested.") for text in said)
    assert any(text.endswith(". 2 more could not be tested.") for text in said)
    for text in said:
        assert re.sub(r"\. [23] more could not be tested", "", text) in before
    none = _with(run, sites=tuple(replace(row, decision="untestable") for row in sites))
    assert not any("sites of" in text for text in _sentences(none))
