"""Valid arguments of every public function and command, and values that no caller should give."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

HUGE = "9" * 5000


@dataclass(frozen=True, slots=True)
class Function:
    """A public function and valid arguments of it.

    Attributes:
        name: Its name in the figures.
        call: The function.
        usual: Valid values of the arguments that are changed.
        cost: Roughly how many calls of the cheapest function take the time of one call.
    """

    name: str
    call: Callable[..., Any]
    usual: dict[str, tuple[Any, ...]]
    cost: int = 1


def odd_values() -> tuple[Any, ...]:
    """Return values of many types, most of which no option accepts."""
    return (
        None, True, False, -1, 0, 1, 2, 7, 2**31, 2**63, -(2**64), 10**400, 10**5000, -0.0, 0.5, 1.5, 1e-300,
        1e308, float("nan"), float("inf"), float("-inf"), "", " ", "a", "\0", "\ud800", "x\ny", "\x1b[31m",
        "\u202ea", "x" * 300, "x/" * 3000, "é" * 300 + ".py:a", HUGE, f"a,{HUGE}", "0-9999", "1-0",
        "[" * 3000,
        "s3://", "file:///nowhere", "memory://x\0", b"bytes", (), [], [None], [[]], {}, {"a": 1}, {1, 2},
        ("a", None), ["local", "local"], [1.5], range(3), object(), int, len, 1j, Decimal("0.1"),
        Path("nowhere"), Path("a\0b"), np.float32(0.5), np.int64(3), np.bool_(True), np.array([1.0, 2.0]),
        np.zeros((0, 2)), np.str_("a"), Ellipsis, NotImplemented,
    )  # fmt: skip


DECISION: dict[str, tuple[Any, ...]] = {
    "alpha": (0.05, 1e-9),
    "margin": (0.0, 0.3),
    "test": ("t", "t-skew", "wilcoxon", "sign"),
    "correction": ("holm", "fdr_by", "maxT", "none"),
    "family": ("sieve", "run", "layer"),
    "resamples": (99, 199),
    "resample_seed": (0, 3),
    "interval": ("test", "t", "bca"),
    "bayes": (True, False),
}
COMMON = DECISION | {
    "revision": (None,),
    "limit": (None, 3),
    "first": (None, 3),
    "seed": (0, 5),
    "preset": ("calibrated", "published"),
    "device": ("auto", "cpu"),
    "dtype": ("float32", "float16"),
    "batch_size": (1, 32),
    "overwrite": (False, True),
}
INPUTS = COMMON | {
    "task": ("QNLI", "SST-2", None),
    "text_a": ("question", None),
    "text_b": ("sentence", None),
    "group": ("document", None),
    "max_length": (4, 128),
    "kind": (None, "encoder", "cross"),
    "stream": (False, True),
}
SIEVES = INPUTS | {
    "sieve": ("local", ["local:2", "block"], "patterns"),
    "statistic": ("selectivity", "bias"),
    "parser": (None, "en_core_web_sm"),
    "vectors": (None, "nowhere.txt"),
    "maps": (0, 10),
}
SHARDS = SIEVES | {
    "keep": (10, 100),
    "shard_size": (1, 256),
    "workers": (1, 2),
    "threads": (None, 1),
    "engine": ("local",),
    "address": (None, "ray://x"),
    "gpus": (0.0, 0.5),
    "cache": ("none", None),
}
STOPS = {"until": (None, "decided"), "decided": (0.5, 1.0), "units_per_look": (1, 64)}


def functions(work: Path) -> tuple[Function, ...]:
    """Return every public function; those that would run a model meet data that does not exist.

    Args:
        work: Folder with the run ``finished/label/run``, which is changed.
    """
    import headroles
    from headroles.planning import study

    def on_nothing(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda **options: function(data="nowhere.tsv", model="nowhere", **options)

    run = work / "finished" / "label" / "run"
    cluster = {"divergence": ("mean", "published"), "smoothing": (0.0, 0.1), "method": ("average", "dbscan")}
    cluster |= {"clusters": (None, 3), "draws": (20, 200)}
    surface = {"gradients": (False, True), "label": (None, "x"), "mask": (0.15,), "marks": (".,",)}
    probe = {
        "probes": (["dependency"], "trees", ("coreference", "trees")),
        "layout": (None, "conllu", "gap"),
        "relations": ((), "nsubj", ["det,obj"]),
        "scheme": ("ud", "clearnlp"),
        "root": ("found", "given"),
        "max_length": (None, 64),
        "kind": (None, "encoder"),
        "stride": (None, 8),
        "classifier": ((), "attention"),
        "train": (None, "nowhere.conllu"),
        "vectors": (None, "nowhere.txt"),
        "epochs": (1, 100),
        "minutes": (None, 0.5),
    }
    ablate = {
        "roles": (None, run, "nowhere"),
        "by": ("mean", ["zero", "cells"], ["mean", "resample", "cells", "cells:matched"]),
        "outcome": ((), "loss", ["representation", "tokens"]),
        "groups": (False, True),
        "sets": (99, 999),
        "screen": (None, 3),
        "donors": (5, 1),
        "references": (200, 2),
        "label": (None, "x"),
        "mask": (0.15,),
    }
    why = {
        "folder": (run, "nowhere"),
        "rotations": (999, 99),
        "redeals": (19, 0, 5),
        "references": (200, 2),
    }
    prune = {
        "folder": (run, "nowhere"),
        "bound": (0.05, None),
        "outcome": (None, "loss", "accuracy"),
        "sizes": ((), "1-4,8", [1, 2]),
        "check": (False, True),
        "data": (None, "nowhere.tsv"),
        "label": (None, "x"),
        "alpha": (0.05,),
        "seed": (0, 5),
        "device": ("auto", "cpu"),
        "batch_size": (1, 32),
        "out": (None, "pruned"),
        "overwrite": (False, True),
    }
    subset = ("limit", "first", "seed")
    extract = {name: COMMON[name] for name in (*subset, "batch_size", "device", "dtype", "overwrite")}
    extract |= {"group": (None, "page"), "kind": (None, "decoder")}
    extract |= {"out": ("maps.npz", "m.safetensors"), "word_level": (False, True), "max_length": (8,)}
    extract |= {"file": ("nowhere.json",), "precision": ("float16", "float32")}
    view = {name: COMMON[name] for name in ("device", "dtype", "revision")}
    view |= {"text": ("It rains.",), "text_b": (None, "It pours."), "view": ("head", "model")}
    view |= {
        "layers": (None, "0,2-4", [1]),
        "heads": (None, "0-3"),
        "max_length": (16,),
        "kind": (None, "cross"),
    }
    view |= {"svg": (None, "a.svg"), "out": (None, "a.html")}
    prepared = {"file": ("nowhere.txt",), "out": ("a.jsonl",)} | {name: COMMON[name] for name in subset}
    plan: dict[str, tuple[Any, ...]] = {
        "effect": (0.3, 2), "head_count": (144,), "sieves": (1, 5), "power": (0.8,), "alpha": (0.05,),
        "correction": ("fdr_bh", "holm", "maxT"), "family": ("sieve", "run", "layer"), "share": (None, 0.1),
        "layer_count": (None, 12),
    }  # fmt: skip
    compare = {name: DECISION[name] for name in DECISION if name not in ("margin", "bayes")}
    compare |= {"dir_a": ("nowhere", run), "dir_b": ("nowhere",), "bound": (0.05,), "swaps": (0, 99)}
    tables = {"name": (None, "roles", "heads", "findings"), "format": ("markdown", "latex", "csv")}
    return (
        Function("label", on_nothing(headroles.label), SHARDS | STOPS, 2),
        Function("cluster", on_nothing(headroles.cluster), SIEVES | cluster, 2),
        Function("surface", on_nothing(headroles.surface), INPUTS | surface, 2),
        Function("probe", on_nothing(headroles.probe), COMMON | probe, 2),
        Function("ablate", on_nothing(headroles.ablate), INPUTS | ablate, 2),
        Function("why", on_nothing(headroles.why), INPUTS | why, 2),
        Function("prune", headroles.prune, prune, 4),
        Function("extract", headroles.extract, extract),
        Function("view", lambda **options: headroles.view(model="nowhere", **options), view),
        Function(
            "preprocess_depparse", headroles.preprocess_depparse, prepared | {"layout": (None, "words")}
        ),
        Function("preprocess_unlabeled", headroles.preprocess_unlabeled, prepared | {"max_length": (16,)}),
        Function("study", study, plan, 4),
        Function("judge_again", lambda **options: headroles.judge_again(run, **options), DECISION, 60),
        Function("compare", headroles.compare, compare, 4),
        Function("table", lambda **options: headroles.table(run, **options), tables, 40),
        Function("figures", lambda **options: headroles.figures("nowhere", **options), {"form": ("svg",)}),
        Function("score", _score, _arrays() | {"sieves": (None, "local", ["block", "punctuation"])}, 2),
        Function(
            "surface_of", headroles.surface_of, _arrays() | {"marks": (".,",), "smoothing": (0.0, 0.1)}, 2
        ),
        Function("the command line", _command_line, {"words": tuple(_COMMANDS)}, 4),
    )


def _arrays() -> dict[str, tuple[Any, ...]]:
    """Return attention over four tokens that is valid, and some that is not, with its example."""
    from headroles import Example

    even = np.full((1, 2, 4, 4), 0.25)
    odd = [even * scale for scale in (np.nan, 2.0, -1.0, np.inf)] + [
        even[0],
        even[..., :3],
        even.astype("c16"),
    ]
    causal = np.tril(np.ones((4, 4), dtype=bool))
    example = Example("x", ("[CLS]", "it", "rains", "[SEP]"), segment=np.array([-1, 0, 0, -1]))
    return {
        "attention": (even, even, even, even.astype(np.float32), *odd),
        "example": (example,),
        "visible": (None, causal, causal[:2], causal.astype(float)),
    }


def _score(**options: Any) -> Any:
    import headroles

    return headroles.score(**options)


_COMMANDS = (
    ("plan", "--effect", "0.3", "--heads", "144", "--correction", "holm", "--power", "0.8"),
    (
        "label",
        "--task",
        "QNLI",
        "--data",
        "nowhere.tsv",
        "--alpha",
        "0.1",
        "--sieve",
        "local:4",
        "--limit",
        "3",
    ),
    ("probe", "dependency", "--data", "nowhere.conllu", "--relations", "nsubj,det", "--max-length", "64"),
    ("surface", "--data", "nowhere.csv", "--text-a", "a", "--marks", ".,", "--margin", "0.1"),
    ("cluster", "--data", "nowhere.csv", "--text-a", "a", "--draws", "20", "--clusters", "3"),
    ("ablate", "--task", "QNLI", "--data", "nowhere.tsv", "--by", "zero", "--screen", "3", "--margin", "0.1"),
    ("ablate", "--roles", "nowhere", "--by", "mean", "--by", "cells", "--groups", "--sets", "99"),
    ("why", "nowhere", "--rotations", "99", "--redeals", "0", "--task", "QNLI"),
    ("prune", "nowhere", "--bound", "0.1", "--sizes", "1-4,8", "--outcome", "accuracy", "--out", "pruned"),
    ("prune", "nowhere", "--check", "--data", "nowhere.tsv", "--label", "x"),
    ("table", "nowhere", "--name", "roles", "--format", "latex"),
    ("report", "nowhere", "--figures", "svg", "--width", "89"),
    ("judge", "nowhere", "--margin", "0.1", "--interval", "bca"),
    ("compare", "nowhere", "elsewhere", "--bound", "0.1", "--swaps", "99"),
    ("atlas", "nowhere", "elsewhere", "--overwrite"),
    ("verify", "nowhere", "--oracles"),
    ("extract", "nowhere.json", "--out", "a.npz", "--max-length", "12"),
    ("view", "It rains.", "It pours.", "--layers", "0-1", "--model", "nowhere", "--svg", "a.svg"),
    ("preprocess", "depparse", "nowhere.conllu", "--out", "a.jsonl", "--limit", "3"),
    ("sieves",),
    ("tasks",),
)


def _command_line(words: Any) -> Any:
    """Run a command; words that no shell can pass on are left out."""
    import click

    from headroles.cli.main import cli

    passed = [str(word) for word in words if "\0" not in str(word)] if isinstance(words, tuple | list) else []
    try:
        return cli.main(passed, standalone_mode=False, prog_name="headroles")
    except (click.ClickException, click.exceptions.Exit):
        return None
