"""Results of probes as a section of the page: tables that sort, figures, sentences."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.records.numbers import plural
from headroles.records.probes import ProbeResults
from headroles.records.table import Sheet, Table
from headroles.reports.figures.panel import Panel, SecondPlot
from headroles.reports.figures.probes import best_figure, trained_figure, weights_figure
from headroles.reports.sections.probe_sheets import (
    WEIGHTS,
    baselines_sheet,
    best_sheet,
    gaps_sheets,
    largest_weights,
    trained_sheet,
)
from headroles.reports.words import probes as probe_words
from headroles.reports.words.probes import (
    QUESTIONS,
    Published,
    best_by_probe,
    count_decisions,
    counts_text,
    probe_title,
    probes_of,
    published_in,
    scheme_of,
    split_row,
    windows_text,
)

LEARNED = (
    "Learned weight of every head: positive (+, orange) = evidence for being the head, negative (−, blue) = "
    "evidence against."
)
LEARNED_MORE = (
    "On the log-odds scale, per unit of attention. Weights of at least half the largest have a sign. "
    "Heads that say the same share their weight, so a small one does not mean a useless head."
)


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """One probe.

    Attributes:
        title: Heading.
        asked: The question to a head; "" where not known.
        counts: Decisions over all heads, in words; "" where none were made.
        sheet: The best head of every row.
        panel: The same drawn.
        baselines: Every baseline on all data; None where there is none.
    """

    title: str
    asked: str
    counts: str
    sheet: Sheet
    panel: Panel
    baselines: Sheet | None


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """Everything that the page states about probes.

    Attributes:
        chosen: How the best were chosen; "" where none were.
        honest: Whether they are shown on another half than they were chosen on.
        beyond: The condition under which a best head counts as beyond its baseline.
        notes: On windows and annotation.
        published: Whether published values are shown with any result.
        blocks: One per probe.
        trained: Trained probes; None where none were.
        contests: Trained probes against each other; None where there is none.
        weights: Weights that attention-only probes learned for every head.
        gaps: Heads under two conditions, a table per pair of conditions and measure.
    """

    chosen: str
    honest: bool
    beyond: str
    notes: tuple[str, ...]
    published: bool
    blocks: tuple[Block, ...]
    trained: Panel | None
    contests: Sheet | None
    weights: tuple[Panel, ...]
    gaps: tuple[Sheet, ...]


def section(labelling: Labelling) -> Section | None:
    """Return the page's section on probes; None where a run has none.

    Args:
        labelling: The result of a run; its manifest's "probe" has halves, windows and published values.
    """
    probed, facts = probes_of(labelling), labelling.manifest
    if labelling.probed is None:
        return None
    published, counts = published_in(facts), count_decisions(labelling)
    names = scheme_of(facts, (best.row for best in probed.best))
    notes = (f"Relations are those of the scheme {names}." if names else "", _sentence(windows_text(facts)))
    return Section(
        chosen=_sentence(probe_words.selection_text(facts)) if probed.best else "",
        honest=probe_words.has_held_out_half(facts),
        beyond=_sentence(probe_words.beyond_rule(probed.best)),
        notes=tuple(note for note in notes if note),
        published=bool(published),
        blocks=tuple(
            _block(f"probe-{number}", rows, probed, published, counts)
            for number, rows in enumerate(best_by_probe(probed.best).values())
        ),
        trained=_trained(probed, published),
        contests=probed.contests.sheet(leave=["statistic"]) if probed.contests else None,
        weights=tuple(_weights(probed.weights, labelling.scores)),
        gaps=gaps_sheets(probed),
    )


def _sentence(text: str) -> str:
    """Return a text as a sentence; "" for ""."""
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _block(
    key: str,
    rows: Table,
    probed: ProbeResults,
    published: Mapping[str, Published],
    counts: Mapping[str, Counter[str]],
) -> Block:
    """Return one probe: its rows, drawn and as a table, and its baselines."""
    probe = split_row(rows[0].row)[0]
    beating = sum(row.decision == "beyond" for row in rows)
    have = "has" if beating == 1 else "have"
    panel = Panel(
        key=key,
        title=probe_title(probe),
        sentence=(
            f"{beating} of {plural(len(rows), 'row')} {have} a best head that lies beyond the "
            "best baseline on data that chose neither."
        ),
        caption="",
        figure=best_figure(rows, published),
        header=(),
        rows=(),
    )
    return Block(
        title=probe_title(probe),
        asked=QUESTIONS.get(probe, ""),
        counts=counts_text(counts[probe]) if probe in counts else "",
        sheet=best_sheet(probe, rows, published, brief=True, titled=True),
        panel=panel,
        baselines=baselines_sheet(probe, probed, published),
    )


def _trained(probed: ProbeResults, published: Mapping[str, Published]) -> Panel | None:
    """Return trained probes with their baselines; None where none were trained."""
    sheet = trained_sheet(probed, published)
    if sheet is None:
        return None
    return Panel(
        key="probe-trained",
        title="Trained probes",
        sentence=(
            "Words whose head a trained probe finds (UAS, punctuation left out), on sentences it never saw."
        ),
        caption=(
            "Intervals: 95\u00a0%, over documents; none below 20 of them. Random weights: the same probe on "
            "an untrained model."
        ),
        figure=trained_figure(probed.trained, published),
        header=sheet.header,
        rows=sheet.texts,
    )


def _weights(weights: Table, scores: Scores) -> list[Panel]:
    """Return the weights that each attention-only probe learned for every head, one map per direction."""
    panels = []
    for number, name in enumerate(dict.fromkeys(weight.classifier for weight in weights)):
        learned = weights.where(classifier=name)
        reach = float(np.nanmax(np.abs(learned["weight"]), initial=0.0)) or 1.0
        panels.append(
            Panel(
                key=f"probe-weights-{number}",
                title=f"Learned weights: {name}",
                sentence=LEARNED,
                caption=LEARNED_MORE,
                figure=weights_figure(learned, "→", scores, reach),
                header=(f"the {WEIGHTS} largest", "direction", "weight"),
                rows=largest_weights(learned),
                beside=SecondPlot(
                    f"probe-weights-{number}-back",
                    "The same for attention in the other direction.",
                    weights_figure(learned, "←", scores, reach),
                ),
            )
        )
    return panels
