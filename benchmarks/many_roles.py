"""Time to make the report of a run of 60 roles, and what building its figures takes of it.

    python benchmarks/many_roles.py [--runs 5]        # prints one line of JSON

The same figures are also built as plotly's own objects, which check every setting. The shortest time of the
processor counts.
"""

import argparse
import json
import time
from collections.abc import Callable

import plotly.graph_objects as go
import report

from headroles.reports.drawing import figure_json
from headroles.reports.html import page_of
from headroles.reports.kinds.label_figures import figures
from headroles.reports.marks import plotly_json
from headroles.reports.summary import summarise

ROLES, LAYERS, HEADS = 60, 12, 12


def shortest(work: Callable[[], object], runs: int) -> float:
    """Return the least processor time of some runs in seconds."""
    times = []
    for _ in range(runs):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return round(min(times), 3)


def main() -> None:
    """Measure, and print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    report.SIEVES = ROLES
    run = report.random_run(LAYERS, HEADS)
    summary = summarise(run)
    plots = [plotly_json(figure) for figure in figures(summary)]
    results = {
        "page_s": shortest(lambda: page_of(run), runs),
        "figures_s": shortest(
            lambda: [figure_json(plotly_json(figure)) for figure in figures(summary)], runs
        ),
        "checked_s": shortest(lambda: [go.Figure(plot).to_json() for plot in plots], runs),
        "mb": round(len(page_of(run).encode()) / 1e6, 2),
    }
    print(json.dumps({"benchmark": "many_roles", "roles": ROLES, **results}))


if __name__ == "__main__":
    main()
