"""Names of contrasts: what each one controls for, by the ending of its column."""

MATCHED, SWAP, CLASS = ":matched", ":swap", ":class"
"""Endings of the columns of contrasts."""
CONTROLS = {MATCHED: "distance", SWAP: "position", CLASS: "word class"}
"""What a contrast controls for, by the ending of its column."""


def control_of(column: str) -> str:
    """Return what a contrast controls for; "" for a column that is no contrast.

    Example:
        >>> control_of("block:swap"), control_of("syntactic:nsubj:matched"), control_of("local")
        ('position', 'distance', '')
    """
    return next((control for ending, control in CONTROLS.items() if column.endswith(ending)), "")


def controls_of(*columns: str) -> str:
    """Return what the contrasts of a role control for, joined by "or"; "" without a contrast.

    Args:
        *columns: Names of the contrasts; "" is left out.

    Example:
        >>> controls_of("block:matched", "block:swap"), controls_of("", "mine:plain"), controls_of("")
        ('distance or position', 'its contrast', '')
    """
    return " or ".join(control_of(name) or "its contrast" for name in columns if name)
