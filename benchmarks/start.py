"""Time starting and ending: help, refused values, judging and the page of a small run, and a first run.

Each figure is processor time of a whole process (user and system), the minimum over turns that alternate with
those of a named baseline. A page is timed inside its process. A first run has no bytecode of headroles or its
libraries and no stored parses; after an install by pip there is bytecode already. One line of JSON a figure.
"""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from machine import machine

RUN = "runs/QNLI-all-MiniLM-L6-v2"
CLICK = ("-c", "import click")
NUMPY = ("-c", "import click, numpy")
LIBRARIES = ("-c", "import pandas, pyarrow.parquet, statsmodels.stats.multitest, scipy.stats")
LABEL = ("-m", "headroles", "label", "--task", "QNLI", "--overwrite", "--quiet", "--out", RUN)
COMMANDS: Sequence[tuple[str, tuple[str, ...], str, tuple[str, ...], float]] = (
    ("help", ("--help",), "import click", CLICK, 0.3),
    ("help of label", ("label", "--help"), "import click", CLICK, 0.3),
    ("wrong task", ("label", "--task", "QNLX"), "import click", CLICK, 0.5),
    ("wrong test", ("label", "--task", "QNLI", "--test", "nope"), "import click", CLICK, 0.5),
    ("missing file", ("label", "--data", "nope.csv"), "import click", CLICK, 0.5),
    ("wrong sieve", ("label", "--task", "QNLI", "--sieve", "xyz"), "import click, numpy", NUMPY, 0.5),
    (
        "wrong column",
        ("label", "--data", "texts.tsv", "--text-a", "nope", "--out", "no"),
        "import click, numpy",
        NUMPY,
        0.5,
    ),
    ("judge", ("judge", RUN), "import pandas, pyarrow, statsmodels, scipy.stats", LIBRARIES, 1.5),
)
"""Name, arguments of headroles, baseline in words, arguments of Python for it, and target of each figure."""
PAGE = f"""
import time
from headroles.storage.run import load
from headroles.reports.page import page_of

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
from headroles.extraction.model.load import load
from headroles.extraction.parsing.annotate import Annotator
from headroles.extraction.parsing.pipeline import load_parser
from headroles.extraction.texts.sources import read_sample
from headroles.extraction.texts.tokens import tokenise
from headroles.tasks import TASKS
from transformers import AutoModel

where = find_checkpoint(None, None)
plain = AutoModel.from_pretrained(where.target, attn_implementation="sdpa").eval()
model = load(where, device="cpu", dtype="float32", max_length=512)
parser = Annotator(load_parser(None)[0])
passages = read_sample(TASKS["QNLI"])
loaded = time.process_time()
parser.words(passages)
parsed = time.process_time()
items = tokenise(model.tokenizer, passages, 512)
order = np.argsort([-item.size for item in items], kind="stable")
with torch.inference_mode():
    for first in range(0, len(order), 32):
        batch = [items[place] for place in order[first : first + 32]]
        width = max(item.size for item in batch)
        ids = [item.inputs["input_ids"] + [0] * (width - item.size) for item in batch]
        mask = [[1] * item.size + [0] * (width - item.size) for item in batch]
        plain(input_ids=torch.tensor(ids), attention_mask=torch.tensor(mask))
print(loaded - start, parsed - loaded, time.process_time() - parsed)
"""
"""Load model and parser, parse the inputs of QNLI, and run the plain sdpa forward."""


def spent(words: Sequence[str], where: Path, more: Mapping[str, str]) -> tuple[float, str]:
    """Return the processor time of a process of Python and what it prints, whatever its exit code."""
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
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return seconds, done.stdout


def numbers(text: str) -> list[float]:
    """Return the numbers of a line."""
    return [float(word) for word in text.split()]


def say(figure: str, seconds: float, **more: Any) -> None:
    """Print a line of JSON."""
    facts = {key: round(value, 3) if isinstance(value, float) else value for key, value in more.items()}
    click.echo(json.dumps({"figure": figure, "seconds": round(seconds, 3)} | facts | {"machine": machine()}))


@click.command()
@click.option("--turns", default=5, show_default=True, help="Turns of each side; the fastest counts.")
@click.option("--first-run/--no-first-run", default=True, help="Whether runs without bytecode are timed.")
def main(turns: int, first_run: bool) -> None:
    """Print the figures."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "texts.tsv").write_text("text\tlabel\nA short text.\t1\n")
        usual = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "", "": str(folder / "cache")}
        time_of: Callable[[Sequence[str]], float] = lambda words: spent(words, folder, usual)[0]  # noqa: E731
        spent(LABEL, folder, usual)  # writes bytecode, parses and the run
        for figure, words, plain, baseline, target in COMMANDS:
            time_of(("-m", "headroles", *words))
            pairs = [(time_of(("-m", "headroles", *words)), time_of(baseline)) for _ in range(turns)]
            ours, theirs = (min(side) for side in zip(*pairs, strict=True))
            say(figure, ours, target=target, baseline=plain, baseline_seconds=theirs, ratio=ours / theirs)
        pages = [numbers(spent(("-c", PAGE), folder, usual)[1]) for _ in range(turns)]
        with_imports, alone, loading = (min(side) for side in zip(*pages, strict=True))
        say(
            "page, with its imports",
            with_imports,
            target=0.7,
            baseline="load the run",
            baseline_seconds=loading,
        )
        say("page again", alone, baseline="load the run", baseline_seconds=loading)
        few = max(1, turns // 2)
        runs, parts = [], []
        for turn in range(few):
            fresh = usual | {"": str(folder / f"cache-{turn}")}
            runs.append(spent(LABEL, folder, fresh)[0])
            parts.append(numbers(spent(("-c", PARTS), folder, usual)[1]))
        load, parse, forward = (min(side) for side in zip(*parts, strict=True))
        base = {"load": load, "parse": parse, "forward": forward}
        whole = load + parse + forward
        say("label, nothing parsed before", min(runs), target=1.5, ratio=min(runs) / whole, **base)
        if first_run:
            bare = usual | {
                "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
                "": str(folder / "cache-first"),
            }
            seconds = spent(LABEL, folder, bare)[0]
            say("label, no bytecode either", seconds, target=1.5, ratio=seconds / whole, **base)


if __name__ == "__main__":
    main()
