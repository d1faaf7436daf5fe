"""Check the layers and heads of a view: by the configuration, before a model is loaded, and by the model."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from headroles.errors import BadInput

MOST_REPEATED = 8
"""Most wrong numbers that an error message repeats."""
COUNTS = {
    "layers": ("num_hidden_layers", "n_layer", "n_layers"),
    "heads": ("num_attention_heads", "n_head", "n_heads"),
}
"""Names under which configurations of models with one stack hold their counts."""


def check_by_configuration(folder: str, **numbers: Sequence[int] | None) -> None:
    """Refuse layers and heads that a model cannot have by its ``config.json``, which is cheap to read.

    A name on the hub, an encoder-decoder and a configuration without these counts are left to the model.

    Args:
        folder: Folder of a checkpoint, or a name on the hub.
        **numbers: The choice of "layers" and of "heads"; None for all.

    Raises:
        BadInput: When a number is too large.
    """
    try:
        config = json.loads((Path(folder) / "config.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return
    if not isinstance(config, dict) or config.get("is_encoder_decoder"):
        return
    for name, given in numbers.items():
        counts = [config[key] for key in COUNTS[name] if isinstance(config.get(key), int)]
        if counts:
            check_numbers(name, given, [range(max(counts))])


def check_numbers(name: str, numbers: Sequence[int] | None, known: Iterable[Sequence[int]]) -> None:
    """Check that a choice of layers or heads is not empty, and that some stack has each of them.

    Args:
        name: "layers" or "heads".
        numbers: The choice; None for all.
        known: Layers or heads of every stack, by position, in increasing order.

    Raises:
        BadInput: When it is empty, or no stack has one of them.
    """
    every = sorted({number for stack in known for number in stack})
    wrong = [number for number in numbers or () if number not in every]
    if numbers is not None and (wrong or not numbers):
        given = ", ".join(map(str, wrong[:MOST_REPEATED])) + ", …" * (len(wrong) > MOST_REPEATED) or "none"
        count = len(every)
        allowed = (
            f"numbers from 0 to {count - 1}, because the model has {count} {name}"
            if every[-1] == count - 1
            else f"the {name} with attention, {', '.join(map(str, every))}"
        )
        raise BadInput(f"--{name} takes {allowed}, but got {given}; leave it out for all of them")
