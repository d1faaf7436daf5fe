"""What one head of a surface run looks at, in one sentence."""

from headroles.records.findings import Labelling
from headroles.records.shown.phrases import phrase_of
from headroles.reports.words.surface import ENTROPIES, ROWS
from headroles.reports.words.words import isolate, join_names

ABOVE = 0
"""Code of the decision "above"."""


def head_sentence(labelling: Labelling, layer: int, head: int) -> str:
    """Return where one head looks more than even attention does.

    Args:
        labelling: Of a surface run.
        layer: Its layer, from 0.
        head: Its head within the layer, from 0.
    """
    findings = labelling.findings
    above = [
        name
        for name in findings.roles
        if name not in (*ENTROPIES, *ROWS) and findings.decision[findings.of(name), layer, head] == ABOVE
    ]
    if not above:
        return f"{layer}-{head} looks at nothing that was tested more than even attention does."
    places = [isolate(phrase_of(name).one.partition(" ")[2]) for name in above]
    return f"{layer}-{head} looks {join_names(places)} more than even attention does."
