"""Names of contrasts: what each one controls for, by the ending of its column."""

CONTROLS = {":matched": "distance", ":swap": "position", ":class": "word class"}
"""What a contrast controls for, by the ending of its column."""


def control_of(column: str) -> str:
    """Return what a contrast controls for; "" for a column that is no contrast.

    Example:
        >>> control_of("block:swap"), control_of("syntactic:nsubj:matched"), control_of("local")
        ('position', 'distance', '')
    """
    return next((control for ending, control in CONTROLS.items() if column.endswith(ending)), "")
