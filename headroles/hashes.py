"""SHA-256 of the files of a run, which its manifest keeps."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from headroles.folder import BEFORE, EXAMPLES, FIGURES, MOMENTS, PLAN, SCORES, SHARDS, manifest_in

LASTING = frozenset({SCORES, EXAMPLES, MOMENTS, FIGURES, PLAN, SHARDS, BEFORE})
"""What a run folder may hold that does not depend on how scores are judged."""


def digests(contents: Mapping[str, str | bytes]) -> dict[str, str]:
    """SHA-256 of files by their names, from what they hold.

    Example:
        >>> digests({"a": "text", "b": b"text"}) == dict.fromkeys("ab", digests({"": "text"})[""])
        True
    """
    return {
        name: sha256(each.encode() if isinstance(each, str) else each).hexdigest()
        for name, each in contents.items()
    }


def held(folder: Path) -> dict[str, str]:
    """SHA-256 of the files of a run that every outcome leaves as they are.

    They are as its manifest says, so that what was altered since is not taken for right; where there is no
    manifest, or it says nothing, as they are.
    """
    said = manifest_in(folder).get("files")
    if isinstance(said, dict):
        return {name: digest for name, digest in said.items() if name.split("/")[0] in LASTING}
    found = [folder / EXAMPLES, folder / MOMENTS, *(folder / SCORES).glob("part-*.parquet")]
    return digests(
        {each.relative_to(folder).as_posix(): each.read_bytes() for each in found if each.is_file()}
    )
