"""Parts of a model on several devices: what is refused, and that attention is read wherever they are."""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from headroles.errors import BadInput, HeadrolesError
from headroles.extraction.capture.attention import run
from headroles.extraction.capture.method import CaptureMethod
from headroles.extraction.jobs.gradients import gradient_shards
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import Model, load
from headroles.extraction.model.losses import LossOptions, load_with_loss
from headroles.extraction.model.placing import (
    DEVICE_MAPS,
    describe_places,
    home_of,
    move_to_device,
    weights_of,
)
from headroles.extraction.views.view import read_views
from headroles.records.passage import Passage
from headroles.records.rules.names import EAGER, FORMED, RETURNED
from tests.support.read_models import Kept, batch_of, opened, ready

ModelOf = Callable[[str], Path]
TEXT = "It was signed in Paris after a long debate; nobody objected!"
META = torch.device("meta")
SPLIT = {"embeddings": "cpu", "encoder.layer.0": "cpu", "encoder.layer.1": "disk", "pooler": "disk"}


def _needs_accelerate() -> None:
    """Skip a test where accelerate is not installed."""
    pytest.importorskip("accelerate", reason="accelerate, which places models, is not installed")


def _load(folder: Path, device_map: Any, **given: Any) -> Model:
    settings: dict[str, Any] = {"device": "auto", "dtype": "float32", "max_length": 64} | given
    return load(find_checkpoint(str(folder), None), device_map=device_map, **settings)


@pytest.mark.parametrize(
    ("device_map", "device", "sentence"),
    [
        ("automatic", "auto", "no device map is called 'automatic'; did you mean 'auto'"),
        ({}, "auto", "names the device of each part of a model, but got an empty one"),
        ("auto", "cpu", "so --device cpu has no effect; give one of the two"),
    ],
)
def test_device_maps_that_cannot_be_are_refused_in_a_sentence(
    device_map: Any, device: str, sentence: str, model_of: ModelOf
) -> None:
    with pytest.raises(HeadrolesError, match=sentence):
        _load(model_of("bert"), device_map, device=device)


@pytest.mark.parametrize("device_map", DEVICE_MAPS)
def test_a_device_map_without_accelerate_names_the_package(
    device_map: str, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(HeadrolesError, match="needs the package accelerate, which is not installed; run pip"):
        _load(model_of("bert"), device_map)


class _Devices:
    """A reader that keeps the devices of what it gets, one example at a time or whole batches."""

    def __init__(self) -> None:
        self.devices: list[str] = []

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: Any) -> None:
        """Keep the device of rows."""
        self.devices.append(rows.device.type)


class _BatchDevices(_Devices):
    """The same for a reader of batches."""

    together = True

    def read_batch(self, layer: int, weights: torch.Tensor, visible: Sequence[Any]) -> None:
        """Keep the device of a batch."""
        self.devices.append(weights.device.type)


@pytest.mark.parametrize("reader", [_Devices, _BatchDevices])
@pytest.mark.parametrize("name", [EAGER, FORMED, RETURNED])
def test_attention_of_layers_on_another_device_is_handed_on_at_home(
    name: str, reader: type[_Devices], model_of: ModelOf
) -> None:
    model = opened(model_of("bert"))
    inputs, lengths = batch_of(model)
    model.network.set_attn_implementation("eager" if name == RETURNED else name)

    def network(output_attentions: bool = False, **given: torch.Tensor) -> Any:
        assert {tensor.device for tensor in given.values()} == {META}
        return model.network(**inputs, output_attentions=output_attentions)

    at_home = {kind: tensor.to(META) for kind, tensor in inputs.items()}
    kept = reader()
    run(network, CaptureMethod(name), at_home, lengths, kept)
    assert kept.devices
    assert set(kept.devices) == {"meta"}


def test_cross_attention_of_layers_on_another_device_is_handed_on_at_home(model_of: ModelOf) -> None:
    model = load(
        find_checkpoint(str(model_of("t5")), None),
        device="cpu",
        dtype="bfloat16",
        max_length=64,
        kind="cross",
    )
    assert model.way.name == FORMED
    ids, mask = torch.ones((1, 5), dtype=torch.int64), torch.ones((1, 5), dtype=torch.int64)
    inputs = {"input_ids": ids, "attention_mask": mask, "decoder_input_ids": ids[:, :3]}
    inputs["decoder_attention_mask"] = mask[:, :3]
    kept = _Devices()

    def network(use_cache: bool, **given: torch.Tensor) -> Any:
        return model.network(**inputs, use_cache=use_cache)

    lengths_of = {name: tensor.to(META) for name, tensor in inputs.items()}
    with pytest.MonkeyPatch.context() as patch:  # sums of a mask cannot be read back from the meta device
        patch.setattr("headroles.extraction.capture.attention.side_lengths", lambda given: [(3, 5)])
        run(network, model.way, lengths_of, [8], kept)
    assert set(kept.devices) == {"meta"}


def test_home_is_the_first_device_that_computes() -> None:
    def placed(**places: Any) -> SimpleNamespace:
        return SimpleNamespace(hf_device_map=places, device=META)

    assert home_of(placed(a="cpu", b="cuda:1", c="disk")) == torch.device("cuda:1")
    assert home_of(placed(a="disk", b="cpu")) == torch.device("cpu")
    assert home_of(SimpleNamespace(device=torch.device("cpu"))) == torch.device("cpu")
    assert describe_places(placed(a=0, b=1, c="disk"), torch.device("cuda:0")) == "cuda:0, cuda:1, disk"
    assert describe_places(SimpleNamespace(), torch.device("cpu")) == "cpu"


