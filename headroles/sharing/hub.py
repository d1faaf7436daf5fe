"""Upload a folder as a data set to the hub, with the token and the address that its library knows."""

from pathlib import Path

from headroles.errors import BadInput

DENIED, CONFLICT = (401, 403), 409


def check_token() -> None:
    """Refuse to begin an upload without a token.

    Raises:
        BadInput: When the library of the hub knows none.
    """
    from huggingface_hub import get_token

    if not get_token():
        raise BadInput(
            "an upload needs a token of the hub, but none is set; type 'hf auth login', or set the variable "
            "HF_TOKEN to a token that may write"
        )


def upload_folder(folder: Path, to: str, *, private: bool, overwrite: bool) -> str:
    """Upload all files of a folder as one commit to a data set, and return its address.

    Args:
        folder: What to upload.
        to: ``user/name``.
        private: Whether a new data set is private.
        overwrite: Whether the files of a data set that exists are replaced.

    Raises:
        BadInput: When the data set exists already, the hub refuses, or it cannot be reached.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    api = HfApi()
    try:
        api.create_repo(to, repo_type="dataset", private=private, exist_ok=overwrite)
        api.upload_folder(
            repo_id=to,
            repo_type="dataset",
            folder_path=folder,
            commit_message="Upload a run of headroles",
            delete_patterns="*" if overwrite else None,
        )
    except HFValidationError as error:
        raise BadInput(
            f"{to!r} is no name that the hub takes: {_reason(error)}; give another --to"
        ) from error
    except HfHubHTTPError as error:
        status = error.response.status_code if error.response is not None else 0
        if status == CONFLICT:
            raise BadInput(
                f"a new data set needs a free name, but the hub has {to!r} already; give --overwrite to "
                f"replace its files, or another --to"
            ) from error
        if status in DENIED:
            raise BadInput(
                f"the token must be allowed to write to {to!r}, but the hub refused it ({status}); log in "
                f"with another token, or give another --to"
            ) from error
        raise BadInput(f"the hub refused the upload to {to!r}: {_reason(error)}; try again later") from error
    except Exception as error:  # each network library below it raises its own errors
        raise BadInput(
            f"an upload needs the hub, but {api.endpoint} cannot be reached or broke off "
            f"({type(error).__name__}); connect to the network, and give --overwrite if the data set was made"
        ) from error
    return f"{api.endpoint}/datasets/{to}"


def _reason(error: Exception) -> str:
    """Return the words of an error on one line."""
    return " ".join(str(error).split())[:300].rstrip(".")
