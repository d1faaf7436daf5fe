"""Interventions on plain eager models, by hooks that share no code with the package."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from headroles.extraction import LossOptions, Model, Tokenised, prepare_target, tokenise
from headroles.records import Passage
from tests.support import table
from tests.support.tiny_models import TEXTS

OUTPUTS, VALUES = (
    {name: f"{path}$" for name, path in table(rows)}
    for rows in (
        r"""
        bert       | attention\.output\.dense
        roberta    | attention\.output\.dense
        distilbert | attention\.out_lin
        gpt2       | attn\.c_proj
        llama      | self_attn\.o_proj
        gemma2     | self_attn\.o_proj
        t5         | SelfAttention\.o
        bart       | self_attn\.out_proj
        """,
        r"""
        bert       | attention\.self\.value
        roberta    | attention\.self\.value
        distilbert | attention\.v_lin
        gpt2       | attn\.c_attn
        llama      | self_attn\.v_proj
        gemma2     | self_attn\.v_proj
        t5         | SelfAttention\.v
        bart       | self_attn\.v_proj
        """,
    )
)
"""Names of the modules that read the outputs of all heads, and of those that put out the values of all key
heads, by tiny model; GPT-2's puts out queries and keys, too."""
UNITS = [f"t{k}" for k in range(len(TEXTS))]
Change = Callable[[int, torch.Tensor], None]
"""Changes the outputs (tokens, heads, size) of a layer in place."""


def cases(usual: str, rare: str) -> list[Any]:
    """Parameters from words, each "name:second:…"; the rare ones are for CI."""
    marks = [(each, ()) for each in usual.split()] + [(each, (pytest.mark.ci,)) for each in rare.split()]
    return [pytest.param(*each.split(":"), marks=own, id=each) for each, own in marks]


def unchanged(layer: int, own: torch.Tensor) -> None:
    """Change nothing."""


def open_loss(folder: Path, dtype: str = "float32") -> Any:
    """A tiny model with a head."""
    from headroles.extraction import find_checkpoint, load_with_loss

    return load_with_loss(find_checkpoint(str(folder), None), device="cpu", dtype=dtype, max_length=128)


def inputs_of(model: Model, texts: Sequence[str] = TEXTS) -> list[Tokenised]:
    """Inputs of a model, each of its own unit; pairs of equal texts for decoders."""
    pair = model.described.get("kind") == "decoder"
    passages = [Passage(f"t{k}", (text, text) if pair else (text,)) for k, text in enumerate(texts)]
    inputs: list[Tokenised] = tokenise(model.tokenizer, passages, 64)
    return inputs


def with_targets(model: Any, texts: Sequence[str] = TEXTS) -> tuple[list[Tokenised], list[Any]]:
    """Inputs as the model reads them for its loss, and the target of each."""
    pairs = [prepare_target(model, given, LossOptions(0.3)) for given in inputs_of(model, texts)]
    return [given for given, _ in pairs], [target for _, target in pairs]


def tensors_of(tokenised: Tokenised) -> dict[str, torch.Tensor]:
    """One input as the library takes it."""
    return {key: torch.tensor([values]) for key, values in tokenised.inputs.items()}


def _modules(network: Any, pattern: str, kind: str | None) -> list[Any]:
    """Modules of a pattern in the order of their layers, of the decoder or of all."""
    part = "decoder." if kind == "decoder" else ""
    named = network.named_modules()
    return [module for path, module in named if re.search(pattern, path) and path.startswith(part)]


def plain_run(
    model: Model, tokenised: Tokenised, name: str, change: Change = unchanged, kind: str | None = None
) -> torch.Tensor:
    """The first output of the plain eager network whose heads' outputs are changed."""
    network = model.network
    network.set_attn_implementation("eager")
    handles = []
    for layer, module in enumerate(_modules(network, OUTPUTS[name], kind)):

        def hook(module: Any, given: Any, layer: int = layer) -> Any:
            own = given[0].clone()
            change(layer, own.view(*own.shape[:2], model.heads, -1)[0])
            return (own, *given[1:])

        handles.append(module.register_forward_pre_hook(hook))
    with torch.inference_mode():
        output: torch.Tensor = network(**tensors_of(tokenised))[0]
    for handle in handles:
        handle.remove()
    return output[0]


def plain_outputs(
    model: Model, tokenised: Tokenised, name: str, kind: str | None = None
) -> list[torch.Tensor]:
    """The outputs of all heads of the plain eager network, by layer."""
    kept: list[torch.Tensor] = []
    plain_run(model, tokenised, name, lambda layer, own: kept.append(own.clone()), kind)
    return kept


def plain_attention(
    model: Model, tokenised: Tokenised, name: str, kind: str | None = None
) -> tuple[list[np.ndarray], list[torch.Tensor]]:
    """Weights (heads, queries, keys) and values (heads, keys, size) of the plain eager network, by layer."""
    network, kept = model.network, list[torch.Tensor]()
    network.set_attn_implementation("eager")
    modules = _modules(network, VALUES[name], kind)
    handles = [each.register_forward_hook(lambda m, i, output: kept.append(output[0])) for each in modules]
    with torch.inference_mode():
        output = network(**tensors_of(tokenised), output_attentions=True)
    for handle in handles:
        handle.remove()
    weights = output.decoder_attentions if kind == "decoder" else output.attentions
    size = getattr(network.config, "head_dim", None) or 8
    values = []
    for own in kept:
        width = own.shape[-1] // 3 if name == "gpt2" else own.shape[-1]
        heads = own[:, -width:].reshape(len(own), -1, size).transpose(0, 1)
        values.append(heads.repeat_interleave(model.heads // len(heads), 0))
    return [own[0].double().numpy() for own in weights], values


def apart(first: torch.Tensor, second: torch.Tensor) -> np.ndarray:
    """1 − cosine by the library, in float64."""
    similarity = torch.nn.functional.cosine_similarity(first.double(), second.double(), dim=-1)
    return (1 - similarity).clamp(max=1).numpy()
