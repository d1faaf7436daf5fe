"""Running text becomes pairs that fit, and words with trees; gold trees pass through as they are."""

import json
import random
import re
import subprocess
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headroles import convert_pairs, convert_trees
from headroles.extraction import load_parser, read_documents, read_file, read_running_text, tokenise
from headroles.records import Document, Passage
from tests.support.texts import conllu, rows_of, write

WIKI = (
    " \n = Lobster = \n \n The lobster has a big claw . \n It = a lot . \n"
    " \n = = Life = = \n \n It lives . \n"
    " \n = = = Young = = = \n \n = Crab = \n \n A crab @-@ like thing = = x . \n"
)
WORDS = "the committee decide about an unbelievable treaty , it was signed in Paris ! naïve 東京 🙂 re-open"
KINDS = ("bert", "roberta", "gpt2", "t5", "xlnet")


def text_of(seed: int, words: int) -> str:
    """Return random words with blanks of several kinds between them."""
    rng = np.random.default_rng(seed)
    own = rng.choice([" ", "  ", " \n", "\t"], size=words, p=[0.85, 0.05, 0.05, 0.05])
    return "".join(map("".join, zip(rng.choice(WORDS.split(), size=words), own, strict=True)))


def test_articles_begin_at_titles_and_lose_their_headings_elsewhere_blank_lines_divide(
    tmp_path: Path,
) -> None:
    lobster, crab = read_running_text(write(tmp_path / "wiki.raw.gz", WIKI))
    assert (lobster.name, crab.name) == ("Lobster", "Crab")
    assert lobster.text == " The lobster has a big claw . \n It = a lot . \n It lives . \n"
    assert lobster.paragraphs == tuple(lobster.text.splitlines(keepends=True))
    assert crab.text == " A crab @-@ like thing = = x . \n"
    text = "\n\none line\nand another\n \n\t\nnext\n\n= Not a title =\n"
    found = [(own.name, own.paragraphs) for own in read_running_text(write(tmp_path / "plain.txt", text))]
    texts = ("one line\nand another\n", "next\n", "= Not a title =\n")
    assert found == [(f"document {number}", (own,)) for number, own in enumerate(texts, start=1)]


