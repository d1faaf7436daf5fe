"""The sieves of one run as columns: what they need, how they are laid out, how each is judged."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool

from headroles.errors import BadSieve
from headroles.plans.batch import Asking, Stated
from headroles.plans.masks import Mask
from headroles.plans.plan import LongPlan, Plan
from headroles.records.example import Example, Rule
from headroles.sieves.base import MARGIN, Contrast, MaskSieve, Scorer, Sieve
from headroles.sieves.weights.batch import asking, stated
from headroles.sieves.weights.long.plan import long_plan
from headroles.sieves.weights.plan import columns_of, matched, plan

STATISTICS = ("selectivity", "bias")
BIAS_MARGIN = 2.0
"""The published threshold of 3 over the 1 of even attention."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Sieves in the order they were asked for, and the columns they give.

    Mask sieves (and their contrasts) come first, then contrasts of scorers, then scorers, each in the
    order given.

    Attributes:
        sieves: In the order they were asked for.
        statistic: Of mask sieves, "selectivity" or "bias".
        optional: Names of sieves that were asked for by a group alone, and are left out where their
            annotation is not there.
    """

    sieves: tuple[Sieve, ...]
    statistic: str = "selectivity"
    optional: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Refuse two sieves of one name.

        Raises:
            BadSieve: Naming the sieve that came twice.
        """
        names = self.columns
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise BadSieve(
                f"a run has one sieve of each name, but {twice[0]!r} was given twice; name it once"
            )

    @property
    def masks(self) -> tuple[MaskSieve, ...]:
        """Sieves that are masks."""
        return tuple(each for each in self.sieves if isinstance(each, MaskSieve))

    @property
    def scorers(self) -> tuple[Scorer, ...]:
        """Sieves that see attention."""
        return tuple(each for each in self.sieves if not isinstance(each, MaskSieve))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns: masks with their contrasts, contrasts of scorers, scorers."""
        scorers = tuple(each.name for each in self.scorers)
        return columns_of(self.masks) + tuple(self.beside) + scorers

    @property
    def beside(self) -> dict[str, Contrast]:
        """Contrasts of scorers, by their columns."""
        carried = {matched(each): getattr(each, "contrast", None) for each in self.scorers}
        return {name: each for name, each in carried.items() if isinstance(each, Contrast)}

    @property
    def needs(self) -> frozenset[str]:
        """Annotation that at least one sieve reads."""
        return frozenset().union(*(each.needs for each in self.sieves))

    def fitting(self, known: frozenset[str]) -> "Selection":
        """The selection without optional sieves that read more annotation than is known."""
        kept = [each for each in self.sieves if each.name not in self.optional or each.needs <= known]
        return replace(self, sieves=tuple(kept))

    def plan(
        self,
        example: Example,
        visible: Bool[np.ndarray, "tokens tokens"] | None,
        dtype: type[np.floating] = np.float32,
    ) -> Plan:
        """The mask sieves laid over one example; ``headroles.sieves.weights.plan`` says how."""
        return plan(example, self.masks, visible, statistic=self.statistic, dtype=dtype, beside=self.beside)

    @property
    def asking(self) -> Asking:
        """What mask sieves and contrasts ask of every example."""
        return asking(self.masks, self.statistic, self.beside)

    def stated(self, example: Example) -> Stated:
        """What they say of one example; ``headroles.sieves.weights.batch`` says how."""
        return stated(self.masks, self.beside, example)

    def long_plan(self, example: Example, visible: Mask | None) -> LongPlan:
        """The same for a long example, without arrays of tokens × tokens; ``long_plan`` says how."""
        return long_plan(example, self.masks, visible, statistic=self.statistic, beside=self.beside)

    def rules(self, margin: float | None = None) -> tuple[Rule, ...]:
        """How each column is judged; bounds are left to be filled in from the examples.

        Args:
            margin: Margin of every sieve, instead of each one's own; contrasts keep theirs.
        """
        made: list[Rule] = []
        for mask in self.masks:
            usual = mask.margin if self.statistic == "selectivity" else BIAS_MARGIN
            contrast = matched(mask) if mask.contrast else ""
            null = 0.0 if self.statistic == "selectivity" else 1.0
            chosen = usual if margin is None else margin
            made.append(Rule(mask.name, mask.question, null=null, margin=chosen, contrast=contrast))
            if mask.contrast:
                made.append(_contrast_rule(mask, mask.contrast))
        beside = self.beside
        made += [
            _contrast_rule(each, beside[matched(each)]) for each in self.scorers if matched(each) in beside
        ]
        for scorer in self.scorers:
            made.append(
                Rule(
                    scorer.name,
                    getattr(scorer, "question", ""),
                    margin=getattr(scorer, "margin", MARGIN) if margin is None else margin,
                    low=getattr(scorer, "low", float("nan")),
                    high=getattr(scorer, "high", float("nan")),
                    contrast=matched(scorer) if matched(scorer) in beside else "",
                )
            )
        return tuple(made)


def _contrast_rule(each: Sieve, contrast: Contrast) -> Rule:
    about = f"Contrast of {each.name} against the head's own distance profile"
    return Rule(matched(each), about, margin=contrast.margin, role=False)


def select(
    sieves: Sequence[Sieve], statistic: str = "selectivity", optional: frozenset[str] = frozenset()
) -> Selection:
    """A selection, when there is at least one sieve and the statistic exists.

    Raises:
        BadSieve: Otherwise.
    """
    if not sieves:
        raise BadSieve("a run needs at least one sieve, but none was given; headroles sieves lists them")
    return Selection(tuple(sieves), statistic, optional)
