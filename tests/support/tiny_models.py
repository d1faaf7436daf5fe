"""Tiny models with random weights of every architecture, and their tokenizers."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.architectures import configured

TEXTS = (
    "The heads of a model look at words, and at each other.",
    "What did the committee decide about the treaty?",
    "It was signed in Paris after a long debate; nobody objected!",
    "Don't stop: she can't believe it isn't unbelievable, re-opening co-ops.",
)
SPECIAL = {
    "bert": {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    },
    "roberta": {
        "cls_token": "<s>",
        "pad_token": "<pad>",
        "sep_token": "</s>",
        "unk_token": "<unk>",
        "mask_token": "<mask>",
    },
    "gpt2": {"eos_token": "<|endoftext|>"},
    "t5": {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"},
    "xlnet": {"unk_token": "<unk>", "cls_token": "<cls>", "sep_token": "<sep>", "pad_token": "<pad>"},
}
"""Special tokens by kind of tokenizer, in the order of their ids."""


@pytest.fixture(scope="session")
def tokenizer_of() -> Callable[[str], Any]:
    """A tokenizer by its kind (bert, roberta, gpt2, t5, xlnet), made of a few sentences."""
    from functools import cache

    from transformers import PreTrainedTokenizerFast

    @cache
    def made(kind: str) -> str:
        return str(_made(kind).to_str())

    def make(kind: str) -> Any:
        from tokenizers import Tokenizer

        inputs = ["input_ids", "attention_mask"] + ["token_type_ids"] * (kind in ("bert", "xlnet"))
        raw = Tokenizer.from_str(made(kind))
        special = SPECIAL[kind]
        return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
            tokenizer_object=raw, model_input_names=inputs, **special
        )

    return make


def _made(kind: str) -> Any:
    from tokenizers import processors

    names = list(SPECIAL[kind].values())
    single, pair = {
        "bert": ("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1"),
        "roberta": ("<s> $A </s>", "<s> $A </s> </s> $B </s>"),
        "gpt2": ("$A", "$A $B"),
        "t5": ("$A </s>", "$A </s> $B </s>"),
        "xlnet": ("$A <sep> <cls>:2", "$A <sep> $B:1 <sep>:1 <cls>:2"),
    }[kind]
    make = {"bert": _wordpiece, "roberta": _bytes, "gpt2": _bytes}.get(kind, _unigram)
    tokenizer = make(names)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=single, pair=pair, special_tokens=[(name, number) for number, name in enumerate(names)]
    )
    return tokenizer


def _wordpiece(names: list[str]) -> Any:
    """BERT's kind, from a list of pieces: the trainer gives another one each time."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    words = sorted({each for text in TEXTS for each in re.findall(r"\w+", text.lower())})
    signs = sorted({sign for text in TEXTS for sign in text.lower() if sign != " "})
    pieces = [*names, *signs, *(f"##{sign}" for sign in signs)]
    pieces += [word[:4] for word in words] + [f"##{word[-2:]}" for word in words]
    numbers = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(names)
    return tokenizer


