"""The answer of a run that tested roles: what the heads do, family by family, in plain sentences."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Int

from headroles.records.layers import Stack
from headroles.records.numbers import isolate, join_names, mean, plural
from headroles.records.roles import (
    CONTROLS,
    FAMILIES,
    VALUES,
    explained_list,
    family_of,
    parts_of,
    phrase_of,
    without_wholes,
)
from headroles.reports.answer.records import Answer, Sentence
from headroles.reports.records import Role, Summary
from headroles.reports.words.words import error_rate

ROLE, NOT, UNDETERMINED, UNTESTABLE, EXPLAINED = range(5)
NAMED = 4
"""Roles, and heads of a role, that a sentence names at most."""
MOST = 5
"""Sentences of an answer at most."""
WHOLES = {
    "sinks": ("parks attention on {}", "park attention on {}"),
    "position": ("looks at fixed or near positions", "look at fixed or near positions"),
    "sentence": ("follows texts and repeated words", "follow texts and repeated words"),
    "syntax": ("follows syntax", "follow syntax"),
    "other": ("holds another role", "hold other roles"),
}
"""What one head and several heads of a family do."""
TAKES_FROM = ("takes relatively more from {}", "take relatively more from {}")
"""What one head and several heads do with sinks, where attention is weighted by the norms of values."""
LISTED = frozenset({"syntax", "other"})
"""Families whose roles are named with their heads, and also those that no head holds."""
SINKS = {"delimiter": "special tokens", "first": "the first token", "punctuation": "punctuation"}
"""Where sinks park attention, by the first part of their names."""


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """The roles of one family, over all heads.

    Attributes:
        family: One of ``FAMILIES``.
        roles: Its roles that could be tested, in their order.
        codes: Their decisions, one row per role.
        held: Whether a head holds any of them.
        by_norm: Whether attention is weighted by the norms of values.
    """

    family: str
    roles: tuple[Role, ...]
    codes: Int[np.ndarray, "roles heads"]
    held: Bool[np.ndarray, " heads"]
    by_norm: bool = False

    @property
    def undetermined(self) -> int:
        """Return the heads without a role of the family that are undetermined for one."""
        return int((~self.held & self._have(UNDETERMINED)).sum())

    @property
    def explained(self) -> int:
        """Return the heads explained for a role, of those with no role and nothing undetermined."""
        return int((self._settled & self._have(EXPLAINED)).sum())

    @property
    def controlling(self) -> list[Role]:
        """Return the roles that the counted heads are explained for."""
        counted = ((self.codes == EXPLAINED) & self._settled).any(axis=1)
        return [role for role, some in zip(self.roles, counted, strict=True) if some]

    @property
    def valued(self) -> int | None:
        """Return the place of a role of sinks whose values were tested (parked); None without one."""
        places = (place for place, role in enumerate(self.roles) if role.control == CONTROLS[VALUES])
        return next(places, None) if self.family == "sinks" else None

    @property
    def _settled(self) -> Bool[np.ndarray, " heads"]:
        """Return which heads hold no role of the family and are undetermined for none."""
        settled: np.ndarray = ~self.held & ~self._have(UNDETERMINED)
        return settled

    def _have(self, code: int) -> Bool[np.ndarray, " heads"]:
        """Return which heads have a decision for any role of the family."""
        found: np.ndarray = (self.codes == code).any(axis=0)
        return found


def answer_of(summary: Summary) -> Answer:
    """Return what the heads of a run do, on one screen.

    Args:
        summary: Of a run whose sieves can be roles.

    Returns:
        Title, line, at most five sentences, and the warnings of the run. All counts are those of the summary.
    """
    heads = summary.table.layers * summary.table.heads
    model = f" of {isolate(summary.account.model)}" if summary.account.model else ""
    do = f"the {heads:,} heads{model} do" if heads != 1 else f"the head{model} do"
    facts = [isolate(fact) for fact in summary.account.facts]
    roles, words = plural(len(summary.roles), "role"), filter(None, [summary.table.stack.words])
    return Answer(
        title=f"What do {do}?" if heads != 1 else f"What does {do}?",
        line=" · ".join([*facts, *words, roles, error_rate(summary.decision)]),
        sentences=_sentences(summary),
        warnings=summary.account.warnings,
    )


def _sentences(summary: Summary) -> tuple[Sentence, ...]:
    """Return the sentences, the last one about heads without any role."""
    if not summary.roles:
        return (Sentence("No sieve of this run can be a role."),)
    codes = np.stack([summary.table.decided(role.position) for role in summary.roles])
    groups = _groups(summary.roles, codes, summary.account.by_norm)
    held = (codes == ROLE).any(axis=0)
    sentences = [
        _values_sentence(group, summary)
        if group.valued is not None
        else _sink_sentence(group, groups, summary)
        if group.family == "sinks"
        else _sentence(group, summary)
        for group in groups
    ]
    rest = _without(codes, held, summary)
    if len(sentences) < MOST:
        return (*sentences, rest)
    last = sentences[-1]
    return (*sentences[:-1], replace(last, rest=f"{last.rest} {rest.text}"))


def _groups(roles: Sequence[Role], codes: Int[np.ndarray, "roles heads"], by_norm: bool) -> list[Group]:
    """Return the families of roles that could be tested, in the order of families."""
    groups = []
    for family in FAMILIES:
        places = [
            place for place, role in enumerate(roles) if family_of(role.sieve) == family and role.tally.tests
        ]
        if places:
            own = codes[places]
            held = (own == ROLE).any(axis=0)
            groups.append(Group(family, tuple(roles[k] for k in places), own, held, by_norm))
    return groups


def _sink_sentence(group: Group, groups: Sequence[Group], summary: Summary) -> Sentence:
    """Return how many heads hold nothing but sinks; of how many another role is undetermined."""
    others = [other for other in groups if other is not group]
    busy = np.any([other.held for other in others], axis=0) if others else np.zeros_like(group.held)
    only = group.held & ~busy
    if not only.any() or not others:
        return _sentence(group, summary)
    unclear = np.any([(other.codes == UNDETERMINED).any(axis=0) for other in others], axis=0)
    count, open_heads = int(only.sum()), int((only & unclear).sum())
    lead = f"{count:,} of {plural(only.size, 'head')} only {_does(group, count)}"
    texts = [f"{_part(open_heads, count)} may hold another role (undetermined)."] if open_heads else []
    return Sentence(
        lead, _with(".", [*texts, *_all_sinks(group, count), *_open(group)]), group.roles[0].sieve, "only"
    )


def _values_sentence(group: Group, summary: Summary) -> Sentence:
    """Return how many heads attend to sinks, and how many of them take values there."""
    place = group.valued
    if place is None or len(group.roles) == 1:
        return _sentence(group, summary)
    rows = [row for row in range(len(group.roles)) if row != place]
    held, codes = (group.codes[rows] == ROLE).any(axis=0), group.codes[place]
    roles = tuple(group.roles[row] for row in rows)
    attending = Group(group.family, roles, group.codes[rows], held)
    count = int(held.sum())
    if not count:
        return _sentence(Group(group.family, (group.roles[place],), codes[None], codes == ROLE), summary)
    parked, taking, unclear = (
        int((held & (codes == code)).sum()) for code in (ROLE, EXPLAINED, UNDETERMINED)
    )
    texts = []
    if parked:
        its, take = ("its", "it takes") if parked == 1 else ("their", "they take")
        texts.append(
            f"{_part(parked, count)} {_is(parked)} parked: relative to {its} other values, {take} hardly "
            f"more there than elsewhere."
        )
    if taking:
        takes = "takes" if taking == 1 else "take"
        texts.append(f"{_part(taking, count)} {takes} relatively more there.")
    texts += [f"{_part(unclear, count)} {_is(unclear)} undetermined."] if unclear else []
    other = int((~held & (codes == ROLE)).sum())
    texts += [f"{plural(other, 'other head')} {_is(other)} parked, too."] if other else []
    places = " or ".join(_places(attending))
    lead = f"{count:,} of {plural(held.size, 'head')} {'attends' if count == 1 else 'attend'} to {places}"
    return Sentence(lead, _with(".", texts), roles[0].sieve, "role" if len(roles) == 1 else "family")


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _all_sinks(group: Group, only: int) -> list[str]:
    """Return how many heads park attention, those with other roles too; nothing where nothing is added."""
    held = int(group.held.sum())
    counts = ", ".join(_counts(group)) if len(group.roles) > 1 else ""
    if held == only:
        return [f"{counts}."] if counts else []
    does = (
        ("takes relatively more", "take relatively more")
        if group.by_norm
        else ("parks attention", "park attention")
    )
    return [f"In all, {plural(held, 'head')} {does[held != 1]} there{': ' if counts else ''}{counts}."]


def _sentence(group: Group, summary: Summary) -> Sentence:
    """Return how many heads hold a role of a family, and how many are explained or undetermined."""
    count, sole = int(group.held.sum()), len(group.roles) == 1
    first = group.roles[0].sieve
    does = _does(group, count)
    lead = f"{plural(count, 'head')} {does}" if count else f"No head {_does_nowhere(group)}"
    rest = _details(group, summary) + "." if count else "."
    return Sentence(lead, _with(rest, _open(group)), first, "role" if sole else "family")


def _does(group: Group, count: int) -> str:
    """Return what so many heads of a family do; of a family of one role, what the role says."""
    if len(group.roles) == 1 and (group.family != "sinks" or group.valued is not None):
        return _phrase(group.roles[0].sieve, count)
    words = TAKES_FROM if group.by_norm and group.family == "sinks" else WHOLES[group.family]
    return words[count != 1].format(" or ".join(_places(group)))


def _places(group: Group) -> list[str]:
    """Return what the roles of sinks attend to, those that a head holds where any is held."""
    found = [role for role in group.roles if role.tally.role] or group.roles
    return list(dict.fromkeys(SINKS.get(role.sieve.partition(":")[0], "") for role in found))


def _does_nowhere(group: Group) -> str:
    """Return what no head of a family does; other roles are named, as they have nothing in common."""
    names = [isolate(phrase_of(role.sieve).title) for role in group.roles]
    if group.family != "other" or len(names) == 1:
        return _does(group, 1)
    if len(names) > NAMED:
        return "holds another role"
    return f"holds the role {', '.join(names[:-1])} or {names[-1]}"


def _details(group: Group, summary: Summary) -> str:
    """Return layers and strongest head of a family of one role; else its roles with their heads."""
    if len(group.roles) > 1:
        texts = _named(group, summary) if group.family in LISTED else _counts(group)
        return f": {', '.join(texts)}" if texts else ""
    role, stack = group.roles[0], summary.table.stack
    best = role.strongest
    strongest = [f"strongest {stack.name(best.layer, best.head)} ({mean(best.score.mean)})"] if best else []
    return "".join(f", {text}" for text in [*_layers(role, stack), *strongest])


def _counts(group: Group) -> list[str]:
    """Return how many heads hold the most frequent roles of a family, wholes left out."""
    wholes = parts_of([role.sieve for role in group.roles])
    own = [role for role in group.roles if role.tally.role and role.sieve not in wholes]
    own.sort(key=lambda role: -role.tally.role)
    return [f"{role.tally.role:,} {_phrase(role.sieve, role.tally.role)}" for role in own[:NAMED]]


def _named(group: Group, summary: Summary) -> list[str]:
    """Return the roles of a family with their heads, the rarest first; a whole only where no part holds."""
    drawn = without_wholes([role.sieve for role in group.roles], (group.codes == ROLE)[:, None])[:, 0]
    places = [place for place in range(len(group.roles)) if drawn[place].any()]
    places.sort(key=lambda place: int(drawn[place].sum()))
    texts = []
    for place in places[:NAMED]:
        cells = np.flatnonzero(drawn[place]).tolist()
        heads = [summary.table.stack.name(*divmod(cell, summary.table.heads)) for cell in cells]
        title = isolate(phrase_of(group.roles[place].sieve).title)
        texts.append(f"{title} {join_names(heads) if len(heads) <= NAMED else plural(len(heads), 'head')}")
    return texts


def _layers(role: Role, stack: Stack) -> list[str]:
    """Return the one or two layers that have over half of a role's heads; empty where none stand out."""
    counts, total = np.array(role.layers), role.tally.role
    if total < 4 or len(counts) < 4:
        return []
    first, second, third = np.argsort(-counts, kind="stable")[:3].tolist()
    if counts[first] > total / 2:
        return [f"{'all' if counts[first] == total else 'most'} in layer {stack.numbers[first]}"]
    if counts[second] == counts[third] or counts[first] + counts[second] <= total / 2:
        return []
    return ["most in layers {} and {}".format(*sorted((stack.numbers[first], stack.numbers[second])))]


