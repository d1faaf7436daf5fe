"""What makes two inputs the same: within a run what the model reads, between runs text, tokens or group.

Near-duplicates are no independent evidence. A model that reads equal token ids gives equal attention, however
its inputs are spelled. Between runs a text also counts as the same in other capitals, or with other blanks or
accents. Runs keep hashes alone, never a text.
"""

import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from headroles.errors import BadInput
from headroles.inputs.sketch import Sketch, shared_share
from headroles.records.passage import Passage, plain_spelling

if TYPE_CHECKING:
    from headroles.extraction.model.checkpoint import Checkpoint

WAYS = {
    "texts": "texts",
    "tokens": "inputs, as the tokenizer reads them,",
    "groups": "documents or paragraphs, by their names,",
}

"""What inputs of two runs can have in common, in words."""
BY_NAMES = "units, by their names,"
"""The same where hashes of a run are not known."""


class Identity:
    """Tells which inputs are the same, by the tokenizer of a model where there is one."""

    def __init__(self, checkpoint: "Checkpoint | None" = None, max_length: int | None = None) -> None:
        """Take the model, whose tokenizer is loaded when it is needed, and the longest input in tokens."""
        self._checkpoint, self._max_length = checkpoint, max_length

    @cached_property
    def _tokenizer(self) -> Any:
        """Return the tokenizer; None without a model, or where the tokenizer cannot be used."""
        if self._checkpoint is None:
            return None
        from headroles.extraction.model.load import load_tokenizer

        tokenizer = load_tokenizer(self._checkpoint)
        return tokenizer if getattr(tokenizer, "is_fast", False) else None

    @cached_property
    def _vocabulary(self) -> bytes:
        """Return a hash of the vocabulary: equal ids of two tokenizers need not be equal tokens."""
        return _hash(json.dumps(sorted(self._tokenizer.get_vocab().items()))).encode()

    def tokens(self, passage: Passage) -> tuple[str, ...]:
        """Return hashes of token ids and types of an input, and of each text of a pair; () without a model.

        Inputs that share one of them are one unit.
        """
        if self._tokenizer is None:
            return ()
        inputs = [passage.texts, *([text] for text in passage.texts if len(passage.texts) > 1)]
        return tuple(map(self._hash_tokens, map(tuple, inputs)))

    def unit_marks(self, passage: Passage) -> tuple[str, ...]:
        """Return what makes inputs of one run the same unit: their tokens, or else their texts."""
        return self.tokens(passage) or passage.texts

    def marks(self, passage: Passage, tokens: bool = True) -> dict[str, tuple[str, ...]]:
        """Return hashes by which inputs of two runs are the same if one agrees, by the names of ``WAYS``.

        Args:
            passage: The input.
            tokens: Whether its tokens are asked for.
        """
        return {
            "texts": tuple(_hash(plain_spelling(text)) for text in passage.texts),
            "tokens": self.tokens(passage) if tokens else (),
            "groups": () if passage.group is None else (_hash(f"group {passage.group}"),),
        }

    def _hash_tokens(self, texts: tuple[str, ...]) -> str:
        from headroles.extraction.texts.tokens import tokenise

        try:
            (read,) = tokenise(self._tokenizer, [Passage("", texts)], self._max_length or 10**6)
        except BadInput:  # a text without any token
            return _hash(json.dumps(texts))
        numbers = [read.inputs.get(name) for name in ("input_ids", "token_type_ids")]
        return _hash(json.dumps(numbers), self._vocabulary)


def _hash(text: str, key: bytes = b"") -> str:
    """Return 16 hexadecimal digits of a hash of a text."""
    return blake2b(text.encode(errors="surrogatepass"), digest_size=8, key=key).hexdigest()


class Sketches:
    """Sketches of the hashes of the inputs of a run, one for each way in which inputs can be the same."""

    def __init__(self) -> None:
        """Start without inputs."""
        self._sketches = {way: Sketch() for way in WAYS}

    def add(self, marks: Mapping[str, Iterable[str]]) -> None:
        """Add what ``Identity.marks`` returns of an input."""
        for way, hashes in marks.items():
            for digits in hashes:
                self._sketches[way].add(digits)

    def encode(self) -> dict[str, str]:
        """Return the sketches as base64, as the manifest of a run keeps them."""
        return {way: sketch.encode() for way, sketch in self._sketches.items()}


def sketches_of(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the sketches of the inputs of a run from its manifest, "" where one is not known."""
    known = (manifest.get("source") or {}).get("identity") or {}
    return {way: str(known.get(way) or "") for way in WAYS}


def shared_inputs(
    first: Mapping[str, Any], second: Mapping[str, Any], units: tuple[Iterable[str], Iterable[str]]
) -> tuple[float, str]:
    """Return the largest share of inputs of a second run that a first one has, too, and in which way.

    Args:
        first: Manifest of the first run.
        second: Manifest of the second run.
        units: Names of the units of both, which are compared where the texts of a run are not known.

    Returns:
        In [0, 1]; and what is shared, in words.
    """
    known, asked = sketches_of(first), sketches_of(second)
    shares = {way: shared_share(known[way], asked[way]) for way in WAYS}
    if shares["texts"] != shares["texts"]:
        there, here = map(set, units)
        return len(there & here) / max(len(here), 1), BY_NAMES
    way = max(WAYS, key=lambda way: shares[way] if shares[way] == shares[way] else -1.0)
    return shares[way], WAYS[way]
