"""Objects, files and folders of refusals of options, commands, records and statistics."""

import shlex
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock as Mock

import numpy as np
import pytest

from headroles import Contrast, Example, Labelling, load, save
from headroles.cli.main import cli
from headroles.records import Decision, Rule, plain_stack
from headroles.stats import judge
from tests.contract.kinds import prepare_models as prepare_checkpoints
from tests.contract.recorded import RECORDED as RECORDS
from tests.contract.recorded import unpack
from tests.support.folders import change_manifest, hash_again
from tests.support.scores import made as scores_by_seed

if TYPE_CHECKING:
    from tests.refusals.names import Names

SENTENCE = {"words": ["it", "rains", "again"], "heads": [2, 0, 2], "relations": ["expl", "root", "advmod"]}
EXAMPLE = Example("e", ("a", "b", "c"))
RECORDED = ("label", "label-b", "cluster", "surface", "probe", "ablate", "why", "scores")
"""Recorded runs of the contract, which lie on the desk under their names."""
HEADED: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("masked", "bert", "MaskedLM", {}),
    ("causal", "gpt2", "CausalLM", {}),
    ("seeing", "bert", "CausalLM", {"is_decoder": False}),
    ("uneven", "bart", "Seq2SeqLM", {"decoder_layers": 3, "decoder_attention_heads": 2}),
    ("deep", "albert", "MaskedLM", {"num_hidden_layers": 140}),
    ("single", "bert", "SequenceClassification", {"num_labels": 1}),
)
"""Names of tiny models with a head, their architectures, heads and settings."""


def prepare_light(names: "Names") -> None:
    """Lay what needs no model on the desk: a finished run of probes, and an empty folder."""
    (names.desk / "runs").mkdir()
    save(names.fixture("probed_run")(), names.desk / "run")


def prepare_models(names: "Names") -> None:
    """Lay models, inputs and recorded runs on the desk; small checkpoints are links."""
    for name in ("planted", "even", "finished"):
        names.link(name, names.fixture(name))
    names.link("pairs.tsv", names.fixture("table"))
    for name in ("t5", "xlnet", "longformer", "albert"):
        names.link(name, names.fixture("model_of")(name))
    for name, family, head, settings in HEADED:
        names.link(name, names.fixture("headed")(family, head, **settings))
    prepare_checkpoints(names.desk)
    for file in ("maps.safetensors", "maps.json"):
        names.link(file, RECORDS / "maps" / file)
    for name in RECORDED:
        unpack(name, names.desk)


def even(layers: int = 1, heads: int = 1, tokens: int = 3) -> np.ndarray:
    """Return even attention."""
    return np.full((layers, heads, tokens, tokens), 1 / tokens)


def mine(score: Any = lambda attention, example: attention.max(axis=(1, 2)), **members: Any) -> Any:
    """Return a sieve that computes from attention, with some members changed."""
    usual = {"name": "mine", "needs": frozenset(), "null": lambda example: 0.0, "score": score}
    return SimpleNamespace(**usual | members)


def put(names: "Names", name: str, make: Callable[..., object], *given: Any, **options: Any) -> str:
    """Make a folder, once, and return it."""
    folder = names.made / name
    if not folder.exists():
        make(*given, **options, out=folder)
    return str(folder)


CONTRAST = Contrast(0.1, lambda example: np.eye(3, dtype=bool), lambda example: np.ones((3, 3), dtype=bool))


