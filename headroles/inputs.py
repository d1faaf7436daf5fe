"""The passages a run asks for, from wherever they come."""

from pathlib import Path
from typing import Any

from headroles.errors import BadInput
from headroles.extraction.checkpoint import Checkpoint
from headroles.extraction.passages import Passage
from headroles.extraction.texts import fingerprint, kind_of, read_file, read_hub, read_sample, sampled
from headroles.input_options import InputOptions
from headroles.mention_inputs import mention_windows
from headroles.tasks import HUB, task_of


def gather(
    options: InputOptions, needs: frozenset[str], checkpoint: Checkpoint
) -> tuple[list[Passage], dict[str, Any]]:
    """The passages of a run, and where they come from (kind, name, rows, hash).

    Args:
        options: Of the run.
        needs: Annotation that its sieves read.
        checkpoint: Of the model, whose tokenizer cuts documents into windows where mentions are read.

    Raises:
        HeadrolesError: When the file, column or dataset cannot be used.
    """
    task = None if options.task is None else task_of(options.task)
    kind, name = "file", options.data
    if "mentions" in needs:
        passages = mention_windows(options, needs, checkpoint)
    elif options.source == "hub" and task is not None:
        kind, name = "hub", options.data or HUB
        passages = read_hub(task, name, options.name)
    elif options.data is not None:
        _check_columns(options)
        columns = [options.text_a] if options.text_a else list(task.columns if task else ())
        columns += [options.text_b] if options.text_b else []
        passages = read_file(Path(options.data), columns, options.group, options.name)
    elif task is not None:
        kind, name = "sample", "written for headroles"
        passages = read_sample(task)
    chosen = sampled(passages, options.limit, options.seed)
    source = {"kind": kind, "name": name, "rows": len(passages), "sha256": fingerprint(chosen)}
    if kind == "file" and kind_of(Path(options.data or "")) == ".conllu":
        source["trees"] = "gold"
    return chosen, source


def _check_columns(options: InputOptions) -> None:
    """Refuse column names where there are no columns."""
    for name in ("text_a", "text_b", "group"):
        if getattr(options, name) is not None and kind_of(Path(options.data or "")) == ".conllu":
            raise BadInput(
                f"--{name.replace('_', '-')} names a column of a table, but '{options.data}' is a CoNLL-U "
                f"file, whose texts are its sentences and whose groups are its # newdoc lines; leave it out"
            )
