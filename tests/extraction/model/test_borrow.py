"""Loaded models: their attention is that of the same weights in a folder, and they stay as they were."""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headroles
from headroles import HeadrolesError, cluster, label, probe, surface, view
from headroles.extraction.model.borrow import borrow
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import load
from headroles.records.objects import ModelObject, is_name, model_object
from tests.support.tiny_models import TEXTS

PAIRS = list(zip(TEXTS, TEXTS[::-1], strict=True))
SHORT: dict[str, Any] = {"data": PAIRS, "max_length": 48, "sieve": ["local", "delimiter"], "maps": 0}


def _open(folder: Path, kind: str = "AutoModel", **how: Any) -> dict[str, Any]:
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


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5", "mpnet", "llama", "bart"])
def test_a_loaded_model_scores_as_its_folder_and_stays_as_it_was(
    name: str, model_of: Callable[[str], Path]
) -> None:
    given = _open(model_of(name))
    network = given["model"].train()
    next(network.parameters()).requires_grad_(False)
    before = list(_state(network))
    of_object = label(**given, **SHORT)
    assert list(_state(network)) == before
    of_folder = label(model=model_of(name), **SHORT)
    assert np.allclose(of_object.scores.values, of_folder.scores.values, rtol=0, atol=1e-6, equal_nan=True)
    assert of_object.labels().equals(of_folder.labels())
    assert is_name(of_object.manifest["model"]["name"])
    assert of_object.manifest["settings"]["model"] == of_object.manifest["model"]["name"]


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_a_decoder_of_a_loaded_model_starts_as_that_of_its_folder(
    name: str, headed: Callable[..., Path]
) -> None:
    folder = headed(name, "Seq2SeqLM")
    given = _open(folder, "AutoModelForSeq2SeqLM")
    given["model"].config.decoder_start_token_id = None
    before = list(_state(given["model"]))
    for kind in ("decoder", "cross"):
        of_object = label(**given, **SHORT, kind=kind)
        of_folder = label(model=folder, **SHORT, kind=kind)
        assert np.allclose(
            of_object.scores.values, of_folder.scores.values, rtol=0, atol=1e-6, equal_nan=True
        )
    assert list(_state(given["model"])) == before


@pytest.mark.parametrize("name", ["bert", "mpnet"])
def test_gradients_of_a_loaded_model_are_those_of_its_folder(name: str, headed: Callable[..., Path]) -> None:
    folder = headed(name, "MaskedLM")
    given = _open(folder, "AutoModelForMaskedLM")
    before = list(_state(given["model"].train()))
    how: dict[str, Any] = {"data": TEXTS[0].split(",") * 2 + [TEXTS[1]], "gradients": True, "max_length": 48}
    of_object, of_folder = surface(**given, **how), surface(model=folder, **how)
    assert list(_state(given["model"])) == before
    assert np.allclose(of_object.scores.values, of_folder.scores.values, rtol=1e-5, atol=1e-6, equal_nan=True)


def test_a_model_can_be_trained_after_it_was_labelled(headed: Callable[..., Path]) -> None:
    given = _open(headed("bert", "MaskedLM"), "AutoModelForMaskedLM")
    network = given["model"].train()
    label(**given, **SHORT)
    inputs = given["tokenizer"](list(TEXTS), return_tensors="pt", padding=True)
    network(**inputs, labels=inputs["input_ids"]).loss.backward()
    assert all(weights.grad is not None for weights in network.bert.encoder.parameters())


def test_every_function_takes_a_loaded_model_again_and_again(model_of: Callable[[str], Path]) -> None:
    given = _open(model_of("bert"), output_attentions=True, output_hidden_states=True)
    before = list(_state(given["model"]))
    rows = [
        {
            "words": ["the", f"head{'s' * number}", "of"],
            "heads": [2, 3, 0],
            "relations": ["det", "obl", "root"],
        }
        for number in range(6)
    ]
    for run in (
        label(**given, **SHORT),
        cluster(**given, **SHORT),
        surface(data=PAIRS, max_length=48, **given),
        probe("trees", data=rows, **given),
    ):
        assert run.manifest["model"]["origin"] == "an object in memory"
    viewed = view(*PAIRS[0], **given)
    expected = view(*PAIRS[0], model=model_of("bert"))
    for maps, others in zip(viewed.view.maps, expected.view.maps, strict=True):
        assert np.abs(maps.weights.astype(int) - others.weights).max() <= 1
    assert list(_state(given["model"])) == before


def test_a_model_is_read_in_its_own_precision(model_of: Callable[[str], Path]) -> None:
    given = _open(model_of("bert"), dtype=torch.bfloat16)
    run = label(**given, **SHORT)
    assert (run.manifest["model"]["dtype"], run.manifest["settings"]["dtype"]) == ("bfloat16", "bfloat16")
    assert given["model"].dtype == torch.bfloat16
    with pytest.raises(HeadrolesError, match="read in its own precision, bfloat16, but dtype is float16"):
        label(**given, dtype="float16", **SHORT)
    with pytest.raises(HeadrolesError, match="but the BertModel is in float64"):
        label(**given | {"model": given["model"].double()}, **SHORT)


