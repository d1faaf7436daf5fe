"""Time starting and ending: help, refused values, judging and the page of a small run, and a first run.

Each figure is processor time of a whole process and its children (user and system). It is the minimum over
turns, which alternate with those of a named baseline. A page is timed inside its process. A process whose
exit code is not the expected one ends the benchmark. A first run has no stored parses and a new folder, since
a run goes on with the shards that its folder holds. In the last line there is no bytecode either; after an
install by pip there is bytecode. One line of JSON a figure.
"""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from machine import machine

RUN = "runs/QNLI-all-MiniLM-L6-v2"
"""The run of the README, as its command names the folder."""
LABEL = ("-m", "headroles", "label", "--task", "QNLI", "--quiet", "--out")
"""The command of a run; its folder follows."""
BASELINES: Mapping[str, str] = {
    "import click": "import click",
    "import click, numpy": "import click, numpy",
    "import numpy, pyarrow, scipy.special": "import click, numpy, pyarrow.parquet, scipy.special",
}
"""Programs of Python that do nothing but import, by their words."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command line that is timed.

    Attributes:
        figure: Its name.
        words: Its words after ``headroles``.
        baseline: Its baseline, one of ``BASELINES``.
        target: Seconds of processor time that it should stay under.
        code: The exit code that it must have; 1 for a refused value.
    """

    figure: str
    words: tuple[str, ...]
    baseline: str
    target: float
    code: int = 1


CLICK, NUMPY, LIBRARIES = BASELINES
COMMANDS = (
    Command("help", ("--help",), CLICK, 0.3, code=0),
    Command("help of label", ("label", "--help"), CLICK, 0.3, code=0),
    Command("wrong task", ("label", "--task", "QNLX"), CLICK, 0.5),
    Command("wrong test", ("label", "--task", "QNLI", "--test", "nope"), CLICK, 0.5),
    Command("missing file", ("label", "--data", "nope.csv"), CLICK, 0.5),
    Command("wrong sieve", ("label", "--task", "QNLI", "--sieve", "xyz"), NUMPY, 0.5),
    Command("wrong column", ("label", "--data", "texts.tsv", "--text-a", "nope", "--out", "no"), NUMPY, 0.5),
    Command("judge", ("judge", RUN), LIBRARIES, 1.5, code=0),
)
PAGE = f"""
import time
from headroles.storage.run import load
from headroles.reports.html import page_of

start = time.process_time()
run = load({RUN!r})
loaded = time.process_time()
page_of(run)
first = time.process_time()
page_of(run)
print(first - loaded, time.process_time() - first, loaded - start)
"""
"""Load a run, and make its page twice: with imports, then without."""
PARTS = """
import time
start = time.process_time()
import numpy as np, torch
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.parsing.annotate import Annotator
from headroles.extraction.parsing.pipeline import load_parser
from headroles.extraction.texts.sources import read_sample
from headroles.extraction.texts.tokens import tokenise
from headroles.tasks import TASKS
from transformers import AutoModel, AutoTokenizer

where = find_checkpoint(None, None)
network = AutoModel.from_pretrained(where.target, attn_implementation="sdpa").eval()
tokenizer = AutoTokenizer.from_pretrained(where.target)
parser = Annotator(load_parser(None)[0])
passages = read_sample(TASKS["QNLI"])
loaded = time.process_time()
parser.words(passages)
parsed = time.process_time()
items = tokenise(tokenizer, passages, 512)
order = np.argsort([-item.size for item in items], kind="stable")
with torch.inference_mode():
    for first in range(0, len(order), 32):
        batch = [items[place] for place in order[first : first + 32]]
        width = max(item.size for item in batch)
        ids = [item.inputs["input_ids"] + [0] * (width - item.size) for item in batch]
        mask = [[1] * item.size + [0] * (width - item.size) for item in batch]
        network(input_ids=torch.tensor(ids), attention_mask=torch.tensor(mask))
print(loaded - start, parsed - loaded, time.process_time() - parsed)
"""
"""Load model and parser once, parse the inputs of QNLI, and run the plain sdpa forward."""


