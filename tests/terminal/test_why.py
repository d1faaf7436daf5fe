"""What a terminal shows of a run that asks where roles come from."""

import json

import pytest
from rich.console import Console

from headroles.records.findings import Labelling
from headroles.records.shown.phrases import phrase_of
from headroles.reports.why.answer import answer_of
from headroles.reports.why.words import counts_by_role, glossary
from headroles.terminal.answers import MARKS
from headroles.terminal.causal.why import show_why
from headroles.terminal.console import Detail
from headroles.terminal.facts import result_json
from headroles.terminal.run import show_result
from tests.support.causal.origins import why_run


def _shown(
    labelling: Labelling, width: int = 140, *, terminal: bool = True, verbose: bool = False
) -> list[str]:
    console = Console(
        width=width, highlight=False, soft_wrap=True, force_terminal=terminal, color_system=None
    )
    with console.capture() as captured:
        show_why(console, labelling, "runs/[bold]", Detail(verbose=verbose))
    return [line.rstrip() for line in captured.get().splitlines()]


@pytest.mark.parametrize("width", [80, 120, 140])
@pytest.mark.parametrize("verbose", [False, True])
def test_no_line_is_wider_than_the_terminal(width: int, verbose: bool) -> None:
    for made in (why_run(), why_run(rotary=True), why_run(held=False)):
        assert max(map(len, _shown(made, width, verbose=verbose))) <= width


def test_it_begins_with_the_title_and_ends_with_the_report() -> None:
    lines = _shown(why_run())
    assert lines[0].endswith(" heads of i> on 120 QNLI pairs")
    assert lines[-1] == "report  runs/[bold]/report.html"
    assert any(line.startswith("note    a note about <b>loud</b>") for line in lines)


def test_every_sentence_of_the_answer_is_printed() -> None:
    said = " ".join(_shown(why_run(), terminal=False))
    for sentence in answer_of(why_run()).sentences:
        assert sentence.text.translate(MARKS) in said


def test_every_role_has_a_line_with_its_counts() -> None:
    run = why_run()
    assert run.origins is not None
    counts = counts_by_role(run.origins)
    lines = _shown(run)
    start = next(place for place, line in enumerate(lines) if line.startswith("role "))
    for line, one in zip(lines[start + 1 : start + 1 + len(counts)], counts, strict=True):
        title = phrase_of(one.role).title
        assert line.startswith(f"{title} ")
        numbers = line.removeprefix(title).split()
        words = ("vertical", "by query", "undetermined", "untestable")
        assert numbers[:5] == [str(len(one.rows)), *(str(one.count(word)) for word in words)]


def test_long_lists_and_the_meaning_of_words_wait_for_verbose() -> None:
    run = why_run()
    short, long = _shown(run), _shown(run, verbose=True)
    corners = ("head ", "found in ", "in head ")
    assert not [line for line in short if line.startswith((*corners, "word    "))]
    assert len([line for line in long if line.startswith(corners)]) == 3
    for term, _ in glossary(run):
        assert any(line.startswith(f"word    {term}: ") for line in long), term
    tested = [line for line in long if line.startswith("tested  ")]
    assert len(tested) == 1
    assert "each verdict by itself; t-skew, fdr_bh over all roles of heads, alpha 0.05" in tested[0]
    few = why_run((30, 1, 4), roles=("local", "delimiter:sep"))
    assert [line for line in _shown(few) if line.startswith("head ")]


def test_a_run_without_roles_is_short() -> None:
    lines = _shown(why_run(held=False))
    assert not [line for line in lines if line.startswith(("role ", "head "))]


def test_a_grid_of_roles_is_refused() -> None:
    from headroles.errors import BadInput

    with pytest.raises(BadInput, match="a run of why has none"):
        show_result(Console(), why_run(), "runs/x", Detail(grid=True))


def test_the_json_of_a_run_counts_verdicts_by_role() -> None:
    run = why_run()
    assert run.origins is not None
    facts = json.loads(result_json(run, "runs/x"))
    assert facts["kind"] == "why"
    assert [sentence.text.translate(MARKS) for sentence in answer_of(run).sentences] == facts["sentences"]
    for one in counts_by_role(run.origins):
        counts = facts["results"][f"vertical:{one.role}"]["counts"]
        for word in ("vertical", "by query", "undetermined"):
            assert counts[word] == one.count(word), (one.role, word)
