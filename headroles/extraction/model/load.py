"""Load a checkpoint as a model whose attention can be read, and check it against the plain model."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from transformers import MODEL_MAPPING, AutoConfig, AutoModel, AutoTokenizer
from transformers.utils import logging as library_logging

from headroles.errors import BadInput, HeadrolesError, shorten
from headroles.extraction.capture.method import PADDED, CaptureMethod
from headroles.extraction.capture.stacks import DECODER_IDS, ENCODER_IDS
from headroles.extraction.model.checkpoint import Checkpoint, weights_hash
from headroles.extraction.model.norms import trial_inputs, value_norms
from headroles.extraction.model.placing import (
    DeviceMap,
    check_device_map,
    describe_places,
    home_of,
    move_to_device,
    weights_of,
)
from headroles.extraction.model.quantised import check_plain_weights, find_quantisation, quantised_errors
from headroles.extraction.model.stack import find_stack
from headroles.extraction.model.trial import OTHER_INPUTS, choose_reading
from headroles.extraction.model.trial_cross import choose_cross_reading
from headroles.extraction.model.trial_fused import choose_fused_reading
from headroles.extraction.model.trial_packed import choose_packing
from headroles.extraction.model.trial_padded import Tried, choose_batches
from headroles.extraction.model.two_texts import PairTokenizer, select_network
from headroles.records.rules.names import ROWS

NO_NORMS, SOME_NORMS, ALL_NORMS = "none", "some", "all"
"""Who reads attention weighted by the norms of values."""
MOST_LAYERS = 10_000
"""Layers of the deepest model that is loaded."""
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A model whose attention can be read.

    Attributes:
        network: The torch module.
        tokenizer: Its tokenizer.
        way: The way its attention is read.
        layers: Number of layers, counted on the attention read at load.
        heads: Number of heads, counted likewise.
        device: Device of its inputs and of the attention that is read.
        limit: Longest input in tokens; None when the model has no limit.
        described: Description for the record; its ``layers`` have their positions in the checkpoint.
    """

    network: Any
    tokenizer: Any
    way: CaptureMethod
    layers: int
    heads: int
    device: torch.device
    limit: int | None
    described: dict[str, Any]


