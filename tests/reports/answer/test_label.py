"""The answer of a labelling: every count in its sentences is one of the tables."""

import re
from dataclasses import replace

import numpy as np
import pytest

from headroles.records.findings import Labelling
from headroles.records.rules.rule import Decision
from headroles.records.shown.looks import family_of
from headroles.reports.answer.heads import head_sentence, head_sentences
from headroles.reports.answer.label import MOST, answer_of
from headroles.reports.summary.summary import summarise
from headroles.reports.words.methods import methods_text
from headroles.reports.words.words import error_rate
from tests.reports.test_page import labelling

USUAL = (
    "local",
    "delimiter",
    "delimiter:cls",
    "block",
    "syntactic",
    "syntactic:obj",
    "syntactic:amod",
    "mine",
)


def decided(codes: dict[str, list[int]], shape: tuple[int, int] = (2, 3)) -> Labelling:
    """A labelling with these decisions, one per head, layer by layer; contrasts for block and syntax."""
    contrasts = tuple(name for name in codes if family_of(name) in ("sentence", "syntax"))
    run = labelling(tuple(codes), contrasts=contrasts, shape=(60, *shape))
    decision = np.full(run.findings.decision.shape, -1)
    for place, row in enumerate(codes.values()):
        decision[place] = np.array(row).reshape(shape)
    return replace(run, findings=replace(run.findings, decision=decision))


def texts(run: Labelling) -> list[str]:
    return [sentence.text for sentence in answer_of(summarise(run)).sentences]


def test_a_head_with_sinks_alone_only_parks_attention() -> None:
    run = decided({"delimiter": [0, 0, 0, 1, 2, 1], "local": [0, 2, 1, 0, 1, 1]})
    told = texts(run)
    assert told[0] == (
        "2 of 6 heads only park attention on special tokens. "
        "1 of the 2 may hold another role (undetermined). "
        "In all, 3 heads park attention there. Undetermined: 1 other head."
    )
    assert told[-1] == "2 heads hold no role. 1 of the 2 may hold one (undetermined)."


def test_a_sentence_about_one_role_counts_its_decisions() -> None:
    run = decided({"block": [0, 4, 4, 2, 1, 3]})
    assert texts(run)[0].startswith("1 head stays in the query's own text, strongest 0-0 (")
    assert texts(run)[0].endswith("Explained by distance: 2 other heads. Undetermined: 1.")


def test_syntax_names_its_heads_and_the_relations_without_any() -> None:
    run = decided(
        {
            "syntactic": [0, 0, 1, 1, 1, 1],
            "syntactic:obj": [0, 1, 0, 4, 2, 1],
            "syntactic:nsubj": [1, 1, 1, 1, 1, 1],
        }
    )
    assert texts(run)[0] == (
        "3 heads follow syntax: word → its syntactic head 0-1, object → verb 0-0 and 0-2. "
        "Not found: subject → verb. Explained by distance: 1 other head. Undetermined: 1."
    )


def test_other_roles_are_named_with_their_heads_and_those_without_any_too() -> None:
    told = texts(
        decided(
            {"local": [1] * 6, "ending": [1, 1, 0, 1, 1, 1], "start": [1, 1, 0, 1, 0, 1], "mine": [1, 2] * 3}
        )
    )
    assert told[1] == (
        "2 heads hold other roles: ending 0-2, start 0-2 and 1-1. Not found: mine. "
        "Undetermined: 3 other heads."
    )
    told = texts(decided({"local": [1] * 6, "ending": [1] * 5 + [0], "start": [1] * 6}))
    assert told[1] == "1 head holds another role: ending 1-2. Not found: start."
    told = texts(decided({"ending": [1] * 6, "start": [1] * 6, "mine": [2] + [1] * 5}))
    assert told[0] == "No head holds the role ending, start or mine. Undetermined: 1 head."
    many = texts(decided({f"mine{number}": [1] * 6 for number in range(5)}))
    assert many[0] == "No head holds another role."


def test_a_run_without_labels_says_so_for_every_family() -> None:
    told = texts(decided({"local": [1, 1, 2, 1, 1, 1], "delimiter": [1] * 6, "block": [4, 1, 1, 1, 1, 1]}))
    assert told == [
        "No head parks attention on special tokens.",
        "No head looks at neighbouring tokens. Undetermined: 1 head.",
        "No head stays in the query's own text. Explained by distance: 1 head.",
        "6 heads hold no role. 1 of the 6 may hold one (undetermined).",
    ]


def test_roles_that_could_not_be_tested_are_named() -> None:
    run = decided({"local": [3] * 6, "mine": [0] * 6})
    assert texts(run) == [
        f"6 heads have the role mine, strongest {strongest(run, 1)}.",
        "Every head holds a role. Could not be tested: local.",
    ]
    assert texts(decided({"local": [3] * 6})) == ["6 heads hold no role. Could not be tested: local."]


def strongest(run: Labelling, sieve: int) -> str:
    mean = run.findings.mean[sieve]
    layer, head = np.unravel_index(int(mean.argmax()), mean.shape)
    return f"{layer}-{head} ({mean.max():.2f})"


