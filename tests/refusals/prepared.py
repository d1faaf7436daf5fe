"""Objects, files and folders of refusals of options, commands, records and statistics."""

import json
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from headroles import (
    Contrast,
    Example,
    Labelling,
    MaskSieve,
    Viewed,
    atlas,
    compare,
    label,
    load,
    prune,
    save,
    share,
    view,
)  # fmt: skip
from headroles.cli.main import cli
from headroles.records import Decision, Divergence, Moments, Rule, Scores, moments_of
from headroles.stats import judge, select_examples
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
    parts = usual | members
    return type(
        "Mine", (), {key: staticmethod(part) if callable(part) else part for key, part in parts.items()}
    )()


def mask(cells: Any = lambda example: np.eye(example.size, dtype=bool), **options: Any) -> MaskSieve:
    """Return a sieve that counts cells."""
    return MaskSieve("mine", cells, **options)


NUMBERS = count()


def number() -> float:
    """Return another number at every call."""
    return float(next(NUMBERS))


CONTRAST = Contrast(0.1, lambda example: np.eye(3, dtype=bool), lambda example: np.ones((3, 3), dtype=bool))


def with_plugins(names: "Names", act: Callable[[], object], *offers: str, code: str = "") -> object:
    """Do something while distributions are installed, each of which offers an object as a sieve."""
    with _plugins(names, offers, code):
        return act()


@contextmanager
def _plugins(names: "Names", offers: tuple[str, ...], code: str) -> Iterator[None]:
    before, modules = [*sys.path], {*sys.modules}
    for offer in offers:
        name, _, value = offer.partition("=")
        number = len(list(names.made.glob("plug*")))
        site = names.made / f"plug{number}"
        about = site / f"plug{number}-1.0.dist-info"
        about.mkdir(parents=True)
        (site / f"plug{number}.py").write_text(f"{code}\nfound = {value}\n")
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: plug{number}\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(f"[headroles.sieves]\n{name} = plug{number}:found\n")
        sys.path.insert(0, str(site))
    try:
        yield
    finally:
        sys.path[:] = before
        for module in {*sys.modules} - modules:
            if module.startswith("plug"):
                del sys.modules[module]


def scores(names: "Names") -> Scores:
    """Return made-up scores of the columns s0 to s3."""
    made: Scores = scores_by_seed(0, units=12, heads=3)[0]
    return made


def rules(names: "Names") -> list[Rule]:
    """Return their rules: s0 has the contrast s1."""
    made: list[Rule] = scores_by_seed(0, units=12, heads=3)[1]
    return made


def run_of(
    names: "Names", name: str, rules: list[Rule] | None = None, decision: Decision | None = None, **more: Any
) -> str:
    """Save a made-up label run, with changed fields of its scores and its manifest; return its folder."""
    folder = names.made / name
    if not folder.exists():
        save(labelling_of(names, rules, decision, **more), folder)
    return str(folder)


def labelling_of(
    names: "Names", rules: list[Rule] | None = None, decision: Decision | None = None, **more: Any
) -> Labelling:
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
        "model": {"name": "tiny", "weights_sha256": "1", "layers": 2, "heads": 3},
        "counts": {"examples": len(own.examples), "units": len({*own.units})},
    }  # fmt: skip
    found = judge(own, rules or usual, chosen)
    return Labelling(own, found, chosen, manifest | more, ())


def labelling(names: "Names") -> Labelling:
    """Return a made-up label run."""
    return labelling_of(names)


def stated(names: "Names") -> list[Rule]:
    """Return rules that state bounds which scores break."""
    return [replace(rule, stated_low=-0.01, stated_high=0.01) for rule in names["rules"]]


def divergence(names: "Names") -> Divergence:
    """Return made-up divergences of two layers of two heads."""
    sums = np.array([[0.1, 0.5, 0.5, 0.5, 0.5, 0.1], [0.2, 0.6, 0.5, 0.5, 0.5, 0.1]])
    return Divergence(2, 2, sums, np.ones(2), np.arange(2))


def moments(names: "Names") -> Moments:
    """Return the sums of the first shard of the made-up scores."""
    return moments_of(names["scores"], names["rules"], 0)


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


def loaded(names: "Names") -> Labelling:
    """Return the finished run of the planted model, whose inputs can be read again."""
    return load(names.desk / "finished")


def like(run: Labelling, **changes: Any) -> Labelling:
    """Return a run with other facts in its manifest: those of a dictionary are changed one by one."""
    manifest = dict(run.manifest)
    for name, value in changes.items():
        manifest[name] = {**manifest.get(name, {}), **value} if isinstance(value, dict) else value
    return replace(run, manifest=manifest)


def viewed(names: "Names") -> Viewed:
    """Return a view of plain attention."""
    return view(even(2, 2), ["a", "b", "c"])


def subset(names: "Names") -> str:
    """Save the recorded run of ablations with 60 of its units, and return its folder."""
    run, folder = load(names.desk / "ablate"), names.made / "subset"
    assert run.ablated is not None
    units = {unit for unit, _ in zip(dict.fromkeys(run.scores.units), range(60), strict=False)}
    chosen = np.array([unit in units for unit in run.scores.units])
    part = replace(run.ablated, sets=None)
    save(replace(run, scores=select_examples(run.scores, chosen), ablated=part), folder)
    return str(folder)