def load(
    checkpoint: Checkpoint,
    *,
    device: str,
    dtype: str,
    max_length: int,
    head: Any = None,
    kind: str | None = None,
    device_map: DeviceMap | None = None,
    norms: str = NO_NORMS,
    path: str = ROWS,
) -> Model:
    """Load a checkpoint, choose the way its attention is read, and check that on one input.

    Args:
        checkpoint: From ``headroles.extraction.model.checkpoint.find_checkpoint``.
        device: "auto", "cpu", "cuda" or "mps".
        dtype: "float32", "bfloat16" or "float16".
        max_length: Longest input of the run; long ones are read in blocks.
        head: The library's automatic class with a head, for runs with gradients; None for the plain network.
        kind: Kind of attention to read, one of ``headroles.records.view.KINDS``; None for the encoder of an
            encoder-decoder, and for all attention of any other model.
        device_map: How the parts of the model are placed on several devices, one of
            ``headroles.extraction.model.placing.DEVICE_MAPS``, or devices by part; None for one device.
        norms: Who reads attention weighted by the norms of values: "none", "some" (readers that have a
            ``norm_reader``) or "all".
        path: "rows" of weights are read, or "fused": sums over attention that is never formed.

    Raises:
        BadInput: When it cannot be loaded, the weights that are read differ from the plain model's, or the
            norms of its values cannot be found; for the path "fused", when the model cannot be read so.
        UnknownName: For another device map.
        MissingExtra: When a package is missing that a device map or quantised weights need.
    """
    opened = open_network(checkpoint, device=device, dtype=dtype, head=head, device_map=device_map)
    with silence_library():
        tokenizer = load_tokenizer(checkpoint)
    place, has_decoder = opened.home, bool(opened.network.config.is_encoder_decoder)
    network, model_tokenizer, attention_kind = select_network(opened.network, tokenizer, checkpoint, kind)
    move_to_device(network, place, checkpoint.name)
    limit = length_limit(network, tokenizer)
    with silence_library(), quantised_errors(opened.quantisation, checkpoint.name, place):
        longest = min(max_length, limit or max_length)
        if isinstance(model_tokenizer, PairTokenizer):
            reading = choose_cross_reading(network, model_tokenizer, place, longest)
        else:
            reading = choose_reading(network, model_tokenizer, place, longest, fused=head is None)
            if head is None and path == ROWS:
                reading = choose_packing(network, model_tokenizer, place, limit, reading)
        if path != ROWS:
            reading = choose_fused_reading(network, model_tokenizer, place, longest, reading)
        way = reading.way
        tried = Tried(network, model_tokenizer, place, way, reading.layers)
        way = replace(way, batches=choose_batches(tried, longest))
        inputs = trial_inputs(model_tokenizer, place)
        stack = find_stack(network, inputs, way.modules, reading.returned, reading.places)
        way = replace(way, numbers=stack.numbers)
        if norms != NO_NORMS:
            everywhere = norms == ALL_NORMS
            way = replace(way, norms=value_norms(network, inputs, way.modules, everywhere=everywhere))
    return Model(
        network=network,
        tokenizer=model_tokenizer,
        way=way,
        layers=reading.layers,
        heads=reading.heads,
        device=place,
        limit=limit,
        described={
            "name": checkpoint.name,
            "origin": checkpoint.origin,
            "revision": checkpoint.revision or getattr(network.config, "_commit_hash", None),
            "architecture": type(network).__name__,
            **({"kind": attention_kind} if has_decoder else {}),
            **({"left_out": others} if (others := other_modalities(opened.network)) else {}),
            **({"weights": "norm"} if norms == ALL_NORMS else {}),
            **stack.described,
            "heads": reading.heads,
            "kv_heads": one_or_list(reading.key_heads),
            "weights_sha256": hash_weights(checkpoint, network),
            "missing_weights": opened.missing,
            "capture": reading.way.name,
            **({"batches": way.batches} if way.batches != PADDED else {}),
            "dtype": dtype,
            "device": opened.places,
            **({"quantisation": opened.quantisation} if opened.quantisation is not None else {}),
            "tokenizer": type(tokenizer).__name__,
            "threads": torch.get_num_threads(),
        },
    )


def other_modalities(network: Any) -> list[str]:
    """Return what a network reads beside text, such as images: these parts do not run on texts.

    Args:
        network: Of the library, which names its modalities.
    """
    stated = getattr(network, "input_modalities", None) or ()
    return [kind for kind in ((stated,) if isinstance(stated, str) else stated) if kind != "text"]


def device_of(name: str) -> torch.device:
    """Return the device of a name; "auto" is the best of this machine.

    Raises:
        BadInput: When this machine has no such device.
    """
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        name = next(kind for kind in ("cuda", "mps", "cpu") if available[kind])
    if not available.get(name, False):
        usable = ", ".join(kind for kind, exists in available.items() if exists)
        raise BadInput(f"the device must be on this machine, but {name!r} is not; usable: auto, {usable}")
    return torch.device(name)


def place_of(checkpoint: Checkpoint, device: str) -> torch.device:
    """Return the device for a model: a loaded one stays where it is, unless another device is named.

    Raises:
        BadInput: When this machine has no such device.
    """
    if checkpoint.given is not None and device == "auto":
        return torch.device(checkpoint.given.network.device)
    return device_of(device)


@contextmanager
def silence_library() -> Iterator[None]:
    """Silence the library's messages; those that matter are raised as errors of headroles."""
    level = library_logging.get_verbosity()
    library_logging.set_verbosity(logging.CRITICAL)
    bars = library_logging.is_progress_bar_enabled()
    library_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    placing = logging.getLogger("accelerate")
    placing_level = placing.level
    placing.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        placing.setLevel(placing_level)
        library_logging.set_verbosity(level)
        if bars:
            library_logging.enable_progress_bar()  # type: ignore[no-untyped-call]


