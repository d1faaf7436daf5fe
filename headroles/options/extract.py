"""Options of storing attention maps, and of converting files of older tools."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from headroles.addresses import check_place
from headroles.errors import BadInput
from headroles.options.described import Option, check_values
from headroles.options.shared import (
    BATCH_SIZE,
    DEVICE,
    DEVICE_MAP,
    DTYPE,
    FIRST,
    GROUP,
    KIND,
    LIMIT,
    MAX_LENGTH,
    MODEL,
    OUT,
    OVERWRITE,
    REVISION,
    SEED,
    TASK,
    check_devices,
    check_subset,
)
from headroles.records.objects import DataObject, ModelObject
from headroles.storage.integrity.switch import after_name, is_switching
from headroles.storage.map_files import FORMS, KINDS, file_form


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractOptions:
    """Options of storing attention maps; ``headroles.extract`` documents each.

    Raises:
        UnknownName: For a precision or device that does not exist.
        BadInput: For numbers out of range, or a file that cannot be written where it is named.
    """

    file: Annotated[
        str | DataObject,
        Option(
            "JSON objects with texts.",
            "Inputs",
            path=True,
            argument=True,
            python="str | Path | Any",
            in_python="Or a list of dictionaries, texts or pairs, a DataFrame, or a datasets.Dataset.",
        ),
    ]
    out: Annotated[
        str,
        OUT.but(
            detail="A .safetensors or .npz file; a .json file of the same name lists the maps.", required=True
        ),
    ] = ""
    model: Annotated[str | ModelObject | None, MODEL] = None
    revision: Annotated[str | None, REVISION] = None
    word_level: Annotated[
        bool,
        Option("Sum attention to the pieces of a word, and average attention from them.", "Questions"),
    ] = False
    as_published: Annotated[
        bool,
        Option(
            "Write maps as extract_attention.py of Clark et al. (2019) does: token types are all 0, and with "
            "--word-level attention from a word is that of its first piece.",
            "Questions",
        ),
    ] = False
    precision: Annotated[str, Option("Precision of the maps.", "Output", choices=tuple(KINDS))] = "float16"
    group: Annotated[str | None, GROUP.but(default="group")] = None
    kind: Annotated[str | None, KIND.but(default="encoder; self for models with one stack")] = None
    limit: Annotated[int | None, LIMIT] = None
    first: Annotated[int | None, FIRST] = None
    seed: Annotated[int, SEED] = 0
    max_length: Annotated[int, MAX_LENGTH.but(detail="Longer inputs are left out.")] = 128
    batch_size: Annotated[int, BATCH_SIZE] = 32
    device: Annotated[str, DEVICE] = "auto"
    device_map: Annotated[str | None, DEVICE_MAP] = None
    dtype: Annotated[str, DTYPE] = "float32"
    overwrite: Annotated[bool, OVERWRITE] = False

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        check_values(self)
        check_devices(self.device, self.device_map)
        check_subset(self.limit, self.first)
        if self.kind == "cross":
            raise BadInput(
                "a map has the same text in rows and columns, but cross attention has two texts; give "
                "--kind encoder or --kind decoder"
            )
        if self.revision is not None and self.model is None:
            raise BadInput("--revision is that of a model on the hub, so --model must name the model")
        target = Path(self.out)
        file_form(target)
        check_place(target)
        for path in (target, target.with_suffix(".json")):
            if isinstance(self.file, str) and path.resolve() == Path(self.file).resolve():
                raise BadInput(f"'{path}' would be written over the inputs; give another --out")
            if path.exists() and not self.overwrite and not is_unfinished(target):
                raise BadInput(f"'{path}' is there already; give --overwrite to replace it, or another --out")


NEW_ENDINGS = (".safetensors", ".npz", ".parquet", ".csv", ".jsonl")
"""Endings of files that are made from those of older tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertOptions:
    """Options of converting a file of an older tool; ``headroles.convert_old`` documents each.

    Raises:
        BadInput: For a file that cannot be written where it is named.
    """

    old: Annotated[
        str,
        Option(
            "A pickle or a JSON file of an older tool, or a folder of sieve scores.",
            "Inputs",
            path=True,
            argument=True,
        ),
    ]
    out: Annotated[
        str,
        OUT.but(
            detail="Maps end in .safetensors or .npz, scores in .parquet or .csv, labels in .csv, and trees "
            "in .jsonl.",
            required=True,
        ),
    ] = ""
    task: Annotated[
        str | None, TASK.but(detail="Its scores are taken from a folder with those of several tasks.")
    ] = None
    tokens: Annotated[
        str | None,
        Option(
            "JSON list with a list of tokens for each input, for maps that lack them.", "Inputs", path=True
        ),
    ] = None
    score_name: Annotated[
        str | None, Option("Name of the scores in the new table.", "Output", default="that of the file")
    ] = None
    overwrite: Annotated[bool, OVERWRITE] = False

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        check_values(self)
        target = Path(self.out)
        if target.suffix not in NEW_ENDINGS:
            raise BadInput(f"the new file ends in {', '.join(NEW_ENDINGS)}, but got '{target}'")
        check_place(target)
        paths = [target, target.with_suffix(".json")] if target.suffix in FORMS else [target]
        for path in paths:
            if path.resolve() == Path(self.old).resolve():
                raise BadInput(f"'{path}' would be written over the old file; give another --out")
            if path.exists() and not self.overwrite and not is_unfinished(target):
                raise BadInput(f"'{path}' is there already; give --overwrite to replace it, or another --out")


def is_unfinished(target: Path) -> bool:
    """Return whether a killed command put maps or their list in their place, but not yet the other."""
    return is_switching(target.parent, after_name(target.name))
