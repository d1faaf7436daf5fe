"""Commands before a run: sieves, plan, extract, convert."""

from typing import Any

import click

from headroles.cli.options import Commands, command


@command(
    "sieves",
    "listed:SieveListOptions",
    "Label and ask",
    "headroles sieves",
    "headroles sieves patterns",
    'headroles sieves block --show "Who sat?" --show "The cat sat."',
    "headroles sieves --tasks",
)
def sieves_command(
    sieve_name: str | None, json: bool, show: tuple[str, ...], tasks: bool, **given: Any
) -> None:
    """List the sieves, or show one.

    One is shown by its facts, or by what it counts on a text. With --tasks, the tasks are listed.
    """
    if tasks:
        from headroles.cli.display import show_tasks
        from headroles.reports.console import console

        show_tasks(console())
        return
    if show:
        _show_sieve(str(sieve_name), *show, **given)
        return
    from headroles.catalogue import entries_of, sieves_json
    from headroles.cli.display import show_sieve_facts, show_sieves
    from headroles.reports.console import console

    listed = entries_of(sieve_name)
    if json:
        click.echo(sieves_json(listed))
    elif len(listed) == 1:
        show_sieve_facts(console(), listed[0])
    else:
        show_sieves(console(), listed)


def _show_sieve(
    name: str, text: str, text_b: str | None = None, *, svg: str | None, overwrite: bool, **given: Any
) -> None:
    """Draw what a sieve counts on a text, in the terminal or into a file."""
    from headroles.cli.display import show_cells
    from headroles.reports.console import console
    from headroles.showing import show_sieve

    shown = show_sieve(name, text, text_b, **given)
    if svg is None:
        show_cells(console(), shown)
    else:
        console().print(f"picture {shown.save(svg, overwrite=overwrite)}", markup=False)


@command(
    "plan",
    "finished:PlanOptions",
    "Label and ask",
    "headroles plan --effect 0.3 --head-count 144 --correction holm",
)
def plan_command(**given: Any) -> None:
    """Compute how many examples a study needs."""
    from headroles.cli.display import show_plan
    from headroles.planning import study
    from headroles.reports.console import console

    show_plan(console(), study(**given))


@command(
    "extract",
    "extract:ExtractOptions",
    "Keep and check",
    "headroles extract texts.json --out maps.safetensors",
    "headroles extract dev.jsonl --out dev.npz --word-level --precision float32",
)
def extract_command(**given: Any) -> None:
    """Write a model's attention maps, for other tools.

    FILE holds JSON objects, in a list or one per line. Each has a "text" (or a list of two), "text_a" (and
    "text_b"), "words" or the model's own "tokens". Other fields are kept. The size of the maps is printed
    before they are written.
    """
    from headroles.maps.extract import extract
    from headroles.progress import EXTRACT, show_phases
    from headroles.reports.console import console

    def announce(extracted: object) -> None:
        console().print(f"writes  {extracted}", markup=False)

    with show_phases() as phases:
        done = extract(announce=announce, progress=phases, **given)
        phases.end(EXTRACT)
    console().print(f"maps    {done.file}\nlist    {done.file.with_suffix('.json')}", markup=False)


@click.group("convert", cls=Commands)
def convert_group() -> None:
    """Convert files of older tools, and texts.

    The new files are maps, scores, or lines that other commands read.
    """


@command(
    "old",
    "extract:ConvertOptions",
    "Keep and check",
    "headroles convert old unlabeled_attn.pkl --out maps.safetensors",
    "headroles convert old sieve_scores --task qnli --out scores.parquet",
    "headroles convert old dev.json --out dev.jsonl",
)
def old_command(**given: Any) -> None:
    """Convert a file of an older tool.

    OLD is a pickle of attention maps, of sieve scores or of labels, a folder of sieve scores, or JSON with
    trees or with scores by head. A pickle is read without running anything in it. What differs from maps
    and scores of headroles is printed.
    """
    from headroles.converting.convert import convert_old
    from headroles.reports.console import console

    done = convert_old(**given)
    console().print(f"{done.kind:<8}{done.file} ({done.count:,} {done.unit})", markup=False)
    for note in done.notes:
        console().print(f"note    {note}", markup=False)


@command(
    "pairs",
    "prepare:PairOptions",
    "Keep and check",
    "headroles convert pairs wiki.txt --out wiki.jsonl",
)
def pairs_command(**given: Any) -> None:
    """Cut running text into pairs of consecutive segments.

    It cuts as the script of Clark et al. (2019) does. FILE is plain text (.gz too). A blank line ends a
    document, and segments end between lines. With --cut words they end anywhere, and a title of WikiText
    begins a document.
    """
    from headroles.preprocessing.pairs import convert_pairs
    from headroles.reports.console import console

    console().print(str(convert_pairs(**given)), markup=False)


@command(
    "trees",
    "prepare:TreeOptions",
    "Keep and check",
    "headroles convert trees dev.conllu --out dev.jsonl",
)
def trees_command(**given: Any) -> None:
    """Write words and dependency trees, as headroles probe reads them.

    FILE has gold trees, which are kept (CoNLL-U, or lines of "word head-relation"), or it has texts, which
    are parsed (a table, or plain text). Each line of the output says whether its tree is automatic.
    """
    from headroles.preprocessing.trees import convert_trees
    from headroles.reports.console import console

    console().print(str(convert_trees(**given)), markup=False)


for each in (old_command, pairs_command, trees_command):
    convert_group.add_command(each)

COMMANDS = (sieves_command, plan_command, extract_command, convert_group)
