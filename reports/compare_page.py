"""The page of a comparison: one self-contained HTML file."""

import base64
import json
from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from headroles.records import numbers
from headroles.records.comparison import COLUMNS, OUTCOMES, Comparison
from headroles.records.numbers import with_range
from headroles.records.roles import phrase_of
from headroles.reports.account import rows_of_two
from headroles.reports.answer.comparison import answer_of
from headroles.reports.embedded import comparison_files, files_json, manifest_json, script_json
from headroles.reports.figures.compare import plots
from headroles.reports.framed import framed_page
from headroles.reports.maps import (
    DIFFERENCE,
    SCRIPT,
    STYLE,
    CellLook,
    HeadMap,
    HeadMaps,
    HeadPanel,
    Told,
    head_maps,
    largest_of,
)
from headroles.reports.sections.compare_sheets import changed_sheet, layers_sheet, outcome_sheets
from headroles.reports.words import compare
from headroles.reports.words.compare import run_names, sieve_verdict
from headroles.reports.works import citation_bibtex, methods_text

SCRIPTS = ("shared/sheets.js", "shared/files.js", "shared/table.js", SCRIPT)
STYLES = (STYLE, "compare/compare.css")
SECTIONS = (
    ("answer", "Answer"), ("verdicts", "Heads"), ("layers", "Layers"), ("sieves", "Sieves"),
    ("swaps", "Roles moved"), ("findings", "All numbers"), ("methods", "Methods"),
)  # fmt: skip
"""Sections of the page, by their ids."""
LOOKS = tuple(
    CellLook(f"{word}{told}", mark or own, framed=word == "changed", hatched=word == "undetermined")
    for mark, told in (("", ""), ("+", ", role gained"), ("−", ", role lost"))
    for word, own in zip(OUTCOMES, ("●", "", "", "×"), strict=True)
)
"""Looks of cells by outcome: of heads that kept their label, that gained, and that lost the role."""
HEADINGS = {
    "mean_a": "mean A", "mean_b": "mean B",
    "p_equivalent": "p of equivalence", "q_equivalent": "q of equivalence",
}  # fmt: skip
"""Columns of the table of all numbers whose heading is not their name."""
MOST = 15
"""Largest changes in the table on the page at most."""


def comparison_page(comparison: Comparison) -> str:
    """Return the report of a comparison: one HTML file that requests nothing.

    The same comparison gives the same text, byte for byte. Text from data is escaped everywhere, and
    the page's own policy lets only its own scripts run.

    Args:
        comparison: Of two runs.

    Returns:
        A complete HTML document.
    """
    differences = comparison.differences
    _, means, outcomes, moved = plots(comparison)
    files, layers, maps = comparison_files(comparison), layers_sheet(comparison), _maps(comparison)
    by_sieve = comparison.layers.sheet()
    return framed_page(
        "compare/compare.html",
        STYLES,
        SCRIPTS,
        comparison=comparison,
        answer=answer_of(comparison),
        sections=SECTIONS,
        found=differences,
        names=run_names(comparison),
        methods=methods_text(comparison),
        bibtex=citation_bibtex(comparison),
        command=str(comparison.manifest.get("command") or ""),
        drawn=_swap_count(comparison),
        runs=rows_of_two(comparison.manifest),
        tested=compare.test_line(comparison.decision, comparison.bound),
        outcomes=compare.outcomes_sentence(comparison),
        roles_moved=compare.role_change_sentence(comparison),
        scores_moved=compare.score_change_sentence(comparison),
        labels_moved=compare.label_change_text(comparison.swaps[-1]) if comparison.swaps else "",
        glossary=compare.glossary(comparison),
        sieve_header=by_sieve.header,
        sieve_rows=by_sieve.texts,
        with_range=with_range,
        swap_p=compare.swap_p,
        verdicts=[sieve_verdict(comparison, place) for place in range(len(differences.rules))],
        changed=changed_sheet(comparison, MOST),
        changes=outcome_sheets(comparison),
        maps=maps,
        head_maps=head_maps([maps], _panel(maps.maps)),
        layers=layers,
        heads=_heads(comparison),
        beside=(means, outcomes),
        moved=moved,
        differences=Markup(_differences_json(comparison)),
        files=("differences.csv", *files, "manifest.json"),
        embedded=Markup(files_json(files)),
        manifest=Markup(manifest_json(comparison.manifest)),
    )


