"""Convert UD English EWT, train parser and tagger, measure them, and write the package folder."""

from __future__ import annotations

import argparse
import gzip
import json
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import spacy
from spacy.cli.train import train as spacy_train
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.training.batchers import minibatch_by_words
from spacy.vocab import Vocab
from thinc.backends.numpy_ops import NumpyOps
from thinc.optimizers import Adam

NAME = "headroles_ud_ewt"
HELD_OUT_EVERY = 20
GROUPINGS = 4
GROUP_WEIGHTS = (5, 2, 2, 1, 1)
TAGGER_PASSES = 8
"""Passes of the tagger over the training texts."""
TAGGER_WORDS = 1_000
"""Approximate number of words in a batch of the tagger."""
LOWER_SHARE = 0.25
SPACED_SHARE = 0.05
REPORTED_RELATIONS = ("nsubj", "obj", "amod", "advmod", "det")


@dataclass(frozen=True)
class Sentence:
    """One tree: words, following-space flags, tags, classes, heads (own index for the root), relations."""

    words: tuple[str, ...]
    spaces: tuple[bool, ...]
    tags: tuple[str, ...]
    classes: tuple[str, ...]
    heads: tuple[int, ...]
    deps: tuple[str, ...]


def open_text(path: Path) -> Iterator[str]:
    """Yield the lines of a plain or gzip-compressed UTF-8 file without their line ends."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as handle:
        for line in handle:
            yield line.rstrip("\n")


def split_surface(surface: str, forms: Sequence[str]) -> list[str]:
    """Cut a multi-word token's surface into contiguous pieces, one for each syntactic word.

    Where the forms do not spell the surface, the later words keep their length (at most what is
    left after one character for each word) and the first word takes the rest.
    """
    if "".join(forms) == surface or len(surface) < len(forms):
        return list(forms)
    pieces: list[str] = []
    rest = surface
    for before, form in zip(range(len(forms) - 1, 0, -1), reversed(forms[1:]), strict=True):
        size = min(len(form), len(rest) - before)
        pieces.append(rest[-size:])
        rest = rest[:-size]
    return [rest, *reversed(pieces)]


def parse_sentence(lines: Sequence[str]) -> Sentence:
    """Read the basic tree of one CoNLL-U block; empty nodes (``8.1``) are left out."""
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    words_at = [row for row in rows if row[0].isdigit()]
    words = [row[1] for row in words_at]
    spaces = ["SpaceAfter=No" not in row[9].split("|") for row in words_at]
    for row in rows:
        if "-" not in row[0]:
            continue
        first, last = (int(part) - 1 for part in row[0].split("-"))
        words[first : last + 1] = split_surface(row[1], words[first : last + 1])
        spaces[first:last] = [False] * (last - first)
        spaces[last] = "SpaceAfter=No" not in row[9].split("|")
    heads = [index if row[6] == "0" else int(row[6]) - 1 for index, row in enumerate(words_at)]
    deps = ["ROOT" if row[6] == "0" else row[7] for row in words_at]
    tags = [row[4] for row in words_at]
    classes = [row[3] for row in words_at]
    return Sentence(tuple(words), tuple(spaces), tuple(tags), tuple(classes), tuple(heads), tuple(deps))


def read_documents(path: Path) -> list[list[Sentence]]:
    """Read a CoNLL-U file as documents (``# newdoc``), each a list of sentences."""
    documents: list[list[Sentence]] = []
    block: list[str] = []
    for line in [*open_text(path), ""]:
        if line:
            block.append(line)
            continue
        if block:
            if not documents or any(entry.startswith("# newdoc") for entry in block):
                documents.append([])
            documents[-1].append(parse_sentence(block))
        block = []
    return documents


@contextmanager
def numpy_matmul() -> Iterator[None]:
    """Multiply matrices with the BLAS of NumPy during training, which is often faster than that of thinc.

    This changes only speed (and float rounding); export and measurement run without it.
    """

    def gemm(
        _self: NumpyOps, x: Any, y: Any, out: Any = None, trans1: bool = False, trans2: bool = False
    ) -> Any:
        return np.dot(x.T if trans1 else x, y.T if trans2 else y, out=out)

    original = NumpyOps.gemm
    NumpyOps.gemm = gemm
    try:
        yield
    finally:
        NumpyOps.gemm = original


def to_doc(vocab: Vocab, sentences: Sequence[Sentence], lower: bool = False, spaced: bool = False) -> Doc:
    """Join consecutive sentences in one Doc, lower-cased or with a space after every word on request."""
    words: list[str] = []
    spaces: list[bool] = []
    tags: list[str] = []
    classes: list[str] = []
    heads: list[int] = []
    deps: list[str] = []
    for sentence in sentences:
        heads.extend(head + len(words) for head in sentence.heads)
        words.extend(word.lower() if lower else word for word in sentence.words)
        spaces.extend([True] * len(sentence.words) if spaced else sentence.spaces)
        tags.extend(sentence.tags)
        classes.extend(sentence.classes)
        deps.extend(sentence.deps)
    return Doc(vocab, words=words, spaces=spaces, tags=tags, pos=classes, heads=heads, deps=deps)


def group_sentences(
    documents: Iterable[Sequence[Sentence]], rng: random.Random
) -> Iterator[Sequence[Sentence]]:
    """Cut each document into runs of one to five consecutive sentences of random length."""
    sizes = range(1, len(GROUP_WEIGHTS) + 1)
    for document in documents:
        start = 0
        while start < len(document):
            size = rng.choices(sizes, GROUP_WEIGHTS)[0]
            yield document[start : start + size]
            start += size


def write_corpora(documents: Sequence[Sequence[Sentence]], folder: Path, seed: int) -> tuple[Path, Path]:
    """Write the training part (several random groupings, shuffled) and the held-out part for spaCy."""
    rng = random.Random(seed)
    vocab = spacy.blank("en").vocab
    held_out = documents[HELD_OUT_EVERY - 1 :: HELD_OUT_EVERY]
    training = [doc for index, doc in enumerate(documents) if index % HELD_OUT_EVERY != HELD_OUT_EVERY - 1]
    groups = [group for _ in range(GROUPINGS) for group in group_sentences(training, rng)]
    rng.shuffle(groups)
    train_docs = [
        to_doc(vocab, group, lower=rng.random() < LOWER_SHARE, spaced=rng.random() < SPACED_SHARE)
        for group in groups
    ]
    dev_docs = [to_doc(vocab, group) for group in group_sentences(held_out, rng)]
    train_path, dev_path = folder / "train.spacy", folder / "held_out.spacy"
    for path, docs in ((train_path, train_docs), (dev_path, dev_docs)):
        DocBin(attrs=["ORTH", "SPACY", "TAG", "POS", "HEAD", "DEP", "SENT_START"], docs=docs).to_disk(path)
    return train_path, dev_path


Span = tuple[int, int]
Arc = tuple[Span, str]


def arcs(doc: Doc) -> dict[Span, Arc]:
    """Map each token's character span to its head's span and its relation."""
    spans = {token.i: (token.idx, token.idx + len(token)) for token in doc}
    return {spans[token.i]: (spans[token.head.i], token.dep_) for token in doc if not token.is_space}


def classes(doc: Doc) -> dict[Span, str]:
    """Map each token's character span to its word class."""
    return {(token.idx, token.idx + len(token)): token.pos_ for token in doc if not token.is_space}


def count_arcs(gold: dict[Span, Arc], guess: dict[Span, Arc], counts: Counter[tuple[str, str]]) -> None:
    """Add the counts of one text under keys (measure, relation), with relation ``*`` for all words."""
    for span, (head, dep) in gold.items():
        predicted = guess.get(span)
        head_right = predicted is not None and predicted[0] == head
        right = head_right and predicted is not None and predicted[1] == dep
        for relation in (dep, "*"):
            counts["gold", relation] += 1
            counts["aligned", relation] += predicted is not None
            counts["uas", relation] += head_right
            counts["las", relation] += right
    for _, dep in guess.values():
        counts["guess", dep] += 1


def ratio(part: int, whole: int) -> float:
    """Return a percentage rounded to two places, 0 when there is nothing to count."""
    return round(100 * part / whole, 2) if whole else 0.0


def summarise(counts: Counter[tuple[str, str]]) -> dict[str, Any]:
    """Turn counts into UAS and LAS (with and without punct) and figures for the reported relations."""
    relations = {}
    for dep in REPORTED_RELATIONS:
        las, gold, guess = counts["las", dep], counts["gold", dep], counts["guess", dep]
        relations[dep] = {
            "las": ratio(las, gold), "precision": ratio(las, guess), "f": ratio(2 * las, gold + guess),
            "gold": gold,
        }  # fmt: skip
    result: dict[str, Any] = {"words": counts["gold", "*"]}
    result["aligned"] = ratio(counts["aligned", "*"], counts["gold", "*"])
    result["word_class"] = ratio(counts["class", "*"], counts["gold", "*"])
    for measure in ("uas", "las"):
        result[measure] = ratio(counts[measure, "*"], counts["gold", "*"])
        part, whole = (counts[key, "*"] - counts[key, "punct"] for key in (measure, "gold"))
        result[f"{measure}_without_punct"] = ratio(part, whole)
    result["relations"] = relations
    return result


def starts(doc: Doc) -> set[int]:
    """Return the character offsets at which sentences of a parsed Doc start."""
    return {sent[0].idx for sent in doc.sents}


def score(nlp: Language, golds: Sequence[Doc], raw: bool) -> dict[str, Any]:
    """Score parses of gold tokens, or of raw text, where a word that is not one token counts as wrong."""
    if raw:
        inputs = [nlp.make_doc(gold.text) for gold in golds]
    else:
        inputs = [
            Doc(nlp.vocab, words=[t.text for t in gold], spaces=[bool(t.whitespace_) for t in gold])
            for gold in golds
        ]
    counts: Counter[tuple[str, str]] = Counter()
    shared = gold_starts = guess_starts = 0
    for gold, guess in zip(golds, nlp.pipe(inputs), strict=True):
        count_arcs(arcs(gold), arcs(guess), counts)
        counts["class", "*"] += len(classes(gold).items() & classes(guess).items())
        shared += len(starts(gold) & starts(guess))
        gold_starts += len(starts(gold))
        guess_starts += len(starts(guess))
    return {**summarise(counts), "sentence_start_f": ratio(2 * shared, gold_starts + guess_starts)}


def measure_speed(nlp: Language, texts: Sequence[str], repeats: int = 3) -> int:
    """Return words parsed per second from raw text, the best of several passes."""
    best = 0.0
    for _ in range(repeats):
        begin = time.perf_counter()
        words = sum(len(doc) for doc in nlp.pipe(texts))
        best = max(best, words / (time.perf_counter() - begin))
    return round(best)


def evaluate(folder: Path, treebank: Path) -> dict[str, Any]:
    """Measure a pipeline folder on a treebank file: accuracy two ways, speed and size."""
    nlp = spacy.load(folder)
    documents = read_documents(treebank)
    sentences = [sentence for document in documents for sentence in document]
    fives = [document[at : at + 5] for document in documents for at in range(0, len(document), 5)]
    singles = [to_doc(nlp.vocab, [sentence]) for sentence in sentences]
    return {
        "gold_tokens": score(nlp, singles, raw=False),
        "raw_text": score(nlp, singles, raw=True),
        "raw_text_lower_case": score(nlp, [to_doc(nlp.vocab, [s], lower=True) for s in sentences], raw=True),
        "raw_text_up_to_five_sentences": score(nlp, [to_doc(nlp.vocab, five) for five in fives], raw=True),
        "words_per_second": measure_speed(nlp, [doc.text for doc in singles]),
        "bytes": sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
    }


def describe(nlp: Language) -> None:
    """Fill in the name, licence and sources of the pipeline's meta data and blank its data paths."""
    nlp.meta.update(
        {
            "name": NAME,
            "version": "1.1.0",
            "description": "English dependency parser (Universal Dependencies labels, root as ROOT), "
            "tok2vec, transition-based parser and tagger of word classes, trained on UD English EWT.",
            "license": "CC BY-SA 4.0",
            "author": "headroles contributors",
            "sources": [
                {
                    "name": "Universal Dependencies English EWT, release 2.16 (commit 15d613d8), train file",
                    "url": "https://github.com/UniversalDependencies/UD_English-EWT",
                    "license": "CC BY-SA 4.0",
                    "author": "Natalia Silveira, Timothy Dozat, Marie-Catherine de Marneffe, "
                    "Samuel Bowman, Miriam Connor, John Bauer, Christopher D. Manning and the "
                    "UD English EWT contributors",
                }
            ],
            "performance": {},
        }
    )
    nlp.config["paths"].update(dict.fromkeys(nlp.config["paths"]))
    for corpus in nlp.config["corpora"].values():
        corpus["path"] = None
    nlp.config["training"]["score_weights"].pop("tag_acc", None)


def trim_strings(folder: Path, nlp: Language) -> None:
    """Keep only the relation labels in the stored strings; word features are hashed from the text."""
    parser: Any = nlp.get_pipe("parser")
    labels = sorted(parser.labels)
    (folder / "vocab" / "strings.json").write_text(json.dumps(labels, indent=0) + "\n", encoding="utf-8")


def same_parses(first: Language, second: Language, texts: Sequence[str]) -> bool:
    """Return whether two pipelines give the same arcs and labels for every text."""
    pairs = zip(first.pipe(texts), second.pipe(texts), strict=True)
    return all(arcs(one) == arcs(other) for one, other in pairs)


def add_tagger(nlp: Language, documents: Sequence[Sequence[Sentence]], seed: int) -> None:
    """Train a tagger of word classes on the frozen vectors of the parser, and add it to the pipeline.

    It is one linear layer on the output of ``tok2vec``. Neither ``tok2vec`` nor the parser changes.
    """
    spacy.util.fix_random_seed(seed)
    rng = random.Random(seed)
    kept = [doc for index, doc in enumerate(documents) if index % HELD_OUT_EVERY != HELD_OUT_EVERY - 1]
    golds = [
        to_doc(nlp.vocab, group, lower=rng.random() < LOWER_SHARE) for group in group_sentences(kept, rng)
    ]
    vectors: Any = nlp.get_pipe("tok2vec")
    texts = [nlp.make_doc(gold.text) for gold in golds]
    examples = [Example(doc, gold) for doc, gold in zip(vectors.pipe(texts), golds, strict=True)]
    tagger: Any = nlp.add_pipe(
        "morphologizer",
        config={
            "model": {
                "@architectures": "spacy.Tagger.v2",
                "tok2vec": {
                    "@architectures": "spacy.Tok2VecListener.v1",
                    "width": vectors.model.get_dim("nO"),
                    "upstream": "*",
                },
            }
        },
    )
    tagger.initialize(lambda: [Example(gold, gold) for gold in golds], nlp=nlp)
    optimizer = Adam(0.001)
    for _ in range(TAGGER_PASSES):
        rng.shuffle(examples)
        for batch in minibatch_by_words(examples, TAGGER_WORDS):
            tagger.update(batch, sgd=optimizer)


def same_bytes(first: Language, second: Language, name: str) -> bool:
    """Return whether a component of two pipelines has the same weights."""
    return bool(first.get_pipe(name).model.to_bytes() == second.get_pipe(name).model.to_bytes())  # type: ignore[attr-defined]


def export(trained: Path, out: Path, treebank: Path, dev: Path) -> dict[str, Any]:
    """Drop the tagger of training, add the morphologizer, trim, write the package folder, and measure it.

    Raises:
        RuntimeError: When the pipeline that was written does not parse as the trained one does.
    """
    nlp, seed = spacy.load(trained), spacy.util.load_config(trained / "config.cfg")["system"]["seed"]
    for name in {"tagger", "morphologizer"} & set(nlp.pipe_names):
        nlp.remove_pipe(name)
    add_tagger(nlp, read_documents(treebank), seed or 0)
    if not all(same_bytes(spacy.load(trained), nlp, name) for name in ("tok2vec", "parser")):
        raise RuntimeError("the tagger changed the weights of the parser")
    describe(nlp)
    shutil.rmtree(out, ignore_errors=True)
    nlp.to_disk(out)
    trim_strings(out, nlp)
    texts = [to_doc(nlp.vocab, [s]).text for document in read_documents(dev) for s in document]
    if not same_parses(spacy.load(trained), spacy.load(out), texts):
        raise RuntimeError("the trimmed pipeline does not parse as the trained one does")
    figures = evaluate(out, dev)
    meta = json.loads((out / "meta.json").read_text(encoding="utf-8"))
    meta["performance"] = {key: value for key, value in figures.items() if key != "bytes"}
    text = json.dumps(meta, indent=2, ensure_ascii=False) + "\n"
    (out / "meta.json").write_text(text, encoding="utf-8")
    return figures


def train(config: Path, treebank: Path, work: Path) -> Path:
    """Convert the treebank, train, and return the folder that was best on the held-out documents."""
    work.mkdir(parents=True, exist_ok=True)
    seed = spacy.util.load_config(config)["system"]["seed"]
    train_path, dev_path = write_corpora(read_documents(treebank), work, seed)
    overrides = {"paths.train": str(train_path), "paths.dev": str(dev_path)}
    with numpy_matmul():
        spacy_train(config, work / "trained", overrides=overrides)
    return work / "trained" / "model-best"


def build_arguments() -> argparse.ArgumentParser:
    """Describe the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    train_command = commands.add_parser("train", help="train, then write and measure the package folder")
    export_command = commands.add_parser(
        "export", help="write and measure a trained pipeline's package folder"
    )
    evaluate_command = commands.add_parser("evaluate", help="measure a pipeline folder")
    for command in (train_command, export_command, evaluate_command):
        command.add_argument("--dev", type=Path, required=True, help="treebank file for the figures")
        command.add_argument("--out", type=Path, required=True, help="pipeline folder to write or measure")
    for command in (train_command, export_command):
        command.add_argument("--train", type=Path, required=True, help="treebank file to train on")
    train_command.add_argument("--config", type=Path, default=Path(__file__).with_name("parser.cfg"))
    train_command.add_argument("--work", type=Path, help="folder that keeps the intermediate files")
    export_command.add_argument("--trained", type=Path, required=True, help="pipeline that training wrote")
    return parser


def main() -> None:
    """Run one command and print the figures as JSON."""
    arguments = build_arguments().parse_args()
    if arguments.command == "train":
        with tempfile.TemporaryDirectory() as temporary:
            best = train(arguments.config, arguments.train, arguments.work or Path(temporary))
            figures = export(best, arguments.out, arguments.train, arguments.dev)
    elif arguments.command == "export":
        figures = export(arguments.trained, arguments.out, arguments.train, arguments.dev)
    else:
        figures = evaluate(arguments.out, arguments.dev)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
