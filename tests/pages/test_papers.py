"""Tables and methods for papers: the report's numbers, names that stay text, and every digit in CSV."""

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headroles
from headroles.records import Cell, Decision, Labelling, Rule, Sheet
from headroles.reports import as_markdown, latex_text, summarise, table_text
from tests.support.made_runs import made_run
from tests.support.pages import result

LOUD = "<b>loud</b> | 50 % & $x_1$ \\input{x} \u202e😀"


@pytest.fixture(scope="module")
def hostile() -> Labelling:
    """Two layers of three heads; a name with everything that Markdown and LaTeX take for commands."""
    names = ("local", LOUD, "local:matched", "never")
    chance = np.random.default_rng(2)
    level = chance.beta(0.6, 1.2, size=(4, 1, 2, 3))
    level[3] = -0.5
    values = (level + chance.normal(0, 0.1, size=(4, 60, 2, 3))).clip(-1, 1)
    rules = [Rule(name, low=-1.0, high=1.0) for name in names]
    rules[0] = Rule("local", contrast="local:matched", low=-1.0, high=1.0)
    rules[2] = Rule("local:matched", margin=0.05, role=False, low=-1.0, high=1.0)
    return made_run(rules, values, facts={"model": {"name": "tiny"}, "task": "QNLI"})


def _read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_has_every_digit_of_roles_heads_and_findings(hostile: Labelling) -> None:
    found, summary = hostile.findings, summarise(hostile)
    rows = _read(table_text(hostile, "roles", "csv"))
    assert [row["role"] for row in rows] == ["local", LOUD, "never"]
    for row, role in zip(rows[:2], summary.roles, strict=False):
        at = (found.of(row["role"]), int(row["layer"]), int(row["head"]))
        for column in ("mean", "low", "high", "q"):
            assert float(row[column]) == float(getattr(found, column)[at])
        assert float(row["threshold"]) == role.threshold
    at = (found.of("local:matched"), int(rows[0]["layer"]), int(rows[0]["head"]))
    for column, name in (("contrast", "mean"), ("contrast_low", "low"), ("contrast_high", "high")):
        assert float(rows[0][column]) == float(getattr(found, name)[at])
    assert rows[2]["mean"] == rows[2]["q"] == rows[1]["contrast"] == ""
    frame, told = hostile.frame(), _read(table_text(hostile, "findings", "csv"))
    assert list(told[0]) == list(frame.columns)
    for name in ("mean", "null", "effect", "q", "q_not"):
        values = [float(row[name] or "nan") for row in told]
        assert values == pytest.approx(frame[name].tolist(), rel=0, nan_ok=True)
    rows = _read(table_text(hostile, "heads", "csv"))
    assert [row["roles"] for row in rows] == hostile.labels()["roles"].tolist()
    for row in rows:
        names = [name for name in found.roles if name in row["roles"].split(";")]
        here = (int(row["layer"]), int(row["head"]))
        effects = {name: float(found.effect[(found.of(name), *here)]) for name in names}
        assert row["strongest"] == max(effects, key=lambda name: effects[name], default="")
        assert row["effect"] == (str(max(effects.values())) if effects else "")


ACTIVE = list("\\{}$&#%_^~<>|\"'`[]*-!?\n\r\t\u202e")
LETTERS = st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from(ACTIVE)), max_size=30)
COMMANDS = (
    r"\\(?:text(?:backslash|asciicircum|asciitilde|less|greater|bar|quotedbl|quotesingle|asciigrave)\{\}"
    r"|ldots\{\}|[{}$&#%_])|\$(?:-|\\(?:times|pm|leq|geq|infty|theta|rightarrow|leftarrow|partial))\$"
    r"|\{[\[*]\}|-\{\}"
)


@given(LETTERS)
def test_latex_never_sees_a_command_in_a_name(name: str) -> None:
    rest = re.sub(COMMANDS, "", latex_text(name))
    assert not re.search(r"[\\{}$&#%_^<>|\"\n\r]", rest)
    assert not re.match(r"[\[*]", latex_text(name))
    assert "\u202e" not in rest


@given(st.lists(st.lists(LETTERS, min_size=2, max_size=2).map(tuple), min_size=1, max_size=3))
def test_a_markdown_row_has_as_many_cells_as_columns(rows: list[tuple[str, ...]]) -> None:
    sheet = Sheet("", ("one", "two"), tuple(tuple(Cell(text, text) for text in row) for row in rows))
    lines = as_markdown(sheet, "a caption").split("\n")
    assert len(lines) == 5 + len(rows)
    for line in lines[2:-1]:
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 3
        assert not re.search(r"(?<!\\)(?:\\\\)*<[A-Za-z/!?]", line)


# methods


@pytest.mark.parametrize("kind", ["label", "probe", "surface", "cluster", "compare", "ablate", "why"])
def test_every_citation_of_the_methods_has_an_entry_and_every_entry_is_cited(kind: str) -> None:
    run = result(kind)
    paragraph = headroles.methods(run).split("\n\n")[0]
    entries, latex = headroles.methods(run, "bibtex"), headroles.methods(run, "latex")
    cited = re.findall(r"([A-Z][\w’'-]+)(?: et al\.| and [A-Z][\w-]+)?, ((?:19|20)\d\d)", paragraph)
    assert cited
    keys = re.findall(r"@\w+\{([^,]+),", entries)
    for author, year in cited:
        plain_key = author.lower().replace("-", "")
        assert any(year in key and key.startswith(plain_key[:4]) for key in keys), (author, year)
    assert len(keys) == len(set(keys)) == 1 + len(set(cited))  # headroles itself is cited by its version
    for key in set(keys) - {"headroles"}:
        assert key in latex


def test_the_methods_of_a_real_run_follow_its_settings() -> None:
    folder = Path(__file__).resolve().parents[1] / "contract" / "recorded" / "label" / "run"
    real = headroles.load(folder)
    assert headroles.methods(folder) == headroles.methods(real)
    held = {name: real.frame().query(f"sieve == '{name}'").decision == "role" for name in real.findings.roles}
    some = np.any([*held.values()], axis=0)
    found = f"After this correction, a role was found in {some.sum()} of {some.size} heads: "
    parts = set(re.split(", | and |; ", headroles.methods(real).split(found)[1].split(".")[0]))
    assert {f"{name} in {rows.sum()}" for name, rows in held.items() if rows.sum()} <= parts
    counts, settings_ = (dict(real.manifest[name]) for name in ("counts", "settings"))
    for count, setting, words in (
        ({"truncated": 0}, {}, "No input was longer than 48 tokens."),
        ({"examples": 20}, {"limit": 20}, "20 of 60 rows were drawn at random with seed 0."),
        ({"examples": 20}, {"first": 20}, "Only the first 20 of 60 rows were read."),
    ):
        changed = {"counts": counts | count, "settings": settings_ | setting}
        assert words in headroles.methods(replace(real, manifest=dict(real.manifest) | changed)), words
    bare = headroles.methods(replace(real, manifest={}, skipped=(), assessment=None))
    for word in ("SHA-256", "None", "nan", "Software", "withheld", "Left out", "parser"):
        assert word not in bare.split("\n\n")[0]
    for decision, words in (
        (replace(real.decision, correction="none"), "not corrected"),
        (replace(real.decision, correction="holm"), "Holm, 1979"),
        (replace(real.decision, correction="fdr_by"), "Yekutieli, 2001"),
        (Decision(test="betting", correction="fdr_bh"), "Wang and Ramdas, 2022"),
    ):
        assert words in headroles.methods(replace(real, decision=decision))
