"""Functions whose keywords are options: what editors, help and type checkers see of them."""

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import jedi
import pytest

import headroles
from headroles.errors import BadInput, UnknownName
from headroles.options.described import shown
from headroles.options.label import LabelOptions

FUNCTIONS = sorted(name for name in headroles.__all__ if hasattr(getattr(headroles, name), "record"))


def test_the_functions_with_options_are_all_there() -> None:
    assert {"label", "cluster", "surface", "probe", "extract", "view", "judge_again", "compare"} < {
        *FUNCTIONS
    }


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_signature_and_its_documentation_have_every_option(name: str) -> None:
    function = getattr(headroles, name)
    parameters = inspect.signature(function).parameters
    described = inspect.getdoc(function) or ""
    for option in shown(function.record):
        assert parameters[option.name].default is inspect.Parameter.empty or option.missing is False
        assert f"{option.name}: {option.option.help[:20]}" in described
    assert "{options}" not in described
    assert not [each for each in parameters.values() if each.kind is inspect.Parameter.VAR_KEYWORD]


def test_no_public_function_takes_keywords_that_it_does_not_name() -> None:
    functions = [getattr(headroles, name) for name in headroles.__all__]
    signatures = [inspect.signature(each) for each in functions if inspect.isfunction(each)]
    kinds = {parameter.kind for signature in signatures for parameter in signature.parameters.values()}
    assert inspect.Parameter.VAR_KEYWORD not in kinds


def test_editors_and_notebooks_complete_keywords() -> None:
    code = 'import headroles\nheadroles.label("QNLI", li'
    assert "limit=" in [each.name for each in jedi.Script(code, path="notebook.py").complete()]
    notebook = jedi.Interpreter('headroles.label("QNLI", li', [{"headroles": headroles}])
    assert "limit=" in [each.name for each in notebook.complete()]


@pytest.mark.slow
def test_a_type_checker_sees_typos(tmp_path: Path) -> None:
    code = tmp_path / "typos.py"
    code.write_text(
        "import headroles\n"
        'headroles.label("QNLI", limt=5)\n'
        'headroles.label("QNLI", limit="five")\n'
        'headroles.judge_again("runs/QNLI", alhpa=0.01)\n'
        'headroles.label("QNLI", limit=5)\n'
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", root / "pyproject.toml", code],
        capture_output=True, text=True, cwd=root, timeout=500,
    )  # fmt: skip
    errors = [line.partition(".py:")[2] for line in done.stdout.splitlines() if "error:" in line]
    assert [line.partition(":")[0] for line in errors] == ["2", "3", "4"]
    assert 'Unexpected keyword argument "limt" for "label"; did you mean "limit"?' in errors[0]
    assert 'Argument "limit" to "label" has incompatible type "str"' in errors[1]


def test_a_wrong_keyword_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownName, match="no option is called 'limt'; did you mean 'limit'"):
        headroles.label("QNLI", limt=5)  # type: ignore[call-arg]
    with pytest.raises(BadInput, match="limit must be a whole number, but got 'five'"):
        headroles.label("QNLI", limit="five")  # type: ignore[arg-type]


def test_positions_are_those_of_the_signature() -> None:
    label: Any = headroles.label
    with pytest.raises(TypeError, match=r"takes at most 1 positional arguments \(task\), but got 2"):
        label("QNLI", "model")
    with pytest.raises(TypeError, match="several values of 'task'"):
        label("QNLI", task="MRPC")
    with pytest.raises(TypeError, match="needs 'dir_a'"):
        headroles.compare()  # type: ignore[call-arg]
    assert label.record is LabelOptions