@dataclass(frozen=True, slots=True, eq=False)
class OpenNetwork:
    """A network whose weights are loaded.

    Attributes:
        network: The torch module.
        missing: Names of weights that the checkpoint lacks and that attention does not depend on.
        home: Device for its inputs; it is moved there unless a device map placed its parts.
        places: All devices of its parts, for the record.
        quantisation: How its weights are quantised, in JSON types; None where they are not.
    """

    network: Any
    missing: list[str]
    home: torch.device
    places: str
    quantisation: dict[str, Any] | None


def open_network(
    checkpoint: Checkpoint,
    *,
    device: str,
    dtype: str,
    head: Any = None,
    device_map: DeviceMap | None = None,
) -> OpenNetwork:
    """Load the network of a checkpoint, plain or with a head.

    Args:
        checkpoint: The checkpoint.
        device: "auto", "cpu", "cuda" or "mps".
        dtype: "float32", "bfloat16" or "float16".
        head: The library's automatic class with a head; None for the plain network.
        device_map: As ``load`` takes it.

    Raises:
        BadInput: When it cannot be loaded, lacks weights that attention depends on, or has some that are no
            finite numbers.
        UnknownName: For another device map.
        MissingExtra: When a package is missing that a device map or quantised weights need.
    """
    if checkpoint.given is not None:
        whole = checkpoint.given.network
        network = whole.base_model if head is None else whole
        _check_finite(network, checkpoint)
        home = place_of(checkpoint, device)
        return OpenNetwork(network, [], home, describe_places(network, home), None)
    check_device_map(device_map, device)
    place = device_of(device) if device_map is None else None
    try:
        with silence_library():
            quantisation = find_quantisation(checkpoint)
            _check_depth(checkpoint)
            network, notes = (head or AutoModel).from_pretrained(
                checkpoint.target,
                revision=checkpoint.revision or "main",
                use_safetensors=True,
                trust_remote_code=False,
                output_loading_info=True,
                dtype=DTYPES[dtype],
                attn_implementation="eager",
                device_map=device_map,
            )
    except HeadrolesError:
        raise
    except Exception as error:  # the library raises many kinds; each becomes one sentence
        reason = _other_shapes(checkpoint, head or AutoModel, error) or " ".join(str(error).split())[:300]
        raise BadInput(
            f"the model {checkpoint.name!r} cannot be loaded from {checkpoint.origin}: {reason}"
        ) from error
    missing = sorted(str(key) for key in notes["missing_keys"])
    needed = [key for key in missing if head is not None or "pooler" not in key]
    if needed and (head is not None or _changes_attention(network, needed)):
        raise BadInput(
            f"every weight must come from the checkpoint, but {checkpoint.name!r} lacks {len(needed)}, such "
            f"as {needed[0]!r}, so its heads would be partly random; give a checkpoint of this architecture"
        )
    if quantisation is None:
        check_plain_weights(_folder_of(checkpoint, network), checkpoint.name)
    home = place or home_of(network)
    with quantised_errors(quantisation, checkpoint.name, home):
        _check_finite(network, checkpoint)
    return OpenNetwork(network, missing, home, describe_places(network, home), quantisation)


def _changes_attention(network: Any, names: Sequence[str]) -> bool:
    """Return whether attention depends on some weights: whether it is NaN where these are NaN.

    A norm after the last layer, such as one that a checkpoint lacks, changes no attention.
    """
    weights = {name: own for name, own in network.named_parameters() if name in names}
    given = [own.detach().clone() for own in weights.values()]
    ids = torch.arange(4, device=network.device)[None]
    inputs = dict.fromkeys((ENCODER_IDS, DECODER_IDS)[: 1 + network.config.is_encoder_decoder], ids)
    try:
        with torch.no_grad():
            for own in weights.values():
                own.fill_(float("nan"))
            output = network(**inputs, output_attentions=True)
    except Exception:  # what cannot be tried counts as needed
        return True
    finally:
        with torch.no_grad():
            for own, before in zip(weights.values(), given, strict=True):
                own.copy_(before)
    every = [own for own in getattr(output, "attentions", None) or () if own is not None]
    return len(weights) < len(names) or not every or any(bool(own.isnan().any()) for own in every)


