"""Write the attention maps of texts to disk for other tools: ``extract()``."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headroles.arrays import ROUNDING
from headroles.errors import BadInput
from headroles.maps.writer import open_maps, size_in_bytes
from headroles.options.extract import ExtractOptions
from headroles.options.keywords import keywords_of
from headroles.records.objects import DataObject
from headroles.records.view import DECODER

if TYPE_CHECKING:
    from headroles.extraction.model.load import Model
    from headroles.extraction.texts.json_inputs import MapInput

ARRAY_FIELDS = ("attns", "segment", "first", "visible")
"""Fields that describe an array."""
TEXT_FIELDS = ("word", "texts", "spans")
"""Fields that describe its texts; inputs that give tokens may bring their own."""
INPUT = "input"
"""Field that holds those of the input with these names."""
SHARD = 64
"""Inputs run between two reports of progress; only one batch is in memory at a time."""


@dataclass(frozen=True, slots=True)
class ExtractedMaps:
    """Maps that were written, or are about to be.

    Attributes:
        file: File of the maps; the ``.json`` of the same name lists their examples.
        count: Number of inputs.
        long: Number of inputs left out because they have more tokens than allowed.
        layers: Number of layers.
        heads: Heads per layer.
        units: Tokens or words of all inputs together.
        kind: "tokens" or "words".
        size: Bytes of the maps.
    """

    file: Path
    count: int
    long: int
    layers: int
    heads: int
    units: int
    kind: str
    size: int

    def __str__(self) -> str:
        """Return the numbers in words."""
        left_out = f" ({self.long:,} longer ones left out)" if self.long else ""
        return (
            f"{self.count:,} inputs{left_out} of {self.units:,} {self.kind}, {self.layers} layers × "
            f"{self.heads} heads: {_size_in_words(self.size)} in {self.file}"
        )


@keywords_of(ExtractOptions, "file")
def extract(
    settings: ExtractOptions,
    *,
    announce: Callable[[ExtractedMaps], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ExtractedMaps:
    """Run a model on texts, and write an array (layers, heads, tokens, tokens) of attention for each input.

    The file has JSON objects, as a list or one a line (``.gz`` too), each with exactly one of ``text`` (a
    string, or a list of two for a pair), ``text_a`` (a string, with ``text_b`` for a pair, as
    ``convert pairs`` writes them), ``words`` (a list) or ``tokens`` (the model's own, special
    tokens included); all other fields are kept.

    Args:
        announce: Called before anything is written, with the maps to write and their size.
        progress: Called with the inputs done and their total.
        {options}

    Returns:
        The maps that were written.

    Raises:
        HeadrolesError: One of its subclasses, in one sentence, with nothing left half-written.

    Source: the layout of ``extract_attention.py`` of Clark et al. (2019), without its pickle.
    """
    from headroles.extraction.texts.files import check_present

    if not isinstance(settings.file, DataObject):
        check_present(settings.file)
    from headroles.extraction.model.borrow import borrow

    with borrow(settings.model):
        return _extract(settings, announce, progress)


def _extract(
    settings: ExtractOptions,
    announce: Callable[[ExtractedMaps], None] | None,
    progress: Callable[[int, int], None] | None,
) -> ExtractedMaps:
    """Load the model and the inputs, and write the maps."""
    from headroles.extraction.model.checkpoint import find_checkpoint
    from headroles.extraction.model.load import load
    from headroles.extraction.texts.json_inputs import map_inputs, name_groups, read_rows, split_sentences
    from headroles.extraction.texts.rows import object_rows

    given = settings.file
    place = given.name if isinstance(given, DataObject) else given
    rows = object_rows(given) if isinstance(given, DataObject) else read_rows(Path(given))
    rows = split_sentences(name_groups(rows, settings.group, place))
    numbers = _drawn(len(rows), settings)
    rows = [rows[number] for number in numbers]
    _check_pairs(rows, settings, place)
    checkpoint = find_checkpoint(settings.model, settings.revision)
    model = load(
        checkpoint,
        device=settings.device,
        device_map=settings.device_map,
        dtype=settings.dtype,
        max_length=settings.max_length,
        kind=settings.kind,
    )
    most = min(settings.max_length, model.limit or settings.max_length)
    all_items = map_inputs(model.tokenizer, rows, place, numbers)
    if settings.as_published:
        all_items = [_with_one_type(item) for item in all_items]
    items = [item for item in all_items if _longest_side(item) <= most]
    if not items:
        raise BadInput(
            f"inputs longer than {most} tokens are left out, but all {len(all_items)} of '{place}' "
            f"are; give a larger --max-length, or shorter texts"
        )
    _check_words(items, settings, place)
    return _write_maps(items, len(all_items) - len(items), model, settings, announce, progress)


def _drawn(count: int, settings: ExtractOptions) -> list[int]:
    """Return the numbers of the inputs to run: all, the first ones, or a random subset."""
    from headroles.extraction.texts.sources import draw_indices

    if settings.limit is None or settings.limit >= count:
        return list(range(count))[: settings.first]
    drawn: list[int] = draw_indices(count, settings.limit, settings.seed).tolist()
    return drawn


def _check_pairs(rows: Sequence[dict[str, Any]], settings: ExtractOptions, place: str) -> None:
    """Check that inputs of a decoder are pairs, because it reads the second text of each."""
    for row in rows if settings.kind == DECODER else ():
        if "text_b" not in row and not isinstance(row.get("text"), list):
            raise BadInput(
                f"a decoder reads the second text of a pair, but an object of '{place}' has none; "
                f"give 'text_a' and 'text_b', or 'text' as a list of two, or leave --kind out"
            )


def _with_one_type(item: "MapInput") -> "MapInput":
    """Return an input whose token types are all 0, where the model has token types."""
    inputs = dict(item.tokenised.inputs)
    if "token_type_ids" in inputs:
        inputs["token_type_ids"] = [0] * len(inputs["token_type_ids"])
    return replace(item, tokenised=replace(item.tokenised, inputs=inputs))


def _longest_side(item: "MapInput") -> int:
    """Return the number of tokens of an input, or that of the encoder's text where it is larger."""
    return max(item.tokenised.size, len(item.tokenised.inputs["input_ids"]))


