"""Keep the attention maps and cells that the head panel shows.

A small run holds all maps since scoring (``runs.label.held_maps``); a larger one runs a few inputs again.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from headroles.errors import HeadrolesError
from headroles.records.findings import Labelling
from headroles.records.kept_maps import InputMaps, KeptMaps, WantedMaps
from headroles.records.passage import Passage
from headroles.storage.kept_maps import (
    Candidate,
    Place,
    candidates,
    choose_kept_maps,
    left_out_note,
    wanted_by_example,
    wanted_maps,
)

Keep = Callable[[Sequence[Passage], Sequence[WantedMaps]], list[InputMaps]]
"""Returns the wanted maps and cells of each input."""


def keep_card_maps(
    judged: Labelling, most: int, passages: Iterable[Passage], keep: Keep
) -> tuple[KeptMaps | None, list[str]]:
    """Keep the maps and cells of the examples of the head panel.

    Args:
        judged: The scores, and which heads hold which roles.
        most: Largest number of maps to keep; 0 for none.
        passages: All inputs of the scores, read as far as they are needed.
        keep: Returns maps and cells of inputs.

    Returns:
        The maps, None where there are none; and what was left out, one sentence each. If this
        fails, the run continues without maps, and a sentence gives the reason.
    """
    possible = candidates(judged.findings, judged.scores) if most else []
    if not possible:
        return None, []
    try:
        exhibited = _keep_examples(
            judged, possible, wanted_maps(possible, judged.scores.tokens, most), passages, keep, most
        )
    except (HeadrolesError, RuntimeError, MemoryError) as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        return None, [f"heads have no examples, because keeping their maps failed: {reason}."]
    return (exhibited if exhibited.exhibits else None), left_out_note(exhibited)


def _keep_examples(
    judged: Labelling,
    possible: Sequence[Candidate],
    places: Sequence[Place],
    passages: Iterable[Passage],
    keep: Keep,
    most: int,
) -> KeptMaps:
    """Keep the given maps of their examples, in the order of the inputs."""
    wanted = wanted_by_example(possible, places)
    inputs = select_passages(passages, [judged.scores.examples[example] for example in wanted])
    maps_by_example = dict(zip(wanted, keep(inputs, [*wanted.values()]), strict=True))
    return choose_kept_maps(
        possible,
        {place: maps_by_example[place[0]].weights[place[1:]] for place in places},
        {example: maps.example for example, maps in maps_by_example.items()},
        most,
        counted={
            (example, name): cells
            for example, maps in maps_by_example.items()
            for name, cells in maps.counted.items()
        },
    )


def select_passages(passages: Iterable[Passage], keys: Sequence[str]) -> list[Passage]:
    """Return the inputs with the given keys, in order, and read no further than needed.

    Args:
        passages: The inputs in order.
        keys: Keys of some of these inputs, in the same order.
    """
    wanted_keys = set(keys)
    return list(islice((passage for passage in passages if passage.key in wanted_keys), len(keys)))
