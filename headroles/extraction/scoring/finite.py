"""The error of attention weights that are no numbers."""

from headroles.errors import BadInput


class NotFiniteError(BadInput):
    """Weights that are infinite or NaN, as where a model's own numbers outgrow float16.

    Attributes:
        key: Key of the input.
        layer: The first layer with such weights.
    """

    def __init__(self, key: str, layer: int) -> None:
        """Name the input and the layer."""
        self.key, self.layer = key, layer
        super().__init__(
            f"attention weights must be finite, but layer {layer} gives some that are not for the input "
            f"{key!r}; try --dtype float32, or drop the input"
        )
