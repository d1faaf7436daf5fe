"""Small inputs, and the commands that are interrupted on them."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.faults.children import Ended, keep_warm, run_command, run_in_fork

Words = tuple[str, ...]
VERIFY: Words = ("verify", "run")
PRUNED, FRESH = 160, 60  # a certificate needs 75 units, one half of them
"""Inputs of the run whose model is pruned, and those on which the certificate is checked."""


@dataclass(frozen=True, slots=True)
class Case:
    """A command that is interrupted, in a folder of its own.

    Other command lines make what is there ``before``, with the full report where the command's must differ;
    ``finds`` is the command that must find the older result or the new one, whole, after a kill; where it has
    no words, the files alone are looked at. Where a command is ``sharded``, a half-done new run may replace
    an older one.
    """

    name: str
    words: Words
    before: tuple[Words, ...] = ()
    finds: Words | None = None
    sharded: bool = False
    workers: int = 1
    full_page_before: bool = False


def _line(text: str) -> Words:
    """Return the words of a command line, with the names of common inputs and options put in."""
    common = "--data $I/pairs.tsv --model $I/model --max-length 24 --limit 16"
    names = {"$TEXTS": f"--task QNLI {common}", "$SIEVES": "--sieve local --sieve delimiter"}
    for name, words in names.items():
        text = text.replace(name, words)
    return tuple(text.replace("$I", "../../inputs").split())


PRUNING = "prune $I/ablated --bound 0.5 --sizes {} --out run"
PRUNE = _line(PRUNING.format(2))


def _runs() -> dict[str, tuple[Words, Words]]:
    """Return, for each kind of run, its command line, and that of another run whose place it takes."""
    lines = {
        "label": "label $TEXTS $SIEVES --maps 4 | --limit 12",
        "moments": "label $TEXTS $SIEVES --maps 4 --keep 6 | --limit 12",
        "surface": "surface $TEXTS | --limit 12",
        "cluster": "cluster $TEXTS $SIEVES --draws 20 --maps 4 | --limit 12",
        "probe": "probe dependency trees --data $I/trees.conllu --model $I/model --relations nsubj "
        "--max-length 48 | --limit 12",
        "ablate": "ablate --roles $I/labelled $TEXTS --by mean --by cells --groups | --limit 12",
        "why": "why $I/many-labels --rotations 99 --shard-size 16 | --redeals 0",
        "maps": "label --attention $I/maps.safetensors $SIEVES --maps 4 | --alpha 0.2",
        "scores": "judge --scores $I/scores.csv --margin 0.1 --low 0 --high 1 | --alpha 0.2",
    }
    runs = {}
    for name, line in lines.items():
        words, other = line.split(" | ")
        sizes = {"scores": "", "why": "", "probe": "--shard-size 16"}.get(name, "--shard-size 4")
        runs[name] = (_line(f"{words} {sizes} --out run"), _line(f"{words} {sizes} {other} --out run"))
    return runs


def _pair(
    name: str,
    words: Words,
    older: Words,
    finds: Words | None = None,
    before: tuple[Words, ...] = (),
    **how: Any,
) -> list[Case]:
    """Return a command that writes something new, and one that replaces what another command made."""
    over = Case(f"{name} --overwrite", (*words, "--overwrite"), (*before, older), finds, **how)
    return [Case(name, words, before, **how), over]


def cases() -> tuple[Case, ...]:
    """Return every command that is interrupted."""
    runs, found = _runs(), list[Case]()
    for name, (words, older) in runs.items():
        sharded = words[0] != "judge"  # a table of scores is judged in one step
        found += _pair(name, words, older, VERIFY, sharded=sharded)
        found.append(Case(f"judge {name}", ("judge", "run", "--alpha", "0.1"), (words,), VERIFY))
        found.append(
            Case(f"report {name}", ("show", "run", "--page"), (words,), VERIFY, full_page_before=True)
        )
        if name not in ("maps", "scores"):
            two = (*words, "--workers", "2")
            found += _pair(f"{name} -w 2", two, older, VERIFY, sharded=True, workers=2)
    words, _ = runs["label"]
    one, two = ((*words[:-1], out) for out in ("a", "b"))
    elsewhere = (*two, "--data", "../../inputs/others.tsv")
    found.append(
        Case(
            "replicate",
            ("compare", "a", "b", "--replicate", "--out", "replication.csv"),
            (one, elsewhere),
            (),
        )
    )
    table = ("show", "run", "--table", "--format", "csv")
    for name, new, other in (
        ("compare", "compare a b --swaps 99", "compare a b --swaps 0"),
        ("atlas", "atlas a b", "atlas b a"),
    ):
        found += _pair(name, _line(f"{new} --out run"), _line(f"{other} --out run"), table, (one, two))
    for name, new, other in (
        ("share", "share a --out card.md", "share b --out card.md"),
        (
            "trees",
            "convert trees $I/trees.conllu --out t.jsonl",
            "convert trees $I/trees.conllu --limit 1 --out t.jsonl",
        ),
        (
            "pairs",
            "convert pairs $I/running.txt --model $I/model --max-length 16 --out p.jsonl",
            "convert pairs $I/running.txt --model $I/model --max-length 12 --out p.jsonl",
        ),
    ):
        found += _pair(name, _line(new), _line(other), (), (one, elsewhere) if name == "share" else ())
    extract = "extract $I/texts.jsonl --model $I/model --max-length 48 --out "
    for name, new, other in (
        ("extract", f"{extract} maps.safetensors", f"{extract} maps.safetensors --limit 3"),
        (
            "convert maps",
            *(f"convert old $I/attention-{number}.pkl --out maps.safetensors" for number in (0, 1)),
        ),
    ):
        found += _pair(name, _line(new), _line(other), ("label", "--attention", "maps.safetensors"))
    found += _pair("prune", PRUNE, _line(PRUNING.format(1)), VERIFY)
    return (*found, Case("prune --check", _line("prune run --check --data $I/fresh.tsv"), (PRUNE,), VERIFY))


def run_kinds() -> dict[str, Words]:
    """Return the command line that writes the folder ``run``, for each kind of run."""
    return {name: words for name, (words, _) in _runs().items()}


Files = dict[str, bytes | None]
"""Bytes of the files of a folder by their paths, hidden ones too; None for a folder."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A case with the folder before it, the files of it before and after, and the changes it makes."""

    case: Case
    before: Path
    old: Files
    new: Files
    changes: tuple[str, ...]