def none_held(names: "Names") -> str:
    """Return the folder of a label run in which no head holds a role."""
    texts: dict[str, Any] = {"data": "pairs.tsv", "model": "planted", "max_length": 48, "limit": 8}
    label("QNLI", **texts, sieve="duplicate", margin=0.9, maps=0, out=names.made / "none")
    return str(names.made / "none")


def pruned(names: "Names", bound: float, outcome: str | None) -> str:
    """Prune the recorded run of ablations by one head, once, and return the folder."""
    folder = names.made / f"pruned-{bound}-{outcome}"
    if not folder.exists():
        prune("ablate", bound=bound, outcome=outcome, sizes=[1], out=folder)
    return str(folder)


def frame(**columns: Any) -> Any:
    """Return a table of scores of two units and two heads, with other columns; None leaves one out."""
    import pandas as pd

    usual = {"unit": ["a", "a", "b", "b"], "layer": 0, "head": [0, 1, 0, 1], "score": [0.1, 0.2, 0.3, 0.4]}
    return pd.DataFrame({name: column for name, column in (usual | columns).items() if column is not None})


def raiser(error: Exception) -> Any:
    """Return a function that raises an error."""

    def fail(*given: object, **options: object) -> None:
        raise error

    return fail


def http_error(status: int) -> Exception:
    """Return the error of the hub for an answer."""
    from types import SimpleNamespace

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


def uploaded(names: "Names", error: Exception) -> object:
    """Share the finished run with a hub that fails."""
    changes = {
        "huggingface_hub__get_token": lambda: "token",
        "huggingface_hub__HfApi__create_repo": raiser(error),
    }
    return with_patch(lambda: share(names.desk / "finished", to="me/run"), **changes)


def invalid_name() -> Exception:
    """Return the error of the hub's library for a name."""
    from huggingface_hub.errors import HFValidationError

    return HFValidationError("bad")


OTHER = ("a", "b", "c", "d")
SETTINGS = {"task": "QNLI", "data": "pairs.tsv", "model": "planted", "sieve": ["local"], "max_length": 48}


def other_rules(names: "Names") -> list[Rule]:
    """Return rules of four other columns."""
    return [Rule(name, low=-1.0, high=1.0) for name in OTHER]


def quiet_rules(names: "Names") -> list[Rule]:
    """Return rules of which none is a role."""
    return [replace(rule, role=False, contrast="") for rule in names["rules"]]


def network(names: "Names") -> Any:
    """Return a loaded model, as an object."""
    from transformers import AutoModel

    return AutoModel.from_pretrained(names.desk / "planted")


def wide(names: "Names") -> list[Rule]:
    """Return rules that state bounds."""
    return [replace(rule, stated_low=-1.0, stated_high=1.0) for rule in names["rules"]]


def origins(names: "Names") -> Any:
    """Return the part of the recorded run that asks what makes heads attend."""
    return load(names.desk / "why").origins


def tokenizer(names: "Names") -> Any:
    """Return a loaded tokenizer, as an object."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(names.desk / "planted")


def unstarted(names: "Names") -> str:
    """Return an encoder-decoder whose decoder nothing starts."""
    folder = names.made / "unstarted"
    shutil.copytree(names.fixture("model_of")("t5"), folder)
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(settings | {"pad_token_id": None}), encoding="utf-8")
    return str(folder)


def headless(names: "Names") -> Callable[[dict[str, Any]], None]:
    """Return a change of a manifest: the run of ablations was one of the planted model, which has no loss."""

    def change(record: dict[str, Any]) -> None:
        record["settings"]["model"] = "planted"
        record["model"]["weights_sha256"] = names["loaded"].manifest["model"]["weights_sha256"]

    return change


def compared(names: "Names") -> str:
    """Return the folder of a comparison."""
    compare("label", "label-b", swaps=0, out=names.made / "compared")
    return str(names.made / "compared")


def joined(names: "Names") -> str:
    """Return the folder of an atlas."""
    atlas(["label", "label-b"], out=names.made / "joined")
    return str(names.made / "joined")


def command(words: str) -> object:
    """Run a command in this process; errors are raised."""
    return cli.main(args=shlex.split(words), standalone_mode=False)


def opened(names: "Names", model: str, **options: Any) -> Any:
    """Return a model of the desk, loaded without a loss."""
    from headroles.extraction import find_checkpoint, load

    checkpoint = find_checkpoint(str(names.desk / model), None)
    return load(checkpoint, **{"device": "cpu", "dtype": "float32", "max_length": 64} | options)


def ablator(names: "Names", model: str, outcome: str) -> Any:
    """Return what takes heads out of a model of the desk."""
    from headroles.extraction import Ablator

    return Ablator(opened(names, model), (outcome,))


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


def no_chrome() -> Exception:
    """Return the error of kaleido where there is no browser."""
    from kaleido.errors import ChromeNotFoundError

    error: Exception = ChromeNotFoundError()
    return error


def service_error() -> Exception:
    """Return an error of a service, which is no error of a system."""
    denied: type[Exception] = type("Denied", (Exception,), {"__module__": "botocore.exceptions"})
    return denied("denied")


def stored(fail: Any) -> object:
    """Write a file at an address whose system fails."""
    from headroles.storage import place_of

    act = place_of("memory://refusals/run").write
    return with_patch(
        lambda: act("a", b""), fsspec__implementations__memory__MemoryFileSystem__pipe_file=fail
    )
