"""Measure ``ablate`` by cells, ``compare``, ``prune --check`` and ``why`` by documents, on a real encoder.

Each line of JSON is one cell. All parts read the embedded encoder. Truth is planted, or known from rows that
a claim did not see.

- **cells**: random cells are a "role" of every head, so that no head has damage at its cells. 5 % of
  cells, or 15 %.
- **compare**: the encoder with itself on other rows, where nothing differs; and with noise on its weights,
  where rows that the comparison did not read tell what differs.
- **certificate**: random sets of heads, whose damage over all rows is the truth. Rows are drawn with
  replacement; the bound is the truth, and then twice as much.
- **documents**: ``mean_query.py`` with units of several sentences.

    python benchmarks/calibration/end_to_end.py --data ../shared/data [--quick] [--part compare]
"""

import csv
import gzip
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np
from mean_query import real

import headroles
from headroles.comparing.differences import compare_runs
from headroles.kinds import kind_named
from headroles.records.causal.pruning import WITHIN
from headroles.records.comparison import Differences
from headroles.records.findings import Labelling
from headroles.records.passage import Passage
from headroles.shards.moments import take_examples
from headroles.stats.causal.certificate import measure_set
from headroles.stats.engine import judge

Cell = dict[str, Any]
ALPHA = 0.05
BOUND = 0.05
"""Of ``compare``, on the scale of scores."""
UNTESTABLE = 3
"""Code of the outcome of heads that could not be tested."""
SIEVES = ("patterns", "identical", "block")
NOISES = (0.01, 0.03, 0.1, 0.3)
"""Spread of the noise on every weight, as a part of the spread of its matrix."""
SETS = (1, 3, 6, 12)
"""Heads of the random sets."""
MOST = 4
"""Most sentences of a document."""
RANDOM_CELLS = """
import zlib
import numpy as np
from headroles.sieves.base import sieve

def drawn(example, share):
    rng = np.random.default_rng(zlib.crc32(" ".join(example.tokens).encode()) + int(1000 * share))
    return rng.random((len(example.tokens),) * 2) < share

@sieve("random:5", margin=-0.9)
def rare(example):
    "Five of a hundred cells."
    return drawn(example, 0.05)

@sieve("random:15", margin=-0.9)
def few(example):
    "Fifteen of a hundred cells."
    return drawn(example, 0.15)
"""


def table(path: Path, columns: Sequence[str], longest: int, rows: int) -> list[tuple[str, ...]]:
    """Return texts of the first rows that have at most so many words."""
    with path.open(encoding="utf-8") as file:
        lines = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        texts = [tuple(line[name] for name in columns) for line in lines]
    return [text for text in dict.fromkeys(texts) if len(" ".join(text).split()) <= longest][:rows]


def cells(data: Path, quick: bool, seed: int) -> Iterator[Cell]:
    """Yield how often heads are said to do damage at cells that were drawn at random."""
    texts = [text for (text,) in table(data / "SST-2" / "dev.tsv", ("sentence",), 16, 160)]
    with TemporaryDirectory() as folder:
        file = Path(folder) / "random_cells.py"
        file.write_text(RANDOM_CELLS)
        sieves = [f"{file}:{name}" for name in ("rare", "few")]
        headroles.label(data=texts[:30], sieve=sieves, maps=0, out=f"{folder}/roles", seed=seed)
        inputs = texts[30 : 50 if quick else 70]
        how: dict[str, Any] = {"by": ("mean", "cells", "cells:matched"), "outcome": ("tokens",)}
        run = headroles.ablate(data=inputs, roles=f"{folder}/roles", sieve=sieves, **how)
    assert run.ablated is not None
    for role in ("random:5", "random:15"):
        rows = [row for row in run.ablated.cells if row.role == role]
        p = np.array([[row.p, row.p_other] for row in rows])
        yield {
            "claim": "cells", "role": role, "heads": len(rows), "units": rows[0].count,
            "decisions": Counter(row.decision for row in rows),
            "p below 0.05, more": float((p[:, 0] <= ALPHA).mean()),
            "p below 0.05, less": float((p[:, 1] <= ALPHA).mean()),
            "difference of damage, share of it": float(
                np.mean([row.difference for row in rows]) / np.mean([row.cells for row in rows])
            ),
        }  # fmt: skip


def label(texts: Sequence[tuple[str, ...]], model: str | None = None) -> Labelling:
    """Return the scores of some rows, without words of a parser."""
    inputs = [{"text_a": one, "text_b": other} for one, other in texts]
    how = {} if model is None else {"model": model}
    return headroles.label(data=inputs, sieve=SIEVES, maps=0, **how)


def half_of(run: Labelling, places: np.ndarray) -> Labelling:
    """Return some rows of a run, each a unit of its own, named by their places."""
    names = tuple(map(str, range(len(places))))
    scores = replace(take_examples(run.scores, places), examples=names, units=names)
    findings = judge(scores, run.findings.rules, run.decision)
    return replace(run, scores=scores, findings=findings, assessment=None)


def compared(first: Labelling, second: Labelling) -> Differences:
    """Return the differences of two runs; outcome 0 is "changed", and 1 "equivalent"."""
    return compare_runs(first, second, {"a": "a", "b": "b", "bound": BOUND, "swaps": 0}).differences


