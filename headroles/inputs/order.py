"""Inputs in random order of their units, for runs that may stop before all inputs are read."""

from hashlib import blake2b

from headroles.errors import BadInput
from headroles.inputs.corpora import Corpus, ListCorpus
from headroles.inputs.units import UnitFinder
from headroles.records.passage import Passage


class ShuffledUnits(ListCorpus):
    """The inputs of a corpus, its units in random order; inputs of one unit stay together, in their order."""

    def __init__(self, corpus: Corpus, seed: int, most: int) -> None:
        """Read the inputs, and put them in order.

        The order is that of a hash of the seed and the name of each unit. So it depends neither on the order
        of the inputs nor on the version of a library.

        Args:
            corpus: The inputs in any order.
            seed: Seed of the order.
            most: Most inputs that are kept.

        Raises:
            HeadrolesError: When the inputs cannot be read, or there are more than are kept.
        """
        passages: list[Passage] = []
        finder = UnitFinder()
        for passage in corpus:
            if len(passages) == most:
                raise BadInput(
                    f"a run with --until keeps the scores of all inputs that it reads, but there are more "
                    f"than --keep {most}; give --limit {most}, or a larger --keep"
                )
            passages.append(passage)
            finder.add(passage.group, corpus.identity.unit_marks(passage), passage.key)
        names = finder.names() if corpus.units is None else list(corpus.units)
        first = {name: place for place, name in reversed([*enumerate(names)])}
        ranks = {name: (_rank(name, seed), place) for name, place in first.items()}
        order = sorted(range(len(names)), key=lambda place: (*ranks[names[place]], place))
        super().__init__(
            [passages[place] for place in order], dict(corpus.source), [names[place] for place in order]
        )
        self.identity = corpus.identity


def _rank(name: str, seed: int) -> bytes:
    """Return the place of a unit in the random order, as bytes that are compared."""
    return blake2b(f"{seed}\0{name}".encode(), digest_size=16, person=b"order of units").digest()
