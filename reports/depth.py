"""Roles over layers: trend and thirds of every role as text."""

from headroles.records.assessment import Depth
from headroles.reports.content import Summary
from headroles.reports.words import ranged, share, two

HEADER = (
    "role", "heads", "trend over depth [95\u00a0%]", "reorderings as strong",
    "first third [95\u00a0%]", "middle third [95\u00a0%]", "last third [95\u00a0%]",
)  # fmt: skip


def depth_rows(summary: Summary) -> tuple[tuple[str, ...], ...]:
    """The trend and the thirds of every role, as text; empty where the run did not compute them."""
    return tuple(
        (
            each.sieve,
            str(each.heads),
            _trend(each),
            share(each.reference),
            *(
                ranged(share(value), share(low), share(high))
                for value, low, high in (
                    (each.first, each.first_low, each.first_high),
                    (each.middle, each.middle_low, each.middle_high),
                    (each.last, each.last_low, each.last_high),
                )
            ),
        )
        for each in _of(summary).values()
    )


def _of(summary: Summary) -> dict[str, Depth]:
    """Depth by role, in the order of roles."""
    known = {each.sieve: each for each in (summary.assessment.depth if summary.assessment else ())}
    return {role.sieve: known[role.sieve] for role in summary.roles if role.sieve in known}


def _trend(each: Depth) -> str:
    return ranged(two(each.trend), two(each.trend_low), two(each.trend_high))