def _check_words(items: Sequence["MapInput"], settings: ExtractOptions, place: str) -> None:
    """Check that the words of all inputs are known if maps of words are wanted."""
    tokens = sum(item.given == "tokens" for item in items)
    if settings.word_level and tokens:
        raise BadInput(
            f"--word-level needs to know the words, but {tokens} inputs of '{place}' give 'tokens'; "
            f"give 'words' or 'text', or leave --word-level out"
        )


def _write_maps(
    items: Sequence["MapInput"],
    long: int,
    model: "Model",
    settings: ExtractOptions,
    announce: Callable[[ExtractedMaps], None] | None,
    progress: Callable[[int, int], None] | None,
) -> ExtractedMaps:
    """Run the model on the inputs, longest first, and write the maps and their list."""
    from headroles.extraction.jobs.map_writer import KeyRanges, OffsetRange, WriteMapsJob, number_units
    from headroles.extraction.stream import stream_tokenised
    from headroles.progress import ignore_progress, progress_counter

    sizes = [
        int(number_units(item).max()) + 1 if settings.word_level else item.tokenised.size for item in items
    ]
    shapes = {str(number): (model.layers, model.heads, size, size) for number, size in enumerate(sizes)}
    target = Path(settings.out)
    total = size_in_bytes(list(shapes.values()), settings.precision)
    kind = "words" if settings.word_level else "tokens"
    extracted = ExtractedMaps(target, len(items), long, model.layers, model.heads, sum(sizes), kind, total)
    if announce is not None:
        announce(extracted)
    order = sorted(range(len(items)), key=lambda number: -sizes[number])
    shards = [order[start : start + SHARD] for start in range(0, len(order), SHARD)]
    advance = progress_counter(progress or ignore_progress, len(items))
    reaches: dict[int, list[OffsetRange | KeyRanges]] = {}
    with open_maps(target, shapes, settings.precision) as writing:
        arrays, by_first = list(writing.arrays.values()), settings.as_published
        job = WriteMapsJob(items, arrays, shards, settings.word_level, by_first=by_first)
        tokenised = ([items[number].tokenised for number in shard] for shard in shards)
        for reach_by_input in stream_tokenised(
            model, tokenised, job, batch_size=settings.batch_size, advance=advance
        ):
            reaches |= reach_by_input
        listed = {
            "headroles": version("headroles"),
            "model": model.described,
            "word_level": settings.word_level,
            **({"as_published": True} if settings.as_published else {}),
            "precision": settings.precision,
            "sinks": job.least < 1 - ROUNDING,
        }
        rows = [_row(item, number, reaches[number], settings) for number, item in enumerate(items)]
        writing.listed = partial(list_text, listed, rows, f"'{target}'")
    return extracted


