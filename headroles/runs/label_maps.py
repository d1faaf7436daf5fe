"""label --attention: stored maps, from anywhere, to a labelling; no model is run."""

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
from headroles.inputs.annotation import Annotated, annotated
from headroles.judging.scores import judged
from headroles.maps.examples import MapExample, MapList, read_map_list
from headroles.options.label import LabelOptions
from headroles.plans.scorers import per_head
from headroles.progress import Progress, counted
from headroles.records.example import Arc, Example, Scores
from headroles.records.findings import Labelling
from headroles.reports.page import page_of
from headroles.runs.collect import units_of
from headroles.runs.manifest import Scored, left_out, manifest_of
from headroles.shards.receipts import bounded
from headroles.sieves import BUILT_IN
from headroles.sieves.base import COUNTED, annotation_of
from headroles.sieves.selection import Selection
from headroles.sieves.weights.reference import apply
from headroles.stats.resolution import check_decision, check_resolution
from headroles.storage.folder import asked_for, staged
from headroles.storage.map_files import MapFile
from headroles.storage.places import sha256_of
from headroles.storage.run import write_examples, write_part, write_results

NO_TEXT = "was left out: it needs words and trees, and the list of examples has neither these nor texts."


def labelled_maps(chosen: LabelOptions, progress: Progress | None) -> Labelling:
    """Score stored maps and judge the scores as those of a model that runs.

    Args:
        chosen: The options; ``attention`` is the file of maps, with its list beside it.
        progress: Called with the inputs done and their total.

    Raises:
        HeadrolesError: One of its kinds, in one sentence, with nothing left half-written.
    """
    file = Path(chosen.attention or "")
    asked = selection_of(chosen.sieve or None, preset=chosen.preset, statistic=chosen.statistic)
    check_decision(chosen.decision)
    folder = asked_for(chosen.out, chosen.settings(), chosen.overwrite)
    with MapFile.open(file) as maps:
        listed = _listed(file, chosen.name)
        passages = [each.tokenised.passage for each in listed.examples]
        units = units_of(passages)
        known = _annotated(chosen, asked, listed)
        examples = list(_examples(known, listed))
        known = _fitting(known, chosen, examples)
        with nullcontext() if folder is None else staged(folder) as place:
            scored = _scored(_Maps(maps, listed, examples, units, known), chosen, progress)
            source = {
                "kind": "maps",
                "name": str(chosen.attention),
                "rows": len(passages),
                "sha256": fingerprint(passages),
            }
            found = judged(scored.scores, scored.rules, chosen, chosen.decision)
            labelling = replace(
                found,
                manifest=manifest_of(chosen, source, scored),
                skipped=tuple(left_out(chosen, scored)),
            )
            if place is not None:
                write_part(place, 0, labelling.scores)
                write_examples(place, labelling.scores)
                write_results(place, labelling, page_of(labelling))
    return labelling


@dataclass(frozen=True, slots=True, eq=False)
class _Maps:
    """Everything that is scored."""

    file: MapFile
    listed: MapList
    examples: list[Example]
    units: list[str]
    known: Annotated

    @property
    def selection(self) -> Selection:
        return self.known.selection


def _listed(file: Path, name: str) -> MapList:
    """The list beside a file of maps, which is of that very file where it says of which."""
    listed = read_map_list(file, name)
    if listed.sha256 is not None and listed.sha256 != sha256_of(file):
        raise BadInput(
            f"a list of examples is of the maps beside it, but '{file.with_suffix('.json')}' names another "
            f"SHA-256 than that of '{file}'; put back its own maps, or drop 'sha256' from the list where the "
            f"same maps were only stored anew"
        )
    return listed


def _annotated(chosen: LabelOptions, asked: Selection, listed: MapList) -> Annotated:
    """The parser and vectors that sieves read, where there is anything to parse."""
    open_texts = [each.tokenised.passage for each in listed.examples if each.tree is None and each.parsable]
    if not open_texts or not asked.needs - COUNTED:
        return replace(annotated(chosen, _counted(asked), []), selection=asked)
    return annotated(chosen, asked, open_texts)


def _counted(asked: Selection) -> Selection:
    """The sieves that read no words."""
    return replace(asked, sieves=tuple(each for each in asked.sieves if each.needs <= COUNTED))


def _examples(known: Annotated, listed: MapList) -> Iterator[Example]:
    """The examples with the words and trees they bring, or those of the parser."""
    wanted = known.selection.needs - COUNTED
    for each in listed.examples:
        if each.tree is None and each.parsable and wanted and known.annotator is not None:
            passage = each.tokenised.passage
            words = known.annotator.words([passage])[0]
            yield example_of(each.tokenised, words, True, known.lexicon.lexical(each.tokenised, words))
        else:
            yield _as_listed(each)


def _as_listed(each: MapExample) -> Example:
    plain = example_of(each.tokenised, None, arcs=False)
    arcs = None
    if each.tree is not None:
        pairs = zip(each.tree.heads.tolist(), each.tree.relations, strict=True)
        arcs = tuple(Arc(word, head, relation) for word, (head, relation) in enumerate(pairs) if head >= 0)
    word = plain.word if each.word is None else each.word
    return Example(
        plain.key, plain.tokens, plain.segment, plain.special, plain.first, word, arcs, plain.group
    )


