"""Frozen records that all parts of headroles pass to each other: named, read-only arrays and rows of tables.

Here are inputs (``example``, ``passage``, ``documents``), results (``findings``, ``assessment``, ``probes``,
``clusters``, ``surface``, ``kept_maps``, ``comparison``, ``replication``, ``view``), sums of scores
(``moments``), models and inputs given in Python (``objects``), how results show themselves (``prompt``),
and the columns of every table (``table``).
Records import only ``headroles.errors`` and each other.
Start with ``example``: an input, its scores, and the rules that judge them; then ``findings``.
"""

from headroles.public import public_names

__getattr__, __dir__, __all__ = public_names(
    __name__,
    {
        "arrays": "seal_arrays",
        "assessment": "Assessment Precision",
        "causal.ablation": "Ablation HeadSets HeldRoles VERDICTS",
        "causal.columns": "CLEAN NORM SITES parse_column",
        "causal.origins": "Knocked Origins Products",
        "causal.pruning": "FreshCheck Gain Pruning STEPS WITHIN",
        "causal.statement": "statements",
        "clusters": "Divergence",
        "comparison": "Comparison Differences SWAPS",
        "documents": "Document Window",
        "example": "Arc Cleaned Example Lexical Mention Pair Scores",
        "findings": "COLUMNS DECISIONS Findings Labelling absent_heads stronger_roles",
        "kept_maps": "KeptMaps TypicalInput",
        "layers": "Stack StackLayer plain_stack stack_of",
        "moments": "ARRAYS GROUPS Moments group_of moments_of unit_by_longest_text",
        "passage": "Passage Words",
        "probes": "BEST_HEADS BaselineCounts CONDITION_GAPS ProbeResults",
        "rules.rule": "Decision Rule",
        "roles": "FAMILIES RoleWords looks_of phrase_of without_wholes",
        "surface": "SurfaceResults",
        "table": "Cell Row Sheet Table",
        "view": "Carriers Maps Neurons View ViewOrigins ViewRoles",
    },
)