def _open(group: Group) -> list[str]:
    """Return how many heads without a role of the family are explained, and how many undetermined."""
    explained, undetermined = group.explained, group.undetermined
    controls = dict.fromkeys(part for role in group.controlling for part in role.control.split(" or "))
    missing = [role.sieve for role in group.roles if not role.tally.role]
    heads = "other head" if group.held.any() else "head"
    texts = []
    if explained and controls.keys() == {CONTROLS[VALUES]}:
        texts.append(f"{plural(explained, heads)} {'takes' if explained == 1 else 'take'} values there.")
    elif explained:
        verdicts = explained_list(controls)
        texts.append(f"{verdicts[:1].upper()}{verdicts[1:]}: {plural(explained, heads)}.")
    if undetermined:
        texts.append(f"Undetermined: {f'{undetermined:,}' if texts else plural(undetermined, heads)}.")
    if missing and group.family in LISTED and group.held.any():
        titles = [isolate(phrase_of(sieve).title) for sieve in missing]
        found = (
            ", ".join(titles) if len(titles) <= NAMED else f"{len(titles):,} of {len(group.roles):,} roles"
        )
        texts.insert(0, f"Not found: {found}.")
    return texts


def _with(rest: str, sentences: Sequence[str]) -> str:
    """Return the end of a sentence with those that follow it."""
    return " ".join([rest, *sentences])


