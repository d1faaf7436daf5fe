"""The page of a run that clustered heads: one self-contained HTML file."""

import numpy as np
from markupsafe import Markup

from headroles.records.findings import Labelling
from headroles.records.roles import phrase_of
from headroles.reports.answer.clusters import answer_of
from headroles.reports.cards import PANEL_SCRIPTS, PANEL_STYLES, cards_json
from headroles.reports.embedded import files_json, files_of, findings_json, manifest_json
from headroles.reports.framed import for_papers, framed_page
from headroles.reports.label_report import verdict_sheet
from headroles.reports.maps import (
    DECIDED,
    MEAN,
    SCRIPT,
    STYLE,
    CellLook,
    HeadMap,
    HeadMaps,
    head_maps,
    largest_of,
)
from headroles.reports.sections.clusters import Section, section
from headroles.reports.summary import Summary, summarise
from headroles.reports.words.cluster_facts import NOISE
from headroles.reports.words.clusters import cluster_name, glossary

SCRIPTS = (
    "shared/files.js", "shared/table.js", "shared/sheets.js", "clusters/clusters.js", *PANEL_SCRIPTS, SCRIPT,
)  # fmt: skip
STYLES = (STYLE, "probes/probes.css", "clusters/clusters.css", *PANEL_STYLES)
TONES, SHADE = 8, 0.45
"""Colours of clusters in turn, and how strong they are."""


def clusters_page(labelling: Labelling) -> str:
    """Return the report of a run that clustered heads: one HTML file that requests nothing.

    The same labelling gives the same text, byte for byte. Roles stand on it as far as clusters need them;
    ``headroles label`` on the same inputs draws the report of roles.

    Args:
        labelling: Of a run with clusters.
    """
    summary = summarise(labelling)
    clusters, files = section(labelling, summary), files_of(labelling)
    assert clusters is not None
    maps = _maps(labelling, summary)
    return framed_page(
        "clusters/page.html",
        STYLES,
        SCRIPTS,
        summary=summary,
        account=summary.account,
        answer=answer_of(labelling),
        sections=_sections(clusters, bool(summary.roles)),
        clusters=clusters,
        maps=maps,
        head_maps=head_maps(maps),
        roles=verdict_sheet(summary) if summary.roles else None,
        glossary=glossary(),
        files=tuple(files),
        skipped=summary.skipped,
        cards=Markup(cards_json(labelling, summary)),
        findings=Markup(findings_json(summary, labelling.manifest.get("model"))),
        embedded=Markup(files_json(files)),
        manifest=Markup(manifest_json(labelling.manifest)),
        **for_papers(labelling),
    )


def _maps(labelling: Labelling, summary: Summary) -> list[HeadMaps]:
    """Return the map of the cluster of every head, and a map per role."""
    clustered, findings = labelling.clustered, labelling.findings
    assert clustered is not None
    numbers, sizes = np.unique(clustered.cluster, return_counts=True)
    heads = dict(zip(numbers.tolist(), sizes.tolist(), strict=True))
    held = summary.held.reshape(len(summary.roles), len(clustered.cluster)).T
    looks = [
        CellLook(cluster_name(number), str(number), number % TONES, shade=SHADE)
        for number in range(max(heads) + 1)
    ]
    clusters = HeadMap(
        title="Cluster of every head",
        note=f"{len(heads.keys() - {NOISE})} clusters",
        looks=[*looks, CellLook("no cluster", "×")],
        codes=[number if number != NOISE else len(looks) for number in clustered.cluster.tolist()],
        values={
            "heads": [f"{heads[number]} heads" for number in clustered.cluster.tolist()],
            "roles": [
                ", ".join(role.sieve for role, holds in zip(summary.roles, own, strict=True) if holds)
                for own in held
            ],
        },
        lines=("{head} · {word}", "{heads}", "roles: {|roles||none}"),
    )
    roles = [
        HeadMap(
            name=role.sieve, title=phrase_of(role.sieve).title, note=f"{role.tally.role} heads",
            column=role.position, shade=MEAN, largest=largest_of(findings.mean[role.position]),
            looks=(*DECIDED, CellLook(), CellLook(mark="~")), tone=role.tone,
            lines=("{head} · {title}", "mean {mean}", "{word}"),
        )
        for role in summary.roles
    ]  # fmt: skip
    marks = (("•", "role"), ("~", "explained by distance or position"), ("▨", "undetermined"))
    places = [HeadMaps(id="cluster-heads", maps=[clusters]), HeadMaps(id="role-maps", maps=roles, key=marks)]
    return places if roles else places[:1]


def _sections(clusters: Section, roles: bool) -> list[tuple[str, str]]:
    """Return id and label of every section of the page."""
    known = [
        ("answer", "Answer", True), ("clusters", "Heads", True), ("tree", "Tree", True),
        ("sure", "How sure", True), ("roles", "Roles", roles), ("findings", "All numbers", True),
        ("methods", "Methods", True),
    ]  # fmt: skip
    return [(key, label) for key, label, drawn in known if drawn]
