"""Cut running text into pairs of segments between its lines, as the released script of Clark et al. does."""

from collections.abc import Iterator, Sequence
from random import Random

from headroles.preprocessing.spans import Pair, PairCutter, Tokens


def line_pairs(cutter: PairCutter, lines: Sequence[str], random: Random) -> Iterator[Pair]:
    """Yield the pairs of a document, as ``preprocess_unlabeled.py`` of Clark et al. (2019) cuts them.

    Lines are gathered until they have as many tokens as fit, or the document ends. The first segment ends
    after a line drawn evenly from all but the last. Where both segments are too long, the longer loses
    tokens, each from its start or its end. Where one line alone fills a pair, the document ends there.
    The draws are those of the script with its seed.

    One thing differs: a word that loses some of its tokens is left out, so that segments are texts.

    Args:
        cutter: Has the tokenizer and the room for tokens.
        lines: Lines of the document, without blank ones.
        random: Draws where segments end, and which tokens they lose.
    """
    encoded = [tokens for line in lines if len(tokens := cutter.tokens(line))]
    chunk: list[Tokens] = []
    for number, tokens in enumerate(encoded):
        chunk.append(tokens)
        if number < len(encoded) - 1 and sum(map(len, chunk)) < cutter.room:
            continue
        split = random.randint(1, len(chunk) - 1) if len(chunk) > 1 else 1
        kept = _trim([sum(map(len, part)) for part in (chunk[:split], chunk[split:])], cutter.room, random)
        first, second = (
            _slice(part, *ends) for part, ends in zip((chunk[:split], chunk[split:]), kept, strict=True)
        )
        chunk = []
        if not first or not second:
            return
        yield cutter.pair(first, second)


def _trim(sizes: Sequence[int], room: int, random: Random) -> list[tuple[int, int]]:
    """Return the first token and one past the last token of two segments that are left."""
    ends = [(0, size) for size in sizes]
    while sum(stop - start for start, stop in ends) > room:
        longer = 0 if ends[0][1] - ends[0][0] > ends[1][1] - ends[1][0] else 1
        start, stop = ends[longer]
        ends[longer] = (start + 1, stop) if random.random() < 0.5 else (start, stop - 1)
    return ends


def _slice(lines: Sequence[Tokens], start: int, stop: int) -> str:
    """Return the text of some tokens of lines in a row, whole words only, with one blank between lines."""
    parts, before = list[str](), 0
    for tokens in lines:
        parts.append(tokens.slice(max(start - before, 0), min(max(stop - before, 0), len(tokens))))
        before += len(tokens)
    return " ".join(filter(None, parts))
