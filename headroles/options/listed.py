"""Options of the lists of sieves and tasks."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SieveListOptions:
    """Options of the list of sieves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskListOptions:
    """Options of the list of tasks: none."""
