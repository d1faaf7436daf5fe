"""Sieves: the cells of attention that a role counts, and the weights that turn them into scores.

``base`` defines sieves, ``built_in`` and ``probes`` hold those of headroles, and ``weights`` turns them into
plans. This package needs numpy only, and may import records and plans, but no extraction, stats or reports.
Start at ``base``, then at ``built_in.local``.
"""

if __name__ != "headroles.sieves":
    raise ImportError("this folder is the package headroles.sieves; import it by that name")

BUILT_IN = {
    "local": "headroles.sieves.built_in.local:local",
    "delimiter": "headroles.sieves.built_in.delimiter:delimiter",
    "delimiter:cls": "headroles.sieves.built_in.delimiter:delimiter_cls",
    "delimiter:sep": "headroles.sieves.built_in.delimiter:delimiter_sep",
    "block": "headroles.sieves.built_in.block:block",
    "syntactic": "headroles.sieves.built_in.syntactic:syntactic",
    "syntactic:nsubj": "headroles.sieves.built_in.syntactic:syntactic_nsubj",
    "syntactic:obj": "headroles.sieves.built_in.syntactic:syntactic_obj",
    "syntactic:amod": "headroles.sieves.built_in.syntactic:syntactic_amod",
    "syntactic:advmod": "headroles.sieves.built_in.syntactic:syntactic_advmod",
}
"""Built-in sieves by name, as ``module:object``; they are the default selection."""

ON_REQUEST = {
    "coreference": "headroles.sieves.built_in.coreference:coreference",
    "parked": "headroles.sieves.built_in.parked:parked",
}
"""Built-in sieves that are used only when named: they read mentions, or the values of a model."""

PATTERNS = {
    "next": "headroles.sieves.built_in.positions:following",
    "previous": "headroles.sieves.built_in.positions:previous",
    "self": "headroles.sieves.built_in.positions:itself",
    "first": "headroles.sieves.built_in.positions:first",
    "punctuation": "headroles.sieves.built_in.punctuation:punctuation",
    "identical": "headroles.sieves.built_in.repeats:identical",
    "identical:other": "headroles.sieves.built_in.repeats:identical_other",
    "related:other": "headroles.sieves.built_in.related:related_other",
    "subword": "headroles.sieves.built_in.pieces:subword",
    "subword:completing": "headroles.sieves.built_in.pieces:completing",
    "bag-of-words": "headroles.sieves.built_in.bag_of_words:bag_of_words",
    "rare": "headroles.sieves.built_in.rare:rare",
    "duplicate": "headroles.sieves.built_in.repeats:duplicate",
    "induction": "headroles.sieves.built_in.repeats:induction",
}
"""Built-in sieves of patterns on the surface, used when they or their group are named."""

TITLES = {
    "neighbours": "local",
    "special tokens": "delimiter",
    "class token": "delimiter:cls",
    "separators": "delimiter:sep",
    "own text of the pair": "block",
    "word → its syntactic head": "syntactic",
    "subject → verb": "syntactic:nsubj",
    "object → verb": "syntactic:obj",
    "adjective → noun": "syntactic:amod",
    "adverb → head word": "syntactic:advmod",
    "other mentions of the entity": "coreference",
    "next token": "next",
    "previous token": "previous",
    "the token itself": "self",
    "first token": "first",
    "periods and commas": "punctuation",
    "same token elsewhere": "identical",
    "same token in the other text": "identical:other",
    "related words in the other text": "related:other",
    "other pieces of the word": "subword",
    "piece that completes the word": "subword:completing",
    "many words of the own text": "bag-of-words",
    "rarest tokens": "rare",
    "earlier copies of the token": "duplicate",
    "what followed the token before": "induction",
}
"""Built-in sieves by the titles of their roles, which stand for their names where a name is asked for."""

GROUPS = {"patterns": tuple(PATTERNS)}
"""Names of groups of sieves; a member whose annotation is missing is left out."""

FAMILIES = {
    name: f"headroles.sieves.built_in.families:{name}"
    for name in ("local", "offset", "punctuation", "syntactic")
}
"""Families of built-in sieves with a parameter, ``name:parameter``, as ``module:object``."""

MEASURED = {
    "dependency": "headroles.sieves.probes.dependency:row_words",
    "coreference": "headroles.sieves.probes.coreference:row_words",
    "trees": "headroles.sieves.probes.trees:row_words",
    "surface": "headroles.sieves.statistics:column_words",
}
"""Words of the rows of probes and of statistics of attention, by what stands before the colon."""

PUBLISHED = {name: f"headroles.sieves.built_in.published:{name.replace(':', '_')}" for name in BUILT_IN}
"""Sieves of the same names as the released notebooks compute them (preset ``published``)."""
