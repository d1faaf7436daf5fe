"""The answer of a comparison of two runs: what changed, in plain sentences."""

import numpy as np

from headroles.records.comparison import OUTCOMES, Comparison
from headroles.records.numbers import count, exact, isolate, join_names, number, plural
from headroles.reports.account import line_of_two
from headroles.reports.answer.records import Answer, Sentence
from headroles.reports.words.compare import run_names
from headroles.reports.words.words import Interval, interval

NAMED = 4
"""Heads with moved roles that a sentence names at most."""


def answer_of(comparison: Comparison) -> Answer:
    """Return what changed between two runs, on one screen.

    Args:
        comparison: Of two runs.

    Returns:
        Title, line, at most five sentences, and the remarks. The first sentence counts changes beyond the
        bound only.
    """
    first, second = run_names(comparison)
    sentences = [_changed(comparison), *_roles(comparison), _equivalent(comparison), *_open(comparison)]
    return Answer(
        title=f"What changed from {first} to {second}?",
        line=f"{line_of_two(comparison)} · a change counts beyond ±{exact(comparison.bound)}",
        sentences=tuple(sentences),
        warnings=comparison.remarks,
    )


def changes_beyond(comparison: Comparison) -> tuple[int, int]:
    """Count changed pairs of head and role: those whose mean difference exceeds the bound, and the others.

    Contrasts are no roles. A pair is changed where the mean difference is not 0 and its interval reaches
    beyond the bound; the mean difference itself may lie within it.
    """
    differences = comparison.differences
    roles = [rule.role for rule in differences.rules]
    changed = differences.outcome[roles] == OUTCOMES.index("changed")
    beyond = changed & (np.abs(differences.difference[roles]) > comparison.bound)
    return int(beyond.sum()), int(changed.sum() - beyond.sum())


def _changed(comparison: Comparison) -> Sentence:
    """Return how many scores changed by more than the bound, and the largest of them."""
    differences, bound = comparison.differences, exact(comparison.bound)
    roles = [rule.role for rule in differences.rules]
    pairs = plural(int(differences.outcome[roles].size), "head × role pair")
    beyond, within = changes_beyond(comparison)
    more = f" {within:,} more changed by less, or by an amount still unclear." if within else ""
    if not beyond:
        counts = _outcomes(comparison)
        unsettled = counts["undetermined"] or counts["untestable"]
        lead = "No score is shown to change" if unsettled else "No score changed"
        return Sentence(lead, f"by more than {bound} among {pairs}.{more}", "", "changed")
    place, layer, head = _largest(comparison)
    ends = [float(getattr(differences, name)[place, layer, head]) for name in ("difference", "low", "high")]
    where = f"{comparison.stack.name(layer, head)}, {isolate(differences.sieves[place])}"
    return Sentence(
        f"{beyond:,} of {pairs} changed",
        f"by more than {bound}; most in {where}: {interval(Interval(*ends))}.{more}",
        "",
        "changed",
    )


def _largest(comparison: Comparison) -> tuple[int, int, int]:
    """Return role, layer and head of the largest change."""
    differences = comparison.differences
    roles = np.array([rule.role for rule in differences.rules])[:, None, None]
    changed = (differences.outcome == OUTCOMES.index("changed")) & roles
    size = np.where(changed, np.abs(differences.difference), -np.inf)
    place, layer, head = np.unravel_index(int(size.argmax()), size.shape)
    return int(place), int(layer), int(head)


def _roles(comparison: Comparison) -> list[Sentence]:
    """Return how many roles were gained and lost, beside those that random swaps of A and B move."""
    if not comparison.swaps:
        return []
    row = comparison.swaps[-1]
    if not row.changed:
        return [Sentence("No head gained or lost a role", f"({plural(row.labels_a, 'label')} in both runs).")]
    moved = comparison.labels().query("gained != '' or lost != ''")
    heads = [f"{head.layer}-{head.head}" for head in moved.itertuples()]
    where = f" ({join_names(heads)})" if len(heads) <= NAMED else ""
    lead = f"{plural(row.gained, 'role')} gained and {row.lost:,} lost"
    rest = f"in {plural(len(heads), 'head')}{where}"
    if not np.isnan(row.changed_mean):
        ends = (count(row.changed_low), count(row.changed_high))
        rest += f"; random swaps of A and B move {count(row.changed_mean)} [{ends[0]}, {ends[1]}]"
        if row.changed > 1 and not np.isnan(row.p):
            rest += f" (p = {number(row.p)})"
    return [Sentence(lead, f"{rest}.")]


def _equivalent(comparison: Comparison) -> Sentence:
    """Return how many pairs are shown to be equivalent."""
    same = _outcomes(comparison)["equivalent"]
    if not same:
        return Sentence("No pair is shown to be equivalent", f"within ±{exact(comparison.bound)}.")
    are = "pair is" if same == 1 else "pairs are"
    rest = f"to within ±{exact(comparison.bound)}."
    return Sentence(f"{same:,} {are} equivalent", rest, "", "equivalent")


def _open(comparison: Comparison) -> list[Sentence]:
    """Return how many pairs the inputs do not settle; nothing where all are settled."""
    counts = _outcomes(comparison)
    undetermined, untestable = counts["undetermined"], counts["untestable"]
    if not undetermined and not untestable:
        return []
    lead = f"{plural(undetermined, 'pair')} {'stays' if undetermined == 1 else 'stay'} undetermined"
    rest = f"; {untestable:,} could not be tested." if untestable else "."
    return [Sentence(lead, rest, "", "undetermined")]


def _outcomes(comparison: Comparison) -> dict[str, int]:
    """Count pairs of head and role by outcome."""
    outcome = comparison.differences.outcome[[rule.role for rule in comparison.differences.rules]]
    return {name: int((outcome == code).sum()) for code, name in enumerate(OUTCOMES)}
