"""Settings of every test run, and the fixtures that all folders use; the others live in tests/support."""

import json
import os
from collections.abc import Callable, Generator, Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.support import PHASE

if TYPE_CHECKING:
    from headroles import Labelling

pytest_plugins = (
    "tests.support.browser",
    "tests.support.budget",
    "tests.support.made_runs",
    "tests.support.object_store",
    "tests.support.planted",
    "tests.support.prunable",
    "tests.support.reference",
    "tests.support.tiny_models",
)

# One thread: on a busy machine small operations split over threads wait for the scheduler, and the
# last bits of a matrix product depend on how many threads it got.
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"
# No test leaves parses in the cache of the user, or takes any from it.
os.environ["HEADROLES_CACHE"] = "none"

ROOT = Path(__file__).resolve().parents[1]
EVERYTHING = os.environ.get("HEADROLES_REQUIRE_ALL") == "1"

# A developer's run draws few cases; CI draws more, and the same ones every time.
settings.register_profile("quick", max_examples=25, deadline=None)
settings.register_profile("repeatable", max_examples=100, derandomize=True, deadline=None)
settings.load_profile("repeatable" if EVERYTHING else "quick")


def pytest_configure(config: pytest.Config) -> None:
    """Shuffle tests, and seed no library before each: the seeding of one imports torch everywhere."""
    if hasattr(config.option, "randomly_reset_seed"):
        import pytest_randomly

        config.option.randomly_reset_seed = False
        pytest_randomly.entrypoint_reseeds = []


def needed(path: Path, what: str) -> Path:
    """Return the path, or skip the test; fail instead where everything is required."""
    if path.exists():
        return path
    reason = f"{what} is not here ({path})"
    if EVERYTHING:
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Reference data and golden values, which are not part of the project."""
    return needed(ROOT.parent / "shared", "the folder of reference data")


@pytest.fixture(scope="session")
def stories(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a trained decoder, converted from the reference data."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("stories", ROOT / "examples" / "atlas" / "stories.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    folder: Path = module.convert(
        shared / "models" / "stories260K", tmp_path_factory.mktemp("models") / "stories"
    )
    return folder


Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run ``headroles`` with some words; gives exit code, stdout, and stderr without lines of phases."""
    from headroles.cli.main import main

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["headroles", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as leaving:
            main()
        out, err = capsys.readouterr()
        return int(leaving.value.code or 0), out, PHASE.sub("", err)

    return run


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Refuse every connection at once, and let no one wait for another try; gives the places tried."""
    tried: list[object] = []

    def refuse(address: object, *_: object, **__: object) -> None:
        tried.append(address)
        raise ConnectionRefusedError("no network in this test")

    monkeypatch.setattr("socket.create_connection", refuse)
    monkeypatch.setattr("socket.getaddrinfo", refuse)
    monkeypatch.setattr("time.sleep", lambda seconds: pytest.fail(f"a wait of {seconds} s"))
    return tried


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Let runs write a small page in place of the report, which takes longer to draw than a tiny run.

    Tests of reports draw the real one: those in folders of reports, and those with the marker
    ``with_report``. So do fixtures that ask for it (``tests.support.planted.real_report``).
    """
    folder = item.path.relative_to(ROOT / "tests").parts[0]
    if folder in ("pages", "contract") or item.get_closest_marker("with_report"):
        return (yield)
    from headroles.reports import clusters_page, html, page, probes_page
    from headroles.reports.why import page as origins

    def small_page(manifest: Mapping[str, object]) -> str:
        return f"<!doctype html><title>report</title><pre>{json.dumps(dict(manifest), default=str)}</pre>"

    def small_page_for(drawing: "Callable[[Labelling], str]") -> "Callable[[Labelling], str]":
        @wraps(drawing)
        def small(labelling: "Labelling") -> str:
            return small_page(labelling.manifest)

        return small

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "page", small_page_for(page.page))
        patch.setattr(probes_page, "probes_page", small_page_for(probes_page.probes_page))
        patch.setattr(clusters_page, "clusters_page", small_page_for(clusters_page.clusters_page))
        patch.setattr(
            html,
            "page_html",
            lambda report: f"<!doctype html><title>report</title><pre>{report.manifest}</pre>",
        )
        patch.setattr(origins, "why_page", small_page_for(origins.why_page))
        return (yield)
