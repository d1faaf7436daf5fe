"""Tiny models with random weights of every architecture, and their tokenizers."""

import re
from collections.abc import Callable
from functools import cache
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


POSTED = {
    "bert": ("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1"),
    "roberta": ("<s> $A </s>", "<s> $A </s> </s> $B </s>"),
    "gpt2": ("$A", "$A $B"),
    "t5": ("$A </s>", "$A </s> $B </s>"),
    "xlnet": ("$A <sep> <cls>:2", "$A <sep> $B:1 <sep>:1 <cls>:2"),
}
"""A text, and two texts, with the special tokens of a kind."""


@cache
def _made(kind: str) -> str:
    """A tokenizer as JSON, by its kind."""
    from tokenizers import processors

    names = list(SPECIAL[kind].values())
    make = {"bert": _wordpiece, "roberta": _bytes, "gpt2": _bytes}.get(kind, _unigram)
    tokenizer = make(names)
    single, pair = POSTED[kind]
    special = [(name, number) for number, name in enumerate(names)]
    tokenizer.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=special)
    tokenizer.add_special_tokens(names)
    return str(tokenizer.to_str())


def make_tokenizer(kind: str) -> Any:
    """A tokenizer by its kind (bert, roberta, gpt2, t5, xlnet), made of a few sentences."""
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    inputs = ["input_ids", "attention_mask"] + ["token_type_ids"] * (kind in ("bert", "xlnet"))
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=Tokenizer.from_str(_made(kind)), model_input_names=inputs, **SPECIAL[kind]
    )


@pytest.fixture(scope="session")
def tokenizer_of() -> Callable[[str], Any]:
    """What makes a tokenizer by its kind."""
    return make_tokenizer


def _found(pattern: str, lower: bool = False) -> list[str]:
    """Different parts of the sentences that fit a pattern."""
    return sorted({each for text in TEXTS for each in re.findall(pattern, text.lower() if lower else text)})


def _wordpiece(names: list[str]) -> Any:
    """BERT's kind, from a list of pieces: the trainer gives another one each time."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    words, signs = _found(r"\w+", lower=True), _found(r"[^ ]", lower=True)
    pieces = [*names, *signs, *(f"##{sign}" for sign in signs)]
    pieces += [word[:4] for word in words] + [f"##{word[-2:]}" for word in words]
    numbers = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
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

    words, signs = _found(r"[\w']{2,}"), ["▁", *_found(r"[^ ]")]
    parts = [f"▁{word[:4]}" for word in words] + [word[-2:] for word in words]
    scores = dict.fromkeys(names, 0.0) | dict.fromkeys(signs, -6.0) | dict.fromkeys(parts, -4.0)
    tokenizer = Tokenizer(models.Unigram(list(scores.items()), unk_id=names.index("<unk>")))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return tokenizer


def _save(model: Any, place: Path, tokenizer: Any, *, spread: float = 0.15, even: bool = False) -> Path:
    """Save a model with random weights; an even one has queries and keys of 0."""
    import torch

    with torch.no_grad():
        for path, weights in model.named_parameters():
            if weights.dim() > 1 and weights.requires_grad:  # tables of sines stay as they are
                weights.normal_(0, spread)
            if even and re.search(r"query|key|q_proj|k_proj|c_attn", path):
                weights.zero_()
    model.eval().save_pretrained(place)
    tokenizer.save_pretrained(place)
    return place


@pytest.fixture(scope="session")
def model_of(tokenizer_of: Callable[[str], Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The folder of a tiny random model by its name, saved once; "even bert" has queries and keys of 0."""
    import torch
    import transformers as library

    root = tmp_path_factory.mktemp("zoo")

    @cache
    def folder(name: str) -> Path:
        kind, config, settings = configured(name.removeprefix("even "))
        torch.manual_seed(0)
        model = library.AutoModel.from_config(getattr(library, f"{config}Config")(**settings))  # type: ignore[no-untyped-call]
        # T5 does not scale its logits, and Nemotron squares its activations.
        spread = 0.1 if name in ("t5", "nemotron") else 0.15
        return _save(model, root / name, tokenizer_of(kind), spread=spread, even=name.startswith("even "))

    return folder


@pytest.fixture(scope="session")
def headed(model_of: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The folder of a tiny random model with a head ("MaskedLM", "CausalLM", …), saved once."""
    import torch
    import transformers as library

    root = tmp_path_factory.mktemp("headed")

    @cache
    def folder(name: str, head: str, **settings: Any) -> Path:
        plain = model_of(name)
        config = library.AutoConfig.from_pretrained(plain, **settings)
        torch.manual_seed(0)
        model = getattr(library, f"AutoModelFor{head}").from_config(config)
        place = root / "-".join([name, head, *map(str, settings.values())])
        return _save(model, place, library.AutoTokenizer.from_pretrained(plain))

    return folder
