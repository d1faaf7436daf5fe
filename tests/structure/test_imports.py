"""Who imports whom, what an import loads, and what the wheel holds."""

import ast
import graphlib
import json
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAPPED = ("sieves", "stats", "reports")
MODELS = {"torch", "transformers", "tokenizers", "safetensors", "huggingface_hub", "datasets", "spacy"}
ROOMS = {
    name: f"headroles.{name}" for name in ("sieves", "stats", "reports", "extraction", "runs", "storage")
}
SCORING = {"pandas", "plotly", "scipy", "statsmodels", "pingouin"}


def _but(*rooms: str) -> set[str]:
    """Return all rooms of ROOMS but some."""
    return {name for short, name in ROOMS.items() if short not in rooms}


ORDER = (
    "errors", "public", "progress", "tasks", "addresses", "kinds", "records", "plans", "presets", "sieves",
    "stats", "storage", "reports", "options", "extraction", "plugins", "catalogue", "arrays", "plain",
    "testing", "planning", "inputs", "preprocessing", "maps", "converting", "judging", "shards", "viewing",
    "showing", "exporting", "comparing", "sharing", "runs", "pruning", "cli", "__main__",
)  # fmt: skip
"""Rooms of the package from the ground up; each imports only rooms before it."""
MOST = 28
"""Most modules that a folder holds, the ``__init__`` left aside."""
CEILINGS = {
    "reports/*.py": (28, 6_400), "reports/kinds/*.py": (26, 8_900), "reports/templates/*.*": (23, 4_900),
}  # fmt: skip
"""Files, and lines in all, that a folder holds at most, by a pattern of its files."""
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
    | _but("reports", "storage", "stats"),
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
    "rich": {"headroles.reports", "headroles.progress", "headroles.cli.display"},
    "click": {"headroles.cli"},
    "ray": {"headroles.shards.engines"},
    "psutil": {"headroles.shards.engines"},
    "fsspec": {"headroles.addresses"},
    "headroles.cli": {"headroles.cli", "headroles.__main__"},
}
"""The only places that may import each of these."""


