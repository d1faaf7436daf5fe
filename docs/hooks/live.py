"""Pages that are made when the site is built: a live report and view, and the list of changes.

``live/report.html`` and ``live/view.html`` are what the commands of the README write today.
"""

import logging
import shutil
from pathlib import Path

from cache import ROOT, executed, kept
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

LOG = logging.getLogger("mkdocs.hooks.live")
SENTENCE = "The old sailor quickly mended the torn sail."
PAGES = ("report.html", "view.html")
LEFT_OUT = "<!doctype html><html lang=en><title>Left out</title><p>This quick build of the site runs no code."


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the live pages and the list of changes."""
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "reference/changelog.md", content=changes))
    folder = live_pages() if executed() else None
    for name in PAGES:
        if folder is None:
            files.append(File.generated(config, f"live/{name}", content=LEFT_OUT))
        else:
            files.append(File.generated(config, f"live/{name}", abs_src_path=str(folder / name)))
    return files


def live_pages() -> Path:
    """Return the folder of the live pages; make them unless this state of the code already did."""
    folder = kept("live", SENTENCE.encode())
    if all((folder / name).exists() for name in PAGES):
        return folder
    import headroles

    LOG.info("Labelling the heads of the embedded model for the live report")
    shutil.rmtree(folder, ignore_errors=True)
    run = headroles.label("QNLI", out=str(folder / "runs" / "QNLI-all-MiniLM-L6-v2"), overwrite=True)
    headroles.view(SENTENCE, run=run, out=folder / "view.html")
    shutil.copy(str(run.report_path), folder / "report.html")
    return folder
