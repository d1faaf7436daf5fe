"""Names of dependency relations: Universal Dependencies, and ClearNLP's names for the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING

from headroles.errors import UnknownName

if TYPE_CHECKING:
    from headroles.records.documents import Document

CLEARNLP = {
    "dobj": "obj",
    "nsubjpass": "nsubj:pass",
    "csubjpass": "csubj:pass",
    "auxpass": "aux:pass",
    "nn": "compound",
    "poss": "nmod:poss",
    "num": "nummod",
    "prt": "compound:prt",
    "relcl": "acl:relcl",
    "rcmod": "acl:relcl",
    "neg": "advmod:neg",
    "npadvmod": "obl:npmod",
    "tmod": "obl:tmod",
    "predet": "det:predet",
    "preconj": "cc:preconj",
    "dative": "iobj",
    "intj": "discourse",
}
"""ClearNLP (and Stanford) names whose arcs mean the same in Universal Dependencies."""

LEFT_OUT = frozenset({"punct", "root"})
"""Relations that are no syntactic role of their dependent: punctuation, and the root."""

SCHEMES = ("ud", "clearnlp")
"""The schemes that name relations."""

UNIVERSAL = frozenset({
    "acl", "advcl", "advmod", "amod", "appos", "aux", "case", "cc", "ccomp", "clf", "compound", "conj",
    "cop", "csubj", "dep", "det", "discourse", "dislocated", "expl", "fixed", "flat", "goeswith",
    "iobj", "list", "mark", "nmod", "nsubj", "nummod", "obj", "obl", "orphan", "parataxis", "punct",
    "reparandum", "root", "vocative", "xcomp",
})  # fmt: skip
"""The 37 relations of Universal Dependencies, version 2."""
SUBTYPES = frozenset({
    "acl:relcl", "advcl:relcl", "advmod:emph", "advmod:lmod", "aux:pass", "cc:preconj", "compound:lvc",
    "compound:prt", "compound:redup", "compound:svc", "csubj:outer", "csubj:pass", "det:numgov",
    "det:nummod", "det:poss", "det:predet", "expl:impers", "expl:pass", "expl:pv", "flat:foreign",
    "flat:name", "nmod:npmod", "nmod:poss", "nmod:tmod", "nsubj:outer", "nsubj:pass", "nummod:gov",
    "obl:agent", "obl:arg", "obl:lmod", "obl:npmod", "obl:tmod",
})  # fmt: skip
"""Subtypes that the guidelines of Universal Dependencies describe; treebanks and parsers add others."""
ONLY_CLEARNLP = frozenset({
    "acomp", "agent", "attr", "complm", "hmod", "hyph", "infmod", "meta", "mwe", "number", "oprd",
    "partmod", "pcomp", "pobj", "possessive", "prep", "quantmod",
})  # fmt: skip
"""ClearNLP (and Stanford) names of arcs for which Universal Dependencies has no relation of its own."""

WORDS = {
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

_NAMED = UNIVERSAL | SUBTYPES | ONLY_CLEARNLP | CLEARNLP.keys() | {*CLEARNLP.values()}
"""Every relation of both schemes."""
_RENAMED = {CLEARNLP[name]: name for name in CLEARNLP if name not in ("relcl", "dative", "intj")}
"""ClearNLP's name of a universal relation; where there were several, that of Clark et al. (2019)."""


@cache
def canonical(relation: str) -> str:
    """Return the Universal Dependencies name of a relation, in lower case.

    Example:
        >>> canonical("dobj"), canonical("ROOT"), canonical("nsubj:pass")
        ('obj', 'root', 'nsubj:pass')
    """
    name = relation.lower()
    return CLEARNLP.get(name, name)


@cache
def matches(relation: str, wanted: str) -> bool:
    """Return whether an arc's relation is the wanted one; a plain name also covers its subtypes.

    Example:
        >>> matches("nsubj:pass", "nsubj"), matches("dobj", "obj"), matches("nsubj", "nsubj:pass")
        (True, True, False)
    """
    own, name = canonical(relation), canonical(wanted)
    return own == name or own.split(":")[0] == name


@cache
def name_in_scheme(relation: str, scheme: str) -> str:
    """Return the name of a relation in a scheme; a relation without a name there keeps its universal one.

    Raises:
        UnknownName: For a scheme that does not exist.

    Example:
        >>> clearnlp = [name_in_scheme(name, "clearnlp") for name in ("compound", "obl")]
        >>> name_in_scheme("dobj", "ud"), *clearnlp
        ('obj', 'nn', 'obl')
    """
    if scheme not in SCHEMES:
        raise UnknownName("scheme of relations", scheme, SCHEMES)
    name = canonical(relation)
    return name if scheme == "ud" else _RENAMED.get(name, name)


