"""Garbage is not searched for while a model is loaded, and searched for again afterwards."""

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headroles import Labelling
from headroles.inputs.corpora import Corpus
from headroles.shards.engines.loading import without_collection
from headroles.shards.work import Order
from headroles.shards.worker import Worker
from headroles.storage.places import Place


@pytest.fixture
def _collecting() -> Iterator[None]:
    was = gc.isenabled()
    gc.enable()
    yield
    (gc.enable if was else gc.disable)()


@pytest.mark.usefixtures("_collecting")
def test_garbage_is_searched_for_again_after_loading_and_after_an_error_in_it() -> None:
    with without_collection():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ValueError, match="no model"), without_collection():
        raise ValueError("no model")
    assert gc.isenabled()


@pytest.mark.usefixtures("_collecting")
def test_who_searches_for_no_garbage_does_not_after_loading_either() -> None:
    gc.disable()
    with without_collection():
        pass
    assert not gc.isenabled()


@pytest.mark.usefixtures("_collecting")
def test_a_run_loads_its_model_without_searches_and_scores_with_them(
    label: Callable[..., Labelling], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, score = Worker.__init__, Worker.score
    noted = []

    def noted_start(self: Worker, order: Order, *, place: Place, corpus: Corpus) -> None:
        noted.append(gc.isenabled())
        start(self, order, place=place, corpus=corpus)

    def noted_score(self: Worker, *given: Any) -> Any:
        noted.append(gc.isenabled())
        return score(self, *given)

    monkeypatch.setattr(Worker, "__init__", noted_start)
    monkeypatch.setattr(Worker, "score", noted_score)
    label(out=tmp_path / "run", limit=20)
    assert noted == [False, True]
    assert gc.isenabled()
