"""What probes found as a section of the page: tables that sort, figures, sentences."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headroles.records.findings import Labelling
from headroles.records.probes import Best, Probed, Weight
from headroles.reports.figures.panel import Beside, Panel
from headroles.reports.figures.probes import best_figure, trained_figure, weights_figure
from headroles.reports.sections.probe_sheets import (
    WEIGHTS,
    Sheet,
    baselines_sheet,
    best_sheet,
    contests_sheet,
    gaps_sheets,
    largest,
)
from headroles.reports.words.probes import (
    ASKED,
    Published,
    accuracy,
    beyond,
    chosen,
    classifier,
    counted,
    honest,
    ordered,
    outcomes,
    percent,
    published_in,
    scheme,
    split,
    title,
    windows,
)
from headroles.reports.words.words import plural

LEARNED = (
    "Learned weight of every head: positive (+, orange) = evidence for being the head, negative (−, blue) = "
    "evidence against."
)
LEARNED_MORE = (
    "On the log-odds scale, per unit of attention. Signs stand from half of the largest weight on. Heads "
    "that say the same share their weight, so a small one does not mean a useless head."
)


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """One probe.

    Attributes:
        title: Heading.
        asked: What is asked of a head; "" where not known.
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
    """Everything the page says of probes.

    Attributes:
        chosen: How the best were chosen; "" where none were.
        honest: Whether they are shown on another half than they were chosen on.
        beyond: What the decision about them asks for.
        notes: On windows and annotation.
        published: Whether anything is shown beside published values.
        blocks: One per probe.
        trained: Trained probes; None where none were.
        contests: Trained probes against each other; None where there is none.
        weights: What attention-only probes learned of every head.
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
    """What the page says of probes; None where a run has none.

    Args:
        labelling: The result of a run; its manifest's "probe" tells halves, windows and published values.
    """
    found, facts = labelling.probed, labelling.manifest
    if found is None:
        return None
    published, counts = published_in(facts), outcomes(labelling)
    names = scheme(facts, (each.row for each in found.best))
    notes = (f"Relations are those of the scheme {names}." if names else "", _sentence(windows(facts)))
    return Section(
        chosen=_sentence(chosen(facts)) if found.best else "",
        honest=honest(facts),
        beyond=_sentence(beyond(found.best)),
        notes=tuple(note for note in notes if note),
        published=bool(published),
        blocks=tuple(
            _block(f"probe-{number}", rows, found, published, counts)
            for number, rows in enumerate(ordered(found.best).values())
        ),
        trained=_trained(found, published),
        contests=contests_sheet(found),
        weights=tuple(_weights(found.weights)),
        gaps=gaps_sheets(found),
    )


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _block(
    key: str,
    rows: Sequence[Best],
    found: Probed,
    published: Mapping[str, Published],
    counts: Mapping[str, Counter[str]],
) -> Block:
    """One probe: its rows, drawn and as a table, and its baselines."""
    probe = split(rows[0].row)[0]
    beating = sum(each.decision == "beyond" for each in rows)
    have = "has" if beating == 1 else "have"
    panel = Panel(
        key=key,
        title=title(probe),
        sentence=(
            f"{beating} of {plural(len(rows), 'row')} {have} a best head that lies beyond the "
            "best baseline on data that chose neither."
        ),
        caption="",
        figure=best_figure(rows, published),
        header=(),
        rows=(),
    )
    baselines = [each for each in found.baselines if split(each.row)[0] == probe]
    return Block(
        title=title(probe),
        asked=ASKED.get(probe, ""),
        counts=counted(counts[probe]) if probe in counts else "",
        sheet=best_sheet(probe, rows, published),
        panel=panel,
        baselines=baselines_sheet(probe, baselines, [each.row for each in rows], published),
    )


def _trained(found: Probed, published: Mapping[str, Published]) -> Panel | None:
    """Trained probes and the baselines beside them; None where none were trained."""
    if not found.trained:
        return None
    rows = []
    for each in found.trained:
        told = published.get(f"trained:{classifier(each)}")
        fitted = (f"{each.trained_on:,}", str(each.epochs), str(each.seed)) if each.trained_on else ("–",) * 3
        rows.append(
            (
                classifier(each),
                accuracy(each, field="uas"),
                f"{each.words:,}",
                f"{each.units:,}",
                *fitted,
                "" if told is None else percent(told.accuracy),
            )
        )
    return Panel(
        key="probe-trained",
        title="Trained probes",
        sentence=(
            "Words whose head a trained probe finds (UAS, punctuation left out), on sentences it never saw."
        ),
        caption=(
            "Intervals: 95\u00a0%, documents resampled. Random weights: the same probe on an untrained model."
        ),
        figure=trained_figure(found.trained, published),
        header=(
            "probe", "UAS, % [95\u00a0%]", "words", "units", "sentences trained on", "epochs", "seed",
            "published",
        ),
        rows=tuple(rows),
    )  # fmt: skip


def _weights(weights: Sequence[Weight]) -> list[Panel]:
    """What each attention-only probe learned of every head, one map per direction."""
    panels = []
    for number, name in enumerate(dict.fromkeys(each.classifier for each in weights)):
        own = [each for each in weights if each.classifier == name]
        grid = (max(each.layer for each in own) + 1, max(each.head for each in own) + 1)
        reach = max((abs(each.weight) for each in own if each.weight == each.weight), default=1.0) or 1.0
        panels.append(
            Panel(
                key=f"probe-weights-{number}",
                title=f"Learned weights: {name}",
                sentence=LEARNED,
                caption=LEARNED_MORE,
                figure=weights_figure(own, "→", grid, reach),
                header=(f"the {WEIGHTS} largest", "direction", "weight"),
                rows=largest(own),
                beside=Beside(
                    f"probe-weights-{number}-back",
                    "The same for attention in the other direction.",
                    weights_figure(own, "←", grid, reach),
                ),
            )
        )
    return panels