@pytest.mark.parametrize("seed", range(8))
def test_counts_of_random_decisions_are_those_of_the_table(seed: int) -> None:
    chance = np.random.default_rng(seed)
    codes = {name: chance.choice(5, size=24, p=[0.2, 0.5, 0.15, 0.05, 0.1]).tolist() for name in USUAL}
    run = decided(codes, (4, 6))
    answer = answer_of(summarise(run))
    table = np.array(list(codes.values()))
    assert 3 <= len(answer.sentences) <= MOST
    for sentence in answer.sentences:
        if not sentence.sieve:
            continue
        family = np.array([family_of(name) == family_of(sentence.sieve) for name in codes])
        inside, outside = (table[family] == 0).any(axis=0), (table[~family] == 0).any(axis=0)
        held = {"role": inside, "family": inside, "only": inside & ~outside}[sentence.decision]
        assert int(re.findall(r"\d+", sentence.lead)[0]) == held.sum()
        undetermined = int((~inside & (table[family] == 2).any(axis=0)).sum())
        counted = re.findall(r"Undetermined: (\d+)", sentence.text)
        assert (int(counted[0]) if counted else 0) == undetermined
    without = int((table != 0).all(axis=0).sum())
    assert f"{without} head" in answer.sentences[-1].text


def test_sixty_roles_make_few_short_sentences() -> None:
    run = labelling(tuple(f"syntactic:r{number}" for number in range(60)), contrasts=())
    answer = answer_of(summarise(run))
    assert "60 roles" in answer.line
    assert len(answer.sentences) == 2
    assert all(len(sentence.text) < 300 for sentence in answer.sentences)


def test_the_title_asks_about_the_model_and_its_heads() -> None:
    assert answer_of(summarise(labelling())).title == "What do the 12 heads of model do?"
    assert answer_of(summarise(labelling(manifest={}))).title == "What do the 12 heads do?"
    assert answer_of(summarise(labelling())).line.startswith(
        "QNLI · QNLI sample · 60 inputs · 3 roles · false"
    )


@pytest.mark.parametrize(
    ("decision", "words"),
    [
        (Decision(family="run"), "false labels ≤ 5\xa0% in the run"),
        (Decision(correction="holm", alpha=0.01), "chance of any false label ≤ 1\xa0% per role"),
        (Decision(correction="none"), "5\xa0% false labels by chance, not corrected"),
    ],
)
def test_the_line_names_the_error_rate_of_the_decision(decision: Decision, words: str) -> None:
    assert error_rate(decision) == words