def _configuration(checkpoint: Checkpoint) -> Any:
    """Return the configuration of a checkpoint; code that comes with it is never run."""
    return AutoConfig.from_pretrained(
        checkpoint.target, revision=checkpoint.revision or "main", trust_remote_code=False
    )


def _check_depth(checkpoint: Checkpoint) -> None:
    """Refuse a configuration with more layers than any model has, which the library would build for hours."""
    config = _configuration(checkpoint).to_dict()
    for part in (config, *(inner for inner in config.values() if isinstance(inner, dict))):
        for name, value in part.items():
            if str(name).endswith(("layer", "layers")) and isinstance(value, int) and value > MOST_LAYERS:
                raise BadInput(
                    f"a model has at most {MOST_LAYERS:,} layers, but the config.json of {checkpoint.name!r} "
                    f"says {shorten(value)} ({name}); give a sound checkpoint"
                )


def _other_shapes(checkpoint: Checkpoint, kind: Any, error: Exception) -> str:
    """Return which weight has another shape than the architecture; "" where that is not the error."""
    if "ignore_mismatched_sizes" not in str(error):
        return ""
    with silence_library():
        _, notes = kind.from_pretrained(
            checkpoint.target,
            revision=checkpoint.revision or "main",
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
            ignore_mismatched_sizes=True,
        )
        config = _configuration(checkpoint)
    wrong = sorted((str(name), tuple(own), tuple(needed)) for name, own, needed in notes["mismatched_keys"])
    cut = getattr(config, "pruned_heads", None)
    older = "; its pruned_heads were cut out by an older version of the library, which this one ignores"
    name, own, needed = wrong[0]
    return (
        f"{len(wrong)} weights have another shape than the architecture, such as {name!r}: {own} in place of "
        f"{needed}{older if cut else ''}; give the model without removed heads"
    )


def _check_finite(network: Any, checkpoint: Checkpoint) -> None:
    """Check that every weight is a finite number in the dtype in which it was loaded."""
    for name, weights in weights_of(network):
        if not weights.numel() or weights.dtype not in DTYPES.values():
            continue
        if not all(torch.isfinite(end) for end in torch.aminmax(weights)):  # NaN wins in both
            dtype = str(weights.dtype).removeprefix("torch.")
            raise BadInput(
                f"every weight is a finite number, but {name!r} of {checkpoint.name!r} holds NaN or infinity "
                f"in {dtype}; give a sound checkpoint" + (" or --dtype float32" if dtype == "float16" else "")
            )


def load_tokenizer(checkpoint: Checkpoint) -> Any:
    """Load the tokenizer of a checkpoint.

    Raises:
        BadInput: When it has none that can be loaded.
    """
    if checkpoint.given is not None:
        return checkpoint.given.tokenizer
    try:
        tokenizer = AutoTokenizer.from_pretrained(
            checkpoint.target, revision=checkpoint.revision or "main", trust_remote_code=False
        )
    except Exception as error:  # the library raises many kinds; each becomes one sentence
        reads = _other_inputs(checkpoint)
        if reads:
            raise BadInput(
                f"headroles reads models of text, but {checkpoint.name!r} reads {reads}; give another model"
            ) from error
        reason = " ".join(str(error).split())[:300]
        raise BadInput(
            f"the model {checkpoint.name!r} has no tokenizer that can be loaded: {reason}"
        ) from error
    folder = Path(checkpoint.target)
    names = {"tokenizer.json", *getattr(tokenizer, "vocab_files_names", {}).values()}
    if folder.is_dir() and not any((folder / name).is_file() for name in names):
        raise BadInput(  # the library would invent a vocabulary in which every word is unknown
            f"the model {checkpoint.name!r} has no tokenizer: its folder holds none of "
            f"{', '.join(sorted(names))}; save the model's tokenizer there"
        )
    _check_unknown(tokenizer, checkpoint)
    return tokenizer


