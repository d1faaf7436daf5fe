"""Results of probes in words:

rows, heads, accuracies in per cent, and counted decisions. How the probes were run (halves, windows,
published values) comes from the manifest.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from headroles.records.findings import DECISIONS, Labelling
from headroles.records.numbers import isolate, percent, plural, points, with_range
from headroles.records.probes import ProbeResults, best_head_cell
from headroles.records.roles import phrase_of
from headroles.records.rules.rule import Decision
from headroles.records.table import Row, Table

TITLES = {
    "dependency": "Dependency relations",
    "coreference": "Coreference",
    "trees": "Trees",
}
QUESTIONS = {
    "dependency": (
        "Is the word that a word attends to most its head in the tree (→), or the word that attends to it "
        "most (←)?"
    ),
    "coreference": "Does a mention attend most to the head word of an earlier mention of the same entity?",
    "trees": "How much of the gold tree is the maximum spanning tree of a head's word attention?",
}
"""The question of every probe; special tokens and the word itself are left out."""
PUBLISHED = (
    "Published: BERT-base (cased or uncased is not stated), Clark et al. (2019). Other data, another "
    "annotation scheme, and the best of all heads chosen on the data it is reported on: for orientation only."
)
OUTCOMES = {"role": "beyond", "not": "not", "undetermined": "undetermined", "untestable": "untestable"}
"""A decision about one head, in the words of the best: beyond its baseline or not."""


def accuracy(record: Any, decimals: int = 1, field: str = "accuracy") -> str:
    """Return an accuracy of a record with its interval, in per cent."""
    return with_range(*(percent(getattr(record, name), decimals) for name in (field, "low", "high")))


def difference(best: Row, decimals: int = 1) -> str:
    """Return how far the best head of a row lies beyond its baseline, in points, with its interval."""
    ends = (best.difference, best.difference_low, best.difference_high)
    return with_range(*(points(value, decimals) for value in ends))


def beyond_rule(best: Iterable[Row]) -> str:
    """Return the condition under which a best head counts as beyond its baseline.

    Example:
        >>> beyond_rule([])
        'beyond: difference significantly above the margin'
    """
    margins = sorted({row.margin for row in best if not math.isnan(row.margin)})
    text = " or ".join(f"{100 * margin:g}" for margin in margins)
    return "beyond: difference significantly above the margin" + f" of {text} points" * bool(margins)


def probes_of(labelling: Labelling) -> ProbeResults:
    """Return the results of probes of a run, with the positions of their layers; empty in other runs."""
    probed, stack = labelling.probed or ProbeResults(None), labelling.scores.stack
    if stack.whole:
        return probed
    return replace(
        probed,
        best=probed.best.numbered(stack),
        gaps=probed.gaps.numbered(stack),
        weights=probed.weights.numbered(stack),
    )


def head_name(best: Row) -> str:
    """Return layer, head and direction of a row's best head; an en dash where none could be chosen."""
    return best_head_cell(best).text


def split_row(row: str) -> tuple[str, str]:
    """Return probe and short name of a row.

    Example:
        >>> split_row("dependency:nmod:poss")
        ('dependency', 'nmod:poss')
    """
    probe, _, name = row.partition(":")
    return probe, name or probe


def row_title(row: str, direction: str = "→") -> str:
    """Return a row of a probe in plain words; its own name where nothing better is known.

    Args:
        row: With the name of its probe.
        direction: "→" where the item's word attends, "←" where it is attended to, "" for neither.

    Example:
        >>> row_title("dependency:amod"), row_title("dependency:amod", "←")
        ('adjective → noun', 'adjective ← noun')
        >>> row_title("dependency:all"), row_title("coreference:pronoun"), row_title("trees:uuas")
        ('all relations', 'pronoun → earlier mention', 'uuas of whole trees')
    """
    probe, name = split_row(row)
    if probe == "dependency":
        title = "all relations" if name == "all" else phrase_of(f"syntactic:{name}").title
        return title.replace("→", direction) if direction else title
    if probe == "coreference":
        return f"{'any mention' if name == 'all' else name} → earlier mention"
    return f"{name} of whole trees" if probe == "trees" else name


