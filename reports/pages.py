"""The page of a labelling, by the kind of run it comes from."""

from headroles.records.findings import Labelling
from headroles.reports.page import page
from headroles.reports.surface_page import surface_page


def page_of(labelling: Labelling) -> str:
    """The report of any run folder: one HTML file that asks for nothing from anywhere."""
    return page(labelling) if labelling.surface is None else surface_page(labelling)
