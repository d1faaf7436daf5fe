"""What a terminal shows of probes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from headroles.records.findings import Labelling
from headroles.records.probes import Baseline, BestHead, ProbeResults
from headroles.reports.answer.probes import answer_of
from headroles.terminal.console import Detail
from headroles.terminal.probe import show_probe

Made = Callable[..., Labelling]


def _shown(
    labelling: Labelling, width: int = 140, *, terminal: bool = True, verbose: bool = True
) -> list[str]:
    console = Console(
        width=width, highlight=False, soft_wrap=True, force_terminal=terminal, color_system=None
    )
    with console.capture() as captured:
        show_probe(console, labelling, "runs/[bold]", Detail(verbose=verbose))
    return [line.rstrip() for line in captured.get().splitlines()]


def _best(labelling: Labelling, row: str) -> BestHead:
    assert labelling.probed is not None
    return next(each for each in labelling.probed.best if each.row == row)


def _changed(labelling: Labelling, **fields: Any) -> Labelling:
    assert labelling.probed is not None
    return replace(labelling, probed=replace(labelling.probed, **fields))


@pytest.mark.parametrize("width", [80, 100, 140])
def test_no_line_is_wider_than_the_terminal(probed_run: Made, width: int) -> None:
    assert max(map(len, _shown(probed_run(), width))) <= width


def test_a_pipe_gets_the_same_tables(probed_run: Made) -> None:
    run = probed_run()
    wide, piped = _shown(run), _shown(run, terminal=False)
    tables = [line for line in wide if line.startswith(("nsubj ", "pronoun ", "attention ", "0-6 "))]
    assert len(tables) >= 4
    assert set(tables) <= set(piped)


def test_a_row_shows_both_estimates_its_baseline_and_the_published_value(probed_run: Made) -> None:
    run = probed_run()
    each = _best(run, "dependency:nsubj")
    (line,) = [line for line in _shown(run) if line.startswith("nsubj ")]
    assert line.split()[:3] == ["nsubj", f"{each.layer}-{each.head}", each.direction]
    assert f" {100 * each.selection:.1f} " in line
    tested = f"{100 * each.accuracy:.1f} [{100 * each.low:.1f}, {100 * each.high:.1f}]"
    assert tested in line
    assert f"{each.baseline}: {100 * each.baseline_accuracy:.1f}" in line
    assert f"+{100 * each.difference:.1f} [" in line
    assert line.split()[-3:] == [each.decision, f"{each.contrast:.2f}", "58.5"]


def test_rows_come_by_their_frequency_and_all_comes_first(probed_run: Made) -> None:
    run = probed_run()
    lines = _shown(run)
    start = next(k for k, line in enumerate(lines) if line.startswith("dependency "))
    names = [line.split()[0] for line in lines[start + 1 : lines.index("", start)]]
    assert names[0] == "all"
    items = [_best(run, f"dependency:{name}").items for name in names[1:]]
    assert len(items) == 11
    assert items == sorted(items, reverse=True)


def test_columns_without_anything_to_say_are_left_out(probed_run: Made) -> None:
    run = probed_run()
    (header,) = [line for line in _shown(run) if line.startswith("trees ")]
    assert header.split() == ["trees", "head", "chosen", "tested", "baseline", "difference", "q", "decision"]
    bare = replace(run, manifest={**run.manifest, "probe": {}})
    shown = "\n".join(_shown(bare))
    assert "published" not in shown
    assert "windows" not in shown
    assert "chosen on one half of the units, tested on the other" in shown


def test_a_row_that_no_head_was_chosen_for_shows_no_number(probed_run: Made) -> None:
    run = probed_run()
    nan = float("nan")
    numbers: dict[str, Any] = {
        name: nan for name in BestHead.__slots__ if isinstance(getattr(_best(run, "trees:uas"), name), float)
    }
    silent = replace(
        _best(run, "trees:uas"), layer=-1, head=-1, decision="untestable", baseline="", **numbers
    )
    lines = _shown(_changed(run, best=(silent,)))
    (line,) = [line for line in lines if line.startswith("uas ") and "untestable" in line]
    assert line.split() == ["uas", *["–"] * 6, "untestable"]


def test_baselines_of_all_offsets_are_left_to_the_file(probed_run: Made) -> None:
    lines = _shown(probed_run())
    assert any(line.startswith("coreference, all data") for line in lines)
    assert not any(line.startswith("dependency, all data") for line in lines)
    (row,) = [line for line in lines if line.startswith("all ") and "(69.0)" in line]
    assert row.split() == ["all", "20.0", "28.0", "36.0", "(69.0)"]


def test_the_top_head_comes_before_the_largest_gaps(probed_run: Made) -> None:
    run = probed_run()
    assert run.probed is not None
    lines = _shown(run)
    start = next(k for k, line in enumerate(lines) if "accuracy, all" in line and "pro" in line)
    top = max(run.probed.gaps, key=lambda each: each.both)
    assert lines[start + 1].startswith(f"{top.layer}-{top.head} top head")
    assert any(line.startswith("top     the top head has the highest measure") for line in lines)
    others = [each for each in run.probed.gaps if each is not top]
    widest = max(others, key=lambda each: abs(each.difference))
    assert lines[start + 2].startswith(f"{widest.layer}-{widest.head} ")


def test_decisions_over_all_heads_are_counted_by_probe(probed_run: Made) -> None:
    run = probed_run()
    frame = run.frame()
    mine = frame[frame["sieve"].str.startswith("coreference")]
    counts = mine["decision"].value_counts()
    told = (
        f"{counts['role']} beyond, {counts['not']} not, {counts.get('undetermined', 0)} undetermined of 288"
    )
    assert [line for line in _shown(run) if line.startswith(f"heads   coreference: {told}")]


def test_the_answer_stands_first_and_explanations_only_where_they_are_asked_for(probed_run: Made) -> None:
    run = probed_run()
    lines = _shown(run, 200, terminal=False, verbose=False)
    first = answer_of(run).sentences[0].text
    assert lines[2] == f"• {first}"
    assert not [
        line for line in lines if line.startswith(("model ", "tested ", "columns ", "heads ", "top "))
    ]
    assert {"model", "tested", "columns", "heads"} <= {line.split(" ")[0] for line in _shown(run)}


def test_a_narrow_terminal_has_fewer_columns_and_whole_cells(probed_run: Made) -> None:
    run = probed_run()
    lines = _shown(run, 80, verbose=False)
    start = next(k for k, line in enumerate(lines) if line.startswith("dependency "))
    assert lines[start].split()[1:] == ["head", "tested", "baseline", "difference", "decision", "published"]
    rows = [line for line in lines[start + 1 : lines.index("", start)] if not line.startswith("?")]
    assert rows[0].startswith("all ")
    assert all("-" in line.split()[1] for line in rows)


def test_only_trained_probes_make_no_empty_table(probed_run: Made) -> None:
    run = probed_run()
    assert run.probed is not None
    trained = replace(run, probed=ProbeResults(None, trained=run.probed.trained))
    lines = _shown(trained)
    (row,) = [line for line in lines if line.startswith("attention (random weights)")]
    assert "31.0 [29.0, 33.0]" in row
    assert not any(line.startswith(("dependency ", "best ", "columns", "first − second")) for line in lines)


def test_markup_in_names_is_shown_as_it_is(probed_run: Made) -> None:
    run = probed_run()
    assert run.probed is not None
    bad = "[red]x[/red]"
    best = replace(_best(run, "trees:uas"), row=f"{bad}:[/]", baseline=bad)
    baseline = Baseline(f"{bad}:[/]", bad, 9, 9, 0.5, 0.4, 0.6)
    gaps = tuple(replace(each, first=bad, second="[/b]") for each in run.probed.gaps)
    trained = (replace(run.probed.trained[0], classifier=bad),)
    contests = (replace(run.probed.contests[0], first=bad),)
    found = ProbeResults(None, (best,), (baseline,), gaps, trained, contests)
    shown = "\n".join(_shown(replace(run, probed=found)))
    assert shown.count(bad) >= 7
    assert "[/] " in shown
    assert "[/b]" in shown
    assert shown.endswith("report  runs/[bold]/report.html")
