"""The code of docs/sieves.md runs, in its order, and its tables and entry points are true."""

import inspect
import re
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles import Example, MaskSieve, Scorer, score, sieve
from headroles.catalogue import check_usable
from headroles.sieves.families import SieveFamily
from headroles.testing import made_example

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "sieves.md").read_text(encoding="utf-8")
BLOCKS: list[tuple[str, str]] = re.findall(r"```(\w*)\n(.*?)```", PAGE, re.DOTALL)
CODE = [code for language, code in BLOCKS if language == "python"]
COMMANDS = [
    line.removeprefix("headroles ").strip()
    for language, code in BLOCKS
    if not language
    for line in code.splitlines()
    if line.startswith("headroles ")
]

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the page defines, run as one file."""
    file = tmp_path_factory.mktemp("docs") / "my_sieves.py"
    file.write_text("\n".join(CODE), encoding="utf-8")
    defined: dict[str, Any] = {"__name__": "my_sieves", "__file__": str(file)}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), defined)
    return defined


def test_the_page_defines_a_mask_a_contrast_a_family_a_scorer_and_a_picture(names: dict[str, Any]) -> None:
    for name in ("questions", "same_letter", "block"):
        assert isinstance(names[name], MaskSieve)
    assert isinstance(names["ring"], SieveFamily)
    assert isinstance(names["peak"], Scorer)
    assert names["picture"].startswith("<svg ")
    for name in names["rings"]:
        assert names["ring"].sieve(name.partition(":")[2]).name == name


def test_a_mask_and_a_scorer_are_ten_lines_each() -> None:
    for word in ("def questions", "class Peak"):
        (code,) = [code for code in CODE if word in code]
        assert len([line for line in code.splitlines() if line.strip()]) <= 10


def test_the_page_s_block_is_the_built_in_one_to_the_last_byte(names: dict[str, Any]) -> None:
    rng = np.random.default_rng(9)
    example = made_example(rng, texts=2, words=11)
    rows = rng.dirichlet(np.ones(example.size), size=(3, 4, example.size))
    ours = score(rows, example, "block")
    own = score(rows, example, names["block"])
    for column in ("", ":matched"):
        assert own[f"my-block{column}"].tobytes() == ours[f"block{column}"].tobytes()
        assert np.isfinite(ours[f"block{column}"]).all()


def test_the_entry_points_of_the_page_lead_to_what_it_defines(names: dict[str, Any]) -> None:
    (text,) = [code for language, code in BLOCKS if language == "toml"]
    points = tomllib.loads(text)["project"]["entry-points"]["headroles.sieves"]
    for name, target in points.items():
        module, _, attribute = target.partition(":")
        offered = names[attribute]
        assert module == "my_sieves"
        if isinstance(offered, tuple):
            assert name == "rings"
        elif isinstance(offered, SieveFamily):
            assert offered.name == name
        else:
            assert check_usable(offered).name == name


def test_the_masks_and_keywords_of_the_tables_exist() -> None:
    cells = re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE)
    masks = {name for cell in cells for name in re.findall(r"`([A-Z]\w+)\(", cell)}
    assert masks == {"Band", "Same", "Match", "Pairs", "Keys", "Cells", "Every", "Without"}
    assert all(getattr(headroles, name) for name in masks)
    keywords = {name for cell in cells for name in re.findall(r"`(\w+)=", cell)}
    assert keywords == set(inspect.signature(sieve).parameters) - {"name"}


def _same(mask: object, example: Example) -> object:
    return mask


def test_every_mask_of_the_table_may_be_returned() -> None:
    labels, place = np.array([0, 0, 1, -1]), np.array([True, False, True, False])
    keys = headroles.Keys(place)
    masks = (
        place,
        np.eye(4, dtype=bool),
        headroles.Band(-1, 1, 4),
        headroles.Same(labels),
        headroles.Match(labels, labels[::-1].copy()),
        headroles.Pairs(np.array([0, 2]), np.array([1, 3]), 4),
        headroles.Every((keys, headroles.Cells(np.eye(4, dtype=bool)))),
        headroles.Without(keys, headroles.Band(0, 0, 4)),
    )
    rows = np.random.default_rng(0).dirichlet(np.ones(4), size=(1, 2, 4))
    for mask in masks:
        given = score(rows, Example("four", tuple("abcd")), MaskSieve("any", partial(_same, mask)))
        assert np.isfinite(given["any"]).all()


@pytest.mark.slow
def test_the_commands_of_the_page_run(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that label by a file; the others need the installed plug-in of the page."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_sieves.py").write_text("\n".join(CODE), encoding="utf-8")
    labels = [line for line in COMMANDS if line.startswith("label") and "my_sieves.py" in line]
    assert len(labels) == 2
    for number, line in enumerate(labels):
        code, out, err = command(*line.split(), "--out", f"run{number}")
        assert (code, err) == (0, "")
        assert "report  " in out
