"""Works that a run rests on: headroles, the papers behind its sieves, its test and its correction."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headroles.records.atlas.atlas import Atlas
from headroles.records.comparison import Comparison
from headroles.records.findings import Labelling
from headroles.reports.causal.methods import WORKS as ABLATION
from headroles.reports.why.methods import works_of_origins
from headroles.reports.words.words import is_e_bh


@dataclass(frozen=True, slots=True)
class Reference:
    """A work to cite.

    Attributes:
        key: Its key in BibTeX.
        short: Authors and year as a sentence names them, such as "Hall, 1992".
        kind: Kind of entry in BibTeX.
        author: Authors in BibTeX's order of names.
        title: As it was published.
        year: Of publication; "" for software.
        more: Further fields of the entry, by name.
    """

    key: str
    short: str
    kind: str
    author: str
    title: str
    year: str
    more: tuple[tuple[str, str], ...] = ()


SERIES_B = "Journal of the Royal Statistical Society, Series B"
WORKS = (
    Reference(
        "pande2021heads", "Pande et al., 2021", "inproceedings",
        "Pande, Madhura and Budhraja, Aakriti and Nema, Preksha and Kumar, Pratyush and Khapra, Mitesh M.",
        "The heads hypothesis: A unifying statistical approach towards understanding multi-headed attention "
        "in {BERT}",
        "2021",
        (("booktitle", "Proceedings of the AAAI Conference on Artificial Intelligence"),
         ("doi", "10.1609/aaai.v35i15.17605")),
    ),
    Reference(
        "clark2019what", "Clark et al., 2019", "inproceedings",
        "Clark, Kevin and Khandelwal, Urvashi and Levy, Omer and Manning, Christopher D.",
        "What does {BERT} look at? {An} analysis of {BERT}'s attention",
        "2019",
        (("booktitle", "Proceedings of the 2019 ACL Workshop BlackboxNLP"), ("doi", "10.18653/v1/W19-4828")),
    ),
    Reference("vig2019deconstructing", "Vig, 2019", "misc", "Vig, Jesse", "Deconstructing {BERT}", "2019"),
    Reference(
        "voita2019analyzing", "Voita et al., 2019", "inproceedings",
        "Voita, Elena and Talbot, David and Moiseev, Fedor and Sennrich, Rico and Titov, Ivan",
        "Analyzing multi-head self-attention: Specialized heads do the heavy lifting, the rest can be pruned",
        "2019",
        (("booktitle", "Proceedings of ACL"), ("doi", "10.18653/v1/P19-1580")),
    ),
    Reference(
        "michel2019sixteen", "Michel et al., 2019", "inproceedings",
        "Michel, Paul and Levy, Omer and Neubig, Graham",
        "Are sixteen heads really better than one?", "2019",
        (("booktitle", "Advances in Neural Information Processing Systems"), ("volume", "32")),
    ),
    Reference(
        "olsson2022induction", "Olsson et al., 2022", "misc", "Olsson, Catherine and others",
        "In-context learning and induction heads", "2022",
        (("howpublished", "Transformer Circuits Thread"),),
    ),
    Reference(
        "wang2023interpretability", "Wang et al., 2023", "inproceedings",
        "Wang, Kevin and Variengien, Alexandre and Conmy, Arthur and Shlegeris, Buck and Steinhardt, Jacob",
        "Interpretability in the wild: A circuit for indirect object identification in {GPT}-2 small",
        "2023",
        (("booktitle", "International Conference on Learning Representations"),),
    ),
    Reference(
        "xiao2024sinks", "Xiao et al., 2024", "inproceedings",
        "Xiao, Guangxuan and Tian, Yuandong and Chen, Beidi and Han, Song and Lewis, Mike",
        "Efficient streaming language models with attention sinks",
        "2024",
        (("booktitle", "International Conference on Learning Representations"),),
    ),
    Reference(
        "kobayashi2020attention", "Kobayashi et al., 2020", "inproceedings",
        "Kobayashi, Goro and Kuribayashi, Tatsuki and Yokoi, Sho and Inui, Kentaro",
        "Attention is not only a weight: Analyzing transformers with vector norms",
        "2020",
        (("booktitle", "Proceedings of EMNLP"), ("doi", "10.18653/v1/2020.emnlp-main.574")),
    ),
    Reference(
        "hall1992removal", "Hall, 1992", "article", "Hall, Peter",
        "On the removal of skewness by transformation", "1992",
        (("journal", SERIES_B), ("volume", "54"), ("number", "1")),
    ),
    Reference(
        "waudbysmith2024estimating", "Waudby-Smith and Ramdas, 2024", "article",
        "Waudby-Smith, Ian and Ramdas, Aaditya",
        "Estimating means of bounded random variables by betting", "2024",
        (("journal", SERIES_B), ("volume", "86"), ("number", "1")),
    ),
    Reference(
        "wang2022false", "Wang and Ramdas, 2022", "article", "Wang, Ruodu and Ramdas, Aaditya",
        "False discovery rate control with e-values", "2022",
        (("journal", SERIES_B), ("volume", "84"), ("number", "3")),
    ),
    Reference(
        "benjamini1995controlling", "Benjamini and Hochberg, 1995", "article",
        "Benjamini, Yoav and Hochberg, Yosef",
        "Controlling the false discovery rate: A practical and powerful approach to multiple testing",
        "1995",
        (("journal", SERIES_B), ("volume", "57"), ("number", "1")),
    ),
    Reference(
        "benjamini2001control", "Benjamini and Yekutieli, 2001", "article",
        "Benjamini, Yoav and Yekutieli, Daniel",
        "The control of the false discovery rate in multiple testing under dependency",
        "2001",
        (("journal", "The Annals of Statistics"), ("volume", "29"), ("number", "4")),
    ),
    Reference(
        "holm1979simple", "Holm, 1979", "article", "Holm, Sture",
        "A simple sequentially rejective multiple test procedure", "1979",
        (("journal", "Scandinavian Journal of Statistics"), ("volume", "6"), ("number", "2")),
    ),
    Reference(
        "romano2005exact", "Romano and Wolf, 2005", "article", "Romano, Joseph P. and Wolf, Michael",
        "Exact and approximate stepdown methods for multiple hypothesis testing", "2005",
        (("journal", "Journal of the American Statistical Association"), ("volume", "100"),
         ("number", "469")),
    ),
    Reference(
        "schuirmann1987comparison", "Schuirmann, 1987", "article", "Schuirmann, Donald J.",
        "A comparison of the two one-sided tests procedure and the power approach for assessing the "
        "equivalence of average bioavailability",
        "1987",
        (("journal", "Journal of Pharmacokinetics and Biopharmaceutics"), ("volume", "15")),
    ),
    Reference(
        "lin1991divergence", "Lin, 1991", "article", "Lin, Jianhua",
        "Divergence measures based on the {Shannon} entropy", "1991",
        (("journal", "IEEE Transactions on Information Theory"), ("volume", "37"), ("number", "1")),
    ),
    Reference(
        "cohen1960coefficient", "Cohen, 1960", "article", "Cohen, Jacob",
        "A coefficient of agreement for nominal scales", "1960",
        (("journal", "Educational and Psychological Measurement"), ("volume", "20"), ("number", "1"),
         ("pages", "37--46"), ("doi", "10.1177/001316446002000104")),
    ),
    Reference(
        "benjamini2008screening", "Benjamini and Heller, 2008", "article",
        "Benjamini, Yoav and Heller, Ruth", "Screening for partial conjunction hypotheses", "2008",
        (("journal", "Biometrics"), ("volume", "64"), ("number", "4"), ("pages", "1215--1222")),
    ),
    Reference(
        "paule1982consensus", "Paule and Mandel, 1982", "article", "Paule, Robert C. and Mandel, John",
        "Consensus values and weighting factors", "1982",
        (("journal", "Journal of Research of the National Bureau of Standards"), ("volume", "87"),
         ("number", "5"), ("pages", "377--385")),
    ),
    Reference(
        "hartung2001refined", "Hartung and Knapp, 2001", "article", "Hartung, Joachim and Knapp, Guido",
        "A refined method for the meta-analysis of controlled clinical trials with binary outcome", "2001",
        (("journal", "Statistics in Medicine"), ("volume", "20"), ("number", "24"), ("pages", "3875--3889")),
    ),
    Reference(
        "westfall2001optimally", "Westfall and Krishen, 2001", "article",
        "Westfall, Peter H. and Krishen, Alok",
        "Optimally weighted, fixed sequence and gatekeeper multiple testing procedures", "2001",
        (("journal", "Journal of Statistical Planning and Inference"), ("volume", "99"), ("number", "1"),
         ("pages", "25--40")),
    ),
    Reference(
        "fieller1954some", "Fieller, 1954", "article", "Fieller, Edgar C.",
        "Some problems in interval estimation", "1954",
        (("journal", SERIES_B), ("volume", "16"), ("number", "2"), ("pages", "175--185")),
    ),
    Reference(
        "benjamini2014selective", "Benjamini and Bogomolov, 2014", "article",
        "Benjamini, Yoav and Bogomolov, Marina",
        "Selective inference on multiple families of hypotheses", "2014",
        (("journal", SERIES_B), ("volume", "76"), ("number", "1"), ("pages", "297--318")),
    ),
    Reference(
        "mezzadri2007how", "Mezzadri, 2007", "article", "Mezzadri, Francesco",
        "How to generate random matrices from the classical compact groups", "2007",
        (("journal", "Notices of the American Mathematical Society"), ("volume", "54"), ("number", "5"),
         ("pages", "592--604")),
    ),
    Reference(
        "lee2026decomposing", "Lee et al., 2026", "misc",
        "Lee, Andrew and Belinkov, Yonatan and Viégas, Fernanda and Wattenberg, Martin",
        "Decomposing query-key feature interactions using contrastive covariances", "2026",
        (("howpublished", "arXiv:2602.04752"),),
    ),
)  # fmt: skip
"""All works that a methods text can cite, headroles left out."""
BY_SHORT = {work.short: work for work in WORKS}
NORMS = "Kobayashi et al., 2020"
SIEVES = {
    "local": ("Pande et al., 2021",),
    "delimiter": ("Pande et al., 2021", "Clark et al., 2019"),
    "block": ("Pande et al., 2021",),
    "syntactic": ("Pande et al., 2021", "Clark et al., 2019"),
    "coreference": ("Clark et al., 2019",),
    "punctuation": ("Clark et al., 2019",),
    "previous": ("Clark et al., 2019",),
    "next": ("Clark et al., 2019",),
    "self": ("Clark et al., 2019",),
    "offset": ("Clark et al., 2019",),
    "first": ("Xiao et al., 2024", "Clark et al., 2019"),
    "identical": ("Vig, 2019",),
    "related": ("Vig, 2019",),
    "subword": ("Vig, 2019",),
    "bag-of-words": ("Vig, 2019",),
    "duplicate": ("Wang et al., 2023",),
    "induction": ("Olsson et al., 2022",),
    "rare": ("Voita et al., 2019",),
    "parked": ("Clark et al., 2019", NORMS),
    "surface": ("Clark et al., 2019",),
    "dependency": ("Clark et al., 2019",),
    "trees": ("Clark et al., 2019",),
}
"""Papers behind sieves, probes and statistics, by the first part of the name."""
TESTS = {"t-skew": "Hall, 1992", "betting": "Waudby-Smith and Ramdas, 2024"}
CORRECTIONS = {
    "fdr_bh": "Benjamini and Hochberg, 1995",
    "fdr_by": "Benjamini and Yekutieli, 2001",
    "holm": "Holm, 1979",
    "maxT": "Romano and Wolf, 2005",
}


def cited_correction(test: str, correction: str) -> str:
    """Return the short reference of a correction; "" for none.

    Example:
        >>> cited_correction("t", "fdr_bh"), cited_correction("betting", "fdr_bh")
        ('Benjamini and Hochberg, 1995', 'Wang and Ramdas, 2022')
    """
    return "Wang and Ramdas, 2022" if is_e_bh(test, correction) else CORRECTIONS.get(correction, "")


def works_of(names: Iterable[str], test: str, correction: str, others: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the short references of sieves, a test and a correction, each once.

    Args:
        names: Names of the roles of a run.
        test: Name of the test.
        correction: Name of the correction.
        others: Further short references.

    Example:
        >>> works_of(["local", "mine"], "t-skew", "holm")
        ('Pande et al., 2021', 'Hall, 1992', 'Holm, 1979')
    """
    sieves = [work for name in names for work in SIEVES.get(name.partition(":")[0], ())]
    rest = (TESTS.get(test, ""), cited_correction(test, correction), *others)
    return tuple(dict.fromkeys(work for work in (*sieves, *rest) if work))