def test_the_sentence_of_a_head_names_parts_and_not_their_whole() -> None:
    codes = {"local": [0, 1, 1, 1, 1, 1], "delimiter": [0] * 6, "delimiter:cls": [0, 0, 1, 1, 1, 1]}
    summary = summarise(decided(codes | {"syntactic:amod": [0, 1, 1, 1, 1, 1]}))
    told = head_sentences(summary)
    assert (
        told[0] == "0-0 looks at neighbouring tokens, from adjectives to their noun and at the class token."
    )
    assert told[2] == "0-2 looks at special tokens."
    assert [head_sentence(summary, cell // 3, cell % 3) for cell in range(6)] == list(told)


def test_the_sentence_of_a_head_counts_its_stable_roles() -> None:
    run = labelling(assessed=True)
    summary = summarise(run)
    assert run.assessment is not None
    for cell, told in enumerate(head_sentences(summary)):
        layer, head = divmod(cell, 4)
        values = run.assessment.precision.stability[:3, layer, head][
            run.findings.decision[:3, layer, head] == 0
        ]
        steady = int((values >= 0.9).sum())
        if values.size > 1 and 0 < steady < values.size:
            assert f"{steady} of its {values.size} roles" in told
        elif values.size:
            assert ("not stable" in told or "neither" in told or "none of" in told) == (steady == 0)


def test_the_sentence_of_a_head_without_a_role_says_why() -> None:
    run = decided({"local": [1] * 6, "block": [1, 4, 2, 1, 1, 1]})
    mean = run.findings.mean.copy()
    mean[:2] = np.array([0.05, 0.02])[:, None, None]
    mean[1].flat[1:3] = 0.4
    told = head_sentences(summarise(replace(run, findings=replace(run.findings, mean=mean))))
    assert (
        told[0]
        == "0-0 holds no role: its highest score is 0.05 for neighbours (±2), below the threshold 0.10."
    )
    assert (
        told[1]
        == "0-1 holds no role: its highest score is 0.40 for own text of the pair, explained by distance."
    )
    assert told[2].endswith("above the threshold 0.10 but undetermined.")
    assert told[3].endswith("below the threshold 0.10.")
    assert head_sentences(summarise(decided({"local": [3] * 6})))[0] == "0-0 could not be tested."


def with_means(run: Labelling, means: list[list[float]]) -> Labelling:
    """The labelling with these means of its first sieves, one per head."""
    mean = run.findings.mean.copy()
    for place, row in enumerate(means):
        mean[place] = np.array(row).reshape(mean.shape[1:])
    return replace(run, findings=replace(run.findings, mean=mean))


def test_a_head_below_the_threshold_is_not_called_settled_where_it_is_undetermined() -> None:
    run = decided({"local": [2, 1, 2, 1, 1, 1], "delimiter": [1, 1, 2, 2, 1, 1]})
    told = head_sentences(summarise(with_means(run, [[0.08] * 6, [0.02] * 6])))
    assert told[0].endswith("0.08 for neighbours (±2), below the threshold 0.10 but undetermined.")
    assert told[1].endswith("below the threshold 0.10.")
    assert told[2].endswith("but undetermined; 1 other role is undetermined.")
    assert told[3].endswith("below the threshold 0.10; 1 other role is undetermined.")


def test_a_score_that_is_highest_only_for_its_threshold_is_not_called_the_highest() -> None:
    run = decided({"local": [1] * 6, "delimiter": [1] * 6})
    null = run.findings.null.copy()
    null[0] = 0.5
    run = with_means(run, [[0.3] * 6, [0.05] * 6])
    told = head_sentences(summarise(replace(run, findings=replace(run.findings, null=null))))[0]
    assert told.startswith(
        "0-0 holds no role: its highest score for its threshold is 0.05 for special tokens"
    )


def test_a_score_above_its_threshold_is_not_said_to_lie_at_it() -> None:
    run = with_means(decided({"block": [1] * 6}), [[0.4] * 6])
    told = head_sentences(summarise(run))[0]
    assert told.endswith("above the threshold 0.10 but not beyond distance.")


def test_heads_with_sinks_beside_other_roles_are_counted_apart_from_those_with_sinks_alone() -> None:
    codes = {
        "delimiter": [0, 0, 0, 1, 0, 1],
        "delimiter:cls": [0, 0, 0, 1, 1, 1],
        "local": [0, 1, 1, 0, 1, 1],
    }
    assert texts(decided(codes))[0] == (
        "3 of 6 heads only park attention on special tokens. "
        "In all, 4 heads park attention there: 3 look at the class token."
    )
    alone = decided({"delimiter": [0, 0, 1, 1, 1, 1], "local": [1] * 6})
    assert texts(alone)[0] == "2 of 6 heads only park attention on special tokens."


def test_only_the_sinks_that_heads_hold_are_named() -> None:
    codes = {"first": [0, 1, 1, 1, 1, 1], "punctuation": [1] * 6, "local": [1] * 6}
    assert texts(decided(codes))[0] == (
        "1 of 6 heads only parks attention on the first token. 1 looks at the first token."
    )
    assert texts(decided(codes | {"first": [1] * 6}))[0] == (
        "No head parks attention on the first token or punctuation."
    )


@pytest.mark.parametrize(
    ("layers", "words"),
    [
        ([0, 4, 0, 0], ", all in layer 1, "),
        ([1, 1, 4, 1], ", most in layer 2, "),
        ([1, 2, 3, 0], ", most in layers 1 and 2, "),
        ([3, 2, 2, 0], " tokens, strongest"),
        ([1, 2, 1, 2], ", most in layers 1 and 3, "),
    ],
)
def test_layers_are_named_only_where_they_stand_out(layers: list[int], words: str) -> None:
    codes = [int(head >= count) for count in layers for head in range(4)]
    assert words in texts(decided({"local": codes}, (4, 4)))[0]


def test_an_explanation_names_the_controls_of_the_heads_it_counts() -> None:
    codes = {"block": [4, 1, 1, 1, 1, 1], "identical": [1, 4, 1, 1, 1, 1]}
    told = summarise(decided(codes))
    block, identical = told.roles
    told = replace(told, roles=(replace(block, control="distance or position"), identical))
    text = answer_of(told).sentences[0].text
    assert text.endswith("Explained by distance or position: 2 heads.")
    unsettled = summarise(decided(codes | {"block": [4, 1, 1, 1, 1, 1], "identical": [2, 4, 1, 1, 1, 1]}))
    block, identical = unsettled.roles
    unsettled = replace(unsettled, roles=(replace(block, control="position"), identical))
    assert "Explained by distance: 1 head. Undetermined: 1." in answer_of(unsettled).sentences[0].text


def test_a_role_that_another_only_extends_by_name_is_named_with_it() -> None:
    codes = {"identical": [0] * 6, "identical:other": [0] * 6, "local": [0] * 6, "local:5": [0] * 6}
    told = head_sentences(summarise(decided(codes)))[0]
    for words in (
        "same token elsewhere in its text",
        "same token in the other text",
        "neighbouring tokens",
        "at most 5 away",
    ):
        assert words in told


def test_the_methods_count_tested_heads_without_the_roles_that_could_not_be_tested() -> None:
    text = methods_text(decided({"local": [3] * 6, "mine": [0] * 6}))
    assert "No head could be tested for local. Every other role was tested in 6 heads." in text
    assert "Every role was tested in 6 heads." in methods_text(decided({"mine": [0] * 6}))
