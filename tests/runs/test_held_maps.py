"""A small run holds the maps of all heads while its one shard is scored, and needs no second pass."""

from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from headroles import Labelling
from headroles.records.kept_maps import KeptMaps
from headroles.runs.label import held_maps, kind
from headroles.shards import worker

Label = Callable[..., Labelling]
SECOND_PASS = "read_maps_again"
REFUSED = Mock(side_effect=AssertionError("inputs were run again"))


def _maps(run: Labelling) -> KeptMaps:
    assert run.exhibited is not None
    return run.exhibited


def _same_maps(left: Labelling, right: Labelling) -> None:
    one, other = _maps(left), _maps(right)
    assert [each.map for each in one.exhibits] == [each.map for each in other.exhibits]
    np.testing.assert_array_equal(one.places, other.places)
    for mine, theirs in zip(one.weights, other.weights, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert one.counted.keys() == other.counted.keys()


def test_a_run_of_one_shard_reads_its_inputs_once(label: Label, monkeypatch: pytest.MonkeyPatch) -> None:
    twice = label(shard_size=60)  # full, so that more shards could follow
    monkeypatch.setattr(worker, SECOND_PASS, REFUSED)
    once = label()
    assert [each.map for each in _maps(once).exhibits] == [each.map for each in _maps(twice).exhibits]
    for mine, theirs in zip(_maps(once).weights, _maps(twice).weights, strict=True):
        np.testing.assert_allclose(mine.astype(int), theirs, atol=1)


@pytest.mark.parametrize("limit", ["bytes", "tokens"])
def test_a_run_too_large_to_hold_its_maps_reads_some_inputs_again(
    limit: str, label: Label, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = label()
    again = Mock(wraps=worker.read_maps_again)
    monkeypatch.setattr(worker, SECOND_PASS, again)
    monkeypatch.setattr(held_maps, *(("MOST_HELD", 1000) if limit == "bytes" else ("WHOLE", 3)))
    twice = label()
    again.assert_called_once()
    assert len(again.call_args.args[1]) == len(_maps(twice).examples)
    assert [each.map for each in _maps(once).exhibits] == [each.map for each in _maps(twice).exhibits]


def test_scores_are_the_same_with_maps_and_without(label: Label) -> None:
    np.testing.assert_array_equal(label().scores.values, label(maps=0).scores.values)


def test_a_run_that_goes_on_after_its_shard_keeps_the_same_maps(
    label: Label, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = label(out=tmp_path / "whole")
    with monkeypatch.context() as patched:
        patched.setattr(kind, "judge_scores", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt, match="1 finished shard is kept"):
            label(out=tmp_path / "stopped")
    monkeypatch.setattr(worker, SECOND_PASS, REFUSED)
    _same_maps(label(out=tmp_path / "stopped"), whole)
    one, other = (tmp_path / name / "maps.parquet" for name in ("stopped", "whole"))
    assert one.read_bytes() == other.read_bytes()


def test_another_process_keeps_the_same_maps(label: Label) -> None:
    _same_maps(label(workers=2), label())
