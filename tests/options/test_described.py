"""Descriptions of options: one meaning everywhere, and values that they refuse."""

import math
from dataclasses import dataclass
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroles.cli.options import Command
from headroles.cli.pages import all_commands
from headroles.errors import BadInput, UnknownName
from headroles.extraction.model import placing
from headroles.options import shared
from headroles.options.cluster import ClusterOptions
from headroles.options.described import GROUPS, Described, Option, check_values, described, in_groups, shown
from headroles.options.finished import JudgeOptions
from headroles.options.label import LabelOptions
from headroles.options.probe import ProbeOptions
from headroles.options.surface import SurfaceOptions
from headroles.records.objects import DataObject, ModelObject
from headroles.storage.folder import JUDGED

COMMANDS = dict(all_commands())
NAMES = st.sampled_from(["role", "layer", "head"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Small:
    """A record of each type of option."""

    limit: Annotated[int | None, Option("A sample.", "Inputs", least=1, most=9)] = None
    alpha: Annotated[float, Option("A level.", "Decision", above=0, below=1)] = 0.05
    names: Annotated[tuple[str, ...], Option("Names.", "Inputs", choices=("role", "layer"))] = ()


@given(limit=st.none() | st.integers(), alpha=st.floats(), names=st.lists(NAMES))
def test_a_record_takes_exactly_the_values_that_its_descriptions_allow(
    limit: int | None, alpha: float, names: list[str]
) -> None:
    record = Small(limit=limit, alpha=alpha, names=tuple(names))
    allowed = (limit is None or 1 <= limit <= 9) and 0 < alpha < 1 and "head" not in names
    if allowed:
        check_values(record)
        return
    with pytest.raises((BadInput, UnknownName)) as refusal:
        check_values(record)
    assert str(refusal.value).startswith(("limit must be", "alpha must lie", "no names is called"))


def test_a_value_that_is_no_number_lies_nowhere() -> None:
    with pytest.raises(BadInput, match="alpha must lie between 0 and 1, both excluded, but got nan"):
        check_values(Small(alpha=math.nan))


def test_a_field_without_a_description_is_a_mistake() -> None:
    @dataclass
    class Bare:
        limit: int = 0

    with pytest.raises(TypeError, match="field 'limit' needs an Option"):
        described(Bare)


def _meanings() -> dict[str, list[tuple[str, Described]]]:
    """Every option with the commands that take it."""
    takers: dict[str, list[tuple[str, Described]]] = {}
    for name, command in COMMANDS.items():
        assert isinstance(command, Command)
        for option in shown(command.record):
            takers.setdefault(option.name, []).append((name, option))
    return takers


@pytest.mark.parametrize("name", sorted(set(_meanings()) - {"file"}))
def test_an_option_has_one_meaning_in_all_commands(name: str) -> None:
    options = [option for _, option in _meanings()[name]]
    assert len({option.option.help for option in options}) == 1
    assert len({option.option.group for option in options}) == 1
    objects = {type(None), ModelObject, DataObject}
    assert len({frozenset(option.types) - objects for option in options}) == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_a_command_is_listed_once_in_its_group(name: str) -> None:
    record = COMMANDS[name].record
    listed = [option.name for _, options in in_groups(shown(record)) for option in options]
    assert sorted(listed) == sorted(option.name for option in shown(record) if not option.option.argument)
    assert [group for group, _ in in_groups(shown(record))] == [
        group for group in GROUPS if any(o.option.group == group and o.name in listed for o in shown(record))
    ]
    for option in shown(record):
        assert option.option.help.endswith("."), option.name
        assert len(option.option.help.split()) <= 30, option.name


def test_the_options_under_decision_are_those_that_judge_takes() -> None:
    judged = {option.name for option in described(JudgeOptions)} - {"folder"}
    assert judged == JUDGED
    for record in (LabelOptions, ClusterOptions, SurfaceOptions, ProbeOptions):
        assert {option.name for option in described(record) if option.option.group == "Decision"} == judged


def test_rules_of_device_maps_are_those_that_models_are_placed_by() -> None:
    assert shared.DEVICE_MAPS == placing.DEVICE_MAPS
