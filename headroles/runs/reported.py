"""Kinds of run with one report: page, terminal, notebook, tables and figures are made from it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from headroles.runs.notebook import NotebookRun

if TYPE_CHECKING:
    from headroles.records.findings import Labelling
    from headroles.reports.answer import Answer
    from headroles.reports.report import Report


class ReportedRun(NotebookRun):
    """A kind of run that builds one report."""

    @abstractmethod
    def report(self, labelling: Labelling) -> Report:
        """Return the report of a run: its answer, and its sections as blocks."""

    def page(self, labelling: Labelling) -> str:
        """Return the page: one HTML file that requests nothing."""
        from headroles.reports.html import page_html

        return page_html(self.report(labelling))

    def notebook(self, labelling: Labelling) -> str:
        """Return the answer and tables as HTML for notebooks."""
        from headroles.reports.cell import notebook_html

        report = self.report(labelling)
        return notebook_html(report.answer, report.cell(), self.report_path(labelling))

    def answer(self, labelling: Labelling) -> Answer:
        """Return what the run found in a few plain sentences."""
        return self.report(labelling).answer

    def tables(self, labelling: Labelling) -> Mapping[str, Callable[[], Any]]:
        """Return functions that make the tables for papers, by name; the first is the main one."""
        return self.report(labelling).tables

    def figures(self, labelling: Labelling, width: float) -> Mapping[str, Any]:
        """Return the figures of the report by name, with legends."""
        from headroles.reports.prints import figures_for_print

        return figures_for_print(self.report(labelling), width)

    def show(self, console: Any, labelling: Labelling, folder: str, detail: Any) -> None:
        """Print the report on a terminal, as ``detail`` says, and the place of the page last."""
        from headroles.reports.terminal import show

        show(console, self.report(labelling), folder, detail)
