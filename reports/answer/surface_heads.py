"""What one head of a surface run looks at, in one sentence."""

from headroles.records.findings import Labelling
from headroles.records.numbers import isolate, join_names
from headroles.records.roles import phrase_of
from headroles.reports.words.surface import ENTROPIES, ROWS

ABOVE = 0
"""Code of the decision "above"."""


def head_sentence(labelling: Labelling, layer: int, head: int) -> str:
    """Return where one head looks more than even attention does.

    Args:
        labelling: Of a surface run.
        layer: Place of its layer among those that are read.
        head: Its head within the layer, from 0.
    """
    findings, name = labelling.findings, labelling.scores.stack.name(layer, head)
    above = [
        role
        for role in findings.roles
        if role not in (*ENTROPIES, *ROWS) and findings.decision[findings.of(role), layer, head] == ABOVE
    ]
    if not above:
        return f"{name} looks at nothing that was tested more than even attention does."
    places = [isolate(phrase_of(role).one.partition(" ")[2]) for role in above]
    return f"{name} looks {join_names(places)} more than even attention does."
