"""Who imports whom, what an import loads, and what the wheel holds."""

import ast
import graphlib
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MAPPED = ("sieves", "stats", "reports")
MODELS = {"torch", "transformers", "tokenizers", "safetensors", "huggingface_hub", "datasets", "spacy"}
ROOMS = {
    name: f"headroles.{name}" for name in ("sieves", "stats", "reports", "extraction", "runs", "storage")
}
SCORING = {"pandas", "plotly", "scipy", "statsmodels", "pingouin"}


def _but(*rooms: str) -> set[str]:
    """All rooms of ROOMS but some."""
    return {name for short, name in ROOMS.items() if short not in rooms}


ORDER = (
    "errors", "progress", "tasks", "addresses", "kinds", "records", "plans", "presets", "sieves", "stats",
    "storage", "reports", "options", "extraction", "plugins", "catalogue", "arrays", "plain", "testing",
    "planning", "inputs", "preprocessing", "maps", "converting", "judging", "shards", "viewing", "showing",
    "exporting", "comparing", "terminal", "sharing", "runs", "pruning", "cli", "__main__",
)  # fmt: skip
"""Rooms of the package from the ground up; each imports only rooms before it."""
MOST = 15
"""Most modules that a folder holds, the ``__init__`` left aside."""

NEVER: dict[str, set[str]] = {
    "headroles.errors": {"headroles", "numpy"} | MODELS,
    "headroles.addresses": {"numpy", "pandas"} | MODELS | _but(),
    "headroles.tasks": MODELS | _but(),
    "headroles.plugins": {"numpy"} | MODELS | _but("sieves"),
    "headroles.catalogue": MODELS | _but("sieves", "stats", "storage"),
    "headroles.plans.masks": {"headroles"} | MODELS,
    "headroles.plans": MODELS | _but(),
    "headroles.records": MODELS | _but(),
    "headroles.storage": MODELS - {"safetensors"} | _but("storage"),
    "headroles.options": MODELS | _but("extraction", "sieves", "stats", "storage"),
    "headroles.sieves": SCORING | MODELS | _but("sieves"),
    "headroles.stats": {"pandas", "plotly"} | MODELS | _but("stats"),
    "headroles.reports": {"scipy", "statsmodels", "pingouin", "headroles.storage.run"}
    | MODELS
    | _but("reports", "storage"),
    "headroles.extraction": {"plotly", "scipy", "statsmodels", "pingouin"} | _but("extraction"),
    "headroles.runs.probe.trained.models": SCORING | {"transformers", "spacy"} | _but("extraction", "runs"),
}
"""What each module or package, with everything in it, may not import."""

ONLY: dict[str, set[str]] = {
    "torch": {"headroles.extraction", "headroles.runs.probe.trained"},
    "transformers": {"headroles.extraction"},
    "spacy": {"headroles.extraction"},
    "datasets": {"headroles.extraction"},
    "scipy": {"headroles.stats"},
    "statsmodels": {"headroles.stats"},
    "pingouin": {"headroles.stats"},
    "sklearn": {"headroles.stats"},
    "plotly": {"headroles.reports"},
    "jinja2": {"headroles.reports"},
    "kaleido": {"headroles.reports"},
    "rich": {"headroles.terminal"},
    "click": {"headroles.cli"},
    "ray": {"headroles.shards.engines"},
    "psutil": {"headroles.shards.engines"},
    "fsspec": {"headroles.addresses"},
    "headroles.cli": {"headroles.cli", "headroles.__main__"},
}
"""The only places that may import each of these."""


def _modules() -> dict[str, Path]:
    """Every module of the package by its name, the mapped folders through their root."""
    found = {}
    for folder, package in [("headroles", "headroles"), *((name, f"headroles.{name}") for name in MAPPED)]:
        for file in sorted((ROOT / folder).rglob("*.py")):
            inside = file.relative_to(ROOT / folder).with_suffix("").parts
            if folder == "headroles" and inside[0] in MAPPED:
                continue  # the same files through their links
            name = ".".join([package, *inside]).removesuffix(".__init__")
            found[name] = file
    return found


MODULES = _modules()
TESTS = sorted((ROOT / "tests").rglob("*.py"))


