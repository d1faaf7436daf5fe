"""What probes found in words: rows, heads, accuracies in per cent, decisions counted.

How probes were run, as a manifest says it: the halves, the windows, what was published.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headroles.records.findings import DECISIONS, Labelling
from headroles.records.probes import Best, Gap, Probed, Trained
from headroles.reports.words.words import plural, two

TITLES = {
    "dependency": "Dependency relations",
    "coreference": "Coreference",
    "trees": "Trees",
}
ASKED = {
    "dependency": (
        "Is the word that a word attends to most its head in the tree (→), or the word that attends to it "
        "most (←)?"
    ),
    "coreference": "Does a mention attend most to the head word of an earlier mention of the same entity?",
    "trees": "How much of the gold tree is the maximum spanning tree of a head's word attention?",
}
"""What is asked, by probe: special tokens and the word itself are left out."""
PUBLISHED = (
    "Published: BERT-base (cased or uncased is not stated), Clark et al. (2019). Other data, another "
    "annotation scheme, and the best of all heads chosen on the data it is reported on: for orientation only."
)
OUTCOMES = {"role": "beyond", "not": "not", "undetermined": "undetermined", "untestable": "untestable"}
"""A decision about one head, in the words of the best: beyond its baseline or not."""


def percent(value: float, decimals: int = 1) -> str:
    """A part of a whole in per cent, without the sign.

    Example:
        >>> percent(0.7806), percent(0.7806, 0), percent(float("nan")), percent(-0.0301)
        ('78.1', '78', '–', '−3.0')
    """
    return "–" if math.isnan(value) else f"{100 * value:z.{decimals}f}".replace("-", "−")


def points(value: float, decimals: int = 1) -> str:
    """A difference of two percentages, with its sign.

    Example:
        >>> points(0.264), points(-0.001, 0), points(-0.05)
        ('+26.4', '0', '−5.0')
    """
    text = percent(value, decimals)
    return f"+{text}" if value > 0 and float(text) else text


def within(text: str, low: str, high: str) -> str:
    """A number with its interval; alone where there is none.

    Example:
        >>> within("78.1", "75.2", "80.9"), within("–", "–", "–")
        ('78.1 [75.2, 80.9]', '–')
    """
    return text if "–" in (low, high) else f"{text} [{low}, {high}]"


def accuracy(each: Any, decimals: int = 1, field: str = "accuracy") -> str:
    """An accuracy of a record with its interval, in per cent."""
    return within(*(percent(getattr(each, name), decimals) for name in (field, "low", "high")))


def difference(each: Best, decimals: int = 1) -> str:
    """How far the best head of a row lies beyond its baseline, in points, with its interval."""
    ends = (each.difference, each.difference_low, each.difference_high)
    return within(*(points(value, decimals) for value in ends))


def contrast(each: Best, ends: bool = True) -> str:
    """Attention beyond distance of the best head of a row, with its interval or without."""
    texts = (two(each.contrast), two(each.contrast_low), two(each.contrast_high))
    return within(*texts) if ends else texts[0]


def beyond(best: Sequence[Best]) -> str:
    """What the decision about the best heads asks for.

    Example:
        >>> beyond([])
        'beyond: difference significantly above the margin'
    """
    margins = sorted({each.margin for each in best if not math.isnan(each.margin)})
    told = " or ".join(f"{100 * margin:g}" for margin in margins)
    return "beyond: difference significantly above the margin" + f" of {told} points" * bool(margins)


def head_name(each: Best) -> str:
    """Layer, head and direction of the best head of a row; an en dash where none could be chosen."""
    return "–" if each.layer < 0 else f"{each.layer}-{each.head} {each.direction}".rstrip()


def split(row: str) -> tuple[str, str]:
    """Probe and short name of a row.

    Example:
        >>> split("dependency:nmod:poss")
        ('dependency', 'nmod:poss')
    """
    probe, _, name = row.partition(":")
    return probe, name or probe


def title(probe: str) -> str:
    """What a probe is called in headings."""
    return TITLES.get(probe, probe)


def ordered(best: Sequence[Best]) -> dict[str, list[Best]]:
    """The best by probe: "all" first, then by the number of their items, as the published tables are."""
    groups: dict[str, list[Best]] = {}
    for each in best:
        groups.setdefault(split(each.row)[0], []).append(each)
    for rows in groups.values():
        rows.sort(key=lambda each: (split(each.row)[1] != "all", -each.items))
    return groups


def classifier(each: Trained) -> str:
    """Name of a trained probe, the control told apart.

    Example:
        >>> classifier(Trained("attention", "random", 0.3, 0.2, 0.4, 100, 10, 50, 3, 0))
        'attention (random weights)'
    """
    return f"{each.classifier} (random weights)" if each.weights == "random" else each.classifier


def outcomes(labelling: Labelling) -> dict[str, Counter[str]]:
    """Decisions over heads, directions and rows, counted by probe."""
    found, counts = labelling.findings, dict[str, Counter[str]]()
    for name in found.roles:
        codes = found.decision[found.of(name)].ravel().tolist()
        counts.setdefault(split(name)[0], Counter()).update(OUTCOMES[DECISIONS[code]] for code in codes)
    return counts


def counted(counts: Counter[str]) -> str:
    """Decisions over heads in one line.

    Example:
        >>> counted(Counter(beyond=3, undetermined=1))
        '3 beyond, 0 not, 1 undetermined of 4'
    """
    told = [f"{counts[name]:,} {name}" for name in ("beyond", "not", "undetermined")]
    told += [f"{counts['untestable']:,} untestable"] * (counts["untestable"] > 0)
    return f"{', '.join(told)} of {counts.total():,}"


def told_gaps(probed: Probed, most: int) -> list[tuple[Gap, str]]:
    """The best head of every measure and pair of conditions, then those with the largest gaps.

    Returns:
        Gaps, each with what it stands there for: "best head" or "".
    """
    groups: dict[tuple[str, str, str], list[Gap]] = {}
    for each in probed.gaps:
        groups.setdefault((each.measure, each.first, each.second), []).append(each)
    shown = []
    for rows in groups.values():
        best = max(rows, key=lambda each: -1.0 if math.isnan(each.both) else each.both)
        others = [each for each in rows if each is not best and not math.isnan(each.difference)]
        others.sort(key=lambda each: -abs(each.difference))
        shown += [(best, "best head"), *((each, "") for each in others[:most])]
    return shown


@dataclass(frozen=True, slots=True)
class Published:
    """What was published for a row, for orientation.

    Attributes:
        accuracy: 0 to 1; NaN where only baselines were published.
        head: Layer and head as printed, counted from 1; "" for none.
        baselines: Accuracy by baseline.
    """

    accuracy: float
    head: str = ""
    baselines: Mapping[str, float] = field(default_factory=dict)


def published_in(manifest: Mapping[str, Any]) -> dict[str, Published]:
    """What a manifest gives for orientation, by row; rows with nothing legible are left out.

    Args:
        manifest: ``manifest["probe"]["published"]`` maps rows (``"trained:attention"`` for a trained
            probe) to an accuracy of 0 to 1, or to a mapping with "accuracy" and, where known, "head"
            and "baselines".

    Example:
        >>> published_in({"probe": {"published": {"coreference:all": {"accuracy": 0.65, "head": "5-4"}}}})
        {'coreference:all': Published(accuracy=0.65, head='5-4', baselines={})}
    """
    rows = probe_in(manifest).get("published")
    found = {}
    for row, told in (rows if isinstance(rows, Mapping) else {}).items():
        entry = told if isinstance(told, Mapping) else {"accuracy": told}
        baselines = entry.get("baselines")
        each = Published(
            _number(entry.get("accuracy")),
            str(entry.get("head") or ""),
            {str(name): _number(value) for name, value in baselines.items()}
            if isinstance(baselines, Mapping)
            else {},
        )
        if each.baselines or not math.isnan(each.accuracy):
            found[str(row)] = each
    return found


def probe_in(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a manifest says of its probes; nothing where it does not."""
    probe = manifest.get("probe")
    return probe if isinstance(probe, Mapping) else {}


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan


