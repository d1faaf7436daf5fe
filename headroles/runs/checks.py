"""Check that files, columns, sieves, model and parser exist, before a run opens or imports anything."""

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from headroles.addresses import no_such_folder
from headroles.errors import BadInput
from headroles.extraction.texts.files import check_present
from headroles.extraction.texts.hub import path_exists
from headroles.extraction.texts.rows import check_columns
from headroles.kinds import kind_named
from headroles.options.inputs import InputOptions
from headroles.options.run import CommonOptions
from headroles.plugins import check_names
from headroles.records.objects import refuse_name
from headroles.stats.decision import check_decision

FILES = ("data", "attention", "train", "vectors")
"""Options that name files to read; each kind of run has some of them."""


def check_run(options: CommonOptions) -> None:
    """Refuse what can be refused before inputs or a model are opened.

    Raises:
        HeadrolesError: For a wrong decision, a missing file, or what the kind of run refuses.
    """
    check_decision(options.decision)
    check_named(options)
    kind_named(options.KIND).check(options)


def check_named(options: CommonOptions) -> None:
    """Refuse files, a model folder, sieves and columns that are not there.

    Args:
        options: Options of a run of any kind.

    Raises:
        BadInput: For the first file, folder or column that is missing.
        UnknownName: For a sieve that nothing offers.
    """
    hub = getattr(options, "source", None) == "hub"
    for name in FILES:
        value = getattr(options, name, None)
        for where in value if isinstance(value, tuple) else (value,):
            if isinstance(where, str) and not (hub and name == "data"):
                refuse_name(where)
                check_present(where)
    if isinstance(options.model, str):
        check_model_folder(options.model)
    check_names(getattr(options, "sieve", ()), getattr(options, "preset", ""))
    if isinstance(options, InputOptions) and not hub and options.file is not None:
        check_columns(options.file, [*options.text_columns(), *([options.group] if options.group else [])])


def check_model_folder(name: str) -> None:
    """Refuse a model that can only be a folder, and is not there; names on the hub are left to the hub.

    Raises:
        BadInput: When there is no such folder.
    """
    owner, _, rest = name.partition("/")
    is_path = "/" in rest or owner in ("", ".", "..", "~") or name.endswith("/") or path_exists(Path(owner))
    if rest and is_path and not path_exists(Path(name)):
        raise no_such_folder(name, "a model is a folder, or a name on the hub such as owner/name")


def check_parser(name: str) -> None:
    """Refuse a parser that is neither a folder nor an installed package.

    Raises:
        BadInput: When it is neither.
    """
    if path_exists(Path(name)):
        return
    try:
        distribution(name)
    except (PackageNotFoundError, ValueError):
        raise BadInput(
            f"the parser must be an installed spaCy 3 pipeline or the path of one, but {name!r} is neither; "
            f"leave --parser out for the one headroles ships"
        ) from None
