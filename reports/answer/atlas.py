"""The answer of an atlas: what several runs have in common, in plain sentences."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from headroles.addresses import last_name
from headroles.records.assessment import NEAR, count_extreme_p
from headroles.records.atlas.atlas import Atlas
from headroles.records.numbers import (
    count,
    isolate,
    join_names,
    percent_text,
    plural,
    share,
    two_decimals,
    with_range,
)
from headroles.records.table import Row
from headroles.reports.answer.records import Answer, Sentence
from headroles.reports.words.words import middle_row, middle_verdict

VERDICTS = {"a deficit": "rarer", "undetermined": "undetermined"}
"""Findings about heads with several roles other than a surplus, in words."""
PER_CENT = "\u00a0%"


def answer_of(atlas: Atlas) -> Answer:
    """Return what several runs have in common, on one screen.

    Args:
        atlas: Of two runs or more.

    Returns:
        Title, line, sentences on agreement, p values and depth, and the remarks.
    """
    models = list(dict.fromkeys(short_model(run.model) for run in atlas.runs))
    named = (
        join_names([isolate(name) for name in models]) if len(models) <= 3 else plural(len(models), "model")
    )
    inputs = sum(run.examples for run in atlas.runs)
    line = [
        plural(len(atlas.runs), "run"),
        plural(len(atlas.roles), "role"),
        f"{inputs:,} inputs in all",
        *(isolate(group) for group in atlas.groups if not atlas.steps),
    ]
    return Answer(
        title=_question(atlas, named),
        line=" · ".join(line),
        sentences=(
            *_same(atlas),
            *_steps(atlas),
            *_everywhere(atlas),
            *_agreement(atlas),
            *_roles(atlas),
            *_lengths(atlas),
            _p_values(atlas),
            *_middle(atlas),
        ),
        warnings=atlas.remarks,
    )


def _question(atlas: Atlas, named: str) -> str:
    """Return what the runs are asked, with the models in words."""
    if atlas.steps:
        first, last = isolate(atlas.runs[0].name), isolate(atlas.runs[-1].name)
        return f"Which roles come and go from {first} to {last}?"
    return f"Do the heads of {named} do the same on every task?"


def short_model(name: str) -> str:
    """Return the last part of a model's name; "one model" where it has none."""
    return last_name(name) or "one model"


def same_heads(atlas: Atlas, group: str) -> tuple[int, int] | None:
    """Count heads that hold the same roles in all runs of a group, among the roles that all of them tested.

    Returns:
        These heads, and all heads; None for a group of one run or without a role in all.
    """
    places = atlas.given(group)
    shared = [role for role in atlas.roles if all(role in atlas.findings[place].tested for place in places)]
    if len(places) < 2 or not shared:
        return None
    held = np.stack(
        [
            np.stack([atlas.findings[place].held[atlas.findings[place].of(role)] for role in shared])
            for place in places
        ]
    )
    alike = (held == held[:1]).all(axis=(0, 1))
    return int(alike.sum()), alike.size


def _same(atlas: Atlas) -> Iterator[Sentence]:
    """Yield how many heads hold the same roles everywhere, for every group."""
    for group in atlas.groups:
        counted = same_heads(atlas, group)
        if counted is None:
            continue
        same, heads = counted
        count_runs = len(atlas.given(group))
        runs = "both runs" if count_runs == 2 else f"all {count_runs} runs"
        holds = "holds" if same == 1 else "hold"
        yield Sentence(
            f"{same:,} of {plural(heads, 'head')} {holds} the same roles",
            f"in {runs} ({isolate(group)}), of the roles that all of them tested.",
        )


def _everywhere(atlas: Atlas) -> Iterator[Sentence]:
    """Yield how many pairs of head and role hold in all runs, and in two or more, for every group."""
    for group in dict.fromkeys(row.group for row in atlas.consensus):
        own = [row for row in atlas.consensus if row.group == group]
        runs = max(row.runs for row in own)
        everywhere = sum(row.at_least == row.runs == runs for row in own)
        labelled = sum(row.held > 0 for row in own)
        two = f"; {sum(row.at_least > 1 for row in own):,} hold in at least two" * (runs > 2)
        yield Sentence(
            f"{plural(everywhere, 'role')} of a head {'holds' if everywhere == 1 else 'hold'} in "
            f"{'both runs' if runs == 2 else f'all {runs} runs'}",
            f"({isolate(group)}), of {labelled:,} that some run gives{two} (partial conjunction, "
            "corrected over heads).",
        )


def _steps(atlas: Atlas) -> Iterator[Sentence]:
    """Yield from which step roles hold, where the runs are steps of one training."""
    if not atlas.steps:
        return
    names = [run.name for run in atlas.runs]
    held = [row for row in atlas.steps if row.emerged]
    late = sum(row.emerged != names[0] for row in held)
    lost = sum(bool(row.lost) for row in atlas.steps)
    turned = [sum(row.trend == word for row in atlas.steps) for word in ("rises", "falls")]
    yield Sentence(
        f"{plural(len(held), 'role')} of heads hold at the last step, {late:,} of them not yet at the first",
        f"({isolate(names[0])} to {isolate(names[-1])}); {lost:,} were lost on the way. Scores rise in "
        f"{turned[0]:,} and fall in {turned[1]:,} of {len(atlas.steps):,} pairs of head and role.",
    )