def baseline_title(name: str) -> str:
    """Return a baseline in words: a fixed position by where it lies, any other by its name.

    Example:
        >>> baseline_title("-1"), baseline_title("+3"), baseline_title("nearest")
        ('the word before', 'the word 3 after', 'nearest')
    """
    if name[:1] not in ("+", "-") or not name[1:].isdigit():
        return isolate(name)
    far = "" if name[1:] == "1" else f"{name[1:]} "
    return f"the word {far}{'after' if name[0] == '+' else 'before'}"


def probe_title(probe: str) -> str:
    """Return the name of a probe in headings."""
    return TITLES.get(probe, probe)


def best_by_probe(best: Table) -> dict[str, Table]:
    """Return the best heads by probe: "all" first, then by falling number of items, as published."""
    groups: dict[str, list[int]] = {}
    rows = [*best]
    for place, row in enumerate(rows):
        groups.setdefault(split_row(row.row)[0], []).append(place)
    for places in groups.values():
        places.sort(key=lambda place: (split_row(rows[place].row)[1] != "all", -rows[place].items))
    return {probe: best.take(places) for probe, places in groups.items()}


def glossary(decision: Decision, beyond: str) -> tuple[tuple[str, str], ...]:
    """Return what the words of the page mean.

    Args:
        decision: Of the run.
        beyond: The condition under which a best head counts as beyond its baseline.
    """
    level = f"{100 * decision.alpha:g}\u00a0%"
    return (
        (
            "item, unit",
            "An item is a word with a right answer. A unit is the document it comes from. Standard "
            "errors are clustered by unit.",
        ),
        (
            "right",
            "Right answers over all items of a row. Items without one in reach are left out.",
        ),
        (
            "baseline",
            "A rule that needs no model, such as “always the word before”. Heads must beat the best one, "
            "chosen on other data.",
        ),
        ("beyond", f"{beyond} q is adjusted over the rows of a probe: {level} of them may be false."),
        ("not", "The difference lies significantly below the margin."),
        ("undetermined", "The units do not decide."),
        ("contrast", "Attention on the right word beyond what the head gives to words at that distance."),
    )


def count_decisions(labelling: Labelling) -> dict[str, Counter[str]]:
    """Count decisions over heads, directions and rows by probe."""
    findings, counts = labelling.findings, dict[str, Counter[str]]()
    for name in findings.roles:
        codes = findings.decision[findings.of(name)].ravel().tolist()
        counts.setdefault(split_row(name)[0], Counter()).update(OUTCOMES[DECISIONS[code]] for code in codes)
    return counts


def counts_text(counts: Counter[str]) -> str:
    """Return the numbers of decisions over heads in one line.

    Example:
        >>> counts_text(Counter(beyond=3, undetermined=1))
        '3 beyond, 0 not, 1 undetermined of 4'
    """
    parts = [f"{counts[name]:,} {name}" for name in ("beyond", "not", "undetermined")]
    parts += [f"{counts['untestable']:,} untestable"] * (counts["untestable"] > 0)
    return f"{', '.join(parts)} of {counts.total():,}"


TOP = "top head"
"""The head with the highest measure over all items, chosen and shown on the same data."""


def notable_gaps(gaps: Table, most: int) -> list[Table]:
    """Return for every measure and pair of conditions the top head, then those with the largest gaps.

    The top head has the highest measure over all items, and is chosen on the same items. The best head of a
    row (``BEST_HEADS``) is chosen on one half of the units and tested on the other, and may be another head.

    Args:
        gaps: Of a run.
        most: Heads with the largest gaps.
    """
    chosen = []
    for measure, first, second in dict.fromkeys((gap.measure, gap.first, gap.second) for gap in gaps):
        rows = gaps.where(measure=measure, first=first, second=second)
        top = int(np.nan_to_num(rows["both"], nan=-1.0).argmax())
        size = np.abs(rows["difference"])
        order = [place for place in np.argsort(-size, kind="stable").tolist() if place != top]
        chosen.append(rows.take([top, *[place for place in order if not math.isnan(size[place])][:most]]))
    return chosen


@dataclass(frozen=True, slots=True)
class Published:
    """A published result of a row, for orientation.

    Attributes:
        accuracy: 0 to 1; NaN where only baselines were published.
        head: Layer and head as printed, counted from 1; "" for none.
        baselines: Accuracy by baseline.
    """

    accuracy: float
    head: str = ""
    baselines: Mapping[str, float] = field(default_factory=dict)


