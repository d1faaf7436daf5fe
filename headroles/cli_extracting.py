"""The command that writes attention maps to disk."""

from typing import Any

import click

from headroles.cli_options import option


@click.command("extract")
@click.argument("file")
@option("out", str, "File of the maps, .safetensors or .npz; a .json beside it lists them.", required=True)
@option("model", str, "A folder or a name on the hub.  [default: the embedded MiniLM encoder]")
@option("revision", str, "Branch, tag or commit of a model on the hub.")
@click.option(
    "--word-level", is_flag=True, help="Sum over attended pieces of a word, average over attending ones."
)
@option("precision", str, "Of the maps: float16 or float32.", default="float16", show_default=True)
@option("limit", int, "Only the first so many inputs.")
@option(
    "max-length", int, "Longest input in tokens; longer ones are left out.", default=128, show_default=True
)
@option("batch-size", int, "Largest batch.", default=16, show_default=True)
@option("device", str, "auto, cpu, cuda or mps.", default="auto", show_default=True)
@option("dtype", str, "float32, bfloat16 or float16.", default="float32", show_default=True)
@click.option("--overwrite", is_flag=True, help="Replace files that are there.")
def extract_command(file: str, **given: Any) -> None:
    """Write a model's attention maps over the texts of FILE, for other tools.

    FILE holds JSON objects (a list, or one a line), each with a "text" (or two, as a list), "words" or the
    model's own "tokens"; other fields are kept. How much will be written is said before.
    """
    from headroles.extracting import extract
    from headroles.terminal_console import console, progress

    def announce(told: object) -> None:
        console().print(f"writes  {told}", markup=False)

    with progress() as advance:
        done = extract(file, announce=announce, progress=advance, **given)
    console().print(f"maps    {done.file}\nlist    {done.file.with_suffix('.json')}", markup=False)


COMMANDS = (extract_command,)
