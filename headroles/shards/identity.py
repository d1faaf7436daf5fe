"""What decides the scores of a shard, beside its inputs: so that equal shards are known, and others too."""

import json
import sys
from collections.abc import Iterable
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from types import CodeType
from typing import Any

from headroles.sieves import base
from headroles.sieves.base import Sieve

PACKAGE = Path(__file__).parents[1]
"""The folder of headroles."""
SIEVES = Path(base.__file__).parent
"""The folder of its sieves, which may lie behind a link that ``rglob`` does not follow."""
DECIDING = ("torch", "transformers", "tokenizers", "numpy", "spacy")
"""Libraries whose versions decide scores."""
LATER = frozenset(
    {
        "margin", "alpha", "test", "correction", "family", "resamples", "resample_seed", "interval",
        "splits", "bayes", "maps",
    }
)  # fmt: skip
"""Settings that come in after scores are made."""
NOT_SCORING = (
    "cli", "comparing", "judging", "parser", "preprocessing", "probing", "reports", "samples",
    "shards/engines", "stats", "terminal", "exporting.py", "planning.py", "viewing.py",
)  # fmt: skip
"""Folders and files of the package that decide no score (the parser has a digest of its own)."""

WORDS = {
    "settings": "settings", "code": "version or code of headroles", "weights": "model weights",
    "configuration": "model configuration", "tokenizer": "tokenizer", "parser": "parser",
    "vectors": "word vectors", "sieves": "code of sieves", "versions": "versions of libraries",
    "device": "device or precision", "frequencies": "frequencies of tokens in the inputs",
}  # fmt: skip
"""What the components of an identity are called."""


def identity_of(components: dict[str, Any]) -> str:
    """SHA-256 over everything that decides the scores of a shard, beside its inputs."""
    return sha256(json.dumps(components, sort_keys=True, default=str).encode()).hexdigest()


def differing(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """What differs between the components of two identities, in words.

    Example:
        >>> differing({"weights": "a", "parser": None}, {"weights": "b", "parser": None})
        ['model weights']
    """
    plain = json.loads(json.dumps(now, default=str))
    return [said for name, said in WORDS.items() if before.get(name) != plain.get(name)]


def deciding(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings that decide scores."""
    return {name: value for name, value in settings.items() if name not in LATER}


def versions() -> dict[str, str]:
    """Versions of the libraries that decide scores."""
    return {name: version(name) for name in DECIDING}


def code() -> str:
    """The version of headroles and a digest of its modules that decide scores, however it is installed."""
    files = {file.relative_to(PACKAGE): file for file in PACKAGE.rglob("*.py")}
    files |= {"sieves" / file.relative_to(SIEVES): file for file in SIEVES.rglob("*.py")}
    digest = sha256()
    for name, file in sorted(files.items()):
        if not any(name.is_relative_to(place) for place in NOT_SCORING):
            digest.update(name.as_posix().encode() + b"\0" + file.read_bytes())
    return f"{version('headroles')} {digest.hexdigest()}"


def sieves_digest(sieves: Iterable[Sieve]) -> dict[str, str]:
    """Digests of the code of sieves that are not of headroles, by their names."""
    found = {}
    for each in sieves:
        asked = [type(each), *(value for value in _held(each) if callable(value))]
        names = {getattr(one, "__module__", "") or "" for one in asked}
        strange = sorted(name for name in names if name.split(".")[0] not in ("headroles", "builtins", ""))
        if strange:
            own = sha256()
            for name in strange:
                own.update(_module_bytes(name))
            for one in asked:
                own.update(_code_bytes(getattr(one, "__code__", None)))
            found[each.name] = own.hexdigest()
    return found


def _held(sieve: Sieve) -> list[Any]:
    """The values of a sieve's fields."""
    names = getattr(sieve, "__dataclass_fields__", None) or getattr(sieve, "__dict__", {})
    return [getattr(sieve, name, None) for name in names]


def _module_bytes(name: str) -> bytes:
    """The source of a module, and of the package around it; nothing where there is no file."""
    module = sys.modules.get(name)
    file = Path(getattr(module, "__file__", None) or "")
    top = sys.modules.get(name.split(".")[0])
    files = {file, *(each for place in getattr(top, "__path__", ()) for each in Path(place).rglob("*.py"))}
    return b"\0".join(each.read_bytes() for each in sorted(files) if each.is_file())


def _code_bytes(made: CodeType | None) -> bytes:
    """What a function does, for functions that come from no file; places in memory are left out."""
    if made is None:
        return b""
    inner = [each for each in made.co_consts if isinstance(each, CodeType)]
    plain = [each for each in made.co_consts if not isinstance(each, CodeType)]
    own = made.co_code + repr((plain, made.co_names)).encode()
    return own + b"".join(_code_bytes(each) for each in inner)
