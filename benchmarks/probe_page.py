"""Write the figures of docs/findings/probes.md from probes.json beside it, and that file from finished runs.

Without ``--runs`` only the page is written, from the stored figures. With it, FOLDER holds the runs of
``COMMANDS`` by their names, each with its defaults. Figures of trained probes, of LitBank and of given roots
take hours. They are carried over from the stored file.
"""

import json
import re
import textwrap
from pathlib import Path
from typing import Any

import click
import pandas as pd

import headroles

DOCS = Path(__file__).resolve().parents[1] / "docs" / "findings"
COMMANDS = {
    "ewt": "dependency trees --data en_ewt-ud-dev.conllu.gz",
    "gum": "dependency --data en_gum-ud-dev.conllu.gz",
    "gumcoref": "dependency coreference --data en_gum-ud-dev.conllu.gz",
    "ontogum": "coreference --data ontogum_dev.conll.gz",
    "gap": "coreference --data gap-validation.tsv",
    "wino1": "coreference --data pro_stereotyped_type1.txt.dev --data anti_stereotyped_type1.txt.dev",
    "wino2": "coreference --data pro_stereotyped_type2.txt.dev --data anti_stereotyped_type2.txt.dev",
}
"""Runs behind the figures: what follows ``headroles probe``."""
SHOWN = (
    "all", "det", "obj", "nsubj", "case", "aux", "cop", "xcomp", "ccomp", "nmod:poss", "amod", "compound",
    "acl",
)  # fmt: skip
"""Relations in the table."""
MENTIONS = ("all", "pronoun", "proper", "nominal")
HELD = "role"
WORDS = {HELD: "beyond", "not": "not", "undetermined": "undetermined", "untestable": "untestable"}
"""Decisions as findings.csv and the page name them."""
CORPORA = {"gumcoref": "GUM dev", "ontogum": "OntoGUM dev"}
BLOCK = re.compile(r"(<!-- figures: ([a-z-]+) -->\n).*?(<!-- end of figures -->\n)", re.DOTALL)

Figures = dict[str, Any]


def read_run(folder: Path) -> Figures:
    """Return the figures of a run: best heads, baselines, decisions, conditions, and what was lost."""
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    probe, findings = manifest["probe"], pd.read_csv(folder / "findings.csv")
    facts: Figures = {
        "counts": manifest["counts"],
        "halves": probe["halves"],
        "lost": (probe.get("windows") or {}).get("lost", {}),
        "published": probe["published"],
        "best": _records(pd.read_csv(folder / "best.csv", dtype={"baseline": str}).set_index("row")),
        "baselines": _baselines(pd.read_csv(folder / "baselines.csv", dtype={"baseline": str})),
        "decisions": _decisions(findings),
    }
    if (folder / "conditions.csv").exists():
        conditions = pd.read_csv(folder / "conditions.csv")
        conditions["head"] = conditions["layer"].astype(str) + "-" + conditions["head"].astype(str)
        facts["conditions"] = {
            measure: _records(own.set_index("head").drop(columns=["layer", "measure"]))
            for measure, own in conditions.groupby("measure")
        }
    return facts


def _records(table: pd.DataFrame) -> Figures:
    """Return the rows of a table by its index, with numbers to six digits and None for no number."""
    rows: Figures = json.loads(table.to_json(orient="index", double_precision=6))
    return rows


def _baselines(table: pd.DataFrame) -> Figures:
    """Return the accuracy of each baseline by row; offsets stand with the best heads."""
    named = table[~table["baseline"].str.fullmatch(r"[+-]?\d+")]
    return {
        str(row): dict(zip(own["baseline"], own["accuracy"].round(6), strict=True))
        for row, own in named.groupby("row")
    }


def _decisions(findings: pd.DataFrame) -> Figures:
    """Return the number of heads by decision, for each probe and for compound."""
    rows = findings["sieve"].str.replace(r":[→←]$", "", regex=True)
    named = [(probe, rows.str.startswith(f"{probe}:")) for probe in ("dependency", "trees", "coreference")]
    named.append(("dependency:compound", rows == "dependency:compound"))
    return {
        name: {word: int(number) for word, number in findings["decision"][own].value_counts().items()}
        for name, own in named
        if own.any()
    }


