"""The methods of an atlas, as sentences for a paper."""

from headroles.records.assessment import MIDDLE, NEAR
from headroles.records.atlas.atlas import Atlas
from headroles.reports.words.words import isolate, join_names, plural


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
    if atlas.agreement:
        sentences.append(
            "Labels of runs of one model by one rule were compared by Cohen's kappa over heads (Cohen, "
            "1960), with intervals over fresh samples of both inputs."
        )
    return sentences
