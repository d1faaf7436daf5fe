"""Tiny models with quiet heads, and runs of ablations of them, made without taking heads out one by one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.support.made_runs import made_scores

if TYPE_CHECKING:
    from headroles import Labelling

WORDS = ("the", "heads", "of", "a", "model", "look", "at", "words", "what", "did", "it", "decide", "after")
SIZE: dict[str, Any] = {
    "hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 48, "num_hidden_layers": 2,
    "vocab_size": 400, "max_position_embeddings": 64,
}  # fmt: skip
QUIET = 0.02
"""Scale of the output projections of heads that do next to nothing."""


@dataclass(frozen=True, slots=True)
class Prunable:
    """A tiny model and its inputs.

    Attributes:
        model: Folder of the checkpoint.
        data: Table of inputs, with the columns text and label.
        fresh: Another table of the same kind; a fifth of its texts are in ``data``, too.
        quiet: Heads that do next to nothing, as (layer, head).
    """

    model: Path
    data: Path
    fresh: Path
    quiet: tuple[tuple[int, int], ...] = ((0, 0), (0, 1), (1, 3))


def network_of(name: str) -> Any:
    """Return a tiny random network by name."""
    import torch
    import transformers as library

    grouped = SIZE | {"num_key_value_heads": 2, "pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 0}
    short: dict[str, Any] = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 400, "n_positions": 64}
    kinds: dict[str, Callable[[], Any]] = {
        "bert": lambda: library.BertForSequenceClassification(library.BertConfig(**SIZE | {"num_labels": 2})),
        "encoder": lambda: library.BertModel(library.BertConfig(**SIZE)),
        "llama": lambda: library.LlamaForCausalLM(library.LlamaConfig(**grouped)),
        "qwen2": lambda: library.Qwen2ForCausalLM(library.Qwen2Config(**grouped)),
        "gated": lambda: library.Qwen3NextForCausalLM(
            library.Qwen3NextConfig(
                **grouped, head_dim=8, layer_types=["full_attention"] * 2, mlp_only_layers=[0, 1]
            )
        ),
        "shared": lambda: library.Zamba2ForCausalLM(
            library.Zamba2Config(
                **grouped | {"num_hidden_layers": 4, "num_key_value_heads": 4},
                num_mem_blocks=1,
                layers_block_type=["mamba", "hybrid"] * 2,
                mamba_d_state=8,
                n_mamba_heads=8,
                mamba_ngroups=1,
            )
        ),
        "gpt2": lambda: library.GPT2LMHeadModel(library.GPT2Config(**short, bos_token_id=0, eos_token_id=0)),
    }
    torch.manual_seed(0)
    network = kinds[name]().eval()
    with torch.no_grad():
        for weights in network.parameters():
            if weights.dim() > 1:
                weights.normal_(0, 0.15)
    return network


def quieten(network: Any, heads: Sequence[tuple[int, int]]) -> None:
    """Scale the columns of heads in the output projections, so that they do little."""
    import torch

    names = ("attention.output.dense", "self_attn.o_proj", "attn.c_proj")
    modules = [module for name, module in network.named_modules() if name.endswith(names)]
    with torch.no_grad():
        for layer, head in heads:
            weight = modules[layer].weight
            rows = weight if type(modules[layer]).__name__ == "Conv1D" else weight.T
            rows.unflatten(0, (4, -1))[head] *= QUIET


def labelled_texts(seed: int, rows: int) -> str:
    """Return a table of texts of random words, each with a label."""
    chance = np.random.default_rng(seed)
    lines = ["text\tlabel"]
    for row in range(rows):
        words = " ".join(chance.choice(WORDS, int(chance.integers(4, 12))))
        lines.append(f"{words} {seed} {row}\t{int(chance.integers(2))}")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="session")
def prunable(tokenizer_of: Callable[[str], Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A tiny model with inputs by the name of its architecture, saved once."""
    from functools import cache

    root = tmp_path_factory.mktemp("prunable")

    @cache
    def make(name: str) -> Prunable:
        made = Prunable(root / name, root / f"{name}.tsv", root / f"{name}-fresh.tsv")
        network = network_of(name)
        quieten(network, made.quiet)
        network.save_pretrained(made.model)
        tokenizer_of("bert" if name in ("bert", "encoder") else "gpt2").save_pretrained(made.model)
        old = labelled_texts(1, 160)
        made.data.write_text(old, encoding="utf-8")
        known = "\n".join(old.splitlines()[1:21])
        made.fresh.write_text(f"{labelled_texts(2, 80)}{known}\n", encoding="utf-8")
        return made

    return make


def ablated_run(made: Prunable, outcomes: Sequence[str] = ("loss",), **options: Any) -> "Labelling":
    """Return a run of ablations with made-up damages: quiet heads do none, the others more by place."""
    from headroles import Labelling
    from headroles.extraction import weights_hash
    from headroles.kinds import kind_named
    from headroles.records import Decision
    from headroles.runs import column_rules
    from headroles.shards import count_inputs
    from headroles.stats import judge_ablation

    given = {"model": str(made.model), "data": str(made.data), "text_a": "text", "max_length": 32}
    kind = kind_named("ablate")
    chosen: Any = kind.options(given | {"outcome": tuple(outcomes)} | options)
    corpus = kind.read_corpus(chosen)
    survey = count_inputs(corpus, chosen.most_kept, False)
    chance, count = np.random.default_rng(3), len(survey.units)
    level = np.linspace(0.01, 0.08, 8).reshape(2, 4)
    for layer, head in made.quiet:
        level[layer, head] = 0.0
    columns = [*(["loss:clean"] if "loss" in outcomes else []), *(f"{name}:mean" for name in outcomes)]
    damages = (level + chance.normal(0, 0.01, (len(columns), count, 2, 4))).clip(0, 1)
    if "loss" in outcomes:
        damages[0] = 0.7
    scores = made_scores(columns, damages, units=survey.units, tokens=10, cells=9.0)
    scores = replace(scores, examples=tuple(passage.key for passage in corpus))
    _, findings, ablation = judge_ablation(scores, column_rules(columns), Decision(), 0.01)
    facts = {"name": str(made.model), "origin": "a local folder", "layers": 2, "heads": 4}
    manifest = {
        "headroles": "0",
        "versions": {},
        "command": chosen.command(),
        "source": {"sha256": survey.sha256} | dict(corpus.source),
        "model": facts | {"weights_sha256": weights_hash(made.model)},
        "settings": chosen.settings(),
        "counts": {"examples": count, "units": len({*survey.units})},
    }
    return Labelling(scores, findings, Decision(), manifest, ablated=ablation)
