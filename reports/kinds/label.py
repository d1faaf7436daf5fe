"""What is said about a run of roles: its answer, a sentence for every head, and what words mean."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.records import roles as role_names
from headroles.records.assessment import OUTLIER_RATE, OUTLIERS
from headroles.records.causal.ablation import FEWEST_UNITS
from headroles.records.numbers import exact, isolate, join_names, mean, plural, share
from headroles.records.roles import CONTROLS, TAKES, VALUES, family_of, phrase_of
from headroles.reports.answer import Answer, Sentence
from headroles.reports.kinds.calibration import measured_rate
from headroles.reports.summary import Role, Summary
from headroles.reports.words import ABSENT, POWER, STEADY, error_rate, promise
from headroles.stats.decision import ENOUGH_FOR_NOT, inputs_needed

ROLE, NOT, UNDETERMINED, UNTESTABLE, EXPLAINED = range(5)
NAMED = 4
"""Roles, and heads of a role, that a sentence names at most."""
MOST = 6
"""Sentences of an answer at most."""
CALIBRATED = 1.2
"""Measured rate of false labels, in parts of alpha, up to which a promise is kept: simulations err, too."""
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
BEYOND = {
    CONTROLS[role_names.CLASS]: (
        " Distance, nearness, frequency, the length of the sentence, and the classes of both words and of "
        "those beside them do not explain it. Rules over the classes of a clause, and of single words, may."
    )
}
"""What a strong role excludes and what it does not, by what its second contrast controls for."""


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """The roles of one family that could be tested, and the decisions on all heads, one row per role.

    Heads that a role with few units leaves undetermined count as untestable: more inputs decide them.
    """

    family: str
    roles: tuple[Role, ...]
    codes: Int[np.ndarray, "roles heads"]
    stability: Float[np.ndarray, "roles heads"]
    by_norm: bool = False

    def have(self, code: int) -> Bool[np.ndarray, " heads"]:
        """Return which heads have a decision for any role of the family."""
        found: np.ndarray = (self.codes == code).any(axis=0)
        return found

    @property
    def valued(self) -> int | None:
        """Return the place of a role of sinks whose values were tested (parked); None without one."""
        places = (place for place, role in enumerate(self.roles) if role.control == CONTROLS[VALUES])
        return next(places, None) if self.family == "sinks" else None

    @property
    def decision(self) -> str:
        """Return what a click on the sentence of the group filters by."""
        return "role" if len(self.roles) == 1 else "family"

    def of(self, places: Sequence[int], family: str, *, by_norm: bool = False) -> "_Group":
        """Return a group of some of its roles."""
        rows = [*places]
        roles = tuple(self.roles[place] for place in rows)
        return _Group(family, roles, self.codes[rows], self.stability[rows], by_norm)

    def does(self, count: int) -> str:
        """Return what so many heads of the family do; of a family of one role, what the role says."""
        if len(self.roles) == 1 and (self.family != "sinks" or self.valued is not None):
            return _phrase(self.roles[0].sieve, count)
        words = TAKES_FROM if self.by_norm and self.family == "sinks" else WHOLES[self.family]
        return words[count != 1].format(self.places())

    def places(self) -> str:
        """Return what the roles of sinks attend to, those that a head holds where any is held."""
        found = [role for role in self.roles if role.tally.role] or self.roles
        return " or ".join(dict.fromkeys(SINKS.get(role.sieve.partition(":")[0], "") for role in found))

    def counts(self) -> str:
        """Return how many heads hold the most frequent roles of the family, wholes left out."""
        wholes = role_names.parts_of([role.sieve for role in self.roles])
        own = [role for role in self.roles if role.tally.role and role.sieve not in wholes]
        own.sort(key=lambda role: -role.tally.role)
        return ", ".join(
            f"{role.tally.role:,} {_phrase(role.sieve, role.tally.role)}" for role in own[:NAMED]
        )

    def stable(self, heads: Bool[np.ndarray, " heads"]) -> str:
        """Return, after a comma, how many of these heads hold a stable role of the family; "" if unknown."""
        held, count = self.codes == ROLE, int(heads.sum())
        if not count or np.isnan(self.stability[held]).any():
            return ""
        steady = int((heads & (held & (self.stability >= STEADY)).any(axis=0)).sum())
        if count == 1:
            return ", stable" if steady else ", not stable"
        return ", all stable" if steady == count else f", {steady or 'none'} of them stable"


def answer_of(summary: Summary) -> Answer:
    """Return what the heads of a run do, on one screen.

    Args:
        summary: Of a run whose sieves can be roles.

    Returns:
        Title, line, at most six sentences, and the warnings of the run. All counts are those of the summary.
    """
    heads, facts = summary.layers * summary.heads, [isolate(fact) for fact in summary.account.facts]
    model = f" of {isolate(summary.account.model)}" if summary.account.model else ""
    do = f"do the {heads:,} heads{model}" if heads != 1 else f"does the head{model}"
    roles, words = plural(len(summary.roles), "role"), filter(None, [summary.stack.words])
    line = " · ".join([*facts, *words, roles, _rate(summary)])
    return Answer(f"What {do} do?", line, _sentences(summary), summary.account.warnings)


def _rate(summary: Summary) -> str:
    """Return which part of the labels of these roles may be false: as promised, or as measured."""
    decision, stated = summary.decision, error_rate(summary.decision)
    held = [role for role in summary.roles if role.tally.role]
    if decision.correction == "none" or not held:
        return stated
    tails = " ".join(text for text in summary.account.warnings if OUTLIERS in text)
    rates = {
        role.sieve: max(measured_rate(decision, role.units), OUTLIER_RATE * (f" {role.sieve} (" in tails))
        for role in held
    }
    worst = max(rates, key=rates.__getitem__)
    beyond = [name for name, rate in rates.items() if rate > CALIBRATED * decision.alpha]
    if not beyond:
        return stated
    who = isolate(phrase_of(worst).title) if len(beyond) == 1 else plural(len(beyond), "role")
    return f"{stated}; up to {share(rates[worst])} in simulations for {who}"


def _sentences(summary: Summary) -> tuple[Sentence, ...]:
    """Return a sentence for each family of roles, one on heads without a role, and one on thin roles."""
    if not summary.roles:
        return (Sentence("No sieve of this run can be a role."),)
    codes = np.stack([summary.decided(role.position) for role in summary.roles])
    thin = np.array([role.thin for role in summary.roles])[:, None]
    codes = np.where(thin & (codes == UNDETERMINED), UNTESTABLE, codes)
    unknown = np.full(codes.shape, np.nan)
    stability = summary.columns.get("stability")
    known = unknown if stability is None else stability[[role.position for role in summary.roles]]
    every, by_norm = _Group("", summary.roles, codes, known), summary.account.by_norm
    of_families = [
        [k for k, role in enumerate(every.roles) if family_of(role.sieve) == family and role.tally.tests
         and (role.tally.role or not role.thin)]
        for family in role_names.FAMILIES
    ]  # fmt: skip
    groups = [
        every.of(places, family, by_norm=by_norm)
        for family, places in zip(role_names.FAMILIES, of_families, strict=True) if places
    ]  # fmt: skip
    sentences = [
        _values_sentence(group, group.valued, summary)
        if group.valued is not None and len(group.roles) > 1
        else _sink_sentence(group, [other for other in groups if other is not group], summary)
        if group.family == "sinks" and group.valued is None and not thin.all()
        else _sentence(group, summary)
        for group in groups
    ]
    few = [*_thin_sentence(summary)]
    if groups or not few:
        without, texts = ~every.have(ROLE), []
        count, unclear = int(without.sum()), int((without & every.have(UNDETERMINED)).sum())
        if unclear:
            texts.append(f"{_for_some(unclear, count)}, the inputs leave one open.")
        silent = [isolate(phrase_of(role.sieve).title) for role in summary.roles if not role.tally.tests]
        if silent:
            listed = join_names(silent) if len(silent) <= NAMED else f"{len(silent):,} roles"
            texts.append(f"Not testable on these inputs: {listed}.")
        holds = f"{plural(count, 'head')} {_verb(count, 'holds hold')} no role{' yet' * bool(thin.all())}"
        rest = Sentence(holds if count else "Every head holds a role", " ".join([".", *texts]), "", "none")
        if len(sentences) + len(few) < MOST:
            sentences.append(rest)
        else:
            sentences[-1] = replace(sentences[-1], rest=f"{sentences[-1].rest} {rest.text}")
    return (*sentences, *few)


def _thin_sentence(summary: Summary) -> Iterator[Sentence]:
    """Yield which roles have too few units to decide every head, and how many inputs would do."""
    tested = [role for role in summary.roles if role.units]
    thin = [role for role in tested if role.thin]
    if not thin:
        return
    titles, least = [_title(role) for role in thin], min(thin, key=lambda role: role.units)
    needed = inputs_needed(least.units, summary.inputs)
    few = f"{_title(least)} can be tested on {least.units:,} of {plural(summary.inputs, 'input')}"
    about = f"About {needed:,} like these would"
    if len(thin) < len(tested):
        listed = join_names(titles) if len(titles) <= NAMED else plural(len(titles), "role")
        few = f"it can be tested on {few.partition(' can be tested on ')[2]}" if len(thin) == 1 else few
        need = f"{listed[:1].upper()}{listed[1:]} {_verb(len(thin), 'needs need')} more inputs"
        yield Sentence(need, f": {few}. {about} decide {'it' if len(thin) == 1 else 'them'}.")
    elif max(role.units for role in thin) < FEWEST_UNITS and not any(role.tally.role for role in thin):
        rest = f": a role takes {FEWEST_UNITS} of them, and to rule it out takes {ENOUGH_FOR_NOT}"
        yield Sentence("These inputs are too few for any label", f"{rest}. {about} do both ({few}).")
    else:
        rest = f": that takes {ENOUGH_FOR_NOT} inputs with the role. {about} do ({few})."
        yield Sentence("No head can be shown to lack a role yet", rest)


def _title(role: Role) -> str:
    """Return the title of a role."""
    return isolate(phrase_of(role.sieve).title)


def _sentence(group: _Group, summary: Summary) -> Sentence:
    """Return how many heads hold a role of a family, how firmly, and what stays open."""
    held, first, stack, texts = group.have(ROLE), group.roles[0], summary.stack, list[str]()
    count = int(held.sum())
    lead = f"{plural(count, 'head')} {group.does(count)}"
    if not count:
        decided = not (group.have(UNDETERMINED) | group.have(UNTESTABLE)).any()
        titles, acts = [_title(role) for role in group.roles], group.does(1 if decided else 2)
        if group.family == "other" and len(titles) > 1:  # these have nothing in common, so they are named
            listed = f"the role {', '.join(titles[:-1])} or {titles[-1]}"
            acts = f"hold{'s' * decided} {listed if len(titles) <= NAMED else 'another role'}"
        lead = f"No head {'' if decided else 'is shown to '}{acts}"
    elif len(group.roles) == 1:
        parts, best = [_layers(first, stack.numbers)], first.strongest
        parts += [f"strongest {stack.name(best.layer, best.head)} ({mean(best.score.mean)})"] if best else []
        texts = ["; ".join(filter(None, parts))]
    else:
        texts = [_named(group, summary) if group.family in LISTED else group.counts()]
    details = group.stable(held) + "".join(f": {text}" for text in texts if text)
    return Sentence(lead, " ".join([f"{details}.", *_open(group)]), first.sieve, group.decision)


def _sink_sentence(group: _Group, others: Sequence[_Group], summary: Summary) -> Sentence:
    """Return how many heads hold nothing but sinks; for how many another role is open."""
    held = group.have(ROLE)
    only = held & ~np.any([other.have(ROLE) for other in others], axis=0) if others else np.zeros_like(held)
    if not only.any():
        return _sentence(group, summary)
    unclear = np.any([other.have(UNDETERMINED) for other in others], axis=0)
    count, open_heads, all_sinks = int(only.sum()), int((only & unclear).sum()), int(held.sum())
    texts = [f"{_for_some(open_heads, count)}, the inputs leave another role open."] if open_heads else []
    counts = group.counts() if len(group.roles) > 1 else ""
    if all_sinks != count:
        more = f"With heads of further roles, {_verb(all_sinks, 'it they')} {_verb(all_sinks)} {all_sinks:,}"
        texts.append(f"{more}{f': {counts}' if counts else ''}.")
    elif counts:
        texts.append(f"{counts}.")
    lead = f"{count:,} of {plural(only.size, 'head')} only {group.does(count)}"
    return Sentence(
        lead, " ".join([f"{group.stable(only)}.", *texts, *_open(group)]), group.roles[0].sieve, "only"
    )


def _values_sentence(group: _Group, place: int, summary: Summary) -> Sentence:
    """Return how many heads attend to sinks, and how many of them take values there."""
    rows = [row for row in range(len(group.roles)) if row != place]
    attending = group.of(rows, group.family, by_norm=group.by_norm)
    held, codes, texts = attending.have(ROLE), group.codes[place], []
    count = int(held.sum())
    if not count:
        return _sentence(group.of([place], group.family, by_norm=group.by_norm), summary)
    parked, taking, unclear = (
        int((held & (codes == code)).sum()) for code in (ROLE, EXPLAINED, UNDETERMINED)
    )
    if parked:
        texts.append(
            f"{_part(parked, count)} {_verb(parked)} parked: relative to {_verb(parked, 'its their')} other "
            f"values, {'it takes' if parked == 1 else 'they take'} hardly more there than elsewhere."
        )
    if taking:
        texts.append(f"{_part(taking, count)} {_verb(taking, 'takes take')} relatively more there.")
    texts += [f"{_part(unclear, count)} {_verb(unclear)} open."] if unclear else []
    other = int((~held & (codes == ROLE)).sum())
    texts += [f"{plural(other, 'other head')} {_verb(other)} parked, too."] if other else []
    attend = f"{_verb(count, 'attends attend')} to {attending.places()}"
    lead, sieve = f"{count:,} of {plural(held.size, 'head')} {attend}", attending.roles[0].sieve
    return Sentence(lead, " ".join([f"{attending.stable(held)}.", *texts]), sieve, attending.decision)


def _verb(count: int, words: str = "is are") -> str:
    """Return the first of two words for one, the second for others."""
    return words.split()[count != 1]


def _named(group: _Group, summary: Summary) -> str:
    """Return the roles of a family with their heads, the rarest first; a whole only where no part holds."""
    held = (group.codes == ROLE)[:, None]
    drawn = role_names.without_wholes([role.sieve for role in group.roles], held)[:, 0]
    places = sorted(np.flatnonzero(drawn.any(axis=1)).tolist(), key=lambda place: int(drawn[place].sum()))
    texts = []
    for place in places[:NAMED]:
        heads = [summary.name(cell) for cell in np.flatnonzero(drawn[place]).tolist()]
        listed = join_names(heads) if len(heads) <= NAMED else plural(len(heads), "head")
        texts.append(f"{_title(group.roles[place])} {listed}")
    return ", ".join(texts)


def _layers(role: Role, numbers: Sequence[int]) -> str:
    """Return the one or two layers that have over half of a role's heads; "" where none stand out."""
    counts, total = np.array(role.layers), role.tally.role
    if total < 4 or len(counts) < 4:
        return ""
    first, second, third = np.argsort(-counts, kind="stable")[:3].tolist()
    if counts[first] > total / 2:
        return f"{'all' if counts[first] == total else 'most'} in layer {numbers[first]}"
    if counts[second] == counts[third] or counts[first] + counts[second] <= total / 2:
        return ""
    return "most in layers {} and {}".format(*sorted((numbers[first], numbers[second])))


