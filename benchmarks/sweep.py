"""Read tiny random models of many architectures, and compare them with the plain models of transformers.

Every architecture of ``sweep.toml`` is made in a process of its own. Three texts of different lengths are
read in one batch, as runs read them: example by example and as whole batches, for short and long inputs. The
weights must be those of the plain eager model on each text alone, or the model must be refused in a sentence.
Prints a line for every architecture. With ``--write`` it writes ``docs/reference/architectures.json``, and
from it the tables of ``docs/reference/models.md``.
"""

import json
import multiprocessing
import os
import re
import resource
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from time import monotonic
from typing import Any

import click
import numpy as np
import torch
import transformers
from sweep_page import FIGURES, entries, write_page

from headroles import extraction
from headroles.errors import HeadrolesError
from headroles.extraction.capture.method import PADDED
from headroles.extraction.model.load import ALL_NORMS, silence_library
from headroles.extraction.model.losses import LossOptions
from headroles.extraction.pruning.opening import open_whole
from headroles.pruning.model import OpenModel, remover_of
from headroles.records import Passage
from headroles.records.view import CROSS, DECODER, ENCODER
from tests.support.architectures import configured
from tests.support.tiny_models import SPECIAL, make_tokenizer

CLOSE = 2e-6
"""Largest difference of a weight from the plain model's."""
LENGTHS = (128, 512)
"""Longest inputs of runs: those of up to 256 tokens are read in another way than longer ones."""
MEMORY, SECONDS = 12 * 2**30, 120
"""Most bytes of addresses, and most seconds, of an architecture."""
SCALE, LARGEST = 0.2, 7_000_000
"""Spread of random weights, and most parameters of a model."""
FLAT = 0.02
"""Attention of which no weight lies further from the even one says nothing about who reads it rightly."""
TEXTS = (
    "The committee did not decide about the long treaty, and nobody in Paris objected to it at all.",
    "Look!",
    "She can't believe that it was signed after the debate; what a day.",
)
SIZES = (
    dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim", "embedding_size", "word_embed_proj_dim"), 32)
    | dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads"), 4)
    | dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4)
    | dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers"), 2)
    | dict.fromkeys(("encoder_layers", "decoder_layers", "num_decoder_layers", "depth"), 2)
    | dict.fromkeys(("intermediate_size", "ffn_dim", "hidden_dim", "d_ff", "d_inner", "n_inner"), 48)
    | dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim", "shared_intermediate_size"), 48)
    | dict.fromkeys(("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len"), 600)
    | dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"), 4)
    | dict.fromkeys(("num_experts_per_tok", "experts_per_token", "moe_top_k", "moe_k", "top_k_experts"), 2)
    | dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size"), 16)
    | dict.fromkeys(("q_lora_rank", "kv_lora_rank", "mamba_d_state", "state_size", "ssm_state_size"), 16)
    | dict.fromkeys(("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "head_dim", "d_kv"), 8)
    | dict.fromkeys(("linear_key_head_dim", "linear_value_head_dim", "linear_num_value_heads"), 8)
    | dict.fromkeys(("n_group", "topk_group", "n_shared_experts", "first_k_dense_replace"), 1)
    | {"linear_num_key_heads": 4, "num_key_value_heads": 2, "num_kv_heads": 2, "vocab_size": 400}
    | {"image_token_id": 395, "video_token_id": 396, "audio_token_id": 397, "image_token_index": 395}
    | {"vision_start_token_id": 398, "vision_end_token_id": 399}
    | {"sliding_window": 8, "local_attention": 8, "attention_chunk_size": 8, "attention_window_size": 8}
)
"""Settings of the tiny models, each given to those configurations that have it."""


WINDOWS = ("sliding_window", "attention_chunk_size")
"""Settings that stay None where they are."""


class Kept:
    """A reader that keeps every layer of every input of a batch, whole batches or blocks of rows."""

    def __init__(self, places: Sequence[int], sizes: Sequence[int], store: "Store", together: bool) -> None:
        """Take places and sizes of the inputs, and where their attention is kept."""
        self.places, self.sizes, self.store, self.together = places, sizes, store, together
        if together:
            self.read_batch = self._read_batch

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: Any) -> None:
        """Keep a block of rows."""
        self.store.keep(layer, self.places[example], rows.clone(), visible)

    def _read_batch(self, layer: int, weights: torch.Tensor, visible: Sequence[Any]) -> None:
        for example, size in enumerate(self.sizes):
            own = weights[example, :, :size, :size]
            self.store.keep(layer, self.places[example], own.clone(), visible[example])