def read_replication(first: Path, second: Path) -> Figures:
    """Return how many roles and best heads of a run are found in another."""
    found = headroles.replicate(str(first), str(second))
    outcomes = dict(found.outcomes)
    best = found.best_heads()
    best = best[best["decision_a"] == "beyond"]
    return {"roles": len(found.replicates), "outcomes": outcomes, "best": len(best), "again": _again(best)}


def _again(best: pd.DataFrame) -> int:
    return int((best["decision"] == "beyond").sum())


def percent(value: float) -> str:
    """Return a share in per cent, with one decimal."""
    return f"{100 * value:.1f}"


def points(value: float) -> str:
    """Return a difference of shares in points, with its sign."""
    return f"{100 * value:+.1f}".replace("-", "−")


def q_text(value: float | None) -> str:
    """Return an adjusted p to three decimals."""
    if value is None:
        return "–"
    return "< .001" if value < 0.001 else f"{value:.3f}".removeprefix("0").replace("1.000", "1")


def bullet(text: str, **facts: Any) -> list[str]:
    """Return an item of a list, wrapped, with facts filled in."""
    one_line = " ".join(text.format(**facts).split())
    return textwrap.wrap(f"- {one_line}", 140, subsequent_indent="  ", break_on_hyphens=False)


def ends(row: Figures, low: str = "low", high: str = "high", signed: bool = False) -> str:
    """Return an interval in brackets."""
    text = points if signed else percent
    return f"[{text(row[low])}, {text(row[high])}]"


def tested(row: Figures) -> str:
    """Return an accuracy on the other half with its interval."""
    return f"{percent(row['accuracy'])} {ends(row)}"


def head_of(row: Figures) -> str:
    """Return a head with its direction."""
    return f"{row['layer']}-{row['head']} {row['direction'] or ''}".strip()


def difference(row: Figures) -> str:
    """Return a difference to the baseline with its interval."""
    return f"{points(row['difference'])} {ends(row, 'difference_low', 'difference_high', True)}"


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    return [f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *rows)]


ANSWERS = (
    """
    **Some relations have a head that beats every fixed distance.** Head {obj_head} looks from an object to
    its verb in {obj} % of cases. The best fixed offset is right in {obj_base} %.
    """,
    """
    **Some good heads only know a position.** The best head for compounds is right in {compound} %. But the
    next word is right in {compound_base} %, and the head is significantly less than 5 points better.
    """,
    """
    **One head holds a large part of the tree.** The maximum spanning tree of {tree_head} has {tree} % of the
    arcs. A right-branching tree has {branching} %.
    """,
    """
    **One head links mentions of one entity.** Head {mention_head} is right in {mention} % (GUM). The nearest
    mention is right in {nearest} %, and four simple rules are right in {rules} %.
    """,
    """
    **Heads follow stereotypes of occupations.** Head {bias_head} links a pronoun to an occupation. It is
    right in {pro} % of sentences that fit the stereotype, and in {anti} % of those that do not.
    """,
)
"""The claims that lead the page."""


def answers(figures: Figures) -> list[str]:
    """Return the claims of the page, each with its main figure."""
    runs = figures["runs"]
    best, mention = runs["ewt"]["best"], runs["gumcoref"]["best"]["coreference:all"]
    obj, compound, tree = (best[name] for name in ("dependency:obj", "dependency:compound", "trees:uuas"))
    gaps = runs["wino1"]["conditions"]["accuracy"]
    bias = max(gaps, key=lambda head: float(gaps[head]["difference"]))
    base = runs["gumcoref"]["baselines"]["coreference:all"]
    facts = {
        "obj_head": f"{obj['layer']}-{obj['head']}",
        "obj": percent(obj["accuracy"]),
        "obj_base": percent(obj["baseline_accuracy"]),
        "compound": percent(compound["accuracy"]),
        "compound_base": percent(compound["baseline_accuracy"]),
        "tree_head": head_of(tree),
        "tree": percent(tree["accuracy"]),
        "branching": percent(runs["ewt"]["baselines"]["trees:uuas"]["right-branching"]),
        "mention_head": head_of(mention),
        "mention": percent(mention["accuracy"]),
        "nearest": percent(base["nearest"]),
        "rules": percent(base["rules"]),
        "bias_head": bias,
        "pro": percent(gaps[bias]["first_value"]),
        "anti": percent(gaps[bias]["second_value"]),
    }
    return [line for text in ANSWERS for line in bullet(text, **facts)]


