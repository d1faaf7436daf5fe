"""How a role looks, everywhere: its family with a colour, its mark of one or two characters, its symbol.

Page, terminal, notebook and printed figures read the same looks. Colours stand in ``shared/page.css`` as
``--tone-N``; the first eight are for clusters and other categories, those of families follow them.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

FAMILIES = ("sinks", "position", "sentence", "syntax", "other")
"""Families of roles, in the order of their colours."""
CATEGORIES = 8
"""Colours before those of the families."""
SHADES = 4
"""Shades of a family's colour; a fifth role of a family takes the first again."""
SYMBOLS = 8
"""Plot symbols."""
PARTS = {
    "delimiter": "sinks", "first": "sinks", "punctuation": "sinks", "parked": "sinks",
    "local": "position", "previous": "position", "next": "position", "self": "position", "offset": "position",
    "block": "sentence", "bag-of-words": "sentence", "identical": "sentence", "related": "sentence",
    "syntactic": "syntax", "dependency": "syntax",
}  # fmt: skip
"""Family of a role by the first part of its name; any other role is in "other"."""
MARKS = {
    "local": "L", "delimiter": "D", "delimiter:cls": "Dc", "delimiter:sep": "Ds", "block": "B",
    "syntactic": "S", "syntactic:nsubj": "Sn", "syntactic:obj": "So", "syntactic:amod": "Sa",
    "syntactic:advmod": "Sv", "previous": "P", "next": "N", "self": "Se", "first": "F", "coreference": "C",
    "parked": "Pa", "punctuation": "Pu", "induction": "I", "duplicate": "Du", "identical": "Id",
    "identical:other": "Io", "related:other": "Ro", "rare": "R", "bag-of-words": "Bw", "subword": "W",
    "subword:completing": "Wc",
}  # fmt: skip
"""Marks that never depend on the other roles of a run."""
NO_WHOLES = frozenset({"local", "offset", "punctuation", "identical"})
"""Roles that others extend by name without being a part: local:5 is wider than local, not within it."""


@dataclass(frozen=True, slots=True)
class Look:
    """The look of a role.

    Attributes:
        family: One of ``FAMILIES``.
        mark: One or two characters; the first is a capital or a digit, so that marks can stand in a row.
        tone: Number of its colour in the style of the page, from ``CATEGORIES``.
        symbol: Number of its plot symbol, from 0.
    """

    family: str
    mark: str
    tone: int
    symbol: int


def looks_of(names: Sequence[str]) -> tuple[Look, ...]:
    """Return the look of every role.

    Args:
        names: Names of roles, each once.

    Returns:
        A look per name. No two marks are alike. Colours repeat within a family of more than ``SHADES`` roles.

    Example:
        >>> [look.mark for look in looks_of(["local", "delimiter:cls", "punctuation:,."])]
        ['L', 'Dc', 'P']
    """
    seen = dict.fromkeys(FAMILIES, 0)
    looks = []
    for name, mark in zip(names, role_marks(names), strict=True):
        family = family_of(name)
        tone = tone_of(family, seen[family])
        looks.append(Look(family, mark, tone, (seen[family] + seen[family] // SYMBOLS) % SYMBOLS))
        seen[family] += 1
    return tuple(looks)


def family_of(name: str) -> str:
    """Return the family of a role by its name.

    Example:
        >>> family_of("syntactic:amod"), family_of("induction")
        ('syntax', 'other')
    """
    return PARTS.get(name.partition(":")[0], "other")


def tone_of(family: str, place: int = 0) -> int:
    """Return the number of a family's colour.

    Args:
        family: One of ``FAMILIES``.
        place: Place of the role within its family; 0 for the family's own colour.

    Example:
        >>> tone_of("sinks"), tone_of("position", 1)
        (8, 13)
    """
    return CATEGORIES + SHADES * FAMILIES.index(family) + place % SHADES


def role_marks(names: Sequence[str]) -> tuple[str, ...]:
    """Return marks of one or two characters, one per name, no two alike.

    Example:
        >>> role_marks(["local", "delimiter", "delimiter:cls", "syntactic:amod", "syntactic:advmod", "律"])
        ('L', 'D', 'Dc', 'Sa', 'Sv', '6')
    """
    known = {MARKS[name] for name in names if name in MARKS}
    taken: list[str] = []
    for number, name in enumerate(names, start=1):
        words = re.findall("[a-z]+", name.lower())
        choices = [words[0][0].upper()] if len(words) == 1 else []
        if words:
            tail = "".join(words[1:]) or words[0][1:]
            choices += [words[0][0].upper() + letter for letter in tail]
        choices += [str(number + shift) for shift in range(len(names) + 1)]
        free = (mark for mark in choices if mark not in taken and mark not in known)
        taken.append(MARKS[name] if name in MARKS else next(free))
    return tuple(taken)


def parts_of(names: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the names that are a part of another, by the other one.

    A part is named "whole:part". A few names extend another one that does not contain them, such as
    identical:other; those are roles of their own.

    Example:
        >>> parts_of(["delimiter", "delimiter:cls", "local"])
        {'delimiter': ('delimiter:cls',)}
    """
    found = {
        whole: tuple(name for name in names if name.startswith(f"{whole}:"))
        for whole in names
        if whole not in NO_WHOLES
    }
    return {whole: parts for whole, parts in found.items() if parts}


def without_wholes(
    names: Sequence[str], held: Bool[np.ndarray, "roles layers heads"]
) -> Bool[np.ndarray, "roles layers heads"]:
    """Return the roles to draw: a role with parts is left out where the head holds one of its parts.

    Args:
        names: Names of the roles.
        held: Whether a head holds a role.

    Example:
        >>> held = np.array([[[True, True]], [[True, False]]])
        >>> without_wholes(["delimiter", "delimiter:cls"], held).tolist()
        [[[False, True]], [[True, False]]]
    """
    drawn = held.copy()
    for whole, parts in parts_of(names).items():
        rows = [names.index(part) for part in parts]
        drawn[names.index(whole)] &= ~held[rows].any(axis=0)
    return drawn