def _open(group: _Group) -> list[str]:
    """Return what else is known: which roles no head holds, what explains scores, and what stays open."""
    held, unclear, texts = group.have(ROLE), group.have(UNDETERMINED), []
    undetermined, explained = int((~held & unclear).sum()), int(group.have(EXPLAINED).sum())
    counted = (group.codes == EXPLAINED).any(axis=1)
    controls = [role.control for role, some in zip(group.roles, counted, strict=True) if some]
    parts = dict.fromkeys(part for control in controls for part in control.split(" or "))
    missing = [
        _title(role) for role in group.roles
        if not (role.tally.role or role.tally.undetermined or role.tally.untestable)
    ]  # fmt: skip
    if missing and group.family in LISTED and len(group.roles) > 1:
        many = f"{len(missing):,} of {len(group.roles):,} roles"
        texts.append(f"Not found: {', '.join(missing) if len(missing) <= NAMED else many}.")
    if explained and [*parts] == [CONTROLS[VALUES]]:
        texts.append(f"{plural(explained, 'head')} {_verb(explained, 'takes take')} values there.")
    elif explained:
        names = " or ".join(part for part in parts if part != CONTROLS[VALUES])
        texts.append(f"For {plural(explained, 'head')}, {names} alone gives the same score.")
    if undetermined:
        texts.append(f"{undetermined:,}{' more' * bool(held.any())} {_verb(undetermined)} open.")
    return texts


