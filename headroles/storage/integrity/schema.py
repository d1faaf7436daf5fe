"""The JSON Schema of manifests, by which every reader checks the folders that it may have received."""

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from headroles.errors import shorten, shorten_quotes

MANIFEST_SCHEMA = "manifest.schema.json"


def schema_text(name: str) -> str:
    """Return a JSON Schema (draft 2020-12) of the package as text, by the name of its file."""
    return (resources.files("headroles.storage") / "schemas" / name).read_text(encoding="utf-8")


@cache
def _validator(kind: str) -> Any:
    """Return the validator of manifests of a kind; 2.0 is no whole number, as it is none where it is used."""
    from jsonschema import Draft202012Validator, validators

    checker = Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    )
    whole = validators.extend(Draft202012Validator, type_checker=checker)
    schema = json.loads(schema_text(MANIFEST_SCHEMA))
    if kind not in schema["properties"]["kind"]["enum"]:
        raise ValueError(f"no folder is of the kind {shorten(kind)}")
    return whole({"$ref": f"#/$defs/{kind}", "$defs": schema["$defs"]})


def check_manifest(record: Mapping[str, Any]) -> None:
    """Check the types and ranges of a manifest without format and seal, as its kind has them.

    Raises:
        ValueError: Naming the first field that is wrong, and what it holds.
    """
    from jsonschema.exceptions import best_match

    error = best_match(_validator(str(record.get("kind", "run"))).iter_errors(record))
    if error is not None:
        field = error.json_path.removeprefix("$").removeprefix(".")
        where = f"the field {field}" if field else "the manifest"
        raise ValueError(f"{where} is wrong: {shorten_quotes(error.message)}")
