"""What a terminal shows of a labelling."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console

import headroles
from headroles.records import Labelling
from headroles.terminal import LETTERS, SPARE, letters, show_labelling


def _shown(labelling: Labelling, folder: str = "runs/x") -> list[str]:
    console = Console(width=200, record=True, quiet=False, file=None, highlight=False, soft_wrap=True)
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


def test_every_built_in_role_has_a_letter_of_its_own() -> None:
    from headroles.sieves import BUILT_IN

    assert LETTERS.keys() == BUILT_IN.keys()
    assert len(set(LETTERS.values())) == len(LETTERS)


def test_other_roles_get_spare_letters_until_there_are_none() -> None:
    many = [f"role {k}" for k in range(len(SPARE) + 5)]
    chosen = letters(["local", *many])
    assert list(chosen) == ["local", *many]
    assert chosen["local"] == "L"
    single = [each for each in chosen.values() if each != "*"]
    assert len(set(single)) == len(single)
    assert "*" in chosen.values()
    assert letters(["syntactic:det", "delimiter"]) == {"syntactic:det": "E", "delimiter": "D"}


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
        assert [int(each) for each in row[1:5]] == [int((codes == code).sum()) for code in range(4)]


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
    assert [line for line in shown if line.startswith("note")] == [
        "note    3 of 60 inputs were cut.",
        "note    x does not apply.",
    ]
