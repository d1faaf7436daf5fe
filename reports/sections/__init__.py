"""Parts of the page:

probes, and tables that sort. A module here may import figures, summary and words of reports, but no
page. Start at probe_sheets.py for Cell and Sheet, which every
sorted table uses, then at the section of interest.
"""
