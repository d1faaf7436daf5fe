"""Check checkpoints with quantised weights: which the library loads, and one sentence for all others."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from safetensors import safe_open
from transformers import AutoConfig
from transformers.quantizers.auto import AUTO_QUANTIZER_MAPPING

from headroles.errors import BadInput, HeadrolesError, MissingExtra
from headroles.extraction.model.checkpoint import Checkpoint, weight_files

PACKAGES = {
    "aqlm": ("aqlm", "accelerate"),
    "auto-round": ("auto-round",),
    "awq": ("gptqmodel", "accelerate"),
    "bitsandbytes": ("bitsandbytes", "accelerate"),
    "compressed-tensors": ("compressed-tensors",),
    "eetq": ("kernels", "accelerate"),
    "fbgemm_fp8": ("accelerate",),
    "fp8": ("accelerate",),
    "gptq": ("optimum", "gptqmodel"),
    "hqq": ("hqq",),
    "mxfp4": ("accelerate",),
    "quanto": ("optimum-quanto", "accelerate"),
    "torchao": ("torchao",),
}
"""Packages that a method of quantising needs; those of other methods are named by the library."""
FLOATS = ("F64", "F32", "F16", "BF16")
"""Types of weights that are not quantised, as safetensors names them."""
KNOWN = frozenset(name.removesuffix("_4bit").removesuffix("_8bit") for name in AUTO_QUANTIZER_MAPPING)
"""Methods that the library loads."""


def find_quantisation(checkpoint: Checkpoint) -> dict[str, Any] | None:
    """Return how the weights of a checkpoint are quantised, from its configuration; None where they are not.

    Raises:
        MissingExtra: When a package that the method needs is not installed.
        BadInput: For a method that the library does not know; it would read the weights as plain numbers.
    """
    config = AutoConfig.from_pretrained(
        checkpoint.target, revision=checkpoint.revision or "main", trust_remote_code=False
    )
    given = getattr(config, "quantization_config", None)
    if given is None:
        return None
    stated: dict[str, Any] = given if isinstance(given, dict) else given.to_dict()
    method = str(stated.get("quant_method", "none")).lower()
    if method not in KNOWN:
        raise BadInput(
            f"quantised weights are read by a method that the library loads, but {checkpoint.name!r} names "
            f"{method!r}; known: {', '.join(sorted(KNOWN))}; give the model in full precision"
        )
    missing = [name for name in PACKAGES.get(method, ()) if not _is_installed(name)]
    if missing:
        several = len(missing) > 1
        raise MissingExtra(
            f"the weights of {checkpoint.name!r} are quantised by {method}, for which the package"
            f"{'s' * several} {' and '.join(missing)} must be installed, but {'are' if several else 'is'} "
            f"not; run pip install {' '.join(missing)}, or give the model in full precision"
        )
    if method == "bitsandbytes":  # it warns in every product of every layer that it rounds what comes in
        logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
    described: dict[str, Any] = json.loads(json.dumps(stated, default=str))
    return described


def check_plain_weights(folder: Path, name: str) -> None:
    """Check in the headers of its files that the weights of a checkpoint are not quantised.

    The library would read the numbers of a quantised weight as plain numbers.

    Args:
        folder: Folder of the checkpoint, whose configuration states no method of quantising.
        name: Name of the model, for messages.

    Raises:
        BadInput: For a weight that is stored in another type.
    """
    for file in weight_files(folder):
        with safe_open(file, framework="numpy") as tensors:
            for key in tensors.keys():  # noqa: SIM118
                kind = tensors.get_slice(key).get_dtype()
                if key.endswith("weight") and kind not in FLOATS:
                    raise BadInput(
                        f"weights of a model whose configuration states no quantization_config are stored as "
                        f"{', '.join(FLOATS)}, but {key!r} of {name!r} is {kind}; state how it is quantised, "
                        f"or give the model in full precision"
                    )


def _is_installed(package: str) -> bool:
    """Return whether a package is installed, by the name under which it is published."""
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


@contextmanager
def quantised_errors(quantisation: dict[str, Any] | None, name: str, place: object) -> Iterator[None]:
    """Turn an error of a network with quantised weights into one sentence; errors of other networks pass.

    Args:
        quantisation: From ``find_quantisation``.
        name: Name of the model.
        place: Its device.

    Raises:
        BadInput: When the weights are quantised and the network fails.
    """
    try:
        yield
    except MissingExtra:
        raise
    except Exception as error:  # kernels of many packages raise many kinds, AssertionError among them
        if quantisation is None:
            raise
        kind = "" if isinstance(error, HeadrolesError) else f"{type(error).__name__}: "
        reason = " ".join(str(error).split())[:200]
        raise BadInput(
            f"the weights of {name!r} are quantised by {quantisation['quant_method']}, and its attention "
            f"cannot be read on {place} ({kind}{reason}); give the model in full precision, or another "
            f"--device or --dtype"
        ) from error