def comparisons(data: Path, quick: bool, seed: int) -> Iterator[Cell]:
    """Yield how often heads are said to have changed or to be equivalent, where rows tell the truth."""
    texts = table(data / "QNLI" / "dev.tsv", ("question", "sentence"), 45, 120 if quick else 400)
    run, rng = label(texts), np.random.default_rng(seed)
    first = np.unique(run.scores.units, return_index=True)[1]
    times = 5 if quick else 40
    for units in (40,) if quick else (80, 160):
        said = np.zeros(4)
        for _ in range(times):
            drawn = rng.permutation(first)[: 2 * units]
            found = compared(half_of(run, drawn[:units]), half_of(run, drawn[units:])).outcome
            changed, equal = ((found == outcome)[found < UNTESTABLE].mean() for outcome in (0, 1))
            said += [changed, equal, (found == 0).any(axis=(1, 2)).mean(), (found == 0).any()]
        names = ("changed", "equivalent", "families with a change", "runs with a change")
        yield {
            "claim": "same model",
            "units": units,
            "times": times,
            **dict(zip(names, said / times, strict=True)),
        }
    half = len(first) // 2
    for noise in NOISES[1:2] if quick else NOISES:
        with TemporaryDirectory() as folder:
            noisy(folder, noise, seed)
            other = label(texts, folder)
        found = compared(half_of(run, first[:half]), half_of(other, first[:half]))
        truth = compared(half_of(run, first[half:]), half_of(other, first[half:])).difference
        changed, equal = (found.outcome == outcome for outcome in (0, 1))
        yield {
            "claim": "noise", "noise": noise, "units": half, "tests": int((found.outcome < UNTESTABLE).sum()),
            "changed": int(changed.sum()), "equivalent": int(equal.sum()),
            "changed, other sign on other rows": int((changed & (truth * found.difference < 0)).sum()),
            "equivalent, beyond the bound there": int((equal & (abs(truth) > BOUND)).sum()),
            "median difference": float(np.nanmedian(abs(truth))),
        }  # fmt: skip


def noisy(folder: str, noise: float, seed: int) -> None:
    """Write the encoder with normal noise on every matrix of its layers."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    from headroles.extraction.model.checkpoint import find_checkpoint

    where = find_checkpoint(None, None).target
    network, draw = AutoModel.from_pretrained(where), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in network.named_parameters():
            if weight.ndim == 2 and ".layer." in name:
                weight += noise * weight.std() * torch.randn(weight.shape, generator=draw)
    network.save_pretrained(folder)
    AutoTokenizer.from_pretrained(where).save_pretrained(folder)


def certificates(data: Path, quick: bool, seed: int) -> Iterator[Cell]:
    """Yield how often certificates of random sets of heads are wrong, and what fresh rows say."""
    from headroles.pruning.measure import UnitDamage
    from headroles.pruning.model import open_model, remover_of

    texts = table(data / "QNLI" / "dev.tsv", ("question", "sentence"), 30, 150 if quick else 600)
    passages = [Passage(str(place), text) for place, text in enumerate(texts)]
    options = kind_named("ablate").options({"data": list(texts), "outcome": ("representation",)})
    opened = open_model(options, "cpu")
    remover, _, opened = remover_of(opened, passages[:50], 32)
    keys, rng = [passage.key for passage in passages], np.random.default_rng(seed)
    damage = UnitDamage(opened.meter(passages, "representation", 32), "representation", keys)
    times = 50 if quick else 400
    for size in SETS:
        mask = np.zeros((6, 12), dtype=bool)
        mask.flat[rng.choice(72, size, replace=False)] = True
        with remover.without(mask):
            change = damage.by_unit(damage.measure())
        truth = float(change.mean())
        for units in (75, 150):
            within, twice, above, missed = np.zeros((4, times))
            for time in range(times):
                drawn, ones = rng.integers(0, len(change), (2, units)), np.ones(units)
                step, fresh = (
                    measure_set(size, change[own], ones, truth, ALPHA, damage.bounds) for own in drawn
                )
                far = measure_set(size, change[drawn[0]], ones, 2 * truth, ALPHA, damage.bounds)
                within[time], twice[time] = step.decision == WITHIN, far.decision == WITHIN
                above[time], missed[time] = step.upper < truth, fresh.mean > step.upper
            yield {
                "claim": "certificate", "heads": size, "units": units, "rows": len(change), "times": times,
                "mean damage": truth, "largest of a row, in means": float(change.max() / truth),
                "certified at the bound": within.mean(), "certified at half the bound": twice.mean(),
                "limit below the truth": above.mean(), "fresh rows beyond the limit": missed.mean(),
            }  # fmt: skip


def documents(data: Path, quick: bool, seed: int) -> Iterator[Cell]:
    """Yield sizes and coverage of ``why`` where units are documents of EWT."""
    path = data.parent / "ud_english_ewt" / "en_ewt-ud-dev.conllu.gz"
    passages, group, count = list[Passage](), "", 0
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        if line.startswith("# newdoc id"):
            group, count = line, 0
        elif line.startswith("# text = ") and len(line.split()) > 7 and count < MOST:
            passages.append(Passage(str(len(passages)), (line.removeprefix("# text = "),), group=group))
            count += 1
    rng = np.random.default_rng(seed)
    sizes = ((50, 50),) if quick else ((50, 50), (100, 100), (200, 200))
    for cell in real(passages[: 100 if quick else 600], sizes, 20 if quick else 200, rng):
        yield cell | {"claim": "documents"}


PARTS = {"cells": cells, "compare": comparisons, "certificate": certificates, "documents": documents}


@click.command()
@click.option("--data", required=True, type=click.Path(path_type=Path), help="Folder with glue and EWT.")
@click.option("--part", "parts", multiple=True, type=click.Choice(list(PARTS)), default=tuple(PARTS))
@click.option("--seed", default=0, show_default=True)
@click.option("--quick", is_flag=True, help="A few inputs.")
def main(data: Path, parts: tuple[str, ...], seed: int, quick: bool) -> None:
    """Measure, and print a line of JSON for every cell."""
    for part in parts:
        for cell in PARTS[part](data / "glue", quick, seed):
            print(json.dumps(cell), flush=True)


if __name__ == "__main__":
    main()
