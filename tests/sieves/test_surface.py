"""Surface statistics are their definitions, cell by cell, by hand, as released, and on real maps."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import entropy

from headroles import Example, surface_of
from tests.sieves import oracle
from tests.sieves.oracle import Case, cases
from tests.support import table
from tests.support.reference import draws, rounding_bound

SMOOTHING = 1e-4
RELATED = table("""
# column              | queries   | keys
first                 | any       | first
separator             | any       | separator
separator→separator   | separator | separator
other→separator       | other     | separator
punctuation           | any       | punctuation
previous              | any       | -1
next                  | any       | +1
self                  | any       | 0
first→first           | first     | first
first→separator       | first     | separator
first→text            | first     | text
separator→first       | separator | first
separator→self        | separator | 0
separator→own-text    | separator | own
separator→other-text  | separator | foreign
""")
RELEASED = {
    "first": "cls", "separator": "sep", "separator→separator": "sep_sep", "other→separator": "rest_sep",
    "punctuation": "punct", "previous": "left", "next": "right", "self": "self",
}  # fmt: skip


def _kind(example: Example, place: int) -> str:
    """Return the kind of a token, by the definitions of Clark et al."""
    if example.first[place] or (place == 0 and not example.first.any()):
        return "first"
    if example.special[place]:
        return "separator"
    return "punctuation" if example.tokens[place].removeprefix("Ġ") in (".", ",") else "other"


def _ended(example: Example, place: int) -> int:
    """Return the text that a separator ends: that of the last token of a text before it, else the first."""
    kinds = [_kind(example, k) for k in range(example.size)]
    texts = [k for k in range(example.size) if kinds[k] in ("punctuation", "other")]
    before = [k for k in texts if k < place]
    return int(example.segment[(before or texts)[-1 if before else 0]]) if texts else -1


def _counted(example: Example, i: int, j: int, keys: str) -> bool:
    kind = _kind(example, j)
    if keys in ("-1", "+1", "0"):
        return j - i == int(keys)
    if keys in ("own", "foreign"):
        own = _ended(example, i) == example.segment[j]
        return kind in ("punctuation", "other") and bool(own == (keys == "own"))
    return kind in ("punctuation", "other") if keys == "text" else kind == keys


def _defined(
    example: Example, rows: np.ndarray, visible: np.ndarray, smoothing: float
) -> dict[str, np.ndarray]:
    """Return all statistics by their definitions; NaN where the visible keys leave no choice."""
    n, heads = example.size, len(rows)
    found: dict[str, np.ndarray] = {}
    kinds = [_kind(example, place) for place in range(n)]
    wanted = {"any": set(kinds), "other": set(kinds) - {"separator"}}
    for name, queries, keys in RELATED:
        asking = [i for i in range(n) if kinds[i] in wanted.get(queries, {queries})]
        counted = {
            i: [j for j in range(n) if visible[i, j] and _counted(example, i, j, keys)] for i in asking
        }
        free = any(0 < len(counted[i]) < visible[i].sum() for i in asking)
        total: Any = np.sum([rows[:, i, counted[i]].sum(axis=1) for i in asking], axis=0) if asking else 0.0
        found[f"surface:{name}"] = total / len(asking) if free else np.full(heads, np.nan)
    mixed = (1 - smoothing) * rows + smoothing / n
    spread = np.asarray(entropy(mixed, axis=-1))
    first = [i for i in range(n) if kinds[i] == "first"]
    for name, asking in (("entropy", [*range(n)]), ("entropy-first", first)):
        free = visible[asking].sum(axis=1).max(initial=0) > 1
        found[f"surface:{name}"] = spread[:, asking].mean(axis=1) if free else np.full(heads, np.nan)
    return found


@settings(max_examples=draws(20))
@given(cases, st.booleans(), st.sampled_from([0.0, SMOOTHING, 0.3]))
def test_every_statistic_is_its_definition(case: Case, clsed: bool, smoothing: float) -> None:
    example, visible, rng = oracle.made(case)
    if not clsed:  # without a class token, position 0 is the first
        example = Example(
            "bare", example.tokens, example.segment, first=np.zeros(example.size, dtype=np.bool_)
        )
    heads = oracle.random_heads(rng, visible)
    found = surface_of(heads[None], example, visible=visible, smoothing=smoothing)
    wanted = _defined(example, heads, visible, smoothing)
    assert list(found) == list(wanted)
    for name, values in wanted.items():
        np.testing.assert_allclose(found[name][0], values, rtol=0, atol=1e-10, err_msg=name)
    parts = [found[f"surface:first→{keys}"] for keys in ("first", "separator", "text")]
    if all(np.isfinite(part).all() for part in parts):
        np.testing.assert_allclose(np.sum(parts, axis=0), 1.0, atol=1e-12)


def _marked(tokens: str | list[str], special: tuple[str, ...] = ("[CLS]", "[SEP]")) -> Example:
    """Return an example of plain tokens, texts ending at separators."""
    tokens = tokens.split() if isinstance(tokens, str) else tokens
    text, segment = 0, []
    for token in tokens:
        segment.append(-1 if token in special else text)
        text += token == special[-1]
    return Example("made", tuple(tokens), segment=np.array(segment))


def test_statistics_of_two_hand_made_heads() -> None:
    rows = np.array(
        [[0.5, 0.5, 0.0, 0.0], [0.1, 0.2, 0.3, 0.4], [0.0, 1.0, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]]
    )
    found = {
        name: each.item() for name, each in surface_of(rows[None, None], _marked("[CLS] a . [SEP]")).items()
    }
    middle = -sum(cell * np.log(cell) for cell in rows[1])
    wanted = {
        "first": (0.5 + 0.1 + 0.25) / 4, "separator": (0.4 + 0.25) / 4, "separator→separator": 0.25,
        "other→separator": 0.4 / 3, "punctuation": (0.3 + 0.25) / 4, "previous": (0.1 + 1 + 0.25) / 4,
        "next": (0.5 + 0.3) / 4, "self": (0.5 + 0.2 + 0 + 0.25) / 4, "entropy-first": np.log(2),
        "entropy": (np.log(2) + middle + 0 + np.log(4)) / 4,
    }  # fmt: skip
    assert {name: found[f"surface:{name}"] for name in wanted} == pytest.approx(wanted)
    pair = np.full((6, 6), 1 / 6)
    pair[0] = [0.3, 0.2, 0.1, 0.25, 0.05, 0.1]
    pair[3] = [0.4, 0.1, 0.05, 0.25, 0.15, 0.05]
    pair[5] = [0.1, 0.2, 0.05, 0.25, 0.3, 0.1]
    both = surface_of(pair[None, None], _marked("[CLS] a . [SEP] b [SEP]"))
    wanted = {
        "first→first": 0.3, "first→separator": 0.35, "first→text": 0.35, "separator→first": 0.25,
        "separator→self": 0.175, "separator→own-text": 0.225, "separator→other-text": 0.2,
    }  # fmt: skip
    assert {name: both[f"surface:{name}"].item() for name in wanted} == pytest.approx(wanted)


def test_marks_are_those_asked_for_behind_any_boundary() -> None:
    example = _marked("[CLS] a . ##, ▁. Ġ, ## ... ; [SEP] $ [SEP]")
    rows = np.eye(12)[None, None]
    for marks, counted in ((".,", 4), (";", 1), ("all", 7), ("?", 0)):
        found = surface_of(np.roll(rows, 1, axis=-1) / 2 + rows / 2, example, marks=marks)[
            "surface:punctuation"
        ].item()
        assert found == pytest.approx(counted / 12) if counted else np.isnan(found), marks


def test_leading_separators_belong_to_the_first_text_and_what_leaves_no_choice_has_no_value() -> None:
    segment = np.array([-1, -1, 0, -1, -1, 1, 1, -1])
    first = np.eye(8, dtype=np.bool_)[0]
    example = Example("odd", tuple("[|a||bb]"), segment=segment, first=first)
    rows = np.tile(np.array([0, 0, 0.6, 0, 0, 0.3, 0.1, 0]), (8, 1))[None, None]
    found = surface_of(rows, example)
    assert found["surface:separator→own-text"].item() == pytest.approx((3 * 0.6 + 0.4) / 4)
    causal = np.tril(np.ones((4, 4))) / np.arange(1, 5)[:, None]
    silent = {
        name
        for name, value in surface_of(causal[None, None], Example("x", tuple("abcd"))).items()
        if np.isnan(value)
    }
    arrows = {f"surface:{name}" for name, _, _ in RELATED if "→" in name}
    assert silent == arrows | {
        f"surface:{name}" for name in ("separator", "punctuation", "next", "entropy-first")
    }
    alone = surface_of(np.ones((1, 1, 1, 1)), Example("x", ("a",)))
    assert all(np.isnan(value).all() for value in alone.values())


def test_statistics_of_several_examples_are_means_over_those_that_have_a_value() -> None:
    examples = [_marked(tokens) for tokens in ("[CLS] it rains [SEP]", "it rains now", "[CLS] no [SEP]")]
    rng = np.random.default_rng(0)
    arrays = [rng.dirichlet(np.ones(example.size), size=(2, 3, example.size)) for example in examples]
    found = surface_of(arrays, examples)
    single = [surface_of(*pair) for pair in zip(arrays, examples, strict=True)]
    assert np.isnan(single[1]["surface:separator"]).all()
    for name, values in found.items():
        known = [statistics[name] for statistics in single if np.isfinite(statistics[name]).all()]
        np.testing.assert_allclose(
            values, np.mean(known, axis=0) if known else np.full((2, 3), np.nan), err_msg=name
        )


def test_the_golden_values_come_out(shared: Path) -> None:
    golden = np.load(shared / "golden" / "published.npz")
    about = json.loads((shared / "golden" / "published.json").read_text())["surface"]
    examples = [_marked(tokens) for tokens in about["tokens"]]
    arrays = [golden[f"surface_attention_{number}"].astype(np.float64) for number in range(len(examples))]
    mean = surface_of(arrays, examples, smoothing=SMOOTHING)
    for name, key in RELEASED.items():
        np.testing.assert_allclose(mean[f"surface:{name}"], golden[f"surface_{key}"], rtol=0, atol=1e-12)
    close = rounding_bound(max(map(len, about["tokens"])), float(golden["surface_entropy"].max()))
    for name, key in (
        ("entropy", "entropy"),
        ("entropy-first", "entropy_cls"),
    ):  # released in single precision
        np.testing.assert_allclose(mean[f"surface:{name}"], golden[f"surface_{key}"], rtol=0, atol=close)
