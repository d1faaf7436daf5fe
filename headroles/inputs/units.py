"""Which inputs are one unit of inference: those of one group, and those that share a text."""

from collections.abc import Iterable, Sequence
from hashlib import blake2b

from headroles.errors import BadInput


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
    bonds = Bonds()
    for group, own, key in zip(groups, texts, keys, strict=True):
        bonds.add(group, own, key)
    return bonds.names()


class Bonds:
    """Which inputs belong together, while they come in; of texts and groups it holds digests only."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._root: list[int] = []
        self._names: list[str] = []
        self._seen: dict[bytes, int] = {}

    def add(self, group: str | None, texts: Iterable[str], key: str) -> None:
        """Take the next input.

        Args:
            group: Its document or paragraph; None when unknown.
            texts: Its texts.
            key: Its key.
        """
        place = len(self._root)
        self._root.append(place)
        self._names.append(group or key)
        shared = [_digest("text", text) for text in texts]
        for bond in [*shared, *([_digest("group", group)] if group is not None else [])]:
            first, mine = self._find(self._seen.setdefault(bond, place)), self._find(place)
            self._root[max(first, mine)] = min(first, mine)

    def names(self) -> list[str]:
        """The unit of each input that came, named by its first input's group, else by its key."""
        return [self._names[self._find(place)] for place in range(len(self._root))]

    def _find(self, place: int) -> int:
        root = self._root
        while root[place] != place:
            root[place] = root[root[place]]
            place = root[place]
        return place


def _digest(kind: str, text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16, person=kind.encode()).digest()


def check_units(inputs: int, units: int) -> None:
    """Refuse inputs that are too few to test anything.

    Args:
        inputs: How many there are.
        units: How many units they make.

    Raises:
        BadInput: When there are fewer than two units.
    """
    if units < 2:
        raise BadInput(
            f"a test needs at least 2 units, but the inputs are {inputs} in {units} "
            f"(inputs of one group, or that share a text, are one unit); give more inputs"
        )
