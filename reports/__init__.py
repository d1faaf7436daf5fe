"""Reports of finished runs:

one self-contained HTML page of a run, a comparison or a view, what terminals and notebooks show of it,
and its figures and tables for print. A report may import records, errors and parts of storage, never a
model or a test statistic. Start at report.py; README.md tells how to change one.
"""

from headroles.public import public_names

if __name__ != "headroles.reports":
    raise ImportError("this folder is the package headroles.reports; import it by that name")

__getattr__, __dir__, __all__ = public_names(
    __name__,
    {
        "cards": "cards_json spreads_of typical_inputs",
        "kinds.cluster_figures": "brackets ellipses leaves",
        "kinds.prune": "pruning_page",
        "html": "page_html page_of",
        "prints": "figures_of files_of",
        "print_maps": "matrix",
        "papers": "as_markdown latex_text table_text",
        "summary": "summarise",
        "view": "view_page",
        "works": "methods_document",
        "pictures": "view_svg",
    },
)
