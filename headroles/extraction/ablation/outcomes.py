"""What an intervention changes in the output of a model: its loss, its distribution, its hidden states."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float

from headroles.extraction.model.losses import CLASSES, LossTarget
from headroles.records.causal.columns import DISTRIBUTION, LOSS, REPRESENTATION, TOKENS

ROOM = 2**26
"""Most bytes of a float64 distribution that is compared at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """What a model puts out for rows of copies of one input.

    Attributes:
        hidden: Last hidden states (rows, tokens, width); None where no outcome needs them.
        logits: At the target's places (rows, places, words), or of classes (rows, 1, classes); None for none.
    """

    hidden: torch.Tensor | None
    logits: torch.Tensor | None

    @property
    def arrays(self) -> list[torch.Tensor]:
        """Return what there is of hidden states and logits."""
        return [array for array in (self.hidden, self.logits) if array is not None]

    def none(self) -> "Answers":
        """Return no rows."""
        return Answers(
            None if self.hidden is None else self.hidden[:0],
            None if self.logits is None else self.logits[:0],
        )

    def put(self, where: Bool[np.ndarray, " rows"], row: "Answers") -> "Answers":
        """Return the answers with one row, as another pass gives it, in the place of some."""

        def put(own: torch.Tensor | None, other: torch.Tensor | None) -> torch.Tensor | None:
            if own is None or other is None:
                return None
            return torch.where(torch.from_numpy(where).to(own.device)[:, None, None], other, own)

        return Answers(put(self.hidden, row.hidden), put(self.logits, row.logits))


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """What interventions change in one input.

    Attributes:
        values: By outcome, the change of every row (rows,); NaN where the input has no value.
        by_token: By outcome, that of every token (rows, tokens); NaN where a token has none.
    """

    values: Mapping[str, Float[np.ndarray, " rows"]]
    by_token: Mapping[str, Float[np.ndarray, "rows tokens"]]


def losses_of(
    logits: torch.Tensor, target: LossTarget, about: str, label: int
) -> Float[np.ndarray, "rows places"]:
    """Return the loss of every row and place in nats, in float64; a class has one place.

    The loss of a model with one output is the squared error.

    Args:
        logits: (rows, places, words), or (rows, 1, classes).
        target: The right words, or the right class.
        about: Kind of loss.
        label: The class, where the target leaves it to the model.
    """
    if about == CLASSES and logits.shape[-1] == 1:
        squared: np.ndarray = (logits[..., 0].double() - (target.label or 0.0)).square().cpu().numpy()
        return squared
    right = target.words
    if about == CLASSES:
        right = np.array([label if target.label is None else int(target.label)])
    index = torch.as_tensor(right, device=logits.device)
    parts = []
    for rows in _parts(logits):
        wide = rows.double()
        own = wide.gather(-1, index[None, :, None].expand(len(wide), -1, 1))[..., 0]
        parts.append((torch.logsumexp(wide, -1) - own).cpu().numpy())
    return np.concatenate(parts)


def total_variation(logits: torch.Tensor, clean: torch.Tensor) -> Float[np.ndarray, "rows places"]:
    """Return the total variation ½ Σ_w |p_w − q_w| of rows from one row, in float64."""
    before = clean.double().softmax(-1)
    parts = [(rows.double().softmax(-1) - before).abs().sum(-1) / 2 for rows in _parts(logits)]
    distance: np.ndarray = torch.cat(parts).clamp(max=1.0).cpu().numpy()
    return distance


def cosine_distance(
    states: Float[torch.Tensor, "... width"], clean: Float[torch.Tensor, "... width"]
) -> np.ndarray:
    """Return 1 − cosine of vectors, at most 1, in float64; exactly 0 where they are equal.

    It is ½ ‖u − v‖² of the vectors of length 1, which loses no digits where both are near.

    Example:
        >>> cosine_distance(torch.tensor([[3.0, 0.0], [0.0, 2.0]]), torch.tensor([1.0, 0.0])).tolist()
        [0.0, 1.0]
    """
    first, second = (vectors.double() for vectors in (states, clean))
    units = [v / v.norm(dim=-1, keepdim=True).clamp(min=1e-300) for v in (first, second)]
    distance: np.ndarray = ((units[0] - units[1]).square().sum(-1) / 2).clamp(max=1.0).cpu().numpy()
    return distance