def with_plugins(names: "Names", act: Callable[[], object], *offers: str, code: str = "") -> object:
    """Do something while distributions are installed, each of which offers an object as a sieve."""
    modules = {*sys.modules}
    with pytest.MonkeyPatch.context() as patch:
        for offer in offers:
            name, _, value = offer.partition("=")
            own = f"plug{len(list(names.made.glob('plug*')))}"
            about = names.made / own / f"{own}-1.0.dist-info"
            about.mkdir(parents=True)
            (about.parent / f"{own}.py").write_text(f"{code}\nfound = {value}\n")
            (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {own}\nVersion: 1.0\n")
            (about / "entry_points.txt").write_text(f"[headroles.sieves]\n{name} = {own}:found\n")
            patch.syspath_prepend(about.parent)
        try:
            return act()
        finally:
            for module in {*sys.modules} - modules:
                if module.startswith("plug"):
                    del sys.modules[module]


def run_of(
    names: "Names", name: str, rules: list[Rule] | None = None, decision: Decision | None = None, **more: Any
) -> str:
    """Save a made-up label run, with changed fields of its scores and its manifest; return its folder."""
    return put(names, name, lambda out: save(labelling_of(rules, decision, **more), out))


def labelling_of(rules: list[Rule] | None = None, decision: Decision | None = None, **more: Any) -> Labelling:
    """Return a made-up label run, with changed fields of its scores and its manifest."""
    changed = {
        key: more.pop(key)
        for key in ("sieves", "examples", "units", "tokens", "values", "cells", "null")
        if key in more
    }
    own, usual = scores_by_seed(0, units=more.pop("count", 12), heads=more.pop("heads", 3))
    own = replace(own, **changed)
    chosen = decision or Decision()
    manifest = {
        "headroles": "0.1.0", "task": "QNLI", "preset": "calibrated", "statistic": "selectivity",
        "source": {"kind": "file", "name": "a.tsv", "sha256": "1"},
        "model": {"name": "tiny", "weights_sha256": "1", **plain_stack(2).described, "heads": 3},
        "counts": {"examples": len(own.examples), "units": len({*own.units})},
    }  # fmt: skip
    found = judge(own, rules or usual, chosen)
    return Labelling(own, found, chosen, manifest | more, ())


def altered(
    names: "Names",
    source: str,
    change: Callable[[dict[str, Any]], object] = lambda record: None,
    **edits: Callable[[str], str],
) -> str:
    """Return a copy of a folder of the desk with a changed manifest, and changed tables by their names."""
    folder = names.made / f"altered{len(names.altered)}"
    names.altered.append(folder)
    shutil.copytree(names.desk / source, folder)
    for name, edit in edits.items():
        file = folder / f"{name}.csv"
        file.write_text(edit(file.read_text(encoding="utf-8")), encoding="utf-8")
    hash_again(folder)
    change_manifest(folder, change)
    return str(folder)


def like(run: Labelling, **changes: Any) -> Labelling:
    """Return a run with other facts in its manifest: those of a dictionary are changed one by one."""
    manifest = dict(run.manifest)
    for name, value in changes.items():
        manifest[name] = {**manifest.get(name, {}), **value} if isinstance(value, dict) else value
    return replace(run, manifest=manifest)


def subset(names: "Names") -> str:
    """Save the recorded run of ablations with 60 of its units, and return its folder."""
    run, folder = load(names.desk / "ablate"), names.made / "subset"
    assert run.ablated is not None
    units = {unit for unit, _ in zip(dict.fromkeys(run.scores.units), range(60), strict=False)}
    chosen = np.array([unit in units for unit in run.scores.units])
    part = replace(run.ablated, sets=None)
    save(replace(run, scores=run.scores.take(chosen), ablated=part), folder)
    return str(folder)


def frame(**columns: Any) -> Any:
    """Return a table of scores of two units and two heads, with other columns; None leaves one out."""
    import pandas as pd

    usual = {"unit": ["a", "a", "b", "b"], "layer": 0, "head": [0, 1, 0, 1], "score": [0.1, 0.2, 0.3, 0.4]}
    return pd.DataFrame({name: column for name, column in (usual | columns).items() if column is not None})


def http_error(status: int) -> Exception:
    """Return the error of the hub for an answer."""
    from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

    kind = RepositoryNotFoundError if status == 404 else HfHubHTTPError
    error = kind.__new__(kind)
    error.args = ("refused",)
    answer: Any = SimpleNamespace(status_code=status)
    error.response = answer
    return error


def with_patch(act: Callable[[], object], **changes: Any) -> object:
    """Do something while attributes are changed; a dot in a name is written as two lines below."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in changes.items():
            patch.setattr(name.replace("__", "."), value)
        return act()


OTHER = ("a", "b", "c", "d")
SETTINGS = {"task": "QNLI", "data": "pairs.tsv", "model": "planted", "sieve": ["local"], "max_length": 48}


def command(words: str) -> object:
    """Run a command in this process; errors are raised."""
    return cli.main(args=shlex.split(words), standalone_mode=False)


def opened(names: "Names", model: str, **options: Any) -> Any:
    """Return a model of the desk, loaded without a loss."""
    from headroles.extraction import find_checkpoint, load

    checkpoint = find_checkpoint(str(names.desk / model), None)
    return load(checkpoint, **{"device": "cpu", "dtype": "float32", "max_length": 64} | options)


def taken_out(names: "Names", model: str, by: str, **changes: Any) -> object:
    """Take one head out of a model for one input, while attributes are changed."""
    from headroles.extraction import Ablator, Arm, tokenise
    from headroles.records import Passage

    loaded_model = opened(names, model)
    made = Ablator(loaded_model, ("representation",))
    batch = tokenise(loaded_model.tokenizer, [Passage("a", ("it rains",))], 16)
    return with_patch(lambda: made.measure(batch, ["u"], None, [Arm(by, ((0, 0),))]), **changes)


def without(module: str, act: Callable[[], object]) -> object:
    """Do something while a module cannot be imported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, module, None)
        return act()
