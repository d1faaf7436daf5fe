"""Pairs of roles:

the overlap a run found, and the overlap expected when labels are permuted within layers. Everything here is
descriptive: the heads of a model are not a sample, so no pair is tested.
"""

from dataclasses import dataclass

from headroles.records.assessment import TOGETHER
from headroles.records.numbers import count, isolate, plural, share, with_range
from headroles.records.table import Row, Table
from headroles.reports.records import Summary

MOST_ROWS = 100
"""Pairs listed at most where there are many roles."""
MOST_SENTENCES = 5
"""Pairs with a sentence of their own at most."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One ordered pair of roles.

    Attributes:
        found: Their overlap as the run labels heads.
        bare: Their overlap without the contrasts beyond distance; None where that changes nothing.
    """

    found: Row
    bare: Row | None


def pairs_of(summary: Summary) -> dict[tuple[str, str], Pair]:
    """Return every ordered pair of different roles, by their names."""
    known = {role.sieve for role in summary.roles}
    rows = summary.assessment.together if summary.assessment else ()
    known_rows = [row for row in rows if row.first in known and row.second in known]
    bare = {(row.first, row.second): row for row in known_rows if row.contrasts == "without"}
    return {
        (row.first, row.second): Pair(row, bare.get((row.first, row.second)))
        for row in known_rows
        if row.contrasts == "with"
    }


def notable_pairs(summary: Summary) -> list[Pair]:
    """Return notable pairs: overlaps outside the range of permuted labels first, then by shared heads.

    Each pair once, the smaller role first; pairs without a shared head, and those of a sieve and its
    own part (such as delimiter and delimiter:cls), are left out.
    """
    place = {role.sieve: number for number, role in enumerate(summary.roles)}
    pairs = [
        pair
        for pair in pairs_of(summary).values()
        if (pair.found.heads_first, place[pair.found.first])
        < (pair.found.heads_second, place[pair.found.second])
        and (pair.found.both or (pair.bare and pair.bare.both))
        and not is_part(pair.found.first, pair.found.second)
    ]
    pairs.sort(key=lambda pair: (not is_outside(pair.found), -pair.found.both))
    return pairs


def is_part(first: str, second: str) -> bool:
    """Return whether one sieve asks for a part of what the other asks for.

    Example:
        >>> is_part("delimiter", "delimiter:cls"), is_part("delimiter:sep", "delimiter:cls")
        (True, False)
    """
    return first.startswith(f"{second}:") or second.startswith(f"{first}:")


def is_outside(pair: Row) -> bool:
    """Return whether the overlap lies outside the 95 % range of labels permuted within layers."""
    return not pair.expected_low <= pair.both <= pair.expected_high


def pair_sentence(pair: Pair) -> str:
    r"""Return one pair in words, with and without the contrasts.

    Example:
        >>> numbers = {"heads_first": 2, "both": 1, "share": 0.5, "share_low": 0.5, "share_high": 1.0}
        >>> chance = {"expected": 0.9, "expected_low": 0.0, "expected_high": 2.0}
        >>> both = Row(first="a", second="b", **numbers, **chance)
        >>> pair_sentence(Pair(both, None)).split("; ")[0]
        'Of 2 a heads, 1 (50\xa0% [50,\xa0100]) is also b'
    """
    found, bare = pair.found, pair.bare
    name, other = isolate(found.first), isolate(found.second)
    text = (
        f"Of {plural(found.heads_first, name + ' head')}, {overlap_text(found)} {_are(found)} also {other}; "
        f"by chance {expected_text(found)} would be."
        if found.heads_first
        else f"No head is {name}."
    )
    if bare is None:
        return text
    if not bare.heads_first:
        return f"{text} Without the contrast beyond distance: no head is {name}."
    return (
        f"{text} Without the contrast beyond distance: of {bare.heads_first}, {overlap_text(bare)}; "
        f"by chance {expected_text(bare)}."
    )


def _are(pair: Row) -> str:
    """Return the verb that fits the number of shared heads."""
    return "is" if pair.both == 1 else "are"


def overlap_text(pair: Row) -> str:
    """Return shared heads and their share of the first role's, with its interval over resampled inputs."""
    return f"{pair.both} ({with_range(share(pair.share), share(pair.share_low), share(pair.share_high))})"


def expected_text(pair: Row) -> str:
    """Return the shared heads expected when labels are permuted within layers, with their range."""
    return with_range(count(pair.expected), count(pair.expected_low), count(pair.expected_high))


def pairs_table(summary: Summary) -> Table:
    """Return every ordered pair, with and without contrasts; of many roles the notable pairs."""
    pairs = notable_pairs(summary)[:MOST_ROWS] if summary.many else pairs_of(summary).values()
    return TOGETHER.rows(vars(row) for pair in pairs for row in (pair.found, pair.bare) if row is not None)
