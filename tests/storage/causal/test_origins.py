"""What makes heads attend, as files of a run folder, and back."""

from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles.errors import HeadrolesError
from headroles.records.causal.origins import Origins
from headroles.records.example import Scores
from headroles.storage.causal.origins import origin_files, origin_texts, read_origins
from headroles.storage.folder import DIMENSIONS, KNOCKOUTS, ORIGIN_FILES, ORIGINS, PRODUCTS
from tests.support.causal.origins import why_run


@pytest.fixture(scope="module")
def judged() -> tuple[Scores, Origins]:
    run = why_run()
    assert run.origins is not None
    return run.scores, run.origins


def _written(origins: Origins, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    for name, content in origin_files(origins).items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def _same(first: object, second: object) -> None:
    for field in fields(first):  # type: ignore[arg-type]
        one, other = getattr(first, field.name), getattr(second, field.name)
        if isinstance(one, np.ndarray):
            np.testing.assert_array_equal(one, other)
        else:
            assert repr(one) == repr(other)


@pytest.mark.parametrize(
    "options", [{}, {"rotary": True}, {"redeals": 0}, {"removed": False}, {"held": False}]
)
def test_what_is_written_comes_back(options: dict[str, bool | int], tmp_path: Path) -> None:
    run = why_run(**options)
    assert run.origins is not None
    back = read_origins(_written(run.origins, tmp_path), run.scores)
    for name in ("origins", "dimensions", "knockouts"):
        assert repr(getattr(back, name)) == repr(getattr(run.origins, name))
    for name in ("held", "products", "knocked"):
        one, other = getattr(run.origins, name), getattr(back, name)
        assert (one is None) == (other is None)
        if one is not None:
            _same(one, other)
    assert all(isinstance(row.found, bool) for row in back.dimensions)


def test_the_same_tests_give_the_same_bytes_under_the_names_of_the_kind(
    judged: tuple[Scores, Origins],
) -> None:
    contents = origin_files(judged[1])
    assert contents == origin_files(replace(judged[1]))
    assert tuple(contents) == ORIGIN_FILES
    assert set(origin_texts(judged[1])) == {ORIGINS, DIMENSIONS, KNOCKOUTS}


def test_a_run_without_removals_has_no_table_of_them(tmp_path: Path) -> None:
    run = why_run(removed=False)
    assert run.origins is not None
    assert set(origin_files(run.origins)) == {ORIGINS, DIMENSIONS, PRODUCTS}


def test_rows_of_other_heads_roles_or_words_are_refused(
    judged: tuple[Scores, Origins], tmp_path: Path
) -> None:
    scores, origins = judged
    folder = _written(origins, tmp_path)
    row, test, knock = origins.origins[0], origins.dimensions[0], origins.knockouts[0]
    other = next(verdict for verdict in ("falls", "holds", "undetermined") if verdict == knock.verdict)
    for name, before, after, sentence in (
        (
            ORIGINS,
            f"{row.role},{row.layer},{row.head}",
            f"{row.role},9,{row.head}",
            "not those of origins",
        ),
        (ORIGINS, ",vertical,", ",sideways,", "a verdict 'sideways' in origins"),
        (ORIGINS, ",as rotated,", ",many neurons,", "a verdict 'many neurons' in origins"),
        (DIMENSIONS, f"{test.role},{test.layer},{test.head}", f"{test.role},9,0", "head 9-0, which does not"),
        (KNOCKOUTS, f",{other}\n", ",drops\n", "a verdict 'drops' in knockouts"),
        (KNOCKOUTS, f"{knock.by},", "nothing,", "a verdict 'nothing' in knockouts"),
        (DIMENSIONS, ",False\n", ",maybe\n", "maybe"),
    ):
        text = (folder / name).read_text()
        assert before in text, name
        (folder / name).write_text(text.replace(before, after, 1))
        with pytest.raises(ValueError, match=sentence):
            read_origins(folder, scores)
        (folder / name).write_text(text)
    read_origins(folder, scores)


def test_archives_of_other_runs_are_refused(judged: tuple[Scores, Origins], tmp_path: Path) -> None:
    scores, origins = judged
    products, knocked = origins.products, origins.knocked
    assert knocked is not None
    stranger = ("x/0", *products.units[1:])
    first = origins.origins[0]
    released = np.array(origins.held.decision)
    released[origins.held.roles.index(first.role), first.layer, first.head] = 1
    for number, (changed, sentence) in enumerate(
        (
            (replace(origins, products=replace(products, units=stranger)), "units that the run has not"),
            (replace(origins, knocked=replace(knocked, units=stranger)), "units that the run has not"),
            (replace(origins, held=replace(origins.held, decision=released)), "which it does not hold"),
            (replace(origins, knockouts=origins.knockouts[1:]), "scores after removals, but"),
            (replace(origins, knocked=replace(knocked, family=knocked.family + 999)), "families that it has"),
        )
    ):
        with pytest.raises(ValueError, match=sentence):
            read_origins(_written(changed, tmp_path / f"{number}"), scores)
    whole = _written(origins, tmp_path / "whole")
    fewer = replace(scores, values=scores.values[..., 1:])
    with pytest.raises(ValueError, match="not of the heads of the run"):
        read_origins(whole, fewer)
    (whole / PRODUCTS).unlink()
    with pytest.raises(OSError, match=PRODUCTS):
        read_origins(whole, scores)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_damaged_files_never_end_in_an_error_of_another_kind(
    judged: tuple[Scores, Origins], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    scores, origins = judged
    folder = _written(origins, tmp_path_factory.mktemp("damaged"))
    name = data.draw(st.sampled_from(ORIGIN_FILES))
    content = bytearray((folder / name).read_bytes())
    start = data.draw(st.integers(0, len(content) - 1))
    content[start : start + data.draw(st.integers(1, 40))] = data.draw(st.binary(max_size=40))
    (folder / name).write_bytes(bytes(content))
    with suppress(ValueError, KeyError, OSError, HeadrolesError):
        read_origins(folder, scores)
