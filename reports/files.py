"""Tables of a run folder that a page embeds whole, so that a reader can download them from it."""

import json
from collections.abc import Mapping

from headroles.kinds import kind_of
from headroles.records.comparison import Comparison
from headroles.records.findings import Labelling
from headroles.records.layers import number_layers
from headroles.reports.summary.embedded import script_json
from headroles.storage.folder import LABELS, LAYERS
from headroles.storage.tables import summary_texts

SWAPS = "swaps.csv"
LARGEST = 1_000_000
"""Most characters of a table that a page embeds; larger tables stay in the run folder."""


def files_of(labelling: Labelling) -> dict[str, str]:
    """Return the text of the smaller tables of a run by file name, as the run folder holds them.

    Findings, labels and precision are left out, because the page makes them from the numbers it shows; so
    are tables of more than ``LARGEST`` characters and those that hold no row.

    Args:
        labelling: The result of a run.
    """
    texts = summary_texts(labelling.assessment) if labelling.assessment else {}
    texts |= kind_of(labelling).downloads(labelling)
    texts = {name: number_layers(text, labelling.scores.stack.numbers) for name, text in texts.items()}
    return {name: text for name, text in texts.items() if len(text) <= LARGEST and text.count("\n") > 1}


def comparison_files(comparison: Comparison) -> dict[str, str]:
    """Return the tables of a comparison by file name; the page makes its differences itself."""
    tables = {LABELS: comparison.labels(), LAYERS: comparison.by_layer(), SWAPS: comparison.by_role()}
    return {name: table.to_csv(index=False, lineterminator="\n") for name, table in tables.items()}


def files_json(files: Mapping[str, str]) -> str:
    """Return texts by file name as JSON that can stand inside a page."""
    return script_json(json.dumps(dict(files), ensure_ascii=False, separators=(",", ":")))