class Store:
    """A job that keeps all attention, by layer and place of the input."""

    def __init__(self, together: bool) -> None:
        """Begin with nothing."""
        self.together = together
        self.blocks: dict[tuple[int, int], list[torch.Tensor]] = {}
        self.visible: dict[tuple[int, int], Any] = {}

    def keep(self, layer: int, place: int, rows: torch.Tensor, visible: Any) -> None:
        """Keep rows of an input, and which keys they see."""
        self.blocks.setdefault((layer, place), []).append(rows)
        self.visible[layer, place] = visible

    def table(self, tokenised: Sequence[Any]) -> None:
        """Return nothing: the job keeps all."""

    def prepare(self, tokenised: Sequence[Any], places: np.ndarray) -> list["Ready"]:
        """Return the inputs of a batch."""
        return [Ready(int(place), tokenised[place]) for place in places]

    def reader(self, batch: Sequence["Ready"], table: None) -> Kept:
        """Return the reader of a batch."""
        sizes = [ready.tokenised.size for ready in batch]
        return Kept([ready.place for ready in batch], sizes, self, self.together)

    def result(self, table: None) -> None:
        """Return nothing."""


class Ready:
    """An input, and its place."""

    def __init__(self, place: int, tokenised: Any) -> None:
        """Take them."""
        self.place, self.tokenised = place, tokenised