def prepare(case: Case, work: Path) -> Prepared:
    """Make what is there before a command, and run the command without disturbing it."""
    before, calm = (work / kind / case.name.replace(" ", "-") for kind in ("before", "calm"))
    before.mkdir(parents=True)
    for words in case.before:
        succeed(words, before, full_page=case.full_page_before)
    shutil.copytree(before, calm)
    ended = succeed(case.words, calm)
    return Prepared(case, before, contents(before), contents(calm), ended.changes)


def succeed(words: Words, where: Path, *, full_page: bool = False) -> Ended:
    """Run a command that must end well, and start later forks with its modules."""
    ended = run_command(words, where, full_page=full_page)
    if ended.code != 0:
        raise RuntimeError(f"'{' '.join(words)}' failed without being disturbed: {ended.code} {ended.said}")
    keep_warm(ended.modules)
    return ended


def contents(folder: Path) -> Files:
    """Return the files below a folder, and the folders."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def differences(first: Files, second: Files) -> list[str]:
    """Return the paths that are in one of two folders only, or differ."""
    paths = first.keys() | second.keys()
    return sorted(path for path in paths if first.get(path, False) != second.get(path, False))


def make_inputs(folder: Path) -> None:
    """Write the model, texts, trees and maps that all cases read, in a fork."""

    def act() -> None:
        from tests.contract.inputs import treebank_text
        from tests.support.planted import save_planted, write_pairs
        from tests.support.texts import old_pairs, write_pickle

        save_planted(folder / "model")
        write_pairs(folder / "pairs.tsv")
        header, *pairs = (folder / "pairs.tsv").read_text().splitlines(keepends=True)
        _, *many = write_pairs(folder / "many.tsv", FRESH + PRUNED).read_text().splitlines(keepends=True)
        for name, lines in (("others", pairs[30:]), ("fresh", many[:FRESH]), ("many", many[FRESH:])):
            (folder / f"{name}.tsv").write_text("".join([header, *lines]))
        rows = [line.rstrip("\n").split("\t") for line in pairs[:16]]
        texts = [json.dumps({"text": row[:2], "group": row[2]}) for row in rows]
        (folder / "texts.jsonl").write_text("\n".join([*texts, ""]))
        (folder / "running.txt").write_text("".join(f"{row[0]} {row[1]}\n" for row in rows))
        (folder / "trees.conllu").write_text(treebank_text(16, seed=5))
        for number, count in enumerate((6, 4)):
            write_pickle(folder / f"attention-{number}.pkl", old_pairs(count))
        chance = np.random.default_rng(0)
        lines = [  # half of the heads beyond 0.5
            f"u{unit},{layer},{head},{chance.uniform(0.5 * (head % 2), 0.5 + 0.5 * (head % 2)):.3f}"
            for layer, head, unit in np.ndindex(2, 3, 24)
        ]
        (folder / "scores.csv").write_text("\n".join(["unit,layer,head,score", *lines, ""]))

    folder.mkdir(parents=True)
    if run_in_fork(act, folder).code != 0:
        raise RuntimeError("the inputs of the commands could not be made")
    extract = "extract texts.jsonl --model model --max-length 48 --precision float32 --out maps.safetensors"
    succeed(tuple(extract.split()), folder)
    place = folder.parent / "made" / "finished"  # where the paths of inputs are those of all cases
    place.mkdir(parents=True)
    for line in (
        "label $TEXTS $SIEVES --maps 0 --out $I/labelled",
        "label --task QNLI --data $I/many.tsv --model $I/model --max-length 24 $SIEVES --maps 0 "
        "--out $I/many-labels",
        "ablate --task QNLI --data $I/many.tsv --model $I/model --max-length 24 --out $I/ablated",
    ):
        succeed(_line(line), place)