def dependency(figures: Figures) -> list[str]:
    """Return the table of relations on EWT."""
    run, rows = figures["runs"]["ewt"], []
    for relation in SHOWN:
        row = run["best"][f"dependency:{relation}"]
        known = run["published"].get(f"dependency:{relation}")
        offset = f"{row['baseline'].replace('-', '−')}: {percent(row['baseline_accuracy'])}"
        q = f"{q_text(row['q'])}{', **not**' * (row['decision'] == 'not')}"
        cells = [relation, head_of(row), percent(row["selection"]), tested(row), offset, difference(row), q]
        rows.append([*cells, f"{row['contrast']:.2f}"[-3:], percent(known["accuracy"]) if known else ""])
    return table(
        ["EWT", "head", "chosen on", "tested on", "offset", "difference", "q", "contrast", "published"], rows
    )


COUNTS = """
All EWT data have {all:,} findings (row, head, direction): {parts}. For `compound`, {compound} of
{both} are not.
"""


def counts(figures: Figures) -> list[str]:
    """Return the decisions of dependency rows on EWT in words."""
    found = figures["runs"]["ewt"]["decisions"]
    rows, compound = found["dependency"], found["dependency:compound"]
    parts = [f"{rows[name]:,} are {word}" for name, word in WORDS.items()]
    return bullet(
        COUNTS,
        all=sum(rows.values()),
        parts=", ".join(parts),
        compound=compound["not"],
        both=sum(compound.values()),
    )


GUM = """
On GUM the chosen heads have {shown}. For `amod` the difference to the next word is {amod}.
With 30 documents "not" is never reported.
"""
REPLICATED = """
**Replication.** {held} of the {roles} findings on EWT hold on GUM. {open} stay undetermined there, and {lost}
refuted. {back} of the {others} on GUM hold on EWT. Of chosen heads beyond their baselines,
{best}
from GUM to EWT.
"""
CURSE = """
The winner's curse is small where a half has {documents} documents and thousands of arcs ({det}). It is
large for rare relations ({appos}, GUM {mark}).
"""
CONTEXT = """
**Context matters.** `probe dependency coreference` reads windows of 256 tokens instead of single sentences,
because coreference needs the document. With windows the chosen heads of GUM are less accurate: det falls from
{det}, and obj from {obj}. Candidates are still the words of the sentence. Do not mix figures of the two
readings.
"""


def replications(figures: Figures) -> list[str]:
    """Return the items on GUM: replication, the winner's curse and context."""
    runs = figures["runs"]
    ewt, gum, windows = (runs[name]["best"] for name in ("ewt", "gum", "gumcoref"))
    there, back = figures["replications"]["ewt gum"], figures["replications"]["gum ewt"]
    lost = there["outcomes"].get("not", 0)
    shown = [f"{name} {tested(gum[f'dependency:{name}'])}" for name in ("det", "obj", "amod", "nsubj")]
    fall = {
        name: f"{percent(gum[f'dependency:{name}']['accuracy'])} to "
        f"{percent(windows[f'dependency:{name}']['accuracy'])} %"
        for name in ("det", "obj")
    }
    return [
        *bullet(GUM, shown=", ".join(shown), amod=difference(gum["dependency:amod"])),
        *bullet(
            REPLICATED,
            held=there["outcomes"][HELD],
            roles=there["roles"],
            open=there["outcomes"].get("undetermined", 0),
            lost=f"{lost} are" if lost else "none is",
            back=back["outcomes"][HELD],
            others=back["roles"],
            best=f"{there['again']} of {there['best']} hold from EWT to GUM, "
            f"and {back['again']} of {back['best']}",
        ),
        *bullet(
            CURSE,
            documents=runs["ewt"]["halves"]["selection"],
            det=shrunk(ewt, "det"),
            appos=shrunk(ewt, "appos"),
            mark=shrunk(gum, "mark"),
        ),
        *bullet(CONTEXT, **fall),
    ]


