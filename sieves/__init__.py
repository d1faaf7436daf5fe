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

FAMILIES = {
    "local": "headroles.sieves.local:within",
    "syntactic": "headroles.sieves.syntactic:relation",
}
"""Makers of built-in sieves with a parameter, ``name:parameter``, as ``module:function``."""

PUBLISHED = {name: f"headroles.sieves.published:{name.replace(':', '_')}" for name in BUILT_IN}
"""The same names as the released notebooks compute them (preset ``published``)."""
