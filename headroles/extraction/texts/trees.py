"""A gold tree is a tree: heads are words of the sentence, one of them the root, and all lead to it."""

from collections.abc import Sequence

from headroles.errors import BadInput
from headroles.extraction.texts.files import Where


def check_tree(heads: Sequence[int], path: Where, lines: Sequence[int]) -> None:
    """Refuse heads of one sentence that are no tree.

    Args:
        heads: Head of each word, counted from 0 within the sentence; −1 for the root.
        path: The file they come from.
        lines: Line of each word in it.

    Raises:
        BadInput: For a head outside the sentence, no root or a second one, or a circle; words are
            numbered from 1 in the message, as files do.
    """
    words = len(heads)
    for head, line in zip(heads, lines, strict=True):
        if not -1 <= head < words:
            raise BadInput(
                f"{path}, line {line}: heads are words of the sentence (1 to {words}), but {head + 1} came"
            )
    roots = [word for word, head in enumerate(heads) if head == -1]
    if not roots:
        raise BadInput(
            f"{path}, line {lines[0]}: a sentence has one root (a word whose head is 0), "
            f"but this one has none"
        )
    if len(roots) > 1:
        raise BadInput(
            f"{path}, line {lines[roots[1]]}: a sentence has one root (a word whose head is 0), but word "
            f"{roots[1] + 1} is one besides word {roots[0] + 1}"
        )
    circle = _circle(heads, roots[0])
    if circle:
        round_trip = " → ".join(str(word + 1) for word in [*circle, circle[0]])
        raise BadInput(
            f"{path}, line {lines[circle[0]]}: heads lead from every word to the root, but these go round "
            f"in a circle: {round_trip}"
        )


def _circle(heads: Sequence[int], root: int) -> list[int]:
    """The words of a circle, from its first word on; empty where all words lead to the root."""
    safe = {root}
    for word in range(len(heads)):
        trail: list[int] = []
        passed: set[int] = set()
        while word not in safe and word not in passed:
            trail.append(word)
            passed.add(word)
            word = heads[word]
        if word in passed:
            circle = trail[trail.index(word) :]
            first = circle.index(min(circle))
            return circle[first:] + circle[:first]
        safe |= passed
    return []