def test_a_failed_run_gives_the_model_back_as_it_was(model_of: Callable[[str], Path]) -> None:
    given = _open(model_of("bert"))
    before = list(_state(given["model"].train()))

    def fail(done: int, total: int) -> None:
        raise RuntimeError("stopped by the caller")

    with pytest.raises(RuntimeError, match="stopped by the caller"):
        label(**given, **SHORT, progress=fail)
    assert list(_state(given["model"])) == before


class _Placed(torch.nn.Linear):
    """A model that only says where it is."""

    device = torch.device("cpu")

    def to(self, device: str | torch.device) -> "_Placed":  # type: ignore[override]
        """Move in name."""
        self.device = torch.device(device)
        return self


def test_a_model_goes_back_to_its_device() -> None:
    network = _Placed(1, 1)
    with borrow(ModelObject(network, None, "placed", "", "float32")):
        network.to("cuda")
    assert network.device == torch.device("cpu")


def test_names_of_models_tell_their_weights_apart(model_of: Callable[[str], Path]) -> None:
    given = _open(model_of("bert"))
    first = model_object(**given)
    assert model_object(**_open(model_of("bert"))).sha256 == first.sha256
    with torch.no_grad():
        next(given["model"].parameters())[0, 0] += 1
    assert model_object(**given).sha256 != first.sha256


def test_a_resumed_run_of_another_model_or_tokenizer_is_refused(
    model_of: Callable[[str], Path], tmp_path: Path
) -> None:
    given = _open(model_of("bert"))
    label(**given, **SHORT, out=tmp_path / "run")
    label(**given, **SHORT, out=tmp_path / "run")
    other = _open(model_of("bert"))["tokenizer"]
    other.add_tokens(["committee"])
    with pytest.raises(HeadrolesError, match="holds a run with other tokenizer"):
        label(**given | {"tokenizer": other}, **SHORT, out=tmp_path / "run")
    with torch.no_grad():
        next(given["model"].parameters())[0, 0] += 1
    with pytest.raises(HeadrolesError, match=r"holds a run with other settings \(model\)"):
        label(**given, **SHORT, out=tmp_path / "run")


def test_a_loaded_model_stays_in_this_process(model_of: Callable[[str], Path]) -> None:
    given = _open(model_of("bert"))
    for several in ({"workers": 2}, {"engine": "ray"}):
        with pytest.raises(HeadrolesError, match="save model and tokenizer with save_pretrained"):
            label(**given, **SHORT, **several)


def test_models_that_cannot_be_used_are_refused_in_a_sentence(model_of: Callable[[str], Path]) -> None:
    given = _open(model_of("bert"))
    alone = {"model": given["model"]}
    for wrong, sentence in (
        (alone, "needs its tokenizer, but tokenizer is missing"),
        (alone | {"tokenizer": "bert"}, "tokenizer is a transformers tokenizer, but got a str"),
        (given | {"revision": "main"}, "a revision is for names on the hub"),
        (given | {"kind": "decoder"}, "has one stack of layers and no 'decoder' attention"),
    ):
        with pytest.raises(HeadrolesError, match=sentence):
            label(**wrong, **SHORT)
    with torch.device("meta"):
        empty = transformers.AutoModel.from_config(given["model"].config)  # type: ignore[no-untyped-call]
    with pytest.raises(HeadrolesError, match="has its weights in memory, but"):
        label(model=empty, tokenizer=given["tokenizer"], **SHORT)
    with torch.no_grad():
        next(given["model"].parameters())[0, 0] = float("nan")
    with pytest.raises(HeadrolesError, match="every weight is a finite number"):
        label(**given, **SHORT)


def test_a_slow_tokenizer_is_refused(model_of: Callable[[str], Path]) -> None:
    class Slow(transformers.PreTrainedTokenizerBase):
        is_fast = False

        def __init__(self) -> None:
            """Have no vocabulary."""

    with pytest.raises(HeadrolesError, match="a tokenizer must be a fast one"):
        label(**_open(model_of("bert")) | {"tokenizer": Slow()}, **SHORT)


def test_the_weights_of_a_given_model_are_never_copied(model_of: Callable[[str], Path]) -> None:
    given = model_object(**_open(model_of("bert")))
    with borrow(given):
        loaded = load(find_checkpoint(given, None), device="auto", dtype="float32", max_length=48)
        assert loaded.network is given.network


def test_every_function_with_a_model_names_its_tokenizer() -> None:
    functions = ("label", "cluster", "surface", "probe", "extract", "view", "preprocess_unlabeled")
    for name in functions:
        names = list(inspect.signature(getattr(headroles, name)).parameters)
        assert names[names.index("model") + 1] == "tokenizer"
        assert "tokenizer: Fast tokenizer of a model" in (inspect.getdoc(getattr(headroles, name)) or "")