def shrunk(best: Figures, relation: str) -> str:
    """Return the accuracy of a chosen head on its own half, and on the other."""
    row = best[f"dependency:{relation}"]
    return f"{relation} {percent(row['selection'])} → {percent(row['accuracy'])}"


def trees(figures: Figures) -> list[str]:
    """Return the table of trees."""
    run, rows = figures["runs"]["ewt"], []
    for name, words in (("uuas", "undirected (UUAS)"), ("uas", "directed (UAS)")):
        row, base = run["best"][f"trees:{name}"], run["baselines"][f"trees:{name}"]
        chance = [percent(base[kind]) for kind in ("right-branching", "left-branching", "random tree")]
        rows.append([words, head_of(row), percent(row["selection"]), tested(row), *chance, q_text(row["q"])])
    header = ["", "head", "chosen on", "tested on", "right-branching", "left-branching", "random tree", "q"]
    given = figures["root given"]
    return [
        *table(header, rows),
        "",
        f"With the root given, {given['head']} has {percent(given['accuracy'])} on all data.",
    ]


def trained(figures: Figures) -> list[str]:
    """Return the table of trained probes, whose figures are stored."""
    header = ["probe", "UAS, 15 minutes", "passes", "UAS, full training", "passes", "published"]
    return table(header, figures["trained"]["rows"])


def coreference(figures: Figures) -> list[str]:
    """Return the table of mentions, corpus by corpus."""
    rows = []
    for name, words in CORPORA.items():
        run = figures["runs"][name]
        for kind in MENTIONS:
            row, base = run["best"][f"coreference:{kind}"], run["baselines"][f"coreference:{kind}"]
            known = [percent(base[rule]) for rule in ("nearest", "head match", "rules", "first")]
            title = f"{words} ({run['counts']['units']} documents), all" if kind == "all" else kind
            rows.append([title, head_of(row), tested(row), *known, f"{run['lost'][f'coreference:{kind}']:,}"])
    header = ["", "head", "tested on", "nearest", "head match", "rules", "first", "items lost"]
    return table(header, rows + figures["litbank"]["rows"])


GAP = """
**GAP validation** ({examples} passages). A head chooses between two names. The chosen head is {head}:
{tested} on the half not used to choose it. The nearer name has {near}, so the difference is {difference},
*{decision}*. Over all passages head {most} is right most often: {both}, with F1 {f1}. It has {feminine} for
feminine and {masculine} for masculine pronouns ({gap}, q = {q} over {heads} heads).
"""
WINOBIAS = """
**WinoBias**, dev. No head links pronouns to the right occupation better than the nearest occupation does. For
type 1 the best has {one}, and the nearest has {near}. In type 2 syntax gives the answer and the nearest is
always right; the best head has {two}. But heads follow the **stereotype**. Head {head} is right in {pro} %
of pro-stereotyped and {anti} % of anti-stereotyped sentences of type 1 ({pairs} pairs: {gap}, q {q}). For
type 2 the gap is {other}. Heads {more} have such a gap, too. Heads {less} do the opposite.
"""


def names(figures: Figures) -> list[str]:
    """Return the items on GAP and WinoBias."""
    run = figures["runs"]["gap"]
    chosen, by_head = run["best"]["coreference:all"], run["conditions"]["accuracy"]
    most = max(by_head, key=lambda head: float(by_head[head]["both"]))
    return [
        *bullet(
            GAP,
            examples=run["counts"]["examples"],
            head=head_of(chosen),
            tested=tested(chosen),
            near=percent(chosen["baseline_accuracy"]),
            difference=difference(chosen),
            decision=chosen["decision"],
            most=most,
            both=percent(by_head[most]["both"]),
            feminine=percent(by_head[most]["first_value"]),
            masculine=percent(by_head[most]["second_value"]),
            gap=between(by_head[most]),
            q=q_text(by_head[most]["q"]),
            heads=len(by_head),
            f1=percent(run["conditions"]["f1"][most]["both"]),
        ),
        *stereotypes(figures["runs"]["wino1"], figures["runs"]["wino2"]),
    ]


