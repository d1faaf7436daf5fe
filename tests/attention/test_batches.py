"""Inputs share a batch only where that changes nothing, and what is read is attention."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headroles import extraction
from headroles.errors import BadInput
from headroles.records import Passage
from headroles.runs import randomise_weights
from tests.support.read_models import TEXTS, Kept, module_of, opened, plain_network, plain_run, ready
from tests.support.reference import rounding_bound

ModelOf = Callable[[str], Path]


class Keeping:
    """A job that keeps all attention, and the places of the inputs of every batch."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.batches: list[tuple[list[int], Kept]] = []

    def table(self, tokenised: Any) -> None:
        """Keep no table."""

    def prepare(self, tokenised: Any, places: np.ndarray) -> Any:
        """Return the inputs of a batch, which know their places."""
        self.batches.append((places.tolist(), Kept()))
        return [type("Ready", (), {"tokenised": tokenised[place]}) for place in places]

    def reader(self, batch: Any, table: None) -> Kept:
        """Return the reader of the latest batch."""
        return next(kept for _, kept in self.batches if not kept.rows)

    def result(self, table: None) -> None:
        """Keep no result."""


@pytest.mark.parametrize(
    ("name", "sizes"),
    [("bert", [4]), ("convbert", [1, 2, 1]), ("ibert", [4]), ("layoutlm", [4]), ("got-ocr2", [4])],
)
def test_a_text_in_a_batch_is_read_as_the_plain_model_reads_it_alone(
    name: str, sizes: list[int], model_of: ModelOf
) -> None:
    folder = model_of(name)
    asked = [Passage(str(place), (text,)) for place, text in enumerate((*TEXTS, TEXTS[2]))]
    for longest in (128, 512):
        model, job = ready(folder, longest), Keeping()
        inputs = extraction.tokenise(model.tokenizer, asked, 96)
        [*_] = extraction.stream_tokenised(
            model, [inputs], job, batch_size=8, advance=lambda count: None, ahead=False
        )
        assert [len(places) for places, _ in job.batches] == sizes
        assert model.described.get("batches", "padded") == (
            "padded" if len(sizes) == 1 else "of equal lengths"
        )
        for places, kept in job.batches:
            for row, place in enumerate(places):
                tensors, n = extraction.pad_inputs(model, [inputs[place]]), inputs[place].size
                plain = plain_run(plain_network(folder, "eager"), tensors, output_attentions=True).attentions
                assert len(plain) == model.layers
                for layer, (own,) in enumerate(plain):
                    close = rounding_bound(n * model.layers)
                    np.testing.assert_allclose(kept.whole(layer, row), own, rtol=0, atol=close)


@pytest.mark.parametrize("name", ["bert", "llama", "opt", "got-ocr2", "llava"])
def test_the_control_of_random_weights_is_read_in_every_part_as_the_model_is(
    name: str, model_of: ModelOf
) -> None:
    model = ready(model_of(name))
    control = randomise_weights(model, 1)
    (given,) = extraction.tokenise(model.tokenizer, [Passage("0", (TEXTS[0],))], 96)
    first, second = Kept(), Kept()
    for read, kept in ((model, first), (control, second)):
        extraction.run(read.network, read.way, extraction.pad_inputs(read, [given]), [given.size], kept)
    for layer in range(model.layers):
        own, other = first.whole(layer, 0).numpy(), second.whole(layer, 0).numpy()
        assert own.shape == other.shape
        assert not np.allclose(own, other)
        np.testing.assert_allclose(other.sum(axis=-1), 1, rtol=0, atol=1e-5)


def test_scores_in_place_of_attention_and_layers_of_other_sizes_are_refused_by_name(
    model_of: ModelOf,
) -> None:
    with pytest.raises(BadInput, match=r"but SqueezeBertModel gives -.*these are no attention"):
        opened(model_of("squeezebert"))
    with pytest.raises(BadInput, match=r"CanineModel gave \['\(4, 128, 128\)', '\(4, 32, 32\)'\]"):
        opened(model_of("canine"))


def test_what_becomes_no_attention_while_a_run_goes_on_is_refused(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = opened(model_of("gptj"))
    (given,) = extraction.tokenise(model.tokenizer, [Passage("0", (TEXTS[0],))], 96)
    honest = model.network.h[1].attn._attn
    monkeypatch.setattr(
        model.network.h[1].attn, "_attn", lambda *parts: tuple(2 * own for own in honest(*parts))
    )
    with pytest.raises(BadInput, match="sums of 2; these are no attention"):
        extraction.run(model.network, model.way, extraction.pad_inputs(model, [given]), [given.size], Kept())


def test_numbers_without_a_row_in_an_embedding_are_refused(model_of: ModelOf) -> None:
    for name, key, sentence in (
        (
            "roberta",
            "input_ids",
            r"every token has a row .* RobertaModel has 400 rows, .* the number 400; resize",
        ),
        (
            "bert",
            "token_type_ids",
            r"every type of text has a row .* BertModel has 2 rows, .* the number 400; give",
        ),
    ):
        model = ready(model_of(name))
        (given,) = extraction.tokenise(model.tokenizer, [Passage("0", (TEXTS[1],))], 96)
        given.inputs[key][0] = 400
        for put in (extraction.pad_inputs, extraction.pack_inputs):
            with pytest.raises(BadInput, match=sentence):
                put(model, [given])


def test_an_encoder_without_a_configuration_and_a_model_that_stops_at_short_texts_say_so(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BadInput, match="that of FSMTModel is none; give --kind decoder"):
        opened(model_of("fsmt"))
    folder, plain = model_of("bert"), module_of("load")

    def stop(*given: Any) -> None:
        raise ValueError("too short")

    choose = plain.choose_batches
    monkeypatch.setattr(
        plain,
        "choose_batches",
        lambda tried, most: (tried.network.register_forward_pre_hook(stop), choose(tried, most)),
    )
    with pytest.raises(BadInput, match=r"BertModel failed at one of \d+ tokens \(ValueError: too short\)"):
        opened(folder)
