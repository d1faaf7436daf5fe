"""The commands that prepare texts as inputs."""

from typing import Any

import click

from headroles.cli_label_options import DEPPARSE
from headroles.cli_options import UNLABELED, with_options


@click.group("preprocess")
def preprocess_group() -> None:
    """Prepare texts as inputs."""


@preprocess_group.command("unlabeled")
@click.argument("file")
@with_options(UNLABELED)
def unlabeled_command(file: str, **given: Any) -> None:
    """Cut running text into pairs of spans that follow each other, as Clark et al. (2019) did.

    FILE is plain text (.gz too): documents between blank lines, or WikiText with its titles.
    """
    from headroles.preprocessing import preprocess_unlabeled
    from headroles.terminal_console import console

    console().print(str(preprocess_unlabeled(file, **given)), markup=False)


@preprocess_group.command("depparse")
@click.argument("file")
@with_options(DEPPARSE)
def depparse_command(file: str, **given: Any) -> None:
    """Write words and dependency trees as headroles probe reads them.

    FILE is CoNLL-U or lines of "word head-relation", whose gold trees pass through; a table of texts; or
    plain text. Texts are parsed, and each line that is written says so.
    """
    from headroles.preprocessing_trees import preprocess_depparse
    from headroles.terminal_console import console

    console().print(str(preprocess_depparse(file, **given)), markup=False)


COMMANDS = (preprocess_group,)
