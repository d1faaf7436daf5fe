"""What a run that asks why heads attend where they do found, in words: shared pushes, neurons, removals."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from headroles.records.causal.ablation import FEWEST_UNITS
from headroles.records.causal.origins import (
    AS_ROTATED,
    BY_QUERY,
    DIMENSIONS,
    FALLS,
    FEW,
    HOLDS,
    SUBSPACE,
    UNDETERMINED,
    UNTESTABLE,
    VERTICAL,
    Origins,
    open_share,
)
from headroles.records.findings import Labelling
from headroles.records.numbers import isolate, join_names, number, plural, share, two_decimals, with_range
from headroles.records.roles import phrase_of
from headroles.records.rules.rule import Decision
from headroles.records.table import COUNT, MISSING, Cell, Column, Row, Table, counted
from headroles.reports.account import account
from headroles.reports.answer import Answer, Sentence
from headroles.reports.kinds.ablate import damage_text, role_title
from headroles.reports.words import error_rate

FAMILIES = dict.fromkeys(("sieve", "run", "layer"), "all roles of heads")
"""Tests that are corrected together, whatever the family of the decision."""
VERDICTS = (VERTICAL, BY_QUERY, UNDETERMINED, UNTESTABLE)
"""Verdicts on a role of a head, in the order of the codes of findings."""
VERTICAL_COLUMN = "vertical:"
"""First part of the names of the columns of findings that have a verdict."""
SEPARATORS = ("delimiter:sep", "surface:separator", "delimiter")
"""Roles of separators, the clearest one first."""
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


def spread(middle: float, low: float, high: float, text: Callable[[float], str] = two_decimals) -> str:
    """Return the median of numbers with the smallest and largest; one number where all look alike.

    Example:
        >>> spread(1.0, 0.9, 1.1), spread(2.0, 2.0, 2.0), spread(math.nan, math.nan, math.nan)
        ('1.00 (0.90 to 1.10)', '2.00', '–')
    """
    if math.isnan(middle):
        return "–"
    return f"{text(middle)} ({text(low)} to {text(high)})" if text(low) != text(high) else text(middle)


def _middle(values: Iterable[float]) -> tuple[float, float, float]:
    """Return median, smallest and largest of the known numbers; NaN without any."""
    known = [float(value) for value in values if not math.isnan(value)]
    return (float(np.median(known)), min(known), max(known)) if known else (math.nan,) * 3


def _spread(name: str, text: Callable[[float], str]) -> Callable[[Row], Cell]:
    """Return what writes a median with the smallest and largest number."""

    def cell(row: Row) -> Cell:
        middle, low, high = (getattr(row, f"{name}{end}") for end in ("", "_low", "_high"))
        return Cell(spread(middle, low, high, text), middle)

    return cell


def _of(part: str, whole: str) -> Callable[[Row], Cell]:
    """Return what writes a count of a whole."""

    def cell(row: Row) -> Cell:
        one, all_of_it = getattr(row, part), getattr(row, whole)
        return Cell(f"{one:,} of {all_of_it:,}", one) if all_of_it else MISSING

    return cell


ROLES = Table(
    "",
    "Heads by role and by origin of the role",
    "a role",
    (
        Column("role", "The role.", str, "role", terminal="narrow"),
        counted("heads", "Heads that hold it.", "heads", terminal="narrow"),
        counted(VERTICAL, "Heads by verdict.", VERTICAL, terminal="narrow", short="verti-\ncal"),
        counted(BY_QUERY, "Heads by verdict.", BY_QUERY, terminal="narrow", short="by\nquery"),
        counted(
            UNDETERMINED, "Heads by verdict.", UNDETERMINED, terminal="wide", short="unde-\nter-\nmined"
        ),
        counted(UNTESTABLE, "Heads by verdict.", UNTESTABLE, terminal="wide", short="untest-\nable"),
        Column(
            "share", "Median vertical share of the heads that were tested.", float, "vertical share",
            cell=_spread("share", two_decimals), terminal="narrow", short="vertical\nshare",
        ),
        Column("share_low", "Smallest share."),
        Column("share_high", "Largest share."),
        counted(
            "few", "Heads with few neurons.", "few neurons", cell=_of("few", "rotated"), terminal="narrow",
            short="few\nneurons",
        ),
        counted("rotated", "Heads that were compared with rotations."),
        Column(
            "participation", "Median participation.", float, "participation", terminal="wide",
            short="partici-\npation", within=COUNT,
        ),
        Column(
            "when_rotated", "Median participation when rotated.", float, "when rotated", terminal="wide",
            short="when\nrotated", within=COUNT,
        ),
        counted(
            "found", "Dimensions, or frequency pairs, with more than twice their fair share.", "found",
            terminal="wide",
        ),
        Column(
            "rank", "Median number of directions beyond distance.", float, "directions",
            cell=_spread("rank", number), terminal="wide", short="direc-\ntions", within=COUNT,
        ),
        Column("rank_low", "Smallest number.", within=COUNT),
        Column("rank_high", "Largest number.", within=COUNT),
        counted(
            "falls", "Heads that lose the role without these directions.", "falls without",
            cell=_of("falls", "removed"), terminal="narrow", short="falls\nwithout",
        ),
        counted("removed", "Heads whose score without them was tested."),
    ),
    name="Roles",
)  # fmt: skip
"""Heads by role."""


@dataclass(frozen=True, eq=False)
class Asked:
    """Where the roles of the heads of a run come from, with the words for it.

    Attributes:
        run: A run that asks where roles come from.
    """

    run: Labelling

    @cached_property
    def origins(self) -> Origins:
        """Return its tables, with positions of layers.

        Raises:
            ValueError: When the run is of another kind.
        """
        if self.run.origins is None:
            raise ValueError("the run did not ask where roles come from")
        tables = {name: getattr(self.run.origins, name) for name in ("origins", "dimensions", "knockouts")}
        stack = self.run.scores.stack
        return replace(self.run.origins, **{name: rows.numbered(stack) for name, rows in tables.items()})

    @property
    def fixed(self) -> bool:
        """Return whether rotary positions fix the dimensions, so that rotations are no comparison."""
        return not self.origins.products.free.all()

    @property
    def one(self) -> str:
        """Return what is tested: a dimension, or a frequency pair where dimensions turn in pairs."""
        group = self.origins.products.group
        return "frequency pair" if len(np.unique(group)) < len(group) else "dimension"

    @cached_property
    def roles(self) -> Table:
        """Return the counts of every role that a tested head holds, in the order of the roles."""
        known = {*self.origins.origins["role"].tolist()}
        return ROLES.rows(self._role(role) for role in self.origins.held.roles if role in known)

    def _role(self, role: str) -> dict[str, Any]:
        """Return the counts of one role."""
        rows, tested = self.origins.origins.where(role=role), self.origins.knockouts
        removed = tested.where(role=role, scored=role, by=SUBSPACE)
        ranks = [row.rank for row in rows if row.rank >= 0]
        spans = {
            "share": _middle(row.share for row in rows if row.verdict != UNTESTABLE), "rank": _middle(ranks)
        }  # fmt: skip
        return {
            "role": role,
            "heads": len(rows),
            **{word: len(rows.where(verdict=word)) for word in VERDICTS},
            **{f"{name}{end}": value for name, ends in spans.items()
               for end, value in zip(("", "_low", "_high"), ends, strict=True)},
            "few": len(rows.where(few=FEW)),
            "rotated": sum(row.few != UNTESTABLE for row in rows),
            "participation": _middle(rows["participation"])[0],
            "when_rotated": _middle(rows["rotated"])[0],
            "found": int(rows["found"].sum()),
            "falls": len(removed.where(verdict=FALLS)),
            "removed": sum(row.verdict != UNTESTABLE for row in removed),
        }  # fmt: skip

    def dimensions(self, row: Row) -> Table:
        """Return the tests of the dimensions of one role of one head."""
        return self.origins.dimensions.where(role=row.role, layer=row.layer, head=row.head)


def place_name(row: Row) -> str:
    """Return the name of a head, such as "2-9"."""
    return f"{row.layer}-{row.head}"


def share_text(row: Row) -> str:
    r"""Return the vertical share with its interval; alone where it has none.

    Example:
        >>> with_ends(1.05, 1.031, 1.083)
        '1.05 [1.03,\xa01.08]'
    """
    return with_ends(row.share, row.share_low, row.share_high)


def with_ends(value: float, low: float, high: float) -> str:
    r"""Return a share with two decimals and its interval; an open end is named as infinite.

    Example:
        >>> with_ends(0.5, float("-inf"), 1.25), with_ends(0.5, float("nan"), float("nan"))
        ('0.50 [−∞,\xa01.25]', '0.50')
    """
    return with_range(*map(open_share, (value, low, high)))


def answer_of(asked: Asked) -> Answer:
    """Return title, line, sentences and warnings; all counts are those of the tables of the run."""
    run, origins, facts = asked.run, asked.origins, account(asked.run)
    heads = len({(row.layer, row.head) for row in origins.origins})
    named = plural(heads, "head") if heads else "heads"
    model = f" of {isolate(facts.model)}" if facts.model else ""
    knocked = len(origins.knocked.units) if origins.knocked is not None else 0
    units = [
        f"roles decided on {plural(len(origins.held.units), 'unit')}",
        f"origins measured on {len(origins.products.units):,} others",
        *([f"removals on {knocked:,} more"] if knocked else []),
    ]
    return Answer(
        title=f"Why {'does' if heads == 1 else 'do'} {named}{model} attend where "
        f"{'it does' if heads == 1 else 'they do'}?",
        line=" · ".join(
            [
                *(isolate(fact) for fact in facts.facts if fact),
                *filter(None, [run.scores.stack.words]),
                ", ".join(units),
                error_rate(replace(run.decision, family="run"), "", "verdicts", "verdict"),
            ]
        ),
        sentences=(
            *_separators(asked), *_roles(asked.roles), *_few(origins.origins), *_dimensions(asked),
            *_directions(origins), *_untestable(origins.origins),
        ) if asked.roles else (Sentence(
            "No head holds a role", "that could be asked about, so nothing was tested."
        ),),
        warnings=facts.warnings,
    )  # fmt: skip


def _separators(asked: Asked) -> list[Sentence]:
    """Return whether there are separator-matching neurons; [] where no head looks at separators."""
    known = {one.role: one for one in asked.roles}
    own = next((known[role] for role in SEPARATORS if role in known), None)
    if own is None:
        return []
    name = "Separator-matching neurons" if own.role != "delimiter" else "Neurons that match special tokens"
    if not own.rotated:
        fixed = "rotary positions fix the dimensions, so rotations are no comparison"
        return [Sentence(f"{name} are not tested", f": {fixed if asked.fixed else NO_CONTRAST}.")]
    heads = f"{plural(own.rotated, 'head')} that {_does(own.role, own.rotated)}"
    push = (
        f" In {own.vertical:,} of {own.heads:,}, most of the push to {role_title(own.role)} is the same for "
        "every query."
    ) * bool(own.vertical)
    if own.few:
        first = sorted(asked.origins.origins.where(role=own.role, few=FEW), key=lambda row: row.participation)
        found = _first([f"{place_name(row)} ({_participation(row)})" for row in first])
        return [Sentence(f"{name} are found", f"in {own.few:,} of {heads}: {found}.{push}")]
    verb = "concentrates" if own.rotated == 1 else "concentrate"
    rest = f": 0 of {heads} {verb} on fewer dimensions than after random rotations.{push}"
    return [Sentence(f"No {name[0].lower()}{name[1:]} are found", rest)]


def _does(role: str, heads: int) -> str:
    """Return the phrase for the heads of a role."""
    phrase = phrase_of(role)
    return isolate(phrase.one if heads == 1 else phrase.many)


def _first(names: Sequence[str], more: str = "{:,} more") -> str:
    """Return the first names, and how many there are besides."""
    rest = len(names) - NAMED
    return join_names([*names[:NAMED], *([more.format(rest)] if rest > 0 else [])])


def _participation(row: Row) -> str:
    """Return the participation of a head, and that after rotations."""
    return f"participation {row.participation:.1f}, {row.rotated:.1f} when rotated"


def _roles(roles: Table) -> list[Sentence]:
    """Return a sentence for each role with most heads: whether all queries give its keys the same push."""
    first = sorted((one for one in roles if one.untestable < one.heads), key=lambda one: -one.heads)
    explained: set[str] = set()
    sentences = [_role(one, explained) for one in first[:MOST_ROLES]]
    if rest := first[MOST_ROLES:]:
        vertical, query = (sum(vars(one)[word] for one in rest) for word in (VERTICAL, BY_QUERY))
        verb = "is" if len(rest) == 1 else "are"
        lead = f"{plural(len(rest), 'other role')} of {plural(sum(one.heads for one in rest), 'head')}"
        said = f"{verb} vertical in {plural(vertical, 'case')}, and by query in {query:,}."
        sentences.append(Sentence(lead, said))
    return sentences


def _role(one: Row, explained: set[str]) -> Sentence:
    """Return the sentence of one role; verdicts that are ``explained`` already go without their meaning."""
    counts = vars(one)
    main, other = (VERTICAL, BY_QUERY) if counts[VERTICAL] >= counts[BY_QUERY] else (BY_QUERY, VERTICAL)
    count = counts[main]
    who = f"{plural(one.heads, 'head')} that {_does(one.role, one.heads)}"
    lead = f"{count:,} of {who} do so {WAYS[main]}" if count else f"Whether {who} do so vertically stays open"
    others = [f"{counts[word]:,} {word}" for word in (other, UNDETERMINED, UNTESTABLE) if counts[word]]
    meaning = MEANINGS[main] if count and main not in explained else ""
    parts = [
        meaning,
        f"The mean query gives {spread(one.share, one.share_low, one.share_high)} of the contrast",
        f"{'The others' if count else 'They are'}: {join_names(others)}" if others else "",
    ]
    explained |= {main} if count else set()
    filters = (f"{VERTICAL_COLUMN}{one.role}", DECISIONS[main]) if count else ("", "")
    return Sentence(lead, f"{': ' if meaning else '. '}{'. '.join(filter(None, parts))}.", *filters)


def _few(rows: Table) -> list[Sentence]:
    """Return where few neurons carry a role; [] where rotations are no comparison."""
    free = [row for row in rows if row.few != UNTESTABLE]
    found = sorted((row for row in free if row.few == FEW), key=lambda row: row.participation)
    if not found:
        none = f"None of {plural(len(free), 'role')} of heads is shown to be carried by few neurons"
        return [Sentence(none, ": none beats random rotations.")] if len(free) > 1 else []
    some = _first([f"{role_title(row.role)} in {place_name(row)} ({_participation(row)})" for row in found])
    lead = f"Few neurons carry {len(found):,} of {plural(len(free), 'role')} of heads"
    return [Sentence(lead, f": {some}.")]


def _dimensions(asked: Asked) -> list[Sentence]:
    """Return how many dimensions have more than twice their fair share; [] where none was tested."""
    origins = asked.origins
    tested = [row for row in origins.dimensions if not math.isnan(row.p)]
    if not tested:
        return []
    found = [row for row in tested if row.found]
    heads = len({(row.role, row.layer, row.head) for row in found})
    lead = f"{len(found):,} of {plural(len(tested), asked.one)} carry more than twice their fair share"
    rest = f"of a contrast, in {plural(heads, 'role')} of heads." if found else "of a contrast."
    if found and (origins.origins["few"] != UNTESTABLE).any():
        rest += " Where rotations do as well, such dimensions are no special neurons."
    return [Sentence(lead, f"{rest}{_fallen(origins.knockouts, DIMENSIONS)}")]


def _fallen(rows: Table, by: str) -> str:
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


def _directions(origins: Origins) -> list[Sentence]:
    """Return how many directions roles have, and what their removal does; [] without re-deals."""
    ranks = [row.rank for row in origins.origins if row.rank >= 0]
    if not ranks:
        return []
    some = [rank for rank in ranks if rank > 0]
    if not some:
        none = f"None of {plural(len(ranks), 'role')} of heads"
        return [Sentence(none, "is shown to have a direction beyond distance.")]
    others = [
        row
        for row in origins.knockouts
        if row.by == SUBSPACE and row.role != row.scored and row.verdict != UNTESTABLE
    ]
    middle = spread(*_middle(some), "{:g}".format)
    rest = f"; the median is {middle}.{_fallen(origins.knockouts, SUBSPACE)}"
    if others:
        stay = sum(row.verdict == HOLDS for row in others)
        rest += f" Other roles of the same head hold in {stay:,} of {plural(len(others), 'case')}."
    lead = f"{len(some):,} of {plural(len(ranks), 'role')} of heads have directions beyond distance"
    return [Sentence(lead, rest)]


def _untestable(rows: Table) -> list[Sentence]:
    """Return how many roles of heads could not be tested; [] where all could."""
    left = len(rows.where(verdict=UNTESTABLE))
    lead = f"{left:,} of {plural(len(rows), 'role')} of heads cannot be tested"
    return [Sentence(lead, f": {NO_CONTRAST}.")] if left else []


def head_sentence(asked: Asked, layer: int, head: int) -> str:
    """Return why one head attends where it does.

    Args:
        asked: What the run found.
        layer: Place of its layer among those that are read.
        head: Its head within the layer, from 0.
    """
    stack = asked.run.scores.stack
    rows = asked.origins.origins.where(layer=stack.numbers[layer], head=head)
    if not rows:
        return f"{stack.name(layer, head)} holds no role that was asked about."
    return " ".join(role_sentence(asked, row) for row in rows)


def role_sentence(asked: Asked, row: Row) -> str:
    """Return the results of one role of one head, in a few short sentences."""
    who = f"{place_name(row)} {_does(row.role, 1)}"
    if row.verdict == UNTESTABLE:
        return f"{who}; where that comes from cannot be tested."
    parts = [
        f"{who} {WAYS[row.verdict]}. The mean query gives {share_text(row)} of its contrast of "
        f"{damage_text(row.contrast, row.low, row.high)}."
    ]
    if row.few != UNTESTABLE:
        parts.append(f"Its neurons: {row.few} ({_participation(row)}).")
    if found := [str(test.dimension) for test in asked.dimensions(row) if test.found]:
        parts.append(f"Found {asked.one}s: {_first(found, '{} more')}.")
    for test in asked.origins.knockouts.where(role=row.role, scored=row.role, layer=row.layer, head=row.head):
        what = plural(test.removed, "direction") if test.by == SUBSPACE else "its found dimensions"
        verbs = {FALLS: "falls below its threshold,", HOLDS: "holds, going"}
        parts.append(
            f"Without {what} the score {verbs.get(test.verdict, 'goes')} from {two_decimals(test.before)} to "
            f"{damage_text(test.after, test.low, test.high)}."
        )
    return " ".join(parts)


def promise(decision: Decision) -> str:
    """Return which error rate the correction controls."""
    level = share(decision.alpha)
    if decision.correction == "none":
        return f"Nothing was corrected: of heads at the border of a verdict, {level} get it by chance."
    if decision.correction.startswith("fdr"):
        return (
            f"Of the roles of heads called vertical, at most {level} are expected not to be. The same holds "
            f"for “by query”, “few neurons”, “falls” and “holds”, each by itself."
        )
    return (
        f"The chance of even one role of a head that is falsely called vertical is at most {level}. The same "
        f"holds for “by query”, “few neurons”, “falls” and “holds”, each by itself."
    )


def glossary(asked: Asked) -> list[tuple[str, str]]:
    """Return the words of the page, each with its meaning."""
    return [
        (
            "contrast",
            "Mean logit of the cells of a role, minus that of the other keys that the query sees. It is the "
            "sum of the parts of all dimensions of queries and keys.",
        ),
        (
            "vertical share",
            "The share of the contrast that the head’s mean query gives alone. It is 1 where every query "
            "gives the same push. It is 0 where the push averages out. It can lie outside 0 and 1. The mean "
            "query is estimated on other units; intervals and p values have its error.",
        ),
        (VERTICAL, "The vertical part is significantly larger than the rest of the contrast."),
        (BY_QUERY, "The vertical part is significantly smaller than the rest: queries differ in their push."),
        (
            f"found {asked.one}",
            f"A {asked.one} that has significantly more than twice its fair share of the contrast. The fair "
            f"share is the contrast divided by the number of {asked.one}s.",
        ),
        (
            "participation",
            "The number of dimensions that share the contrast: 1 for a single dimension, and all where every "
            "dimension has the same part.",
        ),
        (
            FEW,
            "The participation is smaller than after random rotations of the head’s space. Rotations change "
            "no attention, so they show what a basis without meaning gives. Dimensions of unequal scale give "
            "it to any role: a factor of 1.65 in a quarter of random heads, at 5\u00a0% each.",
        ),
        (AS_ROTATED, "The participation is not shown to be smaller than after random rotations."),
        (
            "directions",
            "Directions of queries and keys that carry the role beyond distance. They are stronger in its "
            "cells than in cells moved by chance to other queries at the same offsets.",
        ),
        (FALLS, "Without these directions the score of the role lies significantly below its threshold."),
        (HOLDS, "Without these directions the score still lies significantly above its threshold."),
        (UNDETERMINED, "The inputs do not decide."),
        (
            UNTESTABLE,
            f"The contrast is not shown to be above 0, fewer than {FEWEST_UNITS} units count, or rotary "
            "positions fix the dimensions.",
        ),
        (
            "interval",
            "A 95\u00a0% interval of one number, not adjusted for selection. That of a share is Fieller’s.",
        ),
        ("error rate", promise(asked.run.decision)),
    ]


def sure_sentences(asked: Asked) -> list[str]:
    """Return the conditions under which the verdicts of the page hold, one sentence each."""
    origins = asked.origins
    sentences = [
        f"Units are split into groups that never overlap: {plural(len(origins.held.units), 'unit')} decided "
        f"the roles, {len(origins.products.units):,} measured where they come from"
        + (f", and {len(origins.knocked.units):,} the removals." if origins.knocked is not None else "."),
        f"Fewer than {FEWEST_UNITS} units decide nothing.",
        "A vertical part says what the mean query does. It does not say where in the model the key got it.",
    ]
    if origins.products.redealt.shape[1]:
        sentences.append(
            "The number of directions is no test where many queries share a key, as with special tokens: any "
            "shared key has such a direction. What their removal does is tested."
        )
    if not asked.fixed:
        sentences.append(
            "Dimensions of a head have no meaning of their own: any rotation gives the same attention. So a "
            "found dimension is a neuron of the role only where rotations spread the contrast more. Even "
            "then, dimensions of unequal scale are enough: they concentrate all roles of a head alike."
        )
    else:
        sentences.append(
            "Rotary positions turn dimensions in pairs, so a pair is what can carry a role. Random rotations "
            "of the space would change the attention."
        )
    if origins.knockouts:
        sentences.append(
            "A removal changes one head, and its own score. It says nothing about the output of the model."
        )
    return sentences
