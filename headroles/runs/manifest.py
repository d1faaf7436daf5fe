"""Record everything that reproduces a run, and what the run left out, with a sentence for each note."""

import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headroles.extraction.texts.files import file_format
from headroles.options.label import Options
from headroles.options.run import CommonOptions
from headroles.plans.plan import LEFT_OUT
from headroles.presets import preset_of
from headroles.records.arrays import shared_keys_note
from headroles.records.example import Scores
from headroles.records.moments import GROUPS, Moments
from headroles.records.numbers import number
from headroles.records.roles import SWAP
from headroles.records.rules.names import SUMS
from headroles.records.rules.rule import Rule
from headroles.records.stops.look import stop_record, stop_words
from headroles.runs.scored import ScoredRun
from headroles.shards.identity import version_of
from headroles.sieves.selection import FEWEST_PAIRS
from headroles.stats.decision import ENOUGH_FOR_NOT

SHIFTED = (
    "the decoder reads the second text, shifted right by one token; in the row of a token the model "
    "predicts the next token"
)
ATTENTION_NOTES = {
    "encoder": "The encoder's attention is read; layers and heads are those of the encoder.",
    "decoder": f"The decoder's attention to its own tokens is read: {SHIFTED}.",
    "cross": (
        "Cross attention is read, from the decoder's tokens to those of the first text, which the "
        f"encoder reads: {SHIFTED}. What counts offsets, or the query's own text, does not apply to it."
    ),
}
"""By kind of attention, as manifests name it."""
NORM_NOTE = (
    "Attention is weighted by the norms of the values that it moves, with rows that sum to 1 "
    "(Kobayashi et al. 2020)."
)


FUSED_NOTE = "Scores come from the fused path: sums over attention whose weights were never formed."


TEXT_NOTE = "This model reads {} inputs, too. Only its attention over text is read."
"""Note on a model of several modalities, whose other parts do not run."""


def attention_notes(model: Mapping[str, Any]) -> list[str]:
    """Return sentences on which attention is read, its weights and its path, where they are not usual.

    Args:
        model: The model as a manifest describes it.

    Example:
        >>> attention_notes({"kind": "encoder"})
        ["The encoder's attention is read; layers and heads are those of the encoder."]
        >>> attention_notes({})
        []
    """
    kinds = [ATTENTION_NOTES[model["kind"]]] if model.get("kind") in ATTENTION_NOTES else []
    others = " and ".join(model.get("left_out", ()))
    text = [TEXT_NOTE.format(others)] if others else []
    fused = [FUSED_NOTE] if model.get("capture") == SUMS else []
    return [*kinds, *text, *([NORM_NOTE] if model.get("weights") == "norm" else []), *fused]


PACKAGES = (
    "torch", "transformers", "tokenizers", "numpy", "scipy", "scikit-learn", "statsmodels", "pandas", "spacy",
)  # fmt: skip


def manifest_of(options: Options, scored: ScoredRun) -> dict[str, Any]:
    """Return everything needed to reproduce a run of sieves, in JSON types."""
    preset = preset_of(options.preset)
    known, described = scored.facts.known, scored.facts.described
    return common_record(options, scored, known.noted["longest"]) | {
        **({"kept": kept_record(scored.scores, scored.moments)} if scored.moments else {}),
        **({"until": stop_record(scored.look, options.units_per_shard or 0)} if scored.look else {}),
        "task": options.task,
        "parser": known.parser,
        **({"vectors": known.vectors} if known.vectors else {}),
        "statistic": "published" if preset.warning else options.statistic,
        "notes": [
            *([preset.warning] if preset.warning else []),
            *attention_notes(described),
            *shared_keys_note(described),
        ],
    }


