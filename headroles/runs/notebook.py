"""What runs of roles show in notebooks: answer, maps, one head, and a view of their model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from headroles.kinds import RunKind
from headroles.storage.folder import REPORT

if TYPE_CHECKING:
    from headroles.records.findings import Labelling
    from headroles.viewing.viewed import Viewed


class NotebookRun(RunKind):
    """A kind of run whose answer, maps and heads are shown in notebooks."""

    def notebook(self, labelling: Labelling) -> str:
        """Return the answer and the maps of all roles."""
        from headroles.reports.cell import notebook_html
        from headroles.reports.notebook import maps_html
        from headroles.reports.summary import summarise

        maps = maps_html(labelling, summarise(labelling))
        return notebook_html(self.answer(labelling), maps, self.report_path(labelling))

    def head_sentence(self, labelling: Labelling, layer: int, head: int) -> str:
        """Return what one head does."""
        from headroles.reports.kinds.label import head_sentences
        from headroles.reports.summary import summarise

        return head_sentences(summarise(labelling))[layer * labelling.scores.heads + head]

    def report_path(self, labelling: Labelling) -> Path | None:
        """Return the file of the report; None where the run has none on this machine."""
        if labelling.folder is None:
            return None
        path = Path(labelling.folder) / REPORT
        return path if path.is_file() else None

    def view(self, labelling: Labelling, text: str | None, text_b: str | None, **options: Any) -> Viewed:
        """Return the attention of the run's model over a text, with the roles of its heads."""
        from headroles.viewing.read import view

        return view(text, text_b, run=labelling, **options)
