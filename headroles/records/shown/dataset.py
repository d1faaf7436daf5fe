"""A run as an xarray dataset: scores and findings as arrays with named axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

    from headroles.records.findings import Labelling

HEAD_AXES = ("sieve", "layer", "head")
SCORE_AXES = ("sieve", "input", "layer", "head")
INPUT_AXES = ("sieve", "input")


def dataset_of(run: Labelling) -> xr.Dataset:
    """Return scores and findings of a run as a dataset. ``Labelling.to_xarray`` says what it holds."""
    import xarray as xr

    scores, findings = run.scores, run.findings
    rows = [scores.sieves.index(name) for name in findings.sieves]
    table = run.frame()
    shape = findings.count.shape
    variables: dict[str, Any] = {
        "score": (SCORE_AXES, scores.values[rows]),
        "chance": (INPUT_AXES, scores.null[rows]),
        "queries": (INPUT_AXES, scores.cells[rows]),
    }
    for name in table.columns.drop(["sieve", "layer", "head"]):
        values = table[name].to_numpy()
        variables[name] = (
            HEAD_AXES,
            (values.astype(str) if values.dtype == object else values).reshape(shape),
        )
    coordinates: dict[str, Any] = {
        "sieve": np.array(findings.sieves, dtype=str),
        "input": np.array(scores.examples, dtype=str),
        "layer": scores.stack.positions,
        "head": np.arange(shape[2]),
        "role": ("sieve", np.array([rule.role for rule in findings.rules])),
        "unit": ("input", np.array(scores.units, dtype=str)),
        "tokens": ("input", scores.tokens),
    }
    return xr.Dataset(variables, coords=coordinates, attrs=_facts(run))


def _facts(run: Labelling) -> dict[str, str | float]:
    """Return model, task and decision, in types that files of arrays can hold."""
    model = run.manifest.get("model")
    facts: dict[str, Any] = {
        "model": model.get("name") if isinstance(model, Mapping) else None,
        "task": run.manifest.get("task"),
        "headroles": run.manifest.get("headroles"),
        "test": run.decision.test,
        "correction": run.decision.correction,
        "family": run.decision.family,
        "alpha": run.decision.alpha,
        "folder": run.folder,
    }
    return {name: value for name, value in facts.items() if isinstance(value, str | float)}