def spent(words: Sequence[str], where: Path, more: Mapping[str, str], code: int = 0) -> tuple[float, str]:
    """Return the processor time of a process of Python, with its children, and what it prints.

    Raises:
        ClickException: When it ends with another exit code.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *words],
        cwd=where,
        env=os.environ | more,
        capture_output=True,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != code:
        raise click.ClickException(
            f"'{' '.join(words):.200}' must exit with {code}, but got {done.returncode}: "
            f"{done.stderr[-2000:]}"
        )
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, done.stdout


def numbers(text: str) -> list[float]:
    """Return the numbers of a line."""
    return [float(word) for word in text.split()]


def say(figure: str, seconds: float, **more: Any) -> None:
    """Print a line of JSON."""
    facts = {key: round(value, 3) if isinstance(value, float) else value for key, value in more.items()}
    click.echo(json.dumps({"figure": figure, "seconds": round(seconds, 3)} | facts | {"machine": machine()}))


def time_command(command: Command, folder: Path, usual: Mapping[str, str], turns: int) -> None:
    """Print the figure of a command line, whose turns alternate with those of its baseline."""
    words, plain = ("-m", "headroles", *command.words), ("-c", BASELINES[command.baseline])
    spent(words, folder, usual, command.code)
    pairs = [
        (spent(words, folder, usual, command.code)[0], spent(plain, folder, usual)[0]) for _ in range(turns)
    ]
    ours, theirs = (min(side) for side in zip(*pairs, strict=True))
    facts = {"baseline": command.baseline, "baseline_seconds": theirs, "ratio": ours / theirs}
    say(command.figure, ours, target=command.target, **facts)


def time_page(folder: Path, usual: Mapping[str, str], turns: int) -> None:
    """Print the figures of the page of the run."""
    pages = [numbers(spent(("-c", PAGE), folder, usual)[1]) for _ in range(turns)]
    with_imports, alone, loading = (min(side) for side in zip(*pages, strict=True))
    base = {"baseline": "load the run", "baseline_seconds": loading}
    say("page, with its imports", with_imports, target=0.7, **base)
    say("page again", alone, **base)


def time_label(folder: Path, usual: Mapping[str, str], turns: int, first_run: bool) -> None:
    """Print the figures of a run whose texts were never parsed, against load, parse and forward alone."""
    runs, parts = [], []
    for turn in range(turns):
        fresh = usual | {"HEADROLES_CACHE": str(folder / f"cache-{turn}")}
        runs.append(spent((*LABEL, f"run-{turn}"), folder, fresh)[0])
        parts.append(numbers(spent(("-c", PARTS), folder, usual)[1]))
    load, parse, forward = (min(side) for side in zip(*parts, strict=True))
    base = {"load": load, "parse": parse, "forward": forward}
    whole = load + parse + forward
    say("label, nothing parsed before", min(runs), target=1.5, ratio=min(runs) / whole, **base)
    if first_run:
        bare = {
            "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
            "HEADROLES_CACHE": str(folder / "cache-first"),
        }
        seconds = spent((*LABEL, "run-first"), folder, usual | bare)[0]
        say("label, no bytecode either", seconds, ratio=seconds / whole, **base)


@click.command()
@click.option("--turns", default=5, show_default=True, help="Turns of each side; the fastest counts.")
@click.option("--first-run/--no-first-run", default=True, help="Whether a run without bytecode is timed.")
def main(turns: int, first_run: bool) -> None:
    """Print the figures."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "texts.tsv").write_text("text\tlabel\nA short text.\t1\n")
        usual = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "", "HEADROLES_CACHE": f"{folder}/cache"}
        spent((*LABEL, RUN), folder, usual)  # writes bytecode, parses and the run
        for command in COMMANDS:
            time_command(command, folder, usual, turns)
        time_page(folder, usual, turns)
        time_label(folder, usual, max(2, turns // 2), first_run)


if __name__ == "__main__":
    main()
