"""The answer of a run that asks where roles come from agrees with its tables."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from headroles.records.causal.origins import Origin, Origins
from headroles.records.findings import Labelling
from headroles.records.shown.phrases import phrase_of
from headroles.reports.answer.records import Sentence
from headroles.reports.why.answer import MEANINGS, answer_of, head_sentence, role_sentence
from headroles.reports.why.words import counts_by_role, glossary, promise, share_text, spread
from headroles.reports.words.words import two_decimals
from tests.support.causal.origins import why_run


@pytest.fixture(scope="module")
def run() -> Labelling:
    return why_run()


def _part(labelling: Labelling) -> Origins:
    assert labelling.origins is not None
    return labelling.origins


def _with(labelling: Labelling, **fields: Any) -> Labelling:
    return replace(labelling, origins=replace(_part(labelling), **fields))


def _rows(labelling: Labelling, role: str) -> list[Origin]:
    return [row for row in _part(labelling).origins if row.role == role]


def _sentences(labelling: Labelling) -> tuple[Sentence, ...]:
    return answer_of(labelling).sentences


def _texts(labelling: Labelling) -> list[str]:
    return [sentence.text for sentence in _sentences(labelling)]


def _changed(labelling: Labelling, role: str, count: int, **fields: Any) -> Labelling:
    """The run with other fields in the first heads of a role."""
    rows: Sequence[Origin] = _part(labelling).origins
    places = [place for place, row in enumerate(rows) if row.role == role][:count]
    changed = [replace(row, **fields) if place in places else row for place, row in enumerate(rows)]
    return _with(labelling, origins=tuple(changed))


def test_the_first_sentence_says_that_there_are_no_separator_matching_neurons(run: Labelling) -> None:
    rows = _rows(run, "delimiter:sep")
    assert all(row.few == "as rotated" and row.verdict == "vertical" for row in rows)
    assert _texts(run)[0] == (
        f"No separator-matching neurons are found: 0 of {len(rows)} heads that look at separators "
        f"concentrate on fewer dimensions than after random rotations. In {len(rows)} of {len(rows)}, most "
        "of the push to separators is the same for every query."
    )


def test_separator_matching_neurons_that_are_found_are_named_with_their_numbers(run: Labelling) -> None:
    found = _changed(run, "delimiter:sep", 2, few="few neurons", participation=1.24)
    first, second = _rows(found, "delimiter:sep")[:2]
    total = len(_rows(run, "delimiter:sep"))
    said = _texts(found)[0]
    assert said.startswith(f"Separator-matching neurons are found in 2 of {total} heads that look at")
    for row in (first, second):
        assert f"{row.layer}-{row.head} (participation 1.2, {row.rotated:.1f} when rotated)" in said


def test_without_rotations_it_is_said_that_neurons_are_not_tested() -> None:
    assert _texts(why_run(rotary=True))[0] == (
        "Separator-matching neurons are not tested: rotary positions fix the dimensions, so rotations are no "
        "comparison."
    )
    assert not any("random rotations" in text for text in _texts(why_run(rotary=True)))


def test_separators_whose_contrast_is_not_above_0_are_not_tested(run: Labelling) -> None:
    count = len(_rows(run, "delimiter:sep"))
    flat = _changed(run, "delimiter:sep", count, few="untestable", verdict="untestable")
    assert _texts(flat)[0] == (
        "Separator-matching neurons are not tested: too few units count, or the contrast is not shown to be "
        "above 0."
    )


def test_special_tokens_stand_for_separators_where_no_role_is_about_these() -> None:
    texts = _texts(why_run((30, 2, 6), roles=("delimiter", "local")))
    assert texts[0].startswith("No neurons that match special tokens are found: 0 of ")
    assert not any("separator" in text.lower() for text in _texts(why_run((30, 2, 6), roles=("local",))))


def test_every_role_has_a_sentence_with_its_counts_and_shares(run: Labelling) -> None:
    sentences = _sentences(run)
    for one in counts_by_role(_part(run)):
        rows = _rows(run, one.role)
        vertical, query = (sum(row.verdict == word for row in rows) for word in ("vertical", "by query"))
        if not vertical + query:
            continue
        main, count, code = ("vertically", vertical, "role") if vertical else ("by query", query, "not")
        lead = f"{count} of {len(rows)} heads that {phrase_of(one.role).many} do so {main}"
        (said,) = [sentence for sentence in sentences if sentence.lead == lead]
        assert (said.sieve, said.decision) == (f"vertical:{one.role}", code)
        shares = [row.share for row in rows if row.verdict != "untestable"]
        low, middle, high = (
            two_decimals(end) for end in (min(shares), float(np.median(shares)), max(shares))
        )
        assert f"The mean query gives {middle} ({low} to {high}) of the contrast." in said.text
        undetermined = sum(row.verdict == "undetermined" for row in rows)
        assert (f"The others: {undetermined} undetermined." in said.text) == bool(undetermined)


def test_a_verdict_is_explained_at_its_first_role_alone(run: Labelling) -> None:
    for meaning in MEANINGS.values():
        assert sum(meaning in text for text in _texts(run)) == 1


def test_heads_that_beat_rotations_are_counted_over_all_roles(run: Labelling) -> None:
    (few,) = [row for row in _part(run).origins if row.few == "few neurons"]
    assert few.role == "local"
    tested = sum(row.few != "untestable" for row in _part(run).origins)
    (said,) = [text for text in _texts(run) if text.startswith("Few neurons carry")]
    assert said == (
        f"Few neurons carry 1 of {tested} roles of heads: neighbours (±2) in {few.layer}-{few.head} "
        f"(participation {few.participation:.1f}, {few.rotated:.1f} when rotated)."
    )
    none = _changed(run, "local", len(_rows(run, "local")), few="as rotated")
    tested = sum(row.few != "untestable" for row in _part(none).origins)
    none_said = (
        f"None of {tested} roles of heads is shown to be carried by few neurons: none beats random rotations."
    )
    assert none_said in _texts(none)


def test_dimensions_and_what_their_removal_does_are_counted(run: Labelling) -> None:
    part = _part(run)
    tested = [row for row in part.dimensions if not np.isnan(row.p)]
    found = sum(row.found for row in tested)
    own = [row for row in part.knockouts if row.by == "dimensions" and row.role == row.scored]
    falls, holds = (sum(row.verdict == word for row in own) for word in ("falls", "holds"))
    before, after = (
        two_decimals(float(np.median([getattr(row, end) for row in own]))) for end in ("before", "after")
    )
    (said,) = [text for text in _texts(run) if "twice their fair share" in text]
    assert said.startswith(f"{found} of {len(tested)} dimensions carry more than twice their fair share")
    assert said.endswith(
        f"Without them the role falls in {falls} of {len(own)} and holds in {holds} "
        f"(median score {before} before, {after} after)."
    )
    (said,) = [text for text in _texts(why_run(rotary=True)) if "twice their fair share" in text]
    assert "frequency pairs carry" in said
    assert "rotations" not in said


def test_directions_and_other_roles_of_the_heads_are_counted(run: Labelling) -> None:
    part = _part(run)
    ranks = [row.rank for row in part.origins]
    others = [row for row in part.knockouts if row.by == "subspace" and row.role != row.scored]
    holds = sum(row.verdict == "holds" for row in others)
    (said,) = [text for text in _texts(run) if "directions beyond distance" in text]
    assert said.startswith(
        f"{sum(rank > 0 for rank in ranks)} of {len(ranks)} roles of heads have directions"
    )
    assert f"Other roles of the same head hold in {holds} of {len(others)} cases." in said
    none = _with(run, origins=tuple(replace(row, rank=0) for row in part.origins))
    text = f"None of {len(ranks)} roles of heads is shown to have a direction beyond distance."
    assert text in _texts(none)
    assert not any("beyond distance" in text for text in _texts(why_run(redeals=0)))


def test_what_cannot_be_tested_is_counted_last(run: Labelling) -> None:
    left = sum(row.verdict == "untestable" for row in _part(run).origins)
    assert left
    assert _texts(run)[-1].startswith(
        f"{left} of {len(_part(run).origins)} roles of heads cannot be tested: "
    )


def test_rare_roles_share_a_sentence() -> None:
    roles = ("delimiter:cls", "delimiter:sep", "local", "next", "previous", "self", "first", "syntactic:amod")
    made = why_run((30, 3, 6), roles=roles)
    counts = sorted(counts_by_role(_part(made)), key=lambda one: -len(one.rows))
    assert len(counts) == 8
    texts = _texts(made)
    assert sum(" do so " in text for text in texts) == 5
    rest = counts[5:]
    heads, vertical, query = (
        sum(number)
        for number in zip(
            *((len(one.rows), one.count("vertical"), one.count("by query")) for one in rest), strict=True
        )
    )
    case = "case" if vertical == 1 else "cases"
    assert (
        f"3 other roles of {heads} heads are vertical in {vertical} {case}, and by query in {query}." in texts
    )


def test_roles_whose_heads_all_stay_undetermined_are_left_open() -> None:
    made = why_run((30, 3, 6), roles=("first", "local"))
    rows = _rows(made, "first")
    assert {row.verdict for row in rows} == {"undetermined"}
    (said,) = [sentence for sentence in _sentences(made) if sentence.lead.startswith("Whether ")]
    assert said.text.startswith(
        f"Whether {len(rows)} heads that look at the first token do so vertically stays open. The mean "
    )
    assert f"They are: {len(rows)} undetermined." in said.text
    assert (said.sieve, said.decision) == ("", "")
    assert "most of the push" not in said.text


def test_a_run_without_roles_says_so() -> None:
    made = why_run(held=False)
    assert _texts(made) == ["No head holds a role that could be asked about, so nothing was tested."]
    assert answer_of(made).title.startswith("Why do heads of ")
    assert "removals" not in answer_of(made).line


def test_the_line_names_the_units_of_all_three_groups_and_the_error_rate(run: Labelling) -> None:
    line = answer_of(run).line
    assert "roles decided on 40 units, origins measured on 40 others, removals on 40 more" in line
    assert line.endswith("false verdicts ≤ 5\u00a0% in the run")
    heads = len({(row.layer, row.head) for row in _part(run).origins})
    assert answer_of(run).title.startswith(f"Why do {heads} heads of ")


def test_the_sentence_of_a_head_has_its_share_neurons_and_removals(run: Labelling) -> None:
    part = _part(run)
    (few,) = [row for row in part.origins if row.few == "few neurons"]
    said = role_sentence(run, few)
    assert said.startswith(
        f"{few.layer}-{few.head} looks at neighbouring tokens by query. The mean query gives "
    )
    assert share_text(few) in said
    assert "Its neurons: few neurons (participation 1.0, " in said
    assert "Found dimensions: 3." in said
    assert "Without 1 direction the score falls below its threshold, from " in said
    assert said in head_sentence(run, few.layer, few.head)
    (untestable, *_) = [row for row in part.origins if row.verdict == "untestable"]
    assert role_sentence(run, untestable).endswith("; where that comes from cannot be tested.")
    free = np.argwhere(~np.any([part.held.heads(role) for role in part.held.roles], axis=0))[0].tolist()
    assert head_sentence(run, *free) == f"{free[0]}-{free[1]} holds no role that was asked about."


def test_names_from_data_cannot_turn_the_direction_of_sentences() -> None:
    texts = _texts(why_run((25, 2, 6), roles=("\u202ered", "local")))
    assert all("\u202e" not in text or "\u2068" in text for text in texts)


def test_a_run_of_another_kind_is_refused(run: Labelling) -> None:
    with pytest.raises(ValueError, match="did not ask where roles come from"):
        answer_of(replace(run, origins=None))


def test_the_glossary_explains_the_verdicts_and_the_error_rate(run: Labelling) -> None:
    terms = dict(glossary(run))
    assert {
        "contrast",
        "vertical",
        "by query",
        "few neurons",
        "falls",
        "holds",
        "found dimension",
    } <= terms.keys()
    assert "at most 5\u00a0% are expected not to be" in terms["error rate"]
    assert "found frequency pair" in dict(glossary(why_run(rotary=True)))
    assert "Nothing was corrected" in promise(replace(run.decision, correction="none"))
    assert "even one role" in promise(replace(run.decision, correction="holm"))


def test_a_spread_is_a_median_with_its_range() -> None:
    assert spread([0.1, 0.2, 0.6]) == "0.20 (0.10 to 0.60)"
    assert spread([0.1, 0.1]) == "0.10"