def test_a_network_that_cannot_be_moved_is_refused_in_a_sentence() -> None:
    class Fixed(torch.nn.Linear):
        def to(self, *args: Any, **kwargs: Any) -> Any:
            raise ValueError("`.to` is not\nsupported")

    with pytest.raises(
        BadInput, match=r"'m' cannot be brought to cpu \(`.to` is not supported\); give another"
    ):
        move_to_device(Fixed(2, 2), torch.device("cpu"), "m")


def test_every_weight_of_a_network_is_seen_once_with_its_name(model_of: ModelOf) -> None:
    network = ready(model_of("bert")).network
    seen = dict(weights_of(network))
    assert seen.keys() == {name for name, _ in network.named_parameters()}
    assert all(torch.equal(seen[name], weights) for name, weights in network.named_parameters())


def _attention(model: Model) -> np.ndarray:
    """Attention of all layers of a model on one text."""
    inputs, lengths = batch_of(model, [TEXT])
    kept = Kept()
    run(model.network, model.way, inputs, lengths, kept)
    return np.stack([kept.whole(layer, 0).numpy() for layer in range(model.layers)])


@pytest.mark.parametrize("device_map", [*DEVICE_MAPS, {"": "cpu"}, {"": "disk"}, SPLIT], ids=str)
@pytest.mark.parametrize("max_length", [64, 300])
def test_a_placed_model_has_the_attention_of_the_same_model_on_one_device(
    device_map: Any, max_length: int, model_of: ModelOf
) -> None:
    _needs_accelerate()
    folder = model_of("bert")
    if torch.cuda.is_available() and isinstance(device_map, str):
        pytest.skip("a rule would place the model on the GPU, whose last bits are others")
    model = _load(folder, device_map, max_length=max_length)
    expected = _load(folder, None, device="cpu", max_length=max_length)
    assert model.way.name == expected.way.name
    np.testing.assert_array_equal(_attention(model), _attention(expected))
    places = {"cpu"} if isinstance(device_map, str) else set(device_map.values())
    assert model.described["device"] == ", ".join(sorted(places))
    assert model.device == torch.device("cpu")
    assert model.described["weights_sha256"] == expected.described["weights_sha256"]


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_an_encoder_decoder_is_read_with_weights_on_disk(kind: str, model_of: ModelOf) -> None:
    _needs_accelerate()
    model = _load(model_of("t5"), {"": "disk"}, kind=kind)
    assert model.layers == _load(model_of("t5"), None, device="cpu", kind=kind).layers
    assert model.described["device"] == "disk"


def test_weights_on_disk_that_are_no_numbers_are_refused(model_of: ModelOf, tmp_path: Path) -> None:
    _needs_accelerate()
    from transformers import AutoModel, AutoTokenizer

    network = AutoModel.from_pretrained(model_of("bert"))
    with torch.no_grad():
        network.encoder.layer[1].attention.self.key.weight[0, 0] = torch.nan
    network.save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(model_of("bert")).save_pretrained(tmp_path)
    with pytest.raises(BadInput, match=r"'encoder\.layer\.1\.attention\.self\.key\.weight' .* holds NaN"):
        _load(tmp_path, SPLIT)


def test_a_view_of_a_placed_model_shows_its_attention(model_of: ModelOf) -> None:
    _needs_accelerate()
    checkpoint = find_checkpoint(str(model_of("bert")), None)
    (placed,) = read_views(checkpoint, [TEXT], device_map=SPLIT)
    (plain,) = read_views(checkpoint, [TEXT], device="cpu")
    np.testing.assert_array_equal(placed.maps[0].weights, plain.maps[0].weights)


def test_gradients_of_a_model_with_weights_on_disk_are_those_of_the_same_model_in_memory(
    tmp_path: Path, model_of: ModelOf
) -> None:
    _needs_accelerate()
    from transformers import AutoTokenizer, BertConfig, BertForMaskedLM

    tokenizer = AutoTokenizer.from_pretrained(model_of("bert"))
    sizes: dict[str, Any] = {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
    }
    BertForMaskedLM(BertConfig(vocab_size=len(tokenizer), **sizes)).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    checkpoint = find_checkpoint(str(tmp_path), None)
    settings: dict[str, Any] = {"dtype": "float32", "max_length": 64}
    placed = load_with_loss(checkpoint, device="auto", device_map={"": "disk"}, **settings)
    plain = load_with_loss(checkpoint, device="cpu", **settings)
    importances = []
    for model in (placed, plain):
        (shard,) = gradient_shards(
            model,
            [Passage("one", (TEXT,)), Passage("other", ("Look!",))],
            lambda example: {"special": example.segment < 0, "text": example.segment >= 0},
            options=LossOptions(mask=0.3),
            batch_size=2,
            max_length=64,
            advance=lambda count: None,
        )
        importances.append(shard.values)
    np.testing.assert_array_equal(importances[0], importances[1])
    assert np.isfinite(importances[0]).all()
