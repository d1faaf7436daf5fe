"""What a terminal shows of surface statistics."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.console import Console

from headroles.records.findings import Labelling
from headroles.reports.answer.surface import answer_of
from headroles.reports.words.surface import ROWS, decision_counts, peak
from headroles.terminal.console import Detail
from headroles.terminal.surface import show_surface

Made = Callable[..., Labelling]

SEPARATORS = ("surface:separator", "surface:separator→separator", "surface:other→separator")


def _shown(
    labelling: Labelling,
    width: int = 140,
    *,
    terminal: bool = True,
    colours: bool = False,
    verbose: bool = True,
) -> list[str]:
    console = Console(
        width=width,
        highlight=False,
        soft_wrap=True,
        force_terminal=terminal,
        color_system="standard" if colours else None,
    )
    with console.capture() as captured:
        show_surface(console, labelling, "runs/[bold]", Detail(verbose=verbose))
    return [line.rstrip() for line in captured.get().splitlines()]


@pytest.mark.parametrize("width", [80, 140])
def test_no_line_is_wider_than_the_terminal(surface_run: Made, width: int) -> None:
    assert max(map(len, _shown(surface_run(), width))) <= width


def test_a_pipe_gets_the_same_tables(surface_run: Made) -> None:
    wide, piped = _shown(surface_run()), _shown(surface_run(), terminal=False)
    tables = [line for line in wide if line[:1].isdigit() or line.startswith(("layer ", "separators "))]
    assert len(tables) >= 20
    assert set(tables) <= set(piped)


def test_it_begins_with_what_was_run_and_ends_with_the_report(surface_run: Made) -> None:
    lines = _shown(surface_run())
    assert lines[0].endswith(" heads of i> on 60 QNLI pairs")
    assert lines[1] == "model   tiny/<i>model</i> (BertModel), from a folder"
    assert lines[2] == "inputs  QNLI, samples written for headroles: 60 examples, 60 units"
    assert lines[3].startswith("tested  against even attention, both ways; t-skew, fdr_bh over the heads of")
    assert lines[-3].startswith("note    a note about <b>loud</b>")
    assert lines[-2].startswith("note    <b>loud</b>")
    assert lines[-1] == "report  runs/[bold]/report.html"


def test_layers_have_the_means_of_every_statistic_and_what_even_attention_gives(surface_run: Made) -> None:
    run = surface_run()
    assert run.surface is not None
    columns = [name for name in run.findings.sieves if name.startswith("surface")]
    lines = _shown(run)
    start = next(place for place, line in enumerate(lines) if line.startswith("layer "))
    for layer in range(6):
        rows = {each.column: each.mean for each in run.surface.layers if each.layer == layer}
        assert lines[start + 1 + layer].split() == [
            str(layer), *(f"{rows[column]:.3f}" for column in columns)
        ]  # fmt: skip
    assert lines[start + 7].split() == ["even", *["0.024"] * 8, "4.159", "4.159"]
    (narrow,) = [line for line in _shown(run, 80) if line.startswith("even")]
    assert narrow.split() == ["even", *["0.02"] * 8, "4.16", "4.16"]


def test_rows_of_special_tokens_have_a_table_of_their_own(surface_run: Made) -> None:
    run = surface_run(rows=ROWS)
    assert run.surface is not None
    lines = _shown(run)
    start = next(place for place, line in enumerate(lines) if line.startswith("rows "))
    for layer in range(6):
        rows = {each.column: each.mean for each in run.surface.layers if each.layer == layer}
        assert lines[start + 1 + layer].split() == [str(layer), *(f"{rows[name]:.3f}" for name in ROWS)]
    assert not any(line.startswith("rows ") for line in _shown(surface_run()))
    assert max(map(len, _shown(run, 80))) <= 80


def test_the_layer_with_the_largest_mean_is_bold(surface_run: Made) -> None:
    run = surface_run()
    assert run.surface is not None
    rows = [each for each in run.surface.layers if each.column == "surface:separator"]
    top = max(rows, key=lambda each: each.mean)
    (line,) = [line for line in _shown(run, colours=True) if f"{top.mean:.3f}" in line]
    assert line.startswith(f"{top.layer} ")
    assert f"\x1b[1m{top.mean:.3f}" in line.replace(" ", "")


def test_every_kind_of_attention_has_its_strongest_head(surface_run: Made) -> None:
    run = surface_run()
    (line,) = [line for line in _shown(run) if line.startswith("separators  ")]
    above, below, *_ = decision_counts(run.findings, "surface:separator")
    top = peak(run.findings, "surface:separator")
    assert line.split()[:4] == ["separators", str(above), str(below), top.place]
    assert f" {top.mean.mean:.2f} [{top.mean.low:.2f}, {top.mean.high:.2f}] " in line


def test_importance_has_a_table_per_measure_and_its_tests_in_words(surface_run: Made) -> None:
    run = surface_run()
    lines = _shown(run)
    assert run.surface is not None
    for measure in ("gradient", "attention×gradient"):
        start = next(place for place, line in enumerate(lines) if line.startswith(f"{measure} "))
        assert lines[start].split("  ")[1:] == [
            "the first token",
            "separators",
            "punctuation",
            "other tokens",
        ]
        third = next(
            row.mean for row in run.surface.layers if (row.column, row.layer) == (f"{measure}:separator", 3)
        )
        assert f"{third:.3g}" == lines[start + 4].split()[2]
    told = [line for line in lines if line.startswith("loss ")]
    assert len(told) == 2
    assert "in layers 2–5, changing the attention to separators matters less than" in told[0]


def test_the_loss_is_told_with_what_was_run(surface_run: Made) -> None:
    run = surface_run()
    loss = "The loss of an input is the squared error of the model's number."
    lines = _shown(replace(run, manifest={**run.manifest, "surface": {"loss": loss}}))
    assert lines[4] == "loss    the loss of an input is the squared error of the model's number."
    assert lines[:4] + lines[5:] == _shown(run)


def test_one_input_is_no_plural(surface_run: Made) -> None:
    run = surface_run()
    one = replace(run, manifest={**run.manifest, "counts": {"examples": 1, "units": 1}})
    assert _shown(one)[2].endswith(": 1 example, 1 unit")


def test_what_a_run_does_not_have_is_left_out(surface_run: Made) -> None:
    bare = surface_run((60, 1, 4), lacking=(*SEPARATORS, "surface:entropy-first"), gradients=False)
    shown = "\n".join(_shown(replace(bare, skipped=(), assessment=None)))
    for word in ("sep", "gradient", "loss ", "first token's row", "smallest in layer"):
        assert word not in shown
    assert "entropy of all rows: from " in shown


def test_the_answer_stands_first_and_explanations_only_where_they_are_asked_for(surface_run: Made) -> None:
    run = surface_run()
    lines = _shown(run, 400, terminal=False, verbose=False)
    sentences = [f"• {sentence.text}" for sentence in answer_of(run).sentences]
    assert [line for line in lines if line.startswith("• ")] == sentences
    assert not [line for line in lines if line.startswith(("model ", "tested ", "entropy ", "loss "))]
