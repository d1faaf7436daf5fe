"""Families of built-in sieves: each makes the sieve of a parameter, such as ``local:4``."""

from headroles.sieves.built_in.local import SOURCE as LOCAL_SOURCE
from headroles.sieves.built_in.local import within
from headroles.sieves.built_in.local import words_of as local_words
from headroles.sieves.built_in.positions import SOURCE as POSITION_SOURCE
from headroles.sieves.built_in.positions import at_offset
from headroles.sieves.built_in.positions import words_of as offset_words
from headroles.sieves.built_in.punctuation import SOURCE as MARK_SOURCE
from headroles.sieves.built_in.punctuation import marks
from headroles.sieves.built_in.punctuation import words_of as mark_words
from headroles.sieves.built_in.syntactic import SOURCE as SYNTACTIC_SOURCE
from headroles.sieves.built_in.syntactic import relation
from headroles.sieves.built_in.syntactic import words_of as relation_words
from headroles.sieves.families import SieveFamily

local = SieveFamily(
    name="local",
    make=within,
    parameter="tokens",
    example="4",
    question="Does the head look at keys at most so many tokens away, within its own text?",
    source=LOCAL_SOURCE,
    words=local_words,
)

offset = SieveFamily(
    name="offset",
    make=at_offset,
    parameter="tokens",
    example="-3",
    question="Does the head look at the key so many tokens after the query (negative: before it)?",
    source=POSITION_SOURCE,
    words=offset_words,
)

punctuation = SieveFamily(
    name="punctuation",
    make=marks,
    parameter="marks",
    example="?!",
    question="Does the head look at these punctuation marks, or at all of them (punctuation:all)?",
    source=MARK_SOURCE,
    words=mark_words,
)

syntactic = SieveFamily(
    name="syntactic",
    make=relation,
    parameter="relation",
    example="det",
    question="Does the head look from each such dependent at its head word, beyond what distance gives?",
    source=SYNTACTIC_SOURCE,
    words=relation_words,
)
