"""Record everything that reproduces a run of probes, with published values and what it left out."""

from typing import Any

from headroles.options.probe import ProbeOptions
from headroles.records.arrays import shared_keys_note
from headroles.records.documents import PRONOUN_LAYOUTS
from headroles.records.findings import Labelling
from headroles.runs.manifest import attention_notes, common_record
from headroles.runs.probe.inputs import Inputs
from headroles.runs.scored import ScoredRun
from headroles.sieves.probes.published_heads import published_head
from headroles.stats.probes.baselines import selection_half

WARNING = (
    "The preset 'published' counts as the released code of Clark et al. (2019) does: best head and offset "
    "are chosen on the data they are shown on, offsets are -3 to +2, and row 'all' counts punctuation and "
    "roots. The best of many heads looks better than it is, so best.csv holds no p values; those of "
    "findings.csv are tested with cross-fitted offsets as usual."
)

COREFERENCE = {
    "all": (0.65, (0.27, 0.52, 0.69)),
    "pronoun": (0.64, (0.29, 0.47, 0.70)),
    "proper": (0.73, (0.29, 0.67, 0.77)),
    "nominal": (0.58, (0.19, 0.40, 0.60)),
}
"""Table 2 of Clark et al. (2019): head 5-4 (from 1), and nearest mention, same head word, four rules."""
COREFERENCE_HEAD = "5-4"
TRAINED = {
    "right-branching": 0.26,
    "distances+words": 0.58,
    "attention": 0.61,
    "attention+words": 0.77,
}
"""Table 3 of Clark et al. (2019), UAS."""


def manifest_of(options: ProbeOptions, scored: ScoredRun, inputs: Inputs, found: Labelling) -> dict[str, Any]:
    """Return everything needed to reproduce a run of probes, in JSON types."""
    record = common_record(options, scored, inputs.size)
    return record | {
        "counts": record["counts"] | {"truncated": inputs.cut},
        "task": None,
        "parser": None,
        "statistic": "accuracy",
        "probe": _probe_facts(options, inputs, found, str(scored.source["layout"])),
        "notes": [
            *([WARNING] if options.preset == "published" else []),
            *attention_notes(scored.facts.described),
            *shared_keys_note(scored.facts.described),
        ],
    }


def _probe_facts(options: ProbeOptions, inputs: Inputs, found: Labelling, layout: str) -> dict[str, Any]:
    """Return the part of the record about probes: names, halves, windows and published values."""
    units = found.scores.units
    in_selection_half = selection_half(units, options.seed)
    first = {unit for unit, is_selected in zip(units, in_selection_half, strict=True) if is_selected}
    halves = {"selection": len(first), "test": len(set(units) - first), "seed": options.seed}
    facts: dict[str, Any] = {
        "names": list(options.probes),
        "asked": "of a pronoun among names" if layout in PRONOUN_LAYOUTS else "of running text",
        "read": _reading(inputs, layout),
        "scheme": options.scheme,
        "root": options.root if "trees" in options.probes else None,
        "halves": None if options.preset == "published" else halves,
        "published": _published(options, found, layout in PRONOUN_LAYOUTS),
    }
    if inputs.stride is not None:
        facts["windows"] = {"size": inputs.size, "stride": inputs.stride, "lost": _lost(found)}
    return facts


def _reading(inputs: Inputs, layout: str) -> str:
    """Return how a model read the documents, in words."""
    if layout == "maps":
        return "as the stored maps have them"
    return "sentence by sentence" if inputs.stride is None else "in windows of documents"


def _lost(found: Labelling) -> dict[str, int]:
    """Count the items of each row that could not be asked."""
    tallies = found.probed.tallies if found.probed else None
    if tallies is None:
        return {}
    return {row: int(tallies.lost[position].sum()) for position, row in enumerate(tallies.rows)}


def _published(options: ProbeOptions, found: Labelling, paired: bool) -> dict[str, Any]:
    """Return published values by row, for the rows of this run; accuracies from 0 to 1.

    There are none for choices between two names (GAP, WinoBias).
    """
    published: dict[str, Any] = {}
    tallies = found.probed.tallies if found.probed else None
    for row in tallies.rows if tallies else ():
        probe, _, name = row.partition(":")
        if probe == "dependency" and (head := published_head(name, options.scheme)) is not None:
            published[row] = {
                "accuracy": head.accuracy / 100,
                "head": head.head,
                "baselines": {f"{head.offset:+d}": head.baseline / 100},
            }
        elif probe == "coreference" and not paired:
            accuracy, baselines = COREFERENCE[name]
            names = ("nearest", "head match", "rules")
            published[row] = {
                "accuracy": accuracy,
                "head": COREFERENCE_HEAD,
                "baselines": dict(zip(names, baselines, strict=True)),
            }
    if options.classifier:
        published |= {f"trained:{name}": {"accuracy": uas} for name, uas in TRAINED.items()}
    return published


def omission_notes(found: Labelling, inputs: Inputs) -> list[str]:
    """Return what was cut or could not be asked, one sentence each."""
    notes = []
    if inputs.cut:
        notes.append(f"{inputs.cut} sentences were cut to {inputs.size} tokens.")
    if inputs.stride is not None and any(not row.startswith("coref") for row in _lost(found)):
        notes.append(
            "Sentences were read inside windows of their documents, where heads look beyond the sentence; "
            "without coreference, dependency and trees are read sentence by sentence."
        )
    for row, lost in _lost(found).items():
        if lost:
            why = (
                "their antecedents lie outside the window" if row.startswith("coref") else "they were cut off"
            )
            notes.append(f"{lost} items of {row} were left out: {why}.")
    return notes
