"""What the fields of a record mean, as its documentation has it; for pages and schemas."""

import inspect
import re


def field_meanings(record: type) -> dict[str, str]:
    """Return the documentation of every field of a record and of its bases.

    Example:
        >>> from headroles.records.atlas.across import StepTrend
        >>> field_meanings(StepTrend)["layer"]
        'Layer of the head, from 0.'
    """
    meanings = {}
    for kind in reversed(record.__mro__):
        lines = inspect.cleandoc(kind.__doc__ or "").partition("Attributes:\n")[2].partition("\n\n")[0]
        for name, text in re.findall(r"^    (\w+): (.*(?:\n {6,}.*)*)", lines, re.M):
            meanings[name] = " ".join(text.split()).replace("``", "`")
    return meanings
