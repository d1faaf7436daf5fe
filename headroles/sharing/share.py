"""Share a finished run or an atlas: a block for a model card, and its folder as a data set on the hub."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from headroles.errors import BadInput
from headroles.exporting import load_result, save
from headroles.options.finished import ShareOptions
from headroles.options.keywords import keywords_of
from headroles.records.atlas.atlas import Atlas
from headroles.records.comparison import Comparison
from headroles.records.findings import Labelling
from headroles.reports.html import page_html
from headroles.reports.kinds.atlas_report import report
from headroles.sharing.atlas_card import ATLAS_SCHEMA, atlas_block, atlas_dataset_card
from headroles.sharing.atlas_schema import atlas_schema_text
from headroles.sharing.card import card_block, dataset_card
from headroles.sharing.head_cards import CARDS, SCHEMAS, head_cards_text
from headroles.sharing.hub import check_token, upload_folder
from headroles.sharing.local_paths import last_names, replace_texts
from headroles.sharing.markdown import HEADING
from headroles.storage.atlas.folder import write_atlas
from headroles.storage.folder import ATLAS, COMPARISON, write_text
from headroles.storage.integrity.manifest import check_run_folder
from headroles.storage.integrity.schema import schema_text

README = "README.md"
LEFT_OUT = "Typical inputs and attention maps were left out of the copy that was shared."


@dataclass(frozen=True, slots=True)
class SharedRun:
    """What was shared.

    Attributes:
        card: Block of Markdown for a model card.
        address: Address of the data set; None where nothing was uploaded.
        files: Names of the uploaded files, sorted; () where nothing was uploaded.
    """

    card: str
    address: str | None = None
    files: tuple[str, ...] = ()


@keywords_of(ShareOptions, "folder", "to")
def share(options: ShareOptions) -> SharedRun:
    """Return a finished run or an atlas as a block for a model card, and upload it as a data set on request.

    The block has the answer, heads per role with bounds, the error rate, command, model, inputs, links and a
    citation; that of an atlas has heads per role in at least so many runs. With ``to``, a copy goes to the
    hub with a card and JSON Schemas, and for a run with head cards. Local paths in it are cut to their last
    names. No text of an input is in it unless ``with_maps`` is true.

    Args:
        {options}

    Returns:
        The block, the address of the data set and the names of its files.

    Raises:
        HeadrolesError: When the folder holds no finished run and no atlas, there is no token, the data set
            exists, or the hub cannot be reached; and when the file of the block cannot be written.
    """
    check_run_folder(options.folder)
    if options.out is not None:
        _check_file(Path(options.out), options.overwrite)
    if options.to is not None:
        check_token()
    run = load_result(options.folder)
    if isinstance(run, Comparison):
        raise BadInput(
            f"a run or an atlas is shared, but '{options.folder}' holds {COMPARISON.words}; share its "
            f"two runs, and print its table with headroles show --table"
        )
    if isinstance(run, Atlas):
        shared = _share_atlas(_public_atlas(run), options)
    else:
        shared = _share(_public(run, keep=options.to is None or options.with_maps), options)
    if options.out is not None:
        write_text(Path(options.out), shared.card)
    return shared


def _check_file(path: Path, overwrite: bool) -> None:
    """Refuse to replace a file that is no block.

    Raises:
        BadInput: When the file does not begin as a block does, and ``overwrite`` is off.
    """
    if overwrite or not path.exists():
        return
    if path.is_dir() or not path.read_bytes().startswith(f"{HEADING}\n".encode()):
        raise BadInput(
            f"a block is written to a new file, or over an earlier block, but '{path}' holds something else; "
            f"name another --out, or give --overwrite"
        )


def _share(run: Labelling, options: ShareOptions) -> SharedRun:
    """Return the block of a run that may be seen by all, and upload the run where that is asked for."""
    if options.to is None:
        return SharedRun(card_block(run))
    with TemporaryDirectory(prefix="headroles-share-") as temporary:
        folder = Path(temporary) / "run"
        save(run, folder)
        texts = {name: schema_text(name) for name in SCHEMAS}
        texts |= {CARDS: head_cards_text(run), README: dataset_card(run, maps=run.exhibited is not None)}
        address, names = _upload(folder, texts, options.to, options)
    return SharedRun(card_block(run, f"{address}/blob/main/"), address, names)


def _share_atlas(atlas: Atlas, options: ShareOptions) -> SharedRun:
    """Return the block of an atlas that may be seen by all, and upload it where that is asked for.

    Raises:
        BadInput: When maps are asked for.
    """
    if options.to is None:
        return SharedRun(atlas_block(atlas))
    if options.with_maps:
        raise BadInput(
            f"--with-maps is for runs, but '{options.folder}' holds {ATLAS.words}, which has no maps; "
            f"leave it out"
        )
    with TemporaryDirectory(prefix="headroles-share-") as temporary:
        folder = Path(temporary) / "atlas"
        write_atlas(folder, atlas, page_html(report(atlas)))
        texts = {ATLAS_SCHEMA: atlas_schema_text(), README: atlas_dataset_card(atlas)}
        address, names = _upload(folder, texts, options.to, options)
    return SharedRun(atlas_block(atlas, f"{address}/blob/main/"), address, names)


def _upload(
    folder: Path, texts: Mapping[str, str], to: str, options: ShareOptions
) -> tuple[str, tuple[str, ...]]:
    """Write further files into a folder and upload it; return its address and the names of all files."""
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    address = upload_folder(folder, to, private=options.private, overwrite=options.overwrite)
    return address, tuple(names)


def _public(run: Labelling, *, keep: bool) -> Labelling:
    """Return a run without local folders, and without texts of inputs unless its maps are kept."""
    shorten = last_names(run.manifest)
    left_out = run.exhibited is not None and not keep
    return replace(
        run,
        manifest=replace_texts(dict(run.manifest), shorten),
        skipped=(*map(shorten, run.skipped), *((LEFT_OUT,) if left_out else ())),
        exhibited=None if left_out else run.exhibited,
    )


def _public_atlas(atlas: Atlas) -> Atlas:
    """Return an atlas without local folders."""
    shorten = last_names(atlas.manifest)
    return replace(
        atlas,
        runs=tuple(replace(run, folder=shorten(run.folder)) for run in atlas.runs),
        manifest=replace_texts(dict(atlas.manifest), shorten),
        remarks=tuple(map(shorten, atlas.remarks)),
    )
