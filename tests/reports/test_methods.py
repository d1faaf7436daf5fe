"""The methods of runs for a paper: every number is the run's own, and nothing else is said."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

import headroles
from headroles.catalogue import sieve_of
from headroles.errors import BadInput, UnknownName
from headroles.records.comparison import Comparison
from headroles.records.findings import Labelling
from headroles.records.shown.controls import control_of
from headroles.reports.print.methods import methods_document
from headroles.reports.words.citations import BY_SHORT, SIEVES, WORKS, citation_bibtex, works_cited
from headroles.reports.words.methods import HASH, TEST_NAMES, WITHHELD, methods_text
from headroles.reports.words.words import ENOUGH_FOR_NOT, correction_words
from headroles.stats.assessment import withheld
from headroles.stats.methods.names import METHODS
from headroles.storage.integrity.origin import PAGE_MARK
from tests.support.clustered_runs import clustered_run

Made = Callable[..., Labelling]
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def real(finished: Path) -> Labelling:
    """A run of the command line, read back."""
    return headroles.load(finished)


def _numbers(text: str) -> set[str]:
    """Return the numbers of a text, those of names, versions, hashes and references left out."""
    without = re.sub(r"\([^()]*, (?:19|20)\d\d(?:; [^()]*)?\)", "", text)
    without = without.partition("Software:")[0]
    return set(re.findall(r"(?<![\w.:-])\d[\d,]*(?:\.\d+)?(?![\w.]*\w)", without))


def _leaves(value: object) -> Iterator[object]:
    """Yield every value of nested mappings and lists."""
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(inner)
    else:
        yield value


def _known(run: Labelling) -> set[str]:
    """Return every number that a run holds, as sentences write it."""
    layers, heads = run.findings.count.shape[1:]
    roles = [place for place, rule in enumerate(run.findings.rules) if rule.role]
    tested = [int((run.findings.decision[place] != 3).sum()) for place in roles]
    rules = [(rule.null, rule.margin, 100 * rule.margin) for rule in run.findings.rules]
    rows = len({run.findings.rules[place].together or run.findings.rules[place].sieve for place in roles})
    counted = [layers, heads, layers * heads, len(roles), rows, *tested, ENOUGH_FOR_NOT, 95, 0, 1]
    if run.clustered is not None:
        counted += [len(set(run.clustered.cluster.tolist()) - {-1}), run.clustered.divergence.smoothing]
    values = [*counted, *_leaves(asdict(run.decision)), *_leaves(rules), *_leaves(dict(run.manifest))]
    texts = {f"{value:,}" for value in values if isinstance(value, int) and not isinstance(value, bool)}
    texts |= {f"{value:.6g}" for value in values if isinstance(value, int | float)}
    return texts | {number for sentence in run.skipped for number in re.findall(r"\d[\d,]*", sentence)}


def test_every_number_of_a_real_run_is_in_its_manifest_or_its_rules(real: Labelling) -> None:
    text = methods_text(real)
    assert _numbers(text) <= _known(real)
    counts, model = real.manifest["counts"], real.manifest["model"]
    assert f"{counts['examples']} inputs" in text
    assert f"{counts['units']} independent units" in text
    assert f"{counts['tokens']:,} tokens" in text
    cut = {**real.manifest, "counts": {**counts, "truncated": 1}}
    assert counts["truncated"] == 0
    assert "No input was longer than 48 tokens." in text
    assert "1 input was cut to 48 tokens." in methods_text(replace(real, manifest=cut))
    assert f"SHA-256 {model['weights_sha256'][:HASH]}" in text
    assert f"alpha = {real.decision.alpha:g}" in text
    assert f"with headroles {real.manifest['headroles']}." in text
    assert all(note in text for note in real.skipped)
    for name in ("torch", "transformers", "numpy", "scipy"):
        assert f"{name} {real.manifest['versions'][name]}" in text


def test_margins_and_contrasts_are_those_of_the_rules(real: Labelling) -> None:
    text = methods_text(real)
    rules = {rule.sieve: rule for rule in real.findings.rules}
    assert "The chance value is 0 and the margin 0.1 for every role." in text
    contrast = rules[rules["block"].contrast]
    control = control_of(contrast.sieve)
    assert control
    assert f"block must also exceed what {control} alone gives by more than {contrast.margin}." in text


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(lambda request: request.getfixturevalue("probed_run")(assessed=True), id="probe"),
        pytest.param(lambda request: request.getfixturevalue("surface_run")(), id="surface"),
        pytest.param(lambda request: clustered_run(3, 4), id="cluster"),
    ],
)
def test_numbers_of_other_kinds_of_run_are_their_own(
    made: Callable[[Any], Labelling], request: pytest.FixtureRequest
) -> None:
    run = made(request)
    text = methods_text(run)
    assert _numbers(text) <= _known(run)
    assert f"alpha = {run.decision.alpha:g}" in text
    assert "\n" not in text


def test_halves_of_probes_and_their_seed_are_those_of_the_manifest(probed_run: Made) -> None:
    text = methods_text(probed_run())
    assert "(seed 3) into halves of 31 and 29" in text
    assert "halves of" not in methods_text(replace(probed_run(), manifest={"probe": {"halves": None}}))


def test_a_limit_is_named_where_it_left_rows_out(real: Labelling) -> None:
    source, settings = dict(real.manifest["source"]), dict(real.manifest["settings"])
    small = dict(real.manifest) | {"settings": settings | {"limit": 20}, "source": source | {"rows": 60}}
    assert "20 of 60 rows were drawn at random with seed 0." in methods_text(replace(real, manifest=small))
    large = small | {"settings": settings | {"limit": 500}}
    assert "drawn at random" not in methods_text(replace(real, manifest=large))
    first = small | {"settings": settings | {"first": 20}}
    assert "Only the first 20 of 60 rows were read." in methods_text(replace(real, manifest=first))


def test_a_folder_without_facts_gets_a_shorter_paragraph(real: Labelling) -> None:
    bare = replace(real, manifest={}, skipped=(), assessment=None)
    text = methods_text(bare)
    for word in ("SHA-256", "headroles", "None", "nan", "Software", "withheld", "Left out", "parser"):
        assert word not in text
    assert text.startswith("We examined the 6 attention heads (2 layers of 3).")


def test_a_run_without_a_role_still_has_methods(real: Labelling) -> None:
    rules = tuple(replace(rule, role=False) for rule in real.findings.rules)
    text = methods_text(replace(real, findings=replace(real.findings, rules=rules)))
    assert "We examined the 6 attention heads" in text
    assert "tested in" not in text


def test_withheld_labels_are_named_by_the_remark_of_the_run(real: Labelling) -> None:
    assert WITHHELD in Path(withheld.__file__).read_text(encoding="utf-8")
    assert real.assessment is not None
    for remarks, expected in (((), False), ((f"{WITHHELD}, and …",), True)):
        run = replace(real, assessment=replace(real.assessment, remarks=remarks))
        assert ("Labels that depend on few units were withheld" in methods_text(run)) is expected


@pytest.mark.parametrize(
    ("correction", "words"),
    [
        ("none", "P values were not corrected"),
        ("holm", "Holm (Holm, 1979) over the heads of one sieve, separately for every verdict, which bounds "
         "the probability of any false label"),
        ("fdr_by", "(Benjamini and Yekutieli, 2001)"),
    ],
)  # fmt: skip
def test_corrections_are_named_with_what_they_bound(real: Labelling, correction: str, words: str) -> None:
    run = replace(real, decision=replace(real.decision, correction=correction))
    assert words in methods_text(run)


def test_a_run_labelled_by_betting_cites_e_bh_and_every_test_has_a_name(real: Labelling) -> None:
    assert TEST_NAMES.keys() == METHODS.keys()
    run = replace(real, decision=replace(real.decision, test="betting", correction="fdr_bh"))
    text, cited = methods_text(run), {work.short for work in works_cited(run)}
    assert "a one-sided test by betting, which holds at every look (Waudby-Smith and Ramdas, 2024)" in text
    assert "e-BH, Benjamini-Hochberg over inverse evidence (Wang and Ramdas, 2022)" in text
    assert {"Waudby-Smith and Ramdas, 2024", "Wang and Ramdas, 2022"} <= cited
    assert "Benjamini and Hochberg, 1995" not in cited
    assert correction_words("betting", "holm") == correction_words("t", "holm")


def test_a_comparison_names_both_sides_its_bound_and_its_swaps(finished: Path) -> None:
    compared = headroles.compare(finished, finished, swaps=200)
    text = methods_text(compared)
    assert f"within ±{compared.bound:g} (Schuirmann, 1987)" in text
    assert f"{compared.manifest['counts']['examples']} inputs" in text
    assert "compared with 200 random swaps" in text
    assert "Schuirmann" in methods_document(compared)
    assert "random swaps" not in methods_text(headroles.compare(finished, finished, swaps=0))


def test_every_citation_of_the_text_has_an_entry(real: Labelling, surface_run: Made, finished: Path) -> None:
    results: list[Labelling | Comparison] = [
        real, surface_run(), clustered_run(3, 4), headroles.compare(finished, finished, swaps=0)
    ]  # fmt: skip
    for result in results:
        text, entries = methods_text(result), citation_bibtex(result)
        cited = {work for work in WORKS if work.short in text}
        assert cited == set(works_cited(result))
        assert all(f"{{{work.key},\n" in entries for work in cited)
        latex = methods_document(result, "latex")
        assert all(work.key in latex.partition("\n")[0] for work in cited)


@pytest.mark.parametrize("name", SIEVES)
def test_papers_behind_sieves_are_those_that_the_sieves_name(name: str) -> None:
    if name in ("surface", "dependency", "trees"):
        assert SIEVES[name] == ("Clark et al., 2019",)
        return
    examples = {"offset": "offset:-2", "related": "related:other"}
    source = getattr(sieve_of(examples.get(name, name)), "source", "")
    assert [short for short in BY_SHORT if short.replace(",", "") in source] == sorted(
        SIEVES[name], key=list(BY_SHORT).index
    )


def test_the_command_line_prints_the_methods_and_writes_them(
    command: Command, finished: Path, real: Labelling, tmp_path: Path
) -> None:
    code, out, _ = command("table", finished, "--methods")
    assert code == 0
    assert out == headroles.methods(real) == headroles.table(finished, methods=True)
    code, _, _ = command(
        "table", finished, "--methods", "--format", "latex", "--out", tmp_path / "methods.tex"
    )
    assert code == 0
    assert (tmp_path / "methods.tex").read_text(encoding="utf-8") == headroles.methods(finished, "latex")


def test_methods_refuse_a_table_a_form_and_other_objects(finished: Path) -> None:
    with pytest.raises(BadInput, match="--methods is no table"):
        headroles.table(finished, "roles", methods=True)
    with pytest.raises(BadInput, match="--methods is text"):
        headroles.table(finished, format="csv", methods=True)
    with pytest.raises(UnknownName, match="form of methods"):
        headroles.methods(finished, "word")
    with pytest.raises(BadInput, match="got"):
        headroles.methods(3)  # type: ignore[arg-type]


def test_the_report_is_known_as_a_page_of_headroles(finished: Path) -> None:
    assert PAGE_MARK in (finished / "report.html").read_text(encoding="utf-8")
