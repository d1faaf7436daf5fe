"""Models and inputs that are given as Python objects instead of names, and the records of them in options.

An object is recognised without importing its library, because the program that made it has imported it. The
name of a record says what the object is, and has the start of a SHA-256 of its content, so that runs of
other objects differ.
"""

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from headroles.errors import BadInput, describe_object

PRECISIONS = ("float32", "bfloat16", "float16")
SHOWN = 12
"""Digits of a SHA-256 in the name of an object."""
NAME = re.compile(rf".+ \(sha256 [0-9a-f]{{{SHOWN}}}\)")
ROWS_AT_ONCE = 512
"""Rows of a table that are converted at a time."""
TEXT, TEXT_A, TEXT_B, GROUP = "text", "text_a", "text_b", "group"
"""Columns of texts without names of their own, and those that dictionaries have by default."""
NOUNS = {
    "table": ("row", "rows"),
    "texts": ("text", "texts"),
    "pairs": ("pair", "pairs"),
    "dictionaries": ("dictionary", "dictionaries"),
}
"""Forms of inputs, and the words for one row and for several."""
TABLES = {"pandas.core.frame": "DataFrame", "datasets.arrow_dataset": "Dataset"}
"""Classes of tables by their module."""
BYTES_AT_ONCE = 2**24
"""Bytes of a weight that are hashed at a time."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ModelObject:
    """A loaded model with its tokenizer, or a tokenizer alone.

    Attributes:
        network: The transformers model; None for a tokenizer alone.
        tokenizer: Its tokenizer.
        name: Class and the start of ``sha256``, as manifests show it.
        sha256: SHA-256 over names, types, shapes and values of all weights; "" for a tokenizer alone.
        dtype: Precision of the weights; "float32" for a tokenizer alone.
    """

    network: Any
    tokenizer: Any
    name: str
    sha256: str
    dtype: str

    def __repr__(self) -> str:
        """Return the name."""
        return f"<{self.name}>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DataObject:
    """Rows of inputs: a table, or a list of texts, pairs or dictionaries.

    Attributes:
        data: The object itself; every pass reads it again.
        form: As in ``NOUNS``.
        columns: Names of the columns; of dictionaries, those of the first.
        name: Form, number of rows and the start of ``sha256``, as manifests show it.
        sha256: SHA-256 over all rows.
    """

    data: Any
    form: str
    columns: tuple[str, ...]
    name: str
    sha256: str

    def __repr__(self) -> str:
        """Return the name."""
        return f"<{self.name}>"

    def rows(self, columns: Sequence[str] | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the place of each row, for errors, and its cells by column; missing cells are None.

        Args:
            columns: Columns that are read where a table reads them one by one; None for all.

        Raises:
            BadInput: For a row of another form than the first.
        """
        word = self.name.partition(" (")[0]
        for number, row in enumerate(_rows(self.data, self.form, columns)):
            place = f"{word}, row {number}"
            yield place, _checked(row, self.form, place)


def is_name(value: object) -> bool:
    """Return whether a text is the name of an object, as a manifest keeps it.

    Example:
        >>> is_name("BertModel in memory (sha256 53aa51172d14)"), is_name("bert-base-uncased")
        (True, False)
    """
    return isinstance(value, str) and NAME.fullmatch(value) is not None


def refuse_name(value: object) -> None:
    """Refuse the name of an object where the object itself is needed.

    Raises:
        BadInput: For a name that a manifest keeps of an object.
    """
    if is_name(value):
        raise BadInput(
            f"an object that was given in Python is not stored with its run, so {value} cannot be read; "
            f"give the object in Python, or save it and name the file or folder"
        )


def take_objects(
    given: Mapping[str, Any],
    *,
    model: bool = False,
    data: str = "",
    files: bool = False,
    weights: bool = True,
) -> dict[str, Any]:
    """Return the options that were given, with objects as records: models, their tokenizers, and inputs.

    A tokenizer becomes a part of its model, so that options hold no tokenizer. The precision of a model
    becomes the option ``dtype``.

    Args:
        given: Options by name.
        model: Whether there is an option ``model``, and with it ``tokenizer``.
        data: Name of the option of inputs, "data" or "file"; "" where inputs are not taken as objects.
        files: Whether a list of strings names files, and is not one of texts.
        weights: Whether the model itself is needed, not only its tokenizer.

    Raises:
        BadInput: For an object that is no model, tokenizer or table of inputs, or a model without tokenizer.
    """
    values = dict(given)
    if model and not {"model", "tokenizer"}.isdisjoint(values):
        tokenizer = values.pop("tokenizer", None)
        values["model"] = taken = _model_of(values.get("model"), tokenizer, weights)
        if isinstance(taken, ModelObject) and taken.network is not None:
            values["dtype"] = _dtype_of(taken, values.get("dtype"))
    if data in values:
        values[data] = _data_of(data, values[data], files)
    return values


def _is_path(value: object) -> bool:
    return value is None or isinstance(value, str | os.PathLike | ModelObject | DataObject)


