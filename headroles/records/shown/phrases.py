"""What a role says about a head, in plain words."""

from dataclasses import dataclass

RELATIONS = {
    "nsubj": ("subject", "verb"), "obj": ("object", "verb"), "dobj": ("object", "verb"),
    "iobj": ("indirect object", "verb"), "csubj": ("clausal subject", "verb"), "amod": ("adjective", "noun"),
    "advmod": ("adverb", "head word"), "det": ("determiner", "noun"), "nummod": ("number", "noun"),
    "compound": ("compound part", "head word"), "aux": ("auxiliary", "verb"), "cop": ("copula", "predicate"),
    "mark": ("subordinator", "verb"), "case": ("preposition", "noun"), "cc": ("conjunction", "conjunct"),
    "conj": ("conjunct", "first conjunct"), "nmod": ("noun modifier", "noun"), "poss": ("possessor", "noun"),
    "obl": ("oblique", "verb"), "prep": ("preposition", "head word"), "pobj": ("object", "preposition"),
    "appos": ("apposition", "noun"), "acl": ("clause", "noun"), "advcl": ("adverbial clause", "verb"),
    "xcomp": ("open complement", "verb"), "ccomp": ("clausal complement", "verb"),
    "nsubj:pass": ("passive subject", "verb"), "nsubjpass": ("passive subject", "verb"),
    "csubj:pass": ("passive clausal subject", "verb"), "aux:pass": ("passive auxiliary", "verb"),
    "auxpass": ("passive auxiliary", "verb"), "obl:unmarked": ("bare oblique", "verb"),
    "obl:agent": ("agent", "verb"), "nmod:poss": ("possessor", "noun"),
    "nmod:unmarked": ("bare modifier", "noun"), "acl:relcl": ("relative clause", "noun"),
    "relcl": ("relative clause", "noun"),
    "advcl:relcl": ("relative clause", "clause"), "compound:prt": ("verb particle", "verb"),
    "prt": ("verb particle", "verb"), "det:predet": ("predeterminer", "noun"),
    "cc:preconj": ("first conjunction", "conjunct"), "flat": ("later name part", "first name part"),
    "fixed": ("later phrase part", "first phrase part"), "expl": ("expletive", "verb"),
    "discourse": ("discourse word", "head word"), "parataxis": ("side clause", "verb"),
    "vocative": ("vocative", "verb"), "list": ("list item", "first list item"),
    "goeswith": ("split word part", "first word part"), "punct": ("punctuation mark", "head word"),
    "pcomp": ("complement", "preposition"), "neg": ("negation", "head word"),
}  # fmt: skip
"""Dependent and head word of a relation, each in the singular."""
TITLES = {
    "local": ("neighbours (±2)", "looks at neighbouring tokens"),
    "delimiter": ("special tokens", "looks at special tokens"),
    "delimiter:cls": ("class token", "looks at the class token"),
    "delimiter:sep": ("separators", "looks at separators"),
    "block": ("own text of the pair", "stays in the query's own text"),
    "syntactic": ("word → its syntactic head", "looks from words to their syntactic head"),
    "coreference": ("other mentions of the entity", "looks from mentions to others of their entity"),
    "bag-of-words": ("many words of the own text", "spreads over many words of its own text"),
    "duplicate": ("earlier copies of the token", "looks at earlier copies of the token"),
    "first": ("first token", "looks at the first token"),
    "identical": ("same token elsewhere", "looks at the same token elsewhere in its text"),
    "identical:other": ("same token in the other text", "looks at the same token in the other text"),
    "induction": ("what followed the token before", "looks at what followed the token before"),
    "next": ("next token", "looks at the next token"),
    "parked": ("parked", "parks attention: relative to its other values, it takes hardly more there"),
    "previous": ("previous token", "looks at the previous token"),
    "punctuation": ("periods and commas", "looks at periods and commas"),
    "rare": ("rarest tokens", "looks at the rarest tokens of the input"),
    "related:other": ("related words in the other text", "looks at related words in the other text"),
    "self": ("the token itself", "looks at the token itself"),
    "subword": ("other pieces of the word", "looks at the other pieces of the word"),
    "subword:completing": ("piece that completes the word", "looks at the piece that completes the word"),
    "surface:first": ("first token", "looks at the first token"),
    "surface:separator": ("separators", "looks at separators"),
    "surface:separator→separator": ("separators → separators", "looks from separators to separators"),
    "surface:other→separator": ("other tokens → separators", "looks from other tokens to separators"),
    "surface:punctuation": ("punctuation", "looks at punctuation"),
    "surface:previous": ("previous token", "looks at the previous token"),
    "surface:next": ("next token", "looks at the next token"),
    "surface:self": ("the token itself", "looks at the token itself"),
    "surface:first→first": ("first token → itself", "looks from the first token to itself"),
    "surface:first→separator": ("first token → separators", "looks from the first token to separators"),
    "surface:first→text": ("first token → texts", "looks from the first token to the texts"),
    "surface:separator→first": ("separators → first token", "looks from separators to the first token"),
    "surface:separator→self": ("separators → themselves", "looks from separators to themselves"),
    "surface:separator→own-text": ("separators → own text", "looks from separators to the text they end"),
    "surface:separator→other-text": ("separators → other text", "looks from separators to the other text"),
    "surface:entropy": ("entropy of all rows", "spreads its attention"),
    "surface:entropy-first": ("entropy of the first row", "spreads the attention of the first token"),
}
"""Title and singular predicate of the built-in sieves, and of statistics of attention."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A role in plain words.

    Attributes:
        title: A noun phrase, such as "adjective → noun"; the name of the role where nothing better is known.
        one: What one head does, such as "looks from adjectives to their noun".
        many: The same of several heads, such as "look from adjectives to their noun".
    """

    title: str
    one: str
    many: str


