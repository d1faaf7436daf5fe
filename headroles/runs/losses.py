"""The losses of a run: its options of them, the classes of its inputs, and the model that has the loss."""

from pathlib import Path

from headroles.errors import BadInput
from headroles.extraction.model.checkpoint import Checkpoint
from headroles.extraction.model.losses import (
    MASKED,
    LossModel,
    LossNeed,
    LossOptions,
    describe_loss,
    load_with_loss,
)
from headroles.extraction.texts.files import file_format
from headroles.extraction.texts.sources import passages_of_rows, read_table
from headroles.options.causal.ablate import AblateOptions
from headroles.options.surface import MASK, SurfaceOptions
from headroles.records.objects import DataObject

HasLoss = SurfaceOptions | AblateOptions
"""Options of runs that compute losses."""


def loss_options(options: HasLoss) -> LossOptions:
    """Return the settings of the losses of a run, with the classes of its inputs from the file.

    Raises:
        BadInput: When the file has no such column.
    """
    return LossOptions(mask=options.mask, seed=options.seed, labels=_labels(options))


def _labels(options: HasLoss) -> dict[str, str] | None:
    """Return the class of each row of the file, by the key of its passage."""
    if options.label is None:
        return None
    if isinstance(options.data, DataObject):
        rows = passages_of_rows(options.data.rows([options.label]), (), options.label, options.name)
        return {row.key: row.group for row in rows if row.group is not None}
    file = Path(options.data or "")
    if file_format(file) == ".conllu":
        raise BadInput(f"--label names a column of a table, but '{file}' is a CoNLL-U file; leave it out")
    table = read_table(file, (), group=options.label, name=options.name)
    return {row.key: row.group for row in table if row.group is not None}


def model_with_loss(
    checkpoint: Checkpoint, options: HasLoss, losses: LossOptions, need: LossNeed
) -> LossModel:
    """Load the model of a run with the head that has its loss.

    Args:
        checkpoint: The checkpoint.
        options: Of the run.
        losses: Its settings of losses.
        need: What the loss is for.

    Raises:
        BadInput: When the model has no loss, or an option does not fit its loss.
    """
    model = load_with_loss(
        checkpoint,
        device=options.device,
        device_map=options.device_map,
        dtype=options.dtype,
        max_length=options.max_length,
        need=need,
    )
    describe_loss(model, losses)
    if options.mask != MASK and model.about != MASKED:
        raise BadInput(
            f"--mask is for losses of {MASKED}, but that of {checkpoint.name!r} "
            f"({model.described['architecture']}) has a loss of {model.about}; leave it out"
        )
    return model