def settings_of(kind: type, given: Mapping[str, Any], common: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a configuration: the common ones that it has, under those that are given."""
    known, parts = kind(), getattr(kind, "sub_configs", {})
    composite = "text_config" in parts  # it hands names on to its text part
    sized = {
        name: size
        for name, size in common.items()
        if (name in known.to_dict() if composite else hasattr(known, name))
        and getattr(getattr(kind, name, None), "fset", True) is not None
        and not (name in WINDOWS and getattr(known, name) is None)
    }
    if hasattr(known, "kv_lora_rank"):  # every head has keys of its own
        sized["num_key_value_heads"] = SIZES["num_attention_heads"]
    for name in parts:
        own = type(getattr(known, name, None))
        if issubclass(own, transformers.PreTrainedConfig) and own is not transformers.PreTrainedConfig:
            inner = settings_of(own, given.get(name, {}), common)
            sized[name] = {"model_type": own.model_type} | inner
    return sized | {name: value for name, value in given.items() if name not in parts}


def configuration(name: str, entry: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the kind of tokenizer of an architecture, and the configuration of a tiny model."""
    if "tokenizer" not in entry:
        tokenizer, kind, settings = configured(name)
        return tokenizer, getattr(transformers, f"{kind}Config")(**settings)
    names = list(SPECIAL[entry["tokenizer"]].items())
    numbers = {role.removesuffix("_token"): number for number, (role, _) in enumerate(names)}
    pad = numbers.get("pad", 0)
    special = {
        "pad_token_id": pad,
        "bos_token_id": numbers.get("cls", pad),
        "eos_token_id": numbers.get("eos", numbers.get("sep", pad)),
        "decoder_start_token_id": pad,
    }
    common = {name: size for name, size in (SIZES | special).items() if name not in entry.get("skip", ())}
    kind = transformers.CONFIG_MAPPING[name]
    return entry["tokenizer"], kind(**settings_of(kind, entry.get("settings", {}), common))


def make(name: str, entry: Mapping[str, Any], folder: Path) -> None:
    """Save a tiny random model whose attention is far from even, with its tokenizer."""
    kind, config = configuration(name, entry)
    tokenizer = make_tokenizer(kind)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    with torch.device("meta"):
        count = sum(weights.numel() for weights in transformers.AutoModel.from_config(config).parameters())
    if count > LARGEST:
        raise ValueError(f"this is no tiny model: {count:,} parameters")
    model = transformers.AutoModel.from_config(config).eval()
    with torch.no_grad():
        for weights in model.parameters():
            if weights.dim() > 1 and weights.requires_grad:
                weights.normal_(0, entry.get("scale", SCALE))
    model.save_pretrained(folder)
    if entry.get("runs", True):
        encoded = tokenizer(TEXTS[0], return_tensors="pt")
        with torch.inference_mode():
            output = _network(model, None)(**encoded)
        if not bool(torch.isfinite(output[0]).all()):
            raise ValueError("these weights give no finite numbers")


def _network(model: Any, kind: str | None) -> Any:
    """Return the part of a plain model that gives a kind of attention."""
    return model.get_encoder() if model.config.is_encoder_decoder and kind in (None, ENCODER) else model


def plain(model: Any, kind: str | None, inputs: Sequence[Any]) -> list[list[torch.Tensor]]:
    """Return the weights of the plain eager model on each input alone, by layer: those that are square."""
    field = {DECODER: "decoder_attentions", CROSS: "cross_attentions"}.get(kind or "", "attentions")
    network, found = _network(model, kind), []
    for given in inputs:
        tensors = {name: torch.tensor([ids]) for name, ids in given.inputs.items()}
        with torch.inference_mode():
            cache = {"use_cache": False} if kind in (DECODER, CROSS) else {}  # a cache is for one next token
            output = network(**tensors, **cache, output_attentions=True)
        shape = (given.size, given.size)
        if kind in (DECODER, CROSS):
            rows = len(given.inputs["decoder_input_ids"])
            shape = (rows, rows if kind == DECODER else len(given.inputs["input_ids"]))
        every = [own[0].float() for own in getattr(output, field, None) or () if own is not None]
        found.append([own for own in every if tuple(own.shape[1:]) == shape])
    return found


def compare(
    model: Any, inputs: Sequence[Any], reference: Sequence[Sequence[torch.Tensor]]
) -> tuple[float, str]:
    """Return the largest difference of weights in batches from the plain model, and what else differs."""
    furthest, cross = 0.0, model.way.kind == CROSS
    for together in (False, True):
        store = Store(together)
        [*_] = extraction.stream_tokenised(
            model, [inputs], store, batch_size=len(inputs), advance=lambda _: None
        )
        for place, layers in enumerate(reference):
            if len(layers) != model.layers:
                return furthest, f"{model.layers} layers are read, the plain model has {len(layers)}"
            for layer, own in enumerate(layers):
                rows = torch.cat(store.blocks[layer, place], dim=1)
                queries = own.shape[1]
                rows = rows[:, :queries, queries:] if cross else rows
                if rows.shape != own.shape:
                    return furthest, f"shape {tuple(rows.shape)} in place of {tuple(own.shape)}"
                gap = float((rows - own).abs().max())
                furthest = max(furthest, gap if gap == gap else float("inf"))
                visible = store.visible[layer, place]
                seen = np.ones(tuple(own.shape[1:]), bool) if visible is None or cross else visible
                if not np.array_equal(seen, (own > 0).any(0).numpy()):
                    return furthest, f"keys seen in layer {layer} are not those of the plain model"
    return furthest, ""


def _sentence(error: BaseException) -> str:
    return re.sub(r"/tmp/\S+?/(?=[\w-]+)", "", " ".join(str(error).split()))


def read(folder: Path, kind: str | None) -> dict[str, Any]:
    """Return how a kind of attention of a model is read, or why it is refused."""
    how = {"device": "cpu", "dtype": "float32", "kind": kind}
    checkpoint = extraction.find_checkpoint(str(folder), None)
    pairs = kind in (DECODER, CROSS)
    passages = [
        Passage(str(place), (text, *((TEXTS[place - 1],) if pairs else ())))
        for place, text in enumerate(TEXTS)
    ]
    result: dict[str, Any] = {}
    with silence_library():
        whole = transformers.AutoModel.from_pretrained(
            folder, attn_implementation="eager", dtype=torch.float32
        )
    for longest in LENGTHS:
        try:
            model = extraction.load(checkpoint, max_length=longest, **how)
            inputs = extraction.tokenise(model.tokenizer, passages, 96)
        except HeadrolesError as error:
            return {"refused": _sentence(error)}
        reference = plain(whole.eval(), kind, inputs)
        even = [own - 1 / (own > 0).sum(-1, keepdim=True).clamp(min=1) for own in reference[0]]
        result["sharp"] = round(max((float(own.abs().max()) for own in even), default=0.0), 3)
        try:
            gap, wrong = compare(model, inputs, reference)
        except HeadrolesError as error:
            return {"refused": _sentence(error), "late": True}
        result["furthest"] = max(gap, result.get("furthest", 0.0))
        if wrong or gap > CLOSE or result["sharp"] < FLAT:
            result["wrong"] = wrong or (f"differs by {gap:.2g}" if gap > CLOSE else "attention is even")
            result["wrong"] += f" at --max-length {longest} ({model.way.name}, {model.way.batches})"
        if longest == LENGTHS[0]:
            packed = model.way.packs is not None
            result |= {
                "layers": model.layers,
                "of": getattr(whole.config.get_text_config(), "num_hidden_layers", None),
                "heads": model.heads,
                "key_heads": model.described["kv_heads"],
                "batches": "one row" if packed else model.way.batches,
            }
            if packed and model.way.batches != PADDED:
                result["batches"] = f"one row, {model.way.batches}"
        result["path"] = model.way.name
    result["norms"] = _refusal(
        lambda: extraction.load(checkpoint, max_length=LENGTHS[0], norms=ALL_NORMS, **how)
    )
    result["prune"] = _refusal(lambda: _remove(checkpoint, passages))
    result["furthest"] = float(f"{result['furthest']:.1g}")
    return result


def _remove(checkpoint: Any, passages: Sequence[Passage]) -> None:
    model = open_whole(checkpoint, device="cpu", dtype="float32", max_length=LENGTHS[0])
    remover_of(OpenModel(model, LENGTHS[0], LossOptions(0.15)), passages, 2)


def _refusal(work: Any) -> str:
    """Return why something is refused; "" where it is done."""
    try:
        work()
    except HeadrolesError as error:
        return _sentence(error)
    return ""


def sweep_one(name: str, entry: Mapping[str, Any], sender: Connection) -> None:
    """Make and read one architecture, and send the results by kind of attention."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    results: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as root:
        place = Path(root) / name
        try:
            with silence_library():
                make(name, entry, place)
                config = transformers.AutoConfig.from_pretrained(place)
        except BaseException:
            sender.send({"": {"unmade": traceback.format_exc(limit=-3)}})
            return
        for kind in (ENCODER, DECODER, CROSS) if config.is_encoder_decoder else (None,):
            try:
                results[kind or ""] = read(place, kind)
            except BaseException:
                results[kind or ""] = {"wrong": f"traceback: {traceback.format_exc(limit=-6)}"}
    sender.send(results)


def sweep(entries: Mapping[str, Mapping[str, Any]], jobs: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the results of architectures as they come; one that takes too long, or dies, is wrong."""
    context = multiprocessing.get_context("fork")
    waiting, running = list(entries.items()), {}
    while waiting or running:
        while waiting and len(running) < jobs:
            name, entry = waiting.pop(0)
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=sweep_one, args=(name, entry, sender), daemon=True)
            process.start()
            sender.close()
            running[receiver] = (name, process, monotonic() + SECONDS)
        ready = wait(list(running), timeout=1)
        for receiver, (name, process, end) in list(running.items()):
            if receiver not in ready and monotonic() < end:
                continue
            try:
                results = (
                    receiver.recv() if receiver in ready else {"": {"wrong": f"took more than {SECONDS} s"}}
                )
            except EOFError:
                results = {"": {"wrong": "the process died"}}
            process.kill()
            process.join()
            del running[receiver]
            yield name, results


@click.command()
@click.option("--only", multiple=True, help="Architectures by name.  [default: all]")
@click.option("--jobs", default=2, show_default=True)
@click.option("--write", is_flag=True, help="Write the figures and the table of the documentation.")
def main(only: tuple[str, ...], jobs: int, write: bool) -> None:
    """Read tiny random models of many architectures, and compare them with the plain models."""
    torch.set_num_threads(1)
    known = entries()
    chosen = {name: entry for name, entry in known.items() if not only or name in only}
    figures = json.loads(FIGURES.read_text("utf-8")) if only and FIGURES.exists() else {}
    bad = 0
    for name, results in sweep(chosen, jobs):
        for kind, result in results.items():
            bad += "wrong" in result or "unmade" in result
            click.echo(json.dumps({"architecture": name, "kind": kind} | result))
        figures[name] = results
    if write and not bad:
        write_page({name: figures[name] for name in known})
    sys.exit(f"{bad} are read wrongly, or were not made; nothing is written" if bad else 0)


if __name__ == "__main__":
    main()