def mean_agreement(atlas: Atlas, group: str) -> Row | None:
    """Return the mean agreement of a group over roles and pairs of runs; None where there is none."""
    return next((row for row in atlas.agreement if row.group == group and not row.sieve), None)


def kappa_text(row: Row) -> str:
    """Return kappa with its interval."""
    return with_range(*map(two_decimals, (row.kappa, row.low, row.high)))


def _agreement(atlas: Atlas) -> Iterator[Sentence]:
    """Yield the mean agreement of all groups in one sentence."""
    rows = [row for group in atlas.groups if (row := mean_agreement(atlas, group)) is not None]
    rows = [row for row in rows if not math.isnan(row.kappa)]
    if not rows:
        return
    texts = [f"{kappa_text(row)} ({isolate(row.group)})" for row in rows]
    yield Sentence(
        f"Labels agree with kappa {texts[0]}",
        f"{f'and {join_names(texts[1:])} ' if texts[1:] else ''}on average over roles and pairs of runs; "
        f"1 is full agreement, 0 that of labels with the same counts at random.",
    )


def _roles(atlas: Atlas) -> Iterator[Sentence]:
    """Yield the roles that agree most and least, for every group."""
    for group in atlas.groups:
        rows = [row for row in atlas.agreement if row.group == group and row.sieve and not row.run_a]
        rows = [row for row in rows if not math.isnan(row.kappa)]
        if len(rows) < 2:
            continue
        most, least = max(rows, key=lambda row: row.kappa), min(rows, key=lambda row: row.kappa)
        yield Sentence(
            f"{isolate(most.sieve)} agrees most, {isolate(least.sieve)} least",
            f"({isolate(group)}): kappa {two_decimals(most.kappa)} and {two_decimals(least.kappa)}.",
        )


def _lengths(atlas: Atlas) -> Iterator[Sentence]:
    """Yield how many roles a head holds on the shortest and on the longest inputs, for every group."""
    parts = []
    for group in atlas.groups:
        counted = [place for place in atlas.members(group) if atlas.several[place]]
        places = sorted(counted, key=lambda place: atlas.runs[place].tokens)
        ends = [(count(atlas.runs[place].tokens), atlas.several[place][0].mean) for place in places]
        if ends and ends[0][0] != ends[-1][0]:
            lengths = f"{ends[0][0]} to {ends[-1][0]} tokens"
            parts.append(
                f"from {two_decimals(ends[0][1])} on the shortest inputs to {two_decimals(ends[-1][1])} on "
                f"the longest ({isolate(group)}, {lengths})"
            )
    if parts:
        yield Sentence("Roles a head go", f"{join_names(parts)}.")


def _p_values(atlas: Atlas) -> Sentence:
    """Return how many p values lie near 0 or 1, and the runs with the smallest and the largest share."""
    counts = [count_extreme_p(atlas.p_values(place)) for place in range(len(atlas.runs))]
    whole = count_extreme_p(np.concatenate([atlas.p_values(place) for place in range(len(atlas.runs))]))
    known = [(count.share, run.name) for count, run in zip(counts, atlas.runs, strict=True) if count.tests]
    if not known:
        return Sentence("No head could be tested", "in any run.")
    ends = ", ".join(f"{percent_text(part)} on {isolate(name)}" for part, name in (min(known), max(known)))
    return Sentence(
        f"{percent_text(whole.share)} of p values lie near 0 or 1",
        f"({whole.near:,} of {whole.tests:,} below {NEAR:g} or above {1 - NEAR:g}); from {ends}.",
    )


def _middle(atlas: Atlas) -> Iterator[Sentence]:
    """Yield in which runs the middle layers have more heads with several roles."""
    rows = [(run.name, middle_row(rows)) for run, rows in zip(atlas.runs, atlas.several, strict=True)]
    known = [(name, row) for name, row in rows if row is not None]
    if not known:
        return
    said: dict[str, list[str]] = {}
    for name, row in known:
        said.setdefault(middle_verdict(row), []).append(isolate(name))
    surplus = said.pop("a surplus", [])
    others = "; ".join(
        f"{words} in {_names(said[verdict])}" for verdict, words in VERDICTS.items() if verdict in said
    )
    references = sorted({share(row.reference) for _, row in known}, key=lambda text: float(text[:-2]))
    chosen = references[0]
    if len(references) > 1:
        chosen = f"{references[0].removesuffix(PER_CENT)} to {references[-1]}"
    yield Sentence(
        f"Heads with several roles are more frequent in the middle layers in {len(surplus)} of "
        f"{plural(len(known), 'run')}",
        f"{f'({others})' if others else ''}, but {chosen} of all choices of as many layers have as large a "
        "surplus.",
    )


def _names(names: Sequence[str]) -> str:
    """Return names of runs, or their number where there are many."""
    return join_names(list(names)) if len(names) <= 4 else plural(len(names), "run")
