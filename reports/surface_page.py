"""The page of a surface run: one self-contained HTML file."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from markupsafe import Markup

from headroles.records.findings import Labelling
from headroles.records.rules.rule import Decision
from headroles.records.surface import LAYER_MEANS
from headroles.reports.account import Account, Line
from headroles.reports.answer.surface import answer_of
from headroles.reports.embedded import files_json, findings_json, manifest_json, script_json
from headroles.reports.figures.surface import ATTENTION, ENTROPY, IMPORTANCE, Figure, figures
from headroles.reports.framed import for_papers, framed_page
from headroles.reports.maps import (
    MEAN,
    SCRIPT,
    STYLE,
    HeadMap,
    HeadMaps,
    HeadPanel,
    Told,
    head_maps,
    short_number,
)
from headroles.reports.sections.surface_sheets import noop_sheet, statistics
from headroles.reports.summary import summarise
from headroles.reports.words import surface as surface_words
from headroles.reports.words.surface import (
    DECISION_WORDS,
    ENTROPIES,
    GROUP,
    MEASURES,
    column_name,
    column_sentence,
    glossary,
    has_scores,
    map_title,
    noop_of,
    noop_sentences,
)
from headroles.stats.decision import ENOUGH_FOR_NOT

SCRIPTS = (
    "shared/files.js", "shared/table.js", "shared/sheets.js", "surface/heads.js", SCRIPT,
)  # fmt: skip
STYLES = (STYLE, "probes/probes.css", "surface/surface.css")
FAMILIES = {
    "sieve": "the heads of one statistic",
    "run": "all heads and statistics of the run",
    "layer": "the heads of one statistic in one layer",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict about one statistic.

    Attributes:
        name: Of the statistic, in words.
        counts: Heads above even attention, below it, undetermined, untestable.
        text: The sentences.
    """

    name: str
    counts: tuple[int, int, int, int]
    text: str


def surface_page(labelling: Labelling) -> str:
    """Return the report of a surface run: one HTML file that requests nothing.

    The same labelling gives the same text, byte for byte. Text from data is escaped everywhere, and
    the page's own policy lets only its own scripts run.

    Args:
        labelling: With ``surface``; the page states which columns have no score.

    Returns:
        A complete HTML document.
    """
    summary, panels = summarise(labelling), figures(labelling)
    account, answer = _account(summary.account, labelling), answer_of(labelling)
    parts = {name: _figures_of(panels, name) for name in (ATTENTION, ENTROPY, IMPORTANCE)}
    tests, maps, files = noop_sheet(labelling), _maps(labelling), _files(labelling)
    return framed_page(
        "surface/surface.html",
        STYLES,
        SCRIPTS,
        account=account,
        answer=answer,
        sections=_sections(parts, bool(tests)),
        maps=maps,
        head_maps=head_maps([maps], _panel(maps.maps)),
        verdicts=_verdicts(labelling),
        statistics=statistics(labelling).sheet(),
        glossary=glossary(labelling.decision),
        attention=parts[ATTENTION],
        entropy=parts[ENTROPY],
        importance=parts[IMPORTANCE],
        harmless=noop_sentences(labelling),
        tests=tests,
        importances=_importances(labelling),
        marks=_marks(labelling),
        skipped=labelling.skipped,
        precision=bool(summary.precision),
        noop=bool(labelling.surface and labelling.surface.noop),
        enough_for_not=ENOUGH_FOR_NOT,
        findings=Markup(findings_json(summary, labelling.manifest.get("model"), **_terms(labelling))),
        every_head=Markup(_every_head(labelling)),
        embedded=Markup(files_json(files)),
        manifest=Markup(manifest_json(labelling.manifest)),
        **for_papers(labelling),
    )  # fmt: skip


def _sections(parts: Mapping[str, Sequence[Figure]], tested: bool) -> list[tuple[str, str]]:
    """Return id and label of every section of the page."""
    known = [
        ("attention", "Layers", bool(parts[ATTENTION])), ("entropies", "How broad", bool(parts[ENTROPY])),
        ("importance", "Loss", bool(parts[IMPORTANCE]) or tested),
    ]  # fmt: skip
    middle = [(key, label) for key, label, drawn in known if drawn]
    last = [("verdicts", "How sure"), ("findings", "All numbers"), ("methods", "Methods")]
    return [("answer", "Answer"), ("profiles", "Heads"), *middle, *last]


def _known(labelling: Labelling) -> list[str]:
    """Return the columns with scores, in their order."""
    return [name for name in labelling.findings.sieves if has_scores(labelling.findings, name)]


