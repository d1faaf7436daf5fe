"""Core records: a tokenised input, and the scores of all inputs.

Every part of headroles passes these frozen records of named, read-only arrays. Layers and heads count
from 0 everywhere. NaN means "no value here"; no other number ever does.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from headroles.errors import BadInput
from headroles.records.arrays import read_only
from headroles.records.brief import brief
from headroles.records.layers import Stack, plain_stack


@dataclass(frozen=True, slots=True, eq=False)
class Lexical:
    """Lemmas, vectors and frequencies of an input's words and tokens; None where not known.

    Attributes:
        lemmas: Lemma of each word, counted over all texts; "" where unknown.
        vectors: Vector of each word, of length 1; all zeros for words without one.
        frequency: Occurrences of each token of the input in all inputs of the run.
    """

    lemmas: tuple[str, ...] | None = None
    vectors: Float32[np.ndarray, "words dimensions"] | None = None
    frequency: Int[np.ndarray, " tokens"] | None = None

    __repr__ = brief

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for name in ("vectors", "frequency"):
            array = getattr(self, name)
            if array is not None:
                object.__setattr__(self, name, read_only(np.asarray(array)))


@dataclass(frozen=True, slots=True)
class Arc:
    """A dependency arc between two words of one example (word indices, counted from 0 over all texts)."""

    dependent: int
    head: int
    relation: str


@dataclass(frozen=True, slots=True, order=True)
class Mention:
    """A span of words that names an entity.

    Attributes:
        start: First word, counted over the document (in an ``Example``, over its words).
        stop: One past the last word.
        entity: Name of the entity within the document; mentions of one entity corefer.
    """

    start: int
    stop: int
    entity: str


@dataclass(frozen=True, slots=True)
class Pair:
    """A dependent and its head in a cleaned text (``Cleaned``).

    Attributes:
        dependent: Place of each of its pieces among the tokens of the cleaned input, from 0.
        head: Place of each piece of its head.
        relation: The relation, as the parser names it.
    """

    dependent: tuple[int, ...]
    head: tuple[int, ...]
    relation: str

    __repr__ = brief


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The cleaned texts of one input, as the released notebooks look words up in them.

    Places count tokens of the cleaned texts. The attention is that of the texts as they are, whose tokens
    may stand elsewhere.

    Attributes:
        size: Number of tokens of the cleaned input, special tokens included.
        pairs: Dependents with their heads, text after text, as far as they were found.
    """

    size: int
    pairs: tuple[Pair, ...]

    __repr__ = brief


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """One tokenised input.

    Only ``key`` and ``tokens`` are required; the rest defaults to one plain text without special tokens.

    Attributes:
        key: A stable name, such as ``"QNLI/17"``.
        tokens: Word pieces, special tokens included, padding excluded.
        segment: Which input text each token belongs to, from 0; −1 on special tokens.
        special: Whether the token was added by the tokenizer (class token, separator).
        first: Whether the token is the class or first token; a subset of ``special``.
        word: Word index of each token, counted on over all texts; −1 on special tokens, and on
            every token when words were not requested.
        arcs: Dependency arcs, the root arc left out; None when not annotated.
        group: The document or paragraph the example comes from; None when unknown.
        mentions: Mentions of entities, by the words of the example; None when not annotated.
        lexical: Lemmas, vectors and frequencies of its words and tokens; None when not known.
        stack: Which stack of layers reads each token: all 0, except in cross attention, where the
            decoder's tokens (0) attend to the encoder's (1). Offsets exist within one stack only.
        upos: Universal part of speech of each word, counted over all texts, "" where unknown; None when not
            annotated.
        cleaned: Words of its cleaned texts, for the preset published; None where they were not looked up.
        partner: The input of equal length that this one exchanges layouts with; None without one. Only runs
            over many inputs give it.

    Raises:
        BadInput: When an array does not have one entry per token, or the partner has another length.

    Example:
        >>> example = Example("note", ("[CLS]", "it", "rains", "[SEP]"), segment=np.array([-1, 0, 0, -1]))
        >>> example.size, example.special.tolist(), example.first.tolist()
        (4, [True, False, False, True], [True, False, False, False])
    """

    key: str
    tokens: tuple[str, ...]
    segment: Int[np.ndarray, " tokens"] = None  # type: ignore[assignment]
    special: Bool[np.ndarray, " tokens"] = None  # type: ignore[assignment]
    first: Bool[np.ndarray, " tokens"] = None  # type: ignore[assignment]
    word: Int[np.ndarray, " tokens"] = None  # type: ignore[assignment]
    arcs: tuple[Arc, ...] | None = None
    group: str | None = None
    mentions: tuple[Mention, ...] | None = None
    lexical: Lexical | None = None
    stack: Int[np.ndarray, " tokens"] = None  # type: ignore[assignment]
    upos: tuple[str, ...] | None = None
    cleaned: Cleaned | None = None
    partner: "Example | None" = None

    __repr__ = brief

    def __post_init__(self) -> None:
        """Fill the defaults, check lengths, and make the arrays read-only."""
        n = len(self.tokens)
        segment = self.segment if self.segment is not None else np.zeros(n, dtype=np.int32)
        special = self.special if self.special is not None else np.asarray(segment) < 0
        first = self.first if self.first is not None else _first_token(np.asarray(special))
        word = self.word if self.word is not None else np.full(n, -1, dtype=np.int32)
        stack = self.stack if self.stack is not None else np.zeros(n, dtype=np.int32)
        for name, array, kind in (
            ("segment", segment, np.int32),
            ("special", special, np.bool_),
            ("first", first, np.bool_),
            ("word", word, np.int32),
            ("stack", stack, np.int32),
        ):
            values = np.array(array, dtype=kind)
            if values.shape != (n,):
                raise BadInput(
                    f"example {self.key!r} has {n} tokens but its {name!r} has shape {values.shape}; "
                    f"every array of an example has shape (tokens,) = ({n},)"
                )
            object.__setattr__(self, name, read_only(values))
        object.__setattr__(self, "tokens", tuple(self.tokens))
        if self.partner is not None and self.partner.size != n:
            raise BadInput(
                f"an example and its partner need equal lengths, but {self.key!r} has {n} tokens and "
                f"{self.partner.key!r} has {self.partner.size}; give a partner of {n} tokens, or none"
            )

    @property
    def size(self) -> int:
        """Number of tokens, special tokens included."""
        return len(self.tokens)

    @property
    def texts(self) -> int:
        """Number of input texts that have at least one token."""
        return int(np.unique(self.segment[self.segment >= 0]).size)