@cache
def covers(wanted: str, relation: str, scheme: str) -> bool:
    """Return whether a row of results, named in a scheme, counts the arcs of a relation.

    Universal: a plain name covers its subtypes, so nsubj counts nsubj:pass (as ``matches``).
    ClearNLP: only subtypes that have no name of their own there, so nsubj leaves out nsubjpass.

    Example:
        >>> covers("nsubj", "nsubjpass", "ud"), covers("nsubj", "nsubjpass", "clearnlp")
        (True, False)
        >>> covers("nn", "compound:svc", "clearnlp"), covers("nn", "compound:prt", "clearnlp")
        (True, False)
    """
    name = canonical(relation)
    if scheme == "clearnlp" and name in _RENAMED:
        return name == canonical(wanted)
    return matches(relation, wanted)


def check_relations(wanted: Iterable[str], found: Iterable[str] = ()) -> None:
    """Refuse relations that no scheme has, and that neither a parser nor the data have.

    Args:
        wanted: Names of relations.
        found: Labels of the parser, or relations of the data. A wanted plain name covers their subtypes.

    Raises:
        UnknownName: For the first such name, with the nearest known one.

    Example:
        >>> check_relations(["nsubj", "dobj", "rcmod"])
        >>> check_relations(["sb"], found=["sb", "oa"])
    """
    if name := next(iter(unknown_relations(wanted, found)), None):
        known = {canonical(other) for other in found} | UNIVERSAL
        near = get_close_matches(name.lower(), known | _NAMED, n=1)
        raise UnknownName("relation", name, {*near, *(other for other in known if other not in LEFT_OUT)})


def unknown_relations(wanted: Iterable[str], found: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the wanted relations that ``check_relations`` refuses, in their order.

    Example:
        >>> unknown_relations(["nsubject", "obj", "nmod:desc"], found=["nmod:desc"])
        ('nsubject',)
    """
    known = {*_NAMED, *found}
    return tuple(name for name in wanted if not any(matches(other, name) for other in known))


def relations_of(
    documents: Iterable[Document], scheme: str, least: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the relations that occur often enough to have a row, and the others.

    Plain names and subtypes are both listed; a plain name whose arcs are all of one subtype is not.
    Punctuation, roots and documents without trees are left out.

    Args:
        documents: With heads and relations.
        scheme: "ud" or "clearnlp".
        least: Fewest arcs, subtypes included where the name covers them.

    Returns:
        Names with at least so many arcs, by falling count, then by name; and those with fewer.

    Raises:
        UnknownName: For a scheme that does not exist.
    """
    arcs: Counter[str] = Counter()
    for document in documents:
        if document.heads is not None and document.relations is not None:
            pairs = zip(document.heads.tolist(), document.relations, strict=True)
            arcs.update(canonical(relation) for head, relation in pairs if head >= 0)
    arcs = Counter({name: arcs[name] for name in arcs if name not in LEFT_OUT})
    plain = {name.split(":")[0] for name in arcs}
    counts = {}
    for name in {name_in_scheme(relation, scheme) for relation in (*arcs, *plain)}:
        members = [relation for relation in arcs if covers(name, relation, scheme)]
        if len(members) > 1 or canonical(name) in members:
            counts[name] = sum(arcs[relation] for relation in members)
    ordered = sorted(counts, key=lambda name: (-counts[name], name))
    return (
        tuple(name for name in ordered if counts[name] >= least),
        tuple(name for name in ordered if counts[name] < least),
    )


def relation_words(relation: str, direction: str = "→") -> tuple[str, str]:
    """Return the title of a dependency, and what one head does that follows it.

    Args:
        relation: Its name in any scheme, or "all".
        direction: "→" for looking from the dependent at its head word, "←" for the other way.

    Example:
        >>> relation_words("amod"), relation_words("obj", "←")[1]
        (('adjective → noun', 'looks from adjectives to their noun'), 'looks from verbs to their objects')
        >>> relation_words("xyz")
        ('xyz → its head word', 'looks from xyz dependents to their head word')
    """
    if relation in WORDS:
        dependent, head = WORDS[relation]
        dependents, title = _plural(dependent), head
    else:
        dependent, dependents = (
            ("word", "words") if relation == "all" else (relation, f"{relation} dependents")
        )
        head, title = "head word", "its head word"
    if direction == "←":
        return f"{dependent} ← {title}", f"looks from {_plural(head)} to their {dependents}"
    return f"{dependent} → {title}", f"looks from {dependents} to their {head}"


def _plural(noun: str) -> str:
    """Return the plural of a noun."""
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
