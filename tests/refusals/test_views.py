"""A view is whole or refused; what cannot be shown of it is left out with a note, never shown wrongly."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headroles import HeadrolesError
from headroles.records import View

pytestmark = pytest.mark.xdist_group("refusals")

ModelOf = Callable[[str], Path]
TEXT = "The committee did not decide about the long treaty."
CAPTURE = "headroles.extraction.capture"


def _view(folder: Path, *texts: str, **options: Any) -> View:
    from headroles.extraction import find_checkpoint, read_views

    (view,) = read_views(find_checkpoint(str(folder), None), [texts], device="cpu", **options)
    found: View = view
    return found


def test_a_wrong_reading_is_refused(model_of: ModelOf, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plain attention is shifted, so that what is read differs from it."""
    _view(model_of("bert"), TEXT)
    honest = sys.modules[f"{CAPTURE}.plain"].own_eager

    def shifted(module: Any) -> Callable[..., Any]:
        def attention(*arrays: Any, **rest: Any) -> tuple[Any, Any]:
            output, weights = honest(module)(*arrays, **rest)
            return output, weights.roll(1, -1)

        return attention

    monkeypatch.setattr(f"{CAPTURE}.plain.own_eager", shifted)
    with pytest.raises(HeadrolesError, match=r"must be what the plain model computes.*cannot be viewed"):
        _view(model_of("bert"), TEXT)
    with pytest.raises(HeadrolesError, match=r"\(6 attention calls for 6 layers\); this architecture"):
        _view(model_of("bart"), TEXT, TEXT)


@pytest.mark.parametrize("name", ["bert", "bart"])
def test_queries_that_do_not_make_the_weights_are_not_shown(
    name: str, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    _view(model_of(name), TEXT)
    honest = sys.modules[f"{CAPTURE}.neurons"].parts_of

    def other(call: Any, heads: Any) -> Any:
        parts = honest(call, heads)
        wrong = call.weights.shape[2] != call.weights.shape[3] or name == "bert"
        return replace(parts, scaling=parts.scaling * 1.01) if wrong else parts

    monkeypatch.setattr(f"{CAPTURE}.neurons.parts_of", other)
    view = _view(model_of(name), TEXT, "Look!")
    assert [maps.neurons is None for maps in view.maps] == [name == "bert", False, True][-len(view.maps) :]
    kind = {"bert": "self", "bart": "cross"}[name]
    assert f"view of {kind} attention is left out, because queries and keys do not give" in view.notes[-1]
    assert "of layer 0, 1 (they are up to" in view.notes[-1]


def test_a_decoder_that_nothing_starts_still_shows_its_encoder(model_of: ModelOf) -> None:
    view = _view(model_of("t5"), TEXT)
    assert [maps.kind for maps in view.maps] == ["encoder"]
    assert "Only the encoder is shown" in view.notes[0]
