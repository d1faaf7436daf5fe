"""The page of an atlas: one self-contained HTML file about several label runs."""

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from headroles.records.atlas.atlas import Atlas
from headroles.records.numbers import plural
from headroles.records.roles import looks_of, phrase_of
from headroles.reports.answer.atlas import answer_of, short_model
from headroles.reports.document import NO_FINDINGS
from headroles.reports.embedded import LARGEST, files_json, manifest_json
from headroles.reports.figures.atlas import atlas_panels, largest_means
from headroles.reports.framed import framed_page
from headroles.reports.maps import STYLE, still_map
from headroles.reports.sections.across_sheets import (
    consensus_sheet,
    counts_sheet,
    emerged_sheet,
    trends_sheet,
)
from headroles.reports.sections.atlas_sheets import (
    heads_sheet,
    models_of,
    roles_sheet,
    runs_table,
)
from headroles.reports.works import citation_bibtex, methods_text
from headroles.storage.atlas.folder import atlas_texts

SCRIPTS = ("shared/sheets.js", "shared/files.js")
STYLES = (STYLE, "atlas/atlas.css")
SECTIONS = (
    ("answer", "Answer"), ("roles", "Roles"), ("steps", "Steps"), ("across", "Across runs"),
    ("agreement-of-labels", "Agreement"), ("sure", "p values"), ("depth", "Depth"), ("heads", "All heads"),
    ("methods", "Methods"),
)  # fmt: skip
"""Sections of the page, by their ids."""
SHADES = 8
"""Steps of the shade of a cell."""


@dataclass(frozen=True, slots=True)
class RoleMaps:
    """The maps of one role, one per run that asked for it.

    Attributes:
        role: Its name.
        title: The same in plain words.
        tone: Number of its colour.
        maps: Name of the run, how many heads hold the role, and the map.
    """

    role: str
    title: str
    tone: int
    maps: tuple[tuple[str, str, Markup], ...]


def atlas_page(atlas: Atlas) -> str:
    """Return the page of an atlas: one HTML file that requests nothing.

    The same atlas gives the same text, byte for byte. Text from data is escaped everywhere, and the page's
    own policy lets only its own scripts run.

    Args:
        atlas: Of two runs or more.

    Returns:
        A complete HTML document.
    """
    panels = atlas_panels(atlas)
    parts = {"steps": atlas.steps, "across": atlas.consensus, "agreement-of-labels": atlas.agreement}
    left_out = {name for name, rows in parts.items() if not rows}
    files = atlas_files(atlas)
    return framed_page(
        "atlas/atlas.html",
        STYLES,
        SCRIPTS,
        atlas=atlas,
        answer=answer_of(atlas),
        sections=[section for section in SECTIONS if section[0] not in left_out],
        tab=" · ".join(dict.fromkeys(short_model(run.model) for run in atlas.runs)),
        maps=role_maps(atlas),
        agreement=[panel for panel in panels if panel.key.startswith("agreement")],
        panels={panel.key: panel for panel in panels},
        runs=runs_table(atlas).sheet(),
        roles=roles_sheet(atlas),
        in_runs=counts_sheet(atlas, atlas.groups[0] if len(atlas.groups) == 1 else ""),
        consensus=consensus_sheet(atlas),
        emerged=emerged_sheet(atlas),
        trends=trends_sheet(atlas),
        heads=[heads_sheet(atlas, places) for places in models_of(atlas)],
        methods=methods_text(atlas),
        bibtex=citation_bibtex(atlas),
        command=str(atlas.manifest.get("command") or ""),
        files=(*files, "manifest.json"),
        embedded=Markup(files_json(files)),
        no_findings=Markup(NO_FINDINGS),
        manifest=Markup(manifest_json(atlas.manifest)),
    )


def atlas_files(atlas: Atlas) -> dict[str, str]:
    """Return the tables of an atlas that the page embeds, by file name; large ones stay in the folder."""
    return {
        name: text
        for name, text in atlas_texts(atlas).items()
        if len(text) <= LARGEST and text.count("\n") > 1
    }


def role_maps(atlas: Atlas) -> tuple[RoleMaps, ...]:
    """Return the maps of all roles; the shades of a role have one scale for all runs of one statistic."""
    drawn = []
    for role, look in zip(atlas.roles, looks_of(atlas.roles), strict=True):
        tops = largest_means(atlas, role)
        asked = [place for place, found in enumerate(atlas.findings) if role in found.tested]
        maps = tuple(_map(atlas, place, role, tops[atlas.runs[place].statistic]) for place in asked)
        drawn.append(RoleMaps(role, phrase_of(role).title, look.tone, maps))
    return tuple(drawn)


def _map(atlas: Atlas, place: int, role: str, top: float) -> tuple[str, str, Markup]:
    """Return name, heads with the role, and map of one role in one run."""
    run, found = atlas.runs[place], atlas.findings[place]
    number = found.of(role)
    mean, held, verdict = found.numbers["mean"][number], found.held[number], found.verdict[number]
    part = np.nan_to_num(mean / top).clip(0, 1) if top > 0 else np.zeros(mean.shape)
    step = np.ceil(part * SHADES).astype(int)
    shades = [("shade toned", level / SHADES, step == level) for level in range(1, SHADES + 1)]
    names = [f"{run.layers[layer]}-{head}" for layer, head in np.argwhere(held).tolist()]
    listed = f": {', '.join(names[:12])}{' and more' if len(names) > 12 else ''}" if names else ""
    count = plural(len(names), "head")
    drawing = still_map(
        run.layers,
        run.heads,
        f"{run.name}, {role}: {count} of {held.size} with the role{listed}",
        [*shades, ("open", 1.0, verdict == "undetermined"), ("held", 1.0, held)],
        {"~": np.char.startswith(verdict.astype(str), "explained")},
        small=True,
    )
    return run.name, count, drawing
