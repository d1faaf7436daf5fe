"""Settings of runs that earlier versions wrote, under the names and with the meanings of today."""

from collections.abc import Mapping
from typing import Any

RENAMED = {"window": "max_length"}
"""Today's names of settings that had another name."""


def stored_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a manifest, as the options of today take them.

    In a stream, ``limit`` was the number of first inputs, which is ``first`` now. Probes called their
    ``max_length`` ``window``.

    Args:
        settings: As a manifest of any version has them.

    Example:
        >>> stored_settings({"stream": True, "limit": 30})
        {'stream': True, 'limit': None, 'first': 30}
        >>> stored_settings({"window": 64})
        {'max_length': 64}
    """
    today = {RENAMED.get(name, name): value for name, value in settings.items()}
    if today.get("stream") and today.get("limit") is not None:
        today |= {"limit": None, "first": today["limit"]}
    return today