def _fitting(known: Annotated, chosen: LabelOptions, examples: Sequence[Example]) -> Annotated:
    """The sieves whose annotation every example has; the usual ones that lack theirs are told of."""
    there = frozenset.intersection(*(annotation_of(each) for each in examples))
    fitting = known.selection.fitting(there)
    lacking = [each for each in fitting.sieves if not each.needs <= there]
    if not lacking:
        return replace(known, selection=fitting)
    if chosen.sieve:
        raise BadInput(
            f"the sieve {lacking[0].name!r} needs {' and '.join(sorted(lacking[0].needs - there))}, "
            f"which the list of examples has not; give 'texts' and 'spans' in it, or 'word', 'heads' and "
            f"'relations'"
        )
    kept = tuple(each for each in fitting.sieves if each.needs <= there and each.name in BUILT_IN)
    told = tuple(f"{each.name} {NO_TEXT}" for each in lacking)
    return replace(known, selection=replace(fitting, sieves=kept), omitted=(*known.omitted, *told))


def _scored(maps: _Maps, chosen: LabelOptions, progress: Progress | None) -> Scored:
    """Every head of every example by every sieve, one map in memory at a time."""
    selection, count = maps.selection, len(maps.examples)
    rules = selection.rules(chosen.margin)
    advance = counted(progress or (lambda done, total: None), count)
    made: list[_One] = []
    shape: tuple[int, ...] | None = None
    for each, example in zip(maps.listed.examples, maps.examples, strict=True):
        attention = maps.file[each.array]
        if shape is not None and attention.shape[:2] != shape:
            raise BadInput(
                f"all maps are of one model, but those of {example.key!r} have {attention.shape[:2]} "
                f"layers and heads, and those before {shape}"
            )
        weights = checked_attention(attention, example, sinks=maps.listed.sinks)
        if shape is None:
            shape = weights.shape[:2]
            check_resolution(chosen.decision, rules, *shape)
        made.append(_one(weights, each, example, selection))
        advance(1)
    scores = Scores(
        sieves=selection.columns,
        examples=tuple(example.key for example in maps.examples),
        units=tuple(maps.units),
        tokens=np.array([example.size for example in maps.examples], dtype=np.int64),
        cells=np.stack([one.cells for one in made], axis=1),
        values=np.stack([one.values for one in made], axis=1).astype(np.float32),
        null=np.stack([one.null for one in made], axis=1),
    )
    low, high = np.fmin.reduce([one.low for one in made]), np.fmax.reduce([one.high for one in made])
    rules = bounded(rules, low, high, scores.null, len(selection.scorers))
    described = _described(maps.listed.model, str(chosen.attention), scores)
    return Scored(
        scores,
        rules,
        described,
        maps.known.parser,
        0,
        vectors=maps.known.vectors,
        omitted=maps.known.omitted,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _One:
    """One example's scores (columns, layers, heads), and what its plans say beside them (columns,).

    Where layers see different keys, cells are the most of any of them.
    """

    values: np.ndarray
    cells: np.ndarray
    null: np.ndarray
    low: np.ndarray
    high: np.ndarray


def _one(weights: np.ndarray, each: MapExample, example: Example, selection: Selection) -> _One:
    layers, heads = weights.shape[:2]
    if each.reach is not None and len(each.reach) != layers:
        raise BadInput(
            f"'visible' of example {example.key!r} has one pair for each of its {layers} layers, but "
            f"{len(each.reach)} came"
        )
    columns = len(selection.columns)
    values = np.full((columns, layers, heads), np.nan)
    cells, low, high = (np.full(columns, np.nan) for _ in range(3))
    null = np.array([rule.null for rule in selection.rules()])
    read = visible_keys(weights, None) if each.reach is None else None
    plans: dict[object, Any] = {}
    for layer in range(layers):
        rule = None if each.reach is None else each.reach[layer]
        seen = read if each.reach is None else visible_keys(weights[layer : layer + 1], each.visible(layer))
        if rule not in plans:
            plan = plans[rule] = selection.plan(example, seen, np.float64)
            masks = plan.columns
            cells[:masks] = np.fmax(cells[:masks], plan.cells)
            low[:masks], high[:masks] = np.fmin(low[:masks], plan.low), np.fmax(high[:masks], plan.high)
        plan = plans[rule]
        values[:masks, layer] = apply(plan, weights[layer])
        for row, scorer in enumerate(selection.scorers, start=masks):
            values[row, layer] = per_head(scorer, weights[layer], example, seen)
            null[row] = scorer.null(example)
    return _One(values, cells, null, low, high)


def _described(model: dict[str, Any], file: str, scores: Scores) -> dict[str, Any]:
    """What the list says of the model, and what the maps say of it."""
    usual = {"name": Path(file).stem, "origin": "stored maps", "device": "none", "dtype": "as stored"}
    known = usual | model | {"layers": scores.layers, "heads": scores.heads, "capture": "stored maps"}
    return {"tokenizer": "unknown", "threads": 1} | known
