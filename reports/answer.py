"""Records of an answer: a title, a line about the run, sentences with what they filter, warnings."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sentence:
    """One plain sentence of an answer.

    Attributes:
        lead: Its first words, shown in bold; they hold the count.
        rest: The other words, with their own punctuation; "" for none.
        sieve: The role that a click filters the page by; "" for none.
        decision: The decision that a click filters by, as in ``findings.csv``; "" for "role". Three more
            name heads: "only" (no role outside the family of the sieve), "family" (any role of its family)
            and "none" (no role at all, without a sieve).
    """

    lead: str
    rest: str = ""
    sieve: str = ""
    decision: str = ""

    @property
    def text(self) -> str:
        """Return the whole sentence."""
        gap = "" if not self.rest or self.rest[0] in ",.;:" else " "
        return f"{self.lead}{gap}{self.rest}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a run found, on one screen.

    Attributes:
        title: The question of the page, such as "What do the 72 heads of all-MiniLM-L6-v2 do?".
        line: One line on data, inputs, roles and error rate.
        sentences: Three to five sentences, the most important first.
        warnings: What must be known before anything is concluded, one sentence each.
    """

    title: str
    line: str
    sentences: tuple[Sentence, ...]
    warnings: tuple[str, ...] = ()
