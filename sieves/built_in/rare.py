"""Keys that are the least frequent tokens of the input."""

import numpy as np
from jaxtyping import Bool

from headroles.errors import BadInput
from headroles.records.example import Example
from headroles.records.roles import RoleWords
from headroles.sieves.base import MaskSieve


def rarest(example: Example) -> Bool[np.ndarray, " tokens"]:
    """Return the tokens of the texts that occur least in all inputs of the run; all of them in a tie.

    For ``the cat saw the dog .``, which occur 90, 4, 7, 90, 4 and 60 times, the keys of every query are::

        . 1 . . 1 .
        . 1 . . 1 .
        . 1 . . 1 .
        . 1 . . 1 .
        . 1 . . 1 .
        . 1 . . 1 .

    In cross attention the tokens that occur least among those that are attended to.

    Raises:
        BadInput: When it is not known how often the tokens occur.

    Example:
        >>> from headroles.records.example import Lexical
        >>> often = Lexical(frequency=np.array([90, 4, 7, 90, 4, 60]))
        >>> rarest(Example("six", tuple("tcstd."), lexical=often)).astype(int).tolist()
        [0, 1, 0, 0, 1, 0]
    """
    if example.lexical is None or example.lexical.frequency is None:
        raise BadInput(
            f"the sieve 'rare' needs frequencies of tokens, but example {example.key!r} has none; "
            f"give it Lexical(frequency=…) with one count per token, or leave the sieve out"
        )
    often, text = example.lexical.frequency, example.segment >= 0
    if often.shape != (example.size,):
        raise BadInput(
            f"frequencies have one count per token, shape ({example.size},) for example {example.key!r}, but "
            f"got {often.shape}"
        )
    least: Bool[np.ndarray, " tokens"] = np.zeros_like(text)
    for stack in np.unique(example.stack[text]):
        own = text & (example.stack == stack)
        least |= own & (often == often[own].min())
    return least


rare = MaskSieve(
    name="rare",
    mask=rarest,
    question="Does the head look at the least frequent tokens of the input?",
    source="Voita et al. 2019, rare tokens; frequencies of the run's own inputs",
    needs=frozenset({"frequencies"}),
    words=RoleWords(
        "rarest tokens", "looks at the rarest tokens of the input", mark="R", works=("voita2019analyzing",)
    ),
)
