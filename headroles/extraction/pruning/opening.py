"""Open the whole model of a checkpoint, with the head that it was saved with, and save it again."""

from collections.abc import Sequence
from pathlib import Path
from shutil import copymode
from typing import Any

import transformers
from safetensors import SafetensorError

from headroles.errors import BadInput
from headroles.extraction.capture.stacks import ModelInputs
from headroles.extraction.model.checkpoint import Checkpoint
from headroles.extraction.model.load import Model, load, silence_library
from headroles.extraction.model.losses import LOSS_HEADS, load_with_loss
from headroles.extraction.pruning.cut import CLOSE, largest_gap
from headroles.extraction.pruning.passes import use_fast_attention

PLAIN_ENDING = "Model"
"""Ending of the names of architectures without a head."""


def open_whole(checkpoint: Checkpoint, *, device: str, dtype: str, max_length: int) -> Model:
    """Load a checkpoint as the class that it was saved from, with the library's fast attention.

    Args:
        checkpoint: The checkpoint.
        device: "auto", "cpu", "cuda" or "mps".
        dtype: "float32", "bfloat16" or "float16".
        max_length: Longest input in tokens.

    Returns:
        The model; a ``LossModel`` where its head has a loss.

    Raises:
        BadInput: When it has an encoder and a decoder, its class is unknown, or it cannot be loaded.
    """
    try:
        with silence_library():
            config = transformers.AutoConfig.from_pretrained(
                checkpoint.target, revision=checkpoint.revision or "main", trust_remote_code=False
            )
    except Exception as error:  # the library raises many kinds; each becomes one sentence
        reason = " ".join(str(error).split())[:300]
        raise BadInput(f"the model {checkpoint.name!r} has no config that can be read: {reason}") from error
    if config.is_encoder_decoder:
        raise BadInput(
            f"heads are removed from models that are all encoder or all decoder, but {checkpoint.name!r} has "
            f"both; prune another model"
        )
    name = next(iter(config.architectures or ()), PLAIN_ENDING)
    given: dict[str, Any] = {"device": device, "dtype": dtype, "max_length": max_length}
    labelled = getattr(config, "problem_type", None) == "multi_label_classification"
    if name.endswith(tuple(LOSS_HEADS)) and not labelled:
        model: Model = load_with_loss(checkpoint, **given)
    else:
        model = load(checkpoint, head=_class_of(name, checkpoint), **given)
    model.network.requires_grad_(False)
    use_fast_attention(model.network)
    return model


def _class_of(name: str, checkpoint: Checkpoint) -> Any:
    """Return the library's class of an architecture; None for one without a head."""
    if name.endswith(PLAIN_ENDING):
        return None
    kind = getattr(transformers, name, None)
    if kind is None:
        raise BadInput(
            f"a model is saved as the class that it was loaded from, but {checkpoint.name!r} names {name!r}, "
            f"which transformers {transformers.__version__} does not have; install the version that does"
        )
    return kind


def save_network(model: Model, folder: Path, batches: Sequence[ModelInputs]) -> float:
    """Save the network and tokenizer of a model, load them by plain transformers, and compare the outputs.

    Weights that the checkpoint lacked, such as those of a pooler that nothing reads, are not saved.

    Args:
        model: The model.
        folder: Folder to write, as ``from_pretrained`` reads it.
        batches: Inputs to compare on.

    Returns:
        Largest difference of outputs, relative to the largest output.

    Raises:
        BadInput: When the outputs differ.
        OSError: When the files cannot be written.
    """
    network, missing = model.network, {*model.described["missing_weights"]}
    weights = {name: value for name, value in network.state_dict().items() if name not in missing}
    with silence_library():
        try:
            network.save_pretrained(folder, **({"state_dict": weights} if missing else {}))
            model.tokenizer.save_pretrained(folder)
        except Exception as error:
            if type(error) not in (SafetensorError, Exception):
                raise
            raise OSError(str(error)) from error  # the writers' own kinds of errors of a full disk
        for file in folder.iterdir():  # weights may be written for their owner alone
            copymode(folder / "config.json", file)
        again = type(network).from_pretrained(folder, use_safetensors=True, trust_remote_code=False)
    again = again.to(model.device).eval()
    use_fast_attention(again)
    gap = largest_gap(network, again, batches)
    if not gap <= CLOSE:
        raise BadInput(
            f"a saved model gives the outputs that were measured, but plain transformers loads "
            f"{type(network).__name__} with outputs that differ by {gap:.2g} of the largest; nothing was kept"
        )
    return gap
