"""What a terminal shows of a run that takes heads out."""

import json

import pytest
from rich.console import Console

from headroles.records.findings import Labelling
from headroles.records.shown.phrases import phrase_of
from headroles.reports.causal.answer import answer_of
from headroles.reports.causal.words import glossary, rows_of
from headroles.terminal.answers import MARKS
from headroles.terminal.causal.ablate import show_ablation
from headroles.terminal.console import Detail
from headroles.terminal.facts import result_json
from headroles.terminal.run import show_result
from tests.support.causal.ablated_runs import ablated_run


def _shown(
    labelling: Labelling, width: int = 140, *, terminal: bool = True, verbose: bool = False
) -> list[str]:
    console = Console(
        width=width, highlight=False, soft_wrap=True, force_terminal=terminal, color_system=None
    )
    with console.capture() as captured:
        show_ablation(console, labelling, "runs/[bold]", Detail(verbose=verbose))
    return [line.rstrip() for line in captured.get().splitlines()]


@pytest.mark.parametrize("width", [80, 120, 140])
@pytest.mark.parametrize("verbose", [False, True])
def test_no_line_is_wider_than_the_terminal(width: int, verbose: bool) -> None:
    assert max(map(len, _shown(ablated_run(), width, verbose=verbose))) <= width


def test_it_begins_with_the_title_and_ends_with_the_report() -> None:
    lines = _shown(ablated_run())
    assert lines[0].endswith(" heads of i> on 120 QNLI pairs")
    assert lines[-1] == "report  runs/[bold]/report.html"
    assert lines[-3].startswith("note    a note about <b>loud</b>")


def test_every_sentence_of_the_answer_is_printed() -> None:
    said = " ".join(_shown(ablated_run(), terminal=False))
    for sentence in answer_of(ablated_run()).sentences:
        assert sentence.text.translate(MARKS) in said


def test_a_table_lists_the_verdicts_of_every_arm() -> None:
    run = ablated_run()
    assert run.ablated is not None
    damage = run.ablated.damage
    for arm, name in (("loss:mean", "loss, mean output"), ("loss:zero", "loss, zero")):
        (line,) = [line for line in _shown(run) if line.startswith(f"{name}  ")]
        codes = damage.verdict[damage.of(arm)]
        counts = [str((codes == code).sum()) for code in range(5)]
        numbers = line.removeprefix(name).split()
        assert numbers[1:6] == [counts[0], counts[1], counts[4], counts[2], counts[3]]


def test_roles_and_sets_have_a_line_each() -> None:
    run = ablated_run()
    assert run.ablated is not None
    rows = rows_of(run.ablated.roles, "loss:mean")
    lines = _shown(run)
    start = next(place for place, line in enumerate(lines) if line.startswith("role "))
    for line, row in zip(lines[start + 1 : start + 1 + len(rows)], rows, strict=True):
        assert line.startswith(f"{phrase_of(row.role).title}  ")
    start = next(place for place, line in enumerate(lines) if line.startswith("together "))
    assert len([line for line in lines[start + 1 :] if line.startswith("neighbours (±2)  ")]) == 1


def test_long_lists_of_heads_and_the_meaning_of_words_wait_for_verbose() -> None:
    run = ablated_run()
    short, long = _shown(run), _shown(run, verbose=True)
    assert not [line for line in short if line.startswith(("head ", "word    "))]
    assert len([line for line in long if line.startswith("head ")]) == 2
    for term, _ in glossary(run):
        assert any(line.startswith(f"word    {term}: ") for line in long), term
    assert any(line.startswith("tested  needed, negligible and interfering") for line in long)
    assert "damage  rise of the loss (cross-entropy of its label) in nats" in long


def test_a_run_without_roles_is_short() -> None:
    lines = _shown(ablated_run(roles=(), outcome="representation", by=("mean",)))
    assert not [line for line in lines if line.startswith(("role ", "together ", "head "))]
    assert "nats" not in " ".join(lines)


def test_a_grid_of_roles_is_refused() -> None:
    from headroles.errors import BadInput

    with pytest.raises(BadInput, match="a run of ablate has none"):
        show_result(Console(), ablated_run(), "runs/x", Detail(grid=True))


def test_the_json_of_a_run_counts_heads_by_arm() -> None:
    run = ablated_run()
    facts = json.loads(result_json(run, "runs/x"))
    assert facts["kind"] == "ablate"
    assert list(facts["results"]) == ["loss:mean", "loss:zero"]
    assert [sentence.text.translate(MARKS) for sentence in answer_of(run).sentences] == facts["sentences"]
    assert run.ablated is not None
    needed = int((run.findings.decision[run.findings.of("loss:mean")] == 0).sum())
    assert facts["results"]["loss:mean"]["counts"]["needed"] == needed
