"""Architectures that are tested as tiny models, and how each is read: see ``docs/reference/models.md``."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import table

FORMED, EAGER, RETURNED = "headroles", "headroles-eager", "output_attentions"


@dataclass(frozen=True, slots=True)
class Architecture:
    """One row of the table.

    Attributes:
        path: Where inputs are long, or weights are of half precision; "headroles" means that short
            inputs on a CPU go by "headroles-eager".
        causal: Whether every layer hides later keys and nothing else.
        rigid: Whether attention depends on absolute positions, so that padding on the left changes
            the model itself.
        key_heads: Heads of keys and values in each layer; None where every query head has its own.
    """

    path: str
    causal: bool
    rigid: bool
    key_heads: tuple[int, ...] | None


ROWS = """
# path            | causal, rigid | key heads | names of tiny models
headroles         |               |           | roberta xlm-roberta camembert modernbert nomic-bert
headroles         |               |           | t5 mt5 umt5
headroles         | rigid         |           | bert ernie distilbert albert electra bart mbart pegasus
headroles         |               | 2 2       | eurobert starcoder2 olmo3 exaone4 cohere2
headroles         |               | 2 2 2     | mistral
headroles         |               | 2 2 2 2   | gemma3
headroles         |               | 2 1       | gemma4
headroles         | causal        |           | gpt-neox opt deepseek-v3
headroles         | causal        | 1 1       | gemma
headroles         | causal        | 2 2       | smollm3 granite stablelm qwen2 qwen3 phi phi3 glm
headroles         | causal        | 2 2       | olmo2 nemotron mixtral qwen3_next afmoe laguna
headroles         | causal        | 2 2 2     | llama
headroles         | causal rigid  |           | gpt2
headroles         | causal rigid  | 1 1       | gpt-bigcode
headroles-eager   |               | 2 2 2     | gemma2 gpt-oss
output_attentions |               |           | mpnet deberta-v2 roformer xlnet
output_attentions | rigid         |           | convbert
output_attentions | causal        |           | gptj bloom mpt
output_attentions | causal        | 1 1       | falcon
output_attentions | causal        | 2 2       | falcon-grouped
output_attentions | causal rigid  |           | xglm
"""
TABLE = {
    name: Architecture(
        path, "causal" in traits, "rigid" in traits, tuple(map(int, heads.split())) if heads else None
    )
    for path, traits, heads, names in table(ROWS)
    for name in names.split()
}
"""By the name of the tiny model (fixture ``model_of``)."""
USUAL = {
    "bert", "roberta", "albert", "modernbert", "gpt2", "gpt-bigcode", "llama", "mistral", "gemma4", "t5",
    "bart", "gemma2", "gpt-oss", "mpnet", "xlnet", "falcon",
}  # fmt: skip
"""One architecture for each path of the code; the others are read in CI."""


def architectures(asked: Callable[[Architecture], bool] = lambda told: True) -> list[Any]:
    """Names for ``parametrize``: one worker has all tests of an architecture; CI has the unusual ones."""
    return [
        pytest.param(
            name, marks=[pytest.mark.xdist_group(name), *([] if name in USUAL else [pytest.mark.ci])]
        )
        for name, told in TABLE.items()
        if asked(told)
    ]


def configured(name: str) -> tuple[str, str, dict[str, Any]]:
    """Kind of tokenizer, class of configuration and its settings of a tiny model."""
    kind, config, settings = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))[name]
    return kind, config, settings
