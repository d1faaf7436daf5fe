"""Look up models and data sets on the hub, once and quickly: without a network there is one error soon."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from headroles.errors import BadInput

PATIENCE = 1.5
"""Seconds to wait for the hub; loading without this request first retries for 23 seconds."""


def path_exists(path: Path) -> bool:
    """Return whether a file or folder exists; False for names that no path can have."""
    try:
        return path.exists()
    except OSError:
        return False


def reachable(name: str, kind: str, revision: str | None = None) -> None:
    """Check that the hub has a repository.

    Args:
        name: The repository.
        kind: "model" or "dataset".
        revision: A branch, tag or commit.

    Raises:
        BadInput: When the hub has no such repository, or cannot be reached.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, RepositoryNotFoundError

    request = HfApi().model_info if kind == "model" else HfApi().dataset_info
    try:
        request(name, revision=revision, timeout=PATIENCE)
    except HFValidationError as error:
        raise BadInput(
            f"{name!r} is neither a local folder nor a name on the hub (owner/name); check the spelling"
        ) from error
    except RepositoryNotFoundError as error:
        raise BadInput(
            f"the hub has no {kind} called {name!r} that is open to you; check the spelling"
        ) from error
    except HfHubHTTPError as error:
        reason = " ".join(str(error).split())[:300]
        raise BadInput(f"the hub refused the {kind} {name!r}: {reason}") from error
    except Exception as error:  # each network library below it raises its own errors
        raise BadInput(
            f"the {kind} {name!r} is not on this machine and the hub cannot be reached "
            f"({type(error).__name__}); connect to the network, or give the path of a local folder"
        ) from error


def load_split(repository: str, config: str, split: str, *, stream: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the rows of one split of a dataset, from the hub or from a local folder in the hub's layout.

    Args:
        repository: Name on the hub, or a folder; the rows of a folder are always read anew.
        config: Configuration of the dataset.
        split: The split.
        stream: Whether rows are downloaded as they are read; else the whole dataset is downloaded first,
            and kept in the cache of the hub.

    Raises:
        BadInput: When it cannot be reached, or has no such configuration or split.
    """
    local = path_exists(Path(repository))
    if not local:
        reachable(repository, "dataset")
    from datasets import load_dataset
    from datasets.exceptions import DatasetsError
    from datasets.utils.logging import disable_progress_bar, enable_progress_bar

    disable_progress_bar()
    try:
        with TemporaryDirectory() as fresh:  # the shared cache could hold outdated rows of a folder
            cache = fresh if local else None
            yield from load_dataset(
                repository, config, split=split, streaming=local or stream, cache_dir=cache
            )
    except (ValueError, OSError, DatasetsError) as error:
        reason = " ".join(str(error).split())[:300]
        raise BadInput(
            f"the dataset {repository!r} gives no split {split!r} of the configuration {config!r}: {reason}"
        ) from error
    finally:
        enable_progress_bar()