def _phrase(sieve: str, count: int) -> str:
    """Return what the heads of a role do."""
    phrase = phrase_of(sieve)
    return isolate(phrase.one if count == 1 else phrase.many)


def _part(some: int, all_heads: int) -> str:
    """Return some of the heads just named, as the subject of a sentence."""
    if some == all_heads:
        return "It" if some == 1 else "All of them" if some > 2 else "Both"
    return f"{some:,} of the {all_heads:,}"


def _for_some(some: int, all_heads: int) -> str:
    """Return some of the heads just named, after "for"."""
    if some == all_heads:
        return "For it" if some == 1 else "For all of them" if some > 2 else "For both"
    return f"For {some:,} of them"


def head_sentences(summary: Summary) -> tuple[str, ...]:
    """Return what every head does and how firm its roles are, layer by layer.

    Returns:
        Sentences such as "2-8 looks from adjectives to their noun and at neighbouring tokens; 2 of its 3
        roles are stable." A role with parts is left out where the head holds one of its parts.
    """
    cells, sentences = summary.layers * summary.heads, []
    drawn = summary.drawn.reshape(len(summary.roles), cells)
    for cell in range(cells):
        own = [summary.roles[place] for place in np.flatnonzero(drawn[:, cell]).tolist()]
        own.sort(key=lambda role: role.tally.role)
        text = _without(summary, cell)
        if own:
            text = acts_text([phrase_of(role.sieve).one for role in own[:NAMED]])
            more = len(own) - NAMED
            text += f", and has {more} more role{'s' * (more > 1)}" if more > 0 else ""
            text += _stability(summary, cell, own)
        sentences.append(f"{summary.name(cell)} {text}.")
    return tuple(sentences)


