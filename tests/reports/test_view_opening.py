"""What a view opens with: its head, and the tokens that are left out at first."""

from dataclasses import replace

import numpy as np
import pytest

from headroles.records.example import Example
from headroles.records.view import SELF, Maps, View
from headroles.reports.views.opening import focus_of, opening_of, sink_shares, strongest_role
from tests.support.made_views import encoder_decoder, roles_of, usual


def _view(weights: np.ndarray, special: list[bool] | None = None) -> View:
    size = weights.shape[-1]
    example = Example("x", tuple("abcdefgh"[:size]), special=np.array(special or [False] * size))
    return View("m", ("t",), (Maps(SELF, (0, 1), (0, 1), example, example, weights.astype(np.uint8)),))


def test_the_most_focused_head_opens_whatever_special_and_first_tokens_get() -> None:
    weights = np.zeros((2, 2, 5, 5))
    weights[0, 0, :, 0] = 255  # all on the first token
    weights[0, 1, :, 4] = 255  # all on a special token
    weights[1, 0] = 51
    weights[1, 1, :, 2] = 128
    view = _view(weights, [False, False, False, False, True])
    opening = opening_of(view)
    assert (opening.layer, opening.head, opening.role) == (1, 1, None)
    expected = np.array([[0.0, 0.0], [51 / 255, 128 / 255]])
    np.testing.assert_allclose(focus_of(view.maps[0]), expected)


def test_equal_heads_open_the_first_and_an_input_of_special_tokens_any() -> None:
    assert opening_of(_view(np.full((2, 2, 3, 3), 85.0))).head == 0
    assert opening_of(_view(np.full((2, 2, 2, 2), 85.0), [True, True])).layer == 0


def test_the_strongest_role_of_the_run_opens_but_no_sink_before_another() -> None:
    view = replace(usual(), roles=roles_of())
    opening = opening_of(view)
    assert (opening.kind, opening.layer, opening.head) == (0, 1, 2)
    assert roles_of().names[opening.role or 0] == "local"
    sinks = np.array([[[True, False]]])
    assert strongest_role(("delimiter:cls",), sinks, np.array([[[0.2, 0.9]]])) == (0, 0, 0)
    assert strongest_role(("local",), ~sinks & False, np.ones((1, 1, 2))) is None
    assert opening_of(replace(encoder_decoder(), roles=None)).kind == 0


def test_shares_of_special_and_first_tokens_are_those_of_all_attention() -> None:
    maps = usual().maps[0]
    special, first = sink_shares(maps)
    whole = maps.weights.sum(dtype=float)
    assert special == pytest.approx(maps.weights[..., [0, 6, 11]].sum(dtype=float) / whole)
    assert first == 0.0
    plain = _view(np.full((2, 2, 3, 3), 85.0)).maps[0]
    assert sink_shares(plain) == pytest.approx((0.0, 1 / 3))
