"""Names of contrasts: what each one controls for, by the ending of its column."""

from collections.abc import Iterable

MATCHED, KEY, SWAP, CLASS, VALUES = ":matched", ":key", ":swap", ":class", ":values"
"""Endings of the columns of contrasts."""
TAKES = "takes relatively more there"
"""Verdict on a head that attends to keys, and whose norm-weighted attention does so, too. It is relative to
all values of the head, whatever their size."""
CONTROLS = {
    MATCHED: "distance",
    KEY: "distance or key",
    SWAP: "position",
    CLASS: "word class",
    VALUES: "values",
}
"""What a contrast controls for, by the ending of its column."""


def control_of(column: str) -> str:
    """Return what a contrast controls for; "" for a column that is no contrast.

    Example:
        >>> control_of("block:swap"), control_of("syntactic:nsubj:matched"), control_of("local")
        ('position', 'distance', '')
    """
    return next((control for ending, control in CONTROLS.items() if column.endswith(ending)), "")


def explained_words(control: str) -> str:
    """Return the verdict on a head with a high score whose contrast lies below its margin.

    Args:
        control: What the contrasts control for, such as "distance".

    Example:
        >>> explained_words("distance or position"), explained_words("values")
        ('explained by distance or position', 'takes relatively more there')
    """
    return TAKES if control == CONTROLS[VALUES] else f"explained by {control}"


def explained_list(controls: Iterable[str]) -> str:
    """Return all verdicts of that kind, joined by "or"; "" for none.

    Args:
        controls: What the contrasts of each role control for; several are joined by "or".

    Example:
        >>> explained_list(["distance", "distance or position", "values"])
        'explained by distance or position, or takes relatively more there'
    """
    parts = dict.fromkeys(part for control in controls for part in control.split(" or ") if part)
    others = " or ".join(part for part in parts if part != CONTROLS[VALUES])
    words = ([f"explained by {others}"] if others else []) + ([TAKES] if CONTROLS[VALUES] in parts else [])
    return ", or ".join(words)


def controls_of(*columns: str) -> str:
    """Return what the contrasts of a role control for, joined by "or"; "" without a contrast.

    Args:
        *columns: Names of the contrasts; "" is left out.

    Example:
        >>> controls_of("block:matched", "block:swap"), controls_of("", "mine:plain"), controls_of("")
        ('distance or position', 'its contrast', '')
    """
    return " or ".join(control_of(name) or "its contrast" for name in columns if name)
