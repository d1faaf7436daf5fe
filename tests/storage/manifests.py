"""Change files and manifests of finished runs as their writers would, with hashes and seal that fit."""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from headroles.storage.integrity.manifest import manifest_text


def change_manifest(folder: Path, change: Callable[[dict[str, Any]], Any] = lambda record: None) -> None:
    """Change the record of a manifest in place, and seal it anew."""
    file = folder / "manifest.json"
    record = json.loads(file.read_text(encoding="utf-8"))
    change(record)
    file.write_text(manifest_text(record), encoding="utf-8")


def hash_again(folder: Path) -> None:
    """Write the hashes of all files into the manifest as they are now, without those that are missing."""

    def update(record: dict[str, Any]) -> None:
        record["files"] = {
            name: sha256((folder / name).read_bytes()).hexdigest()
            for name in record["files"]
            if (folder / name).is_file()
        }

    change_manifest(folder, update)


def unseal(folder: Path) -> None:
    """Make a manifest one of format 1, which had no number and no seal."""
    file = folder / "manifest.json"
    record = json.loads(file.read_text(encoding="utf-8"))
    del record["format"], record["sha256"]
    file.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