def _is_a(value: object, module: str, name: str) -> bool:
    """Return whether a value is an instance of a class whose module somebody has imported."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)


def is_model(value: object) -> bool:
    """Return whether a value is a loaded transformers model."""
    return _is_a(value, "transformers.modeling_utils", "PreTrainedModel")


def _model_of(model: Any, tokenizer: Any, weights: bool) -> Any:
    """Return the record of a model and tokenizer, or the name of a model as it is."""
    if not _is_path(model) and not is_model(model):
        raise BadInput(f"model is a name, a folder or a transformers model, but got {describe_object(model)}")
    if is_model(model):
        return model_object(model if weights else None, tokenizer)
    if tokenizer is None:
        return model
    if weights or model is not None:
        raise BadInput(
            "tokenizer is that of a transformers model given as an object, but model is "
            f"{'None' if model is None else 'a name or folder'}, which has a tokenizer of its own; leave "
            "tokenizer out, or give model=AutoModel.from_pretrained(...)"
        )
    return model_object(None, tokenizer)


def model_object(model: Any, tokenizer: Any) -> ModelObject:
    """Return the record of a loaded model and its tokenizer.

    Args:
        model: A transformers model; None where only a tokenizer is needed.
        tokenizer: Its fast tokenizer.

    Raises:
        BadInput: For a tokenizer that is missing, of another kind or slow, or weights that cannot be read.
    """
    if tokenizer is None:
        raise BadInput(
            "a model given as an object needs its tokenizer, but tokenizer is missing; give "
            "tokenizer=AutoTokenizer.from_pretrained(...)"
        )
    if not _is_a(tokenizer, "transformers.tokenization_utils_base", "PreTrainedTokenizerBase"):
        raise BadInput(
            f"tokenizer is a transformers tokenizer, but got {describe_object(tokenizer)}; give "
            f"AutoTokenizer.from_pretrained(...)"
        )
    if not getattr(tokenizer, "is_fast", False):
        raise BadInput(
            "a tokenizer must be a fast one, with the position of each token in its text, but "
            f"{type(tokenizer).__name__} is not; give AutoTokenizer.from_pretrained(...)"
        )
    if model is None:
        return ModelObject(None, tokenizer, f"{type(tokenizer).__name__} in memory", "", PRECISIONS[0])
    kind = type(model).__name__
    dtype = str(model.dtype).removeprefix("torch.")
    if dtype not in PRECISIONS:
        raise BadInput(
            f"a model is read in {', '.join(PRECISIONS)}, but the {kind} is in {dtype}; convert it with "
            f"model.float()"
        )
    digest = _weights_digest(model)
    return ModelObject(model, tokenizer, f"{kind} in memory (sha256 {digest[:SHOWN]})", digest, dtype)


def _dtype_of(model: ModelObject, asked: Any) -> Any:
    """Return the precision of a model; refuse another one that was asked for."""
    if asked is not None and isinstance(asked, str) and asked in PRECISIONS and asked != model.dtype:
        raise BadInput(
            f"a model given as an object is read in its own precision, {model.dtype}, but dtype is {asked}; "
            f"leave dtype out, or convert the model with .to({asked})"
        )
    return model.dtype if asked is None else asked


def _weights_digest(model: Any) -> str:
    """Return the SHA-256 over names, types, shapes and values of all weights."""
    digest = sha256()
    for name, weights in sorted(model.state_dict().items()):
        if not hasattr(weights, "untyped_storage"):
            digest.update(json.dumps([name, str(weights)]).encode())
            continue
        if weights.device.type == "meta":
            raise BadInput(
                f"a model given as an object has its weights in memory, but {name!r} of the "
                f"{type(model).__name__} has none yet; load it with from_pretrained"
            )
        digest.update(json.dumps([name, str(weights.dtype), list(weights.shape)]).encode())
        plain = weights.detach().contiguous().flatten().view(sys.modules["torch"].uint8)
        for start in range(0, len(plain), BYTES_AT_ONCE):
            digest.update(plain[start : start + BYTES_AT_ONCE].cpu().numpy())
    return digest.hexdigest()


def _data_of(name: str, data: Any, files: bool) -> Any:
    """Return the record of inputs, or paths as they are."""
    if _is_path(data):
        return data
    listed = isinstance(data, list | tuple)
    if listed and files and all(_is_path(item) for item in data):
        return data
    if listed and not isinstance(data, list):
        raise BadInput(
            f"{name} as objects is a list, but got a tuple of {len(data)}; give a list of texts, of pairs "
            f"(tuples of two texts) or of dictionaries"
        )
    return data_object(data, name, files=files)


def data_object(data: Any, name: str = "data", *, files: bool = False) -> DataObject:
    """Return the record of inputs that are given as an object, after reading all of it once.

    Args:
        data: A pandas DataFrame, a ``datasets.Dataset``, or a list of strings, of pairs of strings or of
            dictionaries.
        name: Name of the option, for errors.
        files: Whether only dictionaries and tables are taken, as strings name files.

    Raises:
        BadInput: For another object, an empty one, or rows of several forms.

    Example:
        >>> data_object([("Is it late?", "It is late."), ("Who came?", "Ann came.")]).name
        'list of 2 pairs (sha256 92b9d95e97d1)'
    """
    table = next((kind for module, kind in TABLES.items() if _is_a(data, module, kind)), "")
    form = "table" if table else _form_of_list(data, name, files)
    columns = _columns(data, form)
    digest, count = sha256(json.dumps([form, columns]).encode()), 0
    for count, row in enumerate(_plain_rows(data, form), start=1):
        checked = _checked(row, form, f"{name}, row {count - 1}")
        digest.update(json.dumps(checked, default=_json_value).encode() + b"\n")
    if not count:
        raise BadInput(f"the data must hold at least one row, but the {table or 'list'} is empty")
    shown = f"{table or 'list'} of {count:,} {NOUNS[form][count > 1]}"
    return DataObject(
        data, form, columns, f"{shown} (sha256 {digest.hexdigest()[:SHOWN]})", digest.hexdigest()
    )


def _form_of_list(data: Any, name: str, files: bool) -> str:
    """Return the form of the items of a list, by the first one."""
    lists = "a list of dictionaries" if files else "a list of texts, pairs or dictionaries"
    paths = "one or several files" if files else "a file, a folder, an address"
    if not isinstance(data, list):
        raise BadInput(
            f"{name} is {paths}, a DataFrame, a datasets.Dataset or {lists}, but got {describe_object(data)}"
        )
    if not data:
        raise BadInput("the data must hold at least one row, but the list is empty")
    form = _form_of(data[0])
    if form is None or (files and form != "dictionaries"):
        raise BadInput(f"{name} as objects is {lists}, but the list holds {describe_object(data[0])}")
    return form


def _form_of(item: object) -> str | None:
    """Return the form of inputs that an item has; None for an unknown form."""
    if isinstance(item, str):
        return "texts"
    if isinstance(item, Mapping):
        return "dictionaries"
    if isinstance(item, list | tuple) and len(item) == 2 and all(isinstance(text, str) for text in item):
        return "pairs"
    return None


def _columns(data: Any, form: str) -> tuple[str, ...]:
    """Return the names of the columns of inputs."""
    if form == "texts":
        return (TEXT,)
    if form == "pairs":
        return (TEXT_A, TEXT_B)
    names = data[0] if form == "dictionaries" else getattr(data, "column_names", None) or data.columns
    columns = tuple(map(str, names))
    twice = next((name for name in columns if columns.count(name) > 1), None)
    if twice is not None:
        raise BadInput(
            f"every column of a table has a name of its own, but two are called {twice!r}; rename one"
        )
    return columns


def _rows(data: Any, form: str, columns: Sequence[str] | None) -> Iterator[Any]:
    """Yield the rows of inputs: dictionaries, or the items of a list as they are."""
    if form != "table":
        yield from data
    elif _is_a(data, "datasets.arrow_dataset", "Dataset"):
        known = [name for name in columns or () if name in data.column_names]
        plain = (data.select_columns(known) if known else data).with_format(None)
        for batch in plain.iter(batch_size=ROWS_AT_ONCE):
            for cells in zip(*batch.values(), strict=True):
                yield dict(zip(batch, cells, strict=True))
    else:
        for start in range(0, len(data), ROWS_AT_ONCE):
            yield from data.iloc[start : start + ROWS_AT_ONCE].to_dict("records")


def _plain_rows(data: Any, form: str) -> Iterator[Any]:
    """Yield the rows of inputs with all columns; images and sounds of a ``datasets.Dataset`` stay encoded."""
    if not _is_a(data, "datasets.arrow_dataset", "Dataset"):
        yield from _rows(data, form, None)
        return
    for table in data.with_format("arrow").iter(batch_size=ROWS_AT_ONCE):
        yield from table.to_pylist()


def _checked(row: Any, form: str, place: str) -> dict[str, Any]:
    """Return a row as cells by column, missing cells as None.

    Raises:
        BadInput: For an item of another form than the first.
    """
    if form != "table" and _form_of(row) != form:
        raise BadInput(
            f"{place}: all items of a list must be of one kind, {NOUNS[form][1]} as the first one, but "
            f"this is {describe_object(row)}; make them alike"
        )
    if form == "texts":
        return {TEXT: row}
    if form == "pairs":
        return {TEXT_A: row[0], TEXT_B: row[1]}
    return {str(name): _plain_value(value) for name, value in row.items()}


def _plain_value(value: Any) -> Any:
    """Return a cell without types of numpy; None for one without a value."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return None if _is_missing(value) else value


def _is_missing(value: object) -> bool:
    """Return whether a cell has no value: NaN, or pandas' own marks of missing values."""
    if isinstance(value, float):
        return value != value
    return type(value).__name__ in ("NAType", "NaTType")


def _json_value(value: Any) -> Any:
    """Return a value without a JSON type in a form that is the same in every process."""
    if isinstance(value, bytes):
        return sha256(value).hexdigest()
    if hasattr(value, "tolist"):
        return value.tolist()
    text = str(value)
    return type(value).__name__ if f"at {id(value):#x}" in text else text