def _without(
    codes: Int[np.ndarray, "roles heads"], held: Bool[np.ndarray, " heads"], summary: Summary
) -> Sentence:
    """Return how many heads hold no role, and which roles could not be tested."""
    count = int((~held).sum())
    lead = (
        f"{plural(count, 'head')} {'holds' if count == 1 else 'hold'} no role"
        if count
        else "Every head holds a role"
    )
    unclear = int((~held & (codes == UNDETERMINED).any(axis=0)).sum())
    texts = []
    if unclear:
        texts.append(f"{_part(unclear, count)} may hold one (undetermined).")
    silent = [role.sieve for role in summary.roles if not role.tally.tests]
    if silent:
        names = (
            join_names([isolate(sieve) for sieve in silent])
            if len(silent) <= NAMED
            else f"{len(silent):,} roles"
        )
        texts.append(f"Could not be tested: {names}.")
    return Sentence(lead, _with(".", texts), "", "none")


def _phrase(sieve: str, count: int) -> str:
    """Return what the heads of a role do."""
    phrase = phrase_of(sieve)
    return isolate(phrase.one if count == 1 else phrase.many)


def _part(some: int, all_heads: int) -> str:
    """Return some of the heads just named, as the subject of a sentence."""
    if some == all_heads:
        return "It" if some == 1 else "All of them" if some > 2 else "Both"
    return f"{some:,} of the {all_heads:,}"
