"""Running text becomes pairs of segments that follow each other and fit, whatever the tokenizer."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from headroles.errors import BadInput, HeadrolesError
from headroles.extraction.texts.running_text import read_running_text
from headroles.extraction.texts.sources import read_file
from headroles.extraction.texts.tokens import tokenise
from headroles.preprocessing.pairs import PairFile, preprocess_unlabeled
from headroles.preprocessing.spans import PairCutter
from headroles.records.passage import Passage
from tests.support.reference import draws

WIKI = (
    " \n = Lobster = \n \n The lobster has a big claw . \n It = a lot . \n"
    " \n = = Life = = \n \n It lives . \n"
    " \n = = = Young = = = \n \n = Crab = \n \n A crab @-@ like thing = = x . \n"
)
WORDS = "the committee decide about an unbelievable treaty , it was signed in Paris ! naïve 東京 🙂 re-open"


def _text(seed: int, words: int) -> str:
    rng = np.random.default_rng(seed)
    blanks = rng.choice([" ", "  ", " \n", "\t"], size=words, p=[0.85, 0.05, 0.05, 0.05])
    return "".join(
        word + blank for word, blank in zip(rng.choice(WORDS.split(), size=words), blanks, strict=True)
    )


def _rows(file: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def test_articles_begin_at_titles_and_lose_their_headings(tmp_path: Path) -> None:
    file = tmp_path / "wiki.raw.gz"
    file.write_bytes(gzip.compress(WIKI.encode()))
    found = list(read_running_text(file))
    assert [each.name for each in found] == ["Lobster", "Crab"]
    assert found[0].text == " The lobster has a big claw . \n It = a lot . \n It lives . \n"
    assert found[1].text == " A crab @-@ like thing = = x . \n"


def test_blank_lines_divide_documents_of_any_other_file(tmp_path: Path) -> None:
    file = tmp_path / "plain.txt"
    file.write_text("\n\none line\nand another\n \n\t\nnext\n\n= Not a title =\n")
    found = list(read_running_text(file))
    assert [(each.name, each.text) for each in found] == [
        ("document 1", "one line\nand another\n"),
        ("document 2", "next\n"),
        ("document 3", "= Not a title =\n"),
    ]


@settings(max_examples=draws(60))
@given(
    seed=some.integers(0, 2**32 - 1),
    words=some.integers(1, 120),
    length=some.integers(8, 40),
    kind=some.sampled_from(["bert", "roberta", "gpt2", "t5", "xlnet"]),
)
def test_pairs_are_slices_in_a_row_that_fit_whatever_the_tokenizer(
    seed: int, words: int, length: int, kind: str, tokenizer_of: Callable[[str], Any]
) -> None:
    tokenizer, text = tokenizer_of(kind), _text(seed, words)
    pairs = list(PairCutter(tokenizer, length).pairs(text, np.random.default_rng(seed)))
    place = 0
    for pair in pairs:
        assert pair.first == pair.first.strip() != ""
        assert pair.second == pair.second.strip() != ""
        found = re.compile(rf"{re.escape(pair.first)}\s*{re.escape(pair.second)}").search(text, place)
        assert found
        place = found.end()
    for pair in pairs:
        (read,) = tokenise(tokenizer, [Passage("pair", (pair.first, pair.second))], 512)
        assert read.size == pair.tokens <= length
    whole = len(tokenizer(text, add_special_tokens=False)["input_ids"])
    room = length - tokenizer.num_special_tokens_to_add(pair=True)
    if whole >= 3 * room and kind == "bert":
        assert pairs


def test_consecutive_pairs_lose_nothing_between_them(tokenizer_of: Callable[[str], Any]) -> None:
    text = _text(3, 200)
    pairs = list(PairCutter(tokenizer_of("bert"), 40).pairs(text, np.random.default_rng(0)))
    joined = "".join("".join(f"{pair.first} {pair.second}".split()) for pair in pairs)
    assert "".join(text.split()).startswith(joined)
    assert len(pairs) >= 5
    assert min(pair.tokens for pair in pairs[:-1]) > 30


def test_first_segments_end_anywhere_in_the_middle_half(tokenizer_of: Callable[[str], Any]) -> None:
    tokenizer = tokenizer_of("bert")
    pairs = list(PairCutter(tokenizer, 64).pairs("a , " * 3000, np.random.default_rng(0)))
    shares = [len(tokenizer.tokenize(pair.first)) / (pair.tokens - 3) for pair in pairs]
    assert min(shares) >= 0.25
    assert max(shares) <= 0.75
    assert min(shares) < 0.3 < 0.7 < max(shares)
    assert abs(np.mean(shares) - 0.5) < 0.05


def test_a_word_longer_than_an_input_is_passed_over(tokenizer_of: Callable[[str], Any]) -> None:
    text = "the debate was long , " + "t" * 60 + " it was signed in the long debate !"
    pairs = list(PairCutter(tokenizer_of("bert"), 15).pairs(text, np.random.default_rng(0)))
    assert pairs
    assert not any("ttt" in pair.first + pair.second for pair in pairs)


@pytest.fixture(scope="module")
def text_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five documents of 100 words and two of three."""
    file = tmp_path_factory.mktemp("texts") / "plain.txt"
    texts = [" ".join(_text(seed, 100 if seed < 5 else 3).split()) for seed in range(7)]
    file.write_text("\n\n".join(texts), encoding="utf-8")
    return file


def _prepared(text_file: Path, planted: Path, out: Path, **options: Any) -> PairFile:
    return preprocess_unlabeled(
        text_file, out=out, model=str(planted), **{"max_length": 40, "overwrite": True} | options
    )