def acts_text(acts: Sequence[str]) -> str:
    """Return acts as one predicate, a verb that several share named once.

    Example:
        >>> acts_text(["looks at a", "looks at b", "stays in c"])
        'looks at a and at b, and stays in c'
    """
    by_verb: dict[str, list[str]] = {}
    for act in acts:
        verb, _, rest = act.partition(" ")
        by_verb.setdefault(verb, []).append(isolate(rest))
    parts = [f"{verb} {join_names(rests)}" for verb, rests in by_verb.items()]
    if len(parts) in (1, len(acts)):
        return join_names(parts)
    return f"{', '.join(parts[:-1])}, and {parts[-1]}"


def _stability(summary: Summary, cell: int, roles: Sequence[Role]) -> str:
    """Return how many of a head's roles are stable; "" where it is not known."""
    if "stability" not in summary.columns:
        return ""
    values = np.array([summary.of("stability", role.position)[cell] for role in roles])
    steady, count = int((values >= STEADY).sum()), len(roles)
    if np.isnan(values).any():
        return ""
    if count == 1:
        return f"; the role is {'' if steady else 'not '}stable"
    if steady == count:
        return f"; {'both' if count == 2 else f'all {count}'} roles are stable"
    if not steady:
        return f"; {'neither role is' if count == 2 else f'none of its {count} roles is'} stable"
    return f"; {steady} of its {count} roles {_verb(steady)} stable"


