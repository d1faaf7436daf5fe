"""The folder of a comparison: its tables, manifest and report."""

import json
from pathlib import Path

from headroles.comparison import Comparison
from headroles.folder import LABELS, MANIFEST, REPORT, Kind, renamed, staged, writing

DIFFERENCES, LAYERS, SWAPS = "differences.csv", "layers.csv", "swaps.csv"
COMPARISON = Kind("comparison", frozenset({MANIFEST, DIFFERENCES, LABELS, LAYERS, SWAPS, REPORT}))


def write_comparison(folder: Path, comparison: Comparison, report: str) -> None:
    """Write manifest, tables and report; the folder appears whole or not at all.

    Raises:
        BadInput: When it cannot be written.
    """
    texts = {
        DIFFERENCES: comparison.frame().to_csv(index=False, lineterminator="\n"),
        LABELS: comparison.labels().to_csv(index=False, lineterminator="\n"),
        LAYERS: comparison.by_layer().to_csv(index=False, lineterminator="\n"),
        SWAPS: comparison.by_role().to_csv(index=False, lineterminator="\n"),
        REPORT: report,
        MANIFEST: json.dumps(dict(comparison.manifest), indent=1, ensure_ascii=False, allow_nan=False) + "\n",
    }
    with staged(folder) as staging, writing(f"the comparison '{folder}'"):
        renamed({staging / name: text for name, text in texts.items()})