def stereotypes(one: Figures, two: Figures) -> list[str]:
    """Return the figures of the two types of WinoBias."""
    first, second = one["conditions"]["accuracy"], two["conditions"]["accuracy"]
    order = sorted(first, key=lambda head: -float(first[head]["difference"]))
    named = {head: f"{head} ({points(first[head]['difference'])})" for head in order}
    best, other = one["best"]["coreference:all"], two["best"]["coreference:all"]
    lead = first[order[0]]
    return bullet(
        WINOBIAS,
        one=percent(best["accuracy"]),
        near=percent(best["baseline_accuracy"]),
        two=percent(other["accuracy"]),
        head=order[0],
        pro=percent(lead["first_value"]),
        anti=percent(lead["second_value"]),
        pairs=one["counts"]["units"],
        gap=between(lead),
        q=q_text(lead["q"]),
        other=points(second[order[0]]["difference"]),
        more=" and ".join(named[head] for head in order[1:3]),
        less=" and ".join(named[head] for head in order[:-3:-1]),
    )


def between(row: Figures) -> str:
    """Return the difference between two conditions with its interval."""
    return f"{points(row['difference'])} {ends(row, signed=True)}"


MADE = """
`benchmarks/probe_page.py` writes the figures of this page from `probes.json`, which also has the commands.
They were run on one thread of {cpu}, with {used}. Those of trained probes, LitBank and given roots are
carried over from earlier runs.
"""


def made_on(figures: Figures) -> list[str]:
    """Return the machine and versions behind the figures."""
    versions = figures["versions"]
    used = ", ".join(f"{name} {versions[name]}" for name in ("torch", "transformers", "numpy", "scipy"))
    return [line[2:] for line in bullet(MADE, cpu=figures["machine"]["cpu"], used=used)]


BLOCKS = {
    "answers": answers,
    "made": made_on,
    "dependency": dependency,
    "counts": counts,
    "replications": replications,
    "trees": trees,
    "trained": trained,
    "coreference": coreference,
    "names": names,
}
"""Functions of the texts between the markers of the page."""


def filled(page: str, figures: Figures) -> str:
    """Return a page with its blocks written again from the figures."""
    return BLOCK.sub(
        lambda found: f"{found[1]}\n" + "\n".join(BLOCKS[found[2]](figures)) + f"\n\n{found[3]}", page
    )


@click.command()
@click.option("--runs", type=click.Path(exists=True, path_type=Path), help="Folder of the finished runs.")
@click.option("--out", type=click.Path(path_type=Path), default=DOCS, help="Folder of page and figures.")
def main(runs: Path | None, out: Path) -> None:
    """Write docs/findings/probes.md from docs/findings/probes.json, or both from finished runs."""
    stored = out / "probes.json"
    figures: Figures = json.loads(stored.read_text("utf-8"))
    if runs is not None:
        manifest = json.loads((runs / "ewt" / "manifest.json").read_text("utf-8"))
        figures |= {name: manifest[name] for name in ("machine", "versions")}
        figures["commands"] = {name: f"headroles probe {rest}" for name, rest in COMMANDS.items()}
        figures["runs"] = {name: read_run(runs / name) for name in COMMANDS}
        pairs = (("ewt", "gum"), ("gum", "ewt"))
        figures["replications"] = {f"{a} {b}": read_replication(runs / a, runs / b) for a, b in pairs}
        stored.write_text(json.dumps(figures, ensure_ascii=False, indent=1) + "\n", "utf-8")
    page = out / "probes.md"
    page.write_text(filled(page.read_text("utf-8"), figures), "utf-8")


if __name__ == "__main__":
    main()