def reads_norms(manifest: Mapping[str, Any]) -> bool:
    """Return whether a run read attention weighted by the norms of values.

    Example:
        >>> reads_norms({"model": {"name": "m", "weights": "norm"}}), reads_norms({})
        (True, False)
    """
    model = manifest.get("model")
    return isinstance(model, Mapping) and model.get("weights") == "norm"


def works_cited(result: Labelling | Comparison | Atlas) -> tuple[Reference, ...]:
    """Return the works that the methods of a run, a comparison or an atlas cite, headroles left out."""
    if isinstance(result, Atlas):
        return _of_atlas(result)
    if isinstance(result, Comparison):
        others: tuple[str, ...] = ("Schuirmann, 1987",)
        names = result.before.roles
    else:
        names = result.findings.roles
        others = ("Lin, 1991",) if result.clustered is not None else ()
        if result.ablated is not None:
            names = ()
            others = ABLATION
        if result.origins is not None:
            names, others = (), works_of_origins(result)
        others += (NORMS,) if reads_norms(result.manifest) else ()
    decision = result.decision
    return tuple(BY_SHORT[work] for work in works_of(names, decision.test, decision.correction, others))


def _of_atlas(atlas: Atlas) -> tuple[Reference, ...]:
    """Return the works that an atlas cites."""
    pooled = any(row.mean == row.mean for row in atlas.consensus)
    cited = {
        "Cohen, 1960": bool(atlas.agreement),
        "Benjamini and Heller, 2008": bool(atlas.consensus),
        "Paule and Mandel, 1982": pooled,
        "Hartung and Knapp, 2001": pooled,
        "Westfall and Krishen, 2001": bool(atlas.steps),
    }
    return tuple(BY_SHORT[name] for name, used in cited.items() if used)