def test_what_is_written_is_what_a_run_reads(text_file: Path, planted: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "pairs.jsonl"
    done = _prepared(text_file, planted, out)
    rows, passages = _rows(out), read_file(out, ["text_a", "text_b"], "group", "pairs")
    assert [each.texts for each in passages] == [(row["text_a"], row["text_b"]) for row in rows]
    assert done.count == done.found == len(passages) > 10
    assert (done.documents, done.short) == (7, 2)
    assert {each.group for each in passages} == {f"document {number}" for number in range(1, 6)}
    from headroles.extraction.model.checkpoint import find_checkpoint
    from headroles.extraction.model.load import load_tokenizer

    sizes = [
        each.size for each in tokenise(load_tokenizer(find_checkpoint(str(planted), None)), passages, 512)
    ]
    assert (done.shortest, done.longest) == (min(sizes), max(sizes))
    assert done.longest <= 40
    assert done.mean == pytest.approx(np.mean(sizes))
    assert f"{done.count} pairs of segments from 7 documents (2 too short to give any)" in str(done)


def test_a_file_that_is_there_is_replaced_only_when_asked(
    text_file: Path, planted: Path, tmp_path: Path
) -> None:
    out = tmp_path / "pairs.jsonl"
    out.write_text("mine")
    with pytest.raises(BadInput, match="exists already; give --overwrite to replace it"):
        preprocess_unlabeled(text_file, out=out, model=str(planted))
    assert out.read_text() == "mine"
    preprocess_unlabeled(text_file, out=out, model=str(planted), overwrite=True)
    assert out.read_text() != "mine"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"limit": "5"}, "limit must be a whole number, but got '5'"),
        ({"limit": 2.5}, "limit must be a whole number, but got 2.5"),
        ({"max_length": None}, "max_length must be a whole number, but got None"),
        ({"lines": 3}, "no option is called 'lines'"),
    ],
)
def test_values_of_another_type_are_one_sentence(
    given: dict[str, Any], told: str, text_file: Path, tmp_path: Path
) -> None:
    wanted: dict[str, Any] = {"file": text_file, "out": tmp_path / "x.jsonl"} | given
    with pytest.raises(HeadrolesError, match=told):
        preprocess_unlabeled(**wanted)


def test_a_seed_says_all_and_a_limit_keeps_some_in_order(
    text_file: Path, planted: Path, tmp_path: Path
) -> None:
    out = tmp_path / "pairs.jsonl"
    _prepared(text_file, planted, out)
    everything = _rows(out)
    _prepared(text_file, planted, out)
    assert _rows(out) == everything
    _prepared(text_file, planted, out, seed=1)
    assert _rows(out) != everything
    seen: set[int] = set()
    for seed in range(20):
        _prepared(text_file, planted, out, seed=seed)
        everything = _rows(out)
        done = _prepared(text_file, planted, out, seed=seed, limit=4)
        places = [everything.index(row) for row in _rows(out)]
        assert places == sorted(set(places))
        assert len(places) == done.count == 4 < done.found == len(everything)
        seen |= set(places)
    assert len(seen) > 10
    assert "4 of " in str(done)


def test_first_keeps_the_first_pairs_and_reads_no_further(
    text_file: Path, planted: Path, tmp_path: Path
) -> None:
    out = tmp_path / "pairs.jsonl"
    _prepared(text_file, planted, out)
    everything = _rows(out)
    done = _prepared(text_file, planted, out, first=4)
    assert _rows(out) == everything[:4]
    assert done.count == done.found == 4 < len(everything)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"limit": 0}, "limit must be a whole number of at least 1"),
        ({"first": 0}, "first must be a whole number of at least 1"),
        ({"limit": 3, "first": 3}, "--limit draws a random sample and --first takes the first inputs"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"max_length": 4}, "--max-length is 4; give at least 5"),
        ({"max_length": 4000}, "all shorter"),
        ({"out": "pairs.csv"}, r"ends in \.jsonl"),
    ],
)
def test_what_cannot_be_prepared_is_said_and_nothing_written(
    options: dict[str, Any], sentence: str, text_file: Path, planted: Path, tmp_path: Path
) -> None:
    out = tmp_path / options.pop("out", "pairs.jsonl")
    with pytest.raises(BadInput, match=sentence):
        _prepared(text_file, planted, out, **options)
    assert not list(tmp_path.iterdir())


def test_the_text_itself_is_never_overwritten(planted: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.jsonl"
    text.write_text(_text(0, 100))
    with pytest.raises(BadInput, match="another file than the text"):
        _prepared(text, planted, tmp_path / "." / "text.jsonl")
    assert text.read_text() == _text(0, 100)


def test_real_articles_fill_inputs(shared: Path, planted: Path, tmp_path: Path) -> None:
    lines = gzip.decompress((shared / "data" / "wikitext2" / "wiki.valid.raw.gz").read_bytes()).decode()
    file = tmp_path / "wiki.raw"
    file.write_text("".join(lines.splitlines(keepends=True)[:103]), encoding="utf-8")
    done = _prepared(file, planted, tmp_path / "wiki.jsonl", max_length=64)
    rows = _rows(tmp_path / "wiki.jsonl")
    assert set(dict.fromkeys(row["group"] for row in rows)) == {
        "Homarus gammarus",
        "Frank Headlam",
        "M @-@ 82 ( Michigan highway )",
    }
    assert done.documents == 3
    assert done.mean > 60
    assert not any(" = = " in row["text_a"] + row["text_b"] for row in rows)
    source = "".join(lines.split())
    kept = ["".join(row[name].split()) for row in rows for name in ("text_a", "text_b")]
    assert np.mean([each in source for each in kept]) > 0.9  # those that pass a heading are not