def changes_of(
    answers: Answers, clean: Answers, outcomes: Sequence[str], target: LossTarget, about: str, tokens: int
) -> Changes:
    """Return what interventions change; exactly 0 where an answer is equal to the clean one.

    Args:
        answers: Those of rows with interventions.
        clean: That of one row without.
        outcomes: What is measured.
        target: Places, words or class of the input; without a class it is the one of the clean row.
        about: Kind of loss; "" for none.
        tokens: Number of tokens of the input.
    """
    values, by_token = {}, {}
    rows, places = len(answers.arrays[0]), places_of(target, about)
    for outcome in outcomes:
        if outcome == REPRESENTATION:
            values[outcome] = _pooled_change(answers, clean)
            continue
        if outcome == TOKENS:
            by_token[outcome] = _token_changes(answers, clean)
            values[outcome] = by_token[outcome].mean(1)
            continue
        change = np.full((rows, 1), np.nan)
        if rows and len(places):
            change = _logit_change(answers, clean, outcome, target, about)
        values[outcome] = change.mean(1)
        if about != CLASSES:
            by_token[outcome] = np.full((rows, tokens), np.nan)
            by_token[outcome][:, places] = change[:, : len(places)]
    return Changes(values, by_token)


def places_of(target: LossTarget, about: str) -> np.ndarray:
    """Return the places of the logits; a class has one."""
    return np.arange(1) if about == CLASSES else target.places


def predicted(clean: Answers, about: str) -> int:
    """Return the class that the model predicts in its one row; 0 where it has no classes."""
    return int(clean.logits[0, 0].argmax()) if about == CLASSES and clean.logits is not None else 0


def _pooled_change(answers: Answers, clean: Answers) -> Float[np.ndarray, " rows"]:
    """Return 1 − cosine of the mean states of the rows."""
    states, own = _both(answers.hidden, clean.hidden)
    change = cosine_distance(states.double().mean(1), own.double().mean(1))
    return np.where(_equal(states, own).all(1), 0.0, change)


def _token_changes(answers: Answers, clean: Answers) -> Float[np.ndarray, "rows tokens"]:
    """Return 1 − cosine of the states of all tokens."""
    states, own = _both(answers.hidden, clean.hidden)
    return np.where(_equal(states, own), 0.0, cosine_distance(states, own))


def _logit_change(
    answers: Answers, clean: Answers, outcome: str, target: LossTarget, about: str
) -> Float[np.ndarray, "rows places"]:
    """Return the change of the loss or of the distribution at every place."""
    logits, own = _both(answers.logits, clean.logits)
    if outcome == DISTRIBUTION:
        change = total_variation(logits, own)
    else:
        assert outcome == LOSS
        label = predicted(clean, about)
        change = losses_of(logits, target, about, label) - losses_of(own, target, about, label)
    return np.where(_equal(logits, own), 0.0, change)


def _both(first: torch.Tensor | None, second: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
    assert first is not None
    assert second is not None
    return first, second


def _equal(first: torch.Tensor, second: torch.Tensor) -> np.ndarray:
    """Return which vectors are equal to the bit: sums of them may round differently by number of rows."""
    same: np.ndarray = (first == second).all(-1).cpu().numpy()
    return same


def _parts(logits: torch.Tensor) -> Sequence[torch.Tensor]:
    """Return rows in parts whose float64 copies are small."""
    step = max(1, ROOM // (8 * logits.shape[1] * logits.shape[2]))
    return [logits[start : start + step] for start in range(0, len(logits), step)]