def honest(manifest: Mapping[str, Any]) -> bool:
    """Whether the best heads are shown on another half of the units than they were chosen on."""
    return manifest.get("preset") != "published"


def chosen(manifest: Mapping[str, Any]) -> str:
    """How the halves were made.

    Example:
        >>> chosen({"probe": {"halves": {"selection": 31, "test": 29, "seed": 3}}})
        'head, direction and baseline of every row chosen on 31 units, tested on the other 29; seed 3'
    """
    if not honest(manifest):
        return "head, direction and baseline of every row chosen on all units, which they are shown on"
    halves = probe_in(manifest).get("halves")
    known = halves if isinstance(halves, Mapping) else {}
    one, other = (_count(known.get(name)) for name in ("selection", "test"))
    on = f"on {plural(int(one), 'unit')}, tested on the other {other}" if one and other else ""
    seed = f"; seed {known['seed']}" if "seed" in known else ""
    usual = "on one half of the units, tested on the other"
    return f"head, direction and baseline of every row chosen {on or usual}{seed}"


def _count(told: object) -> str:
    """A number of units, or the number of their names."""
    return str(len(told) if isinstance(told, list | tuple) else told) if told else ""


def scheme(manifest: Mapping[str, Any], rows: Iterable[str]) -> str:
    """Whose names the relations have; "" where no relation is among the rows.

    Example:
        >>> told = {"probe": {"scheme": "ud"}}
        >>> scheme(told, ["dependency:nsubj"]), scheme(told, ["coreference:all"])
        ('ud', '')
    """
    asked = any(row.startswith("dependency:") for row in rows)
    return str(probe_in(manifest).get("scheme") or "") if asked else ""


def windows(manifest: Mapping[str, Any], *, losses: bool = True) -> str:
    """Size and stride of the windows of long documents, and what they lost; "" where not told.

    Args:
        manifest: Of a run.
        losses: Whether to tell what could not be asked.

    Example:
        >>> told = {"size": 128, "stride": 64, "lost": {"coreference:pronoun": 12, "coreference:all": 0}}
        >>> windows({"probe": {"windows": told}})
        'long documents in windows (size 128, stride 64); could not be asked: 12 of coreference:pronoun'
    """
    told = probe_in(manifest).get("windows")
    if not isinstance(told, Mapping):
        return ""
    known = [f"{name} {told[name]}" for name in ("size", "stride") if told.get(name)]
    text = f"long documents in windows{' (' + ', '.join(known) + ')' if known else ''}"
    lost = told.get("lost") if losses else None
    rows = (
        [f"{count:,} of {row}" for row, count in lost.items() if count] if isinstance(lost, Mapping) else []
    )
    return f"{text}; could not be asked: {', '.join(rows)}" if rows else text