def _bytes(names: list[str]) -> Any:
    """GPT-2's and RoBERTa's kind, trained."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    signs = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=330, special_tokens=names, initial_alphabet=signs, show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    return tokenizer


def _unigram(names: list[str]) -> Any:
    """T5's and XLNet's kind, from a list of pieces: the trainer gives another one each time."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = sorted({each for text in TEXTS for each in re.findall(r"[\w']{2,}", text)})
    signs = ["▁", *sorted({sign for text in TEXTS for sign in text if sign != " "})]
    parts = [f"▁{word[:4]}" for word in words] + [word[-2:] for word in words]
    scores = dict.fromkeys(names, 0.0) | dict.fromkeys(signs, -6.0) | dict.fromkeys(parts, -4.0)
    tokenizer = Tokenizer(models.Unigram(list(scores.items()), unk_id=names.index("<unk>")))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.add_special_tokens(names)
    return tokenizer


@pytest.fixture(scope="session")
def model_of(tokenizer_of: Callable[[str], Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The folder of a tiny random model by its name, saved once; "even bert" has queries and keys of 0."""
    from functools import cache

    import torch
    from transformers import AutoModel

    root = tmp_path_factory.mktemp("zoo")

    @cache
    def folder(name: str) -> Path:
        kind, config = _configured(name.removeprefix("even "))
        torch.manual_seed(0)
        model = AutoModel.from_config(config).eval()  # type: ignore[no-untyped-call]
        with torch.no_grad():
            for path, weights in model.named_parameters():
                if weights.dim() > 1 and weights.requires_grad:  # tables of sines stay as they are
                    # T5 does not scale its logits, and Nemotron squares its activations.
                    weights.normal_(0, 0.1 if name in ("t5", "nemotron") else 0.15)
                if name.startswith("even ") and re.search(r"query|key|q_proj|k_proj|c_attn", path):
                    weights.zero_()
        place = root / name
        model.save_pretrained(place)
        tokenizer_of(kind).save_pretrained(place)
        return place

    return folder


@pytest.fixture(scope="session")
def headed(model_of: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The folder of a tiny random model with a head ("MaskedLM", "CausalLM", …), saved once."""
    from functools import cache

    import torch
    import transformers as library

    root = tmp_path_factory.mktemp("headed")

    @cache
    def folder(name: str, head: str, **settings: Any) -> Path:
        plain = model_of(name)
        config = library.AutoConfig.from_pretrained(plain, **settings)
        torch.manual_seed(0)
        model = getattr(library, f"AutoModelFor{head}").from_config(config).eval()
        with torch.no_grad():
            for weights in model.parameters():
                if weights.dim() > 1:
                    weights.normal_(0, 0.15)
        place: Path = root / "-".join([name, head, *map(str, settings.values())])
        model.save_pretrained(place)
        library.AutoTokenizer.from_pretrained(plain).save_pretrained(place)
        return place

    return folder


def _configured(name: str) -> tuple[str, Any]:
    """The kind of tokenizer of a tiny model, and its configuration."""
    import transformers as library

    size: dict[str, Any] = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 48}
    size |= {"num_hidden_layers": 2, "vocab_size": 400, "max_position_embeddings": 600}
    short = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 400, "n_positions": 600}
    deep = size | {"num_hidden_layers": 3, "num_key_value_heads": 2, "pad_token_id": 0}
    ends = {"bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 1}
    bloom = {"hidden_size": 32, "n_layer": 2, "n_head": 4, "vocab_size": 400}
    width = {"d_model": 32, "vocab_size": 400}
    bart = {f"{side}_{what}": number for side in ("encoder", "decoder") for what, number in (
        ("layers", 2), ("attention_heads", 4), ("ffn_dim", 48))}  # fmt: skip
    modern = {"local_attention": 8, "global_attn_every_n_layers": 3, "pad_token_id": 0}
    modern |= {"cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3}
    capped = {"head_dim": 8, "sliding_window": 6, "query_pre_attn_scalar": 8}
    relative = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_biased_input": False}
    local = {"attention_types": [[["global", "local"], 1]], "window_size": 6, "num_layers": 2, "num_heads": 4}
    experts = {"num_local_experts": 2, "num_experts_per_tok": 1, "head_dim": 8, "sliding_window": 6}
    known = {
        "bert": ("bert", "Bert", size),
        "roberta": ("roberta", "Roberta", size | ends),
        "distilbert": ("bert", "DistilBert", {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48}),
        "albert": ("bert", "Albert", size | {"num_hidden_layers": 3, "embedding_size": 16}),
        "electra": ("bert", "Electra", size | {"embedding_size": 16}),
        "modernbert": ("bert", "ModernBert", size | {"num_hidden_layers": 4} | modern),
        "gpt2": ("gpt2", "GPT2", short),
        "llama": ("gpt2", "Llama", deep),
        "mistral": ("gpt2", "Mistral", deep | {"sliding_window": 6}),
        "gemma2": ("gpt2", "Gemma2", deep | capped | {"attn_logit_softcapping": 2.0}),
        "gpt-oss": ("gpt2", "GptOss", deep | experts),
        "t5": ("t5", "T5", width | {"d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4}),
        "bart": ("roberta", "Bart", width | bart | {"max_position_embeddings": 600} | ends),
        "mpnet": ("roberta", "MPNet", size),
        "deberta-v2": ("bert", "DebertaV2", size | relative),
        "xlnet": ("xlnet", "XLNet", width | {"n_layer": 2, "n_head": 4, "d_inner": 48}),
        "gptj": ("gpt2", "GPTJ", short | {"rotary_dim": 4}),
        "bloom": ("gpt2", "Bloom", bloom),
        "falcon": ("gpt2", "Falcon", {**size, "num_kv_heads": 4}),
        "gpt-neo": ("gpt2", "GPTNeo", width | {"hidden_size": 32, "max_position_embeddings": 600} | local),
        "longformer": ("roberta", "Longformer", size | {"attention_window": 8}),
        "bigbird": ("bert", "BigBird", size | {"block_size": 4, "num_random_blocks": 1}),
        "mamba": ("gpt2", "Mamba", {"hidden_size": 32, "num_hidden_layers": 2, "vocab_size": 400}),
        "clip": ("gpt2", "CLIP", {"text_config": size, "vision_config": size | {"image_size": 32}}),
    }  # fmt: skip
    kind, config, settings = known[name] if name in known else configured(name)
    made = getattr(library, f"{config}Config")(**settings)
    return kind, made