def common_record(options: CommonOptions, scored: ScoredRun, max_length: int) -> dict[str, Any]:
    """Return the record that all kinds of runs share; no time of day, so that equal runs are equal."""
    model = dict(scored.facts.described)
    tokenizer, threads = model.pop("tokenizer"), model.pop("threads")
    machine = model.pop("machine", {})
    counts = counts_of(scored.scores, scored.moments) | {"truncated": scored.truncated}
    return {
        "headroles": version_of("headroles"),
        "command": options.command(),
        "source": scored.source,
        "tokenizer": {"class": tokenizer, "max_length": max_length},
        "model": model,
        "preset": options.preset,
        "settings": options.settings(),
        "counts": counts,
        "versions": {"python": platform.python_version()} | {name: version_of(name) for name in PACKAGES},
        "machine": {
            "system": platform.platform(),
            "processor": platform.machine(),
            "threads": threads,
            **machine,
        },
    }


def kept_record(scores: Scores, moments: Moments) -> dict[str, Any]:
    """Return which scores are kept of a run with too many examples to keep all."""
    return {
        "mode": "moments",
        "groups": GROUPS,
        "examples": moments.examples,
        "subsample": len(scores.examples),
    }


def counts_of(scores: Scores, moments: Moments | None = None) -> dict[str, int]:
    """Count the examples, units and tokens of a run; no units where not all scores are kept."""
    if moments is not None:
        return {"examples": moments.examples, "tokens": moments.tokens}
    return {
        "examples": len(scores.examples),
        "units": len(set(scores.units)),
        "tokens": int(scores.tokens.sum()),
    }


def omission_notes(options: Options, scored: ScoredRun) -> list[str]:
    """Return what was cut, was not applicable or has too few units, one sentence each."""
    sums = scored.moments
    total = len(scored.scores.examples) if sums is None else sums.examples
    stop = None if scored.look is None else stop_record(scored.look, options.units_per_shard or 0)
    notes = [] if stop is None else [stop_words(stop)]
    notes += truncation_notes(scored.truncated, total, options.max_length)
    notes += scored.facts.known.omitted
    notes += partner_notes(scored.rules, scored.counts)
    notes += bound_notes(scored.rules, scored.counts)
    for position, rule in enumerate(scored.rules):
        nothing = "nothing in them can be counted"
        if rule.role and sums is not None:
            with_values = int(sums.spoke[position])
            notes += missing_notes(rule.sieve, sums.examples - with_values, sums.examples, nothing)
        elif rule.role:
            left = scored.counts.get(f"{LEFT_OUT}{rule.sieve}", 0)
            notes += column_notes(rule.sieve, scored.scores, position, nothing=nothing, left=left)
    notes += class_notes(scored)
    if options.parser is not None and scored.facts.known.parser is None:
        notes.append("--parser was not used: no sieve of this run needs words, or the inputs have their own.")
    if options.vectors is not None and scored.facts.known.vectors is None:
        notes.append("--vectors was not used: no sieve of this run needs word vectors.")
    if options.file and file_format(Path(options.file)) == ".conllu" and options.task is not None:
        notes.append(f"the inputs are the sentences of a CoNLL-U file, not the texts of {options.task}.")
    return notes


def partner_notes(rules: Sequence[Rule], counts: Mapping[str, int]) -> list[str]:
    """Return a note on the pairs of inputs that exchange layouts; none where no input has two texts.

    Args:
        rules: The rules that decide in the run.
        counts: Number of "pairs" of partners, and of inputs of two texts that are "alone".

    Example:
        >>> partner_notes([Rule("block", contrast="block:swap")], {"pairs": 40, "alone": 80})
        ['block is judged beyond position on 40 pairs of inputs (80 of 160 inputs have no partner).']
    """
    pairs, alone = counts.get("pairs", 0), counts.get("alone", 0)
    total, columns = 2 * pairs + alone, {rule.sieve for rule in rules}
    notes = []
    for rule in rules if total else ():
        name = rule.sieve
        if rule.contrast.endswith(SWAP):
            notes.append(
                f"{name} is judged beyond position on {pairs} pairs of inputs ({alone} of {total} inputs "
                f"have no partner)."
            )
        elif f"{name}{SWAP}" in columns:
            notes.append(
                f"the layouts of these inputs hardly vary, so {name} is judged beyond distance only. {pairs} "
                f"pairs of inputs have equal lengths and different boundaries; {FEWEST_PAIRS} are needed."
            )
    return notes


