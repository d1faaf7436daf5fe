"""The second pass of a run: a few inputs once more, whose maps head cards show."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from headroles.errors import HeadrolesError
from headroles.records.findings import Labelling
from headroles.records.kept_maps import Exhibited, Maps
from headroles.records.passage import Passage
from headroles.storage.kept_maps import Candidate, Place, candidates, exhibited_of, told, wanted

Keep = Callable[[Sequence[Passage], Sequence[dict[int, list[int]]]], list[Maps]]
"""Runs inputs, and keeps the maps of the heads asked for, by layer, for each."""


def shown(
    judged: Labelling, most: int, passages: Iterable[Passage], keep: Keep
) -> tuple[Exhibited | None, list[str]]:
    """Run the examples that head cards show once more, and keep their maps.

    Args:
        judged: The scores and which heads hold which roles.
        most: Maps that are kept at most; 0 for none.
        passages: At least the inputs of the scores, gone through as far as they are needed.
        keep: Runs them.

    Returns:
        The maps, None where there are none; and what was left out, one sentence each. A pass that
        fails takes nothing from the run: it has no maps then, and a sentence says why.
    """
    possible = candidates(judged.findings, judged.scores) if most else []
    if not possible:
        return None, []
    try:
        exhibited = _shown(
            judged, possible, wanted(possible, judged.scores.tokens, most), passages, keep, most
        )
    except (HeadrolesError, RuntimeError, MemoryError) as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        return None, [f"head cards have no attention maps, because keeping them failed: {reason}."]
    return (exhibited if exhibited.exhibits else None), told(exhibited)


def _shown(
    judged: Labelling,
    possible: Sequence[Candidate],
    places: Sequence[Place],
    passages: Iterable[Passage],
    keep: Keep,
    most: int,
) -> Exhibited:
    """The second pass, over the examples of some maps in the order of the inputs."""
    chosen = sorted({example for example, _, _ in places})
    heads_by_layer: list[dict[int, list[int]]] = [{} for _ in chosen]
    for example, layer, head in places:
        heads_by_layer[chosen.index(example)].setdefault(layer, []).append(head)
    inputs = named(passages, [judged.scores.examples[example] for example in chosen])
    kept = dict(zip(chosen, keep(inputs, heads_by_layer), strict=True))
    return exhibited_of(
        possible,
        {place: kept[place[0]].weights[place[1:]] for place in places},
        {example: maps.example for example, maps in kept.items()},
        most,
    )


def named(passages: Iterable[Passage], keys: Sequence[str]) -> list[Passage]:
    """The inputs of some keys, in their order; no more are gone through than needed.

    Args:
        passages: In their order.
        keys: Of inputs among them, in that order too.
    """
    wanted_keys = set(keys)
    return list(islice((passage for passage in passages if passage.key in wanted_keys), len(keys)))
