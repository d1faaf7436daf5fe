"""The sieves of one run as columns: their annotation, their plans, and the rules that judge them."""

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool

from headroles.errors import BadSieve
from headroles.plans.batch import SieveLayout, SieveMasks
from headroles.plans.class_profile import ClassSpace
from headroles.plans.masks import Mask
from headroles.plans.plan import LongPlan, Plan
from headroles.plans.word_pairs import WordPairs
from headroles.records.example import Example
from headroles.records.roles import MATCHED, SWAP
from headroles.records.rules.rule import Rule
from headroles.sieves.base import MARGIN, Contrast, MaskSieve, Scorer, Sieve, Swap
from headroles.sieves.bounds import UNSTATED, bounds_before_data
from headroles.sieves.weights.batch import sieve_layout, sieve_masks
from headroles.sieves.weights.long.plan import long_plan
from headroles.sieves.weights.plan import (
    class_column,
    column_names,
    contrast_column,
    plan,
    swap_column,
    values_column,
)
from headroles.sieves.weights.word_class import class_spaces, pairs_of

FEWEST_PAIRS = 10
"""Fewest pairs of partners for a test of a swap; with fewer the contrast beyond distance decides."""
STATISTICS = ("selectivity", "bias")
BIAS_MARGIN = 2.0
"""The published threshold of 3 over the 1 of even attention."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Sieves in the order they were named, and the columns they give.

    Mask sieves (and their contrasts) come first, then contrasts of scorers, then swaps, then scorers, each in
    the order given.

    Attributes:
        sieves: In the order they were named.
        statistic: Of mask sieves, "selectivity" or "bias".
        optional: Names of sieves that only a group named; they are left out where their annotation is
            missing.
        paired: Whether inputs get partners, so that sieves with a swap have a column for it.
        stated: Whether inputs are left out of columns where they could score beyond the bounds that sieves
            state before any data, as the test ``betting`` needs them.
    """

    sieves: tuple[Sieve, ...]
    statistic: str = "selectivity"
    optional: frozenset[str] = frozenset()
    paired: bool = False
    stated: bool = False

    def __post_init__(self) -> None:
        """Refuse two sieves of one name.

        Raises:
            BadSieve: Naming the sieve that was given twice.
        """
        names = self.columns
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise BadSieve(
                f"a run has one sieve of each name, but {twice[0]!r} was given twice; name it once"
            )

    @property
    def masks(self) -> tuple[MaskSieve, ...]:
        """Return the sieves that are masks."""
        return tuple(sieve for sieve in self.sieves if isinstance(sieve, MaskSieve))

    @property
    def scorers(self) -> tuple[Scorer, ...]:
        """Return the sieves that see attention."""
        return tuple(sieve for sieve in self.sieves if not isinstance(sieve, MaskSieve))

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns: masks with contrasts, contrasts of scorers, swaps, scorers."""
        scorers = tuple(scorer.name for scorer in self.scorers)
        return column_names(self.masks) + tuple(self.beside) + tuple(self.swaps) + scorers

    @property
    def beside(self) -> dict[str, Contrast]:
        """Return the contrasts of scorers, by their columns."""
        contrasts = {contrast_column(scorer): getattr(scorer, "contrast", None) for scorer in self.scorers}
        return {name: contrast for name, contrast in contrasts.items() if isinstance(contrast, Contrast)}

    @property
    def swaps(self) -> dict[str, Swap]:
        """Return the contrasts beyond position, by their columns; none where inputs have no partners."""
        swaps = {swap_column(sieve): getattr(sieve, "swap", None) for sieve in self.sieves if self.paired}
        return {name: swap for name, swap in swaps.items() if isinstance(swap, Swap)}

    @property
    def valued(self) -> tuple[MaskSieve, ...]:
        """Return the sieves that also read norm-weighted attention, in the order they were named."""
        return tuple(mask for mask in self.masks if mask.values_below is not None)

    @property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """Return the bounds of each column that are stated before any data; NaN where none are."""
        if not self.stated:
            return dict.fromkeys(self.columns, UNSTATED)
        return bounds_before_data(self.masks, self.beside, self.swaps, self.scorers, self.statistic)

    @property
    def norm_columns(self) -> tuple[int, ...]:
        """Return the columns of minus the selectivity by norm-weighted attention."""
        columns = self.columns
        return tuple(columns.index(values_column(mask)) for mask in self.valued)

    @property
    def by_norms(self) -> "Selection | None":
        """Return the sieves that score norm-weighted attention, one for each of ``norm_columns``, if any."""
        masks = tuple(replace(mask, values_below=None) for mask in self.valued)
        return Selection(masks, stated=self.stated) if masks else None

    @property
    def needs(self) -> frozenset[str]:
        """Return the annotation that at least one sieve reads."""
        return frozenset().union(*(sieve.needs for sieve in self.sieves))

    @property
    def cleaned(self) -> bool:
        """Return whether a sieve looks words up in cleaned texts, as those of the preset published do."""
        return any(getattr(scorer, "cleaned", False) is True for scorer in self.scorers)

    def fitting(self, known: frozenset[str]) -> "Selection":
        """Return the selection without optional sieves that read annotation other than the known."""
        kept = [sieve for sieve in self.sieves if sieve.name not in self.optional or sieve.needs <= known]
        return replace(self, sieves=tuple(kept))

    def plan(
        self,
        example: Example,
        visible: Bool[np.ndarray, "tokens tokens"] | None,
        dtype: type[np.floating] = np.float32,
    ) -> Plan:
        """Lay the mask sieves over one example, as ``headroles.sieves.weights.plan`` describes."""
        return plan(
            example,
            self.masks,
            visible,
            statistic=self.statistic,
            dtype=dtype,
            beside=self.beside,
            swaps=self.swaps,
        )

    @property
    def layout(self) -> SieveLayout:
        """Return the columns and settings of mask sieves and contrasts, the same for every example."""
        return sieve_layout(self.masks, self.statistic, self.beside, self.swaps)

    def masks_of(self, examples: Sequence[Example]) -> list[SieveMasks]:
        """Return the masks of each example, as ``headroles.sieves.weights.batch`` describes."""
        return sieve_masks(self.masks, self.beside, examples, self.swaps)

    @property
    def class_spaces(self) -> tuple[ClassSpace, ...]:
        """Return the columns of contrasts against word class, by the words that are compared."""
        return class_spaces(self.masks, self.columns)

    def word_pairs_of(self, examples: Sequence[Example]) -> list[tuple[WordPairs | None, ...]]:
        """Return the compared pairs of words of each example, one for each of ``class_spaces``."""
        return pairs_of(self.masks, examples)

    def long_plan(self, example: Example, visible: Mask | None) -> LongPlan:
        """Lay the mask sieves over a long example, without arrays of tokens × tokens."""
        return long_plan(
            example,
            self.masks,
            visible,
            statistic=self.statistic,
            beside=self.beside,
            swaps=self.swaps,
        )

    def rules(self, margin: float | None = None) -> tuple[Rule, ...]:
        """Return the rule that judges each column; bounds are filled in later from the examples.

        Args:
            margin: Margin of every sieve, instead of each one's own; contrasts keep theirs.
        """
        rules: list[Rule] = []
        swaps = self.swaps
        for mask in self.masks:
            usual = mask.margin if self.statistic == "selectivity" else BIAS_MARGIN
            contrast, weaker = _deciding(mask, contrast_column(mask) if mask.contrast else "", swaps)
            contrast = contrast if mask.values_below is None else values_column(mask)
            null = 0.0 if self.statistic == "selectivity" else 1.0
            own_margin = usual if margin is None else margin
            stronger = class_column(mask) if mask.word_class else ""
            rules.append(
                Rule(
                    mask.name,
                    mask.question,
                    null=null,
                    margin=own_margin,
                    contrast=contrast,
                    stronger=stronger,
                    weaker=weaker,
                )
            )
            if mask.contrast:
                rules.append(_contrast_rule(mask, mask.contrast))
            if mask.word_class:
                about = (
                    f"Contrast of {mask.name} against word classes, nearness, frequency and sentence length, "
                    f"less a share of {mask.word_class.share:g} of its contrast against distance"
                )
                rules.append(Rule(stronger, about, margin=mask.word_class.margin, role=False))
            if mask.values_below is not None:
                about = f"Minus the selectivity of {mask.name} by norm-weighted attention"
                rules.append(Rule(contrast, about, margin=-mask.values_below, role=False))
        beside = self.beside
        rules += [
            _contrast_rule(scorer, beside[column])
            for scorer in self.scorers
            if (column := contrast_column(scorer)) in beside
        ]
        for name, swap in swaps.items():
            about = f"Contrast of {name.removesuffix(SWAP)} against what positions alone give"
            rules.append(Rule(name, about, margin=swap.margin, role=False))
        for scorer in self.scorers:
            matched = contrast_column(scorer)
            contrast, weaker = _deciding(scorer, matched if matched in beside else "", swaps)
            rules.append(
                Rule(
                    scorer.name,
                    getattr(scorer, "question", ""),
                    margin=getattr(scorer, "margin", MARGIN) if margin is None else margin,
                    low=getattr(scorer, "low", float("nan")),
                    high=getattr(scorer, "high", float("nan")),
                    contrast=contrast,
                    weaker=weaker,
                )
            )
        bounds = self.bounds
        return tuple(
            replace(rule, stated_low=bounds[rule.sieve][0], stated_high=bounds[rule.sieve][1])
            for rule in rules
        )


def _deciding(sieve: Sieve, matched: str, swaps: Container[str]) -> tuple[str, str]:
    """Return the contrast that decides about the role of a sieve, and a weaker one; "" for none."""
    return (swap, matched) if (swap := swap_column(sieve)) in swaps else (matched, "")


def decide_by_distance(rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Return rules with contrasts beyond distance in place of swaps, for inputs without partners.

    Example:
        >>> decide_by_distance([Rule("block", contrast="block:swap")])[0].contrast
        'block:matched'
    """
    names = [(rule, rule.contrast.removesuffix(SWAP)) for rule in rules]
    return tuple(
        replace(rule, contrast=f"{name}{MATCHED}", weaker="") if name != rule.contrast else rule
        for rule, name in names
    )


def _contrast_rule(sieve: Sieve, contrast: Contrast) -> Rule:
    about = f"Contrast of {sieve.name} against the head's own distance profile"
    if contrast.others is not None:
        about += ", and against what other queries give the same keys"
    return Rule(contrast_column(sieve), about, margin=contrast.margin, role=False)


def select(
    sieves: Sequence[Sieve], statistic: str = "selectivity", optional: frozenset[str] = frozenset()
) -> Selection:
    """Return a selection of at least one sieve.

    Raises:
        BadSieve: When there is no sieve, or two have one name.
    """
    if not sieves:
        raise BadSieve("a run needs at least one sieve, but none was given; headroles sieves lists them")
    return Selection(tuple(sieves), statistic, optional)
