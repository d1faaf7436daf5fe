"""Marks of heads in a figure: filled where a head holds the role, hollow where it does not."""

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float

from headroles.reports.content import Role, Table
from headroles.reports.panel import SYMBOLS, plain, tone

STATES = (("role", ""), ("no role", "-open"))


def marks(
    figure: go.Figure,
    table: Table,
    role: Role,
    index: int,
    *,
    points: tuple[Float[np.ndarray, " heads"], Float[np.ndarray, " heads"], Bool[np.ndarray, " heads"]],
    position: int,
    size: int = 8,
) -> None:
    """Add one sieve's heads as two traces: those that hold the role and those that do not.

    A mark bears the number of its head; the page puts the head's numbers in its place, from the one copy
    of all findings that it embeds.

    Args:
        figure: Where they are drawn.
        table: Every finding.
        role: Whose colour and symbol they bear, and whose decision fills them.
        index: Its number on the page.
        points: Place on either axis of every head, layer-major, and which heads are drawn.
        position: Whose scores are told on hover: the role's, or those of its contrast.
        size: Of a mark, in pixels.
    """
    x, y, shown = points
    cells = np.arange(x.size, dtype=np.uint32)
    holds = table.decided(role.position) == 0
    for (state, suffix), kept in zip(STATES, (shown & holds, shown & ~holds), strict=True):
        figure.add_scatter(
            x=x[kept].astype(np.float32),
            y=y[kept].astype(np.float32),
            customdata=cells[kept],
            mode="markers",
            name=plain(table.sieves[position]),
            meta={"role": index, "sieve": position},
            marker={"symbol": SYMBOLS[role.symbol] + suffix, "color": tone(role), "size": size},
            opacity=0.85,
            hovertemplate=(
                f"%{{fullData.name}}: {state}<br>layer %{{customdata[0]}} head %{{customdata[1]}}<br>"
                "mean %{customdata[2]:.3f} [%{customdata[3]:.3f}, %{customdata[4]:.3f}]<br>"
                "effect %{customdata[5]:.3f}, p %{customdata[6]:.2e}, q %{customdata[7]:.2e}<extra></extra>"
            ),
        )


def spread(size: int) -> Float[np.ndarray, " heads"]:
    """Fixed heights within ±0.28 that keep neighbouring heads apart (golden-ratio steps).

    Example:
        >>> spread(3).round(2).tolist()
        [-0.28, 0.07, -0.15]
    """
    steps: np.ndarray = ((np.arange(size) * 0.6180339887498949) % 1 - 0.5) * 0.56
    return steps
