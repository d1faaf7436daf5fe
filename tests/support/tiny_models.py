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
    kind: {f"{name}_token": token for name, token in zip(names.split(), tokens.split(), strict=True)}
    for kind, names, tokens in (
        ("bert", "pad unk cls sep mask", "[PAD] [UNK] [CLS] [SEP] [MASK]"),
        ("roberta", "cls pad sep unk mask", "<s> <pad> </s> <unk> <mask>"),
        ("gpt2", "eos", "<|endoftext|>"),
        ("t5", "pad eos unk", "<pad> </s> <unk>"),
        ("xlnet", "unk cls sep pad", "<unk> <cls> <sep> <pad>"),
    )
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
    import transformers as library
    from transformers import AutoModel

    root = tmp_path_factory.mktemp("zoo")

    @cache
    def folder(name: str) -> Path:
        kind, config, settings = configured(name.removeprefix("even "))
        torch.manual_seed(0)
        model = AutoModel.from_config(getattr(library, f"{config}Config")(**settings)).eval()  # type: ignore[no-untyped-call]
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
