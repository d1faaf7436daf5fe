"""A trained decoder with grouped queries, labelled end to end: its known heads are named.

Text that is repeated at one distance says nothing of duplicates or induction beyond distance: in each
input every earlier occurrence then lies at the same offset, so a head that looks so far back, whatever
stands there, has the same attention, and the contrast is 0 by its definition. Repeats at several distances
tell them apart.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import headroles
from headroles import Example, score
from headroles.records.findings import Labelling
from headroles.sieves.built_in.repeats import duplicate_cells, induction_cells

NAMES = ("Lily", "Tom", "Sam", "Anna", "Ben", "Mia", "Max", "Sue")
KINDS = ("little", "big", "happy", "red", "old", "kind", "shiny", "small")
THINGS = ("ball", "dog", "cat", "tree", "car", "bird", "doll", "box")
DEEDS = ("saw", "found", "loved", "wanted", "took", "liked")
Command = Callable[..., tuple[int, str, str]]


def _sentence(rng: np.random.Generator) -> str:
    name, other, kind, thing, deed = (rng.choice(each) for each in (NAMES, NAMES, KINDS, THINGS, DEEDS))
    return f"{name} and {other} {deed} a {kind} {thing} in the park."


def _story(rng: np.random.Generator) -> str:
    name, kind, thing, deed = (rng.choice(each) for each in (NAMES, KINDS, THINGS, DEEDS))
    end = f"{name} was very happy and played with the {thing}."
    start = f"Once upon a time, there was a {kind} girl named {name}."
    return f"{start} One day, {name} {deed} a {rng.choice(KINDS)} {thing}. {end}"


def _twice(rng: np.random.Generator) -> str:
    """A sentence, and the same once more: every repeat at one distance."""
    return " ".join([_sentence(rng)] * 2)


def _again(rng: np.random.Generator) -> str:
    """Three sentences, and the same in another order: repeats at several distances."""
    said = [_sentence(rng) for _ in range(3)]
    return " ".join(said + [said[place] for place in rng.permutation(3)])


@pytest.fixture(scope="module")
def labelled(stories: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Labelling]:
    """The trained decoder labelled on texts of a kind."""

    def run(kind: Callable[[np.random.Generator], str], *sieves: str) -> Labelling:
        rng = np.random.default_rng(4)
        data = tmp_path_factory.mktemp("stories") / "texts.tsv"
        data.write_text("sentence\n" + "".join(f"{kind(rng)}\n" for _ in range(80)))
        return headroles.label(
            data=data, text_a="sentence", model=stories, sieve=list(sieves), max_length=256, maps=0
        )

    return run


def _mean(found: Labelling, column: str) -> dict[str, float]:
    """Means of a column by the names of heads, the largest first."""
    means = found.findings.mean[found.findings.of(column)]
    order = np.argsort(-means, axis=None)
    return {f"{each // 8}-{each % 8}": float(means.flat[each]) for each in order}


def _held(found: Labelling, role: str) -> set[str]:
    labels = found.labels()
    return {f"{row.layer}-{row.head}" for row in labels.itertuples() if role in str(row.roles).split(";")}


def test_heads_of_a_trained_decoder_are_named_on_stories(labelled: Callable[..., Labelling]) -> None:
    found = labelled(_story, "patterns")
    assert found.manifest["model"]["kv_heads"] == 4
    assert found.labels()["kv_group"].tolist() == [0, 0, 1, 1, 2, 2, 3, 3] * 5
    previous = _mean(found, "previous")
    assert list(previous)[:3] == ["1-3", "3-6", "1-6"]
    assert previous["1-3"] > 0.45
    assert {"1-3", "3-6", "1-6"} <= _held(found, "previous")
    first = _mean(found, "first")
    assert {*list(first)[:3]} == {"2-6", "4-5", "4-0"}
    assert {"2-6", "4-5"} <= _held(found, "first")
    induction = _mean(found, "induction")
    assert next(iter(induction)) == "4-0"
    assert induction["4-0"] > 0.12
    assert "4-0" in _held(found, "induction")
    assert not _held(found, "next")


def test_an_induction_head_is_named_where_repeats_lie_at_several_distances(
    labelled: Callable[..., Labelling],
) -> None:
    found = labelled(_again, "duplicate", "induction")
    assert next(iter(_mean(found, "induction"))) == "4-0"
    assert next(iter(_mean(found, "induction:matched"))) == "4-0"
    assert _mean(found, "induction:matched")["4-0"] > 0.05
    assert _held(found, "induction") == {"4-0"}
    assert _held(found, "duplicate") == set()


def test_verbatim_repeats_cannot_tell_an_induction_head_from_a_distance(
    labelled: Callable[..., Labelling],
) -> None:
    found = labelled(_twice, "duplicate", "induction")
    means = _mean(found, "induction")
    assert next(iter(means)) == "4-0"
    assert means["4-0"] > 0.08
    for column in ("duplicate:matched", "induction:matched"):
        assert max(_mean(found, column).values()) < 0.02
    assert _held(found, "duplicate") == _held(found, "induction") == set()


@pytest.mark.parametrize(("name", "cells"), [("duplicate", duplicate_cells), ("induction", induction_cells)])
def test_a_perfect_head_is_told_from_its_distance_by_repeats_at_several_distances(
    name: str, cells: Callable[[Example], np.ndarray]
) -> None:
    words = [f"w{k}" for k in range(12)]
    shuffled = np.random.default_rng(2).permutation(words).tolist()
    for tokens, told in ((words + words, False), (words + shuffled, True)):
        segment = np.array([-1] + [0] * len(tokens))
        example = Example("made", ("<s>", *tokens), segment=segment)
        seen = np.tri(example.size, dtype=np.bool_)
        looked = cells(example).astype(float)
        looked[~looked.any(axis=1), 0] = 1
        rows = looked / looked.sum(axis=1, keepdims=True)
        found = score(rows[None, None], example, name, visible=seen)
        assert found[name].item() > 0.99
        beyond = found[f"{name}:matched"].item()
        assert beyond > 0.4 if told else abs(beyond) < 1e-9, beyond


def test_the_command_line_labels_a_trained_decoder(stories: Path, tmp_path: Path, command: Command) -> None:
    rng = np.random.default_rng(4)
    data = tmp_path / "texts.tsv"
    data.write_text("sentence\n" + "".join(f"{_story(rng)}\n" for _ in range(60)))
    words = ["label", "--data", data, "--text-a", "sentence", "--model", stories, "--out", tmp_path / "run"]
    code, shown, error = command(*words, "--sieve", "previous", "--sieve", "first", "--max-length", 128)
    assert (code, error) == (0, "")
    assert "40 heads of stories on 60 inputs of texts.tsv" in shown
    assert "share 4 heads of keys and values" in shown
    table = (tmp_path / "run" / "labels.csv").read_text().splitlines()
    assert table[0] == "layer,head,roles,previous,first,kv_group"
    assert table[1 + 8 + 3].startswith("1,3,previous")
    assert len(table) == 41
