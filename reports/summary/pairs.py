"""Pairs of roles:

the overlap a run found, and the overlap expected when labels are permuted within layers. Everything here is
descriptive: the heads of a model are not a sample, so no pair is tested.
"""

from dataclasses import dataclass

from headroles.records.assessment import RoleOverlap
from headroles.records.numbers import count, isolate, plural, share, with_range
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

    found: RoleOverlap
    bare: RoleOverlap | None


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


def is_outside(pair: RoleOverlap) -> bool:
    """Return whether the overlap lies outside the 95 % range of labels permuted within layers."""
    return not pair.expected_low <= pair.both <= pair.expected_high


def pair_sentence(pair: Pair) -> str:
    r"""Return one pair in words, with and without the contrasts.

    Example:
        >>> both = RoleOverlap("a", "b", "with", 2, 9, 1, 1.0, 2.0, 0.5, 0.5, 1.0, 0.9, 0.0, 2.0)
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


def _are(pair: RoleOverlap) -> str:
    """Return the verb that fits the number of shared heads."""
    return "is" if pair.both == 1 else "are"


def overlap_text(pair: RoleOverlap) -> str:
    """Return shared heads and their share of the first role's, with its interval over resampled inputs."""
    return f"{pair.both} ({with_range(share(pair.share), share(pair.share_low), share(pair.share_high))})"


def expected_text(pair: RoleOverlap) -> str:
    """Return the shared heads expected when labels are permuted within layers, with their range."""
    return with_range(count(pair.expected), count(pair.expected_low), count(pair.expected_high))


def pair_rows(summary: Summary) -> tuple[tuple[str, ...], ...]:
    """Return every ordered pair as text, with and without contrasts; of many roles the notable pairs."""
    rows = []
    pairs = notable_pairs(summary)[:MOST_ROWS] if summary.many else pairs_of(summary).values()
    for pair in pairs:
        for overlaps in (pair.found, pair.bare):
            if overlaps is not None:
                rows.append(
                    (
                        f"{overlaps.first} → {overlaps.second}",
                        overlaps.contrasts,
                        str(overlaps.heads_first),
                        str(overlaps.heads_second),
                        with_range(str(overlaps.both), count(overlaps.both_low), count(overlaps.both_high)),
                        with_range(
                            share(overlaps.share), share(overlaps.share_low), share(overlaps.share_high)
                        ),
                        expected_text(overlaps),
                    )
                )
    return tuple(rows)
