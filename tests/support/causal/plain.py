"""Interventions on plain eager models, by hooks that share no code with the package."""

import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headroles import extraction
from headroles.records import Passage
from tests.support import table
from tests.support.tiny_models import TEXTS

MODULES = {
    name: paths
    for names, *paths in table(r"""
        bert roberta electra                        | attention\.output\.dense | attention\.self\.value
        llama gemma2 gemma3 mistral granite cohere2 | self_attn\.o_proj        | self_attn\.v_proj
        bart opt                                    | self_attn\.out_proj      | self_attn\.v_proj
        distilbert                                  | attention\.out_lin       | attention\.v_lin
        gpt2                                        | attn\.c_proj             | attn\.c_attn
        t5                                          | SelfAttention\.o         | SelfAttention\.v
        albert gpt-neox                             | attention\.dense         |
        phi                                         | self_attn\.dense         |
        modernbert                                  | attn\.Wo                 |
    """)
    for name in names.split()
}
"""Modules that read the outputs of all heads, and those that put out the values of all key heads, by tiny
model; GPT-2's puts out queries and keys, too."""
UNITS = [f"t{k}" for k in range(len(TEXTS))]
Change = Callable[[int, Any], None]
"""Changes the outputs (tokens, heads, size) of a layer in place."""


def cases(usual: str, rare: str) -> list[Any]:
    """Parameters from words, each "name:second:…"; the rare ones are for CI."""
    marks = [(each, ()) for each in usual.split()] + [(each, (pytest.mark.ci,)) for each in rare.split()]
    return [pytest.param(*each.split(":"), marks=own, id=each) for each, own in marks]


def open_loss(folder: Path, dtype: str = "float32", max_length: int = 128) -> Any:
    """A tiny model with a head."""
    checkpoint = extraction.find_checkpoint(str(folder), None)
    return extraction.load_with_loss(checkpoint, device="cpu", dtype=dtype, max_length=max_length)


def inputs_of(model: Any, texts: Sequence[str] = TEXTS) -> list[Any]:
    """Inputs of a model, each of its own unit; pairs of equal texts for decoders that read a first text."""
    pair = model.described.get("kind") == "decoder"
    passages = [Passage(f"t{k}", (text, text) if pair else (text,)) for k, text in enumerate(texts)]
    inputs: list[Any] = extraction.tokenise(model.tokenizer, passages, 64)
    return inputs


def with_targets(model: Any, texts: Sequence[str] = TEXTS) -> tuple[list[Any], list[Any]]:
    """Inputs as the model reads them for its loss, and the target of each."""
    options = extraction.LossOptions(0.3)
    pairs = [extraction.prepare_target(model, given, options) for given in inputs_of(model, texts)]
    return [given for given, _ in pairs], [target for _, target in pairs]


def tensors_of(tokenised: Any) -> dict[str, Any]:
    """One input as the library takes it."""
    import torch

    return {key: torch.tensor([values]) for key, values in tokenised.inputs.items()}


def _modules(network: Any, path: str, kind: str | None) -> list[Any]:
    """Modules of a path in the order of their layers, of the decoder or of all."""
    part = "decoder." if kind == "decoder" else ""
    named = network.named_modules()
    return [module for own, module in named if re.search(f"{path}$", own) and own.startswith(part)]


def plain_run(
    model: Any, tokenised: Any, name: str, change: Change | None = None, kind: str | None = None
) -> Any:
    """The first output of the plain eager network whose heads' outputs are changed."""
    import torch

    network, layers = model.network, count()
    network.set_attn_implementation("eager")

    def hook(module: Any, given: Any) -> Any:
        own = given[0].clone()
        layer = next(layers)
        if change is not None:
            change(layer, own.view(*own.shape[:2], model.heads, -1)[0])
        return (own, *given[1:])

    with ExitStack() as stack, torch.inference_mode():
        for module in _modules(network, MODULES[name][0], kind):
            stack.callback(module.register_forward_pre_hook(hook).remove)
        return network(**tensors_of(tokenised))[0][0]


def plain_outputs(model: Any, tokenised: Any, name: str, kind: str | None = None) -> list[Any]:
    """The outputs of all heads of the plain eager network, by layer."""
    kept: list[Any] = []
    plain_run(model, tokenised, name, lambda layer, own: kept.append(own.clone()), kind)
    return kept


def plain_attention(
    model: Any, tokenised: Any, name: str, kind: str | None = None
) -> tuple[list[np.ndarray], list[Any]]:
    """Weights (heads, queries, keys) and values (heads, keys, size) of the plain eager network, by layer."""
    import torch

    network, kept = model.network, list[Any]()
    network.set_attn_implementation("eager")
    with ExitStack() as stack, torch.inference_mode():
        for module in _modules(network, MODULES[name][1], kind):
            handle = module.register_forward_hook(lambda module, given, output: kept.append(output[0]))
            stack.callback(handle.remove)
        output = network(**tensors_of(tokenised), output_attentions=True)
    weights = output.decoder_attentions if kind == "decoder" else output.attentions
    size = getattr(network.config, "head_dim", None) or 8
    values = []
    for own in kept:
        width = own.shape[-1] // 3 if name == "gpt2" else own.shape[-1]
        heads = own[:, -width:].reshape(len(own), -1, size).transpose(0, 1)
        values.append(heads.repeat_interleave(model.heads // len(heads), 0))
    return [own[0].double().numpy() for own in weights], values
