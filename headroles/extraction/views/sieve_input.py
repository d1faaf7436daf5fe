"""Read one text or a pair as the example that a sieve gets, with the annotation that it needs."""

from pathlib import Path

from headroles.errors import BadInput
from headroles.extraction.model.checkpoint import Checkpoint
from headroles.extraction.model.load import load, load_tokenizer, silence_library
from headroles.extraction.parsing.annotate import Annotator
from headroles.extraction.parsing.lexicon import Lexicon, token_frequencies, unit_rows
from headroles.extraction.parsing.pipeline import load_parser
from headroles.extraction.parsing.vectors import read_vectors
from headroles.extraction.texts.pieces import NO_TRUNCATION
from headroles.extraction.texts.tokens import example_of, tokenise
from headroles.records.example import Example
from headroles.records.passage import Passage


def read_example(
    checkpoint: Checkpoint,
    passage: Passage,
    sieve: str,
    needs: frozenset[str],
    *,
    parser: str | None = None,
    vectors: str | None = None,
    max_length: int = 512,
) -> tuple[Example, tuple[str, ...]]:
    """Read an input as the example that a sieve gets, and return notes on its annotation.

    Args:
        checkpoint: Whose tokenizer reads the texts.
        passage: One text or two, not blank, with their annotation where they have some.
        sieve: Name of the sieve, for errors.
        needs: Annotation that the sieve reads.
        parser: An installed spaCy pipeline or its path; None for the one shipped.
        vectors: File of word vectors; None for none.
        max_length: Most tokens.

    Raises:
        BadInput: When the input has more tokens, or the texts cannot have annotation that is needed.
    """
    if "mentions" in needs and passage.mentions is None:
        raise BadInput(
            f"the sieve {sieve!r} needs mentions of entities, which a plain text does not have; give an "
            f"Example with mentions in Python"
        )
    with silence_library():
        tokenizer = load_tokenizer(checkpoint)
        (tokenised,) = tokenise(tokenizer, [passage], NO_TRUNCATION)
    if tokenised.size > max_length:
        raise BadInput(
            f"a sieve is shown on at most {max_length:,} tokens, but got {tokenised.size:,}; shorten the text"
        )
    notes, words, lexicon = [], passage.words, Lexicon()
    if needs - {"frequencies"} and (words is None or "likeness" in needs):
        pipeline, described = load_parser(parser)
        annotator = Annotator(pipeline)
        (words,) = annotator.words([passage])
        notes.append(f"Words and trees are those of the parser {described['name']}.")
        if "likeness" in needs:
            lexicon = _lexicon(annotator, passage, sieve, vectors)
    if "frequencies" in needs:
        counts = token_frequencies(tokenizer, [passage], max_length)
        lexicon = Lexicon(lexicon.lemmas, lexicon.places, lexicon.vectors, counts)
        notes.append("Frequencies of tokens are those of this input alone; a run counts all of its inputs.")
    lexical = lexicon.lexical(tokenised, words)
    return example_of(tokenised, words, arcs="arcs" in needs, lexical=lexical), tuple(notes)


def sees_earlier_keys_only(checkpoint: Checkpoint, max_length: int = 512) -> bool:
    """Return whether a model's queries see only keys up to their own place; the model is loaded for that.

    Raises:
        BadInput: When the model cannot be loaded, or its attention cannot be read.
    """
    return load(checkpoint, device="cpu", dtype="float32", max_length=max_length).way.causal


def _lexicon(annotator: Annotator, passage: Passage, sieve: str, vectors: str | None) -> Lexicon:
    """Return lemmas of the parser, and vectors of the words where there is a file of them.

    Raises:
        BadInput: When there is neither.
    """
    if vectors is None and not annotator.lemmas:
        raise BadInput(
            f"the sieve {sieve!r} needs word vectors or lemmas, but there are neither; give a file of word "
            f"vectors, or a parser that sets lemmas"
        )
    if vectors is None:
        return Lexicon(lemmas=True)
    known = read_vectors(Path(vectors), annotator.forms([passage]))
    return Lexicon(annotator.lemmas, known.places, unit_rows(known.table))
