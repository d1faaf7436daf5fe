"""The best heads of BERT-base by relation as published, for orientation."""

from dataclasses import dataclass

from headroles.sieves.language.relations import name_in_scheme


@dataclass(frozen=True, slots=True)
class PublishedHead:
    """A row of Table 1 of Clark et al. (2019): the best head of BERT-base for a relation, by the paper.

    Head and offset were chosen on the data they are reported on, WSJ sentences with Stanford
    Dependencies: for orientation, not for comparison.

    Attributes:
        relation: Stanford name.
        head: Layer and head as printed, counted from 1.
        accuracy: In per cent.
        baseline: Of the best fixed offset, in per cent.
        offset: Of the word the baseline takes as the head, from the dependent.
        direction: "→" (the dependent attends to its head) or "←".
        corrected: Whether accuracy and baseline are those that the released notebook prints, since
            the row of the paper holds figures that belong elsewhere.
    """

    relation: str
    head: str
    accuracy: float
    baseline: float
    offset: int
    direction: str = "→"
    corrected: bool = False


PUBLISHED_TABLE = {
    row.relation: row
    for row in (
        PublishedHead("all", "7-6", 34.5, 26.3, 1),
        PublishedHead("prep", "7-4", 66.7, 61.8, -1),
        PublishedHead("pobj", "9-6", 76.3, 34.6, -2, "←"),
        PublishedHead("det", "8-11", 94.3, 51.7, 1),
        PublishedHead("nn", "4-10", 70.4, 70.2, 1),
        PublishedHead("nsubj", "8-2", 58.5, 45.5, 1),
        PublishedHead("amod", "4-10", 75.6, 68.3, 1),
        PublishedHead("dobj", "8-10", 86.8, 40.0, -2),
        PublishedHead("advmod", "7-6", 48.8, 40.2, 1),
        PublishedHead("aux", "4-10", 81.1, 71.5, 1),
        PublishedHead("poss", "7-6", 80.5, 47.7, 1),
        PublishedHead("auxpass", "4-10", 94.1, 82.5, 1, corrected=True),
        PublishedHead("ccomp", "8-1", 48.8, 12.4, -2),
        PublishedHead("mark", "8-2", 50.7, 14.5, 2),
        PublishedHead("prt", "6-7", 99.1, 91.4, -1),
    )
}
"""Table 1 by Stanford name. Its row of auxpass reads 82.5 and 40.5: its own baseline, and that of cop."""

STANFORD_ONLY = frozenset({"prep", "pobj"})
"""Relations of the table without a counterpart in Universal Dependencies, where nouns govern prepositions."""


def published_head(relation: str, scheme: str) -> PublishedHead | None:
    """Return the row of Table 1 for a relation named in a scheme; None where there is none.

    Universal nsubj also covers nsubj:pass, which the table counts apart.

    Raises:
        UnknownName: For a scheme that does not exist.

    Example:
        >>> published_head("obj", "ud").head, published_head("pobj", "ud")
        ('8-10', None)
    """
    wanted = name_in_scheme(relation, scheme)
    name = next((name for name in PUBLISHED_TABLE if name_in_scheme(name, scheme) == wanted), None)
    return None if name is None or (scheme == "ud" and name in STANFORD_ONLY) else PUBLISHED_TABLE[name]
