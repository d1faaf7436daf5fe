"""Choose the gold trees that ship with headroles: one sentence from each of 160 documents of UD English EWT.

The documents are drawn by a seed from those that hold a sentence of 8 to 30 words. Of each document the
sentence with the most different relations is taken; among equals the seed draws. Columns of the treebank stay
as they are. No model is asked, so the choice favours no head. The file that ships is written by:

    python benchmarks/gold_trees.py en_ewt-ud-dev.conllu.gz headroles/samples/EWT.conllu
"""

import gzip
from collections import Counter
from pathlib import Path

import click
import numpy as np

SHORTEST, LONGEST = 8, 30
"""Words of a sentence, punctuation included."""


def read_sentences(file: Path) -> dict[str, list[tuple[str, list[str]]]]:
    """Return the sentences of a fit length by document: their lines, and the relation of each word."""
    documents: dict[str, list[tuple[str, list[str]]]] = {}
    document = ""
    for block in gzip.decompress(file.read_bytes()).decode().strip().split("\n\n"):
        lines = block.splitlines()
        for line in lines:
            document = line.removeprefix("# newdoc id = ") if line.startswith("# newdoc id = ") else document
        cells = [line.split("\t") for line in lines]
        relations = [row[7] for row in cells if row[0].isdigit()]
        if SHORTEST <= len(relations) <= LONGEST:
            kept = [line for line in lines if not line.startswith(("# newdoc", "# newpar", "# meta"))]
            documents.setdefault(document, []).append(("\n".join(kept), relations))
    return documents


@click.command()
@click.argument("treebank", type=click.Path(path_type=Path, exists=True))
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--documents", default=160, show_default=True)
@click.option("--seed", default=0, show_default=True)
def main(treebank: Path, out: Path, documents: int, seed: int) -> None:
    """Write the chosen sentences, and print how many arcs each relation has."""
    known, rng = read_sentences(treebank), np.random.default_rng(seed)
    blocks, arcs = [], Counter[str]()
    for place in sorted(rng.choice(len(known), documents, replace=False).tolist()):
        name = sorted(known)[place]
        order = rng.permutation(len(known[name])).tolist()
        lines, relations = max((known[name][k] for k in order), key=lambda one: len({*one[1]}))
        blocks.append(f"# newdoc id = {name}\n{lines}\n")
        arcs.update(relations)
    out.write_text("\n".join(blocks) + "\n", encoding="utf-8")
    print(
        f"{len(blocks)} sentences, {arcs.total()} words; "
        + ", ".join(f"{k} {n}" for k, n in arcs.most_common())
    )


if __name__ == "__main__":
    main()
