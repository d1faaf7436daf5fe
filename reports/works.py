"""The methods of a result for a paper, with the works that it cites: as text, as LaTeX, or in BibTeX.

Works stand in ``works.bib``. Sentences cite them by their keys, as in "a test [@hall1992removal]".
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from headroles.errors import UnknownName
from headroles.records.atlas.atlas import Atlas
from headroles.records.comparison import Comparison
from headroles.records.findings import Labelling
from headroles.records.roles import phrase_of
from headroles.reports.methods import correction_work, paragraph
from headroles.stats.decision import TESTS

Result = Labelling | Comparison | Atlas
"""A run of any kind, a comparison, or an atlas."""
FORMS = ("markdown", "latex", "bibtex")
CITED = re.compile(r"\[(@\w+(?:; @\w+)*)\]")
"""Works in a sentence, by their keys."""
BIB = Path(__file__).with_name("works.bib")


@dataclass(frozen=True, slots=True)
class Work:
    """A work to cite.

    Attributes:
        kind: Kind of entry in BibTeX.
        key: Its key there.
        fields: Fields of the entry by name, in their order; "author" and "title" at least.
    """

    kind: str
    key: str
    fields: Mapping[str, str]

    @property
    def short(self) -> str:
        """Return authors and year as a sentence names them, such as "Hall, 1992"."""
        first, *others = (author.partition(",")[0] for author in self.fields["author"].split(" and "))
        joint = (
            " et al."
            if len(others) > 1 or others == ["others"]
            else "".join(f" and {name}" for name in others)
        )
        return f"{first}{joint}, {self.fields['year']}"

    @property
    def bibtex(self) -> str:
        """Return the entry, ending with a line feed."""
        lines = "".join(f"  {name} = {{{value}}},\n" for name, value in self.fields.items())
        return f"@{self.kind}{{{self.key},\n{lines}}}\n"

    @property
    def line(self) -> str:
        """Return the work as a line of a list of references."""
        of = self.fields
        place = of.get("booktitle") or of.get("journal") or of.get("howpublished") or ""
        if "volume" in of:
            place += f" {of['volume']}" + (f"({of['number']})" if "number" in of else "")
        title = of["title"].replace("{", "").replace("}", "")
        end = "" if title.endswith("?") else "."
        doi = f" doi:{of['doi']}" if "doi" in of else ""
        names = ", ".join(_name(author) for author in of["author"].split(" and "))
        return f"{names} ({of['year']}). {title}{end}{f' {place}.' if place else ''}{doi}"


@cache
def works() -> Mapping[str, Work]:
    """Return all works by their keys, in the order of the file.

    Example:
        >>> works()["hall1992removal"].short, works()["pande2021heads"].short
        ('Hall, 1992', 'Pande et al., 2021')
    """
    entries = re.findall(r"^@(\w+)\{(\w+),\n(.*?)^\}", BIB.read_text(encoding="utf-8"), re.M | re.S)
    return {
        key: Work(kind, key, dict(re.findall(r"^  (\w+) = \{(.*)\},$", body, re.M)))
        for kind, key, body in entries
    }


def methods_document(result: Result, form: str = "markdown") -> str:
    r"""Return the methods of a result, with the works that it cites.

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
    if form == "markdown":
        listed = sorted(works_cited(result), key=lambda work: work.fields["author"])
        lines = "".join(f"- {work.line}\n" for work in listed)
        return f"{methods_text(result)}\n\nReferences\n\n{lines}"
    from headroles.reports.papers import latex_text

    text = _with_works(
        latex_text(paragraph(result)),
        lambda named: f"\\citep{{{','.join(work.key for work in named)}}}",
    )
    version = latex_text(f"headroles {result.manifest.get('headroles')}")
    entries = "".join(f"% {line}".rstrip() + "\n" for line in citation_bibtex(result).splitlines())
    return text.replace(version, f"{version} \\citep{{headroles}}", 1) + f"\n\n{entries}"


def methods_text(result: Result) -> str:
    """Return the methods of a result as a paragraph without line breaks, works by authors and year."""
    return _with_works(paragraph(result), lambda named: f"({'; '.join(work.short for work in named)})")


def works_cited(result: Result) -> list[Work]:
    """Return the works that the methods of a result name, headroles left out.

    Those of roles stand first, in the order of the roles, then those of the test and of the correction.
    """
    named = {work.key for keys in CITED.findall(paragraph(result)) for work in _works(keys)}
    first: list[str] = []
    if not isinstance(result, Atlas):
        findings = result.before if isinstance(result, Comparison) else result.findings
        first = [key for name in findings.roles for key in phrase_of(name).works]
        first += [TESTS[result.decision.test].work] if result.decision.test in TESTS else []
        first += [correction_work(result.decision)]
    return [works()[key] for key in dict.fromkeys((*first, *works())) if key in named]


def citation_bibtex(result: Result) -> str:
    """Return BibTeX entries of headroles and of the works that a result cites.

    Returns:
        The entries, ending with a line feed. The version of headroles is left out where the run does not
        record it.
    """
    version = str(result.manifest.get("headroles") or "")
    fields = {
        "author": "{The headroles maintainers}",
        "title": "headroles: Statistical hypothesis tests for the roles of attention heads",
        "howpublished": "Software",
    }
    own = Work("misc", "headroles", fields | ({"note": f"Version {version}"} if version else {}))
    return "\n".join(work.bibtex for work in (own, *works_cited(result)))


def _with_works(text: str, write: Callable[[Sequence[Work]], str]) -> str:
    """Return text in which a function writes cited works; brackets with anything else stay as they are."""
    return CITED.sub(lambda found: write(named) if (named := _works(found[1])) else found[0], text)


def _works(keys: str) -> list[Work]:
    """Return the works of keys such as "@hall1992removal; @lin1991divergence"; [] where one is none."""
    named = [works().get(key.removeprefix("@")) for key in keys.split("; ")]
    return [work for work in named if work] if all(named) else []


def _name(author: str) -> str:
    """Return one author as a list of references writes the name.

    Example:
        >>> _name("Khapra, Mitesh M."), _name("others")
        ('M. M. Khapra', 'and others')
    """
    last, _, first = author.partition(", ")
    return " ".join([*(f"{part[0]}." for part in first.split()), last]) if first else f"and {last}"