@pytest.fixture(scope="module")
def models(tokenizer_of: Callable[[str], Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of models that have no more than a tokenizer."""
    from safetensors.numpy import save_file

    root = tmp_path_factory.mktemp("tokenizers")
    for kind in KINDS:
        tokenizer_of(kind).save_pretrained(root / kind)
        write(root / kind / "config.json", json.dumps({"model_type": "bert"}))
        save_file({"no": np.zeros(1)}, root / kind / "model.safetensors")
    return {kind: root / kind for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_are_slices_in_a_row_that_fit_and_lose_nothing_between_them(
    kind: str, tokenizer_of: Callable[[str], Any], models: dict[str, Path], tmp_path: Path
) -> None:
    text, tokenizer, out = text_of(3, 200), tokenizer_of(kind), tmp_path / "pairs.jsonl"
    file = write(tmp_path / "text.txt", text)
    done = convert_pairs(file, out=out, model=models[kind], max_length=40, cut="words")
    rows = rows_of(out)
    assert len(rows) >= 5
    assert done.shortest > 20
    place = 0
    for row in rows:
        first, second = row["text_a"], row["text_b"]
        assert first == first.strip() != ""
        assert second == second.strip() != ""
        found = re.compile(rf"\s*{re.escape(first)}\s*{re.escape(second)}").match(text, place)
        assert found
        place = found.end()
    read = tokenise(tokenizer, [Passage("pair", (row["text_a"], row["text_b"])) for row in rows], 512)
    assert max(own.size for own in read) <= 40


def released_pairs(documents: list[list[list[str]]], room: int) -> list[tuple[list[str], list[str]]]:
    """Return the pairs of documents of lines of tokens, as the code of Clark et al. (2019) has its rules."""
    draw, pairs = random.Random(0), []
    for lines in documents:
        chunk: list[list[str]] = []
        for number, line in enumerate(lines):
            chunk.append(line)
            if number < len(lines) - 1 and len([*chain(*chunk)]) < room:
                continue
            end = draw.randint(1, len(chunk) - 1) if len(chunk) > 1 else 1
            first, second = [*chain(*chunk[:end])], [*chain(*chunk[end:])]
            while len(first) + len(second) > room:
                longer = first if len(first) > len(second) else second
                longer.pop(0 if draw.random() < 0.5 else -1)
            if not second:
                break
            pairs.append((first, second))
            chunk = []
    return pairs


@pytest.mark.parametrize("ended", [False, True])
def test_pairs_are_those_of_the_released_script_which_cuts_between_lines(
    ended: bool, models: dict[str, Path], tmp_path: Path
) -> None:
    words, rng = ["the", "it", "was", "in", "of", "and", ":", ",", "!", "."], np.random.default_rng(5)
    drawn = [[rng.choice(words, size=size).tolist() for size in rng.integers(2, 9, 30)] for _ in range(4)]
    drawn[2][1:1] = [words * 3]  # a line that fills a pair ends its document
    text = "\n\n \n".join("\n".join(map(" ".join, lines)) for lines in drawn) + "\n\n" * ended
    out, file = tmp_path / "pairs.jsonl", write(tmp_path / "text.txt", text)
    done = convert_pairs(file, out=out, model=models["bert"], max_length=20)
    expected = released_pairs(drawn if ended else drawn[:-1], 17)
    assert [(row["text_a"].split(), row["text_b"].split()) for row in rows_of(out)] == expected
    assert ("no blank line after it" in str(done)) == (not ended)
    assert {row["group"] for row in rows_of(out)} == {f"document {n}" for n in (1, 2, 3, 4)[: 3 + ended]}


@pytest.mark.parametrize("prepare", [convert_pairs, convert_trees])
def test_what_a_killed_preparation_left_is_gone_after_the_next(
    prepare: Callable[..., Any], models: dict[str, Path], tmp_path: Path
) -> None:
    gold = "\n".join([conllu(1, "It", 2, "nsubj"), conllu(2, "rains", 0, "root"), "", ""])
    file = write(tmp_path / "in.conllu", gold) if prepare is convert_trees else tmp_path / "in.txt"
    how = {} if file.exists() else {"model": models["bert"]}
    write(file, gold if file.exists() else "it was\nsigned in Paris\n\n")
    process = subprocess.Popen(["true"])
    process.wait()
    left = write(tmp_path / f".out.jsonl.{process.pid}.partial", "half")
    prepare(file, out=tmp_path / "out.jsonl", **how)
    assert (left.exists(), (tmp_path / "out.jsonl").exists()) == (False, True)


def test_pairs_are_what_a_run_reads_given_by_the_seed_all_or_some_in_order(
    models: dict[str, Path], tokenizer_of: Callable[[str], Any], tmp_path: Path
) -> None:
    texts = [" ".join(text_of(seed, 100 if seed < 5 else 3).split()) for seed in range(7)]
    file, out = write(tmp_path / "plain.txt", "\n\n".join(texts)), tmp_path / "new" / "pairs.jsonl"

    def prepare(**options: Any) -> tuple[Any, list[dict[str, Any]]]:
        how: dict[str, Any] = {"max_length": 40, "overwrite": True, "model": models["bert"], "cut": "words"}
        return convert_pairs(file, out=out, **how | options), rows_of(out)

    done, everything = prepare()
    passages = read_file(out, ["text_a", "text_b"], "group", "pairs")
    assert [passage.texts for passage in passages] == [(row["text_a"], row["text_b"]) for row in everything]
    assert done.count == done.found == len(passages) > 10
    assert (done.documents, done.short) == (7, 2)
    assert {passage.group for passage in passages} == {f"document {number}" for number in range(1, 6)}
    sizes = [read.size for read in tokenise(tokenizer_of("bert"), passages, 512)]
    assert (done.shortest, done.longest) == (min(sizes), max(sizes))
    assert done.mean == pytest.approx(np.mean(sizes))
    assert prepare()[1] == everything != prepare(seed=1)[1]
    first, rows = prepare(first=4)
    assert (rows, first.count, first.found) == (everything[:4], 4, 4)
    done, rows = prepare(limit=4)
    assert (rows == everything[:4], done.count, done.found) == (False, 4, len(everything))
    assert rows == [row for row in everything if row in rows]


def arcs(document: Document) -> list[tuple[str, int, str]]:
    """Return word, head and relation of each word."""
    assert document.heads is not None
    return list(zip(document.words, document.heads.tolist(), document.relations or (), strict=True))


TREES = f"""# newdoc id = one
# global.Entity = eid-etype-head-other
{conllu(1, "She", 2, "nsubj", "Entity=(e1-person-1-)", upos="PRON", xpos="PRP", feats="Case=Nom")}
{conllu(2, "sleeps", 0, "root", "SpaceAfter=No")}
{conllu(3, ".", 2, "punct")}

{conllu("1-2", "can't")}
{conllu(1, "ca", 3, "aux")}
{conllu(2, "n't", 3, "advmod")}
{conllu(3, "wake", 0, "root")}
{conllu(4, "her", 3, "obj", "Entity=(e1-person-1-)")}

# newdoc id = two
{conllu("1-2", "au")}
{conllu(1, "à", 3, "case")}
{conllu(2, "le", 3, "det")}
{conllu(3, "lit", 0, "root")}
"""


def test_gold_trees_pass_through_with_all_that_is_annotated(tmp_path: Path) -> None:
    file, out = write(tmp_path / "data.conllu", TREES), tmp_path / "trees.jsonl"
    done = convert_trees(file, out=out)
    assert (done.file, done.documents, done.found, done.sentences, done.words) == (out, 2, 2, 3, 10)
    assert done.parser is None
    before, after = read_documents(file, "a"), read_documents(out, "a")
    assert [document.text for document in after] == ["She sleeps. can't wake her", "à le lit"]
    for gold, again in zip(before, after, strict=True):
        assert (again.key, again.tags, again.features) == (gold.key, gold.tags, gold.features)
        assert arcs(again) == arcs(gold)
        assert again.sentences.tolist() == gold.sentences.tolist()
    mentions = [(mention.start, mention.stop) for mention in after[0].mentions or ()]
    assert mentions == [(0, 1), (6, 7)]
    assert len({mention.entity for mention in after[0].mentions or ()}) == 1
    assert after[1].mentions == ()
    assert {row["trees"] for row in rows_of(out)} == {"gold"}
    write(file, TREES.replace("= two", "= one"))
    convert_trees(file, out=out, overwrite=True)
    keys = [[(d.key, d.group) for d in read_documents(name, "a")] for name in (file, out)]
    assert keys[0] == keys[1]


@pytest.mark.xdist_group("spacy")
def test_running_text_is_parsed_into_sentences_with_a_tree_each(tmp_path: Path, plain: Any) -> None:
    text = "The dog saw it. A cat\nslept, naïvely 😀 .\n\n\nIt rains.\n"
    out = tmp_path / "trees.jsonl"
    done = convert_trees(write(tmp_path / "text.txt", text), out=out)
    rows = rows_of(out)
    assert [row["document"] for row in rows] == ["document 1", "document 2"]
    assert rows[0]["sentences"] == [5, 7]
    described = load_parser(None)[1]
    assert {row["trees"] for row in rows} == {"automatic"}
    assert {row["parser"] for row in rows} == {f"{described['name']} {described['version']}"} == {done.parser}
    first, second = read_documents(out, "a")
    assert first.text == "The dog saw it. A cat slept, naïvely 😀 ."
    assert second.words == ("It", "rains", ".")
    found, spoken = arcs(first), [token for token in plain(text.split("\n\n")[0]) if not token.is_space]
    assert [word for word, _, _ in found] == [token.text for token in spoken]
    places = {token.i: place for place, token in enumerate(spoken)}
    for (_, head, relation), token in zip(found, spoken, strict=True):
        own = (-1, "root") if token.head.i == token.i else (places[token.head.i], token.dep_)
        assert (head, relation) == own


@pytest.mark.xdist_group("spacy")
def test_every_sentence_is_a_tree_whatever_the_parser_says(tmp_path: Path) -> None:
    import spacy
    from spacy.language import Language

    class Told:
        """A parser that takes the head of each word from the word: w3 hangs on the fourth."""

        def __call__(self, doc: Any) -> Any:
            for token in doc:
                token.head, token.dep_ = doc[int(token.text[1:] or token.i)], "told"
            return doc

    Language.factory("told", func=lambda nlp, name: Told())
    made = spacy.blank("en")
    made.add_pipe("told", name="parser")
    made.to_disk(tmp_path / "parser")
    forests = [
        ([2, 1, 2, 1, 4], [0, 4], [2, -1, 1, 1, -1], "told root dep told root"),
        ([0, 0, 0], [0], [-1, 0, 0], "root told told"),
        ([0, 1, 2], [0, 1, 2], [-1, -1, -1], "root root root"),
        ([3, 0, 3, 3, 4, 3], [0], [3, 0, 3, -1, 3, 3], "told told told root dep told"),
        ([1, 2, 2, 5, 5, 5], [0, 3], [1, 2, -1, 5, 5, -1], "told told root told told root"),
    ]
    """Heads that the parser gives; sentences, heads and relations of the document."""
    text = "\n\n".join(" ".join(f"w{head}" for head in heads) for heads, *_ in forests)
    file, out = write(tmp_path / "text.txt", text), tmp_path / "trees.jsonl"
    convert_trees(file, out=out, parser=str(tmp_path / "parser"))
    documents = read_documents(out, "a")
    for (_, sentences, heads, relations), document in zip(forests, documents, strict=True):
        assert document.heads is not None
        assert (document.sentences.tolist(), document.heads.tolist()) == (sentences, heads)
        assert " ".join(document.relations or ()) == relations
