"""The two kinds of sieve, their contrasts, and the decorator that makes a sieve from a function."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import isfinite
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from headroles.errors import BadSieve, shorten
from headroles.plans.masks import Same
from headroles.records.brief import brief
from headroles.records.example import Example
from headroles.records.roles import RoleWords

NEEDS = frozenset({"words", "arcs", "mentions", "likeness", "frequencies"})
"""Annotation a sieve can ask for: words alone, dependency arcs between them, mentions of entities, lemmas or
vectors of words, or how often tokens occur in all inputs of the run."""

COUNTED = frozenset({"frequencies"})
"""Annotation that comes from the tokens of a run alone, without words."""

MARGIN = 0.1
"""A tenth of the attention budget beyond chance: a convention, reported with its sensitivity."""

LOWEST = -0.5
"""Lowest selectivity of an input that the test ``betting`` takes: by chance, a third of attention."""

MaskFunction = Callable[[Example], Any]
LabelFunction = Callable[[Example], Int[np.ndarray, " units"]]


def both_texts(example: Example) -> Same:
    """Return all pairs of tokens of the texts; special tokens are in none."""
    return Same(np.where(example.segment >= 0, 0, -1))


@dataclass(frozen=True, slots=True)
class Contrast:
    """A sieve's contrast against the head's own distance profile in the same example.

    Attributes:
        margin: How far beyond 0 the contrast must lie.
        cells: The cells counted, over units (words where ``words``, else tokens): a bool array or a
            mask of ``headroles.sieves.masks``.
        scope: The cells compared within, over the same units.
        words: Whether the units are words (word attention) or tokens.
        groups: Label per unit, from 0: the queries with one label are a group. Every group weighs one, and
            groups are summed. A unit with label −1 asks nothing. None: one group of all queries.
        most: Largest number of groups of an input: the contrast lies between minus this and this. The test
            ``betting`` leaves out inputs with more.
        others: The cells over which a counted key is also compared with itself: what its counted queries give
            it, less what its other queries give it, both beyond distance. Counted cells and the diagonal are
            left out, and so are counted cells whose key has no other query. The bounds are then at most
            twice as wide. Only between tokens. None: keys are not compared with themselves.

    Raises:
        BadSieve: For ``others`` between words.

    Example:
        >>> contrast = Contrast(margin=0.05, cells=lambda example: Same(example.segment), scope=both_texts)
        >>> contrast.words, contrast.groups is None
        (False, True)
    """

    margin: float
    cells: MaskFunction
    scope: MaskFunction
    words: bool = False
    groups: LabelFunction | None = None
    most: int = 1
    others: MaskFunction | None = None

    __repr__ = brief

    def __post_init__(self) -> None:
        """Refuse ``others`` between words."""
        if self.words and self.others is not None:
            raise BadSieve(
                "a contrast compares what a key gets from other queries between tokens only, but got others "
                "and words=True; leave one of them out"
            )


@dataclass(frozen=True, slots=True)
class ClassContrast:
    """A sieve's contrast against word classes, nearness, distance, frequency and sentence length.

    It is a second contrast, in addition to the one beyond distance.

    The cells are those of the sieve's ``Contrast``, whose units are words. The score of an input is
    C − share · D. C is the contrast of ``headroles.plans.class_profile``, D that against distance alone. So a
    mean above 0 says that more than this share of the attention beyond distance lies beyond word class, too.

    Attributes:
        groups: Label per word, from 0: words are compared with those of the same label, such as their
            sentence. A word with label −1 is compared with none.
        share: Share of D that C must exceed.
        margin: How far beyond 0 the score must lie.
    """

    groups: LabelFunction
    share: float
    margin: float = 0.0

    __repr__ = brief


@dataclass(frozen=True, slots=True)
class MaskSieve:
    """A sieve that gives the (query, key) cells that count; one shared function does the rest.

    Attributes:
        name: Its name in options, tables and files.
        mask: The cells counted; see ``headroles.sieves.masks`` for what it may return.
        question: Its question, in words.
        source: The source of the idea.
        needs: Annotation it reads, a subset of ``NEEDS``.
        scope: The cells that the counted keys are compared within; None for every visible key.
        groups: Label per token, from 0: the eligible queries with one label are a group, and all groups weigh
            the same. A token with label −1 asks nothing. None: every query is a group.
        arcs: Whether ``cells`` in the findings counts groups (arcs) rather than queries.
        specials: Whether special tokens may be counted as keys (they are never queries).
        margin: Default margin of the selectivity.
        contrast: The contrast beyond distance that a role must also pass, if any.
        word_class: The contrast beyond word class that a strong role must also pass, if any; only with a
            contrast between words.
        swap: The contrast beyond position, if any; in runs a role must pass it in place of ``contrast``.
        values_below: What the selectivity of norm-weighted attention must lie below for a role, on the same
            cells; None where a role says nothing about values. Its column holds minus that selectivity.
        lowest: Lowest selectivity that can occur, −c/(1 − c) at a chance c, as the test ``betting`` needs it
            before any data. That test leaves out inputs that could score lower: those with a larger c.
        words: What outputs say about the role; None: its name.
    """

    name: str
    mask: MaskFunction
    question: str = ""
    source: str = ""
    needs: frozenset[str] = frozenset()
    scope: MaskFunction | None = None
    groups: LabelFunction | None = None
    arcs: bool = False
    specials: bool = False
    margin: float = MARGIN
    contrast: Contrast | None = None
    word_class: ClassContrast | None = None
    swap: "Swap | None" = None
    values_below: float | None = None
    lowest: float = LOWEST
    words: RoleWords | None = None

    __repr__ = brief

    def __post_init__(self) -> None:
        """Refuse a contrast against word class without one between words, and one of values with another.

        Raises:
            BadSieve: Naming the sieve.
        """
        if self.values_below is not None and (self.contrast is not None or self.swap is not None):
            raise BadSieve(
                f"one contrast decides about a role, but sieve {self.name!r} has values_below and another; "
                f"leave one of them out"
            )
        if self.word_class is not None and not (self.contrast is not None and self.contrast.words):
            raise BadSieve(
                f"a contrast against word class counts the words of a contrast against distance, but sieve "
                f"{self.name!r} has none between words; give contrast=Contrast(..., words=True)"
            )


@dataclass(frozen=True, slots=True)
class Swap:
    """A sieve's contrast beyond position: an input and its partner of equal length exchange layouts.

    With J(A, ℓ) the selectivity of attention A under the layout ℓ, within the tokens that both layouts share,
    the contrast of a pair of inputs e, f is ``½ [J(A_e, ℓ_e) + J(A_f, ℓ_f) − J(A_e, ℓ_f) − J(A_f, ℓ_e)]``.
    Two inputs of one length have the same positions. Attention that is any function of positions and length
    is the same for both, so that the contrast is 0. The part of an input is ``J(A_e, ℓ_e) − J(A_e, ℓ_f)``,
    which is linear in its own attention.

    Attributes:
        margin: How far beyond 0 the contrast must lie.
        own: J under the layout of the input, as a mask sieve of examples that have a ``partner``.
        partner: J under the layout of its partner.
    """

    margin: float
    own: MaskSieve
    partner: MaskSieve

    __repr__ = brief


@runtime_checkable
class Scorer(Protocol):
    """A sieve that needs attention itself.

    Optional members: question, source, words, margin, low, high, contrast.

    ``low`` and ``high`` are the smallest and largest possible score; without them constant scores are
    untestable. A ``Contrast`` is what a role must also pass, as for a mask sieve. Two further members are
    used where they exist:

    - ``score_visible(attention, example, visible)``: as ``score``, knowing which keys each query can see
      (bool (tokens, tokens); None: all).
    - ``score_rows(rows, start, example, visible)``: the part of the score, float (heads,), that a block of
      query rows adds, float (heads, rows, tokens) from query ``start`` on; blocks of one layer are added up.
      ``visible`` is a mask with ``rows(start, stop)``, or None for all keys. Without this member the
      attention of a layer is joined for ``score``, however long the input.
    """

    @property
    def name(self) -> str:
        """Return its name in options, tables and files."""

    @property
    def needs(self) -> frozenset[str]:
        """Return the annotation it reads, a subset of ``NEEDS``."""

    def score(
        self, attention: Float[np.ndarray, "heads tokens tokens"], example: Example
    ) -> Float[np.ndarray, " heads"]:
        """Return one number per head of one layer; NaN where there is no value."""

    def null(self, example: Example) -> float:
        """Return the chance value of the score on this example."""


Sieve = MaskSieve | Scorer


def sieve(
    name: str,
    *,
    needs: Iterable[str] = (),
    specials: bool = False,
    scope: MaskFunction | None = None,
    groups: LabelFunction | None = None,
    arcs: bool = False,
    contrast: Contrast | float | None = None,
    margin: float = MARGIN,
    question: str = "",
    source: str = "",
    words: RoleWords | None = None,
) -> Callable[[MaskFunction], MaskSieve]:
    """Turn a mask function into a sieve.

    The function takes an ``Example`` and returns the cells that count: bool (tokens, tokens), or
    bool (tokens,) for the same keys at every query, or a mask that needs no memory of tokens × tokens:
    ``Band``, ``Pairs``, ``Same``, or another of ``headroles.plans.masks``. It never
    sees attention. headroles handles chance, visible keys, special tokens and weights, and computes the
    smallest and largest possible score on every example.

    Args:
        name: Name in options, tables and files; for a plug-in the entry point's name.
        needs: Annotation the function reads: "words", "arcs" and the like, from ``NEEDS``.
        specials: Whether special tokens may be counted as keys.
        scope: Returns the cells that the counted keys are compared within, as a mask; None for every
            visible key.
        groups: Returns a label per token, int (tokens,): the queries with one label are a group, and all
            groups weigh the same. A token with label −1 asks nothing. None: every query is a group.
        arcs: Whether ``cells`` in the findings counts groups (arcs) rather than queries.
        contrast: What a role must also pass: a ``Contrast`` against the head's own distance profile. A number
            is its margin, and the contrast is that of the sieve's own cells within ``scope`` (None: all pairs
            of tokens of the texts).
        margin: Default margin: how far beyond chance counts as a role.
        question: Its question; when empty, the first line of the docstring.
        source: The source of the idea; when empty, the module.
        words: What pages and other outputs say about the role; None: its name.

    Raises:
        BadSieve: For an empty name, annotation that does not exist, a margin that is no number, or a contrast
            that cannot count the sieve's cells.

    Example:
        >>> @sieve("punctuation")
        ... def punctuation(example: Example) -> np.ndarray:
        ...     "Keys that are punctuation marks."
        ...     return np.array([token in ".,;:!?" for token in example.tokens])
        >>> punctuation.name, punctuation.question
        ('punctuation', 'Keys that are punctuation marks.')
    """
    wanted = frozenset(needs)
    if not name or not wanted <= NEEDS:
        raise BadSieve(
            f"a sieve has a name and needs only annotation that exists, but {name!r} needs "
            f"{sorted(wanted)}; allowed: {', '.join(sorted(NEEDS))}"
        )

    def make(mask: MaskFunction) -> MaskSieve:
        beyond = contrast if contrast is None or isinstance(contrast, Contrast) else None
        if contrast is not None and beyond is None:
            beyond = Contrast(check_margin(contrast, name), mask, scope or both_texts)
            if specials and scope is None:
                raise BadSieve(
                    f"a contrast that is a number compares tokens of the texts, but {name!r} counts "
                    f"special tokens; give a Contrast with a scope that holds them"
                )
        first = (mask.__doc__ or "").strip().splitlines()
        return MaskSieve(
            name=name,
            mask=mask,
            question=question or (first[0] if first else ""),
            source=source or mask.__module__,
            needs=wanted,
            scope=scope,
            groups=groups,
            arcs=arcs,
            specials=specials,
            margin=check_margin(margin, name),
            contrast=beyond,
            words=words,
        )

    return make


def check_margin(margin: object, name: str) -> float:
    """Return the margin of a sieve or contrast after checking that it is a finite number.

    Raises:
        BadSieve: When it is not.
    """
    number = isinstance(margin, int | float | np.integer | np.floating) and not isinstance(margin, bool)
    if not number or not isfinite(margin):  # type: ignore[arg-type]
        raise BadSieve(
            f"a margin is a finite number, such as {MARGIN}, but the sieve {name!r} has {shorten(margin)}; "
            f"mend it"
        )
    return margin  # type: ignore[return-value]


def annotation_of(example: Example) -> frozenset[str]:
    """Return the annotation of an example, a subset of ``NEEDS``.

    Example:
        >>> sorted(annotation_of(Example("note", ("it", "rains"), word=np.array([0, 1]))))
        ['words']
    """
    known = example.lexical
    carried = {
        "words": bool((example.word >= 0).any()),
        "arcs": example.arcs is not None,
        "mentions": example.mentions is not None,
        "likeness": known is not None and not (known.lemmas is None and known.vectors is None),
        "frequencies": known is not None and known.frequency is not None,
    }
    return frozenset(need for need, there in carried.items() if there)
