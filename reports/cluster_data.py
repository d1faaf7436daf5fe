"""What the page's script reads of clusters: compact numbers, ways to colour the map, and tables as files."""

import base64
import json

import numpy as np
from jaxtyping import Bool, Float

from headroles.records.clusters import Claim, Clustered, Neighbours
from headroles.reports.cluster_map import views
from headroles.reports.cluster_tree import leaves, reduced, scale_of
from headroles.reports.content import Summary
from headroles.reports.embedded import script_json
from headroles.reports.panel import SYMBOLS
from headroles.storage.tables import csv_of


def clusters_json(
    clustered: Clustered,
    summary: Summary,
    held: Bool[np.ndarray, "roles heads"],
    near: Neighbours,
    ordered: Float[np.ndarray, "heads heads"],
) -> str:
    """Columns by head, nearest heads, the order of the tree and the views of the map, as JSON.

    Args:
        clustered: The clusters.
        summary: Of the run, for its roles.
        held: Whether a head holds a role.
        near: Nearest heads.
        ordered: Distances in the order of the tree's leaves.
    """
    low, step = scale_of(ordered)
    columns = {
        "silhouette": clustered.silhouette,
        "stability": clustered.stability,
        "x": clustered.place[:, 0],
        "y": clustered.place[:, 1],
    }
    content = {
        "cluster": clustered.cluster.tolist(),
        "columns": {name: _packed(values, "<f8") for name, values in columns.items()},
        "near": _packed(near.head, "<u4"),
        "ends": {name: _packed(getattr(near, name), "<f4") for name in ("distance", "low", "high")},
        "order": leaves(clustered.linkage).tolist(),
        "scale": {"low": low, "step": step, "factor": reduced(ordered)[1]},
        "views": views(clustered, summary.combinations, held),
        "symbols": [SYMBOLS[role.symbol] for role in summary.roles],
        "files": {"claims.csv": csv_of(Claim, clustered.claims)},
    }
    return script_json(json.dumps(content, separators=(",", ":")))


def _packed(values: np.ndarray, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values.astype(kind)).tobytes()).decode("ascii")
