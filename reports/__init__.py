"""Reports of finished runs:

one self-contained HTML page of a run, a comparison or a view, and its figures and tables for print. Summaries
come first (account.py, summary.py, words/), then figures and sections, then pages. A report may import
records, errors and parts of storage, never a model or a test statistic. Start at report.py.
"""

from headroles.public import public_names

if __name__ != "headroles.reports":
    raise ImportError("this folder is the package headroles.reports; import it by that name")

__getattr__, __dir__, __all__ = public_names(
    __name__,
    {
        "cards": "cards_json spreads_of typical_inputs",
        "cluster_figures": "brackets ellipses leaves",
        "prune": "pruning_page",
        "html": "page_html page_of",
        "prints": "figures_of",
        "print.files": "files_of",
        "print_maps": "matrix",
        "print.tables": "table_text",
        "print.writers": "as_markdown latex_text",
        "sheets": "Sheet word_cell",
        "summary": "summarise",
        "view": "view_page",
        "pictures": "view_svg",
    },
)
