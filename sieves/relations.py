"""Names of dependency relations: Universal Dependencies, and ClearNLP's names for the same."""

from functools import cache

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


@cache
def canonical(relation: str) -> str:
    """The Universal Dependencies name of a relation, in lower case.

    Example:
        >>> canonical("dobj"), canonical("ROOT"), canonical("nsubj:pass")
        ('obj', 'root', 'nsubj:pass')
    """
    name = relation.lower()
    return CLEARNLP.get(name, name)


@cache
def matches(relation: str, wanted: str) -> bool:
    """Whether an arc's relation is the wanted one; a plain name also covers its subtypes.

    Example:
        >>> matches("nsubj:pass", "nsubj"), matches("dobj", "obj"), matches("nsubj", "nsubj:pass")
        (True, True, False)
    """
    mine, asked = canonical(relation), canonical(wanted)
    return mine == asked or mine.split(":")[0] == asked