def _check_unknown(tokenizer: Any, checkpoint: Checkpoint) -> None:
    """Refuse a vocabulary in which words it does not know have no token, such as WordPiece without [UNK]."""
    try:
        tokenizer("\u2603\u16a0\ua015", add_special_tokens=False)  # no vocabulary has this word
    except Exception as error:  # the library raises a bare Exception
        raise BadInput(
            f"a word that a tokenizer does not know gets its token for unknown words, such as [UNK], but the "
            f"vocabulary of {checkpoint.name!r} lacks it ({shorten(str(error))}); add it to the vocabulary"
        ) from error


def _other_inputs(checkpoint: Checkpoint) -> str:
    """Return what a model reads that does not read text; "" for models of text, and unknown ones."""
    try:
        with silence_library():
            kind = MODEL_MAPPING[type(_configuration(checkpoint))]
    except Exception:  # the error of the tokenizer is the one to tell
        return ""
    first = kind[0] if isinstance(kind, tuple) else kind
    return OTHER_INPUTS.get(getattr(first, "main_input_name", ""), "")


def length_limit(network: Any, tokenizer: Any) -> int | None:
    """Return the longest input by the tokenizer or the number of positions, whichever is smaller."""
    config = network.config
    stated = getattr(tokenizer, "model_max_length", None)
    positions = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    embedded = [
        module.weight.shape[0] - 1 - module.padding_idx
        for path, module in network.named_modules()
        if path.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None
    ]
    known = [
        int(limit) for limit in (stated, positions, *embedded) if limit is not None and 0 < limit < 10**6
    ]
    return min(known) if known else None


def limit_of(checkpoint: Checkpoint, tokenizer: Any) -> int | None:
    """Return the longest input of a checkpoint, without loading its weights; None where it has no limit.

    Raises:
        BadInput: When its configuration cannot be used.
    """
    if checkpoint.given is not None:
        return length_limit(checkpoint.given.network.base_model, tokenizer)
    try:
        with silence_library(), torch.device("meta"):
            network = AutoModel.from_config(  # type: ignore[no-untyped-call]
                _configuration(checkpoint), trust_remote_code=False
            )
    except Exception as error:  # the library raises many kinds; each becomes one sentence
        reason = " ".join(str(error).split())[:300]
        raise BadInput(
            f"the model {checkpoint.name!r} cannot be loaded from {checkpoint.origin}: {reason}"
        ) from error
    return length_limit(network, tokenizer)


def one_or_list(key_heads: tuple[int, ...]) -> int | list[int]:
    """Return the number of key-value heads for the record: one number, or a list where layers differ.

    Example:
        >>> one_or_list((2, 2, 2)), one_or_list((2, 1))
        (2, [2, 1])
    """
    return key_heads[0] if len(set(key_heads)) == 1 else list(key_heads)


def hash_weights(checkpoint: Checkpoint, network: Any) -> str:
    """Return the SHA-256 of the weights: of a given model's, or of the files of a checkpoint."""
    if checkpoint.given is not None:
        return checkpoint.given.sha256
    return weights_hash(_folder_of(checkpoint, network))


def _folder_of(checkpoint: Checkpoint, network: Any) -> Path:
    """Return the folder of the files from which a network was loaded."""
    folder = Path(checkpoint.target)
    if folder.is_dir():
        return folder
    from huggingface_hub import snapshot_download

    commit = getattr(network.config, "_commit_hash", None) or checkpoint.revision
    return Path(snapshot_download(checkpoint.target, revision=commit, local_files_only=True))


def check_length(model: Model, checkpoint: Checkpoint, max_length: int) -> None:
    """Check that the longest input is not longer than the model takes.

    Raises:
        BadInput: Naming the model's limit.
    """
    if model.limit is not None and max_length > model.limit:
        raise BadInput(
            f"{checkpoint.name!r} takes at most {model.limit} tokens, but --max-length is {max_length}; "
            f"give at most {model.limit}"
        )
