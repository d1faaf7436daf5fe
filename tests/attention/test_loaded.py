"""Models of other kinds of origin: loaded by their owner, placed in parts, with tokenizers of every make."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headroles import HeadrolesError, cluster, extraction, label, probe, surface, view
from headroles.errors import BadInput
from headroles.records import Passage
from tests.support.read_models import Kept, batch_of, module_of, opened
from tests.support.streams import tree_of
from tests.support.tiny_models import TEXTS

ModelOf = Callable[[str], Path]
PAIRS = list(zip(TEXTS, TEXTS[::-1], strict=True))
SHORT: dict[str, Any] = {"data": PAIRS, "max_length": 48, "sieve": ["local", "delimiter"], "maps": 0}
SPLIT = {"embeddings": "cpu", "encoder.layer.0": "cpu", "encoder.layer.1": "disk", "pooler": "disk"}


def _open(folder: Path, kind: str = "AutoModel", **how: Any) -> dict[str, Any]:
    import transformers

    network = getattr(transformers, kind).from_pretrained(folder, **how)
    return {"model": network, "tokenizer": transformers.AutoTokenizer.from_pretrained(folder)}


def _state(network: Any) -> Iterator[object]:
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


@pytest.mark.parametrize("name", ["bert", "t5", "mpnet", "llama"])
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


def test_every_function_takes_a_loaded_model_and_it_can_still_be_trained(
    model_of: ModelOf, headed: Callable[..., Path]
) -> None:
    it = _open(model_of("bert"), output_attentions=True, output_hidden_states=True)
    before = list(_state(it["model"]))
    tree = {"heads": [2, 3, 0], "relations": ["det", "obl", "root"]}
    rows = [{"words": ["the", f"head{'s' * number}", "of"]} | tree for number in range(6)]
    surfaced = surface(data=PAIRS, max_length=48, **it)
    runs = (cluster(**it, **SHORT), surfaced, probe("trees", data=rows, **it))
    assert {each.manifest["model"]["origin"] for each in runs} == {"an object in memory"}
    view(*PAIRS[0], **it)
    assert list(_state(it["model"])) == before
    for name in ("bert", "mpnet"):
        it = _open(headed(name, "MaskedLM"), "AutoModelForMaskedLM")
        before = list(_state(it["model"].train()))
        surface(**it, data=TEXTS[0].split(",") * 2 + [TEXTS[1]], gradients=True, max_length=48)
        assert list(_state(it["model"])) == before
        inputs = it["tokenizer"](list(TEXTS), return_tensors="pt", padding=True)
        it["model"](**inputs, labels=inputs["input_ids"]).loss.backward()
        assert any(weights.grad is not None for weights in it["model"].parameters())


def test_a_loaded_model_is_read_in_its_own_precision_and_told_from_others_by_its_weights(
    model_of: ModelOf, tmp_path: Path
) -> None:
    import torch

    it = _open(model_of("bert"), dtype=torch.bfloat16)
    half = label(**it, **SHORT)
    assert (half.manifest["model"]["dtype"], half.manifest["settings"]["dtype"]) == ("bfloat16", "bfloat16")
    assert it["model"].dtype == torch.bfloat16
    it, kept = _open(model_of("bert")), SHORT | {"out": tmp_path / "run"}
    first = label(**it, **kept)
    assert label(**it, **kept).manifest["model"] == first.manifest["model"]
    other = _open(model_of("bert"))["tokenizer"]
    other.add_tokens(["committee"])
    weights = next(it["model"].parameters()).detach()
    with pytest.raises(HeadrolesError, match="holds a run with other tokenizer"):
        label(**it | {"tokenizer": other}, **kept)
    weights[0, 0] += 1
    with pytest.raises(HeadrolesError, match=r"holds a run with other settings \(model\)"):
        label(**it, **kept)
    weights[0, 0] = float("nan")
    with pytest.raises(HeadrolesError, match="every weight is a finite number"):
        label(**it, **SHORT)


# Parts of a model on several devices.


@pytest.mark.parametrize("device_map", ["auto", {"": "disk"}, SPLIT], ids=str)
def test_a_placed_model_has_the_attention_of_the_same_model_on_one_device(
    device_map: Any, model_of: ModelOf
) -> None:
    import torch

    pytest.importorskip("accelerate", reason="accelerate, which places models, is not installed")
    if torch.cuda.is_available() and isinstance(device_map, str):
        pytest.skip("a rule would place the model on the GPU, whose last bits are others")
    for longest in (64, 300):
        kept = []
        for how in ({"device": "auto", "device_map": device_map}, {"device": "cpu"}):
            model = opened(model_of("bert"), longest, **how)
            kept.append((model, Kept()))
            extraction.run(model.network, model.way, *batch_of(model, TEXTS[2:3]), kept[-1][1])
        (placed, ours), (plain, theirs) = kept
        assert placed.way.name == plain.way.name
        assert all(torch.equal(ours.whole(*place), theirs.whole(*place)) for place in theirs.rows)
        places = {"cpu"} if isinstance(device_map, str) else set(device_map.values())
        assert placed.described["device"] == ", ".join(sorted(places))
        assert placed.device == torch.device("cpu")
        assert placed.described["weights_sha256"] == plain.described["weights_sha256"]


def test_a_network_that_cannot_be_moved_is_refused() -> None:
    import torch

    class Fixed(torch.nn.Linear):
        def to(self, *args: Any, **kwargs: Any) -> Any:
            raise ValueError("`.to` is not\nsupported")

    sentence = r"'m' cannot be brought to cpu \(`.to` is not supported\); give another"
    with pytest.raises(BadInput, match=sentence):
        module_of("home_of").move_to_device(Fixed(2, 2), torch.device("cpu"), "m")


# Tokenizers.


def test_pieces_of_a_tokenizer_that_treats_a_text_as_one_word_belong_to_words_of_the_text() -> None:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    raw: Any = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    raw.pre_tokenizer = pre_tokenizers.Metaspace()  # for training alone: no piece reaches over a blank
    trainer: Any = trainers.BpeTrainer(
        vocab_size=390, limit_alphabet=60, special_tokens=special, show_progress=False
    )
    raw.train_from_iterator(TEXTS, trainer)
    raw.pre_tokenizer = pre_tokenizers.Sequence([])
    raw.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    raw.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A $B:1", special_tokens=[("<s>", 1)]
    )
    names = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, **names)  # type: ignore[no-untyped-call]
    for text in (*TEXTS, "Why did the naïve café owner pay €20 for 東京 tea? 🙂"):
        words = text.split()
        tree = tree_of(words, [-1] * len(words), ["dep"] * len(words))
        (tokenised,) = extraction.tokenise(tokenizer, [Passage("made", (text,), None, (tree,))], 96)
        example = extraction.example_of(tokenised, (tree,), True)
        assert set(tokenizer(text).word_ids()) == {None, 0}
        assert {*example.word[example.segment == 0].tolist()} == {*range(len(words))}
        for span, word in zip(tokenised.spans, example.word, strict=True):
            if word >= 0 and text[span[0] : span[1]].strip():
                assert text[span[0] : span[1]].strip()[0] in words[word]
