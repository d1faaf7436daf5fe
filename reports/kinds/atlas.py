"""What an atlas showed, in words: what several runs have in common, and where they differ."""

import math
from collections.abc import Iterator

import numpy as np

from headroles.addresses import last_name
from headroles.records import numbers
from headroles.records.assessment import NEAR, count_extreme_p
from headroles.records.atlas.atlas import Atlas
from headroles.records.numbers import isolate, join_names, percent_text, plural, two_decimals
from headroles.reports.answer import Answer, Sentence
from headroles.reports.words import middle_row, middle_verdict

PER_CENT = "\u00a0%"
NAMED = 4
"""Runs that a sentence names at most."""


def short_model(name: str) -> str:
    """Return the last part of a model's name; "one model" where it has none."""
    return last_name(name) or "one model"


def answer_of(atlas: Atlas) -> Answer:
    """Return what several runs have in common: title, line, sentences and the remarks."""
    models = list(dict.fromkeys(short_model(run.model) for run in atlas.runs))
    named = join_names([*map(isolate, models)]) if len(models) <= 3 else plural(len(models), "model")
    question = f"Do the heads of {named} do the same on every task?"
    if atlas.steps:
        first, last = isolate(atlas.runs[0].name), isolate(atlas.runs[-1].name)
        question = f"Which roles come and go from {first} to {last}?"
    line = [
        plural(len(atlas.runs), "run"), plural(len(atlas.roles), "role"),
        f"{sum(run.examples for run in atlas.runs):,} inputs in all",
        *(isolate(group) for group in atlas.groups if not atlas.steps),
    ]  # fmt: skip
    parts = (_same, _steps, _everywhere, _agreement, _roles, _lengths, _p_values, _middle)
    sentences = (sentence for part in parts for sentence in part(atlas))
    return Answer(question, " · ".join(line), tuple(sentences), atlas.remarks)


def _same(atlas: Atlas) -> Iterator[Sentence]:
    """Yield, for every group, how many heads hold the same of the roles that all of its runs tested."""
    for group in atlas.groups:
        runs = [atlas.findings[place] for place in atlas.given(group)]
        shared = [role for role in atlas.roles if all(role in found.tested for found in runs)]
        if len(runs) < 2 or not shared:
            continue
        held = np.stack([found.held[[*map(found.of, shared)]] for found in runs])
        alike = (held == held[:1]).all(axis=(0, 1))
        same, heads = int(alike.sum()), plural(alike.size, "head")
        yield Sentence(
            f"{same:,} of {heads} {'holds' if same == 1 else 'hold'} the same roles",
            f"in {_all(len(runs))} ({isolate(group)}), of the roles that all of them tested.",
        )


def _all(runs: int) -> str:
    """Return so many runs in words."""
    return "both runs" if runs == 2 else f"all {runs} runs"


def _steps(atlas: Atlas) -> Iterator[Sentence]:
    """Yield from which step roles hold, where the runs are steps of one training."""
    if not atlas.steps:
        return
    first, last = atlas.runs[0].name, atlas.runs[-1].name
    held = [row for row in atlas.steps if row.emerged]
    late = sum(row.emerged != first for row in held)
    lost = sum(bool(row.lost) for row in atlas.steps)
    rise, fall = (len(atlas.steps.where(trend=word)) for word in ("rises", "falls"))
    yield Sentence(
        f"{plural(len(held), 'role')} of heads hold at the last step, {late:,} of them not yet at the first",
        f"({isolate(first)} to {isolate(last)}); {lost:,} were lost on the way. Scores rise in {rise:,} and "
        f"fall in {fall:,} of {len(atlas.steps):,} pairs of head and role.",
    )


def _everywhere(atlas: Atlas) -> Iterator[Sentence]:
    """Yield how many pairs of head and role hold in all runs, and in two or more, for every group."""
    for group in dict.fromkeys(atlas.consensus["group"].tolist()):
        own = atlas.consensus.where(group=group)
        runs = int(own["runs"].max())
        everywhere = int(((own["at_least"] == runs) & (own["runs"] == runs)).sum())
        two = f"; {int((own['at_least'] > 1).sum()):,} hold in at least two" * (runs > 2)
        yield Sentence(
            f"{plural(everywhere, 'role')} of a head {'holds' if everywhere == 1 else 'hold'} in "
            f"{_all(runs)}",
            f"({isolate(group)}), of {int((own['held'] > 0).sum()):,} that some run gives{two} (partial "
            "conjunction, corrected over heads).",
        )


def _agreement(atlas: Atlas) -> Iterator[Sentence]:
    """Yield the mean agreement of all groups, over roles and pairs of runs, in one sentence."""
    texts = [
        f"{numbers.with_range(*map(two_decimals, (row.kappa, row.low, row.high)))} ({isolate(group)})"
        for group in atlas.groups
        for row in atlas.agreement.where(group=group, sieve="") if not math.isnan(row.kappa)
    ]  # fmt: skip
    if texts:
        yield Sentence(
            f"Labels agree with kappa {texts[0]}",
            f"{f'and {join_names(texts[1:])} ' if texts[1:] else ''}on average over roles and pairs of runs; "
            f"1 is full agreement, 0 that of labels with the same counts at random.",
        )


def _roles(atlas: Atlas) -> Iterator[Sentence]:
    """Yield the roles that agree most and least, for every group."""
    for group in atlas.groups:
        rows = [row for row in atlas.agreement.where(group=group, run_a="") if row.sieve]
        known = [row for row in rows if not math.isnan(row.kappa)]
        if len(known) >= 2:
            most, least = (end(known, key=lambda row: row.kappa) for end in (max, min))
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
        ends = [(numbers.count(atlas.runs[place].tokens), atlas.several[place][0].mean) for place in places]
        if ends and ends[0][0] != ends[-1][0]:
            parts.append(
                f"from {two_decimals(ends[0][1])} on the shortest inputs to {two_decimals(ends[-1][1])} on "
                f"the longest ({isolate(group)}, {ends[0][0]} to {ends[-1][0]} tokens)"
            )
    if parts:
        yield Sentence("Roles a head go", f"{join_names(parts)}.")


def _p_values(atlas: Atlas) -> Iterator[Sentence]:
    """Yield how many p values lie near 0 or 1, and the runs with the smallest and the largest share."""
    p_values = [atlas.p_values(place) for place in range(len(atlas.runs))]
    counts, whole = [*map(count_extreme_p, p_values)], count_extreme_p(np.concatenate(p_values))
    known = [(own.share, run.name) for own, run in zip(counts, atlas.runs, strict=True) if own.tests]
    if not known:
        yield Sentence("No head could be tested", "in any run.")
        return
    ends = ", ".join(f"{percent_text(part)} on {isolate(name)}" for part, name in (min(known), max(known)))
    yield Sentence(
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
    others = "; ".join(
        f"{words} in {join_names(names) if len(names) <= NAMED else plural(len(names), 'run')}"
        for verdict, words in (("a deficit", "rarer"), ("undetermined", "undetermined"))
        if (names := said.get(verdict, []))
    )
    references = sorted({numbers.share(row.reference) for _, row in known}, key=lambda text: float(text[:-2]))
    chosen = references[0]
    if len(references) > 1:
        chosen = f"{references[0].removesuffix(PER_CENT)} to {references[-1]}"
    yield Sentence(
        f"Heads with several roles are more frequent in the middle layers in "
        f"{len(said.get('a surplus', ()))} of {plural(len(known), 'run')}",
        f"{f'({others})' if others else ''}, but {chosen} of all choices of as many layers have as large a "
        "surplus.",
    )
