"""Probes ask what they should and count right answers: against plain loops, by hand, and as released."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headroles
from headroles import probe_of
from tests.support import table
from tests.support.reference import draws
from tests.support.texts import sections

if TYPE_CHECKING:
    from headroles import Labelling

TABLES = sections(Path(__file__).with_name("tables.txt"))
few = settings(max_examples=draws(20))
seeds = st.integers(0, 2**32 - 1)
RELATIONS = ("det", "obj", "nsubj:pass", "nmod:poss", "punct")
WORDS = ("of", "a", "in", "each", "other", "after")
ROWS = ("all", "det", "obj", "nsubj", "nsubj:pass", "nmod:poss")


@dataclass(frozen=True)
class Text:
    """A document as loops see it: heads from 0, -1 for roots."""

    words: list[str]
    lengths: list[int]
    heads: list[int]
    relations: list[str]

    @property
    def row(self) -> dict[str, Any]:
        """Return the document as a line of JSON has it."""
        starts = np.repeat(np.cumsum(self.lengths) - self.lengths, self.lengths)
        heads = np.where(np.array(self.heads) < 0, 0, np.array(self.heads) - starts + 1).tolist()
        return {"words": self.words, "sentences": self.lengths, "heads": heads, "relations": self.relations}

    def sentence(self, word: int) -> range:
        """Return the words of the sentence of a word."""
        stops = np.cumsum(self.lengths)
        at = int((stops <= word).sum())
        return range(int(stops[at]) - self.lengths[at], int(stops[at]))


def written(rng: np.random.Generator, lengths: Sequence[int]) -> Text:
    """Return a document of random words and trees."""
    words: list[str] = []
    heads: list[int] = []
    relations: list[str] = []
    for length in lengths:
        base, order = len(words), rng.permutation(length)
        own = [-1] * length
        for place in range(1, length):
            own[order[place]] = base + int(order[rng.integers(place)])
        heads += own
        relations += ["root" if head < 0 else str(rng.choice(RELATIONS)) for head in own]
        words += [str(word) for word in rng.choice(["dog", "cat", "'s"], length)]
    return Text(words, list(lengths), heads, relations)


@dataclass(frozen=True)
class Item:
    """What is asked: the asking word, the words it chooses among, the right one, and its rows."""

    query: int
    candidates: list[int]
    head: int
    rows: set[str]


def dependency_items(text: Text, published: bool) -> Iterator[Item]:
    """Yield the items of the dependency probe, by the definitions."""
    for word, (head, relation) in enumerate(zip(text.heads, text.relations, strict=True)):
        if not published and (head < 0 or relation in ("punct", "root")):
            continue
        around = text.sentence(word)
        follows = relation == "nmod:poss" and word + 1 in around and text.words[word + 1] == "'s"
        query = word + 1 if published and follows else word
        plain = set() if published else {relation.split(":")[0]}
        others = [other for other in around if other != query] or [query]
        yield Item(query, others, head, {"all", relation} | plain)


@few
@given(seeds, st.lists(st.integers(1, 7), min_size=1, max_size=3), st.booleans())
def test_a_head_chooses_the_most_attended_other_word_and_the_first_of_equals(
    seed: int, lengths: list[int], published: bool
) -> None:
    rng = np.random.default_rng(seed)
    texts = [written(rng, lengths), written(rng, [4])]
    sizes = [len(text.words) for text in texts]
    maps = [rng.integers(0, 4, (1, 3, n, n)) / (4.0 * n) for n in sizes]  # many ties and zeros
    found = probe_of(maps, [text.row for text in texts], relations=ROWS[1:], published=published)
    assert list(found) == [f"dependency:{row}:{arrow}" for row in ROWS for arrow in "→←"]
    for row, arrow in product(ROWS, "→←"):
        right, asked = np.zeros((1, 3)), 0
        for text, given_map in zip(texts, maps, strict=True):
            seen = given_map if arrow == "→" else given_map.swapaxes(-1, -2)
            for item in (item for item in dependency_items(text, published) if row in item.rows):
                masses = seen[..., item.query, item.candidates]
                best = np.array(item.candidates)[masses.argmax(axis=-1)]
                right += (best == item.head) & (masses.max(axis=-1) > 0)
                asked += 1
        wanted = right / asked if asked else np.full((1, 3), np.nan)
        np.testing.assert_allclose(found[f"dependency:{row}:{arrow}"], wanted, atol=1e-12)


def rows_of(names: Iterable[str]) -> list[str]:
    """Return the rows of columns, without their directions."""
    return list(dict.fromkeys(name.split(":", 1)[1].rsplit(":", 1)[0] for name in names))


def test_rows_are_the_relations_of_the_inputs_by_falling_count() -> None:
    for scheme, relations, wanted in TABLES["listed"]:
        names = relations.split()
        n, root = len(names), names.index("root")
        row = {"words": ["w"] * n, "heads": [0 if word == root else root + 1 for word in range(n)]}
        even, row = np.full((1, 1, n, n), 1 / n), row | {"relations": names}
        assert rows_of(probe_of(even, row, scheme=scheme)) == ["all", *wanted.split()]
        if scheme == "clearnlp":  # a universal plain name covers nsubj:pass, ClearNLP's does not
            asked = probe_of(even, row, relations=["nn", "compound", "poss", "dobj"], scheme=scheme)
            assert rows_of(asked) == ["all", "nn", "poss", "dobj"]


def test_released_accuracies_of_heads_are_reproduced(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # the golden sentences have random heads, which form no trees
    monkeypatch.setattr("headroles.extraction.gold.jsonlines.check_tree", lambda *given: None)
    about = json.loads((shared / "golden" / "published.json").read_text())["dependency"]
    rows, inputs = [], []
    with np.load(shared / "golden" / "published.npz") as golden:
        for sentence in about["sentences"]:
            size = len(sentence["heads"])
            rows.append({"words": ["w"] * size} | {name: sentence[name] for name in ("heads", "relations")})
            inputs.append(golden[f"dep_attention_{size}"][:, :, 1:-1, 1:-1].astype(np.float64))
    shares = probe_of(inputs, rows, relations=["det", "nsubj", "obj"], published=True)
    for direction, arrow in (("normal", "→"), ("transpose", "←")):
        assert len(about["accuracy"][direction]) == 9
        for name, accuracy in about["accuracy"][direction].items():
            layer, head = map(int, name.split("-"))
            assert {row: shares[f"dependency:{row}:{arrow}"][layer, head] for row in accuracy} == accuracy


def test_without_a_tree_the_head_comes_before_what_follows_a_noun_phrase() -> None:
    for phrase, tags, wanted in TABLES["heads"]:
        words = phrase.split()
        n = len(words)
        row: dict[str, Any] = {"words": [*words, "it"], "clusters": [[[0, n], [n, n + 1]]]}
        row |= {"tags": [*tags.split(), "PRON"]} if tags else {}
        attention = np.zeros((1, n, n + 1, n + 1))
        attention[0, np.arange(n), -1, np.arange(n)] = 1.0  # head k looks from "it" at word k
        attention[0, :, :-1, -1] = 1.0
        found = probe_of(attention, row, "coreference")["coreference:all"][0]
        assert [word for word, hit in zip(words, found, strict=True) if hit] == [wanted], phrase


def kinds_of(row: dict[str, Any]) -> set[str]:
    """Return the kinds of the mentions that are asked."""
    n = len(row["words"])
    found = probe_of(np.full((1, 1, n, n), 1 / n), row, "coreference")
    return {name.partition(":")[2] for name, value in found.items() if np.isfinite(value).all()} - {"all"}


def test_tags_lists_and_capitals_give_the_kind_of_a_mention() -> None:
    for phrase, tags, kind in TABLES["kinds"]:
        words = phrase.split()
        row: dict[str, Any] = {"words": ["it", *words], "clusters": [[[0, 1], [1, 1 + len(words)]]]}
        assert kinds_of(row | ({"tags": ["PRON", *tags.split()]} if tags else {})) == {kind}, phrase
    (story,) = table("dog | . | Dogs | ran | . | `` | Boys | saw | Charles | I | . | Harry | left | Harry")
    # A capital says nothing at the start of a sentence or after a quote alone.
    for span, kind in {(2, 3): "nominal", (6, 7): "nominal", (8, 10): "proper", (11, 12): "proper"}.items():
        row = {"words": [*story], "sentences": [2, 3, 6, 3], "clusters": [[[0, 1], list(span)]]}
        assert kinds_of(row) == {kind}, span


def _trees(words: int, root: int) -> Iterator[tuple[int, ...]]:
    """Yield all directed trees over some words with a given root."""
    for heads in product(*([-1] if word == root else range(words) for word in range(words))):
        reached = {root}
        for _ in range(words):
            reached |= {word for word in range(words) if heads[word] in reached}
        if len(reached) == words:
            yield heads


@few
@given(seeds, st.integers(2, 5), st.sampled_from(["given", "found"]))
def test_decoded_trees_are_the_best_of_all(seed: int, words: int, root: str) -> None:
    rng = np.random.default_rng(seed)
    cells = rng.gamma(0.3, size=(1, 4, words, words)) + 1e-6
    attention = cells / cells.sum(axis=-1, keepdims=True)
    gold = list(_trees(words, int(rng.integers(words))))
    heads = gold[rng.integers(len(gold))]
    relations = ["root" if head < 0 else str(rng.choice(["obj", "det", "punct"])) for head in heads]
    row = {"words": ["w"] * words, "heads": [head + 1 for head in heads], "relations": relations}
    found = probe_of(attention, row, "trees", root=root)
    judged = [word for word in range(words) if relations[word] not in ("root", "punct")]
    if not judged:
        assert all(np.isnan(value).all() for value in found.values())
        return
    roots = [heads.index(-1)] if root == "given" else range(words)
    every = [tree for start in roots for tree in _trees(words, start)]
    joined = [{frozenset(arc) for arc in enumerate(tree) if arc[1] >= 0} for tree in _trees(words, 0)]
    for number in range(4):
        for arrow, own in (("→", attention[0, number]), ("←", attention[0, number].T)):
            best = max(every, key=lambda tree: sum(own[arc] for arc in enumerate(tree) if arc[1] >= 0))
            right = sum(best[word] == heads[word] for word in judged)
            assert found[f"trees:uas:{arrow}"][0, number] == pytest.approx(right / len(judged))
        both = np.maximum(attention[0, number], attention[0, number].T)
        most = max(joined, key=lambda arcs: sum(both[tuple(arc)] for arc in arcs))
        right = sum(frozenset((word, heads[word])) in most for word in judged)
        assert found["trees:uuas"][0, number] == pytest.approx(right / len(judged))


def run_on(folder: Path, texts: Sequence[dict[str, Any]], probes: list[str], **options: Any) -> "Labelling":
    """Run probes on even attention between words."""
    sizes = [len(row["words"]) for row in texts]
    maps = {str(k): np.full((1, 1, size, size), 1 / size, np.float32) for k, size in enumerate(sizes)}
    np.savez(folder / "maps.npz", **maps)  # type: ignore[arg-type]
    rows = [{"tokens": row["words"], "word": [*range(len(row["words"]))]} | row for row in texts]
    (folder / "maps.json").write_text(json.dumps(rows))
    return headroles.probe(probes, attention=folder / "maps.npz", maps=0, **options)


def tallies_of(run: "Labelling") -> Any:
    """Return the right answers of the baselines."""
    assert run.probed is not None
    assert run.probed.tallies is not None
    return run.probed.tallies


def test_released_offsets_stop_at_the_ends_of_the_sentence(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    texts = [written(rng, rng.integers(2, 9, rng.integers(1, 4)).tolist()) for _ in range(30)]
    rows, offsets = ("all", "det", "obj", "nsubj:pass", "nmod:poss"), np.arange(-3, 3)
    given_rows = [text.row for text in texts]
    tallies = tallies_of(run_on(tmp_path, given_rows, ["dependency"], relations=rows[1:], preset="published"))
    assert tallies.baselines == ("-3", "-2", "-1", "0", "+1", "+2")
    assert tallies.rows == tuple(f"dependency:{row}" for row in rows)
    assert {*tallies.rivals} == {tuple(range(6))}
    assert not tallies.lost.any()
    for number, text in enumerate(texts):
        hits, items = np.zeros((len(rows), 6), dtype=int), np.zeros(len(rows), dtype=int)
        for item in dependency_items(text, True):
            around, asked = text.sentence(item.query), np.array([row in item.rows for row in rows])
            root = around.start - 1  # the root of the sentence stands before it
            targets = np.clip(item.query + offsets, root, around.stop - 1)
            hits += np.outer(asked, targets == (root if item.head < 0 else item.head))
            items += asked
        np.testing.assert_array_equal(tallies.items[:, number], items)
        np.testing.assert_array_equal(tallies.hits[:, number], hits)


def test_a_full_match_comes_before_a_head_match_before_agreement_before_the_nearest(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = []
    wanted = []
    for text, mentions, tags, chosen in TABLES["antecedents"]:
        spans = [[int(end) for end in mention.split("-")] for mention in mentions.split()]
        for right in range(len(spans) - 1):  # the last mention corefers with each of the others in turn
            rows.append({"words": text.split(), "mentions": spans, "clusters": [[right, len(spans) - 1]]})
            rows[-1] |= {"tags": tags.split()} if tags else {}
            wanted.append([name == str(right) for name in chosen.split()])
    run = run_on(tmp_path, rows, ["coreference"])
    assert tallies_of(run).baselines == ("nearest", "head match", "rules", "first")
    np.testing.assert_array_equal(tallies_of(run).hits[0], wanted)


@pytest.mark.parametrize("root", ["given", "found"])
def test_random_trees_are_right_as_often_as_they_should(root: str, tmp_path: Path) -> None:
    star: dict[str, Any] = {"sentences": [8] * 30, "heads": [0, *[1] * 7] * 30}
    star["relations"] = ["root", *["obj"] * 7] * 30
    texts = [star | {"words": [f"w{number}"] * 240} for number in range(12)]
    run = run_on(tmp_path, texts, ["trees"], root=root)
    assert run.probed is not None
    shares = {(row.row, row.baseline): row.accuracy for row in run.probed.baselines}
    for row, left, right in (("trees:uas", 1 / 7, 0), ("trees:uuas", 1 / 7, 1 / 7)):
        branching = shares[row, "left-branching"], shares[row, "right-branching"]
        assert branching == pytest.approx((left, right))
    # Of all trees over 8 words, an arc with the root is in 2 of 8; with any root, half of these point to it.
    assert shares["trees:uuas", "random tree"] == pytest.approx(2 / 8, abs=0.03)
    assert shares["trees:uas", "random tree"] == pytest.approx(2 / 8 if root == "given" else 1 / 8, abs=0.03)


SENTENCE: dict[str, Any] = {
    "words": ["the", "model", "look", "at", "words", "and", "it", "was", "long"],
    "heads": [2, 3, 0, 5, 3, 9, 9, 9, 3],
    "relations": ["det", "nsubj", "root", "case", "obl", "cc", "nsubj", "cop", "conj"],
    "clusters": [[[0, 2], [4, 5], [6, 7]]],
}


@pytest.mark.xdist_group("planted")
@pytest.mark.parametrize("preset", [{}, {"preset": "published"}])
def test_a_word_without_a_token_makes_no_item_as_dependent_and_as_head(
    preset: dict[str, Any], planted: Path
) -> None:
    def items(*gone: int) -> tuple[dict[str, int], str]:
        """Return items by row, and the notes, where some words are a character that no token has."""
        words = ["\u00ad" if place in gone else word for place, word in enumerate(SENTENCE["words"])]
        data = [SENTENCE | {"words": [*words, name], "heads": [*SENTENCE["heads"], 3]} for name in WORDS]
        data = [row | {"relations": [*SENTENCE["relations"], "punct"]} for row in data]
        probes = ["dependency"] if preset else ["dependency", "trees", "coreference"]
        run = headroles.probe(probes, data=data, model=planted, maps=0, relations=["det", "obl"], **preset)
        tallies = tallies_of(run)
        assert not tallies.lost.any()
        assert (tallies.hits.max(axis=2) <= tallies.items).all()
        return dict(
            zip(tallies.rows, (tallies.items.sum(axis=1) // len(data)).tolist(), strict=True)
        ), " ".join(run.skipped)

    every, notes = items()
    assert "without a token" not in notes
    det, notes = items(0)
    assert (every["dependency:det"], det["dependency:det"]) == (1, 0)
    assert every["dependency:all"] - det["dependency:all"] == 1
    assert "items (6 of det): they ask about words without a token, which make no item." in notes
    noun, notes = items(1)  # the head of the determiner, and the dependent of the verb
    assert (noun["dependency:det"], noun["dependency:obl"]) == (0, 1)
    assert every["dependency:all"] - noun["dependency:all"] == 2
    if not preset:
        assert [every[row] - noun[row] for row in ("trees:uuas", "trees:uas")] == [2, 2]
        assert (every["coreference:all"], noun["coreference:all"], items(6)[0]["coreference:all"]) == (
            2,
            1,
            1,
        )


@pytest.mark.xdist_group("planted")
def test_a_pronoun_among_names_chooses_between_them_wherever_they_stand(
    planted: Path, tmp_path: Path
) -> None:
    lines = ["ID Text Pronoun Pronoun-offset A A-offset A-coref B B-offset B-coref".replace(" ", "\t")]
    for number, (*names, _) in enumerate(TABLES["names"]):
        text = f"Ann wrote to Mary before she left ; Mary stayed {number} days ."  # equal texts are one unit
        lines.append("\t".join([f"gap-{number}", text, "she", "25", *names]))
    file = tmp_path / "gap.tsv"
    file.write_text("\n".join([*lines, ""]))
    run = headroles.probe("coreference", data=file, layout="gap", model=planted, maps=0)
    tallies = tallies_of(run)
    np.testing.assert_array_equal(tallies.items[0], [row[-1] != "- -" for row in TABLES["names"]])
    assert not tallies.lost.any()  # without a true name nothing is asked, and nothing lost
    hits = tallies.hits[0][:, [tallies.baselines.index(name) for name in ("nearest", "first")]]
    assert hits.tolist() == [[int(hit == "1") for hit in row[-1].split()] for row in TABLES["names"]]
