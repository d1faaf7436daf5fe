"""Interventions on plain eager models by hooks that share no code with the package, and tiny models."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from headroles.extraction.ablation.arms import Arm
from headroles.extraction.ablation.references import Means, token_classes
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import Model, load
from headroles.extraction.model.losses import LossModel, load_with_loss
from headroles.extraction.texts.tokens import Tokenised, tokenise
from headroles.records.passage import Passage
from tests.support.tiny_models import TEXTS

PROJECTIONS = {
    "bert": r"attention\.output\.dense$",
    "roberta": r"attention\.output\.dense$",
    "distilbert": r"attention\.out_lin$",
    "gpt2": r"attn\.c_proj$",
    "llama": r"self_attn\.o_proj$",
    "gemma2": r"self_attn\.o_proj$",
    "t5": r"SelfAttention\.o$",
    "bart": r"self_attn\.out_proj$",
}
"""Names of the modules that read the outputs of all heads, by tiny model."""


Change = Callable[[int, torch.Tensor], None]


def open_model(folder: Path, dtype: str = "float32", kind: str | None = None) -> Model:
    """A tiny model without a head."""
    checkpoint = find_checkpoint(str(folder), None)
    return load(checkpoint, device="cpu", dtype=dtype, max_length=128, kind=kind)


def open_loss(folder: Path, dtype: str = "float32") -> LossModel:
    """A tiny model with a head."""
    return load_with_loss(find_checkpoint(str(folder), None), device="cpu", dtype=dtype, max_length=128)


def inputs_of(model: Model, texts: Sequence[str] = TEXTS) -> list[Tokenised]:
    """Inputs of a model, each of its own unit."""
    pair = model.described.get("kind") == "decoder"
    passages = [Passage(f"t{k}", (text, text) if pair else (text,)) for k, text in enumerate(texts)]
    return tokenise(model.tokenizer, passages, 64)


UNITS = [f"t{k}" for k in range(len(TEXTS))]


def projections(network: Any, name: str, kind: str | None = None) -> list[Any]:
    """The modules that read the outputs of all heads, in the order of their layers."""
    part = "decoder." if kind == "decoder" else ""
    return [module for path, module in network.named_modules()
            if re.search(PROJECTIONS[name], path) and path.startswith(part)]  # fmt: skip


def plain_run(
    model: Model,
    tokenised: Tokenised,
    name: str,
    change: Change,
    kind: str | None = None,
) -> torch.Tensor:
    """The first output of the plain eager network whose heads' outputs (tokens, heads, size) are changed."""
    network = model.network
    network.set_attn_implementation("eager")
    handles = []
    for layer, module in enumerate(projections(network, name, kind)):

        def hook(module: Any, given: Any, layer: int = layer) -> Any:
            own = given[0].clone()
            change(layer, own.view(*own.shape[:2], model.heads, -1)[0])
            return (own, *given[1:])

        handles.append(module.register_forward_pre_hook(hook))
    inputs = {key: torch.tensor([values]) for key, values in tokenised.inputs.items()}
    with torch.inference_mode():
        output: torch.Tensor = network(**inputs)[0]
    for handle in handles:
        handle.remove()
    return output[0]


def plain_outputs(model: Model, tokenised: Tokenised, name: str) -> list[torch.Tensor]:
    """The outputs of all heads of the plain eager network, by layer."""
    kept: list[torch.Tensor] = []
    plain_run(model, tokenised, name, lambda layer, own: kept.append(own.clone()))
    return kept


def one_minus_cosine(first: torch.Tensor, second: torch.Tensor) -> np.ndarray:
    """By the library's cosine, in float64."""
    similarity = torch.nn.functional.cosine_similarity(first.double(), second.double(), dim=-1)
    return (1 - similarity).clamp(max=1).numpy()


def replaced(arm: Arm, means: Means, tokenised: Tokenised, unit: str) -> Change:
    """The change that an arm of zero or mean outputs makes, for ``plain_run``."""

    def change(layer: int, own: torch.Tensor) -> None:
        for own_layer, head in arm.heads:
            if layer == own_layer:
                mean = arm.by == "mean"
                own[:, head] = means.of(unit, token_classes(tokenised), layer)[:, head] if mean else 0.0

    return change


VALUES = {
    "bert": r"attention\.self\.value$",
    "roberta": r"attention\.self\.value$",
    "distilbert": r"attention\.v_lin$",
    "gpt2": r"attn\.c_attn$",
    "llama": r"self_attn\.v_proj$",
    "gemma2": r"self_attn\.v_proj$",
    "t5": r"SelfAttention\.v$",
    "bart": r"self_attn\.v_proj$",
}
"""Names of the modules that put out the values of all key heads; GPT-2's puts out queries and keys, too."""


def plain_attention(
    model: Model, tokenised: Tokenised, name: str, kind: str | None = None
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Weights (heads, queries, keys) and values (heads, keys, size) of the plain eager network, by layer."""
    network, kept = model.network, list[torch.Tensor]()
    network.set_attn_implementation("eager")
    part = "decoder." if kind == "decoder" else ""
    modules = [module for path, module in network.named_modules()
               if re.search(VALUES[name], path) and path.startswith(part)]  # fmt: skip
    handles = [
        module.register_forward_hook(lambda m, i, output: kept.append(output[0])) for module in modules
    ]
    inputs = {key: torch.tensor([values]) for key, values in tokenised.inputs.items()}
    with torch.inference_mode():
        output = network(**inputs, output_attentions=True)
    for handle in handles:
        handle.remove()
    weights = output.decoder_attentions if kind == "decoder" else output.attentions
    values = []
    for layer, own in enumerate(kept):
        width = own.shape[-1] // 3 if name == "gpt2" else own.shape[-1]
        size = width // model.heads if name == "gpt2" else _head_size(network, weights[layer], own)
        heads = own[:, -width:].reshape(len(own), -1, size).transpose(0, 1)
        values.append(heads.repeat_interleave(model.heads // len(heads), 0))
    return [own[0] for own in weights], values


def _head_size(network: Any, weights: torch.Tensor, values: torch.Tensor) -> int:
    config = network.config
    size = getattr(config, "head_dim", None) or getattr(config, "d_kv", None)
    hidden = getattr(config, "hidden_size", values.shape[-1])
    return int(size or hidden // weights.shape[1])
