"""The methods of an atlas, as sentences for a paper."""

from headroles.records.assessment import MIDDLE, NEAR
from headroles.records.atlas.atlas import Atlas
from headroles.records.numbers import isolate, join_names, plural

COMBINATIONS = {
    "fisher": "Fisher's method, because no two runs share a text, an input or a document",
    "bonferroni": "Bonferroni's method, because runs share inputs",
}
"""Ways to combine p of runs, with the reason, in words."""


def atlas_sentences(atlas: Atlas) -> list[str]:
    """Return how several runs were compared, one sentence each.

    Args:
        atlas: Of two runs or more.
    """
    version = atlas.manifest.get("headroles")
    names = [
        f"{isolate(run.name)} ({plural(run.examples, 'input')}, {run.tokens:.0f} tokens on average)"
        for run in atlas.runs
    ]
    rules = list(dict.fromkeys(f"{isolate(run.preset)} ({run.rule})" for run in atlas.runs))
    sentences = [
        f"We collected {plural(len(atlas.runs), 'run')}{f' with headroles {version}' if version else ''}: "
        f"{join_names(names)}.",
        f"Labels are those of the runs, by {join_names(rules)}.",
        f"P values are counted as near 0 or 1 below {NEAR:g} or above {1 - NEAR:g}, before correction.",
        "Roles a head leave out a role where the head holds a part of it.",
        "Intervals are those of fresh samples of as many inputs: 300 resamples of resamples, each tested and "
        "corrected anew.",
    ]
    if any(row.scope == MIDDLE for several in atlas.several for row in several):
        sentences.append(
            "For the claim that heads with several roles sit in the middle layers, the share of heads with "
            "two or more roles in the middle third of layers less that in the others was tested over inputs, "
            "and set beside all choices of as many layers."
        )
    if atlas.consensus:
        ways = dict.fromkeys(row.combination for row in atlas.consensus)
        named = [COMBINATIONS[way] for way in ways]
        sentences.append(
            "Whether a head has a role in at least u of its k runs was tested by partial conjunction "
            f"(Benjamini and Heller, 2008), with p combined by {join_names(named)}, and corrected over the "
            "heads of each role."
        )
        if any(row.mean == row.mean for row in atlas.consensus):
            sentences.append(
                "Means over runs were pooled by random effects, with the variance between runs of Paule and "
                "Mandel (Paule and Mandel, 1982) and the interval of Hartung and Knapp (Hartung and Knapp, "
                "2001)."
            )
    if atlas.steps:
        sentences.append(
            "Trends over checkpoints are the least-squares slopes of the units over the order of the "
            "steps, tested against 0 on both sides. The step from which a role holds was found by tests "
            "in a fixed sequence (Westfall and Krishen, 2001), from the last step backwards, for the heads "
            "that hold the role at the last step."
        )
    if atlas.agreement:
        sentences.append(
            "Labels of runs of one model by one rule were compared by Cohen's kappa over heads (Cohen, "
            "1960), with intervals over fresh samples of both inputs."
        )
    return sentences
