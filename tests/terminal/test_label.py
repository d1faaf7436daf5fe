"""What a terminal shows of a labelling."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import headroles
from headroles.records.assessment import RoleOverlap
from headroles.records.example import Decision
from headroles.records.findings import Labelling
from headroles.reports.words.words import STEADY
from headroles.terminal.label import show_labelling


def _shown(
    labelling: Labelling, folder: str = "runs/x", width: int = 200, terminal: bool = False
) -> list[str]:
    console = Console(
        width=width, highlight=False, soft_wrap=True, force_terminal=terminal, color_system=None
    )
    with console.capture() as captured:
        show_labelling(console, labelling, folder)
    return captured.get().splitlines()


def _named(labelling: Labelling, names: Sequence[str]) -> Labelling:
    """The same findings under other names of the roles."""
    rules = iter(names)
    renamed = tuple(
        replace(rule, sieve=next(rules)) if rule.role else rule for rule in labelling.findings.rules
    )
    return replace(labelling, findings=replace(labelling.findings, rules=renamed))


def test_layers_are_rows_and_heads_are_columns(finished: Path) -> None:
    shown = _shown(headroles.load(finished))
    start = next(k for k, line in enumerate(shown) if line.startswith("layer"))
    assert [line.split() for line in shown[start : start + 4]] == [
        ["layer", "0", "1", "2", "head"],
        ["0", "L", "·", "D"],
        ["1", "·", "B", "L"],
        ["L", "local", "D", "delimiter", "B", "block"],
    ]


def test_counts_are_those_of_the_findings(finished: Path) -> None:
    labelling = headroles.load(finished)
    for name in labelling.findings.roles:
        (row,) = [line.split() for line in _shown(labelling) if line.startswith(f"{name} ")]
        codes = labelling.findings.decision[labelling.findings.of(name)]
        contrast = labelling.findings.rules[labelling.findings.of(name)].contrast
        explained = str((codes == 4).sum()) if contrast else "–"
        numbers = [str((codes == code).sum()) for code in range(3)]
        assert row[1:5] == [numbers[0], explained, *numbers[1:]]


def _untestable(labelling: Labelling, heads: int) -> Labelling:
    """The same findings with some heads of the first role untestable, those with the role last."""
    decision = labelling.findings.decision.copy()
    order = np.argsort(decision[0] == 0, axis=None, kind="stable")[:heads]
    decision[0].ravel()[order] = 3
    return replace(labelling, findings=replace(labelling.findings, decision=decision))


def test_heads_that_could_not_be_tested_are_told_where_there_are_any(finished: Path) -> None:
    labelling = headroles.load(finished)
    size = labelling.findings.decision[0].size
    assert "untestable" not in "\n".join(_shown(labelling))
    shown = _shown(_untestable(labelling, size))
    assert any("untest-" in line for line in shown)
    for heads, lines in ((size, shown), (1, _shown(_untestable(labelling, 1)))):
        (row,) = [line.split() for line in lines if line.startswith("local ")]
        assert row[5] == str(heads)
        assert ("none" in row) == (heads == size)


def test_stable_labels_stand_beside_the_counts_and_are_explained(finished: Path) -> None:
    labelling = headroles.load(finished)
    assert labelling.assessment is not None
    found, stability = labelling.findings, labelling.assessment.precision.stability
    shown = _shown(labelling)
    for name in found.roles:
        held = found.decision[found.of(name)] == 0
        steady = int((stability[found.of(name)][held] >= STEADY).sum())
        (row,) = [line.split() for line in shown if line.startswith(f"{name} ")]
        assert row[5] == (f"{steady}/{held.sum()}" if held.any() else "–")
    (told,) = [line for line in shown if line.startswith("stable  ")]
    assert told.endswith("with probability 0.9 or more; this is not the probability that the label is true")


def test_without_an_assessment_nothing_is_said_of_it(finished: Path) -> None:
    shown = _shown(replace(headroles.load(finished), assessment=None))
    assert not [line for line in shown if line.startswith(("stable", "effects", "groups", "overlap"))]
    assert not [line for line in shown if line.split()[:2] == ["role", "role"] and "stable" in line]


def _together(contrasts: str, heads: int, both: int) -> RoleOverlap:
    return RoleOverlap("syntactic", "local", contrasts, heads, 9, both, *(0.0,) * 8)


def test_the_overlap_of_syntactic_and_local_heads_is_told_with_and_without_the_contrast(
    finished: Path,
) -> None:
    labelling = headroles.load(finished)
    assert labelling.assessment is not None
    pair = (_together("with", 2, 1), _together("without", 5, 4))
    told = _shown(replace(labelling, assessment=replace(labelling.assessment, together=pair)))
    assert (
        "overlap syntactic heads that are also local: 1 of 2; without the contrast beyond distance 4 of 5"
        in told
    )


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        (Decision(), "t-skew, fdr_bh over the heads of one sieve, alpha 0.05, preset calibrated"),
        (Decision(family="layer", alpha=0.01), "the heads of one sieve in one layer, alpha 0.01,"),
        (Decision(family="run"), "all heads and sieves of the run"),
        (Decision(test="sign-flip", resamples=500, seed=3), "calibrated; 500 resamples, seed 3"),
        (Decision(interval="bca"), "calibrated, interval bca; 10,000 resamples, seed 0"),
        (Decision(interval="t"), "calibrated, interval t"),
    ],
)
def test_how_it_was_tested_is_one_line(finished: Path, decision: Decision, said: str) -> None:
    shown = _shown(replace(headroles.load(finished), decision=decision))
    (told,) = [line for line in shown if line.startswith("tested")]
    assert said in told
    assert ("resamples" in told) == ("resamples" in said)


def test_remarks_come_before_the_grid(finished: Path) -> None:
    labelling = headroles.load(finished)
    assert labelling.assessment is not None
    remarked = replace(labelling, assessment=replace(labelling.assessment, remarks=("mind this.",)))
    shown = _shown(remarked)
    assert shown.index("note    mind this.") < next(
        k for k, line in enumerate(shown) if line.startswith("layer")
    )


def test_a_narrow_terminal_gets_whole_words_and_a_pipe_whole_lines(finished: Path) -> None:
    labelling = replace(headroles.load(finished), skipped=("many words " * 20,))
    narrow = _shown(labelling, width=80, terminal=True)
    start = next(k for k, line in enumerate(narrow) if line.startswith("layer"))
    assert all(len(line.rstrip()) <= 80 for line in narrow[start:])
    assert [line for line in narrow if line.startswith("        words many")]
    assert f"note    {'many words ' * 20}".rstrip() in [line.rstrip() for line in _shown(labelling, width=80)]


def test_the_strongest_head_is_the_role_with_the_highest_mean(finished: Path) -> None:
    labelling = headroles.load(finished)
    found = labelling.findings
    held = np.where(found.decision[0] == 0, found.mean[0], -np.inf)
    layer, head = np.unravel_index(held.argmax(), held.shape)
    (row,) = [line for line in _shown(labelling) if line.startswith("local ")]
    assert f" {layer}-{head}  {held.max():.2f} [" in row


def test_markup_in_names_is_shown_as_it_is(finished: Path) -> None:
    labelling = _named(headroles.load(finished), ["[red]x[/red]", "[/]", "block"])
    shown = "\n".join(_shown(labelling, "runs/[bold]"))
    assert "[red]x[/red]" in shown
    assert "[/] " in shown
    assert shown.endswith("report  runs/[bold]/report.html")


def test_every_line_of_what_was_left_out_is_shown(finished: Path) -> None:
    labelling = replace(headroles.load(finished), skipped=("3 of 60 inputs were cut.", "x does not apply."))
    shown = _shown(labelling)
    assert [line for line in shown if line.startswith("note")][-2:] == [
        "note    3 of 60 inputs were cut.",
        "note    x does not apply.",
    ]
