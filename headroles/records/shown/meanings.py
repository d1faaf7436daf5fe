"""What the fields of a record mean, as its documentation has it; for pages and schemas."""

import inspect
import re


def field_meanings(record: type) -> dict[str, str]:
    """Return the documentation of every field of a record and of its bases.

    Example:
        >>> from headroles.records.layers import StackLayer
        >>> field_meanings(StackLayer)["index"]
        'Position of its block in the stack, from 0, in the order in which blocks run.'
    """
    meanings = {}
    for kind in reversed(record.__mro__):
        lines = inspect.cleandoc(kind.__doc__ or "").partition("Attributes:\n")[2].partition("\n\n")[0]
        for name, text in re.findall(r"^    (\w+): (.*(?:\n {6,}.*)*)", lines, re.M):
            meanings[name] = " ".join(text.split()).replace("``", "`")
    return meanings