def list_text(listed: dict[str, Any], rows: list[dict[str, Any]], place: str, digest: str) -> str:
    """Return the text of the list of the maps, with the SHA-256 of their file."""
    from headroles.extraction.texts.json_inputs import encode_json

    return encode_json(listed | {"sha256": digest, "examples": rows}, place) + "\n"


def _row(item: "MapInput", number: int, reach: Sequence[Any], settings: ExtractOptions) -> dict[str, Any]:
    """Return one example of the list: the object of the input, and the description of its array."""
    from headroles.extraction.jobs.map_writer import number_units

    pieces = item.tokenised
    segment, word = pieces.texts.tolist(), item.word.tolist()
    first = (pieces.class_id & (pieces.texts < 0)).tolist()
    written = ARRAY_FIELDS if item.given == "tokens" else ARRAY_FIELDS + TEXT_FIELDS
    row = {name: value for name, value in item.row.items() if name not in written}
    if settings.limit is not None:
        row = {"key": pieces.passage.key} | row
    own = {name: value for name, value in item.row.items() if name in (*written, INPUT)}
    row |= {INPUT: own} if own.keys() & {*written} else {}
    row |= {"tokens": list(pieces.tokens), "attns": str(number), "segment": segment}
    if item.given != "tokens":
        row |= {"word": word, "texts": list(pieces.passage.texts), "spans": pieces.spans.tolist()}
    if settings.word_level:
        units = number_units(item).tolist()
        first_pieces = [units.index(unit) for unit in range(max(units) + 1)]
        row["tokens"] = [_spelling(item, piece) for piece in first_pieces]
        row["segment"] = [segment[piece] for piece in first_pieces]
        row["word"] = [word[piece] for piece in first_pieces]
        row["spans"] = [_span(item, unit, units) for unit in range(max(units) + 1)]
        first = [first[piece] for piece in first_pieces]
    row["first"] = [position for position, opens in enumerate(first) if opens]
    if any(bounds != (None, None) for bounds in reach):
        row["visible"] = list(reach)
    return row


def _span(item: "MapInput", unit: int, units: Sequence[int]) -> list[int]:
    """Return the characters of a unit, from its first piece to its last."""
    members = [position for position, other in enumerate(units) if other == unit]
    spans = item.tokenised.spans
    return [int(spans[members[0], 0]), int(spans[members[-1], 1])]


def _spelling(item: "MapInput", piece: int) -> str:
    """Return a special token as it is, and a word as the text spells it."""
    pieces, word = item.tokenised, int(item.word[piece])
    if word < 0:
        return pieces.tokens[piece]
    members = [position for position, other in enumerate(item.word.tolist()) if other == word]
    text = pieces.passage.texts[int(pieces.texts[piece])]
    return text[int(pieces.spans[members[0], 0]) : int(pieces.spans[members[-1], 1])].strip()


def _size_in_words(size: int) -> str:
    """Return a number of bytes in words.

    Example:
        >>> _size_in_words(1_500_000), _size_in_words(3_200_000_000)
        ('1.5 MB', '3.2 GB')
    """
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"