def _first_token(special: np.ndarray) -> np.ndarray:
    first = np.zeros(special.shape, dtype=np.bool_)
    if special.size and special[0] and not special.all():
        first[0] = True
    return first


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """One number per sieve, example and head.

    Attributes:
        sieves: Names of the columns, contrasts included, S.
        examples: Keys of the examples, E.
        units: Name of the unit (group) each example belongs to, E; equal names are one unit.
        tokens: Length of each example in tokens.
        cells: Eligible queries (or arcs) per sieve and example; NaN when the scorer does not count them.
        values: Score per sieve, example, layer and head; NaN where the sieve has no value.
        null: Chance value per sieve and example.
        stack: The layers by their positions in the model; None for a stack of which every block is read.
    """

    sieves: tuple[str, ...]
    examples: tuple[str, ...]
    units: tuple[str, ...]
    tokens: Int[np.ndarray, " examples"]
    cells: Float[np.ndarray, "sieves examples"]
    values: Float32[np.ndarray, "sieves examples layers heads"]
    null: Float[np.ndarray, "sieves examples"]
    stack: Stack = None  # type: ignore[assignment]  # set below, where none is given

    __repr__ = brief

    def __post_init__(self) -> None:
        """Check lengths, and make the arrays read-only."""
        sieves, examples = len(self.sieves), len(self.examples)
        if len(self.units) != examples:
            raise BadInput(f"scores of {examples} examples have one unit each, but got {len(self.units)}")
        table = (sieves, examples)
        for name, shape in (("tokens", table[1:]), ("cells", table), ("null", table), ("values", table)):
            array = getattr(self, name)
            if array.shape[:2] != shape or array.ndim != len(shape) + 2 * (name == "values"):
                raise BadInput(
                    f"scores of {sieves} sieves and {examples} examples have {name!r} of shape {shape}"
                    f"{' and layers, heads' * (name == 'values')}, but got {array.shape}"
                )
            object.__setattr__(self, name, read_only(array))
        if self.stack is None:
            object.__setattr__(self, "stack", plain_stack(self.layers))
        if len(self.stack.layers) != self.layers:
            raise BadInput(f"scores of {self.layers} layers name each, but got {len(self.stack.layers)}")

    @property
    def layers(self) -> int:
        """Number of layers that are read."""
        return int(self.values.shape[2])

    @property
    def heads(self) -> int:
        """Number of heads in a layer."""
        return int(self.values.shape[3])

    def take(self, rows: Int[np.ndarray, " rows"] | Bool[np.ndarray, " examples"]) -> "Scores":
        """Return the scores of some examples, named by their places or by a mask, in that order."""
        places = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        return replace(
            self,
            examples=tuple(self.examples[place] for place in places),
            units=tuple(self.units[place] for place in places),
            tokens=self.tokens[places],
            cells=self.cells[:, places],
            values=self.values[:, places],
            null=self.null[:, places],
        )

    def count_units(self, position: int) -> int:
        """Return the number of units where any head has a score of the sieve at a position."""
        known = ~np.isnan(self.values[position]).all(axis=(1, 2))
        return len({self.units[place] for place in np.flatnonzero(known)})
