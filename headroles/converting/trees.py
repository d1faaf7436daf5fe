"""Turn the old ``dev.json``, a list of words with their heads, into lines that probes and runs read."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headroles.errors import BadInput
from headroles.extraction.gold.jsonlines import document_of
from headroles.extraction.texts.json_inputs import encode_json
from headroles.storage.folder import write_errors, write_files


def has_old_trees(rows: Sequence[dict[str, Any]]) -> bool:
    """Return whether objects are words with heads and relations."""
    return (
        bool(rows) and {"words", "heads"} <= rows[0].keys() and bool({"relns", "relations"} & rows[0].keys())
    )


def write_trees(path: Path, rows: Sequence[dict[str, Any]], file: Path) -> int:
    """Write objects with trees, one a line, and return their number; ``relns`` is called ``relations``.

    Args:
        path: File of lines, ending in .jsonl.
        rows: The objects; other fields are kept.
        file: The old file, for messages.

    Raises:
        BadInput: When a tree breaks a rule, naming the object; or when the lines cannot be written.
    """
    lines = []
    for number, row in enumerate(rows):
        named = {"relations" if name == "relns" else name: value for name, value in row.items()}
        if not {"words", "heads", "relations"} <= named.keys():
            raise BadInput(
                f"'{file}', object {number}: every object has 'words', 'heads' and 'relns', but this one has "
                f"{', '.join(row) or 'none'}"
            )
        document_of(named, str(number), file, number + 1)
        encode_json(named, f"'{file}', object {number}")
        lines.append(json.dumps(named, ensure_ascii=False, allow_nan=False) + "\n")
    with write_errors(f"'{path}'"):
        write_files({path: "".join(lines)})
    return len(lines)