@dataclass(frozen=True)
class Source:
    """A module of the product: its file, what it imports, and the words of its docstring.

    Programs are not kept: those of all modules take 300 MB.
    """

    file: Path
    imports: frozenset[str]
    private: tuple[tuple[str, str], ...]
    words: int

    @classmethod
    def of(cls, file: Path, modules: set[str]) -> "Source":
        """Read a module."""
        tree = ast.parse(file.read_text(encoding="utf-8"))
        private = tuple(
            (node.module or "", alias.name)
            for node in _statements(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if alias.name.startswith("_")
        )
        words = len((ast.get_docstring(tree) or "").split())
        return cls(file, frozenset(_imports(tree, modules)), private, words)


def _statements(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield every import statement that runs; those for type checkers only are left out."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        yield from _statements(node)


def _imports(tree: ast.Module, modules: set[str]) -> Iterator[str]:
    """Yield the names of the modules that a file imports, inside functions too."""
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
            module = "." * node.level + (node.module or "")
            inner = {f"{module}.{alias.name}" for alias in node.names} & modules
            yield from inner or {module}


@pytest.fixture(scope="session")
def sources() -> dict[str, Source]:
    """Every module of the package by its name; the mapped folders are read through their root."""
    files = {}
    for folder, package in [("headroles", "headroles"), *((name, f"headroles.{name}") for name in MAPPED)]:
        for file in sorted((ROOT / folder).rglob("*.py")):
            inside = file.relative_to(ROOT / folder).with_suffix("").parts
            if folder == "headroles" and inside[0] in MAPPED:
                continue  # the same files through their links
            files[".".join([package, *inside]).removesuffix(".__init__")] = file
    return {name: Source.of(file, {*files}) for name, file in files.items()}


def _within(name: str, package: str) -> bool:
    """Return whether a module is a package or lies in it."""
    return name == package or name.startswith(f"{package}.")


def _room(name: str) -> str:
    """Return the room of a module."""
    return name.split(".")[1] if "." in name else ""


def _above(other: str, name: str) -> bool:
    """Return whether a module lies in a room above that of another one."""
    rooms = _room(other), _room(name)
    return all(rooms) and ORDER.index(rooms[0]) > ORDER.index(rooms[1])


def test_a_layer_imports_nothing_it_must_not(sources: dict[str, Source]) -> None:
    forbidden = [
        f"{name} imports {other}"
        for place, banned in NEVER.items()
        for name, source in sources.items()
        if _within(name, place)
        for other in source.imports
        if not _within(other, place) and any(_within(other, package) for package in banned)
    ]
    assert forbidden == []
    assert [place for place in NEVER if not any(_within(name, place) for name in sources)] == []


def test_a_library_is_imported_in_its_own_place_only(sources: dict[str, Source]) -> None:
    strangers = [
        f"{name} imports {library}"
        for library, places in ONLY.items()
        for name, source in sources.items()
        if any(_within(other, library) for other in source.imports)
        and not any(_within(name, place) for place in places)
    ]
    assert strangers == []


def test_imports_are_absolute_run_down_and_take_no_private_name_of_another_room(
    sources: dict[str, Source],
) -> None:
    assert {_room(name) for name in sources} - {""} == set(ORDER)
    faults = []
    for name, source in sources.items():
        for other in source.imports:
            if other.startswith(".") or other.split(".")[0] in {*MAPPED, "tests"}:
                faults.append(f"{name} imports {other}")
            elif other in sources and _above(other, name):
                faults.append(f"{name} imports {other}, a room above it")
        for module, taken in source.private:
            if module in sources and _room(module) != _room(name):
                faults.append(f"{name} imports {taken} of {module}")
    assert faults == []


def test_no_import_goes_round_in_a_circle(sources: dict[str, Source]) -> None:
    graph = {name: source.imports & sources.keys() - {"headroles"} for name, source in sources.items()}
    list(graphlib.TopologicalSorter(graph).static_order())


def test_folders_are_small_and_say_what_lives_in_them(sources: dict[str, Source]) -> None:
    vague = {"utils", "util", "helpers", "helper", "common", "misc", "types", "core"}
    assert {name for name in sources if name.rpartition(".")[2] in vague} == set()
    packages = [source for source in sources.values() if source.file.name == "__init__.py"]
    assert [source.file for source in packages if source.words < 12] == []
    folders = {source.file.parent for source in sources.values()}
    folders |= {file.parent for file in (ROOT / "tests").rglob("*.py")}
    sizes = {str(folder): sum(f.name != "__init__.py" for f in folder.glob("*.py")) for folder in folders}
    assert {folder: size for folder, size in sizes.items() if size > MOST} == {}


def test_no_folder_outgrows_its_ceiling() -> None:
    sizes = {}
    for pattern, most in CEILINGS.items():
        files = [file for file in ROOT.glob(pattern) if file.name != "calibration.json"]
        lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)
        assert files
        sizes[pattern] = (len(files), lines, most)
    over = {name: size for name, size in sizes.items() if size[0] > size[2][0] or size[1] > size[2][1]}
    assert over == {}


def test_listed_packages_are_the_folders_and_links_lead_to_the_root(sources: dict[str, Source]) -> None:
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {name for name, source in sources.items() if source.file.name == "__init__.py"}
    assert {*tables["packages"]} == folders
    assert tables["package-dir"] == {f"headroles.{name}": name for name in MAPPED}
    for name in MAPPED:
        link = ROOT / "headroles" / name
        assert link.is_symlink()
        assert link.readlink() == Path("..") / name


def test_a_new_process_loads_nothing_heavy_with_the_package_its_faces_or_help() -> None:
    heavy = (
        "numpy", "jaxtyping", "torch", "transformers", "pandas", "pyarrow", "plotly", "spacy", "scipy",
        "statsmodels", "rich",
    )  # fmt: skip
    code = f"""
import contextlib, importlib, io, json, sys
import headroles
dir(headroles)
loaded = lambda: [name for name in {heavy} if name in sys.modules]
told = {{"package": loaded()}}
for name in ("stats", "reports", "storage", "extraction", "inputs", "shards"):
    importlib.import_module(f"headroles.{{name}}")
told["faces"] = loaded()
for name in ("sieves", "stats", "reports"):
    try:
        importlib.import_module(name)
    except ImportError as error:
        told[name] = f"headroles.{{name}}" in str(error)
from headroles.cli.main import main
for words in ("--help", "label --help", "why --help", "view --help", "--version"):
    sys.argv = ["headroles", *words.split()]
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
        main()
told["help"] = loaded()
print(json.dumps(told))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told == {"package": [], "faces": [], "sieves": True, "stats": True, "reports": True, "help": []}


def test_every_public_name_and_every_name_of_a_face_is_there() -> None:
    import headroles
    from headroles import extraction, inputs, records, reports, shards, stats, storage

    for package in (headroles, extraction, inputs, records, reports, shards, stats, storage):
        for name in package.__all__:
            assert getattr(package, name) is not None
        assert dir(package) == sorted(package.__all__)
        with pytest.raises(AttributeError, match="no attribute 'lable'"):
            package.lable  # noqa: B018


def _packed(package: str, folder: Path) -> set[str]:
    """Return the files of a package as they belong into a wheel."""
    kinds = {
        "headroles": ("samples/", "parser/", "storage/schemas/", "py.typed", "__init__.pyi"),
        "headroles.reports": ("templates/", "methods.txt", "works.bib"),
    }
    beside = kinds.get(package, ("no such folder",))
    names = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}
    chosen = {name for name in names if name.endswith(".py") or name.startswith(beside)}
    return {f"{package.replace('.', '/')}/{name}" for name in chosen}


@pytest.mark.ci
def test_the_wheel_holds_the_package_and_nothing_else(tmp_path: Path) -> None:
    source = tmp_path / "source"
    clean = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("headroles", *MAPPED):
        shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=clean)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    words: list[str | Path] = [sys.executable, "-m", "build", "--wheel", "--no-isolation"]
    words += ["--outdir", tmp_path, source]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=480)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    wanted = _packed("headroles", source / "headroles")
    for name in MAPPED:
        wanted = {file for file in wanted if not file.startswith(f"headroles/{name}/")}
        wanted |= _packed(f"headroles.{name}", source / name)
    assert names == wanted
    samples = ("QNLI.tsv", "QQP.tsv", "MRPC.tsv", "SST-2.tsv", "EWT.conllu", "EWT.md")
    assert {f"headroles/samples/{name}" for name in samples} < names
    assert {"headroles/py.typed", "headroles/parser/meta.json"} < names
