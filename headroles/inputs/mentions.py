"""Windows of documents with gold mentions, for sieves that read them."""

from pathlib import Path

from headroles.errors import BadInput
from headroles.extraction.gold.read import read_documents
from headroles.extraction.model.checkpoint import Checkpoint
from headroles.options.inputs import InputOptions
from headroles.records.documents import Document
from headroles.records.passage import Passage


def mention_windows(options: InputOptions, needs: frozenset[str], checkpoint: Checkpoint) -> list[Passage]:
    """The documents of ``--data`` in windows of at most ``--max-length`` tokens, end to end.

    A mention is seen with those of its window only; the documents are the units.

    Args:
        options: Of the run.
        needs: Annotation that the sieves read, "mentions" among it.
        checkpoint: Whose tokenizer says how long words are.

    Raises:
        BadInput: When no file is given, or its documents lack what the sieves read.
    """
    if options.data is None or options.source == "hub" or options.text_a is not None:
        raise BadInput(
            "the coreference sieve needs gold mentions of entities, which no task or table brings; give a "
            "file of them with --data (GUM's CoNLL-U, CoNLL-2012, GAP, WinoBias or JSON lines), or leave the "
            "sieve out"
        )
    documents = read_documents(Path(options.data), options.name)
    _check(documents, needs, options.data)
    from headroles.extraction.model.load import load_tokenizer
    from headroles.extraction.texts.pieces import pieces_of, room_of
    from headroles.extraction.texts.windows import document_windows, passage_of

    tokenizer = load_tokenizer(checkpoint)
    room = room_of(tokenizer, options.max_length, "--max-length")
    windows = document_windows(documents, pieces_of(tokenizer, documents), room, room)
    return [passage_of(window) for window in windows]


def _check(documents: list[Document], needs: frozenset[str], data: str) -> None:
    for need, found, what in (
        ("mentions", [each.mentions for each in documents], "mentions of entities"),
        ("arcs", [each.heads for each in documents], "dependency trees"),
    ):
        if need in needs and any(each is None for each in found):
            raise BadInput(
                f"the sieves of this run read gold {what}, but documents of '{data}' have none; give data "
                f"with them, or leave out the sieves that need them"
            )
