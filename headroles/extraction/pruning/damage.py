"""Measure what a network without some heads changes, input by input, against the whole network."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from headroles.extraction.ablation.outcomes import Answers, changes_of, losses_of
from headroles.extraction.model.load import Model
from headroles.extraction.model.losses import CLASSES, LossModel, LossTarget
from headroles.extraction.pruning.passes import answers_of
from headroles.extraction.texts.tokens import Tokenised
from headroles.records.causal.columns import ACCURACY, LOSS, REPRESENTATION, TOKENS


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Damage of every input.

    Attributes:
        change: Damage on the outcome's own scale; NaN where an input has none.
        right: 1 where the network predicts the right class, else 0; NaN without classes.
    """

    change: Float[np.ndarray, " inputs"]
    right: Float[np.ndarray, " inputs"]


class DamageMeter:
    """Compares a network with what it put out before its heads were removed."""

    def __init__(
        self,
        model: Model,
        inputs: Sequence[Tokenised],
        targets: Sequence[LossTarget] | None,
        outcome: str,
        batch_size: int,
    ) -> None:
        """Run the whole network over the inputs.

        Args:
            model: The model, whose network has all heads now.
            inputs: Inputs as the model reads them.
            targets: Their targets; None where the model has no loss.
            outcome: One of ``records.causal.pruning.PRUNE_OUTCOMES``.
            batch_size: Largest batch.
        """
        self._model, self._inputs, self._outcome, self._batch_size = model, inputs, outcome, batch_size
        self._hidden = outcome in (REPRESENTATION, TOKENS)
        self._about = model.about if isinstance(model, LossModel) else ""
        classes = self._about == CLASSES and model.network.config.num_labels > 1
        self._targets = targets if not self._hidden or classes else None
        self._classes = classes
        self._clean: list[Answers] = [Answers(None, None)] * len(inputs)
        self.clean_loss: np.ndarray = np.full(len(inputs), np.nan)
        """Loss of each input without intervention; NaN where no loss is computed."""
        self.clean_right: np.ndarray = np.full(len(inputs), np.nan)
        """1 where the whole network predicts the right class, else 0; NaN without classes."""
        self._labels = np.zeros(len(inputs), dtype=np.int64)
        for place, answers in self._answers(model):
            self._keep(place, answers)

    def _answers(self, model: Model) -> Iterator[tuple[int, Answers]]:
        """Run a network as it is now over all inputs."""
        return answers_of(
            model, self._inputs, self._targets, hidden=self._hidden, batch_size=self._batch_size
        )

    def _keep(self, place: int, answers: Answers) -> None:
        """Keep what the whole network put out for an input; of logits for a loss of words only the loss."""
        if self._targets is not None and answers.logits is not None:
            target = self._targets[place]
            if self._classes:
                label = int(answers.logits.argmax()) if target.label is None else int(target.label)
                self._labels[place] = label
                self.clean_right[place] = float(answers.logits.argmax() == label)
            self.clean_loss[place] = self._loss(place, answers)
        if self._outcome not in (LOSS, ACCURACY):
            self._clean[place] = answers

    def _loss(self, place: int, answers: Answers) -> float:
        """Return the loss of an input in nats, or its squared error; NaN where it has none."""
        assert answers.logits is not None
        assert self._targets is not None
        target = self._targets[place]
        if not answers.logits.shape[1]:
            return float("nan")
        return float(losses_of(answers.logits, target, self._about, int(self._labels[place])).mean())

    def measure(self, model: Model | None = None) -> Measured:
        """Return the damage of a network as it is now, which is exactly 0 where it has all heads.

        Args:
            model: A model that reads the same inputs; None for the one that was measured whole.
        """
        change, right = np.full((2, len(self._inputs)), np.nan)
        for place, answers in self._answers(self._model if model is None else model):
            if self._classes and answers.logits is not None:
                right[place] = float(answers.logits.argmax() == self._labels[place])
            change[place] = self._change(place, answers, right)
        return Measured(change, right)

    def _change(self, place: int, answers: Answers, right: np.ndarray) -> float:
        if self._outcome == ACCURACY:
            return float(self.clean_right[place] - right[place])
        if self._outcome == LOSS:
            return self._loss(place, answers) - float(self.clean_loss[place])
        target = LossTarget() if self._targets is None else self._targets[place]
        tokens = self._inputs[place].size
        changes = changes_of(answers, self._clean[place], (self._outcome,), target, self._about, tokens)
        return float(changes.values[self._outcome][0])
