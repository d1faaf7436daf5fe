"""Numbers on the pages of explanations and findings are those of the runs that the pages name."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import headroles

if TYPE_CHECKING:
    import pandas as pd

DOCS = Path(__file__).resolve().parents[2] / "docs"
WORDS = {
    "class token": "delimiter:cls",
    "special tokens": "delimiter",
    "neighbours": "local",
    "separators": "delimiter:sep",
    "own text": "block",
    "syntactic head": "syntactic",
    "adjective → noun": "syntactic:amod",
    "object → verb": "syntactic:obj",
    "adverb → head word": "syntactic:advmod",
    "subject → verb": "syntactic:nsubj",
}
"""Sieves by the names that the pages give them."""
HEAD = ["layer", "head"]

pytestmark = pytest.mark.release


def _page(name: str) -> str:
    """Return a page without bold."""
    return (DOCS / name).read_text("utf-8").replace("*", "")


def _row(page: str, first: str) -> list[str]:
    """Return the cells of the row of a table that begins with some words."""
    line = next(line for line in page.splitlines() if line.startswith(f"| {first} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of ``headroles label --task QNLI``."""
    folder = tmp_path_factory.mktemp("runs") / "QNLI"
    headroles.label("QNLI", out=str(folder))
    return folder


@pytest.fixture(scope="module")
def findings(run: Path) -> "pd.DataFrame":
    """The findings of its roles."""
    import pandas as pd

    table = pd.read_csv(run / "findings.csv")
    return table[table["sieve"].isin(WORDS.values())]


def test_counts_means_and_margins_are_those_of_the_run(run: Path, findings: "pd.DataFrame") -> None:
    import pandas as pd

    counts = findings["decision"].value_counts()
    names = ("role", "not", "explained", "undetermined")
    assert _row(_page("explanation/not.md"), "160")[1:] == [str(counts[name]) for name in names]
    precision = findings.merge(pd.read_csv(run / "precision.csv"), on=["sieve", *HEAD])
    absent = ((precision["decision"] == "not") & (precision["q_absent"] <= 0.05)).sum()
    labels = _page("explanation/labels.md")
    assert f"| {absent} of the {counts['not']} |" in labels
    assert all(f"| {counts[name]} |" in labels for name in names)
    table, page = pd.read_csv(run / "sensitivity.csv"), _page("explanation/margin.md")
    for words, sieve in WORDS.items():
        own = table[(table["convention"] == "margin") & (table["sieve"] == sieve)].set_index("value")["heads"]
        assert _row(page, words)[1:] == [str(own[float(at)]) for at in _row(page, "role")[1:]], words
    page = _page("findings/encoder.md")
    rows = re.findall(
        r"^\| (object → verb|adjective → noun) \| (\d)-(\d) \| ([^|]+) \|", page, flags=re.MULTILINE
    )
    assert len(rows) == 4
    for words, layer, head, text in rows:
        heads = findings[findings["sieve"] == WORDS[words]]
        row = heads[(heads["layer"] == int(layer)) & (heads["head"] == int(head))].iloc[0]
        assert text == f"{row['mean']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
    looking = (findings["decision"] == "role") & (findings["sieve"] == "delimiter:cls")
    assert _row(page, "heads that look at the class token")[1] == str(looking.sum())


def test_heads_judged_by_both_rules_are_counted_as_on_the_page(
    findings: "pd.DataFrame", tmp_path: Path
) -> None:
    import pandas as pd

    headroles.label("QNLI", preset="published", out=str(tmp_path / "published"))
    published = pd.read_csv(tmp_path / "published" / "findings.csv")
    page = _page("explanation/published.md")
    for words, sieve in WORDS.items():
        heads = [
            {tuple(head) for head in own.loc[own["decision"] == "role", HEAD].to_numpy().tolist()}
            for own in (table[table["sieve"] == sieve] for table in (published, findings))
        ]
        counts = [*map(len, heads), len(heads[0] & heads[1])]
        assert _row(page, words)[1] == " / ".join(map(str, counts)), words
