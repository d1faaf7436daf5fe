"""Score inputs again by the sieves of a label run, after directions were removed from queries."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from headroles.extraction.capture.attention import hand_over
from headroles.extraction.capture.gates import taken_gates
from headroles.extraction.capture.neurons import Call, Parts
from headroles.extraction.capture.visible import ForwardPass
from headroles.extraction.model.load import Model
from headroles.extraction.padding import pad_inputs
from headroles.extraction.scoring.job import SieveJob
from headroles.extraction.scoring.reader import Shard
from headroles.extraction.texts.tokens import Tokenised
from headroles.extraction.why.calls import read_calls, read_parts, reading
from headroles.extraction.why.removal import Basis, removed_weights

Round = Mapping[tuple[int, int], Basis]
"""Directions that are removed from queries at once, by layer and head."""


def score_again(
    model: Model,
    job: SieveJob,
    tokenised: Sequence[Tokenised],
    rounds: Sequence[Round],
    advance: Callable[[int], None] = lambda count: None,
) -> list[Shard]:
    """Score a shard by the sieves of a label run, as it is and after each round of removals.

    The model runs once for each input. Weights are recomputed from queries and keys in every round, and the
    job of the label run scores them. A removal changes the weights of its own head alone. Inputs of
    later layers stay the same. Heads without removal keep their scores to the last bit.

    Args:
        model: The model.
        job: Of the label run, for this shard.
        tokenised: The inputs of one shard; partners are found among them.
        rounds: Removals, at most one for each head in a round.
        advance: Called with the number of inputs done since the last call.

    Returns:
        The scores without removals, then those of each round.

    Raises:
        BadInput: When the model does not show its queries and keys.
    """
    every: list[Round] = [{}, *rounds]
    tables = [job.table(tokenised) for _ in every]
    by_layer = [[_of_layer(own, layer) for layer in range(model.layers)] for own in every]
    with reading(model):
        for place, given in enumerate(tokenised):
            batch = job.prepare(tokenised, np.array([place]))
            passes = [
                ForwardPass(job.reader(batch, table), [given.size], model.way, home=model.device)
                for table in tables
            ]
            for running in passes[1:]:
                running.visible_sets = passes[0].visible_sets
            if passes[0].gated:
                with taken_gates(passes[0].gated, passes[0].reads) as gates:
                    read_calls(model, pad_inputs(model, [given]), lambda layer, call: None)
                for running in passes:
                    running.gates = gates

            def take(layer: int, call: Call, parts: Parts, passes: Sequence[ForwardPass] = passes) -> None:
                clean = removed_weights(parts, {})
                for running, bases in zip(passes, by_layer, strict=True):
                    weights = removed_weights(parts, bases[layer]) if bases[layer] else clean.clone()
                    hand_over(running, weights[None], call.mask, norms=running.norms_of(call.value))

            read_parts(model, given, take)
            advance(1)
    return [job.result(table) for table in tables]


def _of_layer(removals: Round, layer: int) -> dict[int, Basis]:
    """Return the removals of a layer by head."""
    return {head: basis for (own, head), basis in removals.items() if own == layer}
