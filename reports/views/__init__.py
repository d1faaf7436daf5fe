"""Pages and pictures of attention over one input:

an interactive HTML page and a static SVG. A module here may import the token and array encoding of
reports.sections, reports.words and the records of views. Start at page.py for the HTML page and at svg.py for
the picture.
"""
