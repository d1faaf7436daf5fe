"""The page of a run that clustered heads: one self-contained HTML file."""

from markupsafe import Markup

from headroles.records.findings import Labelling
from headroles.reports.answer.clusters import answer_of
from headroles.reports.cards import PANEL_SCRIPTS, PANEL_STYLES, cards_json
from headroles.reports.embedded import files_json, files_of, findings_json, manifest_json
from headroles.reports.framed import for_papers, framed_page
from headroles.reports.sections.clusters import Section, section
from headroles.reports.sections.role_sheets import verdict_sheet
from headroles.reports.summary import summarise
from headroles.reports.words.clusters import glossary

SCRIPTS = (
    "heads/maps.js", "clusters/names.js", "shared/files.js", "shared/table.js", "shared/sheets.js",
    "clusters/clusters.js", *PANEL_SCRIPTS, "clusters/maps.js",
)  # fmt: skip
STYLES = ("heads/maps.css", "probes/probes.css", "clusters/clusters.css", *PANEL_STYLES)


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
    return framed_page(
        "clusters/page.html",
        STYLES,
        SCRIPTS,
        summary=summary,
        account=summary.account,
        answer=answer_of(labelling),
        sections=_sections(clusters, bool(summary.roles)),
        clusters=clusters,
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


def _sections(clusters: Section, roles: bool) -> list[tuple[str, str]]:
    """Return id and label of every section of the page."""
    known = [
        ("answer", "Answer", True), ("clusters", "Heads", True), ("tree", "Tree", True),
        ("sure", "How sure", True), ("roles", "Roles", roles), ("findings", "All numbers", True),
        ("methods", "Methods", True),
    ]  # fmt: skip
    return [(key, label) for key, label, drawn in known if drawn]
