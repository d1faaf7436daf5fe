"""The model of a pruning: opened as a whole, with its inputs, what it is measured on, and its projections."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headroles.errors import BadInput
from headroles.extraction.capture.stacks import ModelInputs
from headroles.extraction.model.checkpoint import Checkpoint, find_checkpoint
from headroles.extraction.model.load import Model
from headroles.extraction.model.losses import (
    CLASSES,
    LossModel,
    LossOptions,
    LossTarget,
    describe_loss,
    prepare_target,
)
from headroles.extraction.model.projections import Projection
from headroles.extraction.padding import pad_inputs
from headroles.extraction.pruning.damage import DamageMeter
from headroles.extraction.pruning.opening import open_whole
from headroles.extraction.pruning.passes import batches_of, mean_outputs, use_fast_attention
from headroles.extraction.pruning.replace import HeadRemover, find_projections, with_output_biases
from headroles.extraction.texts.tokens import Tokenised, tokenise
from headroles.options.causal.ablate import AblateOptions
from headroles.records.causal.columns import ACCURACY, DISTRIBUTION, LOSS
from headroles.records.passage import Passage
from headroles.runs.losses import loss_options

NO_BIAS = (
    "The output projections of this model take no bias, so the outputs of removed heads are replaced by 0 "
    "and not by their means. The certificate is about the model as it is saved."
)
NO_LABELS = "Damage is measured on the classes that the whole model predicts, because the run has no labels."
RARE = (
    "A loss has no largest value. Damage that hits fewer than about {share:.0%} of inputs can be missing "
    "from the units of the certificate."
)


@dataclass(frozen=True, slots=True, eq=False)
class OpenModel:
    """A whole model that is open, and how inputs are read.

    Attributes:
        model: The model.
        max_length: Longest input in tokens.
        losses: Settings of its loss, with the classes of inputs.
    """

    model: Model
    max_length: int
    losses: LossOptions

    def check_weights(self, stated: Mapping[str, Any], folder: str) -> None:
        """Refuse a model whose weights are not those of a run.

        Raises:
            BadInput: When they differ.
        """
        own, known = self.model.described["weights_sha256"], stated.get("weights_sha256")
        if own != known:
            raise BadInput(
                f"heads are removed from the model whose damage was measured, but the weights of "
                f"{self.model.described['name']!r} are not those of '{folder}'; ablate the model as it is now"
            )

    def check_outcome(self, outcome: str) -> None:
        """Refuse an outcome that the model does not have.

        Raises:
            BadInput: When it has no loss, or no classes.
        """
        name, has_loss = self.model.described["name"], isinstance(self.model, LossModel)
        if outcome in (LOSS, DISTRIBUTION, ACCURACY) and not has_loss:
            raise BadInput(
                f"{outcome} is measured on models with a head that has a loss, but {name!r} has none; give "
                f"--outcome representation or tokens"
            )
        classes = isinstance(self.model, LossModel) and self.model.about == CLASSES
        if outcome == ACCURACY and not (classes and self.model.network.config.num_labels > 1):
            raise BadInput(
                f"accuracy is that of a model with classes, but {name!r} has none; give --outcome loss"
            )

    def remarks(self, outcome: str, folds_means: bool, units: int) -> Iterator[str]:
        """Yield what a reader of the certificate must know."""
        if not folds_means:
            yield NO_BIAS
        if isinstance(self.model, LossModel) and self.model.about == CLASSES and self.losses.labels is None:
            yield NO_LABELS
        if outcome == LOSS:
            yield RARE.format(share=3 / units)

    def read(self, passages: Sequence[Passage]) -> tuple[list[Tokenised], list[LossTarget] | None]:
        """Return inputs as the model reads them, with tokens masked for a loss of masked words, and targets.

        Raises:
            BadInput: When an input cannot be read, or its label is missing.
        """
        inputs = tokenise(self.model.tokenizer, passages, self.max_length)
        model = self.model
        if not isinstance(model, LossModel):
            return inputs, None
        pairs = [prepare_target(model, given, self.losses) for given in inputs]
        return [given for given, _ in pairs], [target for _, target in pairs]

    def meter(self, passages: Sequence[Passage], outcome: str, batch_size: int) -> DamageMeter:
        """Return a meter of damage on inputs, which runs the whole model over them now."""
        inputs, targets = self.read(passages)
        return DamageMeter(self.model, inputs, targets, outcome, batch_size)

    def batches(self, inputs: Sequence[Tokenised], batch_size: int) -> list[ModelInputs]:
        """Return inputs as batches of tensors."""
        places = batches_of(self.model, inputs, batch_size)
        return [pad_inputs(self.model, [inputs[place] for place in batch]) for batch in places]


def open_model(options: AblateOptions, device: str, checkpoint: Checkpoint | None = None) -> OpenModel:
    """Open the whole model of a run of ablations.

    Args:
        options: Of the run.
        device: Device to run on.
        checkpoint: Another checkpoint that reads inputs in the same way; None for that of the run.

    Raises:
        BadInput: When the model is gone or cannot be opened, or labels are given that its loss does not need.
    """
    found = find_checkpoint(options.model, options.revision) if checkpoint is None else checkpoint
    model = open_whole(found, device=device, dtype=options.dtype, max_length=options.max_length)
    losses = loss_options(options)
    if isinstance(model, LossModel):
        describe_loss(model, losses)
    return OpenModel(model, options.max_length, losses)


def remover_of(
    opened: OpenModel, references: Sequence[Passage], batch_size: int
) -> tuple[HeadRemover, list[Projection], OpenModel]:
    """Return what removes heads of a model, its output projections, and the model with biases in them.

    Args:
        opened: The model.
        references: Inputs from which mean outputs are taken.
        batch_size: Largest batch.

    Raises:
        BadInput: When the output projections of the model cannot be found.
    """
    inputs, _ = opened.read(references)
    shortest = min(inputs, key=lambda given: given.size)
    short = pad_inputs(opened.model, [shortest])
    projections = find_projections(opened.model.network, short)
    network = with_output_biases(opened.model.network, projections)
    if network is not opened.model.network:
        opened = replace(opened, model=replace(opened.model, network=network))
        projections = find_projections(network, short)
    use_fast_attention(network)
    means = mean_outputs(opened.model, projections, inputs, batch_size)
    return HeadRemover(projections, means), projections, opened
