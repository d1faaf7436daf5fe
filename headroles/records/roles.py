"""Roles by their names: their words, their looks, and what their contrasts control for.

A sieve states the words of its role where it is defined, and so do probes and statistics of attention. They
are asked for by name, since records import no sieve. A role whose definition is not here keeps its name.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module

import numpy as np
from jaxtyping import Bool

FAMILIES = ("sinks", "position", "sentence", "syntax", "other")
"""Families of roles, in the order of their colours."""
CATEGORIES = 8
"""Colours before those of the families, for clusters and other categories: ``--tone-N`` of the page."""
SHADES = 4
"""Shades of a family's colour; a fifth role of a family takes the first again."""
SYMBOLS = 8
"""Plot symbols."""
MATCHED, KEY, SWAP, CLASS, VALUES = ":matched", ":key", ":swap", ":class", ":values"
"""Endings of the columns of contrasts."""
CONTROLS = {
    MATCHED: "distance",
    KEY: "distance or key",
    SWAP: "position",
    CLASS: "word class",
    VALUES: "values",
}
"""What a contrast controls for, by the ending of its column."""
TAKES = "takes relatively more there"
"""Verdict on a head that attends to keys, and whose norm-weighted attention does so, too. It is relative to
all values of the head, whatever their size."""


@dataclass(frozen=True, slots=True)
class RoleWords:
    """What outputs say about a role, as the definition of its sieve states it.

    Attributes:
        title: A noun phrase, such as "adjective → noun".
        one: What one head does, such as "looks from adjectives to their noun". Its first word is the verb.
        family: One of ``FAMILIES``, which gives the role its colour.
        mark: One or two characters that stand for the role, the first a capital; "" where they depend on the
            other roles of a run.
        works: Keys of the works behind it, in ``reports/works.bib``.
        whole: Whether a role that is called ``name:part`` is a part of it. local:5 is wider than local, not
            within it.
    """

    title: str
    one: str
    family: str = "other"
    mark: str = ""
    works: tuple[str, ...] = ()
    whole: bool = True

    @property
    def many(self) -> str:
        """Return what several heads do, such as "look from adjectives to their noun"."""
        verb, _, rest = self.one.partition(" ")
        return f"{'have' if verb == 'has' else verb.removesuffix('s')} {rest}"


@cache
def phrase_of(name: str) -> RoleWords:
    """Return a role in plain words; by its name where nothing that is here defines it.

    Args:
        name: Of a sieve of any origin, of a row of a probe with its direction, or of a statistic.

    Example:
        >>> phrase_of("syntactic:amod").one, phrase_of("local").many
        ('looks from adjectives to their noun', 'look at neighbouring tokens')
        >>> phrase_of("dependency:obj:←").one, phrase_of("dependency:all:→").title
        ('looks from verbs to their objects', 'word → its head word')
        >>> phrase_of("vertical:delimiter:sep").one
        'looks at separators vertically'
        >>> phrase_of("mine").title, phrase_of("mine").one, phrase_of("mine").many
        ('mine', 'has the role mine', 'have the role mine')
    """
    root, _, rest = name.partition(":")
    if root == "vertical" and rest:
        words = phrase_of(rest)
        return RoleWords(f"{words.title}, vertical", f"{words.one} vertically")
    stated = import_module("headroles.plugins").stated_words(name)
    return stated if isinstance(stated, RoleWords) else RoleWords(name, f"has the role {name}")


@dataclass(frozen=True, slots=True)
class Look:
    """The look of a role in pages, terminals, notebooks and printed figures.

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


def titles_of(names: Sequence[str]) -> tuple[str, ...]:
    """Return the titles of roles and of their contrasts, no two alike: the same title has its name, too.

    Example:
        >>> titles_of(["local", "syntactic:amod", "syntactic:amod:matched", "mine"])
        ('neighbours', 'adjective → noun', 'adjective → noun, beyond distance', 'mine')
    """
    titles = []
    for name in names:
        ending = next((ending for ending in CONTROLS if name.endswith(ending)), "")
        title = phrase_of(name.removesuffix(ending)).title
        beyond = "by norm" if ending == VALUES else f"beyond {control_of(name)}"
        titles.append(f"{title}, {beyond}" if ending else title)
    counts = Counter(titles)
    return tuple(
        title if counts[title] == 1 else f"{title} ({name})"
        for name, title in zip(names, titles, strict=True)
    )


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
    return phrase_of(name).family


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
    own = [phrase_of(name).mark for name in names]
    taken: list[str] = []
    for number, (name, mark) in enumerate(zip(names, own, strict=True), start=1):
        words = re.findall("[a-z]+", name.lower())
        choices = [words[0][0].upper()] if len(words) == 1 else []
        if words:
            tail = "".join(words[1:]) or words[0][1:]
            choices += [words[0][0].upper() + letter for letter in tail]
        choices += [str(number + shift) for shift in range(len(names) + 1)]
        free = (choice for choice in choices if choice not in taken and choice not in own)
        taken.append(mark if mark not in ("", *taken) else next(free))
    return tuple(taken)


def parts_of(names: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the names that are a part of another, by the other one.

    A part is named "whole:part". A few names extend another one that does not contain them, such as
    identical:other; those are roles of their own.

    Example:
        >>> parts_of(["delimiter", "delimiter:cls", "local", "local:5"])
        {'delimiter': ('delimiter:cls',)}
    """
    found = {whole: tuple(name for name in names if name.startswith(f"{whole}:")) for whole in names}
    return {whole: parts for whole, parts in found.items() if parts and phrase_of(whole).whole}


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


def control_of(column: str) -> str:
    """Return what a contrast controls for; "" for a column that is no contrast.

    Example:
        >>> control_of("block:swap"), control_of("syntactic:nsubj:matched"), control_of("local")
        ('position', 'distance', '')
    """
    return next((control for ending, control in CONTROLS.items() if column.endswith(ending)), "")


def controls_of(*columns: str) -> str:
    """Return what the contrasts of a role control for, joined by "or"; "" without a contrast.

    Args:
        *columns: Names of the contrasts; "" is left out.

    Example:
        >>> controls_of("block:matched", "block:swap"), controls_of("", "mine:plain"), controls_of("")
        ('distance or position', 'its contrast', '')
    """
    return " or ".join(control_of(name) or "its contrast" for name in columns if name)


def explained_words(control: str) -> str:
    """Return the verdict on a head with a high score whose contrast lies below its margin.

    Args:
        control: What the contrasts control for, such as "distance".

    Example:
        >>> explained_words("distance or position"), explained_words("values")
        ('explained by distance or position', 'takes relatively more there')
    """
    return TAKES if control == CONTROLS[VALUES] else f"explained by {control}"


def explained_list(controls: Iterable[str]) -> str:
    """Return all verdicts of that kind, joined by "or"; "" for none.

    Args:
        controls: What the contrasts of each role control for; several are joined by "or".

    Example:
        >>> explained_list(["distance", "distance or position", "values"])
        'explained by distance or position, or takes relatively more there'
    """
    parts = dict.fromkeys(part for control in controls for part in control.split(" or ") if part)
    others = " or ".join(part for part in parts if part != CONTROLS[VALUES])
    words = ([f"explained by {others}"] if others else []) + ([TAKES] if CONTROLS[VALUES] in parts else [])
    return ", or ".join(words)
