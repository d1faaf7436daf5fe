"""Fixtures shared by the tests: where the reference material is, and examples drawn by hand."""

import gzip
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import settings

if TYPE_CHECKING:
    import torch

    from headroles import Labelling
    from headroles.records.example import Rule, Scores

# One thread: on a busy machine small operations split over threads wait for the scheduler, and the
# last bits of a matrix product depend on how many threads it got.
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"
# No test leaves parses in the cache of the user, or takes any from it.
os.environ["HEADROLES_CACHE"] = "none"

ROOT = Path(__file__).resolve().parents[1]

# Where everything is required, property tests draw the same cases on every run.
settings.register_profile("repeatable", derandomize=True, deadline=None)
if os.environ.get("HEADROLES_REQUIRE_ALL") == "1":
    settings.load_profile("repeatable")


def needed(path: Path, what: str) -> Path:
    """The path, or a skip; a failure instead where everything is required."""
    if path.exists():
        return path
    reason = f"{what} is not here ({path})"
    if os.environ.get("HEADROLES_REQUIRE_ALL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Reference data and golden values, which are not part of the project."""
    return needed(ROOT.parent / "shared", "the folder of reference data")


Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run ``headroles`` with some words; gives exit code, stdout and stderr."""
    from headroles.cli.main import main

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["headroles", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as leaving:
            main()
        out, err = capsys.readouterr()
        return int(leaving.value.code or 0), out, err

    return run


@pytest.fixture(scope="session")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of 2 layers x 3 heads that takes 64 tokens, its heads written by hand.

    0-0 looks at the previous token, 0-1 evenly, 0-2 at special tokens; 1-0 evenly, 1-1 at the
    query's own text, 1-2 at the next token. All six are a little disturbed by what the words are.
    """
    folder = tmp_path_factory.mktemp("models") / "planted"
    _save_bert(folder, _plant)
    return folder


@pytest.fixture(scope="session")
def even(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same BERT with queries and keys of zero: every head attends evenly."""
    folder = tmp_path_factory.mktemp("models") / "even"
    _save_bert(folder, lambda model: None)
    return folder


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 pairs of texts in 20 documents, one text longer than its pair."""
    rng = np.random.default_rng(7)
    words = [
        "the",
        "a",
        "cat",
        "dog",
        "house",
        "rain",
        "who",
        "did",
        "sat",
        "on",
        "in",
        "small",
        "red",
        "is",
        "it",
    ]
    rows = ["question\tsentence\tdocument"]
    for row in range(60):
        first = " ".join(rng.choice(words, size=rng.integers(5, 9)))
        second = " ".join(rng.choice(words, size=rng.integers(8, 16)))
        rows.append(f"{first} ?\t{second} .\tdocument {row // 3}")
    file = tmp_path_factory.mktemp("tables") / "pairs.tsv"
    file.write_text("\n".join(rows) + "\n")
    return file


@pytest.fixture
def label(planted: Path, table: Path) -> "Callable[..., Labelling]":
    """Label the planted model on the table of pairs, unless told otherwise."""
    from headroles import label

    def run(**options: Any) -> "Labelling":
        usual: dict[str, Any] = {"task": "QNLI", "data": table, "model": planted}
        return label(**usual | {"max_length": 48, "sieve": ["local", "delimiter", "block"]} | options)

    return run


@pytest.fixture(scope="session")
def finished(planted: Path, table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run; tests that write into it take the fixture ``run`` instead."""
    from headroles import label

    folder = tmp_path_factory.mktemp("runs") / "finished"
    sieves = ["local", "delimiter", "block"]
    label("QNLI", data=table, model=planted, max_length=48, sieve=sieves, out=folder)
    return folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A copy of a finished run, to be changed at will."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


def _save_bert(folder: Path, plant: "Callable[[torch.nn.Module], None]") -> None:
    import torch
    from transformers import BertConfig, BertModel, BertTokenizer

    folder.mkdir()
    samples = "".join(file.read_text() for file in sorted((ROOT / "headroles" / "samples").glob("*.tsv")))
    signs = list("abcdefghijklmnopqrstuvwxyz0123456789")
    known = sorted({*re.findall(r"[a-z]+|[^\sa-z]", samples.lower()), *signs}) + [
        f"##{each}" for each in signs
    ]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *known]
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    tokenizer = BertTokenizer.from_pretrained(str(folder))
    tokenizer.model_max_length = 64
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    model = BertModel(
        BertConfig(
            vocab_size=len(vocabulary),
            hidden_size=24,
            num_hidden_layers=2,
            num_attention_heads=3,
            intermediate_size=8,
            max_position_embeddings=64,
        )
    )
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if "embeddings" not in name and "LayerNorm" not in name:
                weights.zero_()
        plant(model)
    model.save_pretrained(folder)


def _plant(model: "torch.nn.Module") -> None:
    """Position in dimensions 0 to 15, special tokens in 16 and 17, the text in 18 and 19."""
    import torch

    weights = dict(model.named_parameters())
    steps = torch.tensor([1.0, 0.5, 0.25, 0.11])
    angles = torch.arange(64)[:, None] * steps
    waves = torch.cat([angles.cos(), angles.sin()], dim=1)
    weights["embeddings.position_embeddings.weight"].zero_()[:, :16] = torch.cat([waves, -waves], dim=1)
    words = weights["embeddings.word_embeddings.weight"].mul_(4)
    words[:, :20] = 0
    words[2:4, 16], words[2:4, 17] = 1.0, -1.0
    texts = weights["embeddings.token_type_embeddings.weight"].zero_()
    texts[:, 18], texts[:, 19] = torch.tensor([1.0, -1.0]), torch.tensor([-1.0, 1.0])
    for layer, head, offset in ((0, 0, -1), (1, 2, 1)):
        query, key = _query_and_key(weights, layer, head)
        turn = torch.zeros(8, 8)
        for k, angle in enumerate((steps * offset).tolist()):
            cosine, sine = float(np.cos(angle)), float(np.sin(angle))
            turn[[k, k, k + 4, k + 4], [k, k + 4, k, k + 4]] = torch.tensor([cosine, -sine, sine, cosine])
        query[:, :8], key[:, :8] = 3 * turn, 3 * torch.eye(8)
    query, key = _query_and_key(weights, 0, 2)
    key[0, 16] = 3
    weights["encoder.layer.0.attention.self.query.bias"][16] = 3
    query, key = _query_and_key(weights, 1, 1)
    query[0, 18], key[0, 18] = 2, 2
    for layer, head in ((0, 0), (0, 2), (1, 1), (1, 2)):
        query, key = _query_and_key(weights, layer, head)
        query[7, 20], key[7, 21] = 0.5, 0.5


def _query_and_key(weights: "dict[str, torch.nn.Parameter]", layer: int, head: int) -> "list[torch.Tensor]":
    rows = slice(8 * head, 8 * head + 8)
    names = [f"encoder.layer.{layer}.attention.self.{which}.weight" for which in ("query", "key")]
    return [weights[name][rows] for name in names]


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


@pytest.fixture(scope="session")
def bucket() -> Iterator[str]:
    """The address of a bucket in an object store of this machine."""
    from importlib import import_module

    with import_module("tests.support.object_store").served() as address:
        yield address


@pytest.fixture(scope="session")
def stories(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a trained decoder, converted from the reference data."""
    from importlib import import_module

    folder = tmp_path_factory.mktemp("models") / "stories"
    converted: Path = import_module("tests.support.stories").convert(
        shared / "models" / "stories260K", folder
    )
    return converted


def _configured(name: str) -> tuple[str, Any]:
    """The kind of tokenizer of a tiny model, and its configuration."""
    import transformers as library

    from tests.support.architectures import configured

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


@pytest.fixture(scope="session")
def scores_of() -> "Callable[..., tuple[Scores, list[Rule]]]":
    """Random scores of four columns (s0 with contrast s1, s2 and s3), heads around their margins."""
    from headroles.records.example import Rule, Scores

    def made(
        seed: int, *, units: int = 60, layers: int = 2, heads: int = 6, per_unit: int = 1
    ) -> tuple[Scores, list[Rule]]:
        rng = np.random.default_rng(seed)
        examples = units * per_unit
        means = rng.uniform(0.0, 0.25, size=(4, 1, layers, heads))
        own = rng.gamma(2, 0.07, size=(4, examples, layers, heads)) - 0.14
        common = np.repeat(rng.normal(0, 0.05, size=(4, units, 1, 1)), per_unit, axis=1)
        names = tuple(f"x{k}" for k in range(examples))
        rules = [
            Rule("s0", contrast="s1", low=-1.0, high=1.0),
            Rule("s1", margin=0.02, role=False, low=-1.0, high=1.0),
            Rule("s2", low=-1.0, high=1.0),
            Rule("s3", low=-1.0, high=1.0),
        ]
        scores = Scores(
            sieves=("s0", "s1", "s2", "s3"),
            examples=names,
            units=tuple(f"u{k // per_unit}" for k in range(examples)),
            tokens=np.full(examples, 12),
            cells=np.full((4, examples), 5.0),
            values=(means + own + common).astype(np.float32),
            null=np.zeros((4, examples)),
        )
        return scores, rules

    return made


RELATIONS = (
    "all", "case", "det", "nsubj", "amod", "advmod", "obj", "compound", "nmod:poss", "conj", "mark", "aux",
)  # fmt: skip
KINDS_OF_MENTION = ("all", "pronoun", "proper", "nominal")


@pytest.fixture(scope="session")
def probed_run() -> "Callable[..., Labelling]":
    """A made-up run of probes on 6 layers of 12 heads; relations of any number and name, made once."""
    from dataclasses import replace
    from functools import cache

    cached = cache(_probed_run)

    def made(relations: "tuple[str, ...]" = RELATIONS, **options: Any) -> "Labelling":
        shaped = {name: options.pop(name) for name in ("shape", "assessed") if name in options}
        run = cached(relations, **shaped)
        return replace(run, manifest={**run.manifest, **options})

    return made


def _probed_run(
    relations: "tuple[str, ...]" = RELATIONS,
    *,
    shape: tuple[int, int, int] = (60, 6, 12),
    assessed: bool = False,
) -> "Labelling":
    from headroles.records.example import Decision
    from headroles.records.findings import Labelling
    from headroles.records.probes import Probed
    from headroles.stats.assessment.assess import assess
    from headroles.stats.engine import judge

    chance = np.random.default_rng(11)
    rows = [f"dependency:{each}" for each in relations]
    rows += [f"coreference:{kind}" for kind in KINDS_OF_MENTION] + ["trees:uas"]
    scores, rules = _probed_scores(rows, shape, chance)
    decision = Decision()
    with np.errstate(all="ignore"):
        findings = judge(scores, rules, decision)
        assessment = assess(scores, rules, decision, findings, splits=4) if assessed else None
    best = tuple(_best(row, scores, chance) for row in rows)
    published: dict[str, Any] = {row: {"accuracy": 0.585, "head": "8-2"} for row in rows[:4]}
    published |= {
        "trained:attention": 0.61,
        "coreference:all": {"accuracy": 0.65, "baselines": {"rules": 0.69}},
    }
    probe = {
        "published": published,
        "halves": {"selection": 31, "test": 29, "seed": 3},
        "scheme": "ud",
        "windows": {"size": 128, "stride": 64, "lost": {"coreference:pronoun": 12}},
    }
    facts = {
        "headroles": "0.1.0",
        "command": "headroles probe dependency coreference --data gum.conllu",
        "model": {"name": "tiny/model", "architecture": "BertModel", "origin": "a folder"}
        | {"layers": shape[1], "heads": shape[2]},
        "source": {"kind": "file", "name": "gum.conllu"},
        "counts": {"examples": shape[0], "units": shape[0]},
        "preset": "calibrated",
        "statistic": "accuracy",
        "probe": probe,
    }
    probed = Probed(_tallies(rows, shape[0], chance), best, *_beyond(rows, shape, chance))
    return Labelling(scores, findings, decision, facts, (), assessment, probed)


def _probed_scores(
    rows: list[str], shape: tuple[int, int, int], chance: np.random.Generator
) -> "tuple[Scores, list[Rule]]":
    """Accuracies per example between 0 and 1, with the best baseline beside, and contrasts."""
    from headroles.records.example import Rule, Scores

    directions = {"dependency": ("→", "←"), "trees": ("→", "←"), "coreference": ("",)}
    columns = [f"{row}:{way}".removesuffix(":") for row in rows for way in directions[row.partition(":")[0]]]
    matched = [f"{name}:matched" for name in columns if name.startswith("dependency")]
    asked = "Is the word attended to most right?"
    rules = [Rule(name, asked, margin=0.0, low=0.0, high=1.0) for name in columns]
    rules += [Rule(name, margin=0.05, role=False, low=-1.0, high=1.0) for name in matched]
    level = chance.beta(0.5, 2.5, size=(len(rules), 1, *shape[1:]))
    values = (level + chance.normal(0, 0.12, size=(len(rules), *shape))).clip(0, 1).astype(np.float32)
    null = chance.beta(6, 8, size=(len(rules), 1)) * np.ones((1, shape[0]))
    null[len(columns) :] = 0
    examples = tuple(f"dev/GUM_{number}" for number in range(shape[0]))
    scores = Scores(
        sieves=tuple(rule.sieve for rule in rules),
        examples=examples,
        units=examples,
        tokens=np.full(shape[0], 40),
        cells=np.full((len(rules), shape[0]), 7.0),
        values=values,
        null=null,
    )
    return scores, rules


def _best(row: str, scores: "Scores", chance: np.random.Generator) -> Any:
    """The head with the largest mean on the first half of the examples, on the second half."""
    from headroles.records.probes import Best

    names = [name for name in scores.sieves if name.removesuffix(":→").removesuffix(":←") == row]
    half = len(scores.examples) // 2
    places = [scores.sieves.index(name) for name in names]
    chosen = scores.values[places, :half].mean(axis=1)
    column, layer, head = (int(each) for each in np.unravel_index(chosen.argmax(), chosen.shape))
    tested = scores.values[places[column], half:, layer, head].astype(float)
    accuracy, error = float(tested.mean()), float(tested.std(ddof=1) / np.sqrt(tested.size))
    baseline = float(scores.null[places[column], 0])
    p = float(chance.choice([1e-9, 0.003, 0.2, 0.7]))
    decision = "beyond" if p < 0.05 else "undetermined" if p < 0.5 else "not"
    contrast = (0.11, 0.05, 0.17) if row.startswith("dependency") else (float("nan"),) * 3
    return Best(
        row, names[column].removeprefix(row).strip(":"), layer, head, int(chance.integers(40, 4000)),
        tested.size, float(chosen.max()), accuracy, accuracy - 2 * error, accuracy + 2 * error,
        "-1" if row.startswith("dependency") else "nearest", baseline, accuracy - baseline,
        accuracy - baseline - 2 * error, accuracy - baseline + 2 * error, 0.0, 3.1, p, p, 1 - p, 1 - p,
        *contrast, decision,
    )  # fmt: skip


def _tallies(rows: list[str], examples: int, chance: np.random.Generator) -> Any:
    from headroles.records.probes import Tallies

    items = chance.integers(0, 9, size=(len(rows), examples))
    hits = chance.integers(0, 9, size=(len(rows), examples, 3)).clip(max=items[..., None])
    hits[:, :, 2] = -1
    lost = chance.integers(0, 2, size=(len(rows), examples))
    return Tallies(tuple(rows), ("-1", "nearest", "rules"), ((0, 1),) * len(rows), hits, items, lost)


def _beyond(rows: list[str], shape: tuple[int, int, int], chance: np.random.Generator) -> tuple[Any, ...]:
    """Baselines, gaps, trained probes, contests and weights."""
    from headroles.records.probes import Baseline, Contest, Gap, Trained, Weight

    names = {
        "dependency": ("-3", "-2", "-1", "+1", "+2", "+3"),
        "trees": ("right-branching", "left-branching", "random tree"),
    }
    coreference = ("nearest", "head match", "rules")
    baselines = tuple(
        Baseline(row, name, 900, shape[0], 0.08 * k + 0.2, 0.08 * k + 0.17, 0.08 * k + 0.23)
        for row in rows
        for k, name in enumerate(names.get(row.partition(":")[0], coreference))
    )
    grid = [(layer, head) for layer in range(shape[1]) for head in range(shape[2])]
    shifts = chance.normal(0, 0.06, size=len(grid)).tolist()
    gaps = tuple(
        Gap(*place, "accuracy", "pro", "anti", 0.4 + shift, 0.4 + shift, 0.4, shift, shift - 0.05,
            shift + 0.05, 0.2, 0.6)
        for place, shift in zip(grid, shifts, strict=True)
    )  # fmt: skip
    told = (
        ("right-branching", "", 0.26),
        ("distances+words", "trained", 0.55),
        ("attention", "random", 0.31),
        ("attention", "trained", 0.61),
        ("attention+words", "trained", 0.75),
    )
    trained = tuple(
        Trained(name, weights, uas, uas - 0.02, uas + 0.02, 20_000, shape[0], 9000 * bool(weights), 7, 0)
        for name, weights, uas in told
    )
    contests = (
        Contest("attention+words", "attention", 0.14, 0.11, 0.17, 9.1, 1e-12, 2e-12),
        Contest("attention", "attention (random weights)", 0.30, 0.27, 0.33, 19.0, 1e-20, 1e-20),
    )
    strength = chance.normal(0, 2, size=(2, len(grid))).tolist()
    weights = tuple(
        Weight("attention", *place, way, value)
        for way, values in zip("→←", strength, strict=True)
        for place, value in zip(grid, values, strict=True)
    )
    return baselines, gaps, trained, contests, weights


Jackknife = Callable[[Any, Any], tuple[float, float, int]]


@pytest.fixture(scope="session")
def jackknifed() -> Jackknife:
    """Mean of values, its error with one group left out in turn, and the number of groups."""

    def of(values: Any, groups: Any) -> tuple[float, float, int]:
        values, groups = np.asarray(values, dtype=float), np.asarray(groups)
        names = np.unique(groups)
        without = np.array([values[groups != name].mean() for name in names])
        spread = ((without - without.mean()) ** 2).sum()
        return float(values.mean()), float(np.sqrt((len(names) - 1) / len(names) * spread)), len(names)

    return of


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., list[Any]]:
    """Documents of a text in a file of some name, in a layout or the one that is told."""
    from headroles.extraction.gold.read import read_documents

    def make(text: str, file: str = "gold.txt", layout: str | None = None) -> list[Any]:
        path = tmp_path / file
        data = text.encode()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
        return list(read_documents(path, "dev", layout))

    return make


@pytest.fixture(scope="session")
def surface_run() -> "Callable[..., Labelling]":
    """A made-up surface run: separators draw attention in the middle layers, where they matter little."""
    from functools import cache

    from tests.support.surface_runs import made_up

    return cache(made_up)
