"""Surface statistics are their definitions, cell by cell, by hand, as released, and on real maps."""

import json
from pathlib import Path

import numpy as np
import pytest

from headroles import Example, surface_of
from tests.support.reference import rounding_bound

SMOOTHING = 1e-4
RELEASED = {
    "first": "cls", "separator": "sep", "separator→separator": "sep_sep", "other→separator": "rest_sep",
    "punctuation": "punct", "previous": "left", "next": "right", "self": "self",
}  # fmt: skip


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
    both = surface_of(rows[None, None], _marked("[CLS] a . [SEP]"))
    found = {name: each.item() for name, each in both.items()}
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
    rows = (np.roll(rows, 1, axis=-1) + rows) / 2
    for marks, counted in ((".,", 4), (";", 1), ("all", 7), ("?", np.nan)):
        found = surface_of(rows, example, marks=marks)["surface:punctuation"].item()
        assert found == pytest.approx(counted / 12, nan_ok=True), marks


def test_leading_separators_belong_to_the_first_text_and_what_leaves_no_choice_has_no_value() -> None:
    segment = np.array([-1, -1, 0, -1, -1, 1, 1, -1])
    first = np.eye(8, dtype=np.bool_)[0]
    example = Example("odd", tuple("[|a||bb]"), segment=segment, first=first)
    rows = np.tile(np.array([0, 0, 0.6, 0, 0, 0.3, 0.1, 0]), (8, 1))[None, None]
    found = surface_of(rows, example, smoothing=0.3)
    even = 0.7 * np.array([0.6, 0.3, 0.1]) + 0.3 / 8
    spread = -(even * np.log(even)).sum() - 5 * 0.3 / 8 * np.log(0.3 / 8)
    assert found["surface:entropy"].item() == found["surface:entropy-first"].item() == pytest.approx(spread)
    assert found["surface:separator→own-text"].item() == pytest.approx((3 * 0.6 + 0.4) / 4)
    causal = np.tril(np.ones((4, 4))) / np.arange(1, 5)[:, None]
    causal_values = surface_of(causal[None, None], Example("x", tuple("abcd")))
    silent = {name.partition(":")[2] for name, value in causal_values.items() if np.isnan(value)}
    arrows = {name.partition(":")[2] for name in causal_values if "→" in name}
    assert silent == arrows | {"separator", "punctuation", "next", "entropy-first"}
    alone = surface_of(np.ones((1, 1, 1, 1)), Example("x", ("a",)))
    assert all(np.isnan(value).all() for value in alone.values())


def test_the_golden_values_come_out(shared: Path) -> None:
    golden = np.load(shared / "golden" / "published.npz")
    about = json.loads((shared / "golden" / "published.json").read_text())["surface"]
    examples = [_marked(tokens) for tokens in about["tokens"]]
    arrays = [golden[f"surface_attention_{number}"].astype(np.float64) for number in range(len(examples))]
    mean = surface_of(arrays, examples, smoothing=SMOOTHING)
    for name, key in RELEASED.items():
        np.testing.assert_allclose(mean[f"surface:{name}"], golden[f"surface_{key}"], rtol=0, atol=1e-12)
    close = rounding_bound(max(map(len, about["tokens"])), float(golden["surface_entropy"].max()))
    for name, key in {"entropy": "entropy", "entropy-first": "entropy_cls"}.items():  # in single precision
        np.testing.assert_allclose(mean[f"surface:{name}"], golden[f"surface_{key}"], rtol=0, atol=close)
