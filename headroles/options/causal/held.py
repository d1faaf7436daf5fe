"""Options that ask about the roles of a label run: its inputs and model, and refusals of other folders."""

from pathlib import Path
from typing import ClassVar, Protocol, runtime_checkable

from headroles.addresses import is_address
from headroles.errors import BadInput
from headroles.options.described import described
from headroles.options.inputs import InputOptions
from headroles.options.values import value_of
from headroles.storage.folder import RUN
from headroles.storage.integrity.manifest import read_checked_manifest

FROM_ROLES = (
    "task", "source", "data", "text_a", "text_b", "group", "max_length", "kind",
    "model", "revision", "limit", "first", "seed",
)  # fmt: skip
"""Options that are those of the label run where no inputs are given."""


@runtime_checkable
class AsksRoles(Protocol):
    """Options of a run that asks about the roles of a label run."""

    NAMES_RUN: ClassVar[str]
    """Argument or option of the label run's folder on the command line."""
    KIND: ClassVar[str]
    """Kind of the run."""

    @property
    def roles(self) -> str | None:
        """Folder of the label run; None where no roles are asked about."""

    @property
    def sieve(self) -> tuple[str, ...]:
        """Sieves of the label run that came from files, as the user gives them."""

    @property
    def out(self) -> str | None:
        """Where the run is written; None: nowhere."""

    @property
    def seed(self) -> int:
        """Seed of every random choice among inputs."""

    def settings(self) -> dict[str, object]:
        """Return the options that decide the numbers, in JSON types."""


def no_label_run(name: str, folder: str) -> BadInput:
    """Return the error for a folder that holds no run of sieves.

    Args:
        name: Argument or option of the folder on the command line.
        folder: The folder.
    """
    return BadInput(
        f"{name} names the folder of a label run, but '{folder}' holds none; make one with headroles label"
    )


def take_inputs(options: InputOptions, folder: str, name: str, reason: str) -> None:
    """Take inputs and model from the settings of a label run, where no inputs are given.

    Args:
        options: Options; a field that was not given has its default.
        folder: Folder of the label run.
        name: Argument or option of the folder on the command line.
        reason: Why stored maps are refused, as the first half of a sentence.

    Raises:
        BadInput: When the folder is an address, holds no run of sieves, or one of stored maps.
    """
    if is_address(folder):
        raise BadInput(f"{name} names a folder of this machine, but got '{folder}'; copy the run here")
    if options.task is not None or options.data is not None or options.attention is not None:
        return
    settings = read_checked_manifest(Path(folder), RUN).get("settings")
    if not isinstance(settings, dict) or "sieve" not in settings:
        raise no_label_run(name, folder)
    if settings.get("attention") is not None:
        raise BadInput(
            f"{reason}, but the run in '{folder}' is of stored maps; name inputs with --task or --data, and "
            f"--model"
        )
    known = {option.name: option for option in described(type(options))}
    for field in FROM_ROLES:
        if field in settings and getattr(options, field) == known[field].value:
            object.__setattr__(options, field, value_of(known[field], settings[field]))
