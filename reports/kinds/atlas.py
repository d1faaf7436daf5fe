"""What an atlas showed, in words: what several runs have in common, and where they differ."""

import math
from collections.abc import Iterator

import numpy as np

from headroles.addresses import last_name
from headroles.records import numbers
from headroles.records.atlas.atlas import Atlas
from headroles.records.numbers import isolate, join_names, plural, two_decimals
from headroles.reports.answer import Answer, Sentence
from headroles.reports.kinds.claims import role_title

UNDETERMINED = "undetermined"
"""Verdict on a head that the inputs do not decide."""


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
    parts = (_everywhere, _same, _steps, _agreement, _open)
    sentences = (sentence for part in parts for sentence in part(atlas))
    return Answer(question, " · ".join(line), tuple(sentences), atlas.remarks)


def _in(atlas: Atlas, group: str) -> str:
    """Return which group a number is of, in brackets after a blank; "" where there is one."""
    return f" ({isolate(group)})" if len(atlas.groups) > 1 else ""


def _everywhere(atlas: Atlas) -> Iterator[Sentence]:
    """Yield how many labels hold in all runs, and in two or more, for every group in one sentence."""
    said = list[tuple[str, str]]()
    for group in dict.fromkeys(atlas.consensus["group"].tolist()):
        own = atlas.consensus.where(group=group)
        runs, some = int(own["runs"].max()), int((own["held"] > 0).sum())
        everywhere = int(((own["at_least"] == runs) & (own["runs"] == runs)).sum())
        two = f", {int((own['at_least'] > 1).sum()):,} in at least two" * (runs > 2)
        lead = f"{everywhere:,} of {plural(some, 'label')} {'holds' if everywhere == 1 else 'hold'}"
        said.append((f"{lead} in {_all(runs)}", f"{two}{_in(atlas, group)}"))
    if said:
        rest = "; ".join([said[0][1].lstrip(), *map("".join, said[1:])])
        tested = "Each is tested over its runs together (partial conjunction), corrected over heads"
        yield Sentence(said[0][0], f"{rest}. {tested}.")


def _same(atlas: Atlas) -> Iterator[Sentence]:
    """Yield how many heads hold the same of the roles that all runs of a group tested, for every group."""
    said = list[str]()
    for group in atlas.groups:
        runs = [atlas.findings[place] for place in atlas.given(group)]
        shared = [role for role in atlas.roles if all(role in found.tested for found in runs)]
        if len(runs) < 2 or not shared:
            continue
        held = np.stack([found.held[[*map(found.of, shared)]] for found in runs])
        alike = (held == held[:1]).all(axis=(0, 1))
        same, heads = int(alike.sum()), plural(alike.size, "head")
        who = f"{same:,} of {heads} {'holds' if same == 1 else 'hold'}"
        said.append(f"{who} the same roles in {_all(len(runs))}{_in(atlas, group)}")
    if said:
        others = "".join(f"; {text}" for text in said[1:])
        yield Sentence(said[0], f"{others}. Roles that some run could not test do not count.")


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
        f"{plural(len(held), 'label')} hold at the last step, {late:,} of them not yet at the first",
        f"({isolate(first)} to {isolate(last)}). {lost:,} were lost on the way. Scores rise in {rise:,} and "
        f"fall in {fall:,} of {len(atlas.steps):,} pairs of head and role.",
    )


def _agreement(atlas: Atlas) -> Iterator[Sentence]:
    """Yield the mean agreement of every group, and the roles that agree most and least in the first."""
    texts, ends = list[str](), ""
    for group in atlas.groups:
        for row in atlas.agreement.where(group=group, sieve=""):
            if not math.isnan(row.kappa):
                whole = numbers.with_range(*map(two_decimals, (row.kappa, row.low, row.high)))
                texts.append(f"{whole}{_in(atlas, group)}")
        rows = [row for row in atlas.agreement.where(group=group, run_a="") if row.sieve]
        known = [row for row in rows if not math.isnan(row.kappa)]
        if not ends and len(known) > 1:
            most, least = (end(known, key=lambda row: row.kappa) for end in (max, min))
            said = [f"{role_title(row.sieve)} ({two_decimals(row.kappa)})" for row in (most, least)]
            where = f" most{_in(atlas, group)}"
            ends = f" {said[0]} agrees{where}, {said[1]} least." * (most.kappa > least.kappa)
    if texts:
        scale = "1 is full agreement, 0 is chance"
        yield Sentence(f"Labels agree with kappa {join_names(texts)}", f"on average; {scale}.{ends}")


def _open(atlas: Atlas) -> Iterator[Sentence]:
    """Yield how many tests of a role and a head stay open in all runs, and in which run most do."""
    left = [int((found.verdict == UNDETERMINED).sum()) for found in atlas.findings]
    tests = sum(int((~np.isnan(found.numbers["p"])).sum()) for found in atlas.findings)
    if not tests:
        yield Sentence("No head could be tested", "in any run.")
    elif total := sum(left):
        most = isolate(atlas.runs[left.index(max(left))].name)
        lead = f"{total:,} of {plural(tests, 'test')} {'stays' if total == 1 else 'stay'} open"
        yield Sentence(lead, f", most in {most} ({max(left):,}). More inputs would decide more.")
