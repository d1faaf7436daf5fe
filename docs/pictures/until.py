"""The picture of docs/how-to/until.md: how many heads are decided after how many units.

    python docs/pictures/until.py RUN [RUN …] [--every 16] [--out docs/pictures/until.svg]

Each RUN is the folder of a run with --until that read many of its units. They stand in their random order,
so the heads are judged again after every few of them; no model runs.
"""

import argparse
from io import StringIO
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import headroles
from headroles.records.example import Scores
from headroles.records.roles import phrase_of
from headroles.stats.engine import judge

mpl.use("svg")
UNDETERMINED = 2
COLOURS = ("#0063a8", "#b5480a", "#00786b", "#8e3a9d")
STYLE = Path(__file__).parent / "drawn.mplstyle"


def main() -> None:
    """Judge the runs again and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--every", type=int, default=16)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "until.svg")
    given = parser.parse_args()
    given.out.write_text(picture(given.runs, given.every), encoding="utf-8")


def picture(folders: list[str], every: int) -> str:
    """Return the picture as SVG: a panel for each run, a line for each role."""
    with mpl.rc_context(fname=STYLE):
        figure = Figure(figsize=(8.6, 3.0))
        panels = figure.subplots(1, len(folders), sharey=True, squeeze=False)[0]
        for axes, folder in zip(panels, folders, strict=True):
            run = headroles.load(folder)
            units, shares = decided_shares(run, every)
            for name, line, colour in zip(run.findings.roles, shares, COLOURS, strict=False):
                axes.plot(units, line, color=colour, linewidth=1.3, label=phrase_of(name).title)
            axes.axhline(0.95, color="#444444", linewidth=0.8, linestyle="--")
            axes.set_title(f"{run.manifest['task']}, {run.manifest['until']['of_units']:,} units")
            axes.set_xlabel("units read")
            axes.set_ylim(0, 1.02)
        panels[0].set_ylabel("share of heads decided")
        panels[-1].legend(loc="lower right")
        figure.tight_layout()
        file = StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def decided_shares(run: headroles.Labelling, every: int) -> tuple[list[int], np.ndarray]:
    """Return numbers of units, and the share of decided heads of every role (roles, looks) after them."""
    order = list(dict.fromkeys(run.scores.units))
    place = {unit: number for number, unit in enumerate(order)}
    units = [*range(every, len(order), every), len(order)]
    places = [run.findings.of(role) for role in run.findings.roles]
    shares = []
    for count in units:
        part = first_examples(run.scores, sum(place[unit] < count for unit in run.scores.units))
        decision = judge(part, run.findings.rules, run.decision, intervals=False).decision[places]
        shares.append((decision != UNDETERMINED).mean(axis=(1, 2)))
    return units, np.array(shares).T


def first_examples(scores: Scores, count: int) -> Scores:
    """Return the scores of the first examples."""
    return Scores(
        scores.sieves,
        scores.examples[:count],
        scores.units[:count],
        scores.tokens[:count],
        scores.cells[:, :count],
        scores.values[:, :count],
        scores.null[:, :count],
    )


if __name__ == "__main__":
    main()
