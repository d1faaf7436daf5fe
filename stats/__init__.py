"""From scores to decisions: tests, corrections, findings.

The packages of statistics (numpy, scipy, statsmodels, pingouin) are imported here and nowhere else; of
headroles only records and errors. Start with ``engine.judge``, which tests every sieve and head.
``methods`` has the tests, ``correction`` the adjusted p values, ``assessment`` all that is computed from
findings, and ``clusters``, ``comparing`` and ``probes`` the statistics of other kinds of runs.
``oracles`` recomputes findings by libraries.
"""

from headroles.public import public_names

if __name__ != "headroles.stats":
    raise ImportError("this folder is the package headroles.stats; import it by that name")

__getattr__, __dir__, __all__ = public_names(
    __name__,
    {
        "across.conjunction": "conjunctions partial_conjunction_p",
        "across.meta": "pool_means",
        "across.replicability": "replicability_r",
        "across.steps": "emergence losses trends",
        "assessment.assess": "assess",
        "assessment.depth": "role_depths",
        "assessment.several": "fresh_roles several_roles",
        "assessment.stability": "joint_probability reached_cuts stability",
        "assessment.together": "role_pairs role_sets",
        "causal.certificate": "certify decide_set",
        "causal.falls": "fall_p",
        "causal.judge": "judge_ablation",
        "claims": "missing_p",
        "clusters.clusters": "choose_clusters",
        "clusters.distance_tests": "mantel_test permanova",
        "clusters.distances": "nearest_heads standard_error",
        "clusters.layer_claims": "layer_claims",
        "clusters.role_claims": "role_claims",
        "clusters.run": "cluster_heads",
        "columns": "Columns",
        "comparing.apart": "pair_at_random",
        "comparing.agreement": "Labels agreements",
        "comparing.paired": "column_pairs paired_differences",
        "comparing.replication": "replicate_gaps",
        "comparing.summary": "by_layer explained_labels remarks",
        "comparing.swaps": "compare_by_swaps",
        "correction": "TIE adjust significant",
        "decision": "CORRECTIONS FAMILIES ENOUGH_FOR_NOT TESTS",
        "draws": "bootstrap_counts random_halves sign_flips",
        "effects": "bayes_factors bca design_effect effect_interval hedges_g",
        "engine": "evidence_columns judge mean_intervals",
        "methods.closed_form": "bounded_outcome student student_biased student_skew",
        "methods.names": "METHODS",
        "moments": "describe",
        "oracles.recompute": "recompute_findings",
        "power": "assumed_cut detectable_effect harmonic power_of power_of_part required_units",
        "probes.baselines": "baseline_rows cross_fitted_baselines selection_half",
        "probes.best_head": "RowColumns best_heads",
        "probes.conditions": "gaps",
        "relabel": "Grid label_draws",
        "surface": "layer_means noop_tests",
        "why.judge": "judge_origins knockout_tests removals_of",
        "why.rotations": "fewest_rotations",
    },
)
