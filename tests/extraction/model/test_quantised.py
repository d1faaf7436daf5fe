"""Checkpoints with quantised weights: read where the library loads them, else refused in one sentence."""

import json
import shutil
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from headroles.errors import BadInput, MissingExtra
from headroles.extraction.capture.attention import run
from headroles.extraction.model import quantised
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import load
from headroles.extraction.model.placing import weights_of
from headroles.extraction.model.quantised import KNOWN, PACKAGES, quantised_errors
from headroles.extraction.model.trial import TOLERANCE
from tests.support.read_models import Kept, batch_of, opened

ModelOf = Callable[[str], Path]
STATED: dict[str, dict[str, Any]] = {
    "aqlm": {},
    "auto-round": {"bits": 4},
    "awq": {"bits": 4, "group_size": 128},
    "bitsandbytes": {"load_in_8bit": True},
    "compressed-tensors": {"config_groups": {}, "format": "dense"},
    "eetq": {},
    "fbgemm_fp8": {},
    "fp8": {"weight_block_size": [128, 128]},
    "gptq": {"bits": 4, "group_size": 128},
    "hqq": {},
    "mxfp4": {},
    "quanto": {"weights": "int8"},
    "torchao": {"quant_type": "int8_weight_only"},
}
"""What a configuration says of each method."""


def _quantised(folder: Path, target: Path, stated: Any) -> Path:
    """Copy a model, and say in its configuration that its weights are quantised."""
    shutil.copytree(folder, target)
    config = json.loads((target / "config.json").read_text())
    (target / "config.json").write_text(json.dumps(config | {"quantization_config": stated}))
    return target


def test_every_method_with_packages_is_one_that_the_library_loads() -> None:
    assert PACKAGES.keys() == STATED.keys()
    assert PACKAGES.keys() <= KNOWN


@pytest.mark.parametrize("method", PACKAGES)
def test_weights_of_a_method_whose_package_is_missing_are_refused_by_its_name(
    method: str, model_of: ModelOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(quantised, "version", absent)
    folder = _quantised(model_of("bert"), tmp_path / "m", {"quant_method": method} | STATED[method])
    with pytest.raises(MissingExtra) as caught:
        opened(folder)
    several = len(PACKAGES[method]) > 1
    assert str(caught.value) == (
        f"the weights of '{folder}' are quantised by {method}, for which the package{'s' * several} "
        f"{' and '.join(PACKAGES[method])} must be installed, but {'are' if several else 'is'} not; run pip "
        f"install {' '.join(PACKAGES[method])}, or give the model in full precision"
    )


@pytest.mark.parametrize("stated", [{"quant_method": "nonsense"}, {"bits": 4}])
def test_weights_of_a_method_that_the_library_would_ignore_are_refused(
    stated: dict[str, Any], model_of: ModelOf, tmp_path: Path
) -> None:
    folder = _quantised(model_of("bert"), tmp_path / "m", stated)
    named = stated.get("quant_method", "none")
    with pytest.raises(
        BadInput, match=rf"the library loads, but '.*' names '{named}'; known: .*torchao.*; give"
    ):
        opened(folder)


@pytest.mark.parametrize(("dtype", "kind"), [(torch.int8, "I8"), (torch.float8_e4m3fn, "F8_E4M3")])
def test_quantised_weights_without_a_method_are_refused(
    dtype: torch.dtype, kind: str, model_of: ModelOf, tmp_path: Path
) -> None:
    folder = shutil.copytree(model_of("bert"), tmp_path / "m")
    weights = load_file(folder / "model.safetensors")
    key = "encoder.layer.0.attention.self.key.weight"
    weights[key] = weights[key].to(dtype)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(
        BadInput, match=rf"states no quantization_config .* but '{key}' of '.*' is {kind}; state"
    ):
        opened(folder)


def test_a_configuration_that_is_no_object_is_refused_in_a_sentence(
    model_of: ModelOf, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match="cannot be loaded from a local folder"):
        opened(_quantised(model_of("bert"), tmp_path / "m", "gptq"))


@pytest.mark.parametrize("error", [AssertionError(), BadInput("no\nattention"), RuntimeError("no kernel")])
def test_a_quantised_network_that_fails_says_so_in_a_sentence(error: Exception) -> None:
    with (
        pytest.raises(
            BadInput, match=r"'m' are quantised by gptq, and its attention cannot be read on cpu \("
        ),
        quantised_errors({"quant_method": "gptq"}, "m", "cpu"),
    ):
        raise error
    with pytest.raises(type(error)), quantised_errors(None, "m", "cpu"):
        raise error


class _Packed(torch.Tensor):
    """Weights whose numbers show only when they are unpacked."""

    def dequantize(self) -> torch.Tensor:
        """Return the numbers."""
        return torch.full(self.shape, torch.nan)


def test_weights_that_are_packed_are_checked_as_the_numbers_that_they_stand_for() -> None:
    module = torch.nn.Linear(2, 2, bias=False)
    module.weight = torch.nn.Parameter(torch.zeros(2, 2).as_subclass(_Packed))
    ((name, weights),) = weights_of(torch.nn.Sequential(module))
    assert name == "0.weight"
    assert weights.isnan().all()


def test_attention_of_int8_weights_is_that_of_the_plain_eager_model(
    model_of: ModelOf, tmp_path: Path
) -> None:
    pytest.importorskip("torchao", reason="torchao, which quantises weights, is not installed")
    from torchao.quantization import Int8WeightOnlyConfig
    from transformers import AutoModel, AutoTokenizer, TorchAoConfig

    folder = model_of("bert")
    config: Any = TorchAoConfig(Int8WeightOnlyConfig())
    AutoModel.from_pretrained(folder, quantization_config=config).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(folder).save_pretrained(tmp_path)
    for max_length in (64, 300):
        model = load(
            find_checkpoint(str(tmp_path), None), device="cpu", dtype="float32", max_length=max_length
        )
        assert model.described["quantisation"]["quant_method"] == "torchao"
        inputs, lengths = batch_of(model)
        kept = Kept()
        run(model.network, model.way, inputs, lengths, kept)
        model.network.set_attn_implementation("eager")
        with torch.inference_mode():
            returned = model.network(**inputs, output_attentions=True).attentions
        full = Kept()
        plain = opened(folder)
        run(plain.network, plain.way, inputs, lengths, full)
        for layer, weights in enumerate(returned):
            for example, length in enumerate(lengths):
                own = weights[example, :, :length, :length]
                assert torch.allclose(kept.whole(layer, example), own, rtol=0, atol=TOLERANCE[torch.float32])
                assert 0 < (full.whole(layer, example) - own).abs().max() < 0.05
