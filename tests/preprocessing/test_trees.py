"""Texts become words and trees that probes of dependency read; gold trees pass through as they are."""

import gzip
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

import headroles
from headroles.errors import BadInput, HeadrolesError, UnknownName
from headroles.extraction.gold.jsonlines import parser_of
from headroles.extraction.gold.read import read_documents
from headroles.extraction.parsing.pipeline import load_parser
from headroles.preprocessing.documents import layout_of, split_trees
from headroles.preprocessing.trees import TreeFile, preprocess_depparse
from headroles.records.documents import Document
from headroles.runs.probe.inputs import parser_notes

CONLLU = """# newdoc id = one
# global.Entity = eid-etype-head-other
1\tShe\tshe\tPRON\tPRP\tCase=Nom\t2\tnsubj\t_\tEntity=(e1-person-1-)
2\tsleeps\tsleep\tVERB\tVBZ\t_\t0\troot\t_\tSpaceAfter=No
3\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_

1-2\tcan't\t_\t_\t_\t_\t_\t_\t_\t_
1\tca\tcan\tAUX\tMD\t_\t3\taux\t_\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_
3\twake\twake\tVERB\tVB\t_\t0\troot\t_\t_
4\ther\tshe\tPRON\tPRP\t_\t3\tobj\t_\tEntity=(e1-person-1-)

# newdoc id = two
1-2\tau\t_\t_\t_\t_\t_\t_\t_\t_
1\tà\tà\tADP\t_\t_\t3\tcase\t_\t_
2\tle\tle\tDET\t_\t_\t3\tdet\t_\t_
3\tlit\tlit\tNOUN\t_\t_\t0\troot\t_\t_

"""
WORDS = "the 2-det\ncat 3-nsubj\nsleeps 0-root\n\nit 2-nsubj\nrains 0-root\n"


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def _arcs(document: Document) -> list[tuple[str, int, str]]:
    assert document.heads is not None
    assert document.relations is not None
    return list(zip(document.words, document.heads.tolist(), document.relations, strict=True))


def test_gold_trees_of_a_treebank_pass_through_with_all_that_is_annotated(tmp_path: Path) -> None:
    file = tmp_path / "data.conllu"
    file.write_text(CONLLU)
    done = preprocess_depparse(file, out=tmp_path / "trees.jsonl")
    assert done == TreeFile(tmp_path / "trees.jsonl", 2, 2, 3, 10, None)
    assert "gold trees" in str(done)
    before, after = read_documents(file, "a"), read_documents(tmp_path / "trees.jsonl", "a")
    assert [each.text for each in after] == ["She sleeps. can't wake her", "à le lit"]
    for gold, again in zip(before, after, strict=True):
        assert again.key == gold.key
        assert _arcs(again) == _arcs(gold)
        assert again.sentences.tolist() == gold.sentences.tolist()
        assert (again.tags, again.features) == (gold.tags, gold.features)
    first, second = after
    assert first.mentions is not None
    assert [(each.start, each.stop) for each in first.mentions] == [(0, 1), (6, 7)]
    assert len({each.entity for each in first.mentions}) == 1
    assert second.mentions == ()
    assert {row["trees"] for row in _rows(tmp_path / "trees.jsonl")} == {"gold"}


def test_a_real_treebank_comes_back_with_the_same_trees(shared: Path, tmp_path: Path) -> None:
    file = shared / "data/ud_english_ewt/en_ewt-ud-dev.conllu.gz"
    done = preprocess_depparse(file, out=tmp_path / "ewt.jsonl")
    before, after = read_documents(file, "dev"), read_documents(tmp_path / "ewt.jsonl", "dev")
    assert (done.documents, done.sentences) == (len(before), 2001)
    for gold, again in zip(before, after, strict=True):
        assert (again.key, _arcs(again)) == (gold.key, _arcs(gold))
        assert again.tags == gold.tags
        assert again.features == gold.features
        assert again.sentences.tolist() == gold.sentences.tolist()
    assert np.mean([again.text == gold.text for gold, again in zip(before, after, strict=True)]) > 0.99


def test_lines_of_words_and_heads_are_told_from_the_first_line(tmp_path: Path) -> None:
    file = tmp_path / "sentences.txt"
    file.write_text(WORDS)
    assert layout_of(file) == "words"
    preprocess_depparse(file, out=tmp_path / "trees.jsonl")
    before, after = read_documents(file, "a"), read_documents(tmp_path / "trees.jsonl", "a")
    assert [_arcs(each) for each in after] == [_arcs(each) for each in before]
    assert [each.key for each in after] == ["a/0", "a/1"]


def test_only_what_a_parser_made_is_called_automatic(tmp_path: Path) -> None:
    file = tmp_path / "trees.jsonl"
    lines = {
        '{"words": ["It"]}': None,
        '{"words": ["It"], "trees": "gold", "parser": "x 1"}': None,
        '\n{"words": ["It"], "trees": "automatic", "parser": "x 1"}': "x 1",
        '["automatic"]': None,
        "no JSON": None,
    }
    for line, parser in lines.items():
        file.write_text(line + "\n")
        assert parser_of(file) == parser
    assert parser_notes({"trees": "gold"}) == parser_notes({}) == []


