"""Write annotated corpora as plain text, documents divided by blank lines, for the other scripts.

Reads CoNLL-U (comments ``# newdoc``, ``# text``), CoNLL-2012 such as that of LitBank, and tables with a
column of texts, such as that of GAP. WikiText needs no change.
"""

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from headroles.errors import BadInput, HeadrolesError
from headroles.extraction.texts.files import file_format, open_text
from headroles.storage.folder import write_text

WORD = 3
"""Column of the word in CoNLL-2012, from 0."""


def conllu_documents(lines: Iterable[str]) -> Iterator[list[str]]:
    """Yield the sentences of each document of CoNLL-U, as their ``# text`` comments have them."""
    document: list[str] = []
    for line in lines:
        if line.startswith("# newdoc"):
            yield document
            document = []
        elif line.startswith("# text = "):
            document.append(line.removeprefix("# text = ").strip())
    yield document


def conll_documents(lines: Iterable[str]) -> Iterator[list[str]]:
    """Yield the sentences of each document of CoNLL-2012, words joined by blanks."""
    document: list[str] = []
    words: list[str] = []
    for line in lines:
        if line.startswith("#begin") or not line.strip() or line.startswith("#end"):
            document += [" ".join(words)] * bool(words)
            words = []
            if line.startswith("#end"):
                yield document
                document = []
        else:
            words.append(line.rstrip("\r\n").split("\t")[WORD])


def table_documents(lines: Iterable[str], column: str) -> Iterator[list[str]]:
    """Yield the texts of a column, each a document; quotes are letters like all others."""
    for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
        if row.get(column) is None:
            raise BadInput(f"the table needs the column {column!r}, but has {', '.join(row)}; give --column")
        yield [row[column]]


def read_documents(path: Path, column: str) -> list[list[str]]:
    """Return the documents of a file, each as its sentences or as one text.

    Raises:
        BadInput: When the ending is unknown, or the file cannot be read.
    """
    readers = {".conllu": conllu_documents, ".conll": conll_documents}
    form = file_format(path)
    if form not in (*readers, ".tsv"):
        raise BadInput(f"files end in .conllu, .conll or .tsv, with or without .gz, but got '{path}'")
    with open_text(path) as text:
        documents = table_documents(text, column) if form == ".tsv" else readers[form](text)
        return [document for document in documents if document]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", type=Path)
@click.option("--out", type=Path, required=True, help="File of plain text to write.")
@click.option("--column", default="Text", show_default=True, help="Column of a table.")
@click.option(
    "--skip", type=click.IntRange(0), default=0, show_default=True, help="Leave out the first documents."
)
@click.option("--limit", type=click.IntRange(1), help="Write at most this many documents.")
def main(file: Path, out: Path, column: str, skip: int, limit: int | None) -> None:
    """Write the documents of FILE as plain text, divided by blank lines."""
    try:
        documents = read_documents(file, column)[skip:][:limit]
        write_text(out, "\n\n".join("\n".join(document) for document in documents) + "\n")
    except HeadrolesError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{len(documents)} documents in {out}")


if __name__ == "__main__":
    main()
