"""Marks of roles where there is no room for their names."""

import re
from collections.abc import Sequence


def codes(names: Sequence[str]) -> tuple[str, ...]:
    """Marks of one or two characters, one per name, no two alike.

    Example:
        >>> codes(["local", "delimiter", "delimiter:cls", "syntactic:amod", "syntactic:advmod", "律"])
        ('L', 'D', 'Dc', 'Sa', 'Sd', '6')
    """
    taken: list[str] = []
    for number, name in enumerate(names, start=1):
        words = re.findall("[a-z]+", name.lower())
        wishes = [words[0][0].upper()] if len(words) == 1 else []
        if words:
            tail = "".join(words[1:]) or words[0][1:]
            wishes += [words[0][0].upper() + letter for letter in tail]
        wishes += [str(number + shift) for shift in range(len(names) + 1)]
        taken.append(next(wish for wish in wishes if wish not in taken))
    return tuple(taken)
