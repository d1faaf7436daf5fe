"""Attention of one input, to be looked at: a checkpoint and texts to a view."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from headroles.errors import BadInput, UnknownName
from headroles.extraction.capture.neurons import Call
from headroles.extraction.capture.plain import run_plain, run_viewed
from headroles.extraction.model.checkpoint import Checkpoint
from headroles.extraction.model.load import DTYPES, device_of, load_tokenizer, open_network, place_on, quiet
from headroles.extraction.model.two_texts import ready_to_shift
from headroles.extraction.views.check import Checked, checked, in_one_sentence
from headroles.extraction.views.kept import Keeper
from headroles.extraction.views.parts import Entry, checked_texts, entry_of, entry_of_both
from headroles.records.view import ENCODER, SELF, View

MEBIBYTE = 2**20
MOST_WEIGHTS, MOST_NEURONS = 128 * MEBIBYTE, 64 * MEBIBYTE
"""Most bytes of weights, and of queries, keys and biases, that a view holds."""
SHOWN = 8
"""Most of the wrong numbers that a sentence repeats."""


def read_view(
    checkpoint: Checkpoint,
    texts: str | Sequence[str],
    *,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    neurons: bool = True,
    device: str = "auto",
    dtype: str = "float32",
    max_length: int = 512,
) -> View:
    """Read a model's attention over one input, and what it is made of.

    A model with one stack reads one text or a pair, and gives maps of kind "self". An
    encoder-decoder reads the first text with its encoder and the second with its decoder, shifted
    right, and gives maps of its encoder, its decoder and of cross attention; of one text, those of
    its encoder. Weights are checked against those the plain eager model returns.

    Args:
        checkpoint: From ``headroles.extraction.model.checkpoint.find``.
        texts: One text or two, not blank; none is cut.
        layers: Numbers of the layers to keep, from 0, counted in each stack; None for all.
        heads: Numbers of the heads to keep, from 0; None for all.
        neurons: Whether queries and keys are kept too, where they explain the weights and take less
            than 64 MiB.
        device: "auto", "cpu", "cuda" or "mps".
        dtype: "float32", "bfloat16" or "float16".
        max_length: Most tokens of an input; the model may take fewer.

    Returns:
        The view; its notes say what was left out and why.

    Raises:
        UnknownName: For another dtype.
        BadInput: When the model cannot be loaded or is misread, the input is blank or too long,
            layers or heads do not exist, or the weights take more than 128 MiB.
    """
    if dtype not in DTYPES:
        raise UnknownName("dtype", dtype, DTYPES)
    given = checked_texts(texts)
    network, entry = _opened(checkpoint, given, device, dtype, max_length)
    with quiet(), in_one_sentence(network):
        found = checked(network, entry)
    keepers, unknown = _keepers(entry, found, layers, heads)
    unseen = _unseen(network, found, keepers) if neurons else ""
    with quiet(), in_one_sentence(network):
        _read(network, entry, found, keepers, neurons and not unseen)
    unclear = (_unclear(keeper) for keeper in keepers.values() if keeper.unclear)
    notes = (note for note in (*entry.notes, *unknown, unseen, *unclear) if note)
    return View(checkpoint.name, given, tuple(keeper.maps() for keeper in keepers.values()), tuple(notes))


def _opened(
    checkpoint: Checkpoint, texts: tuple[str, ...], device: str, dtype: str, max_length: int
) -> tuple[Any, Entry]:
    """The network that reads the texts, and what it is called with."""
    place = device_of(device)
    with quiet():
        network, _ = open_network(checkpoint, DTYPES[dtype])
        tokenizer = load_tokenizer(checkpoint)
    both = bool(network.config.is_encoder_decoder)
    if both and len(texts) == 1:
        network = network.get_encoder()
    place_on(network, place, checkpoint.name)
    with quiet(), in_one_sentence(network):
        if both and len(texts) == 2:
            ready_to_shift(network, checkpoint)
            return network, entry_of_both(network, tokenizer, texts, max_length)
        entry = entry_of(network, tokenizer, texts, max_length, ENCODER if both else SELF)
    note = "Only the encoder is shown, because one text came; a second one is what the decoder reads."
    return network, replace(entry, notes=(note,) if both else ())


def _keepers(
    entry: Entry, found: Checked, layers: Sequence[int] | None, heads: Sequence[int] | None
) -> tuple[dict[str, Keeper], tuple[str, ...]]:
    """What keeps the attention of each kind, and what must be known of the choice.

    Raises:
        BadInput: When a layer or head is nowhere, or the weights would take too much.
    """
    stacks = found.stacks
    layers = None if layers is None else tuple(layers)
    heads = None if heads is None else tuple(heads)
    _known("layers", layers, {kind: stack.layers for kind, stack in stacks.items()})
    _known("heads", heads, {kind: stack.heads for kind, stack in stacks.items()})
    kept, notes = [], []
    for kind, stack in stacks.items():
        own, some = _chosen(layers, stack.layers), _chosen(heads, stack.heads)
        if own and some:
            kept.append(Keeper(kind, stack, entry.sides[kind], own, some))
        for what, asked, there in (("layers", layers, stack.layers), ("heads", heads, stack.heads)):
            if asked is not None and max(asked) >= there:
                notes.append(f"Not all {what} asked for are in {kind} attention, which has {there}.")
    if not kept:
        raise BadInput(
            "no attention of the model has both the layers and the heads asked for; ask for others"
        )
    size = sum(keeper.weight_bytes for keeper in kept)
    if size > MOST_WEIGHTS:
        raise BadInput(
            f"a view holds up to {MOST_WEIGHTS // MEBIBYTE} MiB of weights, one byte each, but these take "
            f"{size / MEBIBYTE:,.0f} MiB; choose some with --layers or --heads, or shorten the input"
        )
    return {keeper.kind: keeper for keeper in kept}, tuple(notes)


def _chosen(asked: Sequence[int] | None, there: int) -> tuple[int, ...]:
    return tuple(range(there)) if asked is None else tuple(sorted({each for each in asked if each < there}))


def _known(what: str, asked: Sequence[int] | None, there: dict[str, int]) -> None:
    """Refuse a choice of nothing, or of what no stack has."""
    most = max(there.values())
    wrong = [each for each in asked or () if not 0 <= each < most]
    if asked is not None and (wrong or not asked):
        came = ", ".join(map(str, wrong[:SHOWN])) + ", …" * (len(wrong) > SHOWN) or "none"
        raise BadInput(
            f"--{what} takes numbers from 0 to {most - 1}, because the model has {most} {what}, but {came} "
            f"came; leave it out for all of them"
        )


def _read(network: Any, entry: Entry, found: Checked, keepers: dict[str, Keeper], neurons: bool) -> None:
    """Run the model on the whole input, and let each keeper take what is of its kind."""

    def take(call: Call) -> None:
        keeper = keepers.get(found.modules[call.module])
        if keeper is not None:
            keeper.take(call, neurons)

    if found.modules:
        run_viewed(network, entry.inputs, take)
    else:
        for kind, returned in run_plain(network, entry.inputs, tuple(entry.sides)).items():
            for weights in returned if kind in keepers else ():
                keepers[kind].keep(weights)
    if not all(keeper.complete for keeper in keepers.values()):
        raise ValueError("it computes other layers on the whole input than on its beginning")


def _unseen(network: Any, found: Checked, keepers: dict[str, Keeper]) -> str:
    """Why no queries and keys are kept; "" where they are."""
    if not found.modules:
        return (
            f"The neuron view is left out, because {type(network).__name__} computes its attention where its "
            f"queries and keys cannot be read."
        )
    size = sum(keeper.neuron_bytes for keeper in keepers.values())
    if size <= MOST_NEURONS:
        return ""
    return (
        f"The neuron view is left out, because its queries and keys take {size / MEBIBYTE:,.0f} MiB, more "
        f"than {MOST_NEURONS // MEBIBYTE}; choose fewer layers or heads to see it."
    )


def _unclear(keeper: Keeper) -> str:
    layers = ", ".join(map(str, keeper.unclear))
    return (
        f"The neuron view of {keeper.kind} attention is left out, because queries and keys do not give the "
        f"weights of layer {layers} (they are up to {keeper.apart:.2g} off)."
    )
