"""What travels between the parts of headroles: frozen records of named, read-only arrays.

Layers and heads count from 0 everywhere. NaN means "nothing to say here"; no other number ever does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from headroles.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd

DECISIONS = ("role", "not", "undetermined", "untestable")


def _frozen(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True, slots=True)
class Arc:
    """A dependency arc between two words of one example (word indices, counted from 0 over all texts)."""

    dependent: int
    head: int
    relation: str


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
            every token when no words were asked for.
        arcs: Dependency arcs, the root arc left out; None when not annotated.
        group: The document or paragraph the example comes from; None when unknown.

    Raises:
        BadInput: When an array has not one entry per token.

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

    def __post_init__(self) -> None:
        """Fill the defaults, check lengths, and make the arrays read-only."""
        n = len(self.tokens)
        segment = self.segment if self.segment is not None else np.zeros(n, dtype=np.int32)
        special = self.special if self.special is not None else np.asarray(segment) < 0
        first = self.first if self.first is not None else _leading(np.asarray(special))
        word = self.word if self.word is not None else np.full(n, -1, dtype=np.int32)
        for name, array, kind in (
            ("segment", segment, np.int32),
            ("special", special, np.bool_),
            ("first", first, np.bool_),
            ("word", word, np.int32),
        ):
            values = np.array(array, dtype=kind)
            if values.shape != (n,):
                raise BadInput(
                    f"example {self.key!r} has {n} tokens but its {name!r} has shape {values.shape}; "
                    f"every array of an example has shape (tokens,) = ({n},)"
                )
            object.__setattr__(self, name, _frozen(values))
        object.__setattr__(self, "tokens", tuple(self.tokens))

    @property
    def size(self) -> int:
        """Number of tokens, special tokens included."""
        return len(self.tokens)

    @property
    def texts(self) -> int:
        """Number of input texts that have at least one token."""
        return int(np.unique(self.segment[self.segment >= 0]).size)


def _leading(special: np.ndarray) -> np.ndarray:
    first = np.zeros(special.shape, dtype=np.bool_)
    if special.size and special[0] and not special.all():
        first[0] = True
    return first


@dataclass(frozen=True, slots=True)
class Rule:
    """How one column of scores is judged.

    Attributes:
        sieve: The column's name.
        question: What the sieve asks, in words.
        null: Chance value of the score.
        margin: How far beyond the null counts; means are tested against ``null + margin``.
        contrast: The column that must also lie beyond its own margin for a role; "" for none.
        role: Whether the column can be a role (contrasts cannot).
        low: Smallest value a score can take, on the score scale; NaN when unknown.
        high: Largest value a score can take; NaN when unknown.
    """

    sieve: str
    question: str = ""
    null: float = 0.0
    margin: float = 0.1
    contrast: str = ""
    role: bool = True
    low: float = float("nan")
    high: float = float("nan")

    @property
    def threshold(self) -> float:
        """θ, the value that means are tested against."""
        return self.null + self.margin


@dataclass(frozen=True, slots=True)
class Decision:
    """How scores become decisions: the test, the correction, its family, and alpha."""

    test: str = "t-skew"
    correction: str = "fdr_bh"
    family: str = "sieve"
    alpha: float = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """One number per sieve, example and head.

    Attributes:
        sieves: Names of the columns, contrasts included, S.
        examples: Keys of the examples, E.
        units: Name of the unit (group) each example belongs to, E; equal names are one unit.
        tokens: Length of each example in tokens.
        cells: Eligible queries (or arcs) per sieve and example; NaN when the scorer does not say.
        values: Score per sieve, example, layer and head; NaN where the sieve has nothing to say.
        null: Chance value per sieve and example.
    """

    sieves: tuple[str, ...]
    examples: tuple[str, ...]
    units: tuple[str, ...]
    tokens: Int[np.ndarray, " examples"]
    cells: Float[np.ndarray, "sieves examples"]
    values: Float32[np.ndarray, "sieves examples layers heads"]
    null: Float[np.ndarray, "sieves examples"]

    def __post_init__(self) -> None:
        """Check lengths, and make the arrays read-only."""
        sieves, examples = len(self.sieves), len(self.examples)
        if len(self.units) != examples:
            raise BadInput(f"scores of {examples} examples have one unit each, but {len(self.units)} came")
        table = (sieves, examples)
        for name, shape in (("tokens", table[1:]), ("cells", table), ("null", table), ("values", table)):
            array = getattr(self, name)
            if array.shape[:2] != shape or array.ndim != len(shape) + 2 * (name == "values"):
                raise BadInput(
                    f"scores of {sieves} sieves and {examples} examples have {name!r} of shape {shape}"
                    f"{' and layers, heads' * (name == 'values')}, but {array.shape} came"
                )
            object.__setattr__(self, name, _frozen(array))

    @property
    def layers(self) -> int:
        """Number of layers."""
        return int(self.values.shape[2])

    @property
    def heads(self) -> int:
        """Number of heads in a layer."""
        return int(self.values.shape[3])


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """The outcome of every test, one entry per sieve, layer and head (columns of ``findings.csv``).

    Attributes:
        rules: What each sieve was tested against, in the order of the first axis.
        count: Units that counted.
        cells: Mean number of eligible queries (or arcs) per example.
        mean: Mean score over units, on the score scale.
        null: Mean chance value.
        margin: How far beyond the null counts.
        effect: ``(mean − null − margin) / sd``, signed; NaN without spread.
        low: Lower end of the 95 % interval of the mean (two-sided, not adjusted for selection).
        high: Upper end of that interval.
        statistic: The test statistic of ``mean − null − margin``.
        p: One-sided p of "not beyond the margin"; joint with the contrast where there is one.
        q: ``p`` adjusted over its family.
        p_not: One-sided p of "not below the margin".
        q_not: ``p_not`` adjusted over its family.
        decision: 0 role, 1 not, 2 undetermined, 3 untestable (``DECISIONS``); −1 on contrasts,
            which are part of a role and none themselves.
    """

    rules: tuple[Rule, ...]
    count: Int[np.ndarray, "sieves layers heads"]
    cells: Float[np.ndarray, "sieves layers heads"]
    mean: Float[np.ndarray, "sieves layers heads"]
    null: Float[np.ndarray, "sieves layers heads"]
    margin: Float[np.ndarray, "sieves layers heads"]
    effect: Float[np.ndarray, "sieves layers heads"]
    low: Float[np.ndarray, "sieves layers heads"]
    high: Float[np.ndarray, "sieves layers heads"]
    statistic: Float[np.ndarray, "sieves layers heads"]
    p: Float[np.ndarray, "sieves layers heads"]
    q: Float[np.ndarray, "sieves layers heads"]
    p_not: Float[np.ndarray, "sieves layers heads"]
    q_not: Float[np.ndarray, "sieves layers heads"]
    decision: Int[np.ndarray, "sieves layers heads"]

    def __post_init__(self) -> None:
        """Check shapes, and make the arrays read-only."""
        for name in (*COLUMNS, "decision"):
            array = getattr(self, name)
            if array.ndim != 3 or array.shape != (len(self.rules), *self.count.shape[1:]):
                raise BadInput(
                    f"findings have one entry per sieve, layer and head, but {name!r} of {len(self.rules)} "
                    f"sieves has shape {array.shape}"
                )
            object.__setattr__(self, name, _frozen(array))

    @property
    def sieves(self) -> tuple[str, ...]:
        """Names of the sieves, contrasts included."""
        return tuple(rule.sieve for rule in self.rules)

    @property
    def roles(self) -> tuple[str, ...]:
        """Names of the sieves that can be roles."""
        return tuple(rule.sieve for rule in self.rules if rule.role)

    def of(self, sieve: str) -> int:
        """Position of a sieve on the first axis."""
        return self.sieves.index(sieve)


COLUMNS = (
    "count", "cells", "mean", "null", "margin", "effect", "low", "high",
    "statistic", "p", "q", "p_not", "q_not",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Labelling:
    """The result of a run.

    Attributes:
        scores: One number per sieve, example and head.
        findings: The outcome of every test.
        decision: How the scores were judged.
        manifest: Everything needed to reproduce the run (JSON types only).
        skipped: What was left out, cut or not applicable, one sentence each.
    """

    scores: Scores
    findings: Findings
    decision: Decision
    manifest: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    skipped: tuple[str, ...] = ()

    def frame(self) -> pd.DataFrame:
        """One row per sieve × layer × head with the columns of ``findings.csv``."""
        import pandas as pd

        found = self.findings
        shape = found.count.shape
        sieve, layer, head = (index.ravel() for index in np.indices(shape))
        table: dict[str, Any] = {
            "sieve": np.array(found.sieves, dtype=object)[sieve], "layer": layer, "head": head
        }  # fmt: skip
        table |= {name: getattr(found, name).ravel() for name in COLUMNS}
        names = np.array([*DECISIONS, ""], dtype=object)
        table["decision"] = names[found.decision.ravel()]
        return pd.DataFrame(table)

    def labels(self) -> pd.DataFrame:
        """One row per head: its roles joined by ``;`` and, per sieve, 1 role, 0 not, <NA> neither."""
        import pandas as pd

        found = self.findings
        names = found.roles
        decision = np.stack([found.decision[found.of(name)] for name in names]).reshape(len(names), -1)
        layer, head = (index.ravel() for index in np.indices(found.count.shape[1:]))
        columns: dict[str, Any] = {"layer": layer, "head": head}
        columns["roles"] = [
            ";".join(name for name, code in zip(names, column, strict=True) if code == 0)
            for column in decision.T
        ]
        for name, codes in zip(names, decision, strict=True):
            columns[name] = pd.array([{0: 1, 1: 0}.get(int(code), pd.NA) for code in codes], dtype="Int8")
        return pd.DataFrame(columns)

    def _repr_html_(self) -> str:
        """Counts per role, as a small table for notebooks."""
        import pandas as pd

        found = self.findings
        counts = {
            name: [int((found.decision[found.of(name)] == code).sum()) for code in range(len(DECISIONS))]
            for name in found.roles
        }
        return str(pd.DataFrame.from_dict(counts, orient="index", columns=list(DECISIONS)).to_html(border=0))
