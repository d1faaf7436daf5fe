"""Public functions and commands with their own arguments, and values that no caller should give."""

import inspect
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

HUGE = "9" * 5000


@dataclass(frozen=True, slots=True)
class Function:
    """A public function.

    Attributes:
        name: Its name in the figures.
        call: The function.
        usual: Valid values of the arguments that are changed.
        needed: Arguments without which the function does not begin.
        cost: Roughly how many calls of the cheapest function take the time of one call.
    """

    name: str
    call: Callable[..., Any]
    usual: dict[str, tuple[Any, ...]]
    needed: tuple[str, ...] = ()
    cost: int = 1


def odd_values() -> tuple[Any, ...]:
    """Return values of many types, most of which no option accepts."""
    return (
        None, True, False, -1, 0, 1, 2, 7, 2**31, 2**63, -(2**64), 10**400, 10**5000, -0.0, 0.5, 1.5, 1e-300,
        1e308, float("nan"), float("inf"), float("-inf"), "", " ", "a", "\0", "\ud800", "x\ny", "\x1b[31m",
        "\u202ea", "x" * 300, "x/" * 3000, "é" * 300 + ".py:a", HUGE, f"a,{HUGE}", "0-9999", "1-0",
        "[" * 3000, "s3://", "file:///nowhere", "memory://x\0", b"bytes", (), [], [None], [[]], {}, {"a": 1},
        {1, 2}, ("a", None), ["local", "local"], [1.5], range(3), object(), int, len, 1j, Decimal("0.1"),
        Path("nowhere"), Path("a\0b"), np.float32(0.5), np.int64(3), np.bool_(True), np.array([1.0, 2.0]),
        np.zeros((0, 2)), np.str_("a"), Ellipsis, NotImplemented,
    )  # fmt: skip


VALID: dict[str, tuple[Any, ...]] = {
    "alpha": (0.05, 1e-9), "margin": (0.0, 0.3), "test": ("t", "t-skew", "wilcoxon", "sign"),
    "correction": ("holm", "fdr_by", "maxT", "none"), "family": ("sieve", "run", "layer"), "limit": (None, 3),
    "interval": ("test", "t", "bca"), "preset": ("calibrated", "published"), "task": ("QNLI", "SST-2", None),
    "text_a": ("question", None), "kind": (None, "encoder", "cross", "decoder"), "max_length": (4, 128),
    "sieve": ("local", ["local:2", "block"], "patterns"), "statistic": ("selectivity", "bias"),
    "until": (None, "decided"), "method": ("average", "dbscan"), "relations": ((), "nsubj", ["det,obj"]),
    "by": ("mean", ["zero", "cells"]), "outcome": ((), "loss", ["representation", "tokens"], "accuracy"),
    "sizes": ((), "1-4,8", [1, 2]), "layers": (None, "0,2-4", [1]), "format": ("markdown", "latex", "csv"),
    "name": (None, "roles", "heads", "findings"), "form": ("svg",), "word_level": (False, True),
}  # fmt: skip
"""Values beside the default of arguments that choose among ways."""
LEFT = frozenset(
    {"progress", "watch", "announce", "data", "model", "tokenizer", "attention", "workers", "engine"}
)
"""Arguments that are never changed: they would call something, or start a process."""


@dataclass(slots=True)
class Called:
    """How a function is called.

    Attributes:
        fixed: Arguments that are the same in every call.
        needed: Arguments that are given in every call, and their values.
        cost: As in ``Function``.
    """

    fixed: dict[str, Any] = field(default_factory=dict)
    needed: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    cost: int = 1


def functions(work: Path) -> tuple[Function, ...]:
    """Return public functions; those that would run a model meet data that does not exist.

    Args:
        work: Folder with the run ``finished/label/run``, which is changed.
    """
    import headroles

    run, nothing = work / "finished" / "label" / "run", {"data": "nowhere.tsv", "model": "nowhere"}
    arrays = {"attention": attentions(), "example": (example(),)}
    files: dict[str, tuple[Any, ...]] = {"file": ("nowhere.json",), "out": ("maps.npz", "a.jsonl")}
    called = {
        **{name: Called(nothing, cost=2) for name in ("label", "cluster", "surface", "ablate")},
        "probe": Called(nothing, {"probes": (["dependency"], "trees", ("coreference", "trees"))}, 2),
        "why": Called(nothing, {"folder": (run, "nowhere")}, 2),
        "prune": Called({}, {"folder": (run, "nowhere")}, 4),
        "extract": Called({"model": "nowhere"}, files),
        "view": Called({"model": "nowhere"}, {"text": ("It rains.",)}),
        "preprocess_depparse": Called({}, files),
        "preprocess_unlabeled": Called({}, files),
        "judge_again": Called({"folder": run}, cost=60),
        "compare": Called({}, {"dir_a": ("nowhere", run), "dir_b": ("nowhere",)}, 4),
        "table": Called({"folder": run}, cost=40),
        "figures": Called({"folder": "nowhere"}),
        "score": Called({}, arrays, 2),
        "surface_of": Called({}, arrays, 2),
    }
    made = [describe(name, getattr(headroles, name), how) for name, how in called.items()]
    return (*made, Function("the command line", command_line, {"words": COMMANDS}, ("words",), 4))


