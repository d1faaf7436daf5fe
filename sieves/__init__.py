"""What a head might be looking at: masks, their finishing, and the scores of plain arrays (numpy only)."""

if __name__ != "headroles.sieves":
    raise ImportError("this folder is the package headroles.sieves; import it by that name")

BUILT_IN = {
    "local": "headroles.sieves.local:local",
    "delimiter": "headroles.sieves.delimiter:delimiter",
    "delimiter:cls": "headroles.sieves.delimiter:delimiter_cls",
    "delimiter:sep": "headroles.sieves.delimiter:delimiter_sep",
    "block": "headroles.sieves.block:block",
    "syntactic": "headroles.sieves.syntactic:syntactic",
    "syntactic:nsubj": "headroles.sieves.syntactic:syntactic_nsubj",
    "syntactic:obj": "headroles.sieves.syntactic:syntactic_obj",
    "syntactic:amod": "headroles.sieves.syntactic:syntactic_amod",
    "syntactic:advmod": "headroles.sieves.syntactic:syntactic_advmod",
}
"""Built-in sieves by name, as ``module:object``; they are the default selection."""

ANNOTATED = {"coreference": "headroles.sieves.coreferent:coreference"}
"""Built-in sieves that are taken only when named: few inputs bring the annotation that they read."""

PATTERNS = {
    "next": "headroles.sieves.positions:following",
    "previous": "headroles.sieves.positions:previous",
    "self": "headroles.sieves.positions:itself",
    "first": "headroles.sieves.positions:first",
    "punctuation": "headroles.sieves.marks:punctuation",
    "identical": "headroles.sieves.repeats:identical",
    "identical:other": "headroles.sieves.repeats:identical_other",
    "related:other": "headroles.sieves.related:related_other",
    "subword": "headroles.sieves.pieces:subword",
    "subword:completing": "headroles.sieves.pieces:completing",
    "bag-of-words": "headroles.sieves.bag_of_words:bag_of_words",
    "rare": "headroles.sieves.rare:rare",
    "duplicate": "headroles.sieves.repeats:duplicate",
    "induction": "headroles.sieves.repeats:induction",
}
"""Built-in sieves of patterns on the surface, taken when they or their group are named."""

GROUPS = {"patterns": tuple(PATTERNS)}
"""Names that stand for several sieves at once; of these, one that lacks its annotation is left out."""

FAMILIES = {
    "local": "headroles.sieves.local:within",
    "offset": "headroles.sieves.positions:at_offset",
    "punctuation": "headroles.sieves.marks:marks",
    "syntactic": "headroles.sieves.syntactic:relation",
}
"""Makers of built-in sieves with a parameter, ``name:parameter``, as ``module:function``."""

PUBLISHED = {name: f"headroles.sieves.published:{name.replace(':', '_')}" for name in BUILT_IN}
"""The same names as the released notebooks compute them (preset ``published``)."""
