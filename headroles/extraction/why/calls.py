"""Read the queries and keys of every layer for one input, and refuse models that do not show them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch

from headroles.errors import BadInput
from headroles.extraction.capture.neurons import Call, Parts, fit_parts
from headroles.extraction.capture.plain import run_with_calls, same_attention
from headroles.extraction.capture.stacks import ENCODER_IDS, ModelInputs
from headroles.extraction.capture.threads import one_thread
from headroles.extraction.model.load import Model
from headroles.extraction.padding import pad_inputs
from headroles.extraction.stream import is_out_of_memory
from headroles.extraction.texts.tokens import Tokenised
from headroles.extraction.views.check import errors_in_one_sentence
from headroles.extraction.views.kept import RECOMPUTED_TOLERANCE
from headroles.records.rules.names import RETURNED
from headroles.records.view import CROSS

UNREAD = "its queries and keys cannot be read"
"""End of the sentences that refuse a model."""

TakeParts = Callable[[int, Call, Parts], None]
"""Takes the number of a layer, its call and the parts of its weights."""


@contextmanager
def reading(model: Model) -> Iterator[None]:
    """Read queries and keys on one thread; afterwards attention is read as before.

    Sums over many threads round differently, so results would depend on their number.

    Raises:
        BadInput: When the model does not call transformers' attention interface, or its cross attention is
            read.
    """
    name = model.described["architecture"]
    if model.way.name == RETURNED:
        raise BadInput(
            f"queries and keys are read from models that call transformers' attention interface, but {name} "
            f"does not; give a model of another architecture (docs/reference/models.md)"
        )
    if model.way.kind == CROSS:
        raise BadInput(
            "queries and keys are compared within one text, but --kind is cross; give --kind encoder or "
            "--kind decoder"
        )
    with same_attention(model.network), one_thread(model.device), torch.inference_mode():
        yield


def read_calls(model: Model, inputs: ModelInputs, take: Callable[[int, Call], None]) -> None:
    """Run a model once inside ``reading``, and hand the calls of the attention that is read to ``take``.

    Raises:
        BadInput: When the model fails, the input does not fit in memory, or there is not one call for each
            layer.
    """
    calls = 0

    def count(call: Call) -> None:
        nonlocal calls
        if model.way.modules is None or call.module in model.way.modules:
            calls += 1
            if calls <= model.layers:
                take(calls - 1, call)

    with errors_in_one_sentence(model.network, UNREAD):
        try:
            run_with_calls(model.network, inputs, count)
        except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            raise BadInput(
                f"one input of {inputs[ENCODER_IDS].shape[1]} tokens does not fit in the memory of "
                f"{model.device}; give a smaller --max-length, or another --device"
            ) from error
    if calls != model.layers:
        raise BadInput(
            f"each layer shows its queries and keys once, but {type(model.network).__name__} has "
            f"{model.layers} layers and {calls} calls of attention; {UNREAD}"
        )


def read_parts(model: Model, tokenised: Tokenised, take: TakeParts) -> None:
    """Run an input once inside ``reading``, and hand over the parts of the weights of each layer.

    Args:
        model: The model.
        tokenised: The input.
        take: Gets every layer in its order, with the parts of all of its heads.

    Raises:
        BadInput: When weights recomputed from queries and keys are not those of the model, or as
            ``read_calls`` raises it.
    """
    heads = range(model.heads)

    def fit(layer: int, call: Call) -> None:
        parts, off = fit_parts(call, heads)
        if parts is None or off > RECOMPUTED_TOLERANCE[call.weights.dtype]:
            raise BadInput(
                f"queries and keys must give the weights of every layer, but those of layer "
                f"{model.way.number(layer)} of {type(model.network).__name__} are up to {off:.2g} off; "
                f"{UNREAD}"
            )
        take(layer, call, parts)

    read_calls(model, pad_inputs(model, [tokenised]), fit)


def check_sizes(model: Model, sizes: Sequence[int]) -> None:
    """Refuse a model whose layers have queries of different sizes.

    Raises:
        BadInput: When they have.
    """
    if len(set(sizes)) > 1:
        raise BadInput(
            f"queries of all heads have equally many dimensions, but those of {type(model.network).__name__} "
            f"have {' or '.join(map(str, sorted(set(sizes))))}; give another model"
        )