def bound_notes(rules: Sequence[Rule], counts: Mapping[str, int]) -> list[str]:
    """Return a note for every column that inputs were left out of, as they could score beyond its bounds.

    Args:
        rules: One per column.
        counts: Number of inputs left out, by ``LEFT_OUT`` and the name of the column.

    Example:
        >>> bound_notes([Rule("local", stated_low=-1.0, stated_high=1.0)], {"beyond bounds of local": 4})
        ['local is without 4 inputs, where scores could go beyond its stated bounds, −1 to 1.']
    """
    return [
        f"{rule.sieve} is without {count:,} input{'' if count == 1 else 's'}, where scores could go beyond "
        f"its stated bounds, {number(rule.stated_low)} to {number(rule.stated_high)}."
        for rule in rules
        if (count := counts.get(f"{LEFT_OUT}{rule.sieve}", 0))
    ]


def class_notes(scored: ScoredRun) -> list[str]:
    """Return a note on contrasts beyond word class without a value in any input; none where all have one."""
    sums, scores = scored.moments, scored.scores
    silent = [
        rule.stronger
        for rule in scored.rules
        if rule.stronger
        and (
            np.isnan(scores.values[scores.sieves.index(rule.stronger)]).all()
            if sums is None
            else not sums.spoke[[other.sieve for other in scored.rules].index(rule.stronger)]
        )
    ]
    reason = (
        "It needs words with a universal part of speech, and at least 20 sentences in each half of a shard."
    )
    return [f"no contrast beyond word class for {', '.join(silent)}. {reason}"] if silent else []


def subset_notes(first: int | None) -> list[str]:
    """Return a sentence on inputs that were taken from the first on; none where all or random ones were.

    Example:
        >>> subset_notes(30)
        ['only the first 30 inputs were read (--first); they are not a random sample.']
    """
    few = f"only the first {first} inputs were read (--first); they are not a random sample."
    return [] if first is None else [few]


def truncation_notes(truncated: int, total: int, max_length: int) -> list[str]:
    """Return a sentence on how many inputs were cut; none where none was."""
    cut = f"{truncated} of {total} inputs were cut to {max_length} tokens, longest text first."
    return [cut] if truncated else []


def column_notes(
    name: str,
    scores: Scores,
    position: int,
    *,
    nothing: str,
    few: dict[str, int] | None = None,
    enough: int = ENOUGH_FOR_NOT,
    left: int = 0,
) -> list[str]:
    """Return where a column had no value or a single unit, one sentence each, and count few units.

    Args:
        name: Name of the column.
        scores: Scores of the run.
        position: Position of the column.
        nothing: Why the column has no value for any input.
        few: Gets the number of units of the column by its name, where there are too few; None if unasked.
        enough: Units that are enough: by default those that a "not" needs.
        left: Inputs left out of the column, which have a note of their own.
    """
    silent = np.isnan(scores.values[position]).all(axis=(1, 2))
    units = scores.count_units(position)
    notes = missing_notes(name, int(silent.sum()) - left, len(silent), nothing)
    if units == 1:
        notes.append(f"{name} rests on 1 unit and cannot be tested. Give more inputs.")
    elif few is not None and 1 < units < enough:
        few[name] = units
    return notes


def few_unit_notes(few: Mapping[str, int], effect: str, enough: int = ENOUGH_FOR_NOT) -> list[str]:
    """Return one sentence on all columns with few units; none where all have enough.

    Args:
        few: Number of units of a column by its name.
        effect: What follows for heads.
        enough: Units that would be enough.

    Example:
        >>> few_unit_notes({"local": 20, "block": 18}, "no head is called 'not'")
        ["below 50 units, no head is called 'not': local (20 units), block (18 units)."]
    """
    columns = ", ".join(f"{name} ({units} units)" for name, units in few.items())
    return [f"below {enough} units, {effect}: {columns}."] if few else []


def missing_notes(name: str, silent: int, total: int, nothing: str) -> list[str]:
    """Return a sentence on how many inputs have no value in a column; none where all have one."""
    if silent == total:
        return [f"{name} does not apply to these inputs: {nothing}."]
    return [f"{name} had nothing to count in {silent} of {total} inputs."] if silent else []
