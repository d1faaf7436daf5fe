"""Measure what a model does when heads are taken out or their attention is changed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import torch
from jaxtyping import Bool, Float

from headroles.errors import BadInput
from headroles.extraction.ablation.network import AblatedNetwork, Measured
from headroles.extraction.ablation.outcomes import Changes
from headroles.extraction.ablation.references import (
    Means,
    References,
    donor_places,
    draw_donors,
    mean_outputs,
    token_classes,
)
from headroles.extraction.ablation.replacing import Replacement, Row
from headroles.extraction.capture.threads import one_thread
from headroles.extraction.model.load import Model
from headroles.extraction.model.losses import LossTarget
from headroles.extraction.texts.tokens import Tokenised
from headroles.records.causal.columns import CELLS, EVEN, MATCHED, MEAN, RESAMPLE, ZERO

Result = TypeVar("Result")
LEAST_MATCH = 0.9
"""Least share of a role's mass that other cells at the same offsets have, for matched cells to be removed."""


@dataclass(frozen=True, slots=True, eq=False)
class Arm:
    """One intervention.

    Attributes:
        by: One of ``records.causal.columns.INTERVENTIONS``.
        heads: The (layer, head) pairs that are changed together; none for the clean arm.
        cells: For "cells" and "cells:matched", the role's (query, key) cells in each example of the batch.
    """

    by: str
    heads: tuple[tuple[int, int], ...]
    cells: Sequence[Bool[np.ndarray, "_ _"]] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Effects:
    """What interventions did to a batch of inputs.

    Attributes:
        values: By outcome, the damage (arms, examples), float64: rise of the mean loss in nats (or of the
            squared error), mean total variation, 1 − cosine of the mean state, mean 1 − cosine of tokens.
            Exactly 0 for an arm that changes nothing. NaN where an input has no value (one token has no next
            word), and for "cells:matched" where other cells have less than nine tenths of the role's mass.
        by_token: By outcome and example, the damage at every token (arms, tokens), float64; NaN where a token
            has none. A next word's loss stands at the token before it. Classes and the representation have
            none: they are not among the keys.
        clean: Loss of each example without intervention (examples,), float64; NaN for none.
        clean_tokens: By example, that of each token (tokens,); NaN for none.
        norm: Mean over tokens of the norm of each head's own part of the layer's output, ‖o W_O‖ (examples,
            layers, heads), float64.
    """

    values: Mapping[str, Float[np.ndarray, "arms examples"]]
    by_token: Mapping[str, Sequence[Float[np.ndarray, "arms _"]]]
    clean: Float[np.ndarray, " examples"]
    clean_tokens: Sequence[Float[np.ndarray, " _"]]
    norm: Float[np.ndarray, "examples layers heads"]


