"""Open a file of attention maps with its list as a source that the jobs of a run read like a model."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from headroles.arrays import checked_attention, visible_keys
from headroles.errors import BadInput
from headroles.extraction.capture.method import CaptureMethod
from headroles.extraction.capture.readers import VisibleArray
from headroles.extraction.parsing.annotate import Annotator
from headroles.extraction.source import STORED, ExampleMaps, StoredMaps, StoredTokens
from headroles.extraction.texts.tokens import Tokenised
from headroles.inputs.annotation import AnnotatedSieves, load_annotation
from headroles.maps.examples import Bounds, MapExample, Reach, read_map_list
from headroles.options.label import Options
from headroles.records.example import Example
from headroles.records.layers import stored_stack
from headroles.sieves import BUILT_IN
from headroles.sieves.base import COUNTED
from headroles.sieves.selection import Selection
from headroles.storage.map_files import MapFile
from headroles.storage.places import sha256_of

UNCLEANED = (
    "Stored maps have no tokenizer: the preset 'published' counts pairs of the texts as they are, and not "
    "those that the released notebooks look up in cleaned texts."
)
NO_TEXT = "was left out: it needs words and trees, and the list of examples has neither these nor texts."


@contextmanager
def open_stored_maps(file: Path, name: str) -> Iterator[StoredMaps]:
    """Open a file of maps, with the list of the same name next to it; the file is closed when the block ends.

    Args:
        file: File of the maps.
        name: First part of the keys.

    Raises:
        BadInput: When file or list cannot be read, the list is of other maps, or the first maps break a rule.
    """
    with MapFile.open(file) as maps:
        listed, digest = read_map_list(file, name), sha256_of(file)
        if listed.sha256 is not None and listed.sha256 != digest:
            raise BadInput(
                f"a list of examples belongs to one file of maps, but '{file.with_suffix('.json')}' names "
                f"another SHA-256 than that of '{file}'; restore the maps of the list; or, if the same "
                "maps were only stored again, remove 'sha256' from the list"
            )
        examples = {example.tokenised.passage.key: example for example in listed.examples}
        first = listed.examples[0]
        shape = maps[first.array].shape[:2]
        reader = MapReader(maps, examples, shape, listed.sinks)
        shown = reader(first.tokenised).visible
        causal = all(visible is not None and not np.triu(visible, 1).any() for visible in shown)
        facts = {"maps_sha256": digest, "list_sha256": sha256_of(file.with_suffix(".json"))}
        stack = stored_stack(listed.model, int(shape[0]))
        yield StoredMaps(
            tokenizer=StoredTokens({key: example.tokenised for key, example in examples.items()}),
            layers=int(shape[0]),
            heads=int(shape[1]),
            way=CaptureMethod(STORED, causal=causal, numbers=stack.numbers),
            described=_description(listed.model, file)
            | stack.described
            | {"heads": int(shape[1]), "capture": STORED}
            | facts,
            load=reader,
        )


@dataclass(frozen=True, slots=True, eq=False)
class MapReader:
    """Reads and checks the maps of one example; all examples have the same layers and heads.

    Attributes:
        file: The arrays by name.
        examples: The examples by key.
        shape: Layers and heads.
        sinks: Whether rows may sum to less than 1.
    """

    file: MapFile | Mapping[str, np.ndarray]
    examples: Mapping[str, MapExample]
    shape: tuple[int, ...]
    sinks: bool

    def __call__(self, given: Tokenised) -> ExampleMaps:
        """Return the maps of an example and the keys that its queries see.

        Raises:
            BadInput: When they are of another model, are no attention, or hide a key that gets attention.
        """
        listed = self.examples[given.passage.key]
        array = self.file[listed.array]
        key, example = given.passage.key, Example(given.passage.key, given.tokens)
        if array.shape[:2] != self.shape:
            raise BadInput(
                f"all maps must be from one model, but those of {key!r} have {array.shape[:2]} layers and "
                f"heads, and those before {self.shape}"
            )
        if array.ndim != 4 or array.shape[2:] != (given.size, given.size) or array.size == 0:
            checked_attention(array, example)  # says what shape it should have
        weights = np.empty(array.shape, dtype=np.float32)
        for layer in range(len(array)):  # a copy of all layers would take much memory
            weights[layer] = checked_attention(array[layer : layer + 1], example, sinks=self.sinks)[0]
        return ExampleMaps(weights, self._visible(listed, weights))

    def _visible(self, listed: MapExample, weights: np.ndarray) -> list[VisibleArray]:
        """Return the keys that the queries of each layer see; equal rules give one array."""
        layers, rules = len(weights), listed.reach
        if rules is None:
            return [visible_keys(weights, None)] * layers
        if len(rules) != layers:
            raise BadInput(
                f"'visible' of example {listed.tokenised.passage.key!r} has one pair for each of its "
                f"{layers} layers, but got {len(rules)}"
            )
        known: dict[Reach | Bounds, VisibleArray] = {}
        shown = []
        for layer, rule in enumerate(rules):
            if rule not in known:
                mask = listed.visible(layer)
                known[rule] = None if mask is None or mask.all() else mask
            visible = known[rule]
            if visible is not None:
                visible_keys(weights[layer : layer + 1], visible)
            shown.append(visible)
        return shown


def _description(model: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """Return the description of the model from its list, as far as it can be used."""
    texts = {"name": file.stem, "origin": STORED, "architecture": "unknown", "device": "none"} | {
        "dtype": "as stored", "tokenizer": "unknown"
    }  # fmt: skip
    facts: dict[str, Any] = {
        name: value for name, value in model.items() if value is None or isinstance(value, str | int | float)
    }
    facts |= {name: usual for name, usual in texts.items() if not isinstance(facts.get(name), str)}
    for name in ("kv_heads", "missing_weights"):
        value, kind = model.get(name), int if name == "kv_heads" else str
        if isinstance(value, list) and all(type(item) is kind for item in value):
            facts[name] = value
    if type(facts.get("threads")) is not int:
        facts["threads"] = 1
    return facts


def annotate_maps(options: Options, selection: Selection, maps: StoredMaps) -> AnnotatedSieves:
    """Return the sieves whose annotation every example of a list of maps has, and what provides it.

    Texts without a tree of the list are parsed. Built-in sieves that lack annotation are left out with a
    sentence.

    Args:
        options: Options of the run, which name parser and vectors.
        selection: The sieves.
        maps: The maps.

    Raises:
        BadInput: When a sieve that was named lacks its annotation, or parser or vectors cannot be used.
    """
    open_texts = [passage for passage in maps.passages if passage.words is None]
    if not open_texts and selection.needs - COUNTED:
        plain = tuple(sieve for sieve in selection.sieves if sieve.needs <= COUNTED)
        annotation = load_annotation(options, replace(selection, sieves=plain), [])
        annotation = replace(annotation, selection=selection, annotator=Annotator(None))
    else:
        annotation = load_annotation(options, selection, open_texts)
    annotation = annotation.counted(maps.tokenizer, maps.passages, 0)
    available = frozenset.intersection(
        *(_annotation_kinds(given, annotation) for given in maps.tokenizer.inputs.values())
    )
    found = _applicable(annotation, options, available)
    return replace(found, notes=(*found.notes, UNCLEANED)) if found.selection.cleaned else found


def _annotation_kinds(given: Tokenised, annotation: AnnotatedSieves) -> frozenset[str]:
    """Return the annotation that an example has, from the list or from the parser."""
    lexicon, parsed = annotation.lexicon, given.passage.words is None and annotation.annotator is not None
    listed = given.word is not None and bool((given.word >= 0).any())
    carried = {
        "words": parsed or listed,
        "arcs": parsed or bool(given.passage.words),
        "mentions": given.passage.mentions is not None,
        "likeness": parsed and (lexicon.lemmas or lexicon.vectors is not None),
        "frequencies": lexicon.frequency is not None,
    }
    return frozenset(need for need, there in carried.items() if there)


def _applicable(annotation: AnnotatedSieves, options: Options, available: frozenset[str]) -> AnnotatedSieves:
    """Keep the sieves whose annotation is available; note the built-in ones that lack it."""
    fitting = annotation.selection.fitting(available)
    lacking = [sieve for sieve in fitting.sieves if not sieve.needs <= available]
    if not lacking:
        return replace(annotation, selection=fitting)
    if options.sieve:
        raise BadInput(
            f"the sieve {lacking[0].name!r} needs {' and '.join(sorted(lacking[0].needs - available))}, "
            f"which the list of examples does not hold; give 'texts' and 'spans' in it, or 'word', 'heads' "
            f"and 'relations'"
        )
    sieves = tuple(sieve for sieve in fitting.sieves if sieve.needs <= available and sieve.name in BUILT_IN)
    notes = tuple(f"{sieve.name} {NO_TEXT}" for sieve in lacking)
    return replace(
        annotation, selection=replace(fitting, sieves=sieves), omitted=(*annotation.omitted, *notes)
    )
