"""Small inputs, and the commands that are interrupted on them."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from headroles.stats import ENOUGH_FOR_NOT
from tests.faults.children import Ended, keep_warm, run_command, run_in_fork

Words = tuple[str, ...]
VERIFY: Words = ("verify", "run")
PRUNED, FRESH = 2 * ENOUGH_FOR_NOT + 10, 60
"""Inputs of the run whose model is pruned, and those on which the certificate is checked."""


@dataclass(frozen=True, slots=True)
class Case:
    """A command that is interrupted, in a folder of its own.

    Attributes:
        name: Its name in the figures.
        words: The command line; it writes below its folder, and reads the inputs at ``../../inputs``.
        before: Command lines that make what is there before.
        finds: The command that meets what a kill leaves, before the command is repeated; it must find the
            older run or the new one, whole. None where there is neither.
        sharded: Whether the command goes on shard by shard, so that a half-done new run may stand in place
            of an older one.
        workers: Processes that score, besides the command itself.
        full_page_before: Whether what is there before has the full report, so that the command's differs.
    """

    name: str
    words: Words
    before: tuple[Words, ...] = ()
    finds: Words | None = None
    sharded: bool = False
    workers: int = 1
    full_page_before: bool = False

    @property
    def going_on(self) -> Words:
        """The command line that goes on with a half-done run: it replaces nothing."""
        return tuple(word for word in self.words if word != "--overwrite")


def _line(text: str) -> Words:
    """Return the words of a command line, with the names of common inputs and options put in."""
    common = "--data $I/pairs.tsv --model $I/model --max-length 24 --limit 16"
    names = {"$TEXTS": f"--task QNLI {common}", "$SIEVES": "--sieve local --sieve delimiter"}
    names |= {"$STORED": "--shard-size 4"}
    for name, words in names.items():
        text = text.replace(name, words)
    return tuple(text.replace("$I", "../../inputs").split())


PRUNE = _line("prune $I/ablated --bound 0.5 --sizes 2 --out run")


def _runs() -> dict[str, tuple[Words, Words]]:
    """Return, for each kind of run, its command line, and that of another run whose place it takes."""
    lines = {
        "label": ("label $TEXTS $SIEVES --shard-size 4 --maps 4", "--limit 12"),
        "moments": ("label $TEXTS $SIEVES --shard-size 4 --maps 4 --keep 6", "--limit 12"),
        "surface": ("surface $TEXTS --shard-size 4", "--limit 12"),
        "cluster": ("cluster $TEXTS $SIEVES --draws 20 --maps 4 --shard-size 4", "--limit 12"),
        "probe": (
            "probe dependency trees --data $I/trees.conllu --model $I/model --relations nsubj "
            "--max-length 48 --shard-size 16",
            "--limit 12",
        ),
        "ablate": (
            "ablate --roles $I/labelled $TEXTS --by mean --by cells --groups --shard-size 4",
            "--limit 12",
        ),
        "why": ("why $I/many-labels --rotations 99 --shard-size 16", "--redeals 0"),
        "maps": ("label --attention $I/maps.safetensors $STORED $SIEVES --maps 4", "--alpha 0.2"),
        "surface maps": ("surface --attention $I/maps.safetensors $STORED", "--alpha 0.2"),
        "cluster maps": ("cluster --attention $I/maps.safetensors $STORED $SIEVES --draws 20", "--alpha 0.2"),
        "probe maps": ("probe trees --attention $I/sentences.safetensors $STORED", "--alpha 0.2"),
        "scores": ("judge --scores $I/scores.csv --margin 0.1 --low 0 --high 1", "--alpha 0.2"),
    }
    return {
        name: (_line(f"{line} --out run"), _line(f"{line} {other} --out run"))
        for name, (line, other) in lines.items()
    }


def _kind_cases(name: str, words: Words, older: Words) -> list[Case]:
    """Return the commands that write and change one kind of run."""
    sharded = words[0] != "judge"  # a table of scores is judged in one step
    return [
        Case(name, words, sharded=sharded),
        Case(f"{name} --overwrite", (*words, "--overwrite"), (older,), VERIFY, sharded),
        Case(f"judge {name}", ("judge", "run", "--alpha", "0.1"), (words,), VERIFY),
        Case(f"report {name}", ("report", "run"), (words,), VERIFY, full_page_before=True),
    ]


def _other_cases(runs: dict[str, tuple[Words, Words]]) -> list[Case]:
    """Return the commands on two runs, on maps or on old files, and those with two workers."""
    words, older = runs["label"]
    others = tuple((*words[:-1], out) for out in ("a", "b"))
    elsewhere = (*words[:-1], "b", "--data", "../../inputs/others.tsv")
    compare = _line("compare a b --out run --swaps 99")
    extract = _line("extract $I/texts.jsonl --model $I/model --max-length 48")
    maps, npz = ("--out", "maps.safetensors"), ("--out", "maps.npz")
    atlas, reverse = _line("atlas a b --out run"), _line("atlas b a --out run")
    table = ("table", "run", "--format", "csv")
    cases = [
        Case(
            "label --overwrite --alpha", (*words, "--overwrite"), ((*words, "--alpha", "0.2"),), VERIFY, True
        ),
        Case("compare", compare, others),
        Case(
            "compare --overwrite",
            (*compare, "--overwrite"),
            (*others, (*compare, "--alpha", "0.2")),
            table,
        ),
        Case("atlas", atlas, others),
        Case("atlas --overwrite", (*atlas, "--overwrite"), (*others, reverse), table),
        Case("replicate", ("replicate", "a", "b", "--out", "replication.csv"), (others[0], elsewhere)),
        Case("extract", (*extract, *maps)),
        Case("extract --overwrite", (*extract, *maps, "--overwrite"), ((*extract, *maps, "--limit", "3"),)),
        Case("extract npz", (*extract, *npz)),
        Case("extract npz --overwrite", (*extract, *npz, "--overwrite"), ((*extract, *npz, "--limit", "3"),)),
    ]
    for name, old, out in (
        ("convert maps", "attention-{}.pkl", "maps.safetensors"),
        ("convert npz", "attention-{}.pkl", "maps.npz"),
        ("convert scores", "heads-{}.json", "scores.parquet"),
    ):
        new, older = (_line(f"convert $I/{old.format(number)} --out {out}") for number in (0, 1))
        cases += [Case(name, new), Case(f"{name} --overwrite", (*new, "--overwrite"), (older,))]
    cases += _prune_cases()
    for name in ("label", "moments", "surface", "cluster", "probe", "ablate", "why", "probe maps"):
        words, older = runs[name]
        two = (*words, "--workers", "2")
        cases.append(Case(f"{name} --workers 2", two, sharded=True, workers=2))
        cases.append(Case(f"{name} -w 2 --overwrite", (*two, "--overwrite"), (older,), VERIFY, True, 2))
    return cases


def _prune_cases() -> list[Case]:
    """Return the commands that write and check a model without some of its heads."""
    older = _line("prune $I/ablated --bound 0.5 --sizes 1 --out run")
    check = _line("prune run --check --data $I/fresh.tsv")
    return [
        Case("prune", PRUNE),
        Case("prune --overwrite", (*PRUNE, "--overwrite"), (older,), VERIFY),
        Case("prune --check", check, (PRUNE,), VERIFY),
    ]


def cases() -> tuple[Case, ...]:
    """Return every command that is interrupted."""
    runs = _runs()
    kinds = [case for name, lines in runs.items() for case in _kind_cases(name, *lines)]
    return (*kinds, *_other_cases(runs))


def run_kinds() -> dict[str, Words]:
    """Return the command line that writes the folder ``run``, for each kind of run."""
    return {name: words for name, (words, _) in _runs().items()}


@dataclass(frozen=True, slots=True)
class Prepared:
    """A case whose older state and undisturbed end are known.

    Attributes:
        case: The command.
        before: Folder with what is there before the command.
        old: Bytes of every file of it, by its path; None for a folder.
        new: The same after the undisturbed command.
        changes: Changes of files that the undisturbed command makes.
    """

    case: Case
    before: Path
    old: dict[str, bytes | None]
    new: dict[str, bytes | None]
    changes: tuple[str, ...]


def prepare(case: Case, work: Path) -> Prepared:
    """Make what is there before a case, and run its command undisturbed.

    Raises:
        RuntimeError: When a command fails without being disturbed.
    """
    before = work / "before" / _slug(case.name)
    before.mkdir(parents=True)
    for words in case.before:
        _succeed(run_command(words, before, full_page=case.full_page_before), words)
    calm = work / "calm" / _slug(case.name)
    shutil.copytree(before, calm)
    ended = _succeed(run_command(case.words, calm), case.words)
    return Prepared(case, before, contents(before), contents(calm), ended.changes)


def _succeed(ended: Ended, words: Sequence[str]) -> Ended:
    """Return how a command ended, and start later forks with its modules; it must have ended well."""
    if ended.code != 0:
        raise RuntimeError(f"'{' '.join(words)}' failed without being disturbed: {ended.code} {ended.said}")
    keep_warm(ended.modules)
    return ended


def _slug(name: str) -> str:
    return name.replace(" ", "-")


def contents(folder: Path) -> dict[str, bytes | None]:
    """Return the bytes of every file below a folder by its path, hidden ones too; None for a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def differences(first: dict[str, bytes | None], second: dict[str, bytes | None]) -> list[str]:
    """Return the paths that are in one of two folders only, or differ."""
    return sorted(path for path in first.keys() | second.keys() if _at(first, path) != _at(second, path))


