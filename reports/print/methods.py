"""The methods of a run or a comparison for a paper: text with references, or LaTeX with BibTeX."""

import re

from headroles.errors import UnknownName
from headroles.records.atlas.atlas import Atlas
from headroles.records.comparison import Comparison
from headroles.records.findings import Labelling
from headroles.reports.print.writers import latex_text
from headroles.reports.words.citations import BY_SHORT, citation_bibtex, reference_list
from headroles.reports.words.methods import methods_text

FORMS = ("markdown", "latex", "bibtex")


def methods_document(result: Labelling | Comparison | Atlas, form: str = "markdown") -> str:
    r"""Return the methods of a run, a comparison or an atlas, with the works that it cites.

    Args:
        result: A run of any kind, a comparison, or an atlas.
        form: "markdown" for a paragraph and a list of references, "latex" for a paragraph with ``\citep`` and
            the entries of BibTeX as comments, or "bibtex" for these entries alone.

    Returns:
        The text, ending with a line feed.

    Raises:
        UnknownName: When there is no such form.
    """
    if not isinstance(form, str) or form not in FORMS:
        raise UnknownName("form of methods", form, FORMS)
    if form == "bibtex":
        return citation_bibtex(result)
    text = methods_text(result)
    if form == "markdown":
        return f"{text}\n\nReferences\n\n{reference_list(result)}"
    entries = "".join(f"% {line}".rstrip() + "\n" for line in citation_bibtex(result).splitlines())
    version = latex_text(f"headroles {result.manifest.get('headroles')}")
    cited = _with_citations(latex_text(text)).replace(version, f"{version} \\citep{{headroles}}", 1)
    return f"{cited}\n\n{entries}"


def _with_citations(text: str) -> str:
    r"""Return text of LaTeX in which keys of BibTeX replace authors and years in brackets.

    Example:
        >>> print(_with_citations("a test (Hall, 1992) of (x)"))
        a test \citep{hall1992removal} of (x)
    """
    short = "|".join(re.escape(name) for name in BY_SHORT)

    def cite(match: re.Match[str]) -> str:
        keys = (BY_SHORT[name].key for name in match[1].split("; "))
        return f"\\citep{{{','.join(keys)}}}"

    return re.sub(rf"\(((?:{short})(?:; (?:{short}))*)\)", cite, text)
