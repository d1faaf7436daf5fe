"""JSON Schema (draft 2020-12) of an atlas: its manifest and the rows of its tables, by their records."""

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_type_hints

from headroles.records.assessment import SeveralRoles
from headroles.records.atlas.across import Consensus, StepTrend
from headroles.records.atlas.atlas import NUMBERS, Agreement, AtlasRun
from headroles.records.brief import field_meanings

TYPES: Mapping[type, dict[str, Any]] = {
    int: {"type": "integer"},
    float: {"type": ["number", "null"]},
    str: {"type": "string"},
    tuple[int, ...]: {"type": "array", "items": {"type": "integer", "minimum": 0}},
}
"""Schema of a cell by its type; a number without a value is an empty cell, and null in JSON."""
SHARES = frozenset(
    {"p", "q", "p_not", "q_not", "p_all", "q_all", "r", "heterogeneity", "depth", "stability", "reference"}
)
"""Columns in [0, 1]."""
COUNTS = frozenset(
    {"layer", "head", "heads", "count", "runs", "held", "at_least", "blocks", "examples", "units"}
)
"""Columns that are not negative."""
WORDS = {
    "combination": ["fisher", "bonferroni"],
    "trend": ["rises", "falls", "undetermined", "untestable"],
}
"""Columns with one of some words."""
RUN = {"run": (str, "Name of the run, as in the manifest.")}
PLACE = {
    "sieve": (str, "The role."),
    "layer": (int, "Layer of the head, from 0."),
    "head": (int, "Index of the head in its layer, from 0."),
    "depth": (float, "Relative depth of the layer, (layer + 1/2) / blocks."),
}
NUMBER_MEANINGS = {
    "count": "Units with a score.",
    "mean": "Mean score.",
    "low": "Lower end of its 95 % interval.",
    "high": "Upper end.",
    "threshold": "Mean chance value plus the margin.",
    "effect": "(Mean − threshold) / standard deviation.",
    "p": "One-sided p of the role, before correction.",
    "q": "`p` corrected.",
    "p_not": "One-sided p of “not”, before correction.",
    "q_not": "`p_not` corrected.",
    "stability": "How often fresh samples of the inputs give the role, 0 to 1.",
}
"""What the numbers of ``findings.csv`` mean."""
FINDING_COLUMNS: Mapping[str, tuple[type, str]] = (
    RUN
    | PLACE
    | {name: (int if name == "count" else float, NUMBER_MEANINGS[name]) for name in NUMBERS}
    | {"verdict": (str, "The outcome in words; `role` for heads that hold the role.")}
)
"""Type and meaning of the columns of ``findings.csv``."""


def atlas_schema() -> dict[str, Any]:
    """Return the schema of the manifest of an atlas; ``$defs`` has that of a row of every table.

    A row is an object with the columns as names. An empty cell of a number is null.
    """
    run = _object(_columns(AtlasRun))
    run["additionalProperties"] = True
    run["properties"]["facts"] = {"type": "object", "description": "Facts of the manifest of the run."}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:headroles:atlas:1",
        "title": "Atlas of headroles",
        "description": "Several label runs together. This is the schema of manifest.json; $defs has those of "
        "the rows of the tables.",
        "type": "object",
        "required": [
            "format",
            "headroles",
            "kind",
            "command",
            "settings",
            "runs",
            "versions",
            "files",
            "sha256",
        ],
        "properties": {
            "format": {"const": 2},
            "headroles": {"type": "string", "description": "Version of headroles."},
            "kind": {"const": "atlas"},
            "command": {"type": "string", "pattern": "^headroles atlas "},
            "settings": {
                "type": "object",
                "required": ["runs", "steps", "parts"],
                "properties": {
                    "runs": {"type": "array", "minItems": 2, "items": {"type": "string"}},
                    "steps": {"type": "boolean", "description": "Whether runs are steps of one training."},
                    "parts": {"type": "boolean", "description": "Whether runs are parts of one corpus."},
                },
            },
            "runs": {"type": "array", "minItems": 2, "items": {"$ref": "#/$defs/run"}},
            "remarks": {"type": "array", "items": {"type": "string"}},
            "versions": {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
            "files": {"type": "object", "additionalProperties": {"$ref": "#/$defs/sha256"}},
            "sha256": {"$ref": "#/$defs/sha256"},
        },
        "$defs": {
            "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "run": run,
            "findings": _object(FINDING_COLUMNS),
            "several": _object(RUN | _columns(SeveralRoles)),
            "agreement": _object(_columns(Agreement)),
            "consensus": _object(_columns(Consensus)),
            "trends": _object(_columns(StepTrend)),
        },
    }


def atlas_schema_text() -> str:
    """Return the schema as the text of ``atlas.schema.json``."""
    return json.dumps(atlas_schema(), indent=1, ensure_ascii=False) + "\n"


def _columns(record: type) -> dict[str, tuple[type, str]]:
    """Return type and meaning of every field of a record."""
    hints, meanings = get_type_hints(record), field_meanings(record)
    return {field.name: (hints[field.name], meanings[field.name]) for field in fields(record)}


def _object(columns: Mapping[str, tuple[type, str]]) -> dict[str, Any]:
    """Return the schema of a row with these columns and no other."""
    return {
        "type": "object",
        "required": list(columns),
        "additionalProperties": False,
        "properties": {
            name: _cell(name, kind) | {"description": text} for name, (kind, text) in columns.items()
        },
    }


def _cell(name: str, kind: type) -> dict[str, Any]:
    """Return the schema of a cell by its column and type."""
    if name in WORDS:
        return {"enum": WORDS[name]}
    bounds: dict[str, Any] = {"minimum": 0} if name in COUNTS | SHARES else {}
    return TYPES[kind] | bounds | ({"maximum": 1} if name in SHARES else {})