class Ablator:
    """Measures damage in one model.

    Every input runs alone, in rows of copies with an intervention each, so no number depends on a batch or
    on padding.
    """

    def __init__(
        self,
        model: Model,
        outcomes: Sequence[str],
        references: References | None = None,
        *,
        seed: int = 0,
        draws: int = 5,
    ) -> None:
        """Check the model, and compute mean outputs.

        Args:
            model: From ``extraction.model.load.load``, or ``extraction.model.losses.load_with_loss`` for the
                outcomes "loss" and "distribution".
            outcomes: What damage is measured on, of ``records.causal.columns.OUTCOMES``.
            references: Inputs that means and draws are taken from; None where no arm has any.
            seed: Seed of folds and draws.
            draws: Draws that "resample" averages over.

        Raises:
            BadInput: When heads of the model cannot be replaced, an outcome needs a head that it lacks, or
                references are of one unit.
        """
        self._network = AblatedNetwork(model, outcomes)
        self._model, self._outcomes = model, tuple(outcomes)
        self._references, self._seed, self._draws = references, seed, draws
        self._means: Means | None = None
        if references is not None:
            self._means = mean_outputs(references, seed, self._network.head_outputs, self._of_each)

    @property
    def described(self) -> dict[str, Any]:
        """Return how interventions are run, for the record."""
        return {
            **self._network.described,
            **({} if self._means is None else {"mean_outputs": self._means.digest}),
        }

    def measure(
        self,
        batch: Sequence[Tokenised],
        units: Sequence[str],
        targets: Sequence[LossTarget] | None,
        arms: Sequence[Arm],
    ) -> Effects:
        """Return the damage of every arm to every input.

        Args:
            batch: Inputs, as ``extraction.model.losses.prepare_target`` returns them.
            units: Unit of each.
            targets: Target of each; None where no outcome needs a loss or a distribution.
            arms: The interventions.

        Raises:
            BadInput: When a model of next words sees later ones, or an arm needs references and there are
                none.
        """
        self._check_arms(arms)
        aims = [LossTarget()] * len(batch) if targets is None else targets

        def measure(place: int) -> Measured:
            return self._measure_one(batch[place], units[place], aims[place], arms, place)

        measured = [*self._of_each(measure, range(len(batch)))]
        keys = measured[0].changes.values if measured else ()
        by_token = measured[0].changes.by_token if measured else ()
        return Effects(
            values={key: np.stack([own.changes.values[key] for own in measured], axis=1) for key in keys},
            by_token={key: [own.changes.by_token[key] for own in measured] for key in by_token},
            clean=np.array([own.clean for own in measured]),
            clean_tokens=[own.clean_tokens for own in measured],
            norm=np.stack([own.norm for own in measured])
            if measured
            else np.zeros((0, self._model.layers, self._model.heads)),
        )

    def screen(
        self,
        batch: Sequence[Tokenised],
        units: Sequence[str],
        targets: Sequence[LossTarget],
        by: str = MEAN,
    ) -> Float[np.ndarray, "examples layers heads"]:
        """Return the damage to the loss to first order, of all heads at once.

        Δ̂_h = Σ_i ⟨∂ℓ/∂o_i, μ_i − o_i⟩, where o_i is the output of head h at token i and μ_i what is put in
        its place. It takes one pass forward and one back. It is exact where the loss is linear in o.

        Source: attribution patching (Nanda 2023; Syed et al. 2023); Michel et al. (2019), equation 2, for 0.

        Args:
            batch: Inputs, as ``measure`` takes them.
            units: Unit of each.
            targets: Target of each.
            by: "mean" or "zero".

        Returns:
            Rise of the mean loss in nats, float64; NaN where an input has no loss.

        Raises:
            BadInput: When the model has no loss, or means are asked for and there are no references.
        """
        if not self._network.about:
            raise BadInput(
                "damage to first order follows from gradients of a loss, but the model was loaded without a "
                "head that has one; leave --screen out"
            )

        def screened(place: int) -> np.ndarray:
            damage = np.full((self._model.layers, self._model.heads), np.nan)
            pair = self._network.gradients(batch[place], targets[place])
            classes = token_classes(batch[place])
            for layer, (output, gradient) in enumerate(zip(*pair, strict=True) if pair is not None else ()):
                new = self.means().of(units[place], classes, layer) if by == MEAN else torch.zeros(1)
                step = new.to(output.device) - output.double()
                damage[layer] = torch.einsum("thd,thd->h", gradient.double(), step).cpu().numpy()
            return damage

        shape = (0, self._model.layers, self._model.heads)
        return np.stack([*self._of_each(screened, range(len(batch)))]) if batch else np.zeros(shape)

    def _of_each(self, work: Callable[[int], Result], places: range) -> Iterator[Result]:
        """Yield the result of every input in their order; on a processor several threads have an input each.

        Each input is computed by one thread, so results do not depend on the number of threads.
        """
        threads = torch.get_num_threads() if self._model.device.type == "cpu" else 1
        with self._network.prepared(), one_thread(self._model.device):
            if threads == 1 or len(places) < 2:
                yield from map(work, places)
                return
            with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as executor:
                yield from executor.map(work, places)

    def _check_arms(self, arms: Sequence[Arm]) -> None:
        """Refuse new weights in a model whose outputs are not weights times values."""
        changed = [arm.by for arm in arms if arm.by in (EVEN, CELLS, MATCHED)]
        if changed and not self._network.convex:
            raise BadInput(
                f"--by {changed[0]} needs outputs of heads that are weights times values, but those of "
                f"{self._model.described['architecture']} are not; give --by mean, zero or resample"
            )

    def _measure_one(
        self, tokenised: Tokenised, unit: str, target: LossTarget, arms: Sequence[Arm], place: int
    ) -> Measured:
        """Return the damage of all arms to one input."""
        maker = _RowMaker(self, tokenised, unit)
        rows = [(number, row) for number, arm in enumerate(arms) for row in maker.rows(arm, place)]
        owners = np.array([number for number, _ in rows], dtype=np.int64)
        measured = self._network.measure(tokenised, target, [row for _, row in rows])
        averaged = _averaged(measured.changes, owners, measured.matched < LEAST_MATCH, len(arms))
        return replace(measured, changes=averaged)

    def means(self) -> Means:
        """Return the mean outputs.

        Raises:
            BadInput: When there are no references.
        """
        if self._means is None:
            raise BadInput("mean outputs are those of reference inputs, but none were given; give some")
        return self._means


