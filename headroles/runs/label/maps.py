"""Label stored attention maps from any source (``label --attention``); no model is run."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from headroles.arrays import checked_attention, selection_of, visible_keys
from headroles.errors import BadInput
from headroles.extraction.texts.sources import fingerprint
from headroles.extraction.texts.tokens import example_of
from headroles.inputs.annotation import AnnotatedSieves, load_annotation
from headroles.judging.scores import judge_scores
from headroles.maps.examples import MapExample, MapList, read_map_list
from headroles.options.label import LabelOptions
from headroles.plans.scorers import score_layer
from headroles.progress import Progress, ignore_progress, progress_counter
from headroles.records.example import Arc, Example, Scores
from headroles.records.findings import Labelling
from headroles.reports.page import page_of
from headroles.runs.collect import units_of
from headroles.runs.manifest import RunScores, manifest_of, omission_notes
from headroles.shards.receipts import with_score_bounds
from headroles.sieves import BUILT_IN
from headroles.sieves.base import COUNTED, annotation_of
from headroles.sieves.selection import Selection
from headroles.sieves.weights.reference import apply
from headroles.stats.resolution import check_decision, check_resolution
from headroles.storage.folder import output_folder, stage_folder
from headroles.storage.map_files import MapFile
from headroles.storage.places import sha256_of
from headroles.storage.run import write_examples, write_part, write_results

NO_TEXT = "was left out: it needs words and trees, and the list of examples has neither these nor texts."


def label_stored_maps(options: LabelOptions, progress: Progress | None) -> Labelling:
    """Score stored maps, and judge the scores like those of a model that is run.

    Args:
        options: The options; ``attention`` is the file of maps; the list of the same name lies next to it.
        progress: Called with the inputs done and their total.

    Raises:
        HeadrolesError: One of its subclasses, in one sentence, with nothing left half-written.
    """
    file = Path(options.attention or "")
    selection = selection_of(options.sieve or None, preset=options.preset, statistic=options.statistic)
    check_decision(options.decision)
    folder = output_folder(options.out, options.settings(), options.overwrite)
    with MapFile.open(file) as maps:
        map_list = _read_list(file, options.name)
        passages = [example.tokenised.passage for example in map_list.examples]
        units = units_of(passages)
        annotation = _load_annotation(options, selection, map_list)
        examples = list(_examples(annotation, map_list))
        annotation = _applicable(annotation, options, examples)
        with nullcontext() if folder is None else stage_folder(folder) as place:
            scored = _score_maps(_Maps(maps, map_list, examples, units, annotation), options, progress)
            source = {
                "kind": "maps",
                "name": str(options.attention),
                "rows": len(passages),
                "sha256": fingerprint(passages),
            }
            judgement = judge_scores(scored.scores, scored.rules, options, options.decision)
            labelling = replace(
                judgement,
                manifest=manifest_of(options, source, scored),
                skipped=tuple(omission_notes(options, scored)),
            )
            if place is not None:
                write_part(place, 0, labelling.scores)
                write_examples(place, labelling.scores)
                write_results(place, labelling, page_of(labelling))
    return labelling


@dataclass(frozen=True, slots=True, eq=False)
class _Maps:
    """Stored maps, their list, examples and units, and the sieves that score them."""

    file: MapFile
    map_list: MapList
    examples: list[Example]
    units: list[str]
    annotation: AnnotatedSieves

    @property
    def selection(self) -> Selection:
        return self.annotation.selection


def _read_list(file: Path, name: str) -> MapList:
    """Read the list of a file of maps; a SHA-256 in the list must be that of the file."""
    map_list = read_map_list(file, name)
    if map_list.sha256 is not None and map_list.sha256 != sha256_of(file):
        raise BadInput(
            f"a list of examples is of its own file of maps, but '{file.with_suffix('.json')}' names another "
            f"SHA-256 than that of '{file}'; put back its own maps, or drop 'sha256' from the list where the "
            f"same maps were only stored again"
        )
    return map_list


def _load_annotation(options: LabelOptions, selection: Selection, map_list: MapList) -> AnnotatedSieves:
    """Load the parser and vectors that the sieves need, if there is a text to parse."""
    open_texts = [
        example.tokenised.passage
        for example in map_list.examples
        if example.tree is None and example.parsable
    ]
    if not open_texts or not selection.needs - COUNTED:
        return replace(load_annotation(options, _without_words(selection), []), selection=selection)
    return load_annotation(options, selection, open_texts)


def _without_words(selection: Selection) -> Selection:
    """Return the sieves that need no words."""
    return replace(selection, sieves=tuple(sieve for sieve in selection.sieves if sieve.needs <= COUNTED))


def _examples(annotation: AnnotatedSieves, map_list: MapList) -> Iterator[Example]:
    """Yield the examples with the words and trees of the list, or those of the parser."""
    needed = annotation.selection.needs - COUNTED
    for listed_example in map_list.examples:
        if (
            listed_example.tree is None
            and listed_example.parsable
            and needed
            and annotation.annotator is not None
        ):
            passage = listed_example.tokenised.passage
            words = annotation.annotator.words([passage])[0]
            yield example_of(
                listed_example.tokenised,
                words,
                True,
                annotation.lexicon.lexical(listed_example.tokenised, words),
            )
        else:
            yield _as_listed(listed_example)


def _as_listed(listed_example: MapExample) -> Example:
    """Return an example with the words and the tree of the list."""
    plain = example_of(listed_example.tokenised, None, arcs=False)
    arcs = None
    if listed_example.tree is not None:
        pairs = zip(listed_example.tree.heads.tolist(), listed_example.tree.relations, strict=True)
        arcs = tuple(Arc(word, head, relation) for word, (head, relation) in enumerate(pairs) if head >= 0)
    word = plain.word if listed_example.word is None else listed_example.word
    return Example(
        plain.key, plain.tokens, plain.segment, plain.special, plain.first, word, arcs, plain.group
    )


def _applicable(
    annotation: AnnotatedSieves, options: LabelOptions, examples: Sequence[Example]
) -> AnnotatedSieves:
    """Keep the sieves whose annotation every example has; note the built-in ones that lack it."""
    available = frozenset.intersection(*(annotation_of(example) for example in examples))
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
    kept_sieves = tuple(
        sieve for sieve in fitting.sieves if sieve.needs <= available and sieve.name in BUILT_IN
    )
    notes = tuple(f"{sieve.name} {NO_TEXT}" for sieve in lacking)
    return replace(
        annotation, selection=replace(fitting, sieves=kept_sieves), omitted=(*annotation.omitted, *notes)
    )


def _score_maps(maps: _Maps, options: LabelOptions, progress: Progress | None) -> RunScores:
    """Score every head of every example by every sieve, one map in memory at a time."""
    selection, count = maps.selection, len(maps.examples)
    rules = selection.rules(options.margin)
    advance = progress_counter(progress or ignore_progress, count)
    scored: list[_ExampleScores] = []
    shape: tuple[int, ...] | None = None
    for listed_example, example in zip(maps.map_list.examples, maps.examples, strict=True):
        attention = maps.file[listed_example.array]
        if shape is not None and attention.shape[:2] != shape:
            raise BadInput(
                f"all maps are of one model, but those of {example.key!r} have {attention.shape[:2]} "
                f"layers and heads, and those before {shape}"
            )
        weights = checked_attention(attention, example, sinks=maps.map_list.sinks)
        if shape is None:
            shape = weights.shape[:2]
            check_resolution(options.decision, rules, *shape)
        scored.append(_score_example(weights, listed_example, example, selection))
        advance(1)
    scores = Scores(
        sieves=selection.columns,
        examples=tuple(example.key for example in maps.examples),
        units=tuple(maps.units),
        tokens=np.array([example.size for example in maps.examples], dtype=np.int64),
        cells=np.stack([example_scores.cells for example_scores in scored], axis=1),
        values=np.stack([example_scores.values for example_scores in scored], axis=1).astype(np.float32),
        null=np.stack([example_scores.null for example_scores in scored], axis=1),
    )
    low, high = (
        np.fmin.reduce([example_scores.low for example_scores in scored]),
        np.fmax.reduce([example_scores.high for example_scores in scored]),
    )
    rules = with_score_bounds(rules, low, high, scores.null, len(selection.scorers))
    described = _model_description(maps.map_list.model, str(options.attention), scores)
    return RunScores(
        scores,
        rules,
        described,
        maps.annotation.parser,
        0,
        vectors=maps.annotation.vectors,
        omitted=maps.annotation.omitted,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _ExampleScores:
    """Scores of one example (columns, layers, heads), and the counts and bounds of its plans (columns,).

    Where layers see different keys, cells are the largest number of any layer.
    """

    values: np.ndarray
    cells: np.ndarray
    null: np.ndarray
    low: np.ndarray
    high: np.ndarray


def _score_example(
    weights: np.ndarray, listed_example: MapExample, example: Example, selection: Selection
) -> _ExampleScores:
    """Score every head of an example by every column."""
    layers, heads = weights.shape[:2]
    if listed_example.reach is not None and len(listed_example.reach) != layers:
        raise BadInput(
            f"'visible' of example {example.key!r} has one pair for each of its {layers} layers, but "
            f"got {len(listed_example.reach)}"
        )
    columns = len(selection.columns)
    values = np.full((columns, layers, heads), np.nan)
    cells, low, high = (np.full(columns, np.nan) for _ in range(3))
    null = np.array([rule.null for rule in selection.rules()])
    read = visible_keys(weights, None) if listed_example.reach is None else None
    plans: dict[object, Any] = {}
    for layer in range(layers):
        rule = None if listed_example.reach is None else listed_example.reach[layer]
        seen = (
            read
            if listed_example.reach is None
            else visible_keys(weights[layer : layer + 1], listed_example.visible(layer))
        )
        if rule not in plans:
            plan = plans[rule] = selection.plan(example, seen, np.float64)
            masks = plan.columns
            cells[:masks] = np.fmax(cells[:masks], plan.cells)
            low[:masks], high[:masks] = np.fmin(low[:masks], plan.low), np.fmax(high[:masks], plan.high)
        plan = plans[rule]
        values[:masks, layer] = apply(plan, weights[layer])
        for row, scorer in enumerate(selection.scorers, start=masks):
            values[row, layer] = score_layer(scorer, weights[layer], example, seen)
            null[row] = scorer.null(example)
    return _ExampleScores(values, cells, null, low, high)


def _model_description(model: dict[str, Any], file: str, scores: Scores) -> dict[str, Any]:
    """Return the description of the model from the list and the maps."""
    usual = {"name": Path(file).stem, "origin": "stored maps", "device": "none", "dtype": "as stored"}
    facts = usual | model | {"layers": scores.layers, "heads": scores.heads, "capture": "stored maps"}
    return {"tokenizer": "unknown", "threads": 1} | facts
