"""The two runs of a comparison, side by side."""

from collections.abc import Mapping
from typing import Any

from headroles.records.comparison import Comparison
from headroles.records.numbers import isolate, plural
from headroles.reports.words.words import heads_in_layers

TERMS = (
    ("folder", ("folder",)),
    ("command", ("command",)),
    ("model", ("model", "name")),
    ("revision", ("model", "revision")),
    ("architecture", ("model", "architecture")),
    ("weights SHA-256", ("model", "weights_sha256")),
    ("precision", ("model", "dtype")),
    ("task", ("task",)),
    ("inputs", ("source", "name")),
    ("inputs SHA-256", ("source", "sha256")),
    ("tokenizer", ("tokenizer", "class")),
    ("longest input", ("tokenizer", "max_length")),
    ("parser", ("parser", "name")),
    ("parser version", ("parser", "version")),
    ("preset", ("preset",)),
    ("statistic", ("statistic",)),
    ("units of its own", ("counts", "units")),
    ("headroles", ("headroles",)),
)
"""Entries of each run that the page shows, where its manifest has them."""
INPUTS = (("task",), ("source", "name"))


def subtitle(comparison: Comparison) -> str:
    """Return the inputs, and the numbers of examples, units, heads and layers."""
    manifest, heads = comparison.manifest, comparison.before.count.shape[2]
    inputs = [[_within(manifest.get(name, {}), path) for path in INPUTS] for name in ("a", "b")]
    parts = inputs[0] if inputs[0] == inputs[1] else [str(manifest.get("matched") or "")]
    for noun in ("example", "unit"):
        count = manifest.get("counts", {}).get(noun + "s")
        parts.append(plural(count, noun) if isinstance(count, int) else "")
    parts.append(heads_in_layers(comparison.stack, heads))
    return " · ".join(isolate(part) for part in parts if part)


def run_rows(manifest: Mapping[str, Any]) -> list[tuple[str, tuple[str, str], bool]]:
    """Return term, values of A and B, and whether they differ; terms that neither run has are left out."""
    rows = []
    for term, path in TERMS:
        first, second = (_within(manifest.get(name, {}), path) for name in ("a", "b"))
        if first or second:
            rows.append((term, (first, second), first != second))
    return rows


def _within(run: Any, path: tuple[str, ...]) -> str:
    """Return the value at a path of a manifest as text; "" where there is none."""
    for key in path:
        run = run.get(key) if isinstance(run, Mapping) else None
    return "" if run is None else str(run)
