"""An atlas as a block of Markdown for a model card, and as the card of a data set on the hub."""

from headroles.records.atlas.atlas import Atlas, AtlasRun
from headroles.records.table import Table
from headroles.reports.console import MARKS
from headroles.reports.kinds.atlas import answer_of
from headroles.reports.kinds.atlas_report import counts_table, emerged_table, roles_table
from headroles.reports.papers import as_markdown, markdown_text
from headroles.reports.report import Paper
from headroles.reports.works import citation_bibtex
from headroles.sharing.markdown import block, bullets, hash_words, hub_card, link_line, number_words

ATLAS_SCHEMA = "atlas.schema.json"
ABOUT = {
    "report.html": "the page, which needs no network",
    "consensus.csv": "every role and head over the runs",
    "findings.csv": "every test of every run",
    "agreement.csv": "agreement of labels",
    "several.csv": "roles a head by layer",
    "trends.csv": "every role and head over the steps of a training",
    "manifest.json": "the runs, their inputs and versions",
}
"""Files that a block links to."""


def atlas_block(atlas: Atlas, files: str = "") -> str:
    """Return an atlas as a block of Markdown for a model card.

    It has the answer in sentences, the heads per role in at least so many runs, every run with its model and
    inputs, the command, notes, links to files, and the citation.

    Args:
        atlas: The atlas.
        files: Address of its files, with a slash at the end; "" where nobody can open them.

    Returns:
        The block, ending with a line feed. Text from data is no markup in it.
    """
    answer = answer_of(atlas)
    return block(
        [
            f"{markdown_text(answer.title.translate(MARKS))} {markdown_text(answer.line.translate(MARKS))}.",
            bullets([sentence.text for sentence in answer.sentences]),
            *(as_markdown(Paper(table, "").sheet, "").strip() for table in _shown(atlas)),
        ],
        [_about(run) for run in atlas.runs],
        str(atlas.manifest.get("command") or "headroles atlas"),
        link_line({name: words for name, words in ABOUT.items() if name in _tables(atlas)}, files),
        atlas.remarks,
        citation_bibtex(atlas),
    )


def atlas_dataset_card(atlas: Atlas) -> str:
    """Return the card of a data set that holds an atlas: a header in YAML for the hub, and the block.

    Args:
        atlas: The atlas as it is uploaded.
    """
    title = answer_of(atlas).title.translate(MARKS)
    names = [name.removesuffix(".csv") for name in _tables(atlas) if name.endswith(".csv")]
    about = (
        "This data set is an atlas of headroles: several label runs together. It holds no text of an input. "
        "Download it, and `headroles show FOLDER` prints it; with `--table NAME` it prints a table. "
        f"`{ATLAS_SCHEMA}` describes the manifest and the rows of the tables."
    )
    return hub_card(f"headroles atlas: {title}", title, names, about, atlas_block(atlas, "./"))


def _tables(atlas: Atlas) -> list[str]:
    """Return the files that a block links to: tables without a row are left out."""
    empty = {"consensus.csv": atlas.consensus, "agreement.csv": atlas.agreement, "trends.csv": atlas.steps}
    return [name for name in ABOUT if empty.get(name, True)]


def _shown(atlas: Atlas) -> list[Table]:
    """Return the tables of the block: heads by runs or, without a group of two runs, heads in each run."""
    across = [counts_table(atlas)] if atlas.consensus else [roles_table(atlas)]
    return across + [emerged_table(atlas)] * bool(atlas.steps)


def _about(run: AtlasRun) -> str:
    """Return model, inputs and rule of a run in a line."""
    facts = [
        run.model, hash_words("weights", run.weights), number_words(run.examples, "inputs"),
        number_words(run.units, "units"), hash_words("inputs", run.inputs_sha256), run.preset, run.rule,
    ]  # fmt: skip
    return f"{run.name}: {', '.join(fact for fact in facts if fact)}"
