"""What gradients need beside attention: a model with a loss, and the classes of the inputs."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from headroles.errors import BadInput
from headroles.extraction.jobs.gradients import gradient_shards
from headroles.extraction.model.checkpoint import Checkpoint
from headroles.extraction.model.losses import MASKED, LossModel, LossOptions, described_loss, load_with_loss
from headroles.extraction.scoring.reader import Shard
from headroles.extraction.texts.sources import kind_of, read_table
from headroles.options.surface import MASK, SurfaceOptions
from headroles.records.passage import Passage
from headroles.sieves.surface import kinds


def loss_options(options: SurfaceOptions) -> LossOptions:
    """What the losses of a run depend on, the classes of its inputs read from the file.

    Raises:
        BadInput: When the file has no such column.
    """
    return LossOptions(mask=options.mask, seed=options.seed, labels=_labels(options))


def _labels(options: SurfaceOptions) -> dict[str, str] | None:
    """The class of each row of the file, by the keys that its passages have."""
    if options.label is None:
        return None
    file = Path(options.data or "")
    if kind_of(file) == ".conllu":
        raise BadInput(f"--label names a column of a table, but '{file}' is a CoNLL-U file; leave it out")
    rows = read_table(file, (), group=options.label, name=options.name)
    return {row.key: row.group for row in rows if row.group is not None}


def model_with_loss(checkpoint: Checkpoint, options: SurfaceOptions, losses: LossOptions) -> LossModel:
    """The model of a run with gradients.

    Raises:
        BadInput: When it has no loss, or one that an option does not fit.
    """
    model = load_with_loss(
        checkpoint, device=options.device, dtype=options.dtype, max_length=options.max_length
    )
    described_loss(model, losses)
    if options.mask != MASK and model.about != MASKED:
        raise BadInput(
            f"--mask is for losses of {MASKED}, but that of {checkpoint.name!r} "
            f"({model.described['architecture']}) is of {model.about}; leave it out"
        )
    return model


def importance_shards(
    model: LossModel,
    passages: Sequence[Passage],
    options: SurfaceOptions,
    losses: LossOptions,
    advance: Callable[[int], None],
) -> Iterator[Shard]:
    """Importance of attention to each kind of token, shard by shard."""
    return gradient_shards(
        model,
        passages,
        partial(kinds, marks=options.marks),
        options=losses,
        batch_size=options.batch_size,
        max_length=options.max_length,
        advance=advance,
    )
