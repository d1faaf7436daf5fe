"""Make five atlases with one command: tasks, samples, trees, another model, a training.

    python examples/atlas/make.py --shared ../shared --out runs/atlas

Every run is made once, and kept in ``--out``: a second call goes on where the first one stopped. A part
without its data is skipped, and the reason is printed.
"""

import argparse
import gzip
import importlib.util
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType

import numpy as np

import headroles
from headroles import Atlas
from headroles.records.atlas.across import TRENDS
from headroles.reports.kinds.atlas import answer_of
from headroles.tasks import TASKS

SAMPLES = ("a", "b")
SPOKEN = ("conversation", "court", "interview", "podcast", "speech", "vlog")
"""Genres of GUM that were spoken; all others were written."""
STORY_SIEVES = ("local", "previous", "self", "first", "syntactic", "syntactic:nsubj", "syntactic:obj")
"""Roles that an encoder of pairs and a decoder can both hold."""
FINETUNE = Path(__file__).parents[1] / "finetune-mrpc" / "finetune.py"
TRAINING = ("--epochs", "3", "--learning-rate", "1e-4", "--checkpoints", "5")


class Missing(Exception):
    """Data that are missing; the message names them."""


class Maker:
    """Makes runs and atlases in one folder."""

    def __init__(self, shared: Path, out: Path, limit: int, pairs: int, model: str | None = None) -> None:
        """Take folders and sizes.

        Args:
            shared: Folder with ``data`` and ``models``, laid out as README.md says.
            out: Folder of data, models, runs and atlases.
            limit: Inputs of a run.
            pairs: Pairs that the fine-tuning learns.
            model: The encoder; None for the embedded one.
        """
        self.shared, self.out, self.limit, self.pairs, self.model = shared, out, limit, pairs, model
        for name in ("data", "runs", "atlas"):
            (out / name).mkdir(parents=True, exist_ok=True)

    def file(self, name: str) -> Path:
        """Return a file or folder below ``--shared``.

        Raises:
            Missing: When it is not there.
        """
        path = self.shared / name
        if not path.exists():
            raise Missing(f"'{path}' is not there; --shared names the folder that holds {name}")
        return path

    def run(self, name: str, task: str | None = None, **options: object) -> Path:
        """Return the folder of a label run; make the run where it is missing."""
        folder = self.out / "runs" / name
        if not (folder / "report.html").exists():
            start = time.perf_counter()
            given = {"model": self.model, "limit": self.limit, "maps": 0} | options
            headroles.label(task, out=folder, **given)
            print(f"run {name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
        return folder

    def atlas(self, name: str, runs: Sequence[Path], **options: bool) -> Atlas:
        """Write the atlas of runs, and return it."""
        return headroles.atlas(runs, out=self.out / "atlas" / name, overwrite=True, **options)


def check_settings(out: Path, settings: Mapping[str, object]) -> None:
    """Refuse a folder whose runs were made with other sizes or another model.

    Raises:
        SystemExit: When they differ.
    """
    file, text = out / "settings.json", json.dumps(settings)
    if file.exists() and file.read_text(encoding="utf-8") != text:
        raise SystemExit(f"'{out}' holds runs with other settings: {file.read_text()}; name another --out")
    out.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def module_of(path: Path) -> ModuleType:
    """Return a script beside this one as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_samples(source: Path, task: str, folder: Path, size: int) -> list[Path]:
    """Write two random samples of a GLUE file without a text in common, and return their files.

    Args:
        source: File in the layout of GLUE.
        task: Name of the task, which says in which columns texts stand.
        folder: Where ``TASK-a.tsv`` and ``TASK-b.tsv`` are written.
        size: Rows of each sample; fewer where the file has too few different texts.
    """
    header, *rows = source.read_text(encoding="utf-8-sig").rstrip("\n").split("\n")
    names = header.split("\t")
    places = [names.index(column) for column in TASKS[task].columns]
    random.Random(0).shuffle(rows)
    seen: set[str] = set()
    chosen: list[str] = []
    for row in rows:
        cells = row.split("\t")
        texts = {cells[place].strip() for place in places}
        if len(chosen) < 2 * size and not texts & seen:
            chosen.append(row)
            seen |= texts
    half = len(chosen) // 2
    files = []
    for name, part in zip(SAMPLES, (chosen[:half], chosen[half:]), strict=True):
        files.append(folder / f"{task}-{name}.tsv")
        files[-1].write_text("\n".join([header, *part]) + "\n", encoding="utf-8")
    return files


def write_genres(source: Path, folder: Path) -> list[Path]:
    """Write spoken and written documents of GUM as two files, and return them."""
    parts: dict[bool, list[str]] = {True: [], False: []}
    spoken = False
    with gzip.open(source, "rt", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("# newdoc id = "):
                spoken = line.split("_")[1] in SPOKEN
            parts[spoken].append(line)
    files = []
    for name, key in (("spoken", True), ("written", False)):
        files.append(folder / f"GUM-{name}.conllu")
        files[-1].write_text("".join(parts[key]), encoding="utf-8")
    return files


def hold_in_all(atlas: Atlas, runs: int) -> set[tuple[str, int, int]]:
    """Return the roles of heads (role, layer, head) that hold in ``runs`` runs, by the test over runs."""
    return {(row.sieve, row.layer, row.head) for row in atlas.consensus if row.at_least == runs}


def given_somewhere(atlas: Atlas) -> set[tuple[str, int, int]]:
    """Return the roles of heads (role, layer, head) that some run gives."""
    return {(row.sieve, row.layer, row.head) for row in atlas.consensus if row.held}


def lines_of(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table in Markdown.

    Example:
        >>> print(lines_of(["role", "heads"], [["local", 20]]))
        | role | heads |
        | --- | --- |
        | local | 20 |
    """
    table = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in table)


