"""Architectures that are tested as tiny models, and how each is read: see ``docs/reference/models.md``."""

from dataclasses import dataclass
from typing import Any

FORMED, EAGER, RETURNED = "headroles", "headroles-eager", "output_attentions"


@dataclass(frozen=True, slots=True)
class Architecture:
    """One row of the table.

    Attributes:
        path: Where inputs are long, or weights are of half precision; "headroles" means that short
            inputs on a CPU go by "headroles-eager".
        causal: Whether every layer hides later keys and nothing else.
        key_heads: Heads of keys and values in each layer; None where every query head has its own.
        rigid: Whether attention depends on absolute positions, so that padding on the left changes
            the model itself.
    """

    path: str = FORMED
    causal: bool = False
    key_heads: tuple[int, ...] | None = None
    rigid: bool = False


TABLE = {
    "bert": Architecture(rigid=True),
    "roberta": Architecture(),
    "xlm-roberta": Architecture(),
    "camembert": Architecture(),
    "ernie": Architecture(rigid=True),
    "distilbert": Architecture(rigid=True),
    "albert": Architecture(rigid=True),
    "electra": Architecture(rigid=True),
    "modernbert": Architecture(),
    "nomic-bert": Architecture(),
    "eurobert": Architecture(key_heads=(2, 2)),
    "mpnet": Architecture(path=RETURNED),
    "deberta-v2": Architecture(path=RETURNED),
    "roformer": Architecture(path=RETURNED),
    "convbert": Architecture(path=RETURNED, rigid=True),
    "xlnet": Architecture(path=RETURNED),
    "t5": Architecture(),
    "mt5": Architecture(),
    "umt5": Architecture(),
    "bart": Architecture(rigid=True),
    "mbart": Architecture(rigid=True),
    "pegasus": Architecture(rigid=True),
    "gpt2": Architecture(causal=True, rigid=True),
    "gpt-bigcode": Architecture(causal=True, key_heads=(1, 1), rigid=True),
    "gpt-neox": Architecture(causal=True),
    "gptj": Architecture(path=RETURNED, causal=True),
    "bloom": Architecture(path=RETURNED, causal=True),
    "mpt": Architecture(path=RETURNED, causal=True),
    "falcon": Architecture(path=RETURNED, causal=True, key_heads=(1, 1)),
    "falcon-grouped": Architecture(path=RETURNED, causal=True, key_heads=(2, 2)),
    "xglm": Architecture(path=RETURNED, causal=True, rigid=True),
    "opt": Architecture(causal=True),
    "llama": Architecture(causal=True, key_heads=(2, 2, 2)),
    "smollm3": Architecture(causal=True, key_heads=(2, 2)),
    "granite": Architecture(causal=True, key_heads=(2, 2)),
    "stablelm": Architecture(causal=True, key_heads=(2, 2)),
    "qwen2": Architecture(causal=True, key_heads=(2, 2)),
    "qwen3": Architecture(causal=True, key_heads=(2, 2)),
    "phi": Architecture(causal=True, key_heads=(2, 2)),
    "phi3": Architecture(causal=True, key_heads=(2, 2)),
    "glm": Architecture(causal=True, key_heads=(2, 2)),
    "olmo2": Architecture(causal=True, key_heads=(2, 2)),
    "nemotron": Architecture(causal=True, key_heads=(2, 2)),
    "mixtral": Architecture(causal=True, key_heads=(2, 2)),
    "deepseek-v3": Architecture(causal=True),
    "mistral": Architecture(key_heads=(2, 2, 2)),
    "starcoder2": Architecture(key_heads=(2, 2)),
    "olmo3": Architecture(key_heads=(2, 2)),
    "exaone4": Architecture(key_heads=(2, 2)),
    "cohere2": Architecture(key_heads=(2, 2)),
    "gemma": Architecture(causal=True, key_heads=(1, 1)),
    "gemma2": Architecture(path=EAGER, key_heads=(2, 2, 2)),
    "gemma3": Architecture(key_heads=(2, 2, 2, 2)),
    "gemma4": Architecture(key_heads=(2, 1)),
    "gpt-oss": Architecture(path=EAGER, key_heads=(2, 2, 2)),
}  # fmt: skip
"""By the name of the tiny model (fixture ``model_of``)."""