def published_in(manifest: Mapping[str, Any]) -> dict[str, Published]:
    """Return the published values in a manifest by row; rows without a legible value are left out.

    Args:
        manifest: ``manifest["probe"]["published"]`` maps rows (``"trained:attention"`` for a trained
            probe) to an accuracy of 0 to 1, or to a mapping with "accuracy" and, where known, "head"
            and "baselines".

    Example:
        >>> published_in({"probe": {"published": {"coreference:all": {"accuracy": 0.65, "head": "5-4"}}}})
        {'coreference:all': Published(accuracy=0.65, head='5-4', baselines={})}
    """
    rows = probe_in(manifest).get("published")
    results = {}
    for row, stated in (rows if isinstance(rows, Mapping) else {}).items():
        entry = stated if isinstance(stated, Mapping) else {"accuracy": stated}
        baselines = entry.get("baselines")
        result = Published(
            _number(entry.get("accuracy")),
            str(entry.get("head") or ""),
            {str(name): _number(value) for name, value in baselines.items()}
            if isinstance(baselines, Mapping)
            else {},
        )
        if result.baselines or not math.isnan(result.accuracy):
            results[str(row)] = result
    return results


def probe_in(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the manifest's entry on probes; an empty mapping where there is none."""
    probe = manifest.get("probe")
    return probe if isinstance(probe, Mapping) else {}


def _number(value: object) -> float:
    """Return a value as a number; NaN for anything else."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan


def has_held_out_half(manifest: Mapping[str, Any]) -> bool:
    """Return whether the best heads are shown on another half of the units than they were chosen on."""
    return manifest.get("preset") != "published"


def selection_text(manifest: Mapping[str, Any]) -> str:
    """Return how the halves were made.

    Example:
        >>> selection_text({"probe": {"halves": {"selection": 31, "test": 29, "seed": 3}}})
        'head, direction and baseline of every row chosen on 31 units, tested on the other 29; seed 3'
    """
    if not has_held_out_half(manifest):
        return "head, direction and baseline of every row chosen on all units, which they are shown on"
    halves = probe_in(manifest).get("halves")
    known = halves if isinstance(halves, Mapping) else {}
    one, other = (_count(known.get(name)) for name in ("selection", "test"))
    on = f"on {plural(int(one), 'unit')}, tested on the other {other}" if one and other else ""
    seed = f"; seed {known['seed']}" if "seed" in known else ""
    usual = "on one half of the units, tested on the other"
    return f"head, direction and baseline of every row chosen {on or usual}{seed}"


def _count(units: object) -> str:
    """Return a number of units, or the number of their names."""
    return str(len(units) if isinstance(units, list | tuple) else units) if units else ""


def scheme_of(manifest: Mapping[str, Any], rows: Iterable[str]) -> str:
    """Return the annotation scheme of the relations; "" where no relation is among the rows.

    Example:
        >>> manifest = {"probe": {"scheme": "ud"}}
        >>> [scheme_of(manifest, [row]) for row in ("dependency:nsubj", "coreference:all")]
        ['ud', '']
    """
    has_relations = any(row.startswith("dependency:") for row in rows)
    return str(probe_in(manifest).get("scheme") or "") if has_relations else ""


def windows_text(manifest: Mapping[str, Any], *, losses: bool = True) -> str:
    """Return size and stride of the windows of long documents, and their losses; "" where none are stated.

    Args:
        manifest: Of a run.
        losses: Whether to state what could not be asked.

    Example:
        >>> facts = {"size": 128, "stride": 64, "lost": {"coreference:pronoun": 12, "coreference:all": 0}}
        >>> windows_text({"probe": {"windows": facts}})
        'long documents in windows (size 128, stride 64); left out: 12 of coreference:pronoun'
    """
    facts = probe_in(manifest).get("windows")
    if not isinstance(facts, Mapping):
        return ""
    sizes = [f"{name} {facts[name]}" for name in ("size", "stride") if facts.get(name)]
    text = f"long documents in windows{' (' + ', '.join(sizes) + ')' if sizes else ''}"
    lost = facts.get("lost") if losses else None
    rows = (
        [f"{count:,} of {row}" for row, count in lost.items() if count] if isinstance(lost, Mapping) else []
    )
    return f"{text}; left out: {', '.join(rows)}" if rows else text
