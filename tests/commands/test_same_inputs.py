"""Inputs that are the same count once, in a run and between runs, however they are spelled and named."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles.errors import BadInput

pytestmark = pytest.mark.xdist_group("planted")

WORDS = ("the", "heads", "model", "look", "words", "each", "other", "what", "did", "signed", "after", "long")


def texts(seed: int, count: int = 12) -> list[str]:
    """Return random texts."""
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, size=8).tolist()) for _ in range(count)]


def spelled(text: str) -> list[str]:
    """Return a text in four spellings that a tokenizer without case reads alike."""
    return [text, text.upper(), text.title().replace(" ", "  "), text.replace("e", "\u00e9")]


def test_spellings_that_the_tokenizer_reads_alike_are_one_unit(planted: Path) -> None:
    own = texts(0)
    how: dict[str, Any] = {"model": planted, "max_length": 48, "sieve": "local", "maps": 0}
    run = headroles.label(data=[spelling for text in own for spelling in spelled(text)], **how)
    assert run.scores.units == tuple(f"data/{4 * (place // 4)}" for place in range(48))
    pairs = [
        [(first, second), (second.upper(), "it")] for first, second in zip(own[:6], own[6:], strict=True)
    ]
    run = headroles.label(data=[pair for both in pairs for pair in both], **how)
    assert len({*run.scores.units}) == 1  # all of them share "it"
    run = headroles.label(data=[both[0] for both in pairs] + [(own[6].title(), own[0])], **how)
    assert run.scores.units == (*(f"data/{place}" for place in range(6)), "data/0")


def test_every_command_counts_spellings_once_and_parts_of_one_corpus_differ(
    planted: Path, tmp_path: Path
) -> None:
    own = [spelled(text) for text in texts(0, 20)]
    data = [spelling for spellings in own for spelling in spellings]
    how = dict[str, Any](model=planted, max_length=48, threads=1)
    part = dict[str, Any](sieve="local", maps=0) | how
    folders = [tmp_path / name for name in ("once", "capitals")]
    for place, folder in enumerate(folders):
        headroles.label(data=[spellings[place] for spellings in own], out=folder, **part)
    with pytest.raises(BadInput, match=r"about 100.0\W% of those of 'list of 20 texts"):
        headroles.atlas([*map(str, folders)], parts=True)
    headroles.label(data=data, out=tmp_path / "all", **part)
    runs = {
        "ablate": headroles.ablate(data=data, outcome="tokens", **how),
        "surface": headroles.surface(data=data, **how),
        "why": headroles.why(tmp_path / "all", data=data, rotations=99, redeals=0, **how),
    }
    assert {name: len({*run.scores.units}) for name, run in runs.items()} == dict.fromkeys(runs, 20)
    sums = [headroles.label(data=inputs, keep=10, **part).findings for inputs in (data, data[::4])]
    np.testing.assert_allclose(sums[0].mean, sums[1].mean, atol=1e-6)
    np.testing.assert_allclose(sums[0].p, sums[1].p, atol=1e-4)


def test_runs_share_what_is_spelled_otherwise_or_in_documents_of_one_name(
    planted: Path, tmp_path: Path
) -> None:
    own, other = texts(0), texts(1)
    inputs = {
        "a": [{"text": text, "group": f"document {place}"} for place, text in enumerate(own)],
        "capitals": [text.upper() for text in own[:6]] + other[:6],
        "documents": [{"text": text, "group": f"document {place}"} for place, text in enumerate(other)],
        "other": other,
    }
    for name, data in inputs.items():
        headroles.label(data=data, model=planted, max_length=48, sieve="local", maps=0, out=tmp_path / name)
    for name, note in (
        ("capitals", "about 50.0\u00a0% of the texts of B are those of A"),
        (
            "documents",
            "about 100.0\u00a0% of the documents or paragraphs, by their names, of B are those of A",
        ),
        ("other", ""),
    ):
        folders = tmp_path / "a", tmp_path / name
        assert any(note in told for told in headroles.replicate(*folders).notes) == bool(note) or not note
        found = headroles.atlas([*map(str, folders)])
        assert {row.combination for row in found.consensus} == {"bonferroni" if note else "fisher"}


def test_other_inputs_with_equal_names_decide_no_role(planted: Path, tmp_path: Path) -> None:
    own, other = texts(0), texts(1)
    headroles.label(
        data=own, model=planted, max_length=48, sieve="local", margin=0.01, maps=0, out=tmp_path / "roles"
    )
    for data, left in ((other, 12), (other[:4] + [text.upper() for text in own[:8]], 4), (own, 6)):
        run = headroles.ablate(data=data, model=planted, max_length=48, roles=tmp_path / "roles")
        assert run.ablated is not None
        assert run.ablated.held is not None
        assert run.ablated.held.apart(run.scores.units, run.scores.examples).sum() == left
