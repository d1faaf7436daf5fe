"""What a run that asks why heads attend where they do found, in words: shared pushes, neurons, removals."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from headroles.records.causal import origins as records
from headroles.records.causal.ablation import FEWEST_UNITS, is_quiet
from headroles.records.causal.origins import BY_QUERY, UNDETERMINED, UNTESTABLE, VERTICAL, open_share
from headroles.records.numbers import join_names, number, plural, share, two_decimals, with_range
from headroles.records.rules.rule import Decision
from headroles.records.table import COUNT, MISSING, Cell, Column, Row, Table, counted
from headroles.reports.answer import Answer, Sentence
from headroles.reports.kinds import claims
from headroles.reports.kinds.claims import count_of, damage_text, does, place_name, role_title, with_test
from headroles.reports.words import error_rate
from headroles.stats.decision import inputs_needed

FAMILIES = dict.fromkeys(("sieve", "run", "layer"), "all roles of heads")
"""Tests that are corrected together, whatever the family of the decision."""
VERDICTS = (VERTICAL, BY_QUERY, UNDETERMINED, UNTESTABLE)
"""Verdicts on a role of a head, in the order of the codes of findings."""
VERTICAL_COLUMN = "vertical:"
"""First part of the names of the columns of findings that have a verdict."""
SEPARATORS = ("delimiter:sep", "surface:separator", "delimiter")
"""Roles of separators, the clearest one first."""
MOST_ROLES = 2
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
ENDS = ("", "_low", "_high")
"""Endings of the columns of a median, of the smallest and of the largest number."""


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


def _spread(row: Row, name: str, text: Callable[[float], str]) -> Cell:
    """Write a median with the smallest and largest number."""
    middle, low, high = (getattr(row, f"{name}{end}") for end in ENDS)
    return Cell(spread(middle, low, high, text), middle)


def _of(row: Row, part: str, whole: str) -> Cell:
    """Write a count of a whole."""
    one, all_of_it = getattr(row, part), getattr(row, whole)
    return Cell(f"{one:,} of {all_of_it:,}", one) if all_of_it else MISSING


ROLES = Table("", "Heads by role and by origin of the role", "a role", (
    Column("role", "The role.", str, "role", terminal="narrow"),
    counted("heads", "Heads that hold it.", "heads", terminal="narrow"),
    *(counted(word, "Heads by verdict.", word, terminal=width, short=short) for word, width, short in zip(
        VERDICTS, ("narrow", "narrow", "wide", "wide"),
        ("verti-\ncal", "by\nquery", "unde-\nter-\nmined", "untest-\nable"), strict=True,
    )),
    Column("share", "Median vertical share of the heads that were tested.", float, "vertical share",
           cell=partial(_spread, name="share", text=two_decimals), terminal="narrow",
           short="vertical\nshare"),
    Column("share_low", "Smallest share."), Column("share_high", "Largest share."),
    counted("few", "Heads with few neurons.", "few neurons", cell=partial(_of, part="few", whole="rotated"),
            terminal="narrow", short="few\nneurons"),
    counted("rotated", "Heads that were compared with rotations."),
    Column("participation", "Median participation.", float, "participation", terminal="wide",
           short="partici-\npation", within=COUNT),
    Column("when_rotated", "Median participation when rotated.", float, "when rotated", terminal="wide",
           short="when\nrotated", within=COUNT),
    counted("found", "Dimensions, or frequency pairs, with more than twice their fair share.", "found",
            terminal="wide"),
    Column("rank", "Median number of directions beyond distance.", float, "directions",
           cell=partial(_spread, name="rank", text=number), terminal="wide", short="direc-\ntions",
           within=COUNT),
    Column("rank_low", "Smallest number.", within=COUNT),
    Column("rank_high", "Largest number.", within=COUNT),
    counted("falls", "Heads that lose the role without these directions.", "falls without",
            cell=partial(_of, part="falls", whole="removed"), terminal="narrow", short="falls\nwithout"),
    counted("removed", "Heads whose score without them was tested."),
), name="Roles")  # fmt: skip
"""Heads by role."""


class Asked(claims.OfRun):
    """Where the roles of the heads of a run come from, with the words for it."""

    @cached_property
    def origins(self) -> records.Origins:
        """Return its tables, with positions of layers."""
        part = self.run.origins
        assert part is not None
        tables = (part.origins, part.dimensions, part.knockouts)
        origins, dimensions, knockouts = (table.numbered(self.run.scores.stack) for table in tables)
        return replace(part, origins=origins, dimensions=dimensions, knockouts=knockouts)

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
        counts = list[dict[str, Any]]()
        for role in self.origins.held.roles:
            if not (rows := self.origins.origins.where(role=role)):
                continue
            removed = self.origins.knockouts.where(role=role, scored=role, by=records.SUBSPACE)
            shares, ranks = with_test(rows, "verdict")["share"], rows["rank"][rows["rank"] >= 0]
            counts.append({
                "role": role, "heads": len(rows),
                **{word: count_of(rows, word, "verdict") for word in VERDICTS},
                **{f"{name}{end}": value for name, values in (("share", shares), ("rank", ranks))
                   for end, value in zip(ENDS, _middle(values), strict=True)},
                "few": count_of(rows, records.FEW, "few"), "rotated": len(with_test(rows, "few")),
                "participation": _middle(rows["participation"])[0],
                "when_rotated": _middle(rows["rotated"])[0], "found": rows["found"].sum(),
                "falls": count_of(removed, records.FALLS, "verdict"),
                "removed": len(with_test(removed, "verdict")),
            })  # fmt: skip
        return ROLES.rows(counts)

    def dimensions(self, row: Row) -> Table:
        """Return the tests of the dimensions of one role of one head."""
        return self.origins.dimensions.where(role=row.role, layer=row.layer, head=row.head)

    def removals(self, row: Row) -> Table:
        """Return the scores without parts of one role of one head."""
        return self.origins.knockouts.where(role=row.role, layer=row.layer, head=row.head)

    def cell(self, row: Row) -> int:
        """Return the number of a head, counted layer by layer."""
        return self.run.scores.stack.place(row.layer) * self.run.scores.heads + int(row.head)


def share_text(row: Row) -> str:
    r"""Return the vertical share with two decimals and its interval; an open end is named as infinite.

    Example:
        >>> share_text(Row(share=0.5, share_low=float("-inf"), share_high=1.25))
        '0.50 [−∞,\xa01.25]'
        >>> share_text(Row(share=0.5, share_low=float("nan"), share_high=float("nan")))
        '0.50'
    """
    return with_range(*map(open_share, (row.share, row.share_low, row.share_high)))


def answer_of(asked: Asked) -> Answer:
    """Return title, line, sentences and warnings; all counts are those of the tables of the run."""
    run, origins = asked.run, asked.origins
    heads = len({(row.layer, row.head) for row in origins.origins})
    does_it, it_does = ("does", "it does") if heads == 1 else ("do", "they do")
    units = f"roles decided on {plural(len(origins.held.units), 'unit')}, origins measured on "
    units += f"{len(origins.products.units):,} others"
    if origins.knocked is not None and len(origins.knocked.units):
        units += f", removals on {len(origins.knocked.units):,} more"
    rate = error_rate(replace(run.decision, family="run"), "", "verdicts", "verdict")
    named = plural(heads, "head") if heads else "heads"
    sentences: Iterable[Sentence] = [*_verdicts(asked)]
    if with_test(origins.origins, "verdict"):
        sentences = [*sentences, *_roles(asked.roles), *_neurons(asked), *_directions(origins)]
    title = f"Why {does_it} {named}{claims.of_model(run)} attend where {it_does}?"
    return claims.answer_about(run, title, [run.scores.stack.words, units, rate], sentences)


def _verdicts(asked: Asked) -> Iterator[Sentence]:
    """Yield how many roles of heads are vertical and by query, how many stay open, and what would decide."""
    rows = asked.origins.origins
    if not rows:
        yield Sentence("No head holds a role", "that could be asked about, so nothing was tested.")
        return
    vertical, query, still, left = (count_of(rows, word, "verdict") for word in VERDICTS)
    bare = rows.take((rows["verdict"] == UNTESTABLE) & (rows["count"] < FEWEST_UNITS))
    needs = f"A role is tested from {FEWEST_UNITS} units on{_units_needed(asked)}"
    if left == len(rows):
        reason = f". {needs}." if bare else f": {NO_CONTRAST}."
        yield Sentence("Nothing could be tested", reason)
        return
    said = [f"{query:,} {'is' if query == 1 else 'are'} by query: {MEANINGS[BY_QUERY]}"] * bool(query)
    said += [f"{still:,} {'stays' if still == 1 else 'stay'} open"] * bool(still)
    said += [f"{left:,} could not be tested: {NO_CONTRAST}"] * bool(left)
    said += [needs] * bool(bare)
    lead = claims.some_of(vertical, f"{plural(len(rows), 'role')} of heads", "is", "are", "is shown to be")
    meaning = f": {MEANINGS[VERTICAL]}" if vertical else ""
    yield Sentence(f"{lead} vertical", f"{'. '.join([meaning, *said])}.")


def _units_needed(asked: Asked) -> str:
    """Return how many units measure origins, and how many that takes in all where they are parts of those."""
    measured, units = len(asked.origins.products.units), len({*asked.run.scores.units})
    whole = inputs_needed(measured, units, FEWEST_UNITS)
    return f"; here {measured:,} of {plural(units, 'unit')} measure it" + f", so give about {whole:,}" * (
        0 < measured < FEWEST_UNITS
    )


def _roles(roles: Table) -> Iterator[Sentence]:
    """Yield a sentence for the roles with most heads, no two of one name: how their keys get their push."""
    first = sorted((one for one in roles if one.untestable < one.heads), key=lambda one: one.heads)
    by_name = {one.role.partition(":")[0]: one for one in first}
    for one in sorted(by_name.values(), key=lambda one: -one.heads)[:MOST_ROLES]:
        counts = vars(one)
        main, other = sorted((VERTICAL, BY_QUERY), key=lambda word: -counts[word])
        count, who = counts[main], f"{plural(one.heads, 'head')} that {does(one.role, one.heads)}"
        words = (other, other), (UNDETERMINED, "open"), (UNTESTABLE, UNTESTABLE)
        others = [f"{counts[word]:,} {text}" for word, text in words if counts[word]]
        gives = f". The mean query gives {spread(one.share, one.share_low, one.share_high)} of the contrast"
        rest = f"{gives}{f'. The others: {join_names(others)}' if others and count else ''}."
        lead = f"{count:,} of {who} {'does' if count == 1 else 'do'} so {WAYS[main]}"
        if not count:
            lead = f"Whether {who} {'does' if one.heads == 1 else 'do'} so vertically stays open"
        yield Sentence(lead, rest, *((f"{VERTICAL_COLUMN}{one.role}", DECISIONS[main]) if count else ()))


def _neurons(asked: Asked) -> Iterator[Sentence]:
    """Yield how many roles few neurons carry, separators among them, where rotations are a comparison."""
    origins, rows = asked.origins, asked.origins.dimensions
    found, free = _few_first(origins.origins), len(with_test(origins.origins, "few"))
    said, lead, rest = list[str](), "", ""
    if free:
        of_all = f"{plural(free, 'role')} of heads"
        lead = f"Few neurons carry {len(found):,} of {of_all}"
        rest = ": " + claims.first_names(
            f"{role_title(row.role)} in {place_name(row)} ({_participation(row)})" for row in found
        )
        if not found:
            lead, rest = (
                f"None of {of_all} is shown to be carried by few neurons",
                ": none beats random rotations",
            )
        said += _separators(asked) if found else []
    elif asked.fixed:
        lead, rest = (
            "Neurons are not tested",
            ": rotary positions fix the dimensions, so rotations change attention",
        )
    if tested := int((~np.isnan(rows["p"])).sum()):
        large = rows.take(~np.isnan(rows["p"]) & rows["found"])
        heads = len({(row.role, row.layer, row.head) for row in large})
        where = f", in {plural(heads, 'role')} of heads" if large else ""
        text = f"{len(large):,} of {plural(tested, asked.one)} carry more than twice their fair share{where}"
        said.append(text + _fallen(origins.knockouts.where(by=records.DIMENSIONS)))
    if lead or said:
        lead, said = (lead, said) if lead else (said[0], said[1:])
        yield Sentence(lead, f"{'. '.join([rest, *said])}.")


def _separators(asked: Asked) -> Iterator[str]:
    """Yield whether there are separator-matching neurons, where a head looks at separators."""
    known = {one.role: one for one in asked.roles if one.rotated}
    own = next((known[role] for role in SEPARATORS if role in known), None)
    if own and own.few:
        yield f"They match {role_title(own.role)} in {own.few:,} of {plural(own.rotated, 'head')}"


def _few_first(rows: Table) -> list[Row]:
    """Return the rows with few neurons, the fewest first."""
    return sorted(rows.where(few=records.FEW), key=lambda row: row.participation)


def _participation(row: Row) -> str:
    """Return the participation of a head, and that after rotations."""
    return f"participation {row.participation:.1f}, {row.rotated:.1f} when rotated"


def _fallen(rows: Table) -> str:
    """Return in how many heads a removal takes the role away; "" where none was tested."""
    tested = with_test(rows.take(rows["role"] == rows["scored"]), "verdict")
    if not tested:
        return ""
    falls, holds = (count_of(tested, word, "verdict") for word in (records.FALLS, records.HOLDS))
    before, after = (two_decimals(float(np.median(tested[name]))) for name in ("before", "after"))
    return (
        f". Without them the role falls in {falls:,} of {len(tested):,} and holds in {holds:,} (median score "
        f"{before} before, {after} after)"
    )


def _directions(origins: records.Origins) -> Iterator[Sentence]:
    """Yield how many directions roles have, and what their removal does, where cells were re-dealt.

    Roles that park attention are left out: many queries share their keys, and the count is no test there. So
    are roles that could not be tested.
    """
    asked = with_test(origins.origins.take(origins.origins["rank"] >= 0), "verdict")
    chosen = np.array([not is_quiet(row.role) for row in asked], dtype=np.bool_)
    rows = asked.take(chosen)
    shared = len(asked) - len(rows)
    left = f". Left out: {plural(shared, 'role')} of heads at keys that many queries share"
    left *= shared > 0
    of_all, some = f"of {plural(len(rows), 'role')} of heads", [row.rank for row in rows if row.rank > 0]
    if rows and not some:
        yield Sentence(f"None {of_all}", f"is shown to have a direction beyond distance{left}.")
    if some:
        known = {(row.role, row.layer, row.head) for row in rows}
        removed = origins.knockouts.where(by=records.SUBSPACE)
        own = removed.take([(row.role, row.layer, row.head) in known for row in removed])
        rest = f"; the median is {spread(*_middle(some), '{:g}'.format)}{_fallen(own)}"
        if others := with_test(own.take(own["role"] != own["scored"]), "verdict"):
            stay = count_of(others, records.HOLDS, "verdict")
            rest += f". Other roles of the same head hold in {stay:,} of {plural(len(others), 'case')}"
        have = "has" if len(some) == 1 else "have"
        yield Sentence(f"{len(some):,} {of_all} {have} directions beyond distance", f"{rest}{left}.")


def head_sentence(asked: Asked, layer: int, head: int) -> str:
    """Return why one head attends where it does; its layer by its place among those that are read."""
    stack = asked.run.scores.stack
    rows = asked.origins.origins.where(layer=stack.numbers[layer], head=head)
    none = f"{stack.name(layer, head)} holds no role that was asked about."
    return " ".join(role_sentence(asked, row) for row in rows) or none


def role_sentence(asked: Asked, row: Row) -> str:
    """Return the results of one role of one head, in a few short sentences."""
    who = f"{place_name(row)} {does(row.role, 1)}"
    if row.verdict == UNTESTABLE:
        return f"{who}; where that comes from cannot be tested."
    contrast = damage_text(row.contrast, row.low, row.high)
    said = [
        f"{who} {WAYS[row.verdict]}. The mean query gives {share_text(row)} of its contrast of {contrast}."
    ]
    if row.few != UNTESTABLE:
        said.append(f"Its neurons: {row.few} ({_participation(row)}).")
    if found := [str(test.dimension) for test in asked.dimensions(row) if test.found]:
        said.append(f"Found {asked.one}s: {claims.first_names(found, '{} more'.format)}.")
    verbs = {records.FALLS: "falls below its threshold,", records.HOLDS: "holds, going"}
    for test in asked.removals(row).where(scored=row.role):
        what = plural(test.removed, "direction") if test.by == records.SUBSPACE else "its found dimensions"
        ends = f"from {two_decimals(test.before)} to {damage_text(test.after, test.low, test.high)}"
        said.append(f"Without {what} the score {verbs.get(test.verdict, 'goes')} {ends}.")
    return " ".join(said)


def promise(decision: Decision) -> str:
    """Return which error rate the correction controls."""
    level = share(decision.alpha)
    same = "The same holds for “by query”, “few neurons”, “falls” and “holds”, each by itself."
    chance = "The chance of even one role of a head that is falsely called vertical is at most"
    return claims.corrected(
        decision,
        f"Nothing was corrected: of heads at the border of a verdict, {level} get it by chance.",
        f"Of the roles of heads called vertical, at most {level} are expected not to be. {same}",
        f"{chance} {level}. {same}",
    )


def glossary(asked: Asked) -> list[tuple[str, str]]:
    """Return the words of the page, each with its meaning."""
    shuffles = asked.origins.products.redealt.shape[1]
    every = f"all {shuffles:,}" if shuffles < 39 else f"95\u00a0% of {shuffles:,}"
    return [
        ("contrast", "Mean logit of the cells of a role, minus that of the other keys that the query sees. "
         "It is the sum of the parts of all dimensions of queries and keys."),
        ("vertical share", "The share of the contrast that the head’s mean query gives alone. It is 1 where "
         "every query gives the same push. It is 0 where the push averages out. It can lie outside 0 and 1. "
         "The mean query is estimated on other units; intervals and p values have its error."),
        (VERTICAL, "The vertical part is significantly larger than the rest of the contrast."),
        (BY_QUERY, "The vertical part is significantly smaller than the rest: queries differ in their push."),
        (f"found {asked.one}", f"A {asked.one} that has significantly more than twice its fair share of the "
         f"contrast. The fair share is the contrast divided by the number of {asked.one}s."),
        ("participation", "The number of dimensions that share the contrast: 1 for a single dimension, and "
         "all where every dimension has the same part."),
        (records.FEW, "The participation is smaller than after random rotations of the head’s space. "
         "Rotations change no attention, so they show what a basis without meaning gives. Dimensions of "
         "unequal scale give it to any role: a factor of 1.65 in a quarter of random heads, at 5\u00a0% "
         "each."),
        (records.AS_ROTATED, "The participation is not shown to be smaller than after random rotations."),
        ("directions", "Directions of queries and keys that carry the role beyond distance. A direction "
         f"counts if it is stronger for the role’s cells than in {every} shuffles, which move these cells to "
         "other queries at the same distances."),
        (records.FALLS,
         "Without these directions the score of the role lies significantly below its threshold."),
        (records.HOLDS, "Without these directions the score still lies significantly above its threshold."),
        (UNDETERMINED, "The inputs do not decide."),
        (UNTESTABLE, f"The contrast is not shown to be above 0, fewer than {FEWEST_UNITS} units count, or "
         "rotary positions fix the dimensions."),
        ("interval", "A 95\u00a0% interval of one number, not adjusted for selection. That of a share is "
         "Fieller’s."),
        ("error rate", promise(asked.run.decision)),
    ]  # fmt: skip


def sure_sentences(asked: Asked) -> list[str]:
    """Return the conditions under which the verdicts of the page hold, one sentence each."""
    origins = asked.origins
    removals = f", and {len(origins.knocked.units):,} the removals" if origins.knocked is not None else ""
    redealt = (
        "The number of directions is no test where many queries share a key, as with special tokens and "
        "punctuation: any shared key has such a direction. What their removal does is tested."
    )
    basis = (
        "Rotary positions turn dimensions in pairs, so a pair is what can carry a role. Random rotations of "
        "the space would change the attention."
    ) if asked.fixed else (
        "Dimensions of a head have no meaning of their own: any rotation gives the same attention. So a "
        "found dimension is a neuron of the role only where rotations spread the contrast more. Even then, "
        "dimensions of unequal scale are enough: they concentrate all roles of a head alike."
    )  # fmt: skip
    removed = "A removal changes one head, and its own score. It says nothing about the output of the model."
    return [
        f"Units are split into groups that never overlap: {plural(len(origins.held.units), 'unit')} decided "
        f"the roles, {len(origins.products.units):,} measured where they come from{removals}.",
        f"Fewer than {FEWEST_UNITS} units decide nothing.",
        "A vertical part says what the mean query does. It does not say where in the model the key got it.",
        *[redealt] * bool(origins.products.redealt.shape[1]), basis, *[removed] * bool(origins.knockouts),
    ]  # fmt: skip