def test_documents_of_one_name_stay_in_one_group(tmp_path: Path) -> None:
    file = tmp_path / "data.conllu"
    file.write_text(CONLLU.replace("= two", "= one"))
    preprocess_depparse(file, out=tmp_path / "trees.jsonl")
    before, after = read_documents(file, "a"), read_documents(tmp_path / "trees.jsonl", "a")
    assert [(each.key, each.group) for each in after] == [(each.key, each.group) for each in before]


def test_running_text_is_parsed_into_sentences_with_a_tree_each(tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    file.write_text("The dog saw it. A cat\nslept, naïvely 😀 .\n\n\nIt rains.\n")
    done = preprocess_depparse(file, out=tmp_path / "trees.jsonl")
    rows = _rows(tmp_path / "trees.jsonl")
    assert [row["document"] for row in rows] == ["document 1", "document 2"]
    assert rows[0]["sentences"] == [5, 7]
    assert rows[0]["words"][5:9] == ["A", "cat", "slept", ","]
    name, version = (load_parser(None)[1][each] for each in ("name", "version"))
    assert {row["trees"] for row in rows} == {"automatic"}
    assert {row["parser"] for row in rows} == {f"{name} {version}"} == {done.parser}
    assert f"automatic trees by {name} {version}" in str(done)
    first, second = read_documents(tmp_path / "trees.jsonl", "a")
    assert first.text == "The dog saw it. A cat slept, naïvely 😀 ."
    assert [(word, relation) for word, head, relation in _arcs(first) if head < 0] == [
        ("saw", "root"),
        ("slept", "root"),
    ]
    assert ("dog", 2, "nsubj") in _arcs(first)
    assert ("A", 6, "det") in _arcs(first)
    assert second.words == ("It", "rains", ".")


def test_articles_keep_their_paragraphs_and_sentences_are_the_parsers(shared: Path, tmp_path: Path) -> None:
    with gzip.open(shared / "data/wikitext2/wiki.valid.raw.gz", "rt", encoding="utf-8") as file:
        whole = file.read(60_000)
    (tmp_path / "wiki.raw").write_text(whole.rpartition("\n")[0] + "\n")
    done = preprocess_depparse(tmp_path / "wiki.raw", out=tmp_path / "trees.jsonl")
    documents = read_documents(tmp_path / "trees.jsonl", "wiki")
    assert len(documents) == done.documents >= 3
    assert documents[0].key == "wiki/Homarus gammarus"
    parser, _ = load_parser(None)
    lines = (line.strip() for line in whole.splitlines())
    paragraph = next(line for line in lines if line and not line.startswith("= "))
    parsed = parser(paragraph)
    assert documents[0].words[: len(parsed)] == tuple(token.text for token in parsed)
    own = [sentence.start for sentence in parsed.sents]
    assert documents[0].sentences.tolist()[: len(own)] == own
    assert documents[0].heads is not None
    assert documents[0].relations is not None
    for token in parsed:
        head, relation = documents[0].heads[token.i], documents[0].relations[token.i]
        assert (head, relation) == ((-1, "root") if token.head.i == token.i else (token.head.i, token.dep_))


def test_rows_of_a_table_are_documents_or_belong_to_them(tmp_path: Path) -> None:
    file = tmp_path / "table.tsv"
    file.write_text("q\ts\td\nWho slept ?\tThe cat slept .\tx\nWhy ?\tIt rains .\tx\nSo ?\tYes .\t\n")
    preprocess_depparse(file, out=tmp_path / "trees.jsonl", text_a="q", text_b="s", group="d")
    documents = read_documents(tmp_path / "trees.jsonl", "a")
    assert [(each.key, each.group) for each in documents] == [("a/x", ""), ("a/x (2)", "a/x"), ("a/2", "")]
    assert documents[0].words == ("Who", "slept", "?", "The", "cat", "slept", ".")
    assert 3 in documents[0].sentences.tolist()
    preprocess_depparse(file, out=tmp_path / "one.jsonl", text_a="s")
    assert [each.words for each in read_documents(tmp_path / "one.jsonl", "a")][1] == ("It", "rains", ".")


def test_a_probe_reads_what_was_written(
    tmp_path: Path, planted: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    text = tmp_path / "text.txt"
    text.write_text(
        "\n\n".join(f"The cat sat on the small red house {n} . It is in rain ." for n in range(9))
    )
    trees, cache = tmp_path / "trees.jsonl", tmp_path / "cache"
    code, told, _ = command("preprocess", "depparse", text, "--out", trees, "--cache", cache)
    assert (code, "automatic trees" in told) == (0, True)
    once = trees.read_bytes()
    assert list(cache.iterdir())
    code, _, _ = command("preprocess", "depparse", text, "--out", trees, "--cache", cache, "--overwrite")
    assert trees.read_bytes() == once
    code, _, error = command(
        "probe", "dependency", "--data", trees, "--model", planted, "--out", tmp_path / "run",
        "--relations", "det"
    )  # fmt: skip
    assert (code, error) == (0, "")
    name, version = (load_parser(None)[1][each] for each in ("name", "version"))
    run = headroles.load(tmp_path / "run")
    assert run.manifest["source"]["trees"] == f"automatic: {name} {version}"
    assert any(each.startswith(f"the trees are automatic, made by {name}") for each in run.skipped)
    assert "dependency:det" in (tmp_path / "run" / "findings.csv").read_text()


def test_a_limit_keeps_a_random_subset_in_order(tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    file.write_text("\n\n".join(f"It rains {number} times." for number in range(40)))
    drawn = []
    for seed in (0, 0, 1):
        out = tmp_path / "trees.jsonl"
        done = preprocess_depparse(file, out=out, limit=7, seed=seed, overwrite=True)
        assert (done.documents, done.found) == (7, 40)
        assert "7 of 40 documents" in str(done)
        drawn.append([int(row["document"].split()[1]) for row in _rows(out)])
    assert drawn[0] == drawn[1] == sorted(drawn[1]) != drawn[2]
    done = preprocess_depparse(file, out=out, first=7, overwrite=True)
    assert (done.documents, done.found) == (7, 7)
    assert [row["document"] for row in _rows(out)] == [f"document {number}" for number in range(1, 8)]


@given(some.lists(some.integers(-1, 30), min_size=1, max_size=30), some.randoms(use_true_random=False))
def test_every_sentence_is_a_tree_whatever_the_parser_says(asked: list[int], chance: Any) -> None:
    order = list(range(len(asked)))
    chance.shuffle(order)
    place = {word: at for at, word in enumerate(order)}
    # Heads come earlier in a random order, so that there is no circle, but many roots and crossing arcs.
    heads = np.array([-1 if head < 0 or not place[word] else order[head % place[word]]
                      for word, head in enumerate(asked)])  # fmt: skip
    whole, firsts = split_trees(heads)
    bounds = [*firsts.tolist(), len(heads)]
    assert bounds[0] == 0
    for start, stop in pairwise(bounds):
        own = whole[start:stop]
        assert (own == -1).sum() == 1
        assert ((own == -1) | ((own >= start) & (own < stop))).all()
        cut = [at for at in range(start + 1, stop) if not any((w < at) != (h < at) for w, h in
               enumerate(heads.tolist()) if h >= 0)]  # fmt: skip
        assert cut == []  # no sentence could have been two
    kept = heads >= 0
    assert (whole[kept] == heads[kept]).all()


def test_what_hangs_on_blanks_is_mended_into_one_tree() -> None:
    heads, firsts = split_trees(np.array([2, -1, -1, 1, -1]))
    assert (heads.tolist(), firsts.tolist()) == ([2, -1, 1, 1, -1], [0, 4])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"out": "trees.txt"}, "so --out ends in .jsonl"),
        ({"limit": 0}, "limit must be a whole number of at least 1"),
        ({"limit": 3, "first": 3}, "--limit draws a random sample and --first takes the first inputs"),
        ({"text_a": "q"}, "name columns of a table, but .* is read as text"),
        ({"text_b": "q"}, "--text-a must name the first"),
        ({"parser": "no_such_parser"}, "must be an installed spaCy 3 pipeline"),
        ({"layout": "table"}, "data files end in"),
        ({"layout": "words"}, "line 1: a line is a word, a blank"),
    ],
)
def test_mistakes_are_one_sentence_and_leave_nothing(
    options: dict[str, Any], said: str, tmp_path: Path
) -> None:
    file = tmp_path / "text.txt"
    file.write_text("It rains today.\n")
    given_options = {"out": str(tmp_path / "deep" / "trees.jsonl")} | options
    with pytest.raises(HeadrolesError, match=said) as error:
        preprocess_depparse(file, **given_options)
    assert "\n" not in str(error.value)
    assert [each.name for each in tmp_path.iterdir()] == ["text.txt"]


def test_an_unknown_layout_and_a_text_without_words_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    file.write_text("It rains.\n")
    with pytest.raises(UnknownName, match="no layout is called"):
        preprocess_depparse(file, out=tmp_path / "a.jsonl", layout="conll")
    file.write_text(" = Title = \n\n\u00a0 \n\n = Other = \n")
    with pytest.raises(BadInput, match="holds at least one word"):
        preprocess_depparse(file, out=tmp_path / "a.jsonl")
    assert [each.name for each in tmp_path.iterdir()] == ["text.txt"]


def test_the_function_is_public() -> None:
    assert headroles.preprocess_depparse is preprocess_depparse
