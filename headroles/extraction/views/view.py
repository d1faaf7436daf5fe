"""Read the attention of inputs for views, given a checkpoint and texts."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from headroles.errors import BadInput, UnknownName
from headroles.extraction.capture.gates import Gates, taken_gates
from headroles.extraction.capture.neurons import Call
from headroles.extraction.capture.norms import ValueNorms, weigh_by_norms
from headroles.extraction.capture.plain import run_plain, run_with_calls
from headroles.extraction.capture.stacks import shorten_inputs
from headroles.extraction.model.checkpoint import Checkpoint
from headroles.extraction.model.load import (
    DTYPES,
    OpenNetwork,
    hash_weights,
    load_tokenizer,
    open_network,
    silence_library,
)
from headroles.extraction.model.norms import MOST_TOKENS, value_norms
from headroles.extraction.model.placing import DeviceMap, move_to_device
from headroles.extraction.model.quantised import quantised_errors
from headroles.extraction.model.two_texts import set_decoder_start
from headroles.extraction.views.check import ModelStacks, check_model, errors_in_one_sentence
from headroles.extraction.views.kept import KindKeeper
from headroles.extraction.views.numbers import check_numbers
from headroles.extraction.views.parts import ViewInput, check_texts, prepare_input, prepare_pair
from headroles.records.view import ENCODER, SELF, View

MEBIBYTE = 2**20
MOST_WEIGHTS, MOST_NEURONS = 128 * MEBIBYTE, 64 * MEBIBYTE
"""Most bytes of weights, and of queries, keys and biases, in a view."""
NORM_NOTE = (
    "Attention is weighted by the norms of the values that it moves; its rows sum to 1. The neuron view "
    "is left out, because queries and keys give attention alone."
)


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a view keeps.

    Attributes:
        layers: Numbers of layers, from 0; None for all.
        heads: Numbers of heads, from 0; None for all.
        neurons: Whether queries and keys are kept.
        norms: Whether attention is weighted by the norms of values.
    """

    layers: Sequence[int] | None
    heads: Sequence[int] | None
    neurons: bool
    norms: bool


def read_views(
    checkpoint: Checkpoint,
    inputs: Sequence[Sequence[str]],
    *,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    neurons: bool = True,
    device: str = "auto",
    dtype: str = "float32",
    max_length: int = 512,
    device_map: DeviceMap | None = None,
    weights: str | None = None,
    norms: bool = False,
) -> list[View]:
    """Read a model's attention over some inputs, with the queries and keys behind it.

    A model with one stack reads one text or a pair, and gives maps of kind "self". An encoder-decoder
    reads the first text with its encoder, and the second, shifted right, with its decoder. It gives maps
    of its encoder, of its decoder and of cross attention; with one text, those of its encoder. Weights
    are checked against those that the plain eager model returns.

    Args:
        checkpoint: From ``headroles.extraction.model.checkpoint.find_checkpoint``.
        inputs: Of each input one text or two, not blank; none is truncated.
        layers: Numbers of the layers to keep, from 0, counted in each stack; None for all.
        heads: Numbers of the heads to keep, from 0; None for all.
        neurons: Whether queries and keys are kept too, where the weights can be recomputed from them and
            they take at most 64 MiB.
        device: "auto", "cpu", "cuda" or "mps".
        dtype: "float32", "bfloat16" or "float16".
        max_length: Most tokens of an input; the model may take fewer.
        device_map: As ``headroles.extraction.model.load.load`` takes it; None for one device.
        weights: SHA-256 that the weights of the model must have; None for any.
        norms: Whether attention is weighted by the norms of the values that it moves; then no queries and
            keys are kept.

    Returns:
        A view of each input; its notes state what was left out and why.

    Raises:
        UnknownName: For another dtype or device map.
        MissingExtra: When a package is missing that a device map or quantised weights need.
        BadInput: When the model cannot be loaded or is read wrongly, the input is blank or too long,
            layers or heads do not exist, the weights take more than 128 MiB, or the model is another one.
    """
    if dtype not in DTYPES:
        raise UnknownName("dtype", dtype, DTYPES)
    given = [check_texts(texts) for texts in inputs]
    opened = open_network(checkpoint, device=device, dtype=dtype, device_map=device_map)
    if weights is not None:
        check_weights(checkpoint, opened.network, weights)
    chosen = Chosen(layers, heads, neurons and not norms, norms)
    return [_read(checkpoint, opened, texts, chosen, max_length) for texts in given]


def check_weights(checkpoint: Checkpoint, network: Any, weights: str) -> None:
    """Check that a model has the weights that a run was made with.

    Raises:
        BadInput: When it has others.
    """
    got = hash_weights(checkpoint, network)
    if got != weights:
        raise BadInput(
            f"a view of a run needs the model of the run, whose weights have SHA-256 {weights[:12]}…, but "
            f"those of {checkpoint.name!r} have {got[:12]}… now; restore them, or leave --run out"
        )


def _read(
    checkpoint: Checkpoint,
    opened: OpenNetwork,
    given: tuple[str, ...],
    chosen: Chosen,
    max_length: int,
) -> View:
    """Read the attention of an open model over one input."""
    network, entry = _prepare(checkpoint, opened, given, max_length)
    with (
        silence_library(),
        quantised_errors(opened.quantisation, checkpoint.name, opened.home),
        errors_in_one_sentence(network),
    ):
        model_stacks = check_model(network, entry)
        norms = value_norms(network, shorten_inputs(entry.inputs, MOST_TOKENS)) if chosen.norms else None
    keepers, remarks = _keepers(entry, model_stacks, chosen.layers, chosen.heads)
    left_out = _why_no_neurons(network, model_stacks, keepers) if chosen.neurons else ""
    left_out = NORM_NOTE if chosen.norms else left_out
    with silence_library(), errors_in_one_sentence(network):
        _run(network, entry, model_stacks, keepers, chosen.neurons and not left_out, norms)
    unclear = (_unclear_note(keeper) for keeper in keepers.values() if keeper.unclear)
    notes = (note for note in (*entry.notes, *remarks, left_out, *unclear) if note)
    return View(checkpoint.name, given, tuple(keeper.maps() for keeper in keepers.values()), tuple(notes))


