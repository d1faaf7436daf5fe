"""The runs that are recorded: each is made by one public function, in a workspace, on inputs beside it."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import headroles
from tests.contract.checkpoint import save_checkpoint
from tests.contract.inputs import LISTED, MORE_PAIRS, PAIRS, SCORES, TRAINING, TREES, write_inputs

MODEL, OTHER = "models/tiny <b>one", "models/other"
MAPS = "maps.safetensors"
SIEVES = ["local", "delimiter", "block", "identical"]
TEXTS: dict[str, Any] = {"data": PAIRS, "model": MODEL, "max_length": 48, "shard_size": 32, "threads": 1}
OTHERS: dict[str, Any] = {"data": MORE_PAIRS, "text_a": "question", "text_b": "sentence"}
TREEBANK: dict[str, Any] = {"data": TREES, "model": MODEL, "max_length": 48, "shard_size": 32, "threads": 1}
STORED: dict[str, Any] = {"attention": MAPS, "shard_size": 10, "threads": 1}
CLUSTERS: dict[str, Any] = {"sieve": ["local", "delimiter"], "draws": 20, "clusters": 3}
PROBES: dict[str, Any] = {"probes": ["dependency", "trees", "coreference"], "relations": ["nsubj", "det"]}
TRAINED: dict[str, Any] = {"classifier": ["attention"], "train": TRAINING, "epochs": 2}
LABEL_OF_TREES: dict[str, Any] = {
    "sieve": ["syntactic", "syntactic:nsubj", "coreference", "next", "punctuation:all"], "maps": 0,
    "test": "sign-flip", "correction": "holm", "family": "layer", "resamples": 199, "bayes": True,
}  # fmt: skip
ABLATION: dict[str, Any] = {"by": ["mean", "cells"], "groups": True, "sets": 99, "references": 20}
ORIGINS: dict[str, Any] = {"rotations": 99, "references": 20}

Run = Callable[..., Any]
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "label": ("label", {"task": "QNLI", "sieve": SIEVES, "maps": 6} | TEXTS),
    "label-b": ("label", {"task": "QNLI", "sieve": SIEVES, "maps": 0} | TEXTS | {"model": OTHER}),
    "label-c": (
        "label",
        {"task": "QNLI", "sieve": SIEVES, "maps": 0, "first": 54} | TEXTS | {"data": MORE_PAIRS},
    ),
    "label-trees": ("label", LABEL_OF_TREES | TREEBANK),
    "cluster": ("cluster", {"task": "QNLI", "maps": 4} | CLUSTERS | TEXTS),
    "surface": ("surface", {"task": "QNLI", "gradients": True, "first": 24} | TEXTS | {"shard_size": 16}),
    "probe": ("probe", PROBES | TRAINED | {"maps": 4} | TREEBANK | {"shard_size": 8}),
    "ablate": ("ablate", {"roles": "label"} | ABLATION | TEXTS | OTHERS),
    "why": ("why", {"folder": "label", "first": 48} | ORIGINS | TEXTS | OTHERS),
    "scores": ("judge_scores", {"scores": SCORES, "model_name": "from <i>elsewhere</i>"}),
    "label-of-maps": ("label", {"sieve": ["local", "delimiter", "next", "syntactic"], "maps": 3} | STORED),
    "cluster-of-maps": ("cluster", {"maps": 0} | CLUSTERS | STORED),
    "surface-of-maps": ("surface", STORED),
    "probe-of-maps": ("probe", PROBES | {"maps": 0} | STORED),
    "prune": ("prune", {"folder": "ablate", "bound": 0.5, "sizes": (1, 2, 4)}),
    "compare": ("compare", {"dir_a": "label", "dir_b": "label-b", "swaps": 99}),
    "replicate": ("replicate", {"dir_a": "label", "dir_b": "label-c"}),
    "atlas": ("atlas", {"runs": ("label", "label-b", "label-c")}),
    "atlas-of-parts": ("atlas", {"runs": ("label", "label-c"), "parts": True}),
}
"""Function and options of every run; ``out`` is its name. A run may read folders of runs above it."""
OF_MAPS = tuple(name for name in RUNS if name.endswith("-of-maps"))
FINISHED = ("prune", "compare", "replicate", "atlas")
"""Functions that read finished runs."""
JUDGED = tuple(name for name in RUNS if RUNS[name][0] not in FINISHED and name not in OF_MAPS)
"""Runs whose scores are stored in the suite, and judged again there."""


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Work in a folder, so that what is recorded names no folder of a machine."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def start(name: str, **options: Any) -> Any:
    """Make a run in the present folder, with other options where they are given."""
    function, own = RUNS[name]
    out = "replicate.csv" if name == "replicate" else name
    return getattr(headroles, function)(**own | {"out": out} | options)


def prepare_models(workspace: Path) -> None:
    """Write inputs and checkpoints into an empty folder."""
    write_inputs(workspace)
    save_checkpoint(workspace / MODEL)
    save_checkpoint(workspace / OTHER, without=(1, 2))


def make(workspace: Path, names: Iterable[str] = tuple(RUNS)) -> None:
    """Make runs in a folder, and inputs, checkpoints and stored maps where there are none yet."""
    if not (workspace / MODEL).exists():
        prepare_models(workspace)
    with inside(workspace):
        if not Path(MAPS).exists():
            headroles.extract(LISTED, out=MAPS, model=MODEL, precision="float16")
        for name in names:
            if not Path(name).exists():
                start(name)
