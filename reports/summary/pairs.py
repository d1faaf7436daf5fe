"""Pairs of roles: the overlap a run found, beside what dealing labels within layers would give.

Everything here is descriptive: the heads of a model are not a sample, so no pair is tested.
"""

from dataclasses import dataclass

from headroles.records.assessment import Together
from headroles.reports.content import Summary
from headroles.reports.words.words import count, isolate, plural, ranged, share

LISTED = 100
"""Pairs listed at most where there are many roles."""
TOLD = 5
"""Pairs told in a sentence at most."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One ordered pair of roles.

    Attributes:
        found: As the run labels heads.
        bare: The same without the contrasts beyond distance; None where that changes nothing.
    """

    found: Together
    bare: Together | None


def ordered_pairs(summary: Summary) -> dict[tuple[str, str], Pair]:
    """Every ordered pair of different roles, by their names."""
    known = {role.sieve for role in summary.roles}
    rows = summary.assessment.together if summary.assessment else ()
    kept = [each for each in rows if each.first in known and each.second in known]
    bare = {(each.first, each.second): each for each in kept if each.contrasts == "without"}
    return {
        (each.first, each.second): Pair(each, bare.get((each.first, each.second)))
        for each in kept
        if each.contrasts == "with"
    }


def chosen_pairs(summary: Summary) -> list[Pair]:
    """Pairs worth a look: overlaps outside the range of dealing first, then by the heads they share.

    Each pair once, the smaller role first; pairs without a shared head, and those of a sieve and its
    own part (such as delimiter and delimiter:cls), are left out.
    """
    place = {role.sieve: number for number, role in enumerate(summary.roles)}
    pairs = [
        pair
        for pair in ordered_pairs(summary).values()
        if (pair.found.heads_first, place[pair.found.first])
        < (pair.found.heads_second, place[pair.found.second])
        and (pair.found.both or (pair.bare and pair.bare.both))
        and not nested(pair.found.first, pair.found.second)
    ]
    pairs.sort(key=lambda pair: (not outside(pair.found), -pair.found.both))
    return pairs


def nested(first: str, second: str) -> bool:
    """Whether one sieve asks for a part of what the other asks for.

    Example:
        >>> nested("delimiter", "delimiter:cls"), nested("delimiter:sep", "delimiter:cls")
        (True, False)
    """
    return first.startswith(f"{second}:") or second.startswith(f"{first}:")


def outside(each: Together) -> bool:
    """Whether the overlap lies outside what dealing within layers gives in 95 of 100 dealings."""
    return not each.expected_low <= each.both <= each.expected_high


def pair_sentence(pair: Pair) -> str:
    r"""One pair, with and without the contrasts.

    Example:
        >>> both = Together("a", "b", "with", 2, 9, 1, 1.0, 2.0, 0.5, 0.5, 1.0, 0.9, 0.0, 2.0)
        >>> pair_sentence(Pair(both, None)).split("; ")[0]
        'Of 2 a heads, 1 (50\xa0% [50,\xa0100]) is also b'
    """
    found, bare = pair.found, pair.bare
    name, other = isolate(found.first), isolate(found.second)
    text = (
        f"Of {plural(found.heads_first, name + ' head')}, {overlap(found)} {_are(found)} also {other}; "
        f"dealt at random within layers, {dealt(found)} would be."
        if found.heads_first
        else f"No head is {name}."
    )
    if bare is None:
        return text
    if not bare.heads_first:
        return f"{text} Without the contrast beyond distance: no head is {name}."
    return (
        f"{text} Without the contrast beyond distance: of {bare.heads_first}, {overlap(bare)}; "
        f"dealt, {dealt(bare)}."
    )


def _are(each: Together) -> str:
    return "is" if each.both == 1 else "are"


def overlap(each: Together) -> str:
    """Shared heads and their part of the first role's, with its interval over resampled inputs."""
    return f"{each.both} ({ranged(share(each.share), share(each.share_low), share(each.share_high))})"


def dealt(each: Together) -> str:
    """Shared heads expected of a dealing within layers, with its range."""
    return ranged(count(each.expected), count(each.expected_low), count(each.expected_high))


def published_overlap(summary: Summary) -> tuple[str, ...]:
    """The published overlap of syntactic and local heads, re-examined; empty without these roles."""
    pair = ordered_pairs(summary).get(("syntactic", "local"))
    if pair is None:
        return ()
    here = f"Here, where nothing controls for distance, {_local(pair.found)}."
    if pair.bare is not None:
        here = (
            f"Here, without the contrast beyond distance, {_local(pair.bare)}. With it, {_local(pair.found)}."
        )
    return (
        "Pande et al. (2021) report that many heads are both local and syntactic: 42 to 88\u00a0% over their "
        "tasks (README of their code; its denominator is not stated, and read here as the syntactic heads).",
        here,
        "The head word of a dependent is mostly near, so a head that knows distance alone scores high on "
        "both; a contrast is there to tell the two apart. Model, inputs, scores, threshold and relations "
        "differ from theirs, and heads are not a sample: a description, no test and no replication.",
    )


def _local(each: Together) -> str:
    if not each.heads_first:
        return "no head is syntactic"
    heads = f"{each.both} of {plural(each.heads_first, 'syntactic head')} {_are(each)} local"
    part = ranged(share(each.share), share(each.share_low), share(each.share_high))
    return f"{heads} ({part}; dealt within layers, {dealt(each)} would be)"


def pair_rows(summary: Summary) -> tuple[tuple[str, ...], ...]:
    """Every ordered pair as text, with and without the contrasts; of many roles the most telling pairs."""
    rows = []
    pairs = chosen_pairs(summary)[:LISTED] if summary.many else ordered_pairs(summary).values()
    for pair in pairs:
        for each in (pair.found, pair.bare):
            if each is not None:
                rows.append(
                    (
                        f"{each.first} → {each.second}",
                        each.contrasts,
                        str(each.heads_first),
                        str(each.heads_second),
                        ranged(str(each.both), count(each.both_low), count(each.both_high)),
                        ranged(share(each.share), share(each.share_low), share(each.share_high)),
                        dealt(each),
                    )
                )
    return tuple(rows)