def _prepare(
    checkpoint: Checkpoint, opened: OpenNetwork, texts: tuple[str, ...], max_length: int
) -> tuple[Any, ViewInput]:
    """Return the network that reads the texts, and its input."""
    network, home = opened.network, opened.home
    with silence_library():
        tokenizer = load_tokenizer(checkpoint)
    has_decoder = bool(network.config.is_encoder_decoder)
    if has_decoder and len(texts) == 1:
        network = network.get_encoder()
    move_to_device(network, home, checkpoint.name)
    with silence_library(), errors_in_one_sentence(network):
        if has_decoder and len(texts) == 2:
            set_decoder_start(network, checkpoint)
            entry = prepare_pair(network, tokenizer, texts, max_length)
        else:
            entry = prepare_input(network, tokenizer, texts, max_length, ENCODER if has_decoder else SELF)
        inputs = {name: ids.to(home) for name, ids in entry.inputs.items()}
    note = "Only the encoder is shown, because one text was given; a second one is for the decoder."
    alone = has_decoder and len(texts) == 1
    return network, replace(entry, inputs=inputs, notes=(note,) if alone else entry.notes)


def _keepers(
    entry: ViewInput, model_stacks: ModelStacks, layers: Sequence[int] | None, heads: Sequence[int] | None
) -> tuple[dict[str, KindKeeper], tuple[str, ...]]:
    """Return a keeper for each kind of attention, and remarks on the choice of layers and heads.

    Raises:
        BadInput: When no stack has a layer or head, or the weights would take too much memory.
    """
    stacks = model_stacks.stacks
    layers = None if layers is None else tuple(layers)
    heads = None if heads is None else tuple(heads)
    check_numbers("layers", layers, [stack.layers for stack in stacks.values()])
    check_numbers("heads", heads, [range(stack.heads) for stack in stacks.values()])
    keepers, notes = [], []
    for kind, stack in stacks.items():
        every_head = range(stack.heads)
        own_layers, own_heads = _selection(layers, stack.layers), _selection(heads, every_head)
        if own_layers and own_heads:
            keepers.append(KindKeeper(kind, stack, entry.sides[kind], own_layers, own_heads))
        for name, numbers, own in (("layers", layers, stack.layers), ("heads", heads, every_head)):
            if not {*(numbers or ())} <= {*own}:
                notes.append(f"Some of the given {name} are not in {kind} attention, which has {len(own)}.")
    if not keepers:
        raise BadInput("no attention of the model has both the layers and the heads given; give others")
    check_size(sum(keeper.weight_bytes for keeper in keepers))
    return {keeper.kind: keeper for keeper in keepers}, tuple(notes)


def _selection(numbers: Sequence[int] | None, own: Sequence[int]) -> tuple[int, ...]:
    """Return those of a stack's own numbers that were chosen, in their order; all of them for None."""
    return tuple(number for number in own if numbers is None or number in numbers)


def check_size(size: int) -> None:
    """Check that the weights of a view do not take more bytes than a page can hold.

    Raises:
        BadInput: When they do.
    """
    if size > MOST_WEIGHTS:
        raise BadInput(
            f"a view holds up to {MOST_WEIGHTS // MEBIBYTE} MiB of weights, one byte each, but these take "
            f"{size / MEBIBYTE:,.0f} MiB; choose some with --layers or --heads, or shorten the input"
        )


def _run(
    network: Any,
    entry: ViewInput,
    model_stacks: ModelStacks,
    keepers: dict[str, KindKeeper],
    neurons: bool,
    norms: ValueNorms | None,
) -> None:
    """Run the model on the whole input, and hand each keeper the attention of its kind."""
    calls = itertools.count()
    gates: Gates = ()
    if norms is not None and norms.gated:
        with taken_gates(norms.gated, lambda module: True) as gates:
            run_with_calls(network, entry.inputs, lambda call: None)

    def take(call: Call) -> None:
        number = next(calls)
        keeper = keepers.get(model_stacks.modules[call.module])
        if keeper is None:
            return
        if norms is None:
            keeper.take(call, neurons)
        else:
            gate = gates[number] if gates else None
            own = norms.of(number, call.value, gate)[0].float()
            keeper.keep(weigh_by_norms(call.weights[0].float(), own))

    if model_stacks.modules:
        run_with_calls(network, entry.inputs, take)
    else:
        for kind, returned in run_plain(network, entry.inputs, tuple(entry.sides)).items():
            for weights in returned.weights if kind in keepers else ():
                keepers[kind].keep(weights)
    if not all(keeper.complete for keeper in keepers.values()):
        raise ValueError("it computes other layers on the whole input than on its beginning")


def _why_no_neurons(network: Any, model_stacks: ModelStacks, keepers: dict[str, KindKeeper]) -> str:
    """Return why no queries and keys are kept; "" where they are."""
    if not model_stacks.modules:
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


def _unclear_note(keeper: KindKeeper) -> str:
    layers = ", ".join(map(str, keeper.unclear))
    return (
        f"The neuron view of {keeper.kind} attention is left out, because queries and keys do not give the "
        f"weights of layer {layers} (they are up to {keeper.largest_difference:.2g} off)."
    )
