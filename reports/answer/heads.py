"""What one head does, in one sentence."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool

from headroles.records.numbers import exact, isolate, join_names, mean, plural
from headroles.records.roles import CONTROLS, TAKES, VALUES, explained_words, phrase_of, without_wholes
from headroles.reports.records import Role, Summary
from headroles.reports.words.words import STEADY

NAMED = 4
"""Roles of a head that its sentence names at most."""
EXPLAINED, UNDETERMINED, UNTESTABLE = 4, 2, 3


def head_sentence(summary: Summary, layer: int, head: int) -> str:
    """Return what one head does, and how firm its roles are.

    Args:
        summary: Of the run.
        layer: Place of its layer among those that are read.
        head: Its head within the layer, from 0.

    Returns:
        A sentence such as "2-8 looks from adjectives to their noun and at neighbouring tokens; 2 of its 3
        roles are stable." A role with parts is left out where the head holds one of its parts.
    """
    names = [role.sieve for role in summary.roles]
    drawn = without_wholes(names, summary.held[:, layer : layer + 1, head : head + 1])
    return _sentence(summary, layer, head, drawn[:, 0, 0])


def head_sentences(summary: Summary) -> tuple[str, ...]:
    """Return the sentence of every head, layer by layer."""
    drawn = without_wholes([role.sieve for role in summary.roles], summary.held)
    return tuple(
        _sentence(summary, layer, head, drawn[:, layer, head])
        for layer in range(summary.table.layers)
        for head in range(summary.table.heads)
    )


def _sentence(summary: Summary, layer: int, head: int, drawn: Bool[np.ndarray, " roles"]) -> str:
    """Return the sentence of one head from the roles that are drawn of it."""
    cell = layer * summary.table.heads + head
    places = sorted(np.flatnonzero(drawn).tolist(), key=lambda place: summary.roles[place].tally.role)
    name = summary.table.stack.name(layer, head)
    if not places:
        return f"{name} {_without(summary, cell)}."
    acts = _joined([phrase_of(summary.roles[place].sieve).one for place in places[:NAMED]])
    more = len(places) - NAMED
    if more > 0:
        acts = f"{acts}, and has {more} more role{'s' * (more > 1)}"
    return f"{name} {acts}{_stability(summary, cell, places)}."


def _joined(acts: Sequence[str]) -> str:
    """Return acts as one predicate, a verb that several share named once.

    Example:
        >>> _joined(["looks at a", "looks at b", "stays in c"])
        'looks at a and at b, and stays in c'
    """
    by_verb: dict[str, list[str]] = {}
    for act in acts:
        verb, _, rest = act.partition(" ")
        by_verb.setdefault(verb, []).append(isolate(rest))
    parts = [f"{verb} {join_names(rests)}" for verb, rests in by_verb.items()]
    if len(parts) == len(acts):
        return join_names(parts)
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])}, and {parts[-1]}"


def _stability(summary: Summary, cell: int, places: Sequence[int]) -> str:
    """Return how many of a head's roles are stable; "" where it is not known."""
    if "stability" not in summary.table.columns:
        return ""
    values = np.array(
        [summary.table.of("stability", summary.roles[place].position)[cell] for place in places]
    )
    if np.isnan(values).any():
        return ""
    steady, count = int((values >= STEADY).sum()), len(places)
    if count == 1:
        return f"; the role is {'' if steady else 'not '}stable"
    if steady == count:
        return f"; {'both' if count == 2 else f'all {count}'} roles are stable"
    if not steady:
        return f"; {'neither role is' if count == 2 else f'none of its {count} roles is'} stable"
    return f"; {steady} of its {count} roles {'is' if steady == 1 else 'are'} stable"


def _without(summary: Summary, cell: int) -> str:
    """Return what is known of a head without a role: its score nearest a role, and why that is none."""
    codes = {
        role.position: int(summary.table.decided(role.position)[cell])
        for role in summary.roles
        if summary.table.decided(role.position)[cell] != UNTESTABLE
    }
    tested = [role for role in summary.roles if role.position in codes]
    if not tested:
        return "could not be tested" if summary.roles else "holds no role"
    scores = {role.position: _mean(summary, role.position, cell) for role in tested}
    role = max(tested, key=lambda role: scores[role.position] - role.threshold)
    highest = scores[role.position] == max(scores.values())
    which = "highest score" if highest else "highest score for its threshold"
    found = f"{mean(scores[role.position])} for {isolate(phrase_of(role.sieve).title)}"
    others = sum(code == UNDETERMINED for position, code in codes.items() if position != role.position)
    more = f"; {plural(others, 'other role')} {'is' if others == 1 else 'are'} undetermined" * bool(others)
    reason = _reason(role, scores[role.position], codes[role.position])
    return f"holds no role: its {which} is {found}, {reason}{more}"


def _reason(role: Role, score: float, code: int) -> str:
    """Return why a score is no role, by its decision."""
    if code == EXPLAINED:
        return f"and it {TAKES}" if role.control == CONTROLS[VALUES] else explained_words(role.control)
    side = "below" if score < role.threshold else "above" if score > role.threshold else "at"
    limit = f"{side} the threshold {exact(role.threshold)}"
    if code == UNDETERMINED:
        return f"{limit} but undetermined"
    return f"{limit} but not beyond {role.control}" if side == "above" and role.control else limit


def _mean(summary: Summary, position: int, cell: int) -> float:
    """Return the mean of one head; minus infinity where it has none."""
    value = float(summary.table.of("mean", position)[cell])
    return -np.inf if np.isnan(value) else value
