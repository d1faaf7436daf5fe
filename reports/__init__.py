"""A labelling on one page: summary, figures, self-contained HTML (plotly, jinja2)."""

if __name__ != "headroles.reports":
    raise ImportError("this folder is the package headroles.reports; import it by that name")
