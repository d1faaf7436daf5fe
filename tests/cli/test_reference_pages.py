"""Pages of the reference: they are those of the code, and name every file, column, sieve and public name."""

import csv
import re
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import headroles
from headroles.catalogue import entries
from headroles.cli.files_page import FOLDERS, File, columns_of
from headroles.cli.pages import all_commands, commands_page, sieves_page
from headroles.cli.reference import made
from headroles.comparing.compare import compare
from headroles.storage.folder import ATLAS, COMPARISON, PRUNING, RUN
from headroles.storage.run import write_results
from tests.support.causal.ablated_runs import ablated_run
from tests.support.causal.origins import why_run
from tests.support.clustered_runs import clustered_run

ROOT = Path(__file__).parents[2]
KINDS = {heading: files for heading, _, files in FOLDERS}
PER_COLUMN = re.compile(r"^(cells|null|hits|items|lost):")


@pytest.mark.parametrize("path", made(), ids=lambda path: path.name)
def test_a_made_file_is_that_of_the_code(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == made()[path], "run python -m headroles.cli.reference"


def test_every_file_that_a_folder_may_hold_has_a_line() -> None:
    listed = {heading: {file.name.partition("/")[0] for file in files} for heading, files in KINDS.items()}
    runs = set().union(*(listed[heading] for heading in KINDS if heading.startswith(("Every", "Runs"))))
    assert runs == RUN.holds
    assert listed["Comparisons"] | {"figures"} == COMPARISON.holds
    assert listed["Atlases"] | {"figures"} == ATLAS.holds
    assert listed["Pruned models"] | {"figures"} == PRUNING.holds


def _header(path: Path) -> list[str]:
    """Return the columns of a table."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as text:
            return next(csv.reader(text))
    names: list[str] = pq.read_schema(path).names
    return names


def _check(folder: Path, *headings: str) -> int:
    """Compare the columns of all tables in a folder with those of the page; return how many there were."""
    checked = 0
    for file in [file for heading in headings for file in KINDS[heading] if file.row]:
        for path in folder.glob(file.name):
            _check_columns(file, _header(path))
            checked += 1
    return checked


def _check_columns(file: File, header: list[str]) -> None:
    """Compare the columns of one table; columns of sieves stand on the page as one line."""
    named = [name for name in columns_of(file) if not name.startswith("*") and name.islower()]
    if "kv_group" not in header:
        named = [name for name in named if name != "kv_group"]
    fixed = [name for name in header if name in named or not _of_a_sieve(file, name)]
    assert fixed == named, file.name


def _of_a_sieve(file: File, name: str) -> bool:
    """Return whether a column belongs to one sieve, by a line of the page."""
    per_sieve = any(column.startswith("*one for each sieve") for column in columns_of(file))
    return per_sieve or PER_COLUMN.match(name) is not None


def test_the_columns_of_a_run_are_those_of_the_page(finished: Path) -> None:
    assert _check(finished, "Every run") >= 9


def test_the_columns_of_an_atlas_are_those_of_the_page(finished: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    headroles.save(headroles.load(finished), other)
    headroles.atlas([finished, other], out=tmp_path / "atlas")
    assert _check(tmp_path / "atlas", "Atlases") == 5


def test_the_columns_of_a_comparison_are_those_of_the_page(finished: Path, tmp_path: Path) -> None:
    compare(finished, finished, out=tmp_path / "compared")
    assert _check(tmp_path / "compared", "Comparisons") == 4


def test_the_columns_of_a_run_of_probes_are_those_of_the_page(
    probed_run: Callable[..., headroles.Labelling], tmp_path: Path
) -> None:
    write_results(tmp_path, probed_run(), "report")
    assert _check(tmp_path, "Runs of `headroles probe`") >= 4


def test_the_columns_of_a_run_of_surface_statistics_are_those_of_the_page(
    surface_run: Callable[..., headroles.Labelling], tmp_path: Path
) -> None:
    write_results(tmp_path, surface_run(), "report")
    assert _check(tmp_path, "Runs of `headroles surface`") == 2


def test_the_columns_of_a_clustered_run_are_those_of_the_page(tmp_path: Path) -> None:
    write_results(tmp_path, clustered_run(), "report")
    assert _check(tmp_path, "Runs of `headroles cluster`") == 4


def test_the_columns_of_a_run_that_takes_heads_out_are_those_of_the_page(tmp_path: Path) -> None:
    write_results(tmp_path, ablated_run(), "report")
    assert _check(tmp_path, "Runs of `headroles ablate`") == 6


def test_the_columns_of_a_run_that_asks_why_are_those_of_the_page(tmp_path: Path) -> None:
    write_results(tmp_path, why_run(), "report")
    assert _check(tmp_path, "Runs of `headroles why`") == 3


def test_every_column_has_a_meaning() -> None:
    silent = [
        (file.name, name)
        for files in KINDS.values()
        for file in files
        if file.row
        for name, meaning in columns_of(file).items()
        if not meaning
    ]
    assert not silent


def test_every_sieve_stands_once_on_its_page() -> None:
    page = sieves_page()
    for sieve in entries():
        if sieve.origin == "headroles":
            assert page.count(f"\n| `{sieve.name.replace('<', '&lt;')}` |") == 1, sieve.name


def test_every_command_and_option_stands_on_the_page_of_commands() -> None:
    parts = re.split(r"^### headroles ", commands_page(), flags=re.M)[1:]
    by_name = {part.partition("\n")[0]: part for part in parts}
    commands = dict(all_commands())
    assert by_name.keys() == commands.keys()
    for name, command in commands.items():
        for option in command.options:
            label = option.name.upper() if option.option.argument else option.flag
            assert by_name[name].count(f"| `{label}` |") == 1
        assert all(example in by_name[name] for example in command.page.examples)


def test_the_page_of_python_has_every_public_name_once() -> None:
    page = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^::: headroles\.(\w+)$", page, re.M)) == sorted(headroles.__all__)
