"""What a terminal shows of a labelling."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

import headroles
from headroles.records.assessment import RoleOverlap
from headroles.records.findings import Labelling
from headroles.records.rules.rule import Decision
from headroles.reports.answer.label import answer_of
from headroles.reports.summary.summary import summarise
from headroles.reports.words.words import STEADY
from headroles.terminal.colours import luminance, tones
from headroles.terminal.console import SHORT, Detail
from headroles.terminal.counts import bar_of, rarest, show_grid
from headroles.terminal.label import show_labelling
from tests.reports.answer.test_label import decided


def _shown(
    labelling: Labelling,
    folder: str = "runs/x",
    width: int = 200,
    terminal: bool = False,
    detail: Detail = SHORT,
    colours: Literal["standard", "truecolor"] | None = None,
) -> list[str]:
    console = Console(
        width=width, highlight=False, soft_wrap=True, force_terminal=terminal, color_system=colours
    )
    with console.capture() as captured:
        show_labelling(console, labelling, folder, detail)
    return captured.get().splitlines()


ALL = Detail(verbose=True)


def _named(labelling: Labelling, names: Sequence[str]) -> Labelling:
    """The same findings under other names of the roles."""
    rules = iter(names)
    renamed = tuple(
        replace(rule, sieve=next(rules)) if rule.role else rule for rule in labelling.findings.rules
    )
    return replace(labelling, findings=replace(labelling.findings, rules=renamed))


def test_the_title_names_heads_model_and_inputs_and_the_answer_follows(finished: Path) -> None:
    run = headroles.load(finished)
    shown = _shown(run, width=400)
    assert shown[0] == f"{run.findings.count[0].size} heads of planted on 60 QNLI pairs"
    sentences = [sentence.text for sentence in answer_of(summarise(run)).sentences]
    assert [line.removeprefix("• ") for line in shown if line.startswith("• ")] == sentences
    assert shown[-1] == "report  runs/x/report.html"


def _rows(labelling: Labelling, **how: Any) -> dict[str, list[str]]:
    """The cells of every line of counts by the mark of its role."""
    codes = [role.code for role in summarise(labelling).roles]
    lines = _shown(labelling, **how)
    start = next(k for k, line in enumerate(lines) if line.startswith("role "))
    return {line.split()[0]: line.split() for line in lines[start + 1 :] if line.split()[:1] != []
            and line.split()[0] in codes}  # fmt: skip


def test_roles_stand_with_their_heads_the_rarest_first_and_those_without_a_head_last(finished: Path) -> None:
    run = headroles.load(finished)
    roles = {role.code: role for role in summarise(run).roles}
    rows = _rows(run)
    assert set(rows) == set(roles)
    counts = [roles[mark].tally.role for mark in rows]
    assert counts == sorted(counts)
    empty = replace(run, findings=replace(run.findings, decision=run.findings.decision.clip(1)))
    assert all(not role.tally.role for role in summarise(empty).roles)
    assert list(_rows(empty)) == list(roles)


def test_every_count_is_that_of_the_findings(finished: Path) -> None:
    run = headroles.load(finished)
    for role in summarise(run).roles:
        cells = _rows(run)[role.code]
        assert str(role.tally.role) in cells
        assert cells[-1] == str(role.tally.undetermined)
        assert cells[-2] == (str(role.tally.explained) if role.contrast else "–")
        best = role.strongest
        assert best is not None
        assert f"{best.layer}-{best.head}" in cells
        assert f"[{best.score.low:.2f}," in cells


@pytest.mark.parametrize(
    ("share", "bar"), [(1.0, "████"), (0.5, "██"), (0.0, ""), (0.0001, "▏"), (0.6, "██▍")]
)
def test_a_bar_is_as_long_as_its_share(share: float, bar: str) -> None:
    assert bar_of(share, 4) == bar


def test_the_grid_has_the_rarest_role_of_every_head_and_only_where_it_is_asked_for(finished: Path) -> None:
    run = headroles.load(finished)
    assert not [line for line in _shown(run) if line.startswith("layer")]
    shown = _shown(run, detail=Detail(grid=True))
    start = next(k for k, line in enumerate(shown) if line.startswith("layer"))
    assert [line.split() for line in shown[start : start + 3]] == [
        ["layer", "0", "1", "2"], ["0", "L", "·", "D"], ["1", "·", "B", "L"],
    ]  # fmt: skip


def test_of_several_roles_the_grid_takes_the_rarest_and_no_whole_of_a_part() -> None:
    run = decided({"delimiter": [0, 0, 0, 1], "delimiter:cls": [0, 0, 1, 1], "local": [0, 1, 1, 1]}, (1, 4))
    assert rarest(summarise(run)).tolist() == [[2, 1, 0, -1]]


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_no_line_is_wider_than_the_terminal(finished: Path, width: int) -> None:
    run = _named(
        headroles.load(finished), ["syntactic:amod", "a role with a very long name of words", "block"]
    )
    lines = _shown(run, width=width, terminal=True, detail=Detail(grid=True))
    assert max(cell_len(line.rstrip()) for line in lines) <= width


def test_many_heads_are_printed_in_blocks_that_fit(finished: Path) -> None:
    summary = summarise(decided({"local": [0] * 80}, (2, 40)))
    console = Console(width=80, color_system=None, force_terminal=True)
    with console.capture() as captured:
        show_grid(console, summary)
    lines = captured.get().splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(line.count("L") for line in lines) == 80


def test_colours_are_those_of_the_families_and_a_pipe_or_no_color_gets_none(
    finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = headroles.load(finished)
    full = "\n".join(_shown(run, terminal=True, colours="truecolor"))
    for role in summarise(run).roles:
        red, green, blue = (int(tones()[role.tone][place : place + 2], 16) for place in (1, 3, 5))
        assert f"48;2;{red};{green};{blue}" in full
    sixteen = "\n".join(_shown(run, terminal=True, colours="standard"))
    assert "\x1b[1;97;104m" in sixteen or "\x1b[1;97;44m" in sixteen
    assert "\x1b" not in "\n".join(_shown(run))
    monkeypatch.setenv("NO_COLOR", "1")
    bare = "\n".join(_shown(run, terminal=True, colours="truecolor"))
    assert ";2;" not in bare


@pytest.mark.parametrize("tone", range(28))
def test_a_colour_stands_out_on_white_and_on_black(tone: int) -> None:
    colour = tones()[tone]
    red, green, blue = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    light = luminance((red, green, blue))
    assert 1.05 / (light + 0.05) > 4.4
    assert (light + 0.05) / 0.05 > 4.4


def test_the_whole_table_has_the_counts_of_the_findings(finished: Path) -> None:
    labelling = headroles.load(finished)
    for name in labelling.findings.roles:
        (row,) = [line.split() for line in _shown(labelling, detail=ALL) if line.startswith(f"{name} ")]
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
    assert "untest" not in "\n".join(_shown(labelling, detail=ALL))
    shown = _shown(_untestable(labelling, size), detail=ALL)
    assert any("untest-" in line for line in shown)
    for heads, lines in ((size, shown), (1, _shown(_untestable(labelling, 1), detail=ALL))):
        (row,) = [line.split() for line in lines if line.startswith("local ")]
        assert row[5] == str(heads)
        assert ("none" in row) == (heads == size)


def test_stable_labels_stand_beside_the_counts_and_are_explained(finished: Path) -> None:
    labelling = headroles.load(finished)
    assert labelling.assessment is not None
    found, stability = labelling.findings, labelling.assessment.precision.stability
    shown = _shown(labelling, detail=ALL)
    for name in found.roles:
        held = found.decision[found.of(name)] == 0
        steady = int((stability[found.of(name)][held] >= STEADY).sum())
        (row,) = [line.split() for line in shown if line.startswith(f"{name} ")]
        assert row[5] == (f"{steady}/{held.sum()}" if held.any() else "–")
    (told,) = [line for line in shown if line.startswith("stable  ")]
    assert told.endswith("with probability ≥ 0.9 (not the probability that it is true)")


def test_without_an_assessment_nothing_is_said_of_it(finished: Path) -> None:
    shown = _shown(replace(headroles.load(finished), assessment=None), detail=ALL)
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
    told = _shown(replace(labelling, assessment=replace(labelling.assessment, together=pair)), detail=ALL)
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
    shown = _shown(replace(headroles.load(finished), decision=decision), detail=ALL)
    (told,) = [line for line in shown if line.startswith("tested")]
    assert said in told
    assert ("resamples" in told) == ("resamples" in said)


def test_notes_come_after_the_result_each_once(finished: Path) -> None:
    labelling = headroles.load(finished)
    assert labelling.assessment is not None
    remarked = replace(
        labelling,
        assessment=replace(labelling.assessment, remarks=("mind this.", "mind this.")),
        skipped=("mind this.", "cut."),
    )
    shown = _shown(remarked)
    assert [line for line in shown if line.startswith("note")] == ["note    mind this.", "note    cut."]
    assert shown.index("note    mind this.") > next(
        k for k, line in enumerate(shown) if line.startswith("role ")
    )


def test_a_narrow_terminal_gets_whole_words_and_a_pipe_whole_lines(finished: Path) -> None:
    labelling = replace(headroles.load(finished), skipped=("many words " * 20,))
    narrow = _shown(labelling, width=80, terminal=True)
    assert all(len(line.rstrip()) <= 80 for line in narrow)
    assert [line for line in narrow if line.startswith("        words many")]
    assert f"note    {'many words ' * 20}".rstrip() in [line.rstrip() for line in _shown(labelling, width=80)]


def test_the_strongest_head_is_the_role_with_the_highest_mean(finished: Path) -> None:
    labelling = headroles.load(finished)
    found = labelling.findings
    held = np.where(found.decision[0] == 0, found.mean[0], -np.inf)
    layer, head = np.unravel_index(held.argmax(), held.shape)
    (row,) = [line for line in _shown(labelling, detail=ALL) if line.startswith("local ")]
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
