"""Plans of studies: tests in a family, the cut and its words, and what the command prints."""

import inspect
import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from headroles.errors import BadInput, UnknownName
from headroles.planning import Study, study
from headroles.stats.decision import FAMILIES
from headroles.stats.power import ASSUMED, power_of, power_of_part, required_units
from headroles.terminal.label import show_plan
from tests.support.reference import draws

Command = Callable[..., tuple[int, str, str]]
USUAL = ("plan", "--effect", 0.3, "--head-count", 144, "--sieves", 12)


def _shown(plan: Study) -> list[str]:
    console = Console(width=80, highlight=False, soft_wrap=True, color_system=None)
    with console.capture() as captured:
        show_plan(console, plan)
    return captured.get().splitlines()


def _layers(family: str) -> int | None:
    return 12 if family == "layer" else None


@settings(max_examples=draws(30))
@given(st.floats(0.05, 3), st.sampled_from(sorted(ASSUMED)), st.sampled_from(FAMILIES), st.floats(0.3, 0.95))
def test_a_plan_holds_together(effect: float, correction: str, family: str, power: float) -> None:
    plan = study(
        effect, 144, 10, power=power, correction=correction, family=family, layer_count=_layers(family)
    )
    assert plan.tests == {"sieve": 144, "run": 1440, "layer": 12}[family]
    assert plan.examples == plan.case.examples == required_units(effect, plan.case.cut, power)
    assert plan.joint.examples == required_units(effect, plan.case.cut, power_of_part(power))
    assert (plan.joint.cut, plan.joint.share) == (plan.case.cut, plan.case.share)
    sizes, powers = zip(*plan.curve, strict=True)
    assert list(sizes) == sorted(set(sizes))
    assert list(powers) == sorted(powers)
    assert dict(plan.curve)[plan.examples] >= power
    smallest = [each for _, each in plan.detectable]
    assert smallest == sorted(smallest, reverse=True)
    for size, least in plan.detectable:
        assert float(power_of(least, size, plan.case.cut)) == pytest.approx(power, abs=1e-9)
    assert (plan.orientation is None) != correction.startswith("fdr")
    if plan.orientation is not None:
        assert plan.orientation.examples <= plan.examples
    assert all(len(line.rstrip()) <= 80 for line in _shown(plan))


def test_a_stricter_family_needs_more_examples() -> None:
    counts = [study(0.3, 144, 10, family=each, layer_count=_layers(each)).examples for each in FAMILIES]
    sieve, run, layer = counts
    assert layer < sieve < run
    assert (sieve, run) == (205, 267)


WORDS = [
    ("none", "sieve", None, "alpha"),
    ("holm", "sieve", None, "alpha / 144 heads"),
    ("bonferroni", "run", None, "alpha / 1,728 tests"),
    ("maxT", "layer", None, "alpha / 12 heads of a layer"),
    ("sidak", "sieve", None, "1 − (1 − alpha)^(1 / 144 heads)"),
    ("fdr_bh", "sieve", None, "alpha / 144 heads"),
    ("fdr_bh", "sieve", 0.1, "alpha × expected share 0.1"),
    ("fdr_bh", "sieve", 0.001, "alpha / 144 heads"),
    ("fdr_by", "sieve", 0.1, "alpha × expected share 0.1 / harmonic sum 5.55"),
    ("fdr_by", "sieve", None, "alpha / 144 heads / harmonic sum 5.55"),
]


@pytest.mark.parametrize(("correction", "family", "share", "words"), WORDS)
def test_the_cut_is_told_in_words(correction: str, family: str, share: float | None, words: str) -> None:
    plan = study(0.3, 144, 12, correction=correction, family=family, share=share, layer_count=_layers(family))
    assert plan.case.words == words


def test_a_share_asks_for_fewer_examples_and_needs_no_orientation() -> None:
    cautious, guessed = study(0.3, 144), study(0.3, 144, share=0.1)
    assert (cautious.examples, guessed.examples) == (205, 134)
    assert guessed.orientation is None
    assert cautious.orientation == guessed.case


BAD: list[tuple[dict[str, object], str]] = [
    ({"effect": 0.0}, "effect must be a number above 0, but got 0.0"),
    ({"effect": float("nan")}, "effect must be a number above 0"),
    ({"effect": 1e-9}, "give a larger effect"),
    ({"head_count": 0}, "head_count must be a whole number of at least 1, but got 0"),
    ({"sieves": 0}, "sieves must be a whole number of at least 1, but got 0"),
    ({"power": 1.0}, "power must lie between 0 and 1, both excluded, but got 1.0"),
    ({"alpha": 0.0}, "alpha must lie between 0 and 1, both excluded, but got 0.0"),
    ({"share": 0.0}, "share must lie above 0 and be at most 1, but got 0.0"),
    ({"share": 1.5}, "share must lie above 0 and be at most 1, but got 1.5"),
    ({"share": 0.1, "correction": "holm"}, "share matters to false discovery rates .* 'holm'"),
    ({"family": "layer"}, "layer-count is needed for the family 'layer' and for no other, but got none"),
    ({"layer_count": 12}, "for no other, but got it with the family 'sieve'"),
    ({"family": "layer", "layer_count": 7}, "but got 144 heads for 7 layers"),
    ({"family": "layer", "layer_count": 0}, "layer_count must be a whole number of at least 1, but got 0"),
]


