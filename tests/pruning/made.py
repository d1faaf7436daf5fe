"""Tiny models with inputs, and runs of ablations of them, made without taking any head out one by one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from headroles.records.causal.columns import LOSS
from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.records.rules.rule import Decision

WORDS = (
    "the",
    "heads",
    "of",
    "a",
    "model",
    "look",
    "at",
    "words",
    "what",
    "did",
    "it",
    "decide",
    "after",
    "long",
)
SIZE: dict[str, Any] = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 48}
SIZE |= {"num_hidden_layers": 2, "vocab_size": 400, "max_position_embeddings": 64}
QUIET = 0.02
"""Standard deviation of the projection weights of heads that do next to nothing."""


@dataclass(frozen=True, slots=True)
class Made:
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
    quiet: tuple[tuple[int, int], ...]


def network_of(name: str) -> Any:
    """A tiny network by name, of which the first two heads of layer 0 and head 3 of layer 1 do little."""
    import transformers as library

    labelled = SIZE | {"num_labels": 2}
    grouped = SIZE | {"num_key_value_heads": 2, "pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 0}
    kinds: dict[str, Callable[[], Any]] = {
        "bert": lambda: library.BertForSequenceClassification(library.BertConfig(**labelled)),
        "encoder": lambda: library.BertModel(library.BertConfig(**SIZE)),
        "llama": lambda: library.LlamaForCausalLM(library.LlamaConfig(**grouped)),
        "qwen2": lambda: library.Qwen2ForCausalLM(library.Qwen2Config(**grouped)),
        "albert": lambda: library.AlbertModel(library.AlbertConfig(**SIZE, embedding_size=16)),
        "gpt2": lambda: library.GPT2LMHeadModel(
            library.GPT2Config(
                n_embd=32, n_layer=2, n_head=4, vocab_size=400, n_positions=64, bos_token_id=0, eos_token_id=0
            )
        ),
    }
    torch.manual_seed(0)
    network = kinds[name]().eval()
    with torch.no_grad():
        for weights in network.parameters():
            if weights.dim() > 1:
                weights.normal_(0, 0.15)
    return network


def quieten(network: Any, heads: Sequence[tuple[int, int]], scale: float = QUIET) -> None:
    """Scale the columns of heads in the output projections, so that they do little."""
    names = ("attention.output.dense", "self_attn.o_proj", "attn.c_proj")
    modules = [module for name, module in network.named_modules() if name.endswith(names)]
    with torch.no_grad():
        for layer, head in heads:
            weight = modules[layer].weight
            rows = weight if type(modules[layer]).__name__ == "Conv1D" else weight.T
            rows.unflatten(0, (4, -1))[head] *= scale


def table(seed: int, rows: int, first: int = 0) -> str:
    """Rows of a text of random words and a label."""
    chance = np.random.default_rng(seed)
    lines = ["text\tlabel"]
    for row in range(first, rows):
        words = " ".join(chance.choice(WORDS, int(chance.integers(4, 12))))
        lines.append(f"{words} {seed} {row}\t{int(chance.integers(2))}")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="session")
def made_of(tokenizer_of: Callable[[str], Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A tiny model with inputs by the name of its architecture, saved once."""
    from functools import cache

    root = tmp_path_factory.mktemp("prunable")
    quiet = ((0, 0), (0, 1), (1, 3))

    @cache
    def make(name: str) -> Made:
        network = network_of(name)
        if name != "albert":
            quieten(network, quiet)
        folder = root / name
        network.save_pretrained(folder)
        tokenizer_of("bert" if name in ("bert", "encoder", "albert") else "gpt2").save_pretrained(folder)
        data, fresh = root / f"{name}.tsv", root / f"{name}-fresh.tsv"
        old = table(1, 160)
        data.write_text(old, encoding="utf-8")
        fresh.write_text(table(2, 80) + "\n".join(old.splitlines()[1:21]) + "\n", encoding="utf-8")
        return Made(folder, data, fresh, quiet)

    return make


def ablated_run(made: Made, outcomes: Sequence[str] = (LOSS,), **options: Any) -> Labelling:
    """A run of ablations whose damages are made up: quiet heads do none, the others do more by place."""
    from headroles.kinds import kind_named
    from headroles.options.causal.ablate import AblateOptions
    from headroles.records.causal.columns import CLEAN, MEAN, Column
    from headroles.runs.ablate.columns import column_rules
    from headroles.shards.survey import count_inputs
    from headroles.stats.causal.judge import judge_ablation

    given: dict[str, Any] = {"model": str(made.model), "data": str(made.data), "text_a": "text"}
    chosen = AblateOptions(**(given | {"max_length": 32, "outcome": tuple(outcomes)} | options))
    kind = kind_named("ablate")
    corpus = kind.read_corpus(chosen)
    survey = count_inputs(corpus, chosen.most_kept, False)
    assert survey.units is not None
    chance, count = np.random.default_rng(3), len(survey.units)
    level = np.linspace(0.01, 0.08, 8).reshape(2, 4)
    for layer, head in made.quiet:
        level[layer, head] = 0.0
    columns = [Column(LOSS, CLEAN).name] * (LOSS in outcomes) + [Column(name, MEAN).name for name in outcomes]
    values = np.stack(
        [
            np.full((count, 2, 4), 0.7)
            if name.endswith(CLEAN)
            else (level + chance.normal(0, 0.01, (count, 2, 4))).clip(0, 1)
            for name in columns
        ]
    )
    scores = Scores(
        sieves=tuple(columns),
        examples=tuple(passage.key for passage in corpus),
        units=survey.units,
        tokens=np.full(count, 10),
        cells=np.full((len(columns), count), 9.0),
        values=values.astype(np.float32),
        null=np.zeros((len(columns), count)),
    )
    _, findings, ablation = judge_ablation(scores, column_rules(columns), Decision(), 0.01)
    manifest = {
        "headroles": "0",
        "command": chosen.command(),
        "source": {"sha256": survey.sha256} | dict(corpus.source),
        "model": {"name": str(made.model), "origin": "a local folder", "layers": 2, "heads": 4}
        | {"weights_sha256": weights_of(made.model)},
        "settings": chosen.settings(),
        "counts": {"examples": count, "units": len({*survey.units})},
    }
    return Labelling(scores, findings, Decision(), manifest, ablated=ablation)


def weights_of(folder: Path) -> str:
    """The SHA-256 of the weights of a checkpoint."""
    from headroles.extraction.model.checkpoint import weights_hash

    return weights_hash(folder)
