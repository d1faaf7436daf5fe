"""The words of a report, each explained once."""

from headroles.records.numbers import share
from headroles.records.roles import CLASS, CONTROLS, TAKES, VALUES
from headroles.reports.records import Summary
from headroles.reports.words.words import ABSENT, POWER, STEADY, promise
from headroles.stats.decision import ENOUGH_FOR_NOT

BEYOND = {
    CONTROLS[CLASS]: (
        " Distance, nearness, frequency, the length of the sentence, and the classes of both words and of "
        "those beside them do not explain it. Rules over the classes of a clause, and of single words, may."
    )
}
"""What a strong role excludes and what it does not, by what its second contrast controls for."""


def glossary(summary: Summary) -> tuple[tuple[str, str], ...]:
    """Return the words that the report of a run uses, each with its meaning in a sentence or two."""
    contrast = any(role.contrast and role.control != CONTROLS[VALUES] for role in summary.roles)
    values = any(role.control == CONTROLS[VALUES] for role in summary.roles)
    bounded = any(role.bounded for role in summary.roles)
    stronger = sorted({role.stronger for role in summary.roles if role.tally.strong})
    steady = any(support.steady is not None for support in summary.supports)
    terms = [
        ("score", "How far a head attends to the keys of a role beyond what even attention would give."),
        ("threshold", "Chance plus a margin. A mean below it is too small to count."),
        (
            "role",
            f"The mean lies significantly above the threshold{', and so does the contrast' * contrast}.",
        ),
    ]
    if contrast:
        terms += [
            (
                "contrast",
                "The score against keys at the same distance or position. Nearness alone cannot pass it.",
            ),
            (
                "explained by distance or position",
                "The mean lies significantly above the threshold, but the contrast significantly below its "
                "margin. Nearness or position alone gives the score.",
            ),
        ]
    if values:
        terms += [
            (
                "parked",
                "The mean lies significantly above the threshold, but significantly below it where attention "
                "is weighted by the norms of the values that it moves. Norms are relative to the other "
                "values of the head: a head whose values are all small is not parked for that.",
            ),
            (
                TAKES,
                "Both means lie significantly above the threshold: relative to its other values, the head "
                "takes more there. All of its values may be small, or the same at every token.",
            ),
        ]
    terms += [
        (f"beyond {kind}", f"A strong role: it holds beyond {kind}, too.{BEYOND.get(kind, '')}")
        for kind in stronger
    ]
    few = f"Fewer than {ENOUGH_FOR_NOT} units never show that."
    terms.append(("not", f"The mean lies significantly below the threshold. {few}"))
    if bounded:
        terms.append(("absent", f"The mean lies significantly within ± {ABSENT:g} of chance."))
    terms += [
        ("undetermined", "The inputs do not decide, or a label would depend on few units."),
        ("untestable", "Fewer than two units have a score, or scores have no spread or no known bounds."),
        (
            "interval",
            "A 95\u00a0% interval of the mean, not adjusted for selection. "
            "That of the strongest head is a little high.",
        ),
    ]
    if steady:
        terms.append(
            (
                "stable",
                f"A fresh sample of as many units gives the label again with a probability of at least "
                f"{share(STEADY)}. It is no probability of being true.",
            )
        )
    if summary.supports:
        size = "The smallest (mean − threshold) / standard deviation"
        terms.append(("detectable effect", f"{size} that a t test finds with power {POWER}."))
    return (*terms, ("error rate", promise(summary.decision)))
