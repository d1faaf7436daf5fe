"""The answer of a run that asks why heads attend where they do: whether queries differ, and which neurons."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from headroles.records.causal.origins import (
    BY_QUERY,
    DIMENSIONS,
    FALLS,
    FEW,
    HOLDS,
    SUBSPACE,
    UNDETERMINED,
    UNTESTABLE,
    VERTICAL,
    KnockOut,
    Origin,
)
from headroles.records.findings import Labelling
from headroles.records.numbers import isolate, join_names, plural, two_decimals
from headroles.records.shown.phrases import phrase_of
from headroles.reports.ablate import damage_text, role_title
from headroles.reports.answer.records import Answer, Sentence
from headroles.reports.summary.account import account
from headroles.reports.why.words import (
    SEPARATORS,
    VERTICAL_COLUMN,
    RoleCounts,
    counts_by_role,
    dimensions_of,
    noun,
    origins_of,
    pairs,
    place_name,
    share_text,
    spread,
)
from headroles.reports.words.words import error_rate

NAMED = 4
"""Heads that a sentence names at most."""
MOST_ROLES = 5
"""Roles that have a sentence of their own."""
DECISIONS = {VERTICAL: "role", BY_QUERY: "not"}
"""Decision that a sentence filters by, for each verdict."""
NO_CONTRAST = "too few units count, or the contrast is not shown to be above 0"
"""Why a role of a head cannot be tested."""
WAYS = {VERTICAL: "vertically", BY_QUERY: "by query", UNDETERMINED: "in a way that stays undetermined"}
MEANINGS = {
    VERTICAL: "most of the push to these keys is the same for every query",
    BY_QUERY: "most of the push depends on what the query asks for",
}
"""Meaning of the verdicts, for sentences on roles."""


def answer_of(labelling: Labelling) -> Answer:
    """Return why heads attend where they do, on one screen.

    Args:
        labelling: Of a run that asks where roles come from.

    Returns:
        Title, line, sentences and warnings. All counts are those of the tables of the run.
    """
    facts = account(labelling)
    origins = origins_of(labelling)
    heads = len({(row.layer, row.head) for row in origins.origins})
    model = f" of {isolate(facts.model)}" if facts.model else ""
    knocked = len(origins.knocked.units) if origins.knocked is not None else 0
    units = [
        f"roles decided on {plural(len(origins.held.units), 'unit')}",
        f"origins measured on {len(origins.products.units):,} others",
        *([f"removals on {knocked:,} more"] if knocked else []),
    ]
    every = replace(labelling.decision, family="run")
    counts = counts_by_role(origins)
    return Answer(
        title=_title(heads, model),
        line=" · ".join(
            [
                *(isolate(fact) for fact in facts.facts if fact),
                *filter(None, [labelling.scores.stack.words]),
                ", ".join(units),
                error_rate(every, "", "verdicts", "verdict"),
            ]
        ),
        sentences=(
            *_nothing(counts), *_separators(labelling, counts), *_roles(counts), *_few(labelling),
            *_dimensions(labelling), *_directions(labelling), *_untestable(labelling),
        ),
        warnings=facts.warnings,
    )  # fmt: skip


def _title(heads: int, model: str) -> str:
    """Return the question of the page."""
    if heads == 1:
        return f"Why does 1 head{model} attend where it does?"
    return f"Why do {plural(heads, 'head') if heads else 'heads'}{model} attend where they do?"


def _nothing(counts: Sequence[RoleCounts]) -> list[Sentence]:
    """Return a sentence where no head holds a role; [] where one does."""
    if counts:
        return []
    return [Sentence("No head holds a role", "that could be asked about, so nothing was tested.")]


def _separator_role(counts: Sequence[RoleCounts]) -> str:
    """Return the role of heads that look at separators; "" without any."""
    known = {one.role for one in counts}
    return next((role for role in SEPARATORS if role in known), "")


def _separators(labelling: Labelling, counts: Sequence[RoleCounts]) -> list[Sentence]:
    """Return whether there are separator-matching neurons; [] where no head looks at separators."""
    own = next((one for one in counts if one.role == _separator_role(counts)), None)
    if own is None:
        return []
    what = role_title(own.role)
    name = "Separator-matching neurons" if own.role != "delimiter" else "Neurons that match special tokens"
    if not own.free:
        fixed = not origins_of(labelling).products.free.all()
        why = "rotary positions fix the dimensions, so rotations are no comparison" if fixed else NO_CONTRAST
        return [Sentence(f"{name} are not tested", f": {why}.")]
    heads = f"{plural(own.free, 'head')} that {_does(own.role, own.free)}"
    vertical = own.count(VERTICAL)
    push = (
        f" In {vertical:,} of {len(own.rows):,}, most of the push to {what} is the same for every query."
        * bool(vertical)
    )
    if own.few:
        found = _concentrated([row for row in own.rows if row.few == FEW])
        return [Sentence(f"{name} are found", f"in {own.few:,} of {heads}: {found}.{push}")]
    verb = "concentrates" if own.free == 1 else "concentrate"
    rest = f": 0 of {heads} {verb} on fewer dimensions than after random rotations.{push}"
    return [Sentence(f"No {name[0].lower()}{name[1:]} are found", rest)]


def _does(role: str, heads: int) -> str:
    """Return the phrase for the heads of a role."""
    phrase = phrase_of(role)
    return isolate(phrase.one if heads == 1 else phrase.many)


def _concentrated(rows: Sequence[Origin]) -> str:
    """Return heads with few neurons, the most concentrated first."""
    first = sorted(rows, key=lambda row: row.participation)
    names = [f"{place_name(row)} ({_participation(row)})" for row in first[:NAMED]]
    more = len(first) - NAMED
    return join_names([*names, *([f"{more:,} more"] if more > 0 else [])])


def _participation(row: Origin) -> str:
    """Return the participation of a head, and that after rotations."""
    return f"participation {row.participation:.1f}, {row.rotated:.1f} when rotated"


def _roles(counts: Sequence[RoleCounts]) -> list[Sentence]:
    """Return a sentence for each role with most heads: whether all queries give its keys the same push."""
    tested = [one for one in counts if one.count(UNTESTABLE) < len(one.rows)]
    first = sorted(tested, key=lambda one: -len(one.rows))
    explained: set[str] = set()
    sentences = [_role(one, explained) for one in first[:MOST_ROLES]]
    rest = first[MOST_ROLES:]
    if rest:
        vertical, query = (sum(one.count(word) for one in rest) for word in (VERTICAL, BY_QUERY))
        heads, verb = sum(len(one.rows) for one in rest), "is" if len(rest) == 1 else "are"
        sentences.append(
            Sentence(
                f"{plural(len(rest), 'other role')} of {plural(heads, 'head')}",
                f"{verb} vertical in {plural(vertical, 'case')}, and by query in {query:,}.",
            )
        )
    return sentences


def _role(one: RoleCounts, explained: set[str]) -> Sentence:
    """Return the sentence of one role; verdicts that are ``explained`` already go without their meaning."""
    heads = len(one.rows)
    main, other = (VERTICAL, BY_QUERY) if one.count(VERTICAL) >= one.count(BY_QUERY) else (BY_QUERY, VERTICAL)
    count = one.count(main)
    who = f"{plural(heads, 'head')} that {_does(one.role, heads)}"
    lead = f"{count:,} of {who} do so {WAYS[main]}" if count else f"Whether {who} do so vertically stays open"
    others = [f"{one.count(word):,} {word}" for word in (other, UNDETERMINED, UNTESTABLE) if one.count(word)]
    parts = [
        MEANINGS[main] if count and main not in explained else "",
        f"The mean query gives {spread(one.shares)} of the contrast",
        f"{'The others' if count else 'They are'}: {join_names(others)}" if others else "",
    ]
    colon = bool(parts[0])
    explained |= {main} if count else set()
    filters = (f"{VERTICAL_COLUMN}{one.role}", DECISIONS[main]) if count else ("", "")
    rest = ". ".join(part for part in parts if part)
    return Sentence(lead, f"{': ' if colon else '. '}{rest}.", *filters)


def _few(labelling: Labelling) -> list[Sentence]:
    """Return where few neurons carry a role; [] where rotations are no comparison."""
    origins = origins_of(labelling)
    free = [row for row in origins.origins if row.few != UNTESTABLE]
    found = [row for row in free if row.few == FEW]
    if not found:
        none = f"None of {plural(len(free), 'role')} of heads is shown to be carried by few neurons"
        return [Sentence(none, ": none beats random rotations.")] if len(free) > 1 else []
    first = sorted(found, key=lambda row: row.participation)[:NAMED]
    names = [f"{role_title(row.role)} in {place_name(row)} ({_participation(row)})" for row in first]
    more = len(found) - len(names)
    some = join_names([*names, *([f"{more:,} more"] if more > 0 else [])])
    lead = f"Few neurons carry {len(found):,} of {plural(len(free), 'role')} of heads"
    return [Sentence(lead, f": {some}.")]


def _dimensions(labelling: Labelling) -> list[Sentence]:
    """Return how many dimensions have more than twice their fair share; [] where none was tested."""
    origins = origins_of(labelling)
    tested = [row for row in origins.dimensions if not math.isnan(row.p)]
    if not tested:
        return []
    found = [row for row in tested if row.found]
    heads = len({(row.role, row.layer, row.head) for row in found})
    lead = f"{len(found):,} of {noun(origins, len(tested))} carry more than twice their fair share"
    rest = f"of a contrast, in {plural(heads, 'role')} of heads." if found else "of a contrast."
    knocked = _fallen(origins.knockouts, DIMENSIONS)
    rotated = any(row.few != UNTESTABLE for row in origins.origins)
    if found and rotated:
        rest += " Where rotations do as well, such dimensions are no special neurons."
    return [Sentence(lead, f"{rest}{knocked}")]


def _fallen(rows: Sequence[KnockOut], by: str) -> str:
    """Return in how many heads a removal takes the role away; "" where none was tested."""
    tested = [row for row in rows if row.by == by and row.role == row.scored and row.verdict != UNTESTABLE]
    if not tested:
        return ""
    falls, holds = (sum(row.verdict == word for row in tested) for word in (FALLS, HOLDS))
    before, after = (float(np.median([getattr(row, name) for row in tested])) for name in ("before", "after"))
    return (
        f" Without them the role falls in {falls:,} of {len(tested):,} and holds in {holds:,} (median score "
        f"{two_decimals(before)} before, {two_decimals(after)} after)."
    )


def _directions(labelling: Labelling) -> list[Sentence]:
    """Return how many directions roles have, and what their removal does; [] without re-deals."""
    origins = origins_of(labelling)
    ranks = [row.rank for row in origins.origins if row.rank >= 0]
    if not ranks:
        return []
    some = [rank for rank in ranks if rank > 0]
    lead = f"{len(some):,} of {plural(len(ranks), 'role')} of heads have directions beyond distance"
    if not some:
        none = f"None of {plural(len(ranks), 'role')} of heads"
        return [Sentence(none, "is shown to have a direction beyond distance.")]
    middle = spread(some, lambda value: f"{value:g}")
    others = [
        row
        for row in origins.knockouts
        if row.by == SUBSPACE and row.role != row.scored and row.verdict != UNTESTABLE
    ]
    stay = sum(row.verdict == HOLDS for row in others)
    rest = f"; the median is {middle}.{_fallen(origins.knockouts, SUBSPACE)}"
    if others:
        rest += f" Other roles of the same head hold in {stay:,} of {plural(len(others), 'case')}."
    return [Sentence(lead, rest)]


def _untestable(labelling: Labelling) -> list[Sentence]:
    """Return how many roles of heads could not be tested; [] where all could."""
    rows = origins_of(labelling).origins
    left = sum(row.verdict == UNTESTABLE for row in rows)
    if not left:
        return []
    lead = f"{left:,} of {plural(len(rows), 'role')} of heads cannot be tested"
    return [Sentence(lead, f": {NO_CONTRAST}.")]


def head_sentence(labelling: Labelling, layer: int, head: int) -> str:
    """Return why one head attends where it does.

    Args:
        labelling: Of a run that asks where roles come from.
        layer: Place of its layer among those that are read.
        head: Its head within the layer, from 0.
    """
    stack = labelling.scores.stack
    named = (stack.numbers[layer], head)
    rows = [row for row in origins_of(labelling).origins if (row.layer, row.head) == named]
    if not rows:
        return f"{stack.name(layer, head)} holds no role that was asked about."
    return " ".join(role_sentence(labelling, row) for row in rows)


def role_sentence(labelling: Labelling, row: Origin) -> str:
    """Return the results of one role of one head, in a few short sentences."""
    origins = origins_of(labelling)
    who = f"{place_name(row)} {_does(row.role, 1)}"
    if row.verdict == UNTESTABLE:
        return f"{who}; where that comes from cannot be tested."
    parts = [
        f"{who} {WAYS[row.verdict]}. The mean query gives {share_text(row)} of its contrast of "
        f"{damage_text(row.contrast, row.low, row.high)}."
    ]
    if row.few != UNTESTABLE:
        parts.append(f"Its neurons: {row.few} ({_participation(row)}).")
    found = [test.dimension for test in dimensions_of(origins, row) if test.found]
    if found:
        some = [str(place) for place in found[:NAMED]]
        more = len(found) - NAMED
        names = join_names([*some, *([f"{more} more"] if more > 0 else [])])
        parts.append(f"Found {'frequency pairs' if pairs(origins) else 'dimensions'}: {names}.")
    own = [
        test
        for test in origins.knockouts
        if (test.role, test.scored, test.layer, test.head) == (row.role, row.role, row.layer, row.head)
    ]
    for test in own:
        what = plural(test.removed, "direction") if test.by == SUBSPACE else "its found dimensions"
        parts.append(
            f"Without {what} the score {_change(test)} from {two_decimals(test.before)} to "
            f"{damage_text(test.after, test.low, test.high)}."
        )
    return " ".join(parts)


def _change(test: KnockOut) -> str:
    """Return the verb for a score after a removal."""
    return {FALLS: "falls below its threshold,", HOLDS: "holds, going"}.get(test.verdict, "goes")