class _RowMaker:
    """Makes the rows of an input: what stands in place of heads in every arm."""

    def __init__(self, ablator: Ablator, tokenised: Tokenised, unit: str) -> None:
        self._ablator, self._tokenised, self._unit = ablator, tokenised, unit
        self._classes = token_classes(tokenised)
        self._kept: dict[Any, Any] = {}

    def rows(self, arm: Arm, place: int) -> list[Row]:
        """Return the rows of an arm: one, or one for every draw."""
        if arm.by == RESAMPLE:
            return [self._row(arm, self._drawn(draw)) for draw in range(self._ablator._draws)]
        if arm.by == MEAN:
            return [self._row(arm, self._mean)]
        if arm.by == ZERO:
            return [self._row(arm, None)]
        cells = others = None
        if arm.by in (CELLS, MATCHED):
            own = arm.cells[place]
            cells = self._once(("cells", id(own)), lambda: torch.from_numpy(own))
            if arm.by == MATCHED:
                others = self._once(("others", id(own)), lambda: self._others(own))
        elif arm.by != EVEN:
            raise ValueError(f"unknown intervention {arm.by!r}")
        row: dict[int, list[Replacement]] = {}
        for layer, head in arm.heads:
            row.setdefault(layer, []).append(Replacement(head, weights=arm.by, cells=cells, others=others))
        return [row]

    def _others(self, cells: np.ndarray) -> torch.Tensor:
        """Return other cells than those of a role, with special tokens only where the role has some."""
        others, special = ~cells, self._tokenised.texts < 0
        others[:, special] &= cells[:, special].any()
        others[special] &= cells[special].any()
        return torch.from_numpy(others)

    def _row(self, arm: Arm, outputs: Callable[[int], torch.Tensor] | None) -> Row:
        """Return a row with new outputs of the heads; of zero for None."""
        row: dict[int, list[Replacement]] = {}
        for layer, head in arm.heads:
            new = torch.zeros(1, 1) if outputs is None else outputs(layer)[:, head]
            row.setdefault(layer, []).append(Replacement(head, new))
        return row

    def _mean(self, layer: int) -> torch.Tensor:
        return self._once(("mean", layer), lambda: self._ablator.means().of(self._unit, self._classes, layer))

    def _drawn(self, draw: int) -> Callable[[int], torch.Tensor]:
        return lambda layer: self._once(("drawn", draw, layer), lambda: self._donated(draw)[layer])

    def _donated(self, draw: int) -> list[torch.Tensor]:
        """Return the outputs of a draw by layer (tokens, heads, head_dim), one for each own token."""
        return self._once(("donated", draw), lambda: self._donate(draw))

    def _donate(self, draw: int) -> list[torch.Tensor]:
        ablator, references = self._ablator, self._ablator._references
        if references is None:
            raise BadInput("outputs are drawn from reference inputs, but none were given; give some")
        donors = draw_donors(
            references, self._tokenised.passage.key, self._unit, draws=ablator._draws, seed=ablator._seed
        )
        donor = references.inputs[int(donors[draw])]
        places = torch.from_numpy(donor_places(self._classes, token_classes(donor)))
        return [output[places.to(output.device)] for output in ablator._network.head_outputs(donor)]

    def _once(self, key: Any, make: Callable[[], Result]) -> Result:
        """Return tensors of this input, made at the first call."""
        if key not in self._kept:
            self._kept[key] = make()
        made: Result = self._kept[key]
        return made


def _averaged(changes: Changes, owners: np.ndarray, short: np.ndarray, arms: int) -> Changes:
    """Return the mean change of the rows of every arm; NaN for rows without enough cells to match."""

    def mean(values: np.ndarray) -> np.ndarray:
        values = np.where(short.reshape(-1, *[1] * (values.ndim - 1)), np.nan, values)
        total = np.zeros((arms, *values.shape[1:]))
        np.add.at(total, owners, values)
        count: np.ndarray = np.bincount(owners, minlength=arms)
        averaged: np.ndarray = total / count.reshape(-1, *[1] * (values.ndim - 1))
        return averaged

    return Changes(
        {key: mean(values) for key, values in changes.values.items()},
        {key: mean(values) for key, values in changes.by_token.items()},
    )
