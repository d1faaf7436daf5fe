"""The option --weights: where norm-weighted attention cannot be had it is refused in a sentence."""

from typing import Any

import pytest

from headroles.errors import BadInput, UnknownName
from headroles.options.cluster import ClusterOptions
from headroles.options.label import LabelOptions
from headroles.options.probe import ProbeOptions
from headroles.options.surface import SurfaceOptions
from headroles.options.values import stored_settings
from headroles.options.view import ViewOptions

LABEL = {"task": "QNLI"}
PROBE = {"probes": ("dependency",), "data": ("gold.conllu",)}


@pytest.mark.parametrize(
    ("options", "given", "words"),
    [
        (LabelOptions, LABEL | {"preset": "published"}, "the preset 'published' scores attention"),
        (ClusterOptions, LABEL | {"preset": "published"}, "the preset 'published' scores attention"),
        (LabelOptions, {"attention": "maps.npz"}, "stored maps hold weights only"),
        (SurfaceOptions, {"attention": "maps.npz"}, "stored maps hold weights only"),
        (ProbeOptions, {"probes": ("dependency",), "attention": "maps.npz"}, "stored maps hold weights only"),
        (SurfaceOptions, LABEL | {"gradients": True}, "gradients are of a loss by attention itself"),
        (
            ProbeOptions,
            PROBE | {"classifier": ("attention",), "train": "train.conllu"},
            "trained probes learn on attention itself",
        ),
        (ViewOptions, {"attention": "maps.npz"}, "so weights has no effect"),
    ],
)
def test_norms_are_refused_where_they_cannot_be_had(options: type, given: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        options(**given, weights="norm")


@pytest.mark.parametrize("options", [LabelOptions, SurfaceOptions, ClusterOptions])
def test_the_weights_of_a_run_are_among_its_settings_and_its_command(options: type) -> None:
    assert options(**LABEL).settings()["weights"] == "attention"
    assert "--weights" not in options(**LABEL).command()
    run = options(**LABEL, weights="norm")
    assert run.settings()["weights"] == "norm"
    assert run.command().endswith("--weights norm") or "--weights norm " in run.command()


def test_a_run_from_before_the_option_read_attention() -> None:
    assert LabelOptions(**stored_settings(LABEL)).weights == "attention"


def test_other_weights_do_not_exist() -> None:
    with pytest.raises(UnknownName, match="kind of weights"):
        LabelOptions(task="QNLI", weights="norms")
