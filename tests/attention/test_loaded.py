"""Models of other kinds of origin: loaded by their owner, placed in parts, with tokenizers of every make."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import headroles
from headroles import HeadrolesError, cluster, label, probe, surface, view
from headroles.errors import BadInput
from headroles.extraction import (
    Annotator,
    LossOptions,
    describe_places,
    example_of,
    find_checkpoint,
    gradient_shards,
    home_of,
    load_with_loss,
    read_views,
    run,
    tokenise,
)
from headroles.records import Passage
from tests.support.architectures import EAGER, FORMED, RETURNED
from tests.support.read_models import Kept, batch_of, module_of, opened, ready
from tests.support.streams import tree_of
from tests.support.tiny_models import TEXTS

ModelOf = Callable[[str], Path]
PAIRS = list(zip(TEXTS, TEXTS[::-1], strict=True))
SHORT: dict[str, Any] = {"data": PAIRS, "max_length": 48, "sieve": ["local", "delimiter"], "maps": 0}


def _open(folder: Path, kind: str = "AutoModel", **how: Any) -> dict[str, Any]:
    import transformers

    network = getattr(transformers, kind).from_pretrained(folder, **how)
    return {"model": network, "tokenizer": transformers.AutoTokenizer.from_pretrained(folder)}


def _state(network: torch.nn.Module) -> Iterator[object]:
    """Everything about a model that its owner could notice."""
    for name, module in network.named_modules():
        yield name, module.training, len(module._backward_hooks)
        yield [hook.__module__ for hook in module._forward_hooks.values() if "headroles" in hook.__module__]
        if (config := vars(module).get("config")) is not None:
            yield dict(vars(config))
    for name, weights in network.named_parameters():
        yield name, weights.requires_grad, weights.dtype, weights.device, weights.grad, weights.data_ptr()
        yield weights.detach().double().sum().item()


def _same(ours: Any, theirs: Any) -> None:
    np.testing.assert_allclose(ours.scores.values, theirs.scores.values, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5", "mpnet", "llama", "bart"])
def test_a_loaded_model_scores_as_its_folder_and_stays_as_it_was(name: str, model_of: ModelOf) -> None:
    it = _open(model_of(name))
    network = it["model"].train()
    next(network.parameters()).requires_grad_(False)
    before = list(_state(network))
    of_object, of_folder = label(**it, **SHORT), label(model=model_of(name), **SHORT)
    assert list(_state(network)) == before
    _same(of_object, of_folder)
    assert of_object.labels().equals(of_folder.labels())
    assert of_object.manifest["settings"]["model"] == of_object.manifest["model"]["name"]

    def fail(done: int, total: int) -> None:
        raise RuntimeError("stopped by the caller")

    with pytest.raises(RuntimeError, match="stopped by the caller"):
        label(**it, **SHORT, progress=fail)
    assert list(_state(network)) == before


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_a_decoder_of_a_loaded_model_starts_as_that_of_its_folder(
    name: str, headed: Callable[..., Path]
) -> None:
    folder = headed(name, "Seq2SeqLM")
    it = _open(folder, "AutoModelForSeq2SeqLM")
    it["model"].config.decoder_start_token_id = None
    before = list(_state(it["model"]))
    for kind in ("decoder", "cross"):
        _same(label(**it, **SHORT, kind=kind), label(model=folder, **SHORT, kind=kind))
    assert list(_state(it["model"])) == before


def test_gradients_of_a_loaded_model_are_those_of_its_folder_and_it_can_still_be_trained(
    headed: Callable[..., Path],
) -> None:
    how: dict[str, Any] = {"data": TEXTS[0].split(",") * 2 + [TEXTS[1]], "gradients": True, "max_length": 48}
    for name in ("bert", "mpnet"):
        folder = headed(name, "MaskedLM")
        it = _open(folder, "AutoModelForMaskedLM")
        before = list(_state(it["model"].train()))
        _same(surface(**it, **how), surface(model=folder, **how))
        assert list(_state(it["model"])) == before
        inputs = it["tokenizer"](list(TEXTS), return_tensors="pt", padding=True)
        it["model"](**inputs, labels=inputs["input_ids"]).loss.backward()
        assert any(weights.grad is not None for weights in it["model"].parameters())


def test_every_function_takes_a_loaded_model_again_and_again(model_of: ModelOf) -> None:
    it = _open(model_of("bert"), output_attentions=True, output_hidden_states=True)
    before = list(_state(it["model"]))
    rows = [
        {
            "words": ["the", f"head{'s' * number}", "of"],
            "heads": [2, 3, 0],
            "relations": ["det", "obl", "root"],
        }
        for number in range(6)
    ]
    runs = (
        label(**it, **SHORT), cluster(**it, **SHORT), surface(data=PAIRS, max_length=48, **it),
        probe("trees", data=rows, **it),
    )  # fmt: skip
    assert {each.manifest["model"]["origin"] for each in runs} == {"an object in memory"}
    viewed, expected = view(*PAIRS[0], **it), view(*PAIRS[0], model=model_of("bert"))
    for maps, others in zip(viewed.view.maps, expected.view.maps, strict=True):
        assert np.abs(maps.weights.astype(int) - others.weights).max() <= 1
    assert list(_state(it["model"])) == before


def test_a_loaded_model_is_read_in_its_own_precision_and_told_from_others_by_its_weights(
    model_of: ModelOf, tmp_path: Path
) -> None:
    it = _open(model_of("bert"), dtype=torch.bfloat16)
    half = label(**it, **SHORT)
    assert (half.manifest["model"]["dtype"], half.manifest["settings"]["dtype"]) == ("bfloat16", "bfloat16")
    assert it["model"].dtype == torch.bfloat16
    it = _open(model_of("bert"))
    first = label(**it, **SHORT, out=tmp_path / "run")
    again = label(**it, **SHORT, out=tmp_path / "run")
    assert again.manifest["model"] == first.manifest["model"]
    other = _open(model_of("bert"))["tokenizer"]
    other.add_tokens(["committee"])
    with pytest.raises(HeadrolesError, match="holds a run with other tokenizer"):
        label(**it | {"tokenizer": other}, **SHORT, out=tmp_path / "run")
    with torch.no_grad():
        next(it["model"].parameters())[0, 0] += 1
    with pytest.raises(HeadrolesError, match=r"holds a run with other settings \(model\)"):
        label(**it, **SHORT, out=tmp_path / "run")
    with torch.no_grad():
        next(it["model"].parameters())[0, 0] = float("nan")
    with pytest.raises(HeadrolesError, match="every weight is a finite number"):
        label(**it, **SHORT)


# Parts of a model on several devices.

META = torch.device("meta")
SPLIT = {"embeddings": "cpu", "encoder.layer.0": "cpu", "encoder.layer.1": "disk", "pooler": "disk"}


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("way", [EAGER, FORMED, RETURNED])
def test_attention_of_layers_on_another_device_is_handed_on_at_home(
    way: str, together: bool, model_of: ModelOf
) -> None:
    model = opened(model_of("bert"))
    inputs, lengths = batch_of(model)
    model.network.set_attn_implementation("eager" if way == RETURNED else way)
    devices = set()

    class Devices(Kept):
        """A reader that keeps the devices of what it gets."""

        def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: Any) -> None:
            devices.add(rows.device)

    class BatchDevices(Devices):
        """The same for whole batches."""

        together = True

        def read_batch(self, layer: int, weights: torch.Tensor, visible: Any) -> None:
            """Keep the device of a batch."""
            devices.add(weights.device)

    def network(output_attentions: bool = False, **given: torch.Tensor) -> Any:
        assert {tensor.device for tensor in given.values()} == {META}
        return model.network(**inputs, output_attentions=output_attentions)

    at_home = {kind: tensor.to(META) for kind, tensor in inputs.items()}
    run(network, type(model.way)(way), at_home, lengths, BatchDevices() if together else Devices())
    assert devices == {META}


def test_home_is_the_first_device_that_computes() -> None:
    def placed(**places: Any) -> SimpleNamespace:
        return SimpleNamespace(hf_device_map=places, device=META)

    assert home_of(placed(a="cpu", b="cuda:1", c="disk")) == torch.device("cuda:1")
    assert home_of(placed(a="disk", b="cpu")) == torch.device("cpu")
    assert home_of(SimpleNamespace(device=torch.device("cpu"))) == torch.device("cpu")
    assert describe_places(placed(a=0, b=1, c="disk"), torch.device("cuda:0")) == "cuda:0, cuda:1, disk"
    assert describe_places(SimpleNamespace(), torch.device("cpu")) == "cpu"


@pytest.mark.parametrize("device_map", ["auto", {"": "cpu"}, {"": "disk"}, SPLIT], ids=str)
def test_a_placed_model_has_the_attention_of_the_same_model_on_one_device(
    device_map: Any, model_of: ModelOf
) -> None:
    pytest.importorskip("accelerate", reason="accelerate, which places models, is not installed")
    if torch.cuda.is_available() and isinstance(device_map, str):
        pytest.skip("a rule would place the model on the GPU, whose last bits are others")
    for longest in (64, 300):
        kept = []
        for how in ({"device": "auto", "device_map": device_map}, {"device": "cpu"}):
            model = opened(model_of("bert"), longest, **how)
            kept.append((model, Kept()))
            run(model.network, model.way, *batch_of(model, TEXTS[2:3]), kept[-1][1])
        (placed, ours), (plain, theirs) = kept
        assert placed.way.name == plain.way.name
        assert all(torch.equal(ours.whole(*place), theirs.whole(*place)) for place in theirs.rows)
        places = {"cpu"} if isinstance(device_map, str) else set(device_map.values())
        assert placed.described["device"] == ", ".join(sorted(places))
        assert placed.device == torch.device("cpu")
        assert placed.described["weights_sha256"] == plain.described["weights_sha256"]


def test_what_else_reads_a_model_reads_weights_on_disk(
    model_of: ModelOf, headed: Callable[..., Path]
) -> None:
    pytest.importorskip("accelerate", reason="accelerate, which places models, is not installed")
    disk: dict[str, Any] = {"device": "auto", "device_map": {"": "disk"}}
    for kind in ("encoder", "decoder", "cross"):
        model = opened(model_of("t5"), 64, kind=kind, **disk)
        assert (model.layers, model.described["device"]) == (2, "disk")
    at = find_checkpoint(str(headed("bert", "MaskedLM")), None)
    importances = []
    for where in (disk, {"device": "cpu"}):
        (shard,) = gradient_shards(
            load_with_loss(at, dtype="float32", max_length=64, **where),
            [Passage(str(number), (text,)) for number, text in enumerate(TEXTS)],
            lambda example: {"special": example.segment < 0, "text": example.segment >= 0},
            options=LossOptions(mask=0.3), batch_size=2, max_length=64, advance=lambda count: None,
        )  # fmt: skip
        importances.append(shard.values)
    np.testing.assert_array_equal(*importances)
    assert np.isfinite(importances[0]).all()
    bert = find_checkpoint(str(model_of("bert")), None)
    (placed,), (plain,) = (read_views(bert, [TEXTS[2:3]], device_map=where) for where in (SPLIT, None))
    np.testing.assert_array_equal(placed.maps[0].weights, plain.maps[0].weights)


def test_weights_on_disk_that_are_no_numbers_and_networks_that_stay_are_refused(
    model_of: ModelOf, tmp_path: Path
) -> None:
    class Fixed(torch.nn.Linear):
        def to(self, *args: Any, **kwargs: Any) -> Any:
            raise ValueError("`.to` is not\nsupported")

    move = module_of("home_of").move_to_device
    with pytest.raises(
        BadInput, match=r"'m' cannot be brought to cpu \(`.to` is not supported\); give another"
    ):
        move(Fixed(2, 2), torch.device("cpu"), "m")
    pytest.importorskip("accelerate", reason="accelerate, which places models, is not installed")
    it = _open(model_of("bert"))
    with torch.no_grad():
        it["model"].encoder.layer[1].attention.self.key.weight[0, 0] = torch.nan
    for part in it.values():
        part.save_pretrained(tmp_path)
    with pytest.raises(BadInput, match=r"'encoder\.layer\.1\.attention\.self\.key\.weight' .* holds NaN"):
        opened(tmp_path, device="auto", device_map=SPLIT)


# Query heads that share keys and values.


@pytest.mark.parametrize(
    ("name", "groups"), [("llama", "0 0 1 1"), ("falcon", "0 0 0 0"), ("gemma4", "0 0 1 1 0 0 0 0")]
)
def test_a_run_says_which_heads_share_keys_in_table_and_manifest(
    name: str, groups: str, model_of: ModelOf, tmp_path: Path
) -> None:
    it = label(model=model_of(name), **SHORT | {"sieve": ["local", "previous"]}, out=tmp_path / "run")
    wanted = (groups.split() * 6)[: len(it.labels())]
    assert list(it.labels().columns) == ["layer", "head", "roles", "local", "previous", "kv_group"]
    assert it.labels()["kv_group"].astype(str).tolist() == wanted
    (note,) = [note for note in it.manifest["notes"] if "share" in note]
    shared = {"llama": "2 heads", "falcon": "1 head", "gemma4": "1 or 2 heads"}[name]
    assert note.startswith(f"The 4 query heads of a layer share {shared} of keys and values")
    assert headroles.load(tmp_path / "run").labels().equals(it.labels())
    again = headroles.judge_again(tmp_path / "run", alpha=0.2)
    assert again.labels()["kv_group"].astype(str).tolist() == wanted


# Tokenizers of every make, trained here on a few sentences, from texts to a labelling.

SENTENCES = (
    "The committee did not decide about the long treaty.",
    "It was signed in Paris after a long debate; nobody objected!",
    "She can't believe it isn't unbelievable, re-opening co-ops.",
    "The small dog chased the red cat, and the cat ran home.",
    "Why did the naïve café owner pay €20 for 東京 tea? 🙂",
    "Readers who like long books read the long book again.",
)
MAKES = {
    "byte-level, nothing added": ("gpt2", {"delimiter", "delimiter:cls", "delimiter:sep"}),
    "byte-level, framed": ("roberta", set()),
    "SentencePiece unigram, closed": ("t5", {"delimiter:cls"}),
    "whole text, opened": ("llama", {"delimiter:sep"}),
}
"""A tiny model for each make, and the delimiter sieves that cannot apply to it."""


def _tokenizer_like(kind: str) -> Any:
    """A fast tokenizer of a make, freshly trained, without a padding token."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    special = ["<|endoftext|>"] if "nothing" in kind else ["<unk>", "<s>", "</s>"]
    names = (
        {"eos_token": special[-1], "unk_token": "<unk>"} if len(special) > 1 else {"eos_token": special[0]}
    )
    quiet: dict[str, Any] = {"special_tokens": special, "show_progress": False}
    if kind.startswith("byte-level"):
        made: Any = Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer: Any = trainers.BpeTrainer(vocab_size=380, initial_alphabet=alphabet, **quiet)
        made.train_from_iterator(SENTENCES, trainer)
    elif kind.startswith("SentencePiece"):
        made = Tokenizer(models.Unigram())
        made.normalizer, made.pre_tokenizer = normalizers.NFKC(), pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(vocab_size=200, unk_token="<unk>", **quiet)
        made.train_from_iterator(SENTENCES, trainer)
    else:  # Llama 2's make: nothing cuts words, and unknown signs become bytes
        quiet["special_tokens"] = [*special, *(f"<0x{byte:02X}>" for byte in range(256))]
        made = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
        made.pre_tokenizer = pre_tokenizers.Metaspace()  # for training alone: no piece reaches over a blank
        trainer = trainers.BpeTrainer(vocab_size=390, limit_alphabet=60, **quiet)
        made.train_from_iterator([text for text in SENTENCES if text.isascii()], trainer)
        made.pre_tokenizer = pre_tokenizers.Sequence([])
        made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    single = {"framed": "<s> $A </s>", "closed": "$A </s>", "opened": "<s> $A"}.get(kind.split(", ")[1])
    if single is not None:
        ends = [(name, made.token_to_id(name)) for name in ("<s>", "</s>") if name in single]
        made.post_processor = processors.TemplateProcessing(
            single=single, pair=f"{single} $B:1", special_tokens=ends
        )
    names |= {"cls_token": "<s>", "sep_token": "</s>"} if "framed" in kind else {}
    names |= {"bos_token": "<s>"} if "opened" in kind else {}
    inputs = ["input_ids", "attention_mask"]
    return PreTrainedTokenizerFast(tokenizer_object=made, model_input_names=inputs, **names)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("kind", MAKES)
