"""JSON Schema (draft 2020-12) of an atlas: its manifest and the rows of its tables, by their descriptions."""

import json
from typing import Any

from headroles.records.atlas.across import CONSENSUS, TRENDS
from headroles.records.atlas.atlas import AGREEMENT, FINDINGS, RUNS, SEVERAL_OF_RUNS

TABLES = (FINDINGS, SEVERAL_OF_RUNS, AGREEMENT, CONSENSUS, TRENDS)


def atlas_schema() -> dict[str, Any]:
    """Return the schema of the manifest of an atlas; ``$defs`` has that of a row of every table.

    A row is an object with the columns as names. An empty cell of a number is null.
    """
    run = RUNS.schema() | {"additionalProperties": True}
    run["properties"]["layers"] |= {"type": "array", "items": {"type": "integer", "minimum": 0}}
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
            **{table.file.removesuffix(".csv"): table.schema() for table in TABLES},
        },
    }


def atlas_schema_text() -> str:
    """Return the schema as the text of ``atlas.schema.json``."""
    return json.dumps(atlas_schema(), indent=1, ensure_ascii=False) + "\n"
