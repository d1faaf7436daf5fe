"""Check that gold heads form a tree: each is a word of the sentence, and all lead to its one root."""

from collections.abc import Sequence

from headroles.errors import BadInput
from headroles.extraction.texts.files import Location


def check_tree(heads: Sequence[int], path: Location, lines: Sequence[int]) -> None:
    """Check that the heads of one sentence form a tree.

    Args:
        heads: Head of each word, counted from 0 within the sentence; −1 for the root.
        path: The file that holds them.
        lines: Line of each word in the file.

    Raises:
        BadInput: For a head outside the sentence, no root or a second one, or a circle; words are
            numbered from 1 in the message, as files do.
    """
    words = len(heads)
    for head, line in zip(heads, lines, strict=True):
        if not -1 <= head < words:
            raise BadInput(
                f"{path}, line {line}: heads are words of the sentence (1 to {words}), but got {head + 1}"
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
            f"{roots[1] + 1} is one, and so is word {roots[0] + 1}"
        )
    circle = _circle(heads, roots[0])
    if circle:
        round_trip = " → ".join(str(word + 1) for word in [*circle, circle[0]])
        raise BadInput(
            f"{path}, line {lines[circle[0]]}: heads lead from every word to the root, but these go round "
            f"in a circle: {round_trip}"
        )


def _circle(heads: Sequence[int], root: int) -> list[int]:
    """Return the words of a circle, from its first word on; empty where all words lead to the root."""
    safe = {root}
    for word in range(len(heads)):
        trail: list[int] = []
        visited: set[int] = set()
        while word not in safe and word not in visited:
            trail.append(word)
            visited.add(word)
            word = heads[word]
        if word in visited:
            circle = trail[trail.index(word) :]
            first = circle.index(min(circle))
            return circle[first:] + circle[:first]
        safe |= visited
    return []
