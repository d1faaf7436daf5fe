"""The page of a run that asks why heads attend where they do: one self-contained HTML file."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Int
from markupsafe import Markup

from headroles.records.causal.origins import FEW, SUBSPACE, UNTESTABLE, VERTICAL
from headroles.records.findings import Labelling
from headroles.records.numbers import number
from headroles.records.table import Row, Table
from headroles.reports.ablate import damage_text, role_title
from headroles.reports.embedded import files_json, files_of, findings_json, manifest_json
from headroles.reports.framed import for_papers, framed_page
from headroles.reports.maps import SCRIPT, STYLE, HeadMap, HeadMaps, HeadPanel, head_maps
from headroles.reports.print.captions import decision_sentence, inputs_text
from headroles.reports.summary import summarise
from headroles.reports.why.answer import answer_of, head_sentence
from headroles.reports.why.figures import (
    NEURON_LOOKS,
    REMOVAL_LOOKS,
    neurons_panel,
    removal_panels,
    shares_panel,
    strips_panel,
)
from headroles.reports.why.sheets import dimensions_sheet, heads_sheet, knockouts_sheet, roles_sheet
from headroles.reports.why.words import (
    CELL_LOOKS,
    FAMILIES,
    LOOKS,
    MARKS,
    VERDICTS,
    VERTICAL_COLUMN,
    RoleCounts,
    code_of,
    counts_by_role,
    glossary,
    origins_of,
    pairs,
    share_text,
    sure_sentences,
)

SCRIPTS = (
    "shared/files.js", "shared/table.js", "shared/sheets.js", SCRIPT,
)  # fmt: skip
STYLES = (STYLE, "probes/probes.css", "why/why.css")
MOST_ROWS = 2000
"""Rows of a table that stands on the page; the files have all."""


def why_page(labelling: Labelling) -> str:
    """Return the report of a run that asks where roles come from: one HTML file that requests nothing.

    The same labelling gives the same text, byte for byte. Text from data is escaped everywhere, and
    the page's own policy lets only its own scripts run.

    Args:
        labelling: With ``origins``.

    Returns:
        A complete HTML document.
    """
    summary, origins, files = summarise(labelling), origins_of(labelling), files_of(labelling)
    neurons, removals = neurons_panel(labelling), removal_panels(labelling)
    maps = _maps(labelling, framed=bool(neurons))
    shares, strips = shares_panel(labelling), strips_panel(labelling)
    found, heads, knockouts = (
        sheet if sheet is not None and len(sheet.rows) <= MOST_ROWS else None
        for sheet in (
            dimensions_sheet(labelling, found=True), heads_sheet(labelling), knockouts_sheet(labelling)
        )
    )  # fmt: skip
    drawn = {"profiles": bool(maps.maps), "shares": shares, "neurons": strips, "removals": removals}
    return framed_page(
        "why/page.html",
        STYLES,
        SCRIPTS,
        account=summary.account.with_values(_values(labelling)),
        answer=answer_of(labelling),
        sections=_sections(drawn),
        looks=[(code, *LOOKS[word], word) for code, word in enumerate(VERDICTS) if word in LOOKS],
        neuron_looks=[(code, *look, word) for code, (word, look) in enumerate(NEURON_LOOKS.items())],
        removal_looks=[(code, *look, word) for code, (word, look) in enumerate(REMOVAL_LOOKS.items())],
        maps=maps,
        head_maps=head_maps([maps] if maps.maps else [], _panel(labelling)),
        shares=shares,
        roles=roles_sheet(labelling),
        neurons=neurons,
        fixed=not origins.products.free.all(),
        strips=strips,
        found=found,
        ones="frequency pairs" if pairs(origins) else "dimensions",
        removals=removals,
        knockouts=knockouts,
        all_heads=heads,
        sure=sure_sentences(labelling),
        glossary=glossary(labelling),
        precision=bool(summary.precision),
        skipped=labelling.skipped,
        files=tuple(files),
        embedded=Markup(files_json(files)),
        findings=Markup(findings_json(summary, labelling.manifest.get("model"), **_terms(labelling))),
        manifest=Markup(manifest_json(labelling.manifest)),
        **for_papers(labelling) | {"numbers_caption": _caption(labelling)},
    )  # fmt: skip


def _values(labelling: Labelling) -> dict[str, str]:
    """Return the lines of the account that differ for origins, by their terms."""
    return {
        "alpha": f"{labelling.decision.alpha:g}, for every verdict by itself",
        "family": FAMILIES["run"],
        "margin": "0: the vertical part of a contrast against the rest",
    }


def _caption(labelling: Labelling) -> str:
    """Return the caption of the table of all numbers, as it is copied."""
    units = len(origins_of(labelling).products.units)
    note = decision_sentence(labelling.decision, units, FAMILIES)
    return f"Contrasts of roles and their vertical parts{inputs_text(labelling.manifest)}. {note}"


def _sections(drawn: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return id and label of every section of the page."""
    labels = {
        "answer": "Answer", "profiles": "Heads", "shares": "Same push", "neurons": "Neurons",
        "removals": "Removals", "verdicts": "How sure", "findings": "All numbers", "methods": "Methods",
    }  # fmt: skip
    return [(key, label) for key, label in labels.items() if drawn.get(key, True)]


