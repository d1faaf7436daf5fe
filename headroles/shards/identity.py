"""The identity of a run: a digest of everything besides the inputs that decides scores.

Shards with equal identity and equal inputs have equal scores, so they need not be scored again.
"""

import json
import os
import sys
from collections.abc import Iterable
from functools import cache
from glob import glob
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from types import CodeType
from typing import Any

from headroles.sieves import base
from headroles.sieves.base import Sieve
from headroles.stats.decision import BETTING

PACKAGE = Path(__file__).parents[1]
"""The folder of the package headroles."""
SIEVES = Path(base.__file__).parent
"""The folder of the sieves, which need not lie in that of the package."""
SCORING_LIBRARIES = ("torch", "transformers", "tokenizers", "numpy", "spacy")
"""Libraries whose versions can change scores."""
SETTINGS_AFTER_SCORING = frozenset(
    {
        "margin", "alpha", "test", "correction", "family", "resamples", "resample_seed", "interval",
        "bayes", "maps", "method", "clusters", "draws", "decided",
    }
)  # fmt: skip
"""Settings that are used only after scoring."""
NOT_SCORING = (
    "cli", "comparing", "judging", "parser", "preprocessing", "reports", "runs/probe/trained", "samples",
    "shards/engines", "stats", "terminal", "exporting.py", "planning.py", "viewing",
)  # fmt: skip
"""Folders and files of the package that cannot change scores (the parser has its own digest)."""

WORDS = {
    "settings": "settings", "code": "version or code of headroles", "weights": "model weights",
    "configuration": "model configuration", "tokenizer": "tokenizer", "parser": "parser",
    "vectors": "word vectors", "sieves": "code of sieves", "versions": "versions of libraries",
    "device": "device or precision", "frequencies": "frequencies of tokens in the inputs",
    "documents": "gold documents", "loss": "loss", "maps": "stored maps",
}  # fmt: skip
"""Names of the components of an identity, as messages show them."""


def identity_of(components: dict[str, Any]) -> str:
    """Return the SHA-256 of all components, that is of everything besides the inputs that decides scores."""
    return sha256(json.dumps(components, sort_keys=True, default=str).encode()).hexdigest()


def name_differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Name the components in which two identities differ.

    Example:
        >>> name_differences({"weights": "a", "parser": None}, {"weights": "b", "parser": None})
        ['model weights']
    """
    plain = json.loads(json.dumps(now, default=str))
    return [words for name, words in WORDS.items() if before.get(name) != plain.get(name)]


def scoring_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that decide scores; of tests only the one by which inputs are left out."""
    kept = {name: value for name, value in settings.items() if name not in SETTINGS_AFTER_SCORING}
    return kept | ({"test": BETTING} if settings.get("test") == BETTING else {})


@cache
def version_of(name: str) -> str:
    """Return the version of an installed library; it is read once, as a process keeps what it has loaded."""
    return version(name)


def library_versions() -> dict[str, str]:
    """Return the versions of the libraries that can change scores."""
    return {name: version_of(name) for name in SCORING_LIBRARIES}


def code() -> str:
    """Return the version of headroles and a digest of its modules that decide scores.

    The digest does not depend on how the package is installed.
    """
    files = _modules(PACKAGE) | {f"sieves/{name}": file for name, file in _modules(SIEVES).items()}
    others = tuple(f"{path}/" for path in NOT_SCORING)
    digest = sha256()
    for name in sorted(name for name in files if not f"{name}/".startswith(others)):
        with open(files[name], "rb") as file:
            digest.update(name.encode() + b"\0" + file.read())
    return f"{version_of('headroles')} {digest.hexdigest()}"


def _modules(folder: Path) -> dict[str, str]:
    """Return the files of all modules below a folder, by their path in it with slashes."""
    names = glob("**/*.py", root_dir=folder, recursive=True)
    return {name.replace(os.sep, "/"): os.path.join(folder, name) for name in names}


def sieves_digest(sieves: Iterable[Sieve]) -> dict[str, str]:
    """Return digests of the code of all sieves that are not part of headroles, by name of the sieve."""
    digests = {}
    for sieve in sieves:
        parts = [type(sieve), *(value for value in _field_values(sieve) if callable(value))]
        names = {getattr(part, "__module__", "") or "" for part in parts}
        modules = sorted(name for name in names if name.split(".")[0] not in ("headroles", "builtins", ""))
        if modules:
            digest = sha256()
            for module in modules:
                digest.update(_module_bytes(module))
            for part in parts:
                digest.update(_code_bytes(getattr(part, "__code__", None)))
            digests[sieve.name] = digest.hexdigest()
    return digests


def _field_values(sieve: Sieve) -> list[Any]:
    """Return the values of the fields of a sieve."""
    names = getattr(sieve, "__dataclass_fields__", None) or getattr(sieve, "__dict__", {})
    return [getattr(sieve, name, None) for name in names]


def _module_bytes(name: str) -> bytes:
    """Return the source of a module and of the package that contains it; nothing where there is no file."""
    module = sys.modules.get(name)
    file = Path(getattr(module, "__file__", None) or "")
    top = sys.modules.get(name.split(".")[0])
    folders = [Path(folder) for folder in getattr(top, "__path__", ())]
    files = {file, *(path for folder in folders for path in folder.rglob("*.py"))}
    return b"\0".join(path.read_bytes() for path in sorted(files) if path.is_file())


def _code_bytes(code: CodeType | None) -> bytes:
    """Return the code of a function as bytes, without memory addresses; it may come from no file."""
    if code is None:
        return b""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    plain = [constant for constant in code.co_consts if not isinstance(constant, CodeType)]
    own = code.co_code + repr((plain, code.co_names)).encode()
    return own + b"".join(_code_bytes(constant) for constant in inner)