def citation_bibtex(result: Labelling | Comparison | Atlas) -> str:
    """Return BibTeX entries of headroles and of the works that a run, a comparison or an atlas cites.

    Returns:
        The entries, ending with a line feed. The version of headroles is left out where the run does not
        record it.
    """
    version = str(result.manifest.get("headroles") or "")
    own = Reference(
        "headroles", "headroles", "misc", "{The headroles maintainers}",
        "headroles: Statistical hypothesis tests for the roles of attention heads", "",
        (("howpublished", "Software"), *([("note", f"Version {version}")] if version else [])),
    )  # fmt: skip
    return "\n".join(_entry(work) for work in (own, *works_cited(result)))


def _entry(work: Reference) -> str:
    """Return a work as an entry of BibTeX."""
    values = (("author", work.author), ("title", work.title), *work.more, ("year", work.year))
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in values if value)
    return f"@{work.kind}{{{work.key},\n{lines}}}\n"


def reference_list(result: Labelling | Comparison | Atlas) -> str:
    """Return the works that a result cites as lines of text, in the order of their names."""
    return "".join(f"- {_line(work)}\n" for work in sorted(works_cited(result), key=lambda work: work.author))


def _line(work: Reference) -> str:
    """Return a work as a line of a list of references."""
    fields = dict(work.more)
    place = fields.get("booktitle") or fields.get("journal") or fields.get("howpublished") or ""
    if "volume" in fields:
        place += f" {fields['volume']}" + (f"({fields['number']})" if "number" in fields else "")
    title = work.title.replace("{", "").replace("}", "")
    names = [_name(author) for author in work.author.split(" and ")]
    end = "" if title.endswith("?") else "."
    doi = f" doi:{fields['doi']}" if "doi" in fields else ""
    return f"{', '.join(names)} ({work.year}). {title}{end}{f' {place}.' if place else ''}{doi}"


def _name(author: str) -> str:
    """Return one author as a list of references writes the name.

    Example:
        >>> _name("Khapra, Mitesh M."), _name("others")
        ('M. M. Khapra', 'and others')
    """
    last, _, first = author.partition(", ")
    return " ".join([*(f"{part[0]}." for part in first.split()), last]) if first else f"and {last}"