def _without(summary: Summary, cell: int) -> str:
    """Return what is known of a head without a role: its score nearest a role, and why that is none."""
    codes = {role.position: int(summary.decided(role.position)[cell]) for role in summary.roles}
    tested = [role for role in summary.roles if codes[role.position] != UNTESTABLE]
    if not tested:
        return "could not be tested" if summary.roles else "holds no role"
    found = [float(summary.of("mean", role.position)[cell]) for role in tested]
    scores = [-math.inf if math.isnan(score) else score for score in found]
    place = max(range(len(tested)), key=lambda place: scores[place] - tested[place].threshold)
    role, score, code = tested[place], scores[place], codes[tested[place].position]
    which = "highest score" if score == max(scores) else "highest score for its threshold"
    side = "below" if score < role.threshold else "above" if score > role.threshold else "at"
    reason = f"{side} the threshold {exact(role.threshold)}"
    if code == EXPLAINED:
        reason = f"and it {TAKES}" if role.control == CONTROLS[VALUES] else role.verdict
    elif code == UNDETERMINED:
        reason += " but undetermined"
    elif side == "above" and role.control:
        reason += f" but not beyond {role.control}"
    others = sum(codes[other.position] == UNDETERMINED for other in tested if other is not role)
    more = f"; {plural(others, 'other role')} {_verb(others)} undetermined" * bool(others)
    title = isolate(phrase_of(role.sieve).title)
    return f"holds no role: its {which} is {mean(score)} for {title}, {reason}{more}"


