"""Which inputs are one unit of inference: those of one group, and those that share a text."""

from collections.abc import Iterable, Sequence


def unit_names(
    groups: Sequence[str | None], texts: Sequence[Iterable[str]], keys: Sequence[str]
) -> list[str]:
    """Name the unit of each input.

    Inputs of one group are one unit, and inputs that share an identical text are one unit, also
    across groups: their scores repeat each other and would count as independent evidence.

    Args:
        groups: Document or paragraph of each input; None when unknown.
        texts: The texts of each input.
        keys: Keys of the inputs; a unit is named by its first input's group, else by its key.

    Example:
        >>> unit_names([None, None, None], [["a", "b"], ["c", "d"], ["e", "b"]], ["x", "y", "z"])
        ['x', 'y', 'x']
    """
    root = list(range(len(keys)))

    def find(place: int) -> int:
        while root[place] != place:
            root[place] = root[root[place]]
            place = root[place]
        return place

    seen: dict[tuple[str, str], int] = {}
    for place, (group, own) in enumerate(zip(groups, texts, strict=True)):
        shared = [("text", text) for text in own] + ([("group", group)] if group is not None else [])
        for bond in shared:
            first, mine = find(seen.setdefault(bond, place)), find(place)
            root[max(first, mine)] = min(first, mine)
    return [groups[find(place)] or keys[find(place)] for place in range(len(keys))]