def _at(files: dict[str, bytes | None], path: str) -> tuple[bool, bytes | None]:
    return path in files, files.get(path)


def make_inputs(folder: Path) -> None:
    """Write the model, texts, trees and maps that all cases read, in a fork."""

    def act() -> None:
        from tests.support.planted import save_planted, write_pairs
        from tests.support.texts import old_pairs, write_pickle

        save_planted(folder / "model")
        write_pairs(folder / "pairs.tsv")
        rows = [line.split("\t") for line in (folder / "pairs.tsv").read_text().splitlines()[1:17]]
        header, *many = write_pairs(folder / "many.tsv", FRESH + PRUNED).read_text().splitlines(keepends=True)
        for name, lines in (("fresh", many[:FRESH]), ("many", many[FRESH:])):
            (folder / f"{name}.tsv").write_text("".join([header, *lines]))
        texts = [{"text": row[:2], "group": row[2]} for row in rows]
        header, *lines = (folder / "pairs.tsv").read_text().splitlines(keepends=True)
        (folder / "others.tsv").write_text("".join([header, *lines[30:]]))
        (folder / "texts.jsonl").write_text("".join(json.dumps(text) + "\n" for text in texts))
        (folder / "trees.conllu").write_text(_trees())
        for number, count in enumerate((6, 4)):
            write_pickle(folder / f"attention-{number}.pkl", old_pairs(count))
            (folder / f"heads-{number}.json").write_text(json.dumps(_scores(number)))
        lines = [
            f"u{unit},{head.replace('-', ',')},{score}"
            for head, scores in _scores(0).items()
            for unit, score in enumerate(scores)
        ]
        (folder / "scores.csv").write_text("\n".join(["unit,layer,head,score", *lines, ""]))

    folder.mkdir(parents=True)
    _succeed(run_in_fork(act, folder), ("inputs",))
    trees = "preprocess depparse trees.conllu --out sentences.jsonl"
    extract = "extract {0}.jsonl --model model --max-length 48 --precision float32 --out {1}.safetensors"
    for line in (trees, extract.format("texts", "maps"), extract.format("sentences", "sentences")):
        _succeed(run_command(line.split(), folder), line.split())
    place = folder.parent / "made" / "finished"  # where the paths of inputs are those of all cases
    place.mkdir(parents=True)
    for line in (
        "label $TEXTS $SIEVES --maps 0 --out $I/labelled",
        "label --task QNLI --data $I/many.tsv --model $I/model --max-length 24 $SIEVES --maps 0 "
        "--out $I/many-labels",
        "ablate --task QNLI --data $I/many.tsv --model $I/model --max-length 24 --out $I/ablated",
    ):
        _succeed(run_command(_line(line), place), _line(line))


def _scores(seed: int) -> dict[str, list[float]]:
    """Return scores of twelve units by head, as "layer-head": half of the heads beyond 0.5."""
    rng = np.random.default_rng(seed)
    heads = [(layer, head) for layer in range(2) for head in range(3)]
    return {
        f"{layer}-{head}": rng.uniform(0.5 * (head % 2), 0.5 + 0.5 * (head % 2), 12).round(3).tolist()
        for layer, head in heads
    }


def _trees() -> str:
    """Return sixteen documents of three sentences each, with their trees, as CoNLL-U."""
    rng, lines = np.random.default_rng(5), []
    for document in range(16):
        lines.append(f"# newdoc id = d{document}")
        for _ in range(3):
            length = int(rng.integers(4, 9))
            for place in range(1, length + 1):
                last = place == length
                word = rng.choice(["the", "cat", "dog", "house", "rain", "sat", "on", "red"])
                head = 0 if last else int(rng.choice([place + 1, length]))
                relation = "root" if last else rng.choice(["nsubj", "det", "obj"])
                lines.append(f"{place}\t{word}\t{word}\tNOUN\t_\t_\t{head}\t{relation}\t_\t_")
            lines.append("")
    return "\n".join(lines) + "\n"
