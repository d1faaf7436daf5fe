"""A run as a block of Markdown for a model card, and as the card of a data set on the hub."""

from collections.abc import Mapping
from typing import Any

from headroles.kinds import kind_of
from headroles.records.findings import Labelling
from headroles.records.roles import phrase_of
from headroles.records.table import ENDS, MISSING, Cell, Sheet
from headroles.reports.account import title_of
from headroles.reports.facts import run_facts
from headroles.reports.papers import as_markdown, markdown_text
from headroles.reports.words import Interval, error_rate, interval
from headroles.reports.works import citation_bibtex
from headroles.sharing.markdown import block, bullets, hash_words, hub_card, link_line, number_words

UNDETERMINED = "undetermined"
ABOUT = {
    "report.html": "the report, one page that needs no network",
    "findings.csv": "every test",
    "labels.csv": "the roles of every head",
    "heads.json": "a card of every head",
    "manifest.json": "model, inputs, settings and versions",
}
"""Files that the block links to."""


def card_block(labelling: Labelling, files: str = "") -> str:
    """Return a run as a block of Markdown for a model card.

    It has the answer in sentences, the number of heads per role with its bounds, the error rate, model,
    inputs, command, links to files, and the citation. All numbers are those of ``headroles show --json``.

    Args:
        labelling: A run of any kind.
        files: Address of the run's files, with a slash at the end; "" where nobody can open them.

    Returns:
        The block, ending with a line feed. Text from data is no markup in it.
    """
    facts = run_facts(labelling)
    return block(
        [
            f"{markdown_text(facts['title'])}. {markdown_text(facts['line'])}.",
            bullets(facts["sentences"]),
            _counts(labelling, facts).strip(),
        ],
        _about(labelling),
        str(labelling.manifest.get("command") or "headroles"),
        link_line(ABOUT, files),
        facts["notes"],
        citation_bibtex(labelling),
    )


def dataset_card(labelling: Labelling, *, maps: bool) -> str:
    """Return the card of a data set that holds a run: a header in YAML for the hub, and the block.

    Args:
        labelling: The run as it is uploaded.
        maps: Whether attention maps and texts of inputs are among the files.
    """
    title = title_of(labelling)
    texts = (
        "It holds pieces and attention maps of some inputs."
        if maps
        else "It holds no text of an input. Names of inputs and of their groups are in it."
    )
    about = (
        f"This data set is a run folder of headroles. {texts} Download it, and `headroles verify FOLDER` "
        f"checks it, `headroles show FOLDER` prints it, `headroles judge FOLDER` decides again by another "
        f"rule. `manifest.schema.json` and `heads.schema.json` describe the two JSON files."
    )
    name = f"headroles {kind_of(labelling).name}: {title}"
    return hub_card(name, title, ("findings", "labels"), about, card_block(labelling, "./"))


def _counts(labelling: Labelling, facts: Mapping[str, Any]) -> str:
    """Return per role, as Markdown, its heads, the most that may have it, and the strongest head."""
    kind = kind_of(labelling)
    yes = kind.outcomes[0]
    labels = yes == "role" and not kind.baselines  # the line of other kinds names their error rate
    rate = f" ({error_rate(labelling.decision)})" if labels else ""
    results: Mapping[str, Any] = facts["results"]
    total = facts["layers"] * facts["heads"]
    rows = []
    for name, result in results.items():
        counts, top = result["counts"], result["strongest"]
        least = counts[yes]
        strongest: tuple[Cell, Cell] = (Cell("none", "none"), MISSING)
        if top:
            ends = (float("nan") if top[end] is None else top[end] for end in ("mean", "low", "high"))
            strongest = (
                Cell(place := f"{top['layer']}-{top['head']}", place),
                Cell(interval(Interval(*ends)), top["mean"]),
            )
        rows.append(
            (
                Cell(f"{name}: {phrase_of(name).title}", name),
                Cell(f"{least:,}", least),
                Cell(f"[{least}, {least + counts[UNDETERMINED]}]", least),
                *strongest,
            )
        )
    caption = (
        f"Heads of {total:,} with the answer “{yes}”{rate}. The lower bound counts these heads; the upper "
        f"bound adds the heads that are undetermined. A mean has its 95\u00a0% interval."
    )
    header = ("tested", f"heads: {yes}", "bounds", "strongest head", f"its mean {ENDS}")
    return as_markdown(Sheet("Counts", header, tuple(rows)), caption)


def _about(labelling: Labelling) -> list[str]:
    """Return model, inputs and version as lines."""
    manifest = labelling.manifest
    model, source, counts = (dict(manifest.get(name) or {}) for name in ("model", "source", "counts"))
    facts: dict[str, list[object]] = {
        "model": [
            model.get("name"), model.get("revision"), hash_words("weights", model.get("weights_sha256")),
        ],
        "inputs": [
            manifest.get("task"), source.get("name"), hash_words("file", source.get("sha256")),
            number_words(counts.get("examples"), "inputs"), number_words(counts.get("units"), "units"),
        ],
        "made with": [f"headroles {manifest.get('headroles') or ''}".strip()],
    }  # fmt: skip
    return [
        f"{name}: {', '.join(str(value) for value in values if value)}"
        for name, values in facts.items()
        if any(values)
    ]