def phrase_of(name: str) -> Phrase:
    """Return a role in plain words.

    Args:
        name: Of a sieve: a built-in one, one of a family, or any other.

    Example:
        >>> phrase_of("syntactic:amod").one, phrase_of("local").many
        ('looks from adjectives to their noun', 'look at neighbouring tokens')
        >>> phrase_of("dependency:obj:←").one, phrase_of("dependency:all:→").title
        ('looks from verbs to their objects', 'word → its head word')
        >>> phrase_of("vertical:delimiter:sep").one
        'looks at separators vertically'
        >>> phrase_of("mine")
        Phrase(title='mine', one='has the role mine', many='have the role mine')
    """
    if name in TITLES:
        return _phrase(*TITLES[name])
    root, _, rest = name.partition(":")
    if root == "vertical" and rest:
        whole = phrase_of(rest)
        return Phrase(f"{whole.title}, vertical", f"{whole.one} vertically", f"{whole.many} vertically")
    if root == "syntactic" and rest:
        return _relation(rest, "→")
    if root == "dependency" and rest[-2:] in (":→", ":←"):
        return _relation(rest[:-2], rest[-1])
    if root == "coreference" and rest:
        kind, mentions = ("any mention", "mentions") if rest == "all" else (rest, f"{rest} mentions")
        return _phrase(f"{kind} → earlier mention", f"looks from {mentions} to an earlier mention")
    if root == "local" and rest:
        return _phrase(f"neighbours (±{rest})", f"looks at tokens at most {rest} away")
    if root == "offset" and rest:
        return _phrase(f"offset {rest}", f"looks at the token at offset {rest}")
    if root == "punctuation" and rest:
        return _phrase(f"punctuation {rest}", f"looks at the marks {rest}")
    return Phrase(name, f"has the role {name}", f"have the role {name}")


def _relation(relation: str, direction: str) -> Phrase:
    """Return a dependency, looked at from the dependent word (→) or from its head word (←)."""
    if relation in RELATIONS:
        dependent, head = RELATIONS[relation]
        dependents, title = _plural(dependent), head
    else:
        dependent, dependents = (
            ("word", "words") if relation == "all" else (relation, f"{relation} dependents")
        )
        head, title = "head word", "its head word"
    if direction == "←":
        return _phrase(f"{dependent} ← {title}", f"looks from {_plural(head)} to their {dependents}")
    return _phrase(f"{dependent} → {title}", f"looks from {dependents} to their {head}")


def _phrase(title: str, one: str) -> Phrase:
    """Return a phrase from the words for one head."""
    verb, _, rest = one.partition(" ")
    return Phrase(title, one, f"{verb.removesuffix('s')} {rest}")


def _plural(noun: str) -> str:
    """Return the plural of a noun."""
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