def test_a_tokenizer_of_any_make_serves_a_whole_run_and_words_do_not_depend_on_it(
    kind: str, model_of: ModelOf, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(model_of(MAKES[kind][0]), tmp_path / "model"))
    for file in folder.glob("*token*"):
        file.unlink()
    _tokenizer_like(kind).save_pretrained(folder)
    sieves = ["local", "delimiter", "delimiter:cls", "delimiter:sep", "syntactic", "previous", "subword"]
    found = label(data=list(SENTENCES), model=folder, sieve=sieves, max_length=96, maps=0)
    by_name = dict(zip(found.scores.sieves, found.scores.values, strict=True))
    silent = {name for name, values in by_name.items() if np.isnan(values).all()} - {"syntactic:class"}
    assert silent == MAKES[kind][1]
    for name in silent:
        assert f"{name} does not apply to these inputs: nothing in them can be counted." in found.skipped
    for name in ("local", "syntactic", "previous", "subword"):
        assert np.isfinite(by_name[name]).all(axis=(1, 2)).sum() >= 5
        assert np.ptp(by_name[name][np.isfinite(by_name[name])]) > 0
    tokenizer = ready(folder).tokenizer
    assert tokenizer.pad_token is None
    for number, text in enumerate(SENTENCES):
        cut = text.split()
        words = tree_of(cut, [-1] * len(cut), ["dep"] * len(cut))
        passage = Passage(f"made/{number}", (text,), None, (words,))
        (tokenised,) = tokenise(tokenizer, [passage], 96)
        example = example_of(tokenised, Annotator(None).words([passage])[0], True)
        inside = example.word[example.segment == 0]
        assert {*inside.tolist()} == {*range(len(cut))}
        assert (np.diff(inside) >= 0).all()
        if kind == "whole text, opened":
            assert set(tokenizer(text).word_ids()) == {None, 0}
        for piece, span, word in zip(tokenised.tokens, tokenised.spans, example.word, strict=True):
            if word >= 0 and text[span[0] : span[1]].strip():
                assert text[span[0] : span[1]].strip()[0] in cut[word], (piece, word)