def configured(name: str) -> tuple[str, str, dict[str, Any]]:
    """Kind of tokenizer, class of configuration and its settings of those that tests of models add."""
    size: dict[str, Any] = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 48}
    size |= {"num_hidden_layers": 2, "vocab_size": 400, "max_position_embeddings": 600}
    ends = {"bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 1}
    grouped = size | {"num_key_value_heads": 2, "pad_token_id": 0}
    window = {"sliding_window": 6}
    mixed = window | {"layer_types": ["sliding_attention", "full_attention"]}
    relative = {"d_model": 32, "vocab_size": 400, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4}
    both = {"d_model": 32, "vocab_size": 400, "max_position_embeddings": 600} | ends
    both |= {f"{side}_{what}": number for side in ("encoder", "decoder") for what, number in (
        ("layers", 2), ("attention_heads", 4), ("ffn_dim", 48))}  # fmt: skip
    open_pre = {"word_embed_proj_dim": 32, "ffn_dim": 48} | {
        key: each for key, each in size.items() if key != "intermediate_size"
    }
    big = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 400, "n_positions": 600, "n_inner": 48}
    mpt = {"d_model": 32, "n_heads": 4, "n_layers": 2, "vocab_size": 400, "max_seq_len": 600}
    xglm = {"d_model": 32, "ffn_dim": 48, "num_layers": 2, "attention_heads": 4, "vocab_size": 400}
    latent = {
        "q_lora_rank": 8,
        "kv_lora_rank": 8,
        "qk_rope_head_dim": 4,
        "qk_nope_head_dim": 4,
        "v_head_dim": 8,
    }
    latent |= {"n_routed_experts": 4, "num_experts_per_tok": 1, "n_group": 1, "topk_group": 1}
    latent |= {"first_k_dense_replace": 1, "moe_intermediate_size": 16, "num_key_value_heads": 4}
    third = mixed | {"layer_types": ["sliding_attention"] * 3 + ["full_attention"]}
    apart = {"global_head_dim": 8, "num_global_key_value_heads": 1, "attention_k_eq_v": True} | mixed
    return {
        "xlm-roberta": ("roberta", "XLMRoberta", size | ends),
        "camembert": ("roberta", "Camembert", size | ends),
        "ernie": ("bert", "Ernie", size),
        "nomic-bert": ("bert", "NomicBert", size),
        "eurobert": ("bert", "EuroBert", grouped),
        "roformer": ("bert", "RoFormer", size),
        "convbert": ("bert", "ConvBert", size),
        "mt5": ("t5", "MT5", relative),
        "umt5": ("t5", "UMT5", relative),
        "mbart": ("roberta", "MBart", both),
        "pegasus": ("t5", "Pegasus", both | {"pad_token_id": 0, "eos_token_id": 1}),
        "gpt-bigcode": ("gpt2", "GPTBigCode", big | {"multi_query": True}),
        "gpt-neox": ("gpt2", "GPTNeoX", size),
        "mpt": ("gpt2", "Mpt", mpt),
        "falcon-grouped": ("gpt2", "Falcon", size | {"new_decoder_architecture": True, "num_kv_heads": 2}),
        "xglm": ("gpt2", "XGLM", xglm | {"max_position_embeddings": 600}),
        "opt": ("gpt2", "OPT", open_pre),
        "smollm3": ("gpt2", "SmolLM3", grouped),
        "granite": ("gpt2", "Granite", grouped),
        "stablelm": ("gpt2", "StableLm", grouped),
        "qwen2": ("gpt2", "Qwen2", grouped),
        "qwen3": ("gpt2", "Qwen3", grouped | {"head_dim": 8}),
        "phi": ("gpt2", "Phi", grouped),
        "phi3": ("gpt2", "Phi3", grouped),
        "glm": ("gpt2", "Glm", grouped | {"head_dim": 8}),
        "olmo2": ("gpt2", "Olmo2", grouped),
        "nemotron": ("gpt2", "Nemotron", grouped),
        "mixtral": ("gpt2", "Mixtral", grouped | {"num_local_experts": 2, "num_experts_per_tok": 1}),
        "deepseek-v3": ("gpt2", "DeepseekV3", grouped | latent),
        "starcoder2": ("gpt2", "Starcoder2", grouped | window),
        "olmo3": ("gpt2", "Olmo3", grouped | mixed),
        "exaone4": ("gpt2", "Exaone4", grouped | mixed),
        "cohere2": ("gpt2", "Cohere2", grouped | mixed),
        "gemma": ("gpt2", "Gemma", grouped | {"head_dim": 8, "num_key_value_heads": 1}),
        "gemma3": ("gpt2", "Gemma3Text", grouped | {"head_dim": 8, "num_hidden_layers": 4} | third),
        "gemma4": ("gpt2", "Gemma4Text", grouped | {"head_dim": 8} | apart),
    }[name]
