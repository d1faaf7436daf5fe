"""The documentation site, built once for all tests; ``HEADROLES_SITE`` names one that is built already."""

import importlib.util
import os
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
from filelock import FileLock

from tests.conftest import EVERYTHING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 2400
"""Most seconds of a build, which executes the tutorials and labels the heads of a model."""


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site. Processes of one test run share one build; results of code are kept longer."""
    if given := os.environ.get("HEADROLES_SITE"):
        return Path(given).resolve()
    if importlib.util.find_spec("mkdocs") is None:
        reason = "the site is built with the extra docs, or HEADROLES_SITE names a built one"
        pytest.fail(reason) if EVERYTHING else pytest.skip(reason)
    shared = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        shared = shared.parent
    folder, done = shared / "site", shared / "site.txt"
    with FileLock(shared / "site.lock"):
        if not done.exists():
            done.write_text(_build(folder), encoding="utf-8")
    report = done.read_text(encoding="utf-8")
    assert (folder / "index.html").exists(), report
    return folder


def _build(folder: Path) -> str:
    """Build the site strictly; return what was said."""
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(
        words,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )
    return f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"


@pytest.fixture(scope="session")
def served(site: Path) -> "Iterator[str]":
    """The address of a local server of the site."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *given: Any) -> None:
            """Print nothing."""

        def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
            """Answer with the page of the site for addresses that do not exist."""
            if code == 404:
                self.send_response(404)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write((site / "404.html").read_bytes())
            else:
                super().send_error(code, message, explain)

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
