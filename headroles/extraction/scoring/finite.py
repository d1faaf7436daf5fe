"""The error of attention weights that are no numbers."""

from headroles.errors import BadInput


def not_finite(key: str, layer: int) -> BadInput:
    """Return the error of weights that are infinite or NaN, as where a model's own numbers outgrow float16.

    Args:
        key: Of the input.
        layer: The first layer with such weights, from 0.
    """
    return BadInput(
        f"attention weights must be finite, but layer {layer} gives some that are not for the input {key!r}; "
        f"try --dtype float32, or drop the input"
    )
