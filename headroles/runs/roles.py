"""What kinds of run share that show roles of heads: report, figures and families of tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headroles.runs.notebook import NotebookRun

if TYPE_CHECKING:
    from headroles.records.findings import Labelling


class RolesRun(NotebookRun):
    """A kind of run whose report shows the roles of heads."""

    def families(self, labelling: Labelling) -> Mapping[str, str]:
        """Return the tests that a run corrects together, in words, by the name of the family."""
        from headroles.reports.print.captions import families_of

        return families_of(labelling)

    def figures(self, labelling: Labelling, width: float) -> Mapping[str, Any]:
        """Return the figures of the report."""
        from headroles.reports.print.figures import role_plots

        return role_plots(labelling, width)
