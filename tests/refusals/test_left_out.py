"""What a cluster of workers must have."""

from pathlib import Path
from typing import Any

import pytest

import headroles
from headroles import HeadrolesError

pytestmark = pytest.mark.xdist_group("refusals")


@pytest.fixture
def texts(planted: Path, table: Path) -> dict[str, Any]:
    """Inputs and model of small runs."""
    return {"task": "QNLI", "data": table, "model": planted, "max_length": 48, "limit": 8}


@pytest.mark.ci
def test_workers_on_ray_need_a_cluster_that_runs_and_gpus_that_are_there(texts: dict[str, Any]) -> None:
    pytest.importorskip("ray")
    for given, sentence in (
        ({"address": "127.0.0.1:1"}, "must be that of a Ray cluster that runs.*'127.0.0.1:1' gave"),
        ({"workers": 2, "gpus": 64.0}, "2 workers with --gpus 64 need 128 GPUs, but this machine has"),
    ):
        with pytest.raises(HeadrolesError, match=sentence):
            headroles.label(**texts, engine="ray", **given)
