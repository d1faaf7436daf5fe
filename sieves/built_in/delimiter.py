"""Special tokens: all of them, the class or first token, the separators."""

import numpy as np

from headroles.records.example import Example
from headroles.records.roles import RoleWords
from headroles.sieves.base import sieve

SOURCE = "Pande et al. 2021, delimiter sieves; Clark et al. 2019, section 3.2"
WORKS = ("pande2021heads", "clark2019what")


@sieve(
    "delimiter",
    specials=True,
    source=SOURCE,
    question="Does the head look at special tokens?",
    words=RoleWords("special tokens", "looks at special tokens", "sinks", "D", WORKS),
)
def delimiter(example: Example) -> np.ndarray:
    """Keys that the tokenizer added."""
    return example.special


@sieve(
    "delimiter:cls",
    specials=True,
    source=SOURCE,
    question="Does the head look at the class token?",
    words=RoleWords("class token", "looks at the class token", "sinks", "Dc", WORKS),
)
def delimiter_cls(example: Example) -> np.ndarray:
    """The class token, or the special token that opens the input."""
    return example.first


@sieve(
    "delimiter:sep",
    specials=True,
    source=SOURCE,
    question="Does the head look at separators?",
    words=RoleWords("separators", "looks at separators", "sinks", "Ds", WORKS),
)
def delimiter_sep(example: Example) -> np.ndarray:
    """Special tokens other than the class token."""
    separators: np.ndarray = example.special & ~example.first
    return separators
