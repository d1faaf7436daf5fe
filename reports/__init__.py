"""Reports of finished runs:

one self-contained HTML page of a run, a comparison or a view, and its figures and tables for print. Summaries
come first (records.py, summary/, words/), then figures and sections, then pages. A report may import records,
errors and parts of storage, never a model or a test statistic. Start at page.py.
"""

if __name__ != "headroles.reports":
    raise ImportError("this folder is the package headroles.reports; import it by that name")
