"""Pictures of README.md and of the documentation, made from real runs of the embedded model.

    python docs/pictures/take.py --treebank en_ewt-ud-dev.conllu.gz [--runs FOLDER] [--out docs/pictures]

The runs take some minutes. They are made once in the folder ``--runs``, and used again from there. The
treebank is the development part of UD English EWT (CC BY-SA 4.0). Needs Chromium at /usr/bin/chromium, and
the extra "figures". The pages request nothing from the network.
"""

import argparse
import html
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

import headroles

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = "/usr/bin/chromium"
WIDTH = 1200
PATIENCE = 300_000
"""Milliseconds until a page must be there, on a busy machine."""
LARGEST = {".png": 300_000, ".svg": 150_000}
"""Most bytes of a picture, by its ending."""
HEAD = (2, 0)
"""Layer and head whose card and attention are shown."""
SENTENCE, KEYS = "The old sailor quickly mended the torn sail.", "So · object → verb"
"""Text of the view, and the role whose keys it colours."""
PAIR = ("Who mended the sail?", "The old sailor mended it.")
"""Texts that a sieve is drawn on."""
MRPC = ROOT / "headroles" / "samples" / "MRPC.tsv"
FIGURES = {
    "matrix.svg": ("label", "matrix.svg"),
    "layers.svg": ("label", "layers.svg"),
    "overlap.svg": ("label", "overlap.svg"),
    "surface.svg": ("surface", "separators.svg"),
    "entropy.svg": ("surface", "entropy.svg"),
    "clusters.svg": ("cluster", "cluster-map-layer.svg"),
    "damage.svg": ("ablate", "damage.svg"),
    "prediction.svg": ("ablate", "prediction.svg"),
    "why-shares.svg": ("why", "shares.svg"),
    "why-neurons.svg": ("why", "neurons.svg"),
}
"""Pictures that are figures for print: run and file."""


def make_runs(folder: Path, treebank: str) -> None:
    """Make the runs that are not there yet."""
    before, after, tuned = (str(folder / name) for name in ("before", "after", "tuned"))
    program = ROOT / "examples" / "finetune-mrpc" / "finetune.py"
    trained = [sys.executable, str(program), "--train", str(MRPC), "--dev", str(MRPC), "--out", tuned]
    steps: dict[str, Callable[[], object]] = {
        "label": lambda: headroles.label("QNLI", out=folder / "label"),
        "probe": lambda: headroles.probe("dependency", data=treebank, limit=200, out=folder / "probe"),
        "surface": lambda: headroles.surface("QNLI", limit=60, out=folder / "surface"),
        "cluster": lambda: headroles.cluster("QNLI", limit=60, out=folder / "cluster"),
        "ablate": lambda: headroles.ablate(roles=str(folder / "label"), out=folder / "ablate"),
        "why": lambda: headroles.why(str(folder / "label"), out=folder / "why"),
        "tuned": lambda: subprocess.run(trained, check=True),
        "before": lambda: headroles.label("MRPC", out=before),
        "after": lambda: headroles.label("MRPC", model=tuned, out=after),
        "compare": lambda: headroles.compare(before, after, out=folder / "compare"),
    }
    for name, make in steps.items():
        if not (folder / name).exists():
            make()


def open_page(browser: Browser, path: Path, height: int, width: int = WIDTH) -> Page:
    """Open a page in the light theme, without motion."""
    window = browser.new_page(viewport={"width": width, "height": height}, color_scheme="light")
    window.set_default_timeout(PATIENCE)
    window.emulate_media(reduced_motion="reduce")
    window.goto(path.resolve().as_uri())
    return window


def report(browser: Browser, runs: Path) -> bytes:
    """Return a picture of the first screen: the answer, and a map of heads for every role."""
    window = open_page(browser, runs / "label" / "report.html", 900, width=1280)
    window.locator("#maps").wait_for()
    return take_picture(window)


def card(browser: Browser, runs: Path) -> bytes:
    """Return a picture of the answer, with one head open in the panel."""
    window = open_page(browser, runs / "label" / "report.html", 900)
    window.evaluate("head => openHead(cellNamed(...head))", HEAD)
    window.locator("#head-card canvas").first.wait_for()
    return take_picture(window)


def means(browser: Browser, runs: Path) -> bytes:
    """Return a picture of the means with their intervals."""
    window = open_page(browser, runs / "label" / "report.html", 1000)
    window.evaluate("document.getElementById('figure-means').scrollIntoView()")
    window.evaluate("window.scrollBy(0, -60)")
    return take_picture(window)


def probe(browser: Browser, runs: Path) -> bytes:
    """Return a picture of the figure of probes: the best head of every row, and its baseline."""
    return take_picture(open_page(browser, figure(runs, "probe", "probe-0.svg"), 1040, width=752))


def probe_top(browser: Browser, runs: Path) -> bytes:
    """Return a picture of the most frequent rows of the same figure, in the shape of its neighbours."""
    return take_picture(open_page(browser, figure(runs, "probe", "probe-0.svg"), 541, width=752))