def mean_kappa(atlas: Atlas, pairs: Sequence[tuple[int, int]]) -> float:
    """Return the mean kappa over roles and pairs of runs, without undefined ones."""
    names = {frozenset(atlas.runs[place].name for place in pair) for pair in pairs}
    values = [row.kappa for row in atlas.agreement if row.sieve and {row.run_a, row.run_b} in names]
    return float(np.nanmean(values))


def tasks(maker: Maker) -> Iterator[str]:
    """Yield the roles that hold in all tasks and in two samples of each, and those by the published rule."""
    sources = {task: maker.file(f"data/glue/{task}/dev.tsv") for task in TASKS}
    names = [f"{task}-{sample}" for sample in SAMPLES for task in TASKS]
    files = {}
    for task, source in sources.items():
        for file in write_samples(source, task, maker.out / "data", maker.limit):
            files[file.stem] = file
    runs = {name: maker.run(name, name[:-2], data=files[name]) for name in names}
    published = [
        maker.run(f"{task}-published", task, data=files[f"{task}-a"], preset="published") for task in TASKS
    ]
    first, second = (
        maker.atlas(f"tasks-{sample}", [runs[f"{task}-{sample}"] for task in TASKS]) for sample in SAMPLES
    )
    yield "Heads with each role in all tasks (block: three tasks), by sample:"
    rows = []
    for role in (*first.roles, "all roles"):
        sets = []
        for atlas in (first, second):
            runs_of = {name: max(r.runs for r in atlas.consensus if r.sieve == name) for name in atlas.roles}
            kept = {
                key for u in set(runs_of.values()) for key in hold_in_all(atlas, u) if runs_of[key[0]] == u
            }
            sets.append({key for key in kept if role in (key[0], "all roles")})
        some = given_somewhere(first) | given_somewhere(second)
        some = {key for key in some if role in (key[0], "all roles")}
        rows.append([role, *map(len, sets), len(sets[0] & sets[1]), len(some)])
    yield lines_of(["role", "all tasks, a", "all tasks, b", "both", "some run"], rows)
    yield "Two samples of one task (r at most 0.05: in both populations):"
    rows = []
    for task in TASKS:
        pair = maker.atlas(task, [runs[f"{task}-{sample}"] for sample in SAMPLES])
        held = [row for row in pair.consensus if row.held]
        confirmed, both = sum(row.r <= 0.05 for row in held), sum(row.held == 2 for row in held)
        rows.append([task, len(held), both, confirmed, f"{mean_kappa(pair, [(0, 1)]):.2f}"])
    yield lines_of(["task", "roles in some", "labelled in both", "r at most 0.05", "mean kappa"], rows)
    whole = maker.atlas("tasks", [runs[name] for name in names])
    same = [(place, place + 4) for place in range(4)]
    other = [(one, two) for one in range(4) for two in range(4, 8) if two != one + 4]
    yield (
        f"Mean kappa of labels: {mean_kappa(whole, same):.2f} between samples of one task, "
        f"{mean_kappa(whole, other):.2f} between samples of two tasks."
    )
    everywhere, some = len(hold_in_all(whole, 8)), len(given_somewhere(whole))
    yield f"{everywhere} of {some} roles of a head hold in all eight runs."
    presets = maker.atlas("presets", [*(runs[f"{task}-a"] for task in TASKS), *published])
    yield "The published rule beside the calibrated one, sample a:"
    yield headroles.table(maker.out / "atlas" / "presets").strip()
    yield "\n".join(part.text for part in answer_of(presets).sentences)


def trees(maker: Maker) -> Iterator[str]:
    """Yield the roles that hold in three corpora of gold trees."""
    ewt = maker.file("data/ud_english_ewt/en_ewt-ud-train.conllu.gz")
    gum = maker.file("data/ud_english_gum/en_gum-ud-train.conllu.gz")
    files = {"EWT": ewt} | {file.stem: file for file in write_genres(gum, maker.out / "data")}
    runs = [maker.run(name, data=file, limit=3 * maker.limit) for name, file in files.items()]
    atlas = maker.atlas("trees", runs)
    yield f"Heads with each role in at least so many of {', '.join(files)}:"
    yield headroles.table(maker.out / "atlas" / "trees", "in-runs").strip()
    found: dict[str, list[str]] = {}
    for role, layer, head in sorted(hold_in_all(atlas, 3)):
        found.setdefault(role, []).append(f"{layer}-{head}")
    syntax = [f"{role}: {', '.join(heads)}" for role, heads in found.items() if role.startswith("syntactic")]
    yield "Syntax in all three: " + ("; ".join(syntax) or "no head") + "."


