"""Tables of a run folder that a page embeds whole, so that a reader can download them from it."""

import json
from collections.abc import Mapping

from headroles.kinds import kind_of
from headroles.records.comparison import Comparison
from headroles.records.findings import Labelling
from headroles.records.layers import number_layers
from headroles.reports.summary.embedded import script_json
from headroles.storage.tables import summary_texts

LARGEST = 1_000_000
"""Most characters of a table that a page embeds; larger tables stay in the run folder."""


def files_of(labelling: Labelling) -> dict[str, str]:
    """Return the text of the smaller tables of a run by file name, as the run folder holds them.

    Findings, labels and precision are left out, because the page makes them from the numbers it shows; so
    are tables of more than ``LARGEST`` characters and those that hold no row.

    Args:
        labelling: The result of a run.
    """
    stack = labelling.scores.stack
    texts = summary_texts(labelling.assessment, stack) if labelling.assessment else {}
    downloads = kind_of(labelling).downloads(labelling)
    texts |= {name: number_layers(text, stack.numbers) for name, text in downloads.items()}
    return {name: text for name, text in texts.items() if len(text) <= LARGEST and text.count("\n") > 1}


def comparison_files(comparison: Comparison) -> dict[str, str]:
    """Return the tables of a comparison by file name; the page makes its differences itself."""
    return {table.file: table.csv() for table in (comparison.moved, comparison.layers, comparison.swaps)}


def files_json(files: Mapping[str, str]) -> str:
    """Return texts by file name as JSON that can stand inside a page."""
    return script_json(json.dumps(dict(files), ensure_ascii=False, separators=(",", ":")))
