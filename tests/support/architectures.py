"""Architectures that are tested as tiny models, and how each is read: see ``docs/reference/models.md``."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.tables import table

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
headroles         | causal        | 2 2       | olmo2 nemotron mixtral
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
    size: dict[str, Any] = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 48}
    size |= {"num_hidden_layers": 2, "vocab_size": 400, "max_position_embeddings": 600}
    ends = {"bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 1}
    grouped = size | {"num_key_value_heads": 2, "pad_token_id": 0}
    deep = grouped | {"num_hidden_layers": 3}
    window = {"sliding_window": 6}
    mixed = window | {"layer_types": ["sliding_attention", "full_attention"]}
    third = mixed | {"layer_types": ["sliding_attention"] * 3 + ["full_attention"]}
    apart = {"global_head_dim": 8, "num_global_key_value_heads": 1, "attention_k_eq_v": True} | mixed
    width = {"d_model": 32, "vocab_size": 400}
    relative = width | {"d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4}
    sides = {"layers": 2, "attention_heads": 4, "ffn_dim": 48}
    both = width | {f"{side}_{what}": n for side in ("encoder", "decoder") for what, n in sides.items()}
    both |= {"max_position_embeddings": 600} | ends
    starts = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    languages = {
        "langs": ["en", "de"],
        "src_vocab_size": 400,
        "tgt_vocab_size": 400,
        "decoder_start_token_id": 2,
    }
    short = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 400, "n_positions": 600}
    opt = {"word_embed_proj_dim": 32, "ffn_dim": 48} | {k: v for k, v in size.items() if "intermed" not in k}
    latent = {"q_lora_rank": 8, "kv_lora_rank": 8, "qk_rope_head_dim": 4, "qk_nope_head_dim": 4}
    latent |= {"v_head_dim": 8, "n_routed_experts": 4, "num_experts_per_tok": 1, "n_group": 1}
    latent |= {"topk_group": 1, "first_k_dense_replace": 1, "moe_intermediate_size": 16}
    modern = {"local_attention": 8, "global_attn_every_n_layers": 3, "pad_token_id": 0, "cls_token_id": 2}
    modern |= {"num_hidden_layers": 4, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3}
    capped = {"head_dim": 8, "query_pre_attn_scalar": 8, "attn_logit_softcapping": 2.0} | window
    experts = {"num_local_experts": 2, "num_experts_per_tok": 2}
    disentangled = {
        "relative_attention": True,
        "pos_att_type": ["c2p", "p2c"],
        "position_biased_input": False,
    }
    local = {"attention_types": [[["global", "local"], 1]], "window_size": 6, "num_layers": 2, "num_heads": 4}
    xglm = width | {"ffn_dim": 48, "num_layers": 2, "attention_heads": 4, "max_position_embeddings": 600}
    dim = {"head_dim": 8}
    kinds: dict[str, tuple[str, str, dict[str, Any]]] = {
        "bert": ("bert", "Bert", size),
        "roberta": ("roberta", "Roberta", size | ends),
        "xlm-roberta": ("roberta", "XLMRoberta", size | ends),
        "camembert": ("roberta", "Camembert", size | ends),
        "ernie": ("bert", "Ernie", size),
        "distilbert": ("bert", "DistilBert", {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48}),
        "albert": ("bert", "Albert", size | {"num_hidden_layers": 3, "embedding_size": 16}),
        "electra": ("bert", "Electra", size | {"embedding_size": 16}),
        "modernbert": ("bert", "ModernBert", size | modern),
        "nomic-bert": ("bert", "NomicBert", size),
        "eurobert": ("bert", "EuroBert", grouped),
        "mpnet": ("roberta", "MPNet", size),
        "deberta-v2": ("bert", "DebertaV2", size | disentangled),
        "roformer": ("bert", "RoFormer", size),
        "convbert": ("bert", "ConvBert", size),
        "xlnet": ("xlnet", "XLNet", width | {"n_layer": 2, "n_head": 4, "d_inner": 48}),
        "t5": ("t5", "T5", relative),
        "mt5": ("t5", "MT5", relative),
        "umt5": ("t5", "UMT5", relative),
        "bart": ("roberta", "Bart", both),
        "mbart": ("roberta", "MBart", both),
        "pegasus": ("t5", "Pegasus", both | starts),
        "marian": ("t5", "Marian", both | starts),
        "fsmt": ("roberta", "FSMT", both | languages),
        "gpt2": ("gpt2", "GPT2", short),
        "gpt-bigcode": ("gpt2", "GPTBigCode", short | {"n_inner": 48, "multi_query": True}),
        "gpt-neox": ("gpt2", "GPTNeoX", size),
        "gptj": ("gpt2", "GPTJ", short | {"rotary_dim": 4}),
        "bloom": ("gpt2", "Bloom", {"hidden_size": 32, "n_layer": 2, "n_head": 4, "vocab_size": 400}),
        "mpt": ("gpt2", "Mpt", width | {"n_heads": 4, "n_layers": 2, "max_seq_len": 600}),
        "falcon": ("gpt2", "Falcon", size | {"num_kv_heads": 4}),
        "falcon-grouped": ("gpt2", "Falcon", size | {"new_decoder_architecture": True, "num_kv_heads": 2}),
        "xglm": ("gpt2", "XGLM", xglm),
        "opt": ("gpt2", "OPT", opt),
        "llama": ("gpt2", "Llama", deep),
        "smollm3": ("gpt2", "SmolLM3", grouped),
        "granite": ("gpt2", "Granite", grouped),
        "stablelm": ("gpt2", "StableLm", grouped),
        "qwen2": ("gpt2", "Qwen2", grouped),
        "qwen3": ("gpt2", "Qwen3", grouped | dim),
        "phi": ("gpt2", "Phi", grouped),
        "phi3": ("gpt2", "Phi3", grouped),
        "glm": ("gpt2", "Glm", grouped | dim),
        "olmo2": ("gpt2", "Olmo2", grouped),
        "nemotron": ("gpt2", "Nemotron", grouped),
        "mixtral": ("gpt2", "Mixtral", grouped | experts | {"num_experts_per_tok": 1}),
        "deepseek-v3": ("gpt2", "DeepseekV3", grouped | latent | {"num_key_value_heads": 4}),
        "mistral": ("gpt2", "Mistral", deep | window),
        "starcoder2": ("gpt2", "Starcoder2", grouped | window),
        "olmo3": ("gpt2", "Olmo3", grouped | mixed),
        "exaone4": ("gpt2", "Exaone4", grouped | mixed),
        "cohere2": ("gpt2", "Cohere2", grouped | mixed),
        "gemma": ("gpt2", "Gemma", grouped | dim | {"num_key_value_heads": 1}),
        "gemma2": ("gpt2", "Gemma2", deep | capped),
        "gemma3": ("gpt2", "Gemma3Text", grouped | dim | {"num_hidden_layers": 4} | third),
        "gemma4": ("gpt2", "Gemma4Text", grouped | dim | apart),
        "gpt-oss": ("gpt2", "GptOss", deep | experts | dim | window),
        "gpt-neo": ("gpt2", "GPTNeo", width | {"hidden_size": 32, "max_position_embeddings": 600} | local),
        "longformer": ("roberta", "Longformer", size | {"attention_window": 8}),
        "bigbird": ("bert", "BigBird", size | {"block_size": 4, "num_random_blocks": 1}),
        "mamba": ("gpt2", "Mamba", {"hidden_size": 32, "num_hidden_layers": 2, "vocab_size": 400}),
        "clip": ("gpt2", "CLIP", {"text_config": size, "vision_config": size | {"image_size": 32}}),
    }
    return kinds[name]
