"""Families, colours, marks and phrases of roles."""

import re
from collections.abc import Mapping
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroles.records.shown.looks import FAMILIES, SHADES, looks_of, tone_of, without_wholes
from headroles.records.shown.phrases import phrase_of
from headroles.sieves import BUILT_IN

DICHROMATS = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
"""What is seen of linear RGB, severity 1 (Machado, Oliveira and Fernandes 2009)."""
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = np.array([0.95047, 1.0, 1.08883])


def _themes() -> dict[str, Mapping[str, str]]:
    """Colours of the light and the dark theme by variable name."""
    style = files("headroles.reports").joinpath("templates/shared/page.css").read_text(encoding="utf-8")
    light, dark = style.partition("prefers-color-scheme: dark")[::2]
    return {
        name: dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{6});", text.split("* { box-sizing")[0]))
        for name, text in (("light", light), ("dark", dark))
    }


def _linear(colour: str) -> np.ndarray:
    """Linear RGB of a colour such as "#0063a8"."""
    parts = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def _lab(linear: np.ndarray) -> np.ndarray:
    """CIELAB of linear RGB under D65."""
    scaled = np.clip(linear, 0, 1) @ TO_XYZ.T / WHITE
    root = np.where(scaled > 0.008856, np.cbrt(scaled), 7.787 * scaled + 16 / 116)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


def _contrast(one: np.ndarray, other: np.ndarray) -> float:
    """Contrast of two colours as WCAG 2 defines it."""
    high, low = sorted((float(TO_XYZ[1] @ one), float(TO_XYZ[1] @ other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("eyes", sorted(DICHROMATS))
def test_families_are_told_apart_by_colour_by_all_eyes(theme: str, eyes: str) -> None:
    colours = _themes()[theme]
    seen = [_lab(DICHROMATS[eyes] @ _linear(colours[f"tone-{tone_of(family)}"])) for family in FAMILIES]
    apart = [np.linalg.norm(seen[i] - seen[j]) for i in range(len(seen)) for j in range(i)]
    assert min(apart) > 20


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_marks_can_be_read_on_every_colour_of_a_family(theme: str) -> None:
    colours = _themes()[theme]
    for family in FAMILIES:
        for place in range(SHADES):
            tone = _linear(colours[f"tone-{tone_of(family, place)}"])
            assert _contrast(tone, _linear(colours["on-tone"])) >= 4.5
            assert _contrast(tone, _linear(colours["paper"])) >= 4.5


def test_built_in_roles_have_marks_and_phrases_of_their_own() -> None:
    names = list(BUILT_IN)
    marks = [look.mark for look in looks_of(names)]
    assert len(set(marks)) == len(names)
    assert marks == [looks_of([name])[0].mark for name in names]
    assert all("role" not in phrase_of(name).one for name in names)
    assert all(phrase_of(name).one != phrase_of(name).many for name in names)


@given(st.lists(st.text(max_size=12), unique=True, max_size=40))
def test_marks_differ_and_begin_with_a_capital_or_a_digit(names: list[str]) -> None:
    marks = [look.mark for look in looks_of(names)]
    assert len(set(marks)) == len(names)
    assert all(re.fullmatch("[A-Z][a-z]?|[0-9]+", mark) for mark in marks)


def test_a_whole_is_drawn_only_where_no_part_of_it_holds() -> None:
    names = ["syntactic", "syntactic:obj", "local"]
    held = np.array([[[True, True, False]], [[True, False, False]], [[True, True, True]]])
    assert without_wholes(names, held).tolist() == [
        [[False, True, False]], [[True, False, False]], [[True, True, True]],
    ]  # fmt: skip
    assert held[0].tolist() == [[True, True, False]]


def test_unknown_relations_keep_their_name() -> None:
    assert phrase_of("syntactic:det:poss").title == "det:poss → its head word"
    assert phrase_of("offset:-2").many == "look at the token at offset -2"