def ablate(browser: Browser, runs: Path) -> bytes:
    """Return a picture of the answer of a run that takes heads out, and of its maps."""
    return take_picture(open_page(browser, runs / "ablate" / "report.html", 900, width=1280))


def compare(browser: Browser, runs: Path) -> bytes:
    """Return a picture of the answer of a comparison."""
    return take_picture(open_page(browser, runs / "compare" / "report.html", 900))


def notebook(browser: Browser, runs: Path) -> bytes:
    """Return a picture of two cells of a notebook, and of what they show."""
    run = headroles.load(runs / "label")
    cell = "<pre style='background:#f4f4f4;padding:12px;font:15px monospace'>{}</pre>"
    page = runs / "notebook.html"
    code = html.escape('import headroles\n\nrun = headroles.label("QNLI")\nrun')
    shown = run._repr_html_()
    page.write_text(
        f"<!doctype html><meta charset=utf-8><body style='font:15px sans-serif;margin:24px'>"
        f"{cell.format(code)}{shown}",
        encoding="utf-8",
    )
    return take_picture(open_page(browser, page, 915, width=1000))


def view(browser: Browser, runs: Path) -> bytes:
    """Return a picture of all heads with the roles of the run, and of the head in a preview."""
    path, (layer, head) = runs / "view.html", HEAD
    headroles.view(SENTENCE, run=runs / "label", view="model", out=path, overwrite=True)
    window = open_page(browser, path, 780, width=1120)
    window.select_option("#view-keys", label=KEYS)
    window.evaluate("document.getElementById('view-app').scrollIntoView()")
    window.hover(f".view-thumb[aria-label^='layer {layer}, head {head}']")
    return take_picture(window)


def head_view(browser: Browser, runs: Path) -> bytes:
    """Return a picture of the attention of one head, with the keys of its role in colour."""
    path, (layer, head) = runs / "head.html", HEAD
    headroles.view(SENTENCE, run=runs / "label", view="head", out=path, overwrite=True)
    window = open_page(browser, path, 640, width=1120)
    window.evaluate(f"chosen.layer = {layer}; headView.choose({head}); leaveOut(); show(open)")
    window.select_option("#view-keys", label=KEYS)
    window.evaluate("document.getElementById('view-app').scrollIntoView()")
    return take_picture(window)


PICTURES: dict[str, Callable[[Browser, Path], bytes]] = {
    "report.png": report,
    "card.png": card,
    "means.png": means,
    "probe.png": probe,
    "probe-top.png": probe_top,
    "ablate.png": ablate,
    "compare.png": compare,
    "notebook.png": notebook,
    "view.png": view,
    "head.png": head_view,
}
"""Pictures of pages, and how they are taken."""


def take_picture(window: Page) -> bytes:
    """Return a picture of the window once it has drawn its content."""
    window.wait_for_timeout(1500)
    picture = window.screenshot()
    window.close()
    return picture


def figure(runs: Path, run: str, name: str) -> Path:
    """Return the file of a figure; all figures of the run are drawn where it is not there yet."""
    path = runs / run / "figures" / name
    if not path.exists():
        headroles.figures(runs / run, "svg")
    return path


def take_figures(runs: Path, chosen: set[str]) -> dict[str, bytes]:
    """Return the figures for print, as the runs draw them."""
    pictures = {}
    for name, (run, file) in FIGURES.items():
        if name in chosen:
            pictures[name] = figure(runs, run, file).read_bytes()
    if "sieve.svg" in chosen:
        drawn = runs / "sieve.svg"
        shown = [word for text in PAIR for word in ("--show", text)]
        command = [
            sys.executable,
            "-m",
            "headroles",
            "sieves",
            "block",
            *shown,
            "--svg",
            str(drawn),
            "--overwrite",
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        pictures["sieve.svg"] = drawn.read_bytes()
    if "heat.svg" in chosen:
        drawn = runs / "heat.svg"
        headroles.view(SENTENCE, layers=(HEAD[0],), svg=drawn, as_="heat", overwrite=True)
        pictures["heat.svg"] = drawn.read_bytes()
    return pictures


def main() -> None:
    """Make the runs and write the pictures."""
    names = [*PICTURES, *FIGURES, "sieve.svg", "heat.svg"]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    parser.add_argument("--runs", type=Path, default=ROOT / "build" / "pictures")
    parser.add_argument("--treebank", required=True)
    parser.add_argument("--only", nargs="*", choices=names, default=names)
    given = parser.parse_args()
    given.runs.mkdir(parents=True, exist_ok=True)
    make_runs(given.runs, given.treebank)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        for name, take in PICTURES.items():
            if name in given.only:
                write(given.out / name, take(browser, given.runs))
        browser.close()
    for name, picture in take_figures(given.runs, {*given.only}).items():
        write(given.out / name, picture)


def write(path: Path, picture: bytes) -> None:
    """Write a picture unless it is too large."""
    most = LARGEST[path.suffix]
    if len(picture) > most:
        raise SystemExit(f"a picture may have {most:,} bytes, but {path.name} has {len(picture):,}")
    path.write_bytes(picture)


if __name__ == "__main__":
    main()