def decoder(maker: Maker) -> Iterator[str]:
    """Yield the roles of an encoder and of a decoder on the same stories, by relative depth."""
    source, folder = maker.file("models/stories260K"), maker.out / "models" / "stories"
    stories, file = module_of(Path(__file__).with_name("stories.py")), maker.out / "data" / "stories.jsonl"
    if not file.exists():
        stories.convert(source, folder)
        stories.write_stories(folder, file, maker.limit)
    asked = {"data": file, "text_a": "text", "sieve": list(STORY_SIEVES)}
    runs = [maker.run("stories-encoder", **asked), maker.run("stories-decoder", model=folder, **asked)]
    atlas = maker.atlas("models", runs)
    rows = []
    for place, found in enumerate(atlas.findings):
        layers = len(atlas.runs[place].layers)
        thirds = np.arange(layers) * 3 // layers
        for role in found.tested:
            held = found.held[found.of(role)]
            parts = [held[thirds == third] for third in range(3)]
            rows.append([runs[place].name, role, *(f"{part.sum()} of {part.size}" for part in parts)])
    yield "Heads with each role in the first, middle and last third of the layers, on the same stories:"
    yield lines_of(["run", "role", "first", "middle", "last"], rows)
    yield headroles.table(maker.out / "atlas" / "models").strip()


def training(maker: Maker) -> Iterator[str]:
    """Yield the checkpoint of a fine-tuning from which heads hold a role, and the roles that are lost."""
    learn, test = maker.file("data/glue/MRPC/train.tsv"), maker.file("data/glue/MRPC/dev.tsv")
    folder = maker.out / "models" / "mrpc"
    if not folder.exists():
        words = ["--train", str(learn), "--out", str(folder), "--limit", str(maker.pairs), *TRAINING]
        subprocess.run([sys.executable, str(FINETUNE), *words], check=True)
    steps = sorted(folder.glob("step-*"), key=lambda path: int(path.name.removeprefix("step-")))
    file = write_samples(test, "MRPC", maker.out / "data", maker.limit)[0]
    atlas = maker.atlas(
        "training", [maker.run(step.name, "MRPC", data=file, model=str(step)) for step in steps], steps=True
    )
    names, rows = [run.name for run in atlas.runs], []
    for role in atlas.roles:
        own = [row for row in atlas.steps if row.sieve == role]
        counts = [sum(row.emerged == name for row in own) for name in names]
        turns = [sum(row.trend == word for row in own) for word in ("rises", "falls")]
        rows.append([role, *counts, sum(bool(row.lost) for row in own), *turns])
    yield "Heads that hold each role from a step until the last:"
    yield lines_of(["role", *(f"from {step.name}" for step in steps), "lost", "rise", "fall"], rows)
    interval = next(column for column in TRENDS.columns if column.name == "earliest")
    lines = []
    for row in atlas.steps:
        if row.lost or row.emerged not in ("", names[0]):
            turn = f"from {row.emerged}, 95 % interval {interval.write(row).text}" if row.emerged else ""
            lines.append(f"{row.sieve} {row.layer}-{row.head}: {turn or f'lost at {row.lost}'}")
    yield "\n".join(lines) or "No role emerged or was lost."


PARTS: dict[str, Callable[[Maker], Iterator[str]]] = {
    "tasks": tasks,
    "trees": trees,
    "decoder": decoder,
    "training": training,
}


def main(words: Sequence[str] | None = None) -> None:
    """Make the atlases, and print the results of each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--shared", type=Path, default=Path("../shared"), help="folder of data and models")
    parser.add_argument("--out", type=Path, default=Path("runs/atlas"), help="folder of all results")
    parser.add_argument("--limit", type=int, default=100, help="inputs of a run (trees: three times as many)")
    parser.add_argument("--pairs", type=int, default=640, help="pairs that the fine-tuning learns")
    parser.add_argument("--model", help="the encoder; default: the embedded one")
    parser.add_argument("--only", nargs="*", choices=PARTS, default=list(PARTS), help="some parts")
    given = parser.parse_args(words)
    sizes = {"limit": given.limit, "pairs": given.pairs, "model": given.model}
    check_settings(given.out, sizes)
    maker = Maker(given.shared, given.out, given.limit, given.pairs, given.model)
    for name in given.only:
        print(f"\n## {name}\n")
        try:
            for text in PARTS[name](maker):
                print(text, end="\n\n", flush=True)
        except Missing as reason:
            print(f"skipped: {reason}", flush=True)


if __name__ == "__main__":
    main()
