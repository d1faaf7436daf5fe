"""Probes ask what they should and count right answers: against plain loops, by hand, and as released."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, product
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

if TYPE_CHECKING:
    from headroles import Labelling

few = settings(max_examples=draws(20))
seeds = st.integers(0, 2**32 - 1)
RELATIONS = ("det", "obj", "nsubj:pass", "nmod:poss", "punct")
AGREE = {"he": ("Masc", "Sing"), "she": ("Fem", "Sing"), "they": ("", "Plur")}
ROWS = ("all", "det", "obj", "nsubj", "nsubj:pass", "nmod:poss")


@dataclass(frozen=True)
class Text:
    """A document as loops see it: heads from 0, -1 for roots; spans of mentions with their entities."""

    words: list[str]
    lengths: list[int]
    heads: list[int]
    relations: list[str]
    mentions: list[tuple[int, int, int]]

    @property
    def row(self) -> dict[str, Any]:
        """Return the document as a line of JSON has it."""
        entities = sorted({entity for _, _, entity in self.mentions})
        clusters = [[[i, j] for i, j, entity in self.mentions if entity == name] for name in entities]
        starts = np.repeat(np.cumsum(self.lengths) - self.lengths, self.lengths)
        heads = [
            head - int(start) + 1 if head >= 0 else 0 for head, start in zip(self.heads, starts, strict=True)
        ]
        known = {"heads": heads, "relations": self.relations, "clusters": clusters}
        return {"words": self.words, "sentences": self.lengths, **known}

    def sentence(self, word: int) -> range:
        """Return the words of the sentence of a word."""
        stop = next(int(end) for end in np.cumsum(self.lengths) if word < end)
        start = next(
            stop - length
            for length, end in zip(self.lengths, np.cumsum(self.lengths), strict=True)
            if end == stop
        )
        return range(start, stop)


def written(rng: np.random.Generator, lengths: Sequence[int]) -> Text:
    """Return a document of random words, trees and mentions."""
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
        words += [str(word) for word in rng.choice(["he", "she", "they", "dog", "cat", "'s"], length)]
    spans = {
        (int(i), int(min(i + k, len(words))))
        for i, k in zip(rng.integers(0, len(words), 9), rng.integers(1, 4, 9), strict=True)
    }
    mentions = sorted(((i, j, int(rng.integers(3))) for i, j in spans), key=lambda span: (span[0], -span[1]))
    return Text(words, list(lengths), heads, relations, mentions)


def coarse(rng: np.random.Generator, words: int, layers: int = 1, heads: int = 3) -> np.ndarray:
    """Return rows that sum to less than one, with many ties and zeros."""
    return rng.integers(0, 4, size=(layers, heads, words, words)) / (4.0 * words)


# Dependency.


@dataclass(frozen=True)
class Item:
    """What is asked: the asking word, the words it chooses among, the right ones, and its rows."""

    query: int
    candidates: list[int]
    right: set[int]
    rows: set[str]
    head: int = -1


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
        right = {head} & set(others) if head >= 0 else set()
        yield Item(query, others, right, {"all", relation} | plain, head)


def share_right(items: Sequence[Item], attention: np.ndarray, row: str, turned: bool) -> np.ndarray:
    """Return the share of items of a row whose most attended candidate, the first of equals, is right."""
    asked = [item for item in items if row in item.rows]
    seen = attention.swapaxes(-1, -2) if turned else attention
    right = np.zeros(attention.shape[:2])
    for item in asked:
        masses = seen[..., item.query, item.candidates]
        best = np.array(item.candidates)[masses.argmax(axis=-1)]
        right += np.isin(best, sorted(item.right)) & (masses.max(axis=-1) > 0)
    return right / len(asked) if asked else np.full(right.shape, np.nan)


@few
@given(seeds, st.lists(st.integers(1, 7), min_size=1, max_size=3), st.booleans())
def test_a_head_chooses_the_most_attended_other_word_and_the_first_of_equals(
    seed: int, lengths: list[int], published: bool
) -> None:
    rng = np.random.default_rng(seed)
    texts = [written(rng, lengths), written(rng, [4])]
    maps = [coarse(rng, len(text.words)) for text in texts]
    items = [list(dependency_items(text, published)) for text in texts]
    found = probe_of(maps, [text.row for text in texts], relations=ROWS[1:], published=published)
    assert list(found) == [f"dependency:{row}:{arrow}" for row in ROWS for arrow in "→←"]
    for row, arrow in product(ROWS, "→←"):
        counts = [sum(row in item.rows for item in own) for own in items]
        shares = [
            np.nan_to_num(share_right(own, given, row, arrow == "←"))
            for own, given in zip(items, maps, strict=True)
        ]
        total = sum(share * count for share, count in zip(shares, counts, strict=True))
        wanted = total / sum(counts) if sum(counts) else np.full((1, 3), np.nan)
        np.testing.assert_allclose(found[f"dependency:{row}:{arrow}"], wanted, atol=1e-12)


LISTED = table("""
# scheme | relations of the words                              | rows in order, by falling count
ud       | det amod nsubj:pass aux:pass root punct nsubj dobj  | nsubj amod aux:pass det nsubj:pass obj
clearnlp | det amod nsubj:pass aux:pass root punct nsubj obj   | amod auxpass det dobj nsubj nsubjpass
ud       | nmod:poss nmod:poss case nsubj root obj obj iobj    | nmod:poss obj case iobj nsubj
clearnlp | nmod:poss compound compound:prt root nn dative obl  | nn iobj obl poss prt
""")


@pytest.mark.parametrize(("scheme", "relations", "wanted"), LISTED)
def test_rows_are_the_relations_of_the_inputs_by_falling_count(
    scheme: str, relations: str, wanted: str
) -> None:
    root = relations.split().index("root")
    row: dict[str, Any] = {
        "words": ["w"] * 8,
        "heads": [0 if word == root else root + 1 for word in range(len(relations.split()))],
    }
    row |= {"words": ["w"] * len(row["heads"]), "relations": relations.split()}
    n = len(row["words"])
    found = probe_of(np.full((1, 1, n, n), 1 / n), row, scheme=scheme)
    assert list(dict.fromkeys(name.rsplit(":", 1)[0] for name in found))[1:] == [
        f"dependency:{name}" for name in wanted.split()
    ]
    if scheme == "clearnlp":  # a universal plain name covers nsubj:pass, ClearNLP's does not
        names = ["nn", "compound", "poss", "dobj"]
        asked = probe_of(np.full((1, 1, n, n), 1 / n), row, relations=names, scheme=scheme)
        assert list(dict.fromkeys(name.split(":")[1] for name in asked)) == ["all", "nn", "poss", "dobj"]


def test_released_accuracies_of_heads_are_reproduced(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # the golden sentences have random heads, which form no trees
    monkeypatch.setattr("headroles.extraction.gold.jsonlines.check_tree", lambda *given: None)
    about = json.loads((shared / "golden" / "published.json").read_text())["dependency"]
    rows, inputs = [], []
    with np.load(shared / "golden" / "published.npz") as golden:
        for sentence in about["sentences"]:
            size = len(sentence["heads"])
            rows.append(
                {"words": ["w"] * size, "heads": sentence["heads"], "relations": sentence["relations"]}
            )
            inputs.append(golden[f"dep_attention_{size}"][:, :, 1:-1, 1:-1].astype(np.float64))
    shares = probe_of(inputs, rows, relations=["det", "nsubj", "obj"], published=True)
    for direction, arrow in (("normal", "→"), ("transpose", "←")):
        assert len(about["accuracy"][direction]) == 9
        for name, accuracy in about["accuracy"][direction].items():
            layer, head = map(int, name.split("-"))
            assert {row: shares[f"dependency:{row}:{arrow}"][layer, head] for row in accuracy} == accuracy


# Coreference.


def head_word(text: Text, start: int, stop: int) -> int:
    """Return the word of a span whose head lies outside it, nearest to the root; a mark only if need be."""

    def depth(word: int) -> int:
        return 0 if text.heads[word] < 0 else 1 + depth(text.heads[word])

    tops = [word for word in range(start, stop) if not start <= text.heads[word] < stop]
    words = [word for word in tops if text.relations[word] != "punct"] or tops
    return min(words, key=lambda word: (depth(word), word))


def coreference_items(text: Text) -> Iterator[tuple[Item, dict[str, int | None]]]:
    """Yield the items of the coreference probe, and the head word that each baseline chooses."""
    heads = [head_word(text, start, stop) for start, stop, _ in text.mentions]
    for own, (start, stop, entity) in enumerate(text.mentions):
        inside = [i >= start and j <= stop for i, j, _ in text.mentions]
        around = [i <= start and j >= stop for i, j, _ in text.mentions]
        earlier = [
            other
            for other, head in enumerate(heads)
            if head < heads[own] and not inside[other] and not around[other]
        ]
        right = {heads[other] for other in earlier if text.mentions[other][2] == entity}
        if not right:
            continue
        word = text.words[heads[own]]
        span = [piece.lower() for piece in text.words[start:stop]]
        # By distance, then in the order of the document.
        near = sorted(earlier, key=lambda other: (heads[own] - heads[other], other))

        def agrees(other: int, word: str = word, alone: bool = stop - start == 1) -> bool:
            pairs = zip(AGREE.get(word, ("", "")), AGREE.get(text.words[heads[other]], ("", "")), strict=True)
            return all("" in pair or pair[0] == pair[1] for pair in pairs)

        steps = [
            [
                k
                for k in near
                if [piece.lower() for piece in text.words[slice(*text.mentions[k][:2])]] == span
            ],
            [k for k in near if text.words[heads[k]].lower() == word.lower()],
            [k for k in near if agrees(k)],
            near,
        ]
        chosen = {
            "nearest": heads[near[0]],
            "head match": heads[steps[1][0]] if steps[1] else None,
            "rules": heads[next(step[0] for step in steps if step)],
            "first": min(heads[other] for other in earlier),
        }
        kind = "pronoun" if all(piece in ("he", "she", "they") for piece in span) else "nominal"
        yield Item(heads[own], sorted({heads[other] for other in earlier}), right, {"all", kind}), chosen


@few
@given(seeds, st.integers(3, 24))
def test_a_mention_chooses_among_the_head_words_of_earlier_ones(seed: int, words: int) -> None:
    rng = np.random.default_rng(seed)
    text = written(rng, [words])
    attention = coarse(rng, words)
    found = probe_of(attention, text.row, "coreference")
    items = [item for item, _ in coreference_items(text)]
    assert list(found) == [f"coreference:{row}" for row in ("all", "pronoun", "proper", "nominal")]
    for row in ("all", "pronoun", "nominal"):
        np.testing.assert_allclose(found[f"coreference:{row}"], share_right(items, attention, row, False))


HEADS = table("""
# phrase                     | tags                     | its head
the big house of the king    | DET ADJ NOUN ADP DET NOUN| house
the big house of the king    | DT JJ NN IN DT NN        | house
the man , a doctor           | DT NN , DT NN            | man
the woman who left town      | DT NN WP VBD NN          | woman
an opinion we had years ago  | DT NN PRP VBD NNS RB     | opinion
this woman 's husband        | DET NOUN PART NOUN       | husband
Ann and Bob                  | PROPN CCONJ PROPN        | Ann
those of us                  | DET ADP PRON             | those
the house of the king        |                          | house
Mr. Tulkinghorn of the court |                          | Tulkinghorn
the lady , his friend        |                          | lady
the man who knew             |                          | man
her mother 's                |                          | mother
Ferdinand II                 |                          | Ferdinand
of course                    |                          | course
's                           |                          | 's
""")
KINDS = table("""
# phrase   | tags       | its kind
it         | PRON       | pronoun
his        | PRP$       | pronoun
who        | WP         | pronoun
this       | DT         | pronoun
this day   | DT NN      | nominal
old London | ADJ PROPN  | proper
the Alps   | DT NNPS    | proper
the dog    | DET NOUN   | nominal
leaving    | VERB       | nominal
Harry      |            | proper
himself    |            | pronoun
a cat      |            | nominal
""")


@pytest.mark.parametrize(("phrase", "tags", "wanted"), HEADS)
def test_without_a_tree_the_head_comes_before_what_follows_a_noun_phrase(
    phrase: str, tags: str, wanted: str
) -> None:
    words = phrase.split()
    row: dict[str, Any] = {
        "words": [*words, "it"],
        "clusters": [[[0, len(words)], [len(words), len(words) + 1]]],
    }
    row |= {"tags": [*tags.split(), "PRON"]} if tags else {}
    attention = np.zeros((1, len(words), len(words) + 1, len(words) + 1))
    attention[0, np.arange(len(words)), -1, np.arange(len(words))] = 1.0  # head k looks from "it" at word k
    attention[0, :, :-1, -1] = 1.0
    found = probe_of(attention, row, "coreference")["coreference:all"][0]
    assert [word for word, hit in zip(words, found, strict=True) if hit] == [wanted]


@pytest.mark.parametrize(("phrase", "tags", "kind"), KINDS)
def test_tags_lists_and_capitals_give_the_kind_of_a_mention(phrase: str, tags: str, kind: str) -> None:
    words = phrase.split()
    row: dict[str, Any] = {"words": ["it", *words], "clusters": [[[0, 1], [1, 1 + len(words)]]]}
    row |= {"tags": ["PRON", *tags.split()]} if tags else {}
    found = probe_of(np.full((1, 1, 1 + len(words), 1 + len(words)), 0.1), row, "coreference")
    assert {name for name, value in found.items() if np.isfinite(value).all()} == {
        "coreference:all",
        f"coreference:{kind}",
    }


def test_a_capital_says_nothing_at_the_start_of_a_sentence_or_after_a_quote_alone() -> None:
    words = table("dog | . | Dogs | ran | . | `` | Boys | saw | Charles | I | . | Harry | left | Harry")[0]
    spans = {(2, 3): "nominal", (6, 7): "nominal", (8, 10): "proper", (11, 12): "proper"}
    for span, kind in spans.items():
        row = {"words": [*words], "sentences": [2, 3, 6, 3], "clusters": [[[0, 1], list(span)]]}
        found = probe_of(np.full((1, 1, 14, 14), 0.05), row, "coreference")
        assert np.isfinite(found[f"coreference:{kind}"]).all(), span


# Trees.


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
    undirected = [
        {frozenset((word, head)) for word, head in enumerate(tree) if head >= 0} for tree in _trees(words, 0)
    ]
    for number in range(4):
        for arrow, own in (("→", attention[0, number]), ("←", attention[0, number].T)):
            best = max(
                every, key=lambda tree: sum(own[word, head] for word, head in enumerate(tree) if head >= 0)
            )
            right = sum(best[word] == heads[word] for word in judged)
            assert found[f"trees:uas:{arrow}"][0, number] == pytest.approx(right / len(judged))
        both = np.maximum(attention[0, number], attention[0, number].T)
        most = max(undirected, key=lambda arcs: sum(both[tuple(arc)] for arc in arcs))
        right = sum(frozenset((word, heads[word])) in most for word in judged)
        assert found["trees:uuas"][0, number] == pytest.approx(right / len(judged))


# Runs of probes on stored maps, which also have baselines and contrasts.


def run_on(
    folder: Path,
    texts: Sequence[dict[str, Any]],
    maps: Sequence[np.ndarray],
    probes: list[str],
    **options: Any,
) -> "Labelling":
    """Run probes on attention between words."""
    np.savez(folder / "maps.npz", **{str(number): given for number, given in enumerate(maps)})  # type: ignore[arg-type]
    rows = [{"tokens": row["words"], "word": [*range(len(row["words"]))]} | row for row in texts]
    (folder / "maps.json").write_text(json.dumps(rows))
    return headroles.probe(probes, attention=folder / "maps.npz", maps=0, **options)


def tallies_of(run: "Labelling") -> Any:
    """Return the right answers of the baselines."""
    assert run.probed is not None
    assert run.probed.tallies is not None
    return run.probed.tallies


@pytest.fixture(scope="module")
def texts() -> list[Text]:
    """Thirty random documents."""
    rng = np.random.default_rng(4)
    return [written(rng, rng.integers(2, 9, rng.integers(1, 4)).tolist()) for _ in range(30)]


@pytest.mark.parametrize("published", [False, True])
def test_offsets_are_right_where_the_head_is_so_many_words_away(
    texts: list[Text], published: bool, tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    maps = [
        rng.dirichlet(np.ones(len(text.words)), size=(1, 2, len(text.words))).astype(np.float32)
        for text in texts
    ]
    options: dict[str, Any] = {"preset": "published"} if published else {}
    rows = tuple(row for row in ROWS if not published or row != "nsubj")
    run = run_on(tmp_path, [text.row for text in texts], maps, ["dependency"], relations=rows[1:], **options)
    tallies = tallies_of(run)
    offsets = [-3, -2, -1, 0, 1, 2] if published else [offset for offset in range(-10, 11) if offset]
    assert tallies.baselines == tuple(f"{offset:+d}" if offset else "0" for offset in offsets)
    assert tallies.rows == tuple(f"dependency:{row}" for row in rows)
    assert {*tallies.rivals} == {tuple(range(len(offsets)))}
    assert not tallies.lost.any()
    for number, text in enumerate(texts):
        items = list(dependency_items(text, published))
        for at, row in enumerate(rows):
            asked = [item for item in items if row in item.rows]
            assert tallies.items[at, number] == len(asked)
            for column, offset in enumerate(offsets):
                assert tallies.hits[at, number, column] == sum(
                    _lands(text, item, offset, published) for item in asked
                )


def _lands(text: Text, item: Item, offset: int, published: bool) -> bool:
    """Tell whether a fixed offset is right; published, it stops at the ends of the sentence."""
    target, around = item.query + offset, text.sentence(item.query)
    if published:
        target = min(max(target, around.start - 1), around.stop - 1)
        return target == (around.start - 1 if item.head < 0 else item.head)
    return target == item.head


def test_contrasts_of_arcs_are_attention_beyond_the_profile_of_the_input(
    texts: list[Text], tmp_path: Path
) -> None:
    rng = np.random.default_rng(2)
    maps = [rng.dirichlet(np.full(len(text.words), 0.3), size=(1, 2, len(text.words))) for text in texts]
    run = run_on(
        tmp_path, [text.row for text in texts], [given.astype(np.float32) for given in maps], ["dependency"]
    )
    for number, (text, attention) in enumerate(zip(texts, maps, strict=True)):
        pairs = [(i, j) for i in range(len(text.words)) for j in text.sentence(i) if i != j]
        curve = {
            step: np.mean([attention[0, :, i, j] for i, j in pairs if j - i == step], axis=0)
            for step in {j - i for i, j in pairs}
        }
        items = [item for item in dependency_items(text, False) if item.right]
        for arrow in "→←":
            beyond = []
            for item in items:
                (head,) = item.right
                i, j = (item.query, head) if arrow == "→" else (head, item.query)
                room = [k for k in text.sentence(i) if k != i]
                mass, level = attention[0, :, i, room].sum(axis=0), sum(curve[k - i] for k in room)
                beyond.append(attention[0, :, i, j] - mass * curve[j - i] / level)
            found = run.scores.values[run.scores.sieves.index(f"dependency:all:{arrow}:matched"), number, 0]
            wanted = np.mean(beyond, axis=0) if beyond else np.full(2, np.nan)
            np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-6)


def test_baselines_of_coreference_choose_what_their_definitions_say(
    texts: list[Text], tmp_path: Path
) -> None:
    maps = [
        np.full((1, 1, len(text.words), len(text.words)), 1 / len(text.words), dtype=np.float32)
        for text in texts
    ]
    run = run_on(tmp_path, [text.row for text in texts], maps, ["coreference", "trees"])
    tallies = tallies_of(run)
    assert tallies.rivals[tallies.rows.index("coreference:all")] == (tallies.baselines.index("nearest"),)
    for number, text in enumerate(texts):
        items = list(coreference_items(text))
        for row in ("all", "pronoun", "nominal"):
            at = tallies.rows.index(f"coreference:{row}")
            asked = [(item, chosen) for item, chosen in items if row in item.rows]
            assert tallies.items[at, number] == len(asked)
            for name in ("nearest", "head match", "rules", "first"):
                hits = tallies.hits[at, number, tallies.baselines.index(name)]
                assert hits == sum(chosen[name] in item.right for item, chosen in asked), (number, row, name)
        arcs = list(dependency_items(text, False))
        for name, step in (("right-branching", 1), ("left-branching", -1)):
            column = tallies.baselines.index(name)
            directed = sum({item.query + step} == item.right for item in arcs)
            joined = sum(abs(item.query - min(item.right)) == 1 for item in arcs)
            assert tallies.hits[tallies.rows.index("trees:uas"), number, column] == directed
            assert tallies.hits[tallies.rows.index("trees:uuas"), number, column] == joined


ANTECEDENTS = table("""
# words                                       | mentions           | tags | nearest, head match, rules, first
the old dog . a dog . a cat . The old dog     | 0-3 4-6 7-9 10-13  |                                | 2 1 0 0
the dog . a cat . that dog                    | 0-2 3-5 6-8        |                                | 1 0 0 0
the king . the queen . the boys . he          | 0-2 3-5 6-8 9-10   |                                | 2 - 2 0
the king . the queen . the boys . he          | 0-2 3-5 6-8 9-10   | DT NN . DT NN . DT NNS . PRP   | 2 - 0 0
the king . the boys . she                     | 0-2 3-5 6-7        |                                | 1 - 1 0
we . he . I                                   | 0-1 2-3 4-5        |                                | 1 - 1 0
Mrs. Smith . Mr. Smith . she                  | 0-2 3-5 6-7        |                                | 1 - 0 0
his wife . the man . her                      | 0-2 3-5 6-7        |                                | 1 - 0 0
dogs . a cat . they                           | 0-1 2-4 5-6        | NNS . DT NN . PRP              | 1 - 0 0
dogs . a cat . it                             | 0-1 2-4 5-6        | NNS . DT NN . PRP              | 1 - 1 0
""")


def test_a_full_match_comes_before_a_head_match_before_agreement_before_the_nearest(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = []
    wanted = []
    for text, mentions, tags, chosen in ANTECEDENTS:
        spans = [[int(end) for end in mention.split("-")] for mention in mentions.split()]
        for right in range(len(spans) - 1):  # the last mention corefers with each of the others in turn
            rows.append({"words": text.split(), "mentions": spans, "clusters": [[right, len(spans) - 1]]})
            rows[-1] |= {"tags": tags.split()} if tags else {}
            wanted.append([name == str(right) for name in chosen.split()])
    maps = [
        np.full((1, 1, len(row["words"]), len(row["words"])), 1 / len(row["words"]), dtype=np.float32)
        for row in rows
    ]
    run = run_on(tmp_path, rows, maps, ["coreference"])
    assert tallies_of(run).baselines == ("nearest", "head match", "rules", "first")
    np.testing.assert_array_equal(tallies_of(run).hits[0], wanted)


@pytest.mark.parametrize("root", ["given", "found"])
def test_random_trees_are_right_as_often_as_they_should(root: str, tmp_path: Path) -> None:
    sentences, texts = 30, []
    for number in range(12):
        stars = [[0, *[1] * 7] for _ in range(sentences)]
        row = {
            "words": [f"w{number}"] * 8 * sentences,
            "sentences": [8] * sentences,
            "heads": [*chain(*stars)],
        }
        texts.append(row | {"relations": ["root", *["obj"] * 7] * sentences})
    rng = np.random.default_rng(0)
    maps = [rng.dirichlet(np.ones(240), size=(1, 1, 240)).astype(np.float32) for _ in texts]
    run = run_on(tmp_path, texts, maps, ["trees"], root=root)
    assert run.probed is not None
    shares = {(row.row, row.baseline): row.accuracy for row in run.probed.baselines}
    # Of all trees over 8 words, an arc with the root is in 2 of 8; with any root, half of these point to it.
    assert shares["trees:uuas", "random tree"] == pytest.approx(2 / 8, abs=0.03)
    assert shares["trees:uas", "random tree"] == pytest.approx(2 / 8 if root == "given" else 1 / 8, abs=0.03)


# Windows of a model, and files of pronouns.


@pytest.mark.xdist_group("planted")
def test_every_item_is_asked_or_lost_exactly_once_however_documents_are_cut(
    planted: Path, tmp_path: Path
) -> None:
    rng = np.random.default_rng(6)
    texts = [written(rng, rng.integers(3, 12, 4).tolist()) for _ in range(12)]
    file = tmp_path / "made.jsonl"
    file.write_text("".join(json.dumps(text.row) + "\n" for text in texts))
    run = headroles.probe("coreference", data=file, model=planted, max_length=16, stride=6, maps=0)
    tallies = tallies_of(run)
    wanted = [item for text in texts for item, _ in coreference_items(text)]
    for row in ("all", "pronoun", "nominal"):
        at = tallies.rows.index(f"coreference:{row}")
        total = tallies.items[at].sum() + tallies.lost[at].sum()
        assert total == sum(row in item.rows for item in wanted)
    assert tallies.lost.sum() > 0
    assert (tallies.hits <= tallies.items[:, :, None]).all()
    assert len(run.scores.examples) > 12


NAMES = table("""
# A, its place, true | B, its place, true | nearest and first name; she is at 25, and Mary at 13 and at 36
Ann | 0 | TRUE  | Mary | 13 | FALSE | 0 1
Ann | 0 | FALSE | Mary | 13 | TRUE  | 1 0
Ann | 0 | FALSE | Mary | 13 | FALSE | no item
Ann | 0 | TRUE  | Mary | 36 | FALSE | 0 1
Ann | 0 | FALSE | Mary | 36 | TRUE  | 1 0
""")


@pytest.mark.xdist_group("planted")
def test_a_pronoun_among_names_chooses_between_them_wherever_they_stand(
    planted: Path, tmp_path: Path
) -> None:
    lines = ["ID Text Pronoun Pronoun-offset A A-offset A-coref B B-offset B-coref".replace(" ", "\t")]
    for number, (*names, _) in enumerate(NAMES):
        text = f"Ann wrote to Mary before she left ; Mary stayed {number} days ."  # equal texts are one unit
        lines.append("\t".join([f"gap-{number}", text, "she", "25", *names]))
    file = tmp_path / "gap.tsv"
    file.write_text("\n".join(lines) + "\n")
    run = headroles.probe("coreference", data=file, layout="gap", model=planted, maps=0)
    tallies = tallies_of(run)
    asked = [wanted != "no item" for *_, wanted in NAMES]
    np.testing.assert_array_equal(tallies.items[0], asked)
    assert not tallies.lost.any()  # without a true name nothing is asked, and nothing lost
    hits = tallies.hits[0][:, [tallies.baselines.index(name) for name in ("nearest", "first")]]
    wanted = [[int(hit) for hit in row[-1].split()] if row[-1] != "no item" else [0, 0] for row in NAMES]
    assert hits.tolist() == wanted