def _statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """Every import statement that runs; those for type checkers only are left out."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        yield from _statements(node)


def _imports(file: Path) -> set[str]:
    """Names of the modules that a file imports, inside functions too."""
    names: set[str] = set()
    for node in _statements(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            inner = {f"{module}.{alias.name}" for alias in node.names} & MODULES.keys()
            names |= inner or {module}
    return names


IMPORTS = {name: _imports(file) for name, file in MODULES.items()}


def _within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


@pytest.mark.parametrize("place", sorted(NEVER))
def test_a_layer_imports_nothing_it_must_not(place: str) -> None:
    members = [name for name in MODULES if _within(name, place)]
    assert members
    forbidden = [
        f"{name} imports {each}"
        for name in members
        for each in IMPORTS[name]
        for banned in NEVER[place]
        if _within(each, banned) and not _within(each, place)
    ]
    assert not forbidden


@pytest.mark.parametrize("library", sorted(ONLY))
def test_a_library_is_imported_in_its_own_place_only(library: str) -> None:
    users = {name for name, each in IMPORTS.items() if any(_within(one, library) for one in each)}
    strangers = {name for name in users if not any(_within(name, place) for place in ONLY[library])}
    assert not strangers


def test_imports_are_absolute_and_never_by_the_name_of_a_root_folder() -> None:
    for name, each in IMPORTS.items():
        assert not [one for one in each if one.startswith(".")], name
        assert not {one.split(".")[0] for one in each} & {*MAPPED, "tests"}, name


def _room(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


def test_every_room_imports_only_rooms_below_it() -> None:
    assert {_room(name) for name in MODULES} - {""} == set(ORDER)
    upward = [
        f"{name} imports {other}"
        for name, imported in IMPORTS.items()
        for other in imported & MODULES.keys()
        if _room(name) and _room(other) and ORDER.index(_room(other)) > ORDER.index(_room(name))
    ]
    assert not upward


def test_no_room_imports_a_private_name_of_another_room() -> None:
    private = [
        f"{name} imports {alias.name} of {node.module}"
        for name, file in MODULES.items()
        for node in _statements(ast.parse(file.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module in MODULES and _room(node.module) != _room(name)
        for alias in node.names
        if alias.name.startswith("_")
    ]
    assert not private


def test_no_folder_holds_more_modules_than_one_can_survey() -> None:
    folders = {file.parent for file in MODULES.values()} | {file.parent for file in TESTS}
    full = {
        folder.relative_to(ROOT).as_posix(): len(modules)
        for folder in folders
        if len(modules := [file for file in folder.glob("*.py") if file.name != "__init__.py"]) > MOST
    }
    assert not full


def test_every_package_says_what_lives_in_it() -> None:
    silent = {
        name
        for name, file in MODULES.items()
        if file.name == "__init__.py"
        and len((ast.get_docstring(ast.parse(file.read_text())) or "").split()) < 12
    }
    assert not silent


def test_no_import_goes_round_in_a_circle() -> None:
    graph = {name: {one for one in each if one in MODULES} - {"headroles"} for name, each in IMPORTS.items()}
    list(graphlib.TopologicalSorter(graph).static_order())


def test_heavy_libraries_are_never_imported_by_a_light_module() -> None:
    light = ("headroles", "headroles.cli.main", "headroles.errors", "headroles.records.example")
    for name in light:
        tree = ast.parse(MODULES[name].read_text())
        top = {ast.unparse(node) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)}
        assert not [line for line in top for heavy in ("torch", "pandas", "plotly", "rich") if heavy in line]


def test_no_module_has_a_name_that_says_nothing() -> None:
    vague = {"utils", "util", "helpers", "helper", "common", "misc", "types", "core"}
    assert not {name for name in MODULES if name.rpartition(".")[2] in vague}


def test_listed_packages_are_the_folders_that_are_packages() -> None:
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {name for name, file in MODULES.items() if file.name == "__init__.py"}
    assert set(tables["packages"]) == folders
    assert tables["package-dir"] == {f"headroles.{name}": name for name in MAPPED}


def test_links_lead_to_the_root_folders() -> None:
    for name in MAPPED:
        link = ROOT / "headroles" / name
        assert link.is_symlink()
        assert link.readlink() == Path("..") / name


def _python(code: str, *, where: Path = ROOT) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=where, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


HEAVY = (
    "numpy", "jaxtyping", "torch", "transformers", "pandas", "pyarrow", "plotly", "spacy", "scipy",
    "statsmodels", "rich",
)  # fmt: skip
"""Libraries that neither help nor the check of an option needs."""


def test_importing_the_package_loads_nothing_heavy() -> None:
    told = f"print([name for name in {HEAVY} if name in sys.modules])"
    assert _python(f"import sys, headroles; dir(headroles); {told}").strip() == "[]"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("--help", 0),
        ("--version", 0),
        *((f"{name} --help", 0) for name in ("label", "probe", "surface", "cluster", "ablate", "why")),
        *((f"{name} --help", 0) for name in ("prune", "judge", "report", "view", "sieves", "plan")),
        ("lable --task QNLI", 2),
        ("label --tsak QNLI", 2),
        ("label --task QNLX", 1),
        ("label --task QNLI --test nope", 1),
        ("label --task QNLI --device tpu", 1),
        ("label --task QNLI --alpha 5", 1),
        ("label --data nope.csv", 1),
        ("label --task QNLI --model ./nope", 1),
        ("label --task QNLI --sieve blok", 1),
        ("label --data headroles/samples/QNLI.tsv --text-a nope", 1),
        ("probe dependencies --data dev.conllu", 1),
        ("surface --task QNLI --marks abc", 1),
        ("cluster --task QNLI --method nope", 1),
        ("ablate --task QNLI --outcome nope", 1),
        ("prune run --bound 0", 1),
        ("judge run --test nope", 1),
        ("view", 1),
    ],
)
def test_help_and_refused_options_load_no_numpy_and_nothing_heavier(words: str, code: int) -> None:
    asked = f"import sys; sys.argv = ['headroles', *{words.split()}]\nfrom headroles.cli.main import main\n"
    told = f"print(); print([name for name in {HEAVY} if name in sys.modules]); print(leaving.code)"
    script = f"{asked}try:\n    main()\nexcept SystemExit as leaving:\n    {told}\n"
    *_, loaded, left = _python(script).splitlines()
    assert (loaded, left) == ("[]", str(code))


@pytest.mark.parametrize(
    "words", ["--sieve blok", "--sieve mine.py:x", "--until decided --sieve bag-of-words"]
)
def test_a_refused_sieve_loads_neither_terminal_nor_shards_nor_results(words: str) -> None:
    far = (
        "rich",
        "pyarrow",
        "pandas",
        "scipy",
        "torch",
        "headroles.shards.work",
        "headroles.records.findings",
    )
    asked = f"import sys; sys.argv = ['headroles', 'label', '--task', 'QNLI', *{words.split()}]\n"
    told = f"print([name for name in {far} if name in sys.modules]); print(leaving.code)"
    script = (
        f"from headroles.cli.main import main\ntry:\n    main()\nexcept SystemExit as leaving:\n    {told}\n"
    )
    assert _python(asked + script).splitlines() == ["[]", "1"]


def test_root_folders_refuse_to_be_imported_by_their_bare_names() -> None:
    code = (
        "import importlib\n"
        "for name in ('sieves', 'stats', 'reports'):\n"
        "    try:\n        importlib.import_module(name)\n"
        "    except ImportError as error:\n        print(f'headroles.{name}' in str(error))\n"
    )
    assert _python(code).split() == ["True"] * 3


def test_every_public_name_is_there() -> None:
    import headroles

    for name in headroles.__all__:
        assert getattr(headroles, name) is not None
    assert dir(headroles) == sorted(headroles.__all__)
    with pytest.raises(AttributeError, match="no attribute 'lable'"):
        headroles.lable  # type: ignore[attr-defined]  # noqa: B018


def _packed(package: str, folder: Path) -> set[str]:
    """Files of a package as they belong into a wheel."""
    kinds = {
        "headroles": ("samples/", "parser/", "sharing/schemas/", "py.typed", "__init__.pyi"),
        "headroles.reports": ("templates/",),
    }
    files = set()
    for file in folder.rglob("*"):
        inside = file.relative_to(folder).as_posix()
        if file.is_file() and (
            inside.endswith(".py") or inside.startswith(kinds.get(package, ("no such folder",)))
        ):
            files.add(f"{package.replace('.', '/')}/{inside}")
    return files


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else(tmp_path: Path) -> None:
    source = tmp_path / "source"
    clean = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("headroles", *MAPPED):
        shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=clean)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    words = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(tmp_path),
        str(source),
    ]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=480)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    wanted = _packed("headroles", source / "headroles")
    for name in MAPPED:
        wanted -= {each for each in wanted if each.startswith(f"headroles/{name}/")}
        wanted |= _packed(f"headroles.{name}", source / name)
    assert names == wanted
    for task in ("QNLI", "QQP", "MRPC", "SST-2"):
        assert f"headroles/samples/{task}.tsv" in names
    assert {"headroles/py.typed", "headroles/parser/meta.json"} < names
