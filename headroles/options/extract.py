"""Options of ``headroles extract``, with the names of the command line and of ``extract()``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headroles.errors import BadInput, UnknownName
from headroles.options.run import DEVICES, DTYPES, check_name, typed_options
from headroles.records.objects import DataObject, ModelObject
from headroles.storage.integrity.leftovers import has_leftover
from headroles.storage.map_files import KINDS, file_form


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractOptions:
    """Options of storing attention maps; ``headroles.extract`` documents each.

    Raises:
        UnknownName: For a precision or device that does not exist.
        BadInput: For numbers out of range, or a file that cannot be written where it is named.
    """

    file: str | DataObject
    out: str = ""
    model: str | ModelObject | None = None
    revision: str | None = None
    word_level: bool = False
    precision: str = "float16"
    limit: int | None = None
    max_length: int = 128
    batch_size: int = 16
    device: str = "auto"
    dtype: str = "float32"
    overwrite: bool = False

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        allowed = (("precision", KINDS), ("device", DEVICES), ("dtype", DTYPES))
        for name, known in allowed:
            if getattr(self, name) not in known:
                raise UnknownName(name, getattr(self, name), tuple(known))
        for name, least in (("limit", 1), ("max_length", 4), ("batch_size", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise BadInput(f"{name} must be a whole number of at least {least}, but got {value}")
        if self.revision is not None and self.model is None:
            raise BadInput("--revision is that of a model on the hub, so --model must name the model")
        target = Path(self.out)
        file_form(target)
        check_name(target)
        for path in (target, target.with_suffix(".json")):
            if isinstance(self.file, str) and path.resolve() == Path(self.file).resolve():
                raise BadInput(f"'{path}' would be written over the inputs; give another --out")
            if path.exists() and not self.overwrite and not is_unfinished(target):
                raise BadInput(f"'{path}' is there already; give --overwrite to replace it, or another --out")


def extract_options_of(**given: Any) -> ExtractOptions:
    """Return options from given values, converting paths and numpy numbers.

    Raises:
        UnknownName: For an option, precision or device that does not exist.
        BadInput: For values of another type or out of range.

    Example:
        >>> extract_options_of(file="texts.json", out="maps.npz").precision
        'float16'
    """
    return typed_options(ExtractOptions, given)


def is_unfinished(target: Path) -> bool:
    """Return whether a killed command put maps in their place, but not yet their list."""
    return not target.with_suffix(".json").exists() and has_leftover(target.parent, f"{target.name}.list")
