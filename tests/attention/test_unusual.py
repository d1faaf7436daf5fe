"""Models that compute attention in unusual ways are read as the plain model, or refused for a true reason."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from headroles import extraction
from headroles.errors import BadInput
from headroles.records import Passage
from tests.support.read_models import TEXTS, Kept, module_of, opened, plain_network, plain_run, ready

ModelOf = Callable[[str], Path]


def _without(folder: Path, place: Path, weight: str) -> Path:
    """Copy a checkpoint without one of its weights."""
    from safetensors.torch import load_file, save_file

    shutil.copytree(folder, place)
    weights = load_file(place / "model.safetensors")
    del weights[weight]
    save_file(weights, place / "model.safetensors", metadata={"format": "pt"})
    return place


def test_a_missing_norm_after_the_last_attention_changes_none_and_one_before_it_is_refused(
    model_of: ModelOf, tmp_path: Path
) -> None:
    llama = model_of("llama")
    model = opened(_without(llama, tmp_path / "last", "norm.weight"))
    assert model.described["missing_weights"] == ["norm.weight"]
    assert bool(model.network.norm.weight.isfinite().all())
    inputs = extraction.tokenise(model.tokenizer, [Passage("a", TEXTS[:1])], 96)
    kept = Kept()
    extraction.run(model.network, model.way, extraction.pad_inputs(model, inputs), [inputs[0].size], kept)
    plain = plain_run(
        plain_network(llama, "eager"), extraction.pad_inputs(model, inputs), output_attentions=True
    )
    for layer, (weights,) in enumerate(plain.attentions):
        assert float((kept.whole(layer, 0) - weights).abs().max()) < 1e-6
    with pytest.raises(BadInput, match=r"these depend on 'norm.weight', which .* lacks"):
        extraction.Ablator(model, ["tokens"])
    early = _without(llama, tmp_path / "early", "layers.2.input_layernorm.weight")
    with pytest.raises(BadInput, match=r"lacks 1, such as 'layers.2.input_layernorm.weight'"):
        opened(early)


def test_full_layers_among_linear_ones_are_read_whatever_the_linear_ones_return(model_of: ModelOf) -> None:
    model = ready(model_of("minimax"))
    assert (model.layers, model.heads, model.way.batches) == (2, 4, "padded")


def test_weights_too_small_for_their_type_are_not_taken_for_hidden_keys(
    model_of: ModelOf, tmp_path: Path
) -> None:
    import torch

    network = plain_network(model_of("rembert"), "eager")
    loud = type(network)(network.config)
    with torch.no_grad():
        for weight in loud.parameters():
            if weight.dim() > 1:
                weight.normal_(0, 2.0)
    loud.save_pretrained(tmp_path)
    for file in model_of("rembert").glob("tokenizer*"):
        shutil.copy(file, tmp_path)
    assert opened(tmp_path).way.causal is False


def test_attention_that_is_no_number_is_refused_with_a_type_that_holds_it(
    model_of: ModelOf, tmp_path: Path
) -> None:
    from safetensors.torch import load_file, save_file

    shutil.copytree(model_of("bert"), tmp_path / "loud")
    file = tmp_path / "loud" / "model.safetensors"
    weights = {name: value * (300 if value.dim() > 1 else 1) for name, value in load_file(file).items()}
    save_file(weights, file, metadata={"format": "pt"})
    with pytest.raises(BadInput, match=r"in float16 that of BertModel holds NaN; its numbers are too"):
        opened(tmp_path / "loud", dtype="float16")


def test_a_quantised_embedding_of_positions_has_a_limit(model_of: ModelOf) -> None:
    assert ready(model_of("ibert")).limit == 598


def test_a_model_of_images_is_told_from_one_without_a_tokenizer(model_of: ModelOf, tmp_path: Path) -> None:
    shutil.copytree(model_of("vit"), tmp_path / "vit")
    for file in (tmp_path / "vit").glob("*token*"):
        file.unlink()
    with pytest.raises(BadInput, match=r"reads models of text, but .* reads images; give another model"):
        opened(tmp_path / "vit")
    assert ready(model_of("llava")).described["left_out"] == ["image"]
    assert "left_out" not in ready(model_of("bert")).described


def test_heads_that_an_older_library_cut_out_are_named_by_the_weight_that_lacks_them(
    model_of: ModelOf, tmp_path: Path
) -> None:
    from safetensors.torch import load_file, save_file

    shutil.copytree(model_of("bert"), tmp_path / "cut")
    file, config = tmp_path / "cut" / "model.safetensors", tmp_path / "cut" / "config.json"
    weights = load_file(file)
    name = "encoder.layer.0.attention.output.dense.weight"
    save_file(weights | {name: weights[name][:, 8:].contiguous()}, file, metadata={"format": "pt"})
    config.write_text(json.dumps(json.loads(config.read_text()) | {"pruned_heads": {"0": [0]}}))
    with pytest.raises(BadInput, match=rf"such as '{name}': \(32, 24\) in place of \(32, 32\); its pruned"):
        opened(tmp_path / "cut")


def test_a_number_without_a_row_in_an_embedding_is_refused(model_of: ModelOf) -> None:
    model = opened(model_of("bert"))
    given = extraction.tokenise(model.tokenizer, [Passage("a", TEXTS[:1])], 96)
    for name, what in (("input_ids", "token"), ("token_type_ids", "type of text")):
        numbers = given[0].inputs[name]
        before, numbers[-1] = numbers[-1], 400
        with pytest.raises(
            BadInput, match=rf"every {what} has a row in the embedding of the model, but Bert"
        ):
            extraction.pad_inputs(model, given)
        numbers[-1] = before


def test_what_is_read_of_a_short_text_alone_must_be_the_plain_models(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module_of("choose_batches"), "_read", lambda tried, batch: [])
    with pytest.raises(BadInput, match="what is read of a short text must be what the plain model computes"):
        opened(model_of("bert"))