def _codes(labelling: Labelling, one: RoleCounts) -> Int[np.ndarray, "layers heads"]:
    """Return the code of the verdict of every head about one role."""
    codes = np.full(labelling.findings.count.shape[1:], len(VERDICTS))
    for row in one.rows:
        codes[labelling.scores.stack.place(row.layer), row.head] = code_of(row.verdict)
    return codes


def _terms(labelling: Labelling) -> dict[str, Any]:
    """Return how the table of all numbers writes contrasts, with verdicts over all roles as decisions."""
    counts, findings = counts_by_role(origins_of(labelling)), labelling.findings
    names = [f"{VERTICAL_COLUMN}{one.role}" for one in counts]
    columns = zip(names, counts, strict=True)
    return {
        "verdicts": [(findings.of(name), _codes(labelling, one)) for name, one in columns],
        "words": [*VERDICTS, "no role", "contrast"],
        "noun": "column",
        **({"first": names[0]} if names else {}),
    }


def _maps(labelling: Labelling, framed: bool) -> HeadMaps:
    """Return a map per role with the verdicts of the heads that hold it, those with few neurons framed.

    Args:
        labelling: With ``origins``.
        framed: Whether neurons were asked about.
    """
    findings, place = labelling.findings, labelling.scores.stack.place
    maps = []
    for one in counts_by_role(origins_of(labelling)):
        cells = {place(row.layer) * findings.count.shape[2] + row.head: row for row in one.rows}
        few = sorted(cell for cell, row in cells.items() if row.few == FEW)
        name = f"{VERTICAL_COLUMN}{one.role}"
        maps.append(
            HeadMap(
                name=name, title=role_title(one.role),
                note=f"{one.count(VERTICAL)} of {len(one.rows)} vertical",
                column=findings.of(name), looks=CELL_LOOKS, heads=sorted(cells), framed=few,
                values={
                    "share": {cell: share_text(row) for cell, row in cells.items()},
                    "few": dict.fromkeys(few, "few neurons"),
                },
                lines=("{head} · {title}", "vertical share {share}", "{word}{; |few}"),
                outside=("{head} · {title}", "does not hold the role"),
            )
        )  # fmt: skip
    return HeadMaps(
        id="why-maps",
        maps=maps,
        first="all roles",
        key=[(MARKS[word] or "▨", word) for word in VERDICTS],
        caption="The map of a role shows the heads that hold it; the other heads stay empty."
        + " A frame: few neurons." * framed,
    )


def _panel(labelling: Labelling) -> HeadPanel:
    """Return the panel of a head: its roles, each with its vertical share, neurons and removals."""
    origins, width = origins_of(labelling), labelling.findings.count.shape[2]
    own: dict[int, list[tuple[str, str, str, bool]]] = {}
    for row in origins.origins:
        cell = labelling.scores.stack.place(row.layer) * width + row.head
        tests = origins.knockouts.where(role=row.role, layer=row.layer, head=row.head)
        share = (
            role_title(row.role),
            f"vertical share {share_text(row)}",
            row.verdict,
            row.verdict == VERTICAL,
        )
        own.setdefault(cell, []).extend([share, *((*line, False) for line in _more(row, tests))])
    return HeadPanel(
        own=own,
        sentences={cell: head_sentence(labelling, *divmod(cell, width)) for cell in own},
        sentence="This head holds no role that was asked about.",
    )


def _more(row: Row, tests: Table) -> list[tuple[str, str, str]]:
    """Return further lines about one role of one head: name, value and decision."""
    lines = [("contrast", damage_text(row.contrast, row.low, row.high), "–")]
    few = row.few != UNTESTABLE
    rotated = (
        f"{number(row.participation)}, {number(row.rotated)} when rotated"
        if few
        else number(row.participation)
    )
    lines.append(("participation", rotated, row.few if few else "–"))
    lines.append(("found", f"{row.found:,}", "–"))
    if row.rank >= 0:
        lines.append(("directions", f"{row.rank:,}", "–"))
    for test in tests:
        what = "directions" if test.by == SUBSPACE else "found dimensions"
        scored = "" if test.scored == test.role else f": {role_title(test.scored)}"
        text = f"{number(test.before)} → {damage_text(test.after, test.low, test.high)}"
        lines.append((f"without {what}{scored}", text, test.verdict))
    return lines