def glossary(summary: Summary) -> tuple[tuple[str, str], ...]:
    """Return the words that the report of a run uses, each with its meaning in a sentence or two."""
    contrast = any(role.contrast and role.control != CONTROLS[VALUES] for role in summary.roles)
    parked = any(role.control == CONTROLS[VALUES] for role in summary.roles)
    stronger = sorted({role.stronger for role in summary.roles if role.tally.strong})
    few = f"Fewer than {ENOUGH_FOR_NOT} units never show that."
    terms = [
        ("score", "How far a head attends to the keys of a role beyond what even attention would give.",
         True),
        ("threshold", "Chance plus a margin. A mean below it is too small to count.", True),
        ("role", "The mean lies significantly above the threshold"
         f"{', and so does the contrast' * contrast}.", True),
        ("contrast", "The score against keys at the same distance or position. Nearness alone cannot pass "
         "it.", contrast),
        ("explained by distance or position", "The mean lies significantly above the threshold, but the "
         "contrast significantly below its margin. Nearness or position alone gives the score.", contrast),
        ("parked", "The mean lies significantly above the threshold, but significantly below it where "
         "attention is weighted by the norms of the values that it moves. Norms are relative to the other "
         "values of the head: a head whose values are all small is not parked for that.", parked),
        (TAKES, "Both means lie significantly above the threshold: relative to its other values, the head "
         "takes more there. All of its values may be small, or the same at every token.", parked),
        *((f"beyond {kind}", f"A strong role: it holds beyond {kind}, too.{BEYOND.get(kind, '')}", True)
          for kind in stronger),
        ("not", f"The mean lies significantly below the threshold. {few}", True),
        ("absent", f"The mean lies significantly within ± {ABSENT:g} of chance.",
         any(role.bounded for role in summary.roles)),
        ("undetermined", "The inputs do not decide, or a label would depend on few units. The answer calls "
         "such heads open.", True),
        ("untestable", "Fewer than two units have a score, or scores have no spread or no known bounds.",
         True),
        ("strongest head", "The head whose interval has the highest lower end: of its contrast, or of its "
         "mean for a role without a contrast.", True),
        ("interval", "A 95\u00a0% interval of the mean, not adjusted for selection. That of the strongest "
         "head is a little high.", True),
        ("stable", "A fresh sample of as many units gives the label again with a probability of at least "
         f"{share(STEADY)}. It is no probability of being true.",
         any(support.steady is not None for support in summary.supports)),
        ("detectable effect", "The smallest (mean − threshold) / standard deviation that a t test finds with "
         f"power {POWER}.", bool(summary.supports)),
        ("error rate", promise(summary.decision), True),
    ]  # fmt: skip
    return tuple((term, meaning) for term, meaning, said in terms if said)