def _swap_count(comparison: Comparison) -> int:
    """Return the number of swaps behind the reference; 0 where there is none."""
    known = bool(comparison.swaps) and not np.isnan(comparison.swaps[-1].p)
    return int(comparison.manifest.get("settings", {}).get("swaps") or 0) if known else 0


def _heads(comparison: Comparison) -> list[tuple[str, str, str]]:
    """Return the heads that gained or lost a role: place, gained, lost."""
    return [
        (f"{row.layer}-{row.head}", row.gained.replace(";", ", "), row.lost.replace(";", ", "))
        for row in comparison.moved
        if row.gained or row.lost
    ]


def _differences_json(comparison: Comparison) -> str:
    """Return every difference by column for the page's scripts: 64-bit floats, little-endian, base64."""
    differences = comparison.differences
    content = {
        "layers": comparison.stack.numbers,
        "heads": differences.count.shape[2],
        "sieves": differences.sieves,
        "names": COLUMNS,
        "precision": [],
        "columns": {name: _base64(getattr(differences, name), "<f8") for name in COLUMNS},
        "decision": _base64(differences.outcome, "u1"),
        "decisions": OUTCOMES,
        "words": OUTCOMES,
        "decided": "outcome",
        "table": [
            *((name, name) for name in ("sieve", "layer", "head")),
            ("outcome", "decision"),
            *((HEADINGS.get(name, name), name) for name in COLUMNS if name != "statistic"),
        ],
        "roles": [],
    }
    return script_json(json.dumps(content, separators=(",", ":")))


def _maps(comparison: Comparison) -> HeadMaps:
    """Return a map of differences per role; contrasts have one when they are chosen."""
    differences = comparison.differences
    maps = []
    for column, rule in enumerate(differences.rules):
        outcome = differences.outcome[column].ravel()
        held = [run.decision[column].ravel() == 0 for run in (comparison.before, comparison.after)]
        moved = len(OUTCOMES) * np.where(held[1], 1, 2) * (held[0] != held[1]) * rule.role
        maps.append(
            HeadMap(
                name=rule.sieve, title=phrase_of(rule.sieve).title if rule.role else rule.sieve,
                note=f"{int((outcome == 0).sum())} changed", column=column, shade=DIFFERENCE, looks=LOOKS,
                codes={int(cell): int(outcome[cell] + moved[cell]) for cell in np.flatnonzero(moved)},
                largest=largest_of(np.abs(differences.difference[column]), comparison.bound),
                lines=("{head} · {title}", "A {mean_a}, B {mean_b}; difference {difference}", "{word}"),
                hidden=not rule.role,
            )
        )  # fmt: skip
    bound = numbers.exact(comparison.bound)
    return HeadMaps(
        id="compare-maps",
        maps=maps,
        first="all roles",
        key=(
            ("●", "changed"), ("+", "role gained in B"), ("−", "role lost"), ("▨", "undetermined"),
            ("×", "untestable"),
        ),
        caption="Orange: more in B; blue: less. The strongest shade of a map is its largest difference, at "
        f"least {bound}. No mark: equivalent within ±{bound}.",
    )  # fmt: skip


def _panel(maps: Sequence[HeadMap]) -> HeadPanel:
    """Return the panel of a head: its means in both runs, and their difference."""
    return HeadPanel(
        rows=[
            Told(
                title=map.title if map.title == map.name else f"{map.title} ({map.name})", column=map.column,
                lines=("A {mean_a}, B {mean_b}; {difference}", "{word}"),
            )
            for map in maps
        ],
        sentence="Means of A and B, and their difference with its 95 % interval.",
    )  # fmt: skip


def _base64(values: np.ndarray, kind: str) -> str:
    """Return the values as base64 of a fixed-size dtype."""
    return base64.b64encode(np.ascontiguousarray(values.ravel().astype(kind)).tobytes()).decode("ascii")