@pytest.mark.parametrize(("changed", "told"), BAD)
def test_an_impossible_plan_is_refused_in_one_sentence(
    changed: dict[str, object], told: str, command: Command
) -> None:
    given: dict[str, object] = {"effect": 0.3, "head_count": 144} | changed
    with pytest.raises(BadInput, match=told):
        study(**given)
    words = [word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", value)]
    code, out, err = command("plan", *words)
    assert (code, out) == (1, "")
    assert re.search(told, err)
    assert len(err.splitlines()) == 1


def test_unknown_names_are_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="no correction is called 'bh'; did you mean 'fdr_bh'"):
        study(0.3, 144, correction="bh")
    with pytest.raises(UnknownName, match="no family is called 'sieves'; did you mean 'sieve'"):
        study(0.3, 144, family="sieves")


def test_the_command_tells_examples_cut_and_what_they_are_relative_to(command: Command) -> None:
    code, out, err = command(*USUAL)
    assert (code, err) == (0, "")
    text = " ".join(out.split())
    assert text.startswith("collect 205 examples, to find a head whose mean lies 0.3 SD above the threshold")
    assert "246 examples for a role with a contrast (block, syntactic)" in text
    assert "each is found with probability √0.8 = 0.894, both with 0.8 or more" in text
    assert "p ≤ 0.000347 = alpha / 144 heads: fdr_bh over the heads of one sieve at alpha 0.05" in text
    assert "if this head alone holds the role (the cautious case)" in text
    assert "134 examples at p ≤ 0.005 = alpha × expected share 0.1, if one head in ten holds it" in text
    assert "the threshold is chance plus the margin" in text
    assert "or the group where examples come from groups" in text


def test_the_command_draws_the_curve_around_the_examples_needed(command: Command) -> None:
    _, out, _ = command(*USUAL)
    rows = [line.split() for line in out.splitlines() if "█" in line]
    curve = dict(study(0.3, 144).curve)
    assert [(int(row[0]), row[1]) for row in rows] == [(n, f"{power:.3f}") for n, power in curve.items()]
    for row in rows:
        assert len(row[2]) == pytest.approx(40 * curve[int(row[0])], abs=1)
    assert [row[0] for row in rows if row[-1] == "enough"] == ["205"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--correction", "none"), "71 examples"),
        (("--correction", "none"), "p ≤ 0.05 = alpha: no correction, alpha 0.05 for every head"),
        (("--correction", "holm"), "less is needed where other heads are found, too"),
        (("--share", 0.1), "fdr_bh over the heads of one sieve at alpha 0.05, if a share of 0.1 of them"),
        (("--family", "run"), "alpha / 1,728 tests: fdr_bh over all heads and sieves of the run"),
        (("--family", "layer", "--layer-count", 12), "over the heads of one sieve in one layer"),
        (("--correction", "none", "--power", 0.5), '"not" needs at least 50 units.'),
    ],
)
def test_each_choice_is_told(options: tuple[object, ...], told: str, command: Command) -> None:
    code, out, _ = command(*USUAL, *options)
    assert code == 0
    assert told in " ".join(out.split())
    assert ("(--share" in out) == ("fdr_bh" in out and "--share" not in options)


def test_the_command_has_the_keywords_of_the_function_and_their_defaults() -> None:
    from headroles.cli.main import cli

    whole = cli.make_context("headroles", ["plan"])
    given = cli.commands["plan"].make_context(
        "plan", ["--effect", "0.3", "--head-count", "144"], parent=whole
    )
    keywords = inspect.signature(study).parameters
    defaults = {name: each.default for name, each in keywords.items() if each.default is not each.empty}
    assert given.params == {"effect": 0.3, "head_count": 144} | defaults


@pytest.mark.parametrize("words", [(), ("--effect", "0.3"), ("--effect", "much", "--head-count", "144")])
def test_wrong_usage_has_exit_code_two(words: tuple[str, ...], command: Command) -> None:
    code, out, err = command("plan", *words)
    assert (code, out) == (2, "")
    assert "Usage: headroles plan" in err