def describe(name: str, function: Callable[..., Any], how: Called) -> Function:
    """Return a function with the arguments of its signature."""
    usual: dict[str, tuple[Any, ...]] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name not in LEFT | how.fixed.keys() and parameter.kind is not parameter.VAR_KEYWORD:
            default = () if parameter.default is parameter.empty else (parameter.default,)
            usual[parameter.name] = how.needed.get(parameter.name, (*default, *VALID.get(parameter.name, ())))
    return Function(
        name, lambda **given: function(**how.fixed, **given), usual | how.needed, (*how.needed,), how.cost
    )


def attentions() -> tuple[Any, ...]:
    """Return attention over four tokens that is valid, and some that is not."""
    even = np.full((1, 2, 4, 4), 0.25)
    odd = [even * scale for scale in (np.nan, 2.0, -1.0, np.inf)]
    return (even, even, even, even.astype(np.float32), *odd, even[0], even[..., :3], even.astype("c16"))


def example() -> Any:
    """Return an example of four tokens."""
    from headroles import Example

    return Example("x", ("[CLS]", "it", "rains", "[SEP]"), segment=np.array([-1, 0, 0, -1]))


def mutate_arguments(function: Function, chance: random.Random) -> dict[str, Any]:
    """Return arguments of a function: some usual ones, and one to three odd ones; an example stays one."""
    usual, values = function.usual, odd_values()
    names = {*function.needed, *(name for name in usual if usual[name] and chance.random() < 0.15)}
    given = {name: chance.choice(usual[name]) for name in sorted(names)}
    changeable = sorted({*usual} - {"example"})
    for name in chance.sample(changeable, min(len(changeable), chance.choice((1, 1, 2, 3)))):
        if name == "words":
            words = [*given[name]]
            place = chance.randrange(len(words))
            odd = chance.choice([value for value in values if isinstance(value, str | int | float)])
            words[place : place + chance.choice((0, 1, 1))] = [f"{odd:#x}" if isinstance(odd, int) else odd]
            given[name] = tuple(words)
        else:
            given[name] = chance.choice((*values, *chance.choice([*filter(None, usual.values())])))
    return given


COMMANDS = tuple(
    tuple(line.split())
    for line in """
plan --effect 0.3 --heads 144 --correction holm --power 0.8
label --task QNLI --data nowhere.tsv --alpha 0.1 --sieve local:4 --limit 3
probe dependency --data nowhere.conllu --relations nsubj,det --max-length 64
surface --data nowhere.csv --text-a a --marks ., --margin 0.1
cluster --data nowhere.csv --text-a a --draws 20 --clusters 3
ablate --task QNLI --data nowhere.tsv --by zero --screen 3 --margin 0.1
ablate --roles nowhere --by mean --by cells --groups --sets 99
why nowhere --rotations 99 --redeals 0 --task QNLI
prune nowhere --bound 0.1 --sizes 1-4,8 --outcome accuracy --out pruned
prune nowhere --check --data nowhere.tsv --label x
table nowhere --name roles --format latex
report nowhere --figures svg --width 89
judge nowhere --margin 0.1 --interval bca
compare nowhere elsewhere --bound 0.1 --swaps 99
atlas nowhere elsewhere --overwrite
verify nowhere --oracles
extract nowhere.json --out a.npz --max-length 12
view It_rains. It_pours. --layers 0-1 --model nowhere --svg a.svg
preprocess depparse nowhere.conllu --out a.jsonl --limit 3
sieves
tasks
""".strip().splitlines()
)


def command_line(words: Any) -> Any:
    """Run a command; words that no shell can pass on are left out."""
    import click

    from headroles.cli.main import cli

    passed = [str(word) for word in words if "\0" not in str(word)] if isinstance(words, tuple | list) else []
    try:
        return cli.main(passed, standalone_mode=False, prog_name="headroles")
    except (click.ClickException, click.exceptions.Exit):
        return None
