"""Record everything that reproduces a run which asks about the roles of a label run."""

from typing import Any

from headroles.options.inputs import InputOptions
from headroles.records.arrays import shared_keys_note
from headroles.runs.manifest import attention_notes, common_record
from headroles.runs.scored import ScoredRun


def record_of_questions(
    options: InputOptions, scored: ScoredRun, part: str, statistic: str
) -> dict[str, Any]:
    """Return everything needed to reproduce a run, in JSON types.

    Args:
        options: Of the run.
        scored: Its scores.
        part: Name of the facts that its workers noted; they hold their own notes.
        statistic: What the columns measure.
    """
    known, described = scored.facts.known, scored.facts.described
    noted = known.noted
    return common_record(options, scored, noted["longest"]) | {
        "task": options.task,
        "parser": known.parser,
        **({"vectors": known.vectors} if known.vectors else {}),
        "statistic": statistic,
        part: noted[part],
        "notes": [*noted[part]["notes"], *attention_notes(described), *shared_keys_note(described)],
    }