def _account(account: Account, labelling: Labelling) -> Account:
    """Return what was run, in the words of tests against even attention."""
    decision = labelling.decision
    return replace(account, main=tuple(_line(line, decision) for line in account.main))


def _line(line: Line, decision: Decision) -> Line:
    """Return a line of the account with the words of roles replaced by those of this page."""
    texts = {
        "alpha": f"{decision.alpha:g}, for above and for below even attention",
        "family": FAMILIES.get(decision.family, decision.family),
        "margin": f"{line.value} from even attention",
    }
    return replace(line, value=texts.get(line.term, line.value))


def _verdicts(labelling: Labelling) -> tuple[Verdict, ...]:
    """Return the verdict about every statistic."""
    findings = labelling.findings
    return tuple(
        Verdict(
            column_name(column),
            surface_words.decision_counts(findings, column),
            column_sentence(labelling, column),
        )
        for column in findings.sieves
        if column.startswith(GROUP)
    )


def _marks(labelling: Labelling) -> str:
    """Return the characters that counted as punctuation, separated by spaces; "" where none is recorded."""
    surface = labelling.manifest.get("surface")
    return " ".join(str(surface.get("marks") or "")) if isinstance(surface, Mapping) else ""


def _figures_of(panels: Sequence[Figure], part: str) -> list[Figure]:
    """Return the figures of one part of the page."""
    return [figure for figure in panels if figure.part == part]


def _importances(labelling: Labelling) -> list[tuple[str, str]]:
    """Return name and sentences of every importance."""
    return [
        (column_name(column), column_sentence(labelling, column))
        for column in labelling.findings.sieves
        if column.partition(":")[0] in MEASURES
    ]


def _terms(labelling: Labelling) -> dict[str, Any]:
    """Return how the table of all numbers writes findings of attention.

    Importances can be far below a thousandth: three digits then show what three decimals would not.
    """
    names = labelling.findings.sieves
    fine = any(name.partition(":")[0] in MEASURES for name in names)
    return {
        "words": DECISION_WORDS,
        "fine": ["mean", "null", "low", "high", "mean_low", "mean_high"] if fine else [],
        **({"noun": "statistic", "chance": "even", "tested": ["above even", "below even"]}
           if any(name.startswith(GROUP) for name in names) else {}),
    }  # fmt: skip


def _maps(labelling: Labelling) -> HeadMaps:
    """Return a map per statistic that has scores; importances, which are not tested, when they are chosen."""
    findings = labelling.findings
    maps = []
    for name in _known(labelling):
        column, tested = findings.of(name), name.startswith(GROUP)
        above = int((findings.decision[column] == 0).sum())
        least, most = (short_number(float(end(findings.mean[column]))) for end in (np.nanmin, np.nanmax))
        maps.append(
            HeadMap(
                name=name, title=map_title(name), column=column, shade=MEAN, hidden=not tested,
                note=f"{above} above even" if tested and name not in ENTROPIES else f"{least}–{most}",
                largest=float(np.nanmax(findings.mean[column])),
                lines=("{head} · {title}", "mean {mean}{; even attention |null}", "{word}"),
            )
        )  # fmt: skip
    return HeadMaps(
        id="surface-maps",
        maps=maps,
        first="all statistics of attention",
        key=(("•", "above even attention"), ("▨", "undetermined")),
        caption="The stronger the shade, the larger the mean; every map has a scale of its own.",
    )


def _panel(maps: Sequence[HeadMap]) -> HeadPanel:
    """Return the panel of a head: every statistic with its decision."""
    return HeadPanel(
        rows=[Told(title=map.title, column=map.column, lines=("{mean}", "{word}")) for map in maps],
        sentence="Mean attention with its 95 % interval, and its decision against even attention.",
    )


def _every_head(labelling: Labelling) -> str:
    """Return the columns of the table of heads: title, column of the findings, whether it needs digits."""
    columns = [
        (column_name(name), labelling.findings.of(name), name.partition(":")[0] in MEASURES)
        for name in _known(labelling)
    ]
    return script_json(json.dumps(columns, separators=(",", ":")))


def _files(labelling: Labelling) -> dict[str, str]:
    """Return means over layers and tests of attention as their files."""
    means = labelling.surface.layers if labelling.surface else LAYER_MEANS
    tables = (means.numbered(labelling.scores.stack), noop_of(labelling))
    return {table.file: table.csv() for table in tables if len(table) or table is tables[0]}
