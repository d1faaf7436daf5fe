"""Pattern sieves by name and in runs: the group, what annotation they get, and what is said without it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.language import Language

from headroles import Labelling
from headroles.arrays import selection_of
from headroles.catalogue import entries, sieve_of, sieves_of
from headroles.errors import BadInput, BadSieve, UnknownName
from headroles.extraction.parsing.annotate import Annotator
from headroles.extraction.parsing.lexicon import Lexicon, token_frequencies, unit_rows
from headroles.extraction.texts.conllu import read_conllu
from headroles.extraction.texts.tokens import tokenise
from headroles.records.passage import Passage, Words
from headroles.sieves import BUILT_IN, GROUPS, PATTERNS
from headroles.sieves.base import MaskSieve, sieve

Command = Callable[..., tuple[int, str, str]]
Label = Callable[..., Labelling]
TokenizerOf = Callable[[str], Any]

VECTORS = "cat 1 0\ndog 0.8 0.6\nhouse 0 2\nrain -1 0\n"


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    """Vectors of four words."""
    file = tmp_path / "vectors.txt"
    file.write_text(VECTORS)
    return file


def _names(found: Sequence[Any]) -> list[str]:
    return [each.name for each in found]


def test_patterns_are_listed_and_had_by_name_but_are_no_default(command: Command) -> None:
    listed = {entry.name: entry for entry in entries()}
    for name in PATTERNS:
        assert sieve_of(name).name == name
        assert (listed[name].origin, listed[name].error, listed[name].group) == ("headroles", "", "patterns")
        assert listed[name].question.endswith("?")
        with pytest.raises(BadSieve, match="released notebooks' sieves only"):
            sieve_of(name, "published")
    assert not {entry.group for name, entry in listed.items() if name in BUILT_IN} - {""}
    assert not set(PATTERNS) & set(selection_of(None).columns)
    code, out, _ = command("sieves")
    assert code == 0
    members = {line.split()[0] for line in out.splitlines() if line.split()[1:2] == ["patterns"]}
    assert members == set(PATTERNS)
    assert "offset:<tokens>" in out


def test_the_group_is_all_patterns_each_once_at_its_place() -> None:
    found, grouped = sieves_of(["local", "patterns", "block", "patterns"])
    assert _names(found) == ["local", *PATTERNS, "block"]
    assert grouped == frozenset(PATTERNS)
    found, grouped = sieves_of(["patterns", "rare", "next"])
    assert _names(found) == [*(name for name in PATTERNS if name not in ("rare", "next")), "rare", "next"]
    assert grouped == frozenset(PATTERNS) - {"rare", "next"}
    assert selection_of("patterns").optional == frozenset(PATTERNS)


def test_a_sieve_of_the_caller_takes_the_place_of_that_of_the_group() -> None:
    @sieve("punctuation")
    def mine(example: Any) -> np.ndarray:
        """Mine?"""
        return np.array([token == "!" for token in example.tokens])

    found, _ = sieves_of(["patterns", mine])
    assert found[-1] is mine
    assert _names(found).count("punctuation") == 1


def test_a_sieve_named_twice_is_refused_also_beside_its_group() -> None:
    with pytest.raises(BadSieve, match="'next' was given twice; name it once"):
        selection_of(["next", "patterns", "next"])


@pytest.mark.parametrize(
    ("name", "near"), [("pattern", "patterns"), ("nxt", "next"), ("identicle", "identical")]
)
def test_a_near_miss_is_told_the_pattern_or_the_group(name: str, near: str) -> None:
    with pytest.raises(UnknownName, match=f"did you mean '{near}'"):
        selection_of([name])


def test_the_published_preset_has_no_group() -> None:
    with pytest.raises(BadSieve, match="released notebooks' sieves only"):
        selection_of(["patterns"], preset="published")


def test_a_selection_leaves_out_only_what_came_by_a_group() -> None:
    chosen = selection_of(["patterns", "subword"])
    left = chosen.fitting(frozenset())
    assert [each.name for each in chosen.sieves if each not in left.sieves] == [
        "related:other",
        "subword:completing",
        "rare",
    ]
    assert left.needs == {"words"}
    assert chosen.fitting(chosen.needs).sieves == chosen.sieves


def test_a_run_of_patterns_finds_what_was_planted(label: Label, vectors: Path) -> None:
    found = label(sieve="patterns", vectors=vectors)
    roles = {
        name: {(int(layer), int(head)) for layer, head in np.argwhere(found.findings.decision[row] == 0)}
        for name in found.findings.roles
        for row in [found.findings.of(name)]
    }
    assert set(roles) == set(PATTERNS)
    assert roles["previous"] == {(0, 0)}
    assert roles["next"] == {(1, 2)}
    assert roles["first"] == {(0, 2)}
    assert roles["bag-of-words"] == {(1, 1)}
    assert not roles["self"] | roles["identical"] | roles["induction"] | roles["related:other"]
    assert found.manifest["vectors"]["words"] == 4
    assert len(found.manifest["vectors"]["sha256"]) == 64
    assert not [line for line in found.skipped if "--vectors" in line]


def test_without_lemmas_or_vectors_the_group_does_without_related_words(label: Label) -> None:
    found = label(sieve=["patterns"], limit=20)
    assert "related:other" not in found.scores.sieves
    said = "related:other was left out: it needs word vectors (--vectors), a --parser that sets lemmas, or "
    assert f"{said}such data." in found.skipped
    assert "vectors" not in found.manifest
    assert {"rare", "subword"} <= set(found.scores.sieves)


def test_related_words_asked_for_by_name_need_lemmas_or_vectors(
    command: Command, planted: Path, tmp_path: Path
) -> None:
    words = ("label", "--task", "QNLI", "--model", planted, "--max-length", 32, "--limit", 8)
    code, _, err = command(*words, "--sieve", "related:other", "--out", tmp_path / "run")
    assert (code, err.count("\n")) == (1, 1)
    assert "the sieve 'related:other' needs word vectors or lemmas, but this run has neither; give" in err
    assert not (tmp_path / "run").exists()


def test_vectors_that_nothing_reads_are_told(label: Label, vectors: Path) -> None:
    found = label(vectors=vectors, limit=20)
    assert "--vectors was not used: no sieve of this run needs word vectors." in found.skipped


def test_vectors_that_cannot_be_read_are_one_sentence(label: Label, tmp_path: Path) -> None:
    file = tmp_path / "odd.txt"
    file.write_text("cat 1 2\ndog 1\n")
    with pytest.raises(BadInput, match=r"line 2: every word has as many numbers as the first line \(2,"):
        label(sieve="related:other", vectors=file, limit=20)


def test_frequencies_are_those_of_all_inputs_as_the_model_gets_them(tokenizer_of: TokenizerOf) -> None:
    tokenizer = tokenizer_of("bert")
    passages = [Passage(f"made/{k}", ("It was signed in Paris!" * (1 + k % 2),)) for k in range(300)]
    counted = token_frequencies(tokenizer, passages, 8)
    wanted: dict[str, int] = {}
    for each in tokenise(tokenizer, passages, 8):
        for token in each.tokens:
            wanted[token] = wanted.get(token, 0) + 1
    assert counted == wanted
    assert counted["[CLS]"] == 300


def test_a_rare_token_is_rare_in_the_run_not_in_its_input(
    label: Label, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headroles.records.example import Example
    from headroles.sieves.selection import Selection

    seen: dict[str, list[str]] = {}
    honest = Selection.masks_of

    def watched(sieves: Selection, examples: list[Example]) -> Any:
        (rare,) = [each for each in sieves.masks if each.name == "rare"]
        for example in examples:
            seen[example.key] = [example.tokens[place] for place in np.flatnonzero(rare.mask(example))]
        return honest(sieves, examples)

    monkeypatch.setattr(Selection, "masks_of", watched)
    file = tmp_path / "few.tsv"
    file.write_text("text\nthe the cat\nthe cat cat\ncat house\n")
    label(task=None, data=file, text_a="text", sieve="rare")
    assert seen == {"few/0": ["the", "the"], "few/1": ["the"], "few/2": ["house"]}


@pytest.mark.parametrize("name", ["gpt2", "bert"])
def test_patterns_run_on_an_encoder_and_on_a_decoder(model_of: Callable[[str], Path], name: str) -> None:
    from headroles import label

    found = label("QNLI", model=model_of(name), sieve="patterns", limit=60, max_length=40)
    silent = {"next", "subword:completing"} if name == "gpt2" else set()
    for each in set(PATTERNS) - {"related:other"}:
        values = found.scores.values[found.scores.sieves.index(each)]
        assert np.isnan(values).all() == (each in silent), each
        said = f"{each} does not apply to these inputs: nothing in them can be counted."
        assert (said in found.skipped) == (each in silent)


def _words(text: str, lemmas: tuple[str, ...] | None) -> Words:
    ends = np.cumsum([len(word) + 1 for word in text.split()]) - 1
    spans = np.stack([ends - [len(word) for word in text.split()], ends], axis=1)
    return Words(spans, np.full(len(spans), -1), ("root",) * len(spans), lemmas)


def test_the_lexicon_gives_lemmas_vectors_and_frequencies_over_both_texts(tokenizer_of: TokenizerOf) -> None:
    words = (_words("Cats saw", ("cat", "see")), _words("a dog", None))
    passage = Passage("pair", ("Cats saw", "a dog"), words=words)
    (made,) = tokenise(tokenizer_of("bert"), [passage], 64)
    table = np.array([[3, 4], [0, 5]], dtype=np.float32)
    lexicon = Lexicon(True, {"cats": 0, "dog": 1}, unit_rows(table), {made.tokens[1]: 7})
    known = lexicon.lexical(made, words)
    assert known.lemmas == ("cat", "see", "", "")
    assert known.vectors is not None
    np.testing.assert_allclose(known.vectors, [[0.6, 0.8], [0.0, 0.0], [0.0, 0.0], [0.0, 1.0]], atol=1e-7)
    assert known.frequency is not None
    assert known.frequency[1] == 7
    assert known.frequency.sum() == 7 * made.tokens.count(made.tokens[1])
    nothing = Lexicon().lexical(made, words)
    assert (nothing.lemmas, nothing.vectors, nothing.frequency) == (None, None, None)


def test_lemmas_come_from_conllu(tmp_path: Path) -> None:
    rows = ["1\tCats\tcat\tNOUN\t_\t_\t2\tnsubj\t_\t_", "2\tran\trun\tVERB\t_\t_\t0\troot\t_\t_"]
    rows += ["3\t_\t_\tPUNCT\t_\t_\t2\tpunct\t_\t_", "4\there\t_\tADV\t_\t_\t2\tadvmod\t_\t_"]
    bare = "\n".join(
        row.replace("\tcat\t", "\t_\t").replace("\trun\t", "\t_\t") for row in (*rows[:2], rows[3])
    )
    file = tmp_path / "cats.conllu"
    file.write_text("\n".join(rows) + "\n\n" + bare.replace("4\there", "3\there") + "\n\n")
    (first,), (second,) = (each.words or () for each in read_conllu(file, "cats"))
    assert first.lemmas == ("cat", "run", "_", "")
    assert second.lemmas is None


@pytest.fixture
def lemmatiser() -> Language:
    """A pipeline that parses (badly) and sets the first three letters of each word as its lemma."""

    @Language.component("first_three", assigns=["token.lemma"])
    def first_three(doc: Any) -> Any:
        for token in doc:
            token.lemma_ = token.text[:3].lower()
        return doc

    parser = spacy.blank("en")
    parser.add_pipe("first_three")
    return parser


def test_lemmas_come_from_a_parser_that_sets_them(lemmatiser: Language) -> None:
    annotator = Annotator(lemmatiser)
    assert annotator.lemmas
    (((words),),) = annotator.words([Passage("a", ("Runner running",))])
    assert words.lemmas == ("run", "run")
    bare = Annotator(spacy.blank("en"))
    assert not bare.lemmas
    (((words),),) = bare.words([Passage("a", ("Runner running",))])
    assert words.lemmas is None
    assert not Annotator(None).lemmas


def test_forms_of_words_are_told_without_parsing(lemmatiser: Language) -> None:
    gold = Passage("gold", ("It Rains",), words=(_words("It Rains", None),))
    assert Annotator(lemmatiser).forms([gold, Passage("open", ("It's late",))]) == {
        "it",
        "rains",
        "'s",
        "late",
    }
    assert Annotator(None).forms([gold]) == {"it", "rains"}


def test_the_group_and_its_sieves_are_masks_but_for_the_bag_of_words() -> None:
    assert {"patterns": tuple(PATTERNS)} == GROUPS
    assert [name for name in PATTERNS if not isinstance(sieve_of(name), MaskSieve)] == ["bag-of-words"]
