"""Make every figure and table of docs/reproduce.md: ``python examples/reproduce/make.py --out DIR``.

Without further options it reads the samples that headroles ships, and the embedded model. What has no data is
skipped, with the reason. A second call goes on where the first one stopped.
"""

import argparse
import importlib.util
import json
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from figures import FIGURES, INPUTS, STEPS, Figure, Step

SAMPLES = {"trees": ("QNLI", "sentence"), "learn": ("MRPC", "#1 String")}
"""Shipped samples that stand in for treebanks, with the column of their text; the parser makes the trees."""

FINETUNE = Path(__file__).parents[1] / "finetune-mrpc" / "finetune.py"
"""The script that fine-tunes the embedded encoder where no fine-tuned model was given."""

CHROMIUM = Path("/usr/bin/chromium")
"""The browser that pictures of pages are taken with."""
PATIENCE = 300_000
"""Most milliseconds to wait for a picture, on a busy machine."""


class Failed(Exception):
    """A command that did not work; says why."""


class Missing(Exception):
    """An input that was not given; says how to give it."""


class Maker:
    """Runs commands in their order, each once, and skips what is there."""

    def __init__(self, out: Path, given: Mapping[str, str], model: str | None, limit: int | None) -> None:
        """Take the folder of results, the given inputs by name, and limits.

        Args:
            out: Folder of results.
            given: Files and models by their names in ``INPUTS``.
            model: The model; None for the embedded one.
            limit: Most inputs of a run; None for all.
        """
        self.out, self.given, self.model, self.limit = out, given, model, limit
        self.failures: dict[str, str] = {}

    def figure(self, figure: Figure) -> Path:
        """Make a figure or a table, and return its file.

        Raises:
            Missing: When an input is needed that was not given.
            Failed: When a command does not work.
        """
        file = self.out / f"{figure.key}.{figure.form}"
        if file.exists():
            return file
        run = self.step(figure.step) if figure.step else self.out
        if figure.command:
            written = file.with_suffix(".html") if figure.form == "png" else file
            model = ["--model", self.model] if self.model and not figure.step else []
            places = {"run": shlex.quote(str(run)), "file": shlex.quote(str(written))}
            self.call([*shlex.split(figure.command.format(**places)), *model])
            if written != file:
                photograph(written, file)
            return file
        drawn = run / "figures"
        if not drawn.exists():
            self.call(["show", str(run), "--figures", "svg"])
        picture = drawn / f"{figure.figure}.svg"
        if not picture.exists():
            raise Failed(f"the run has no figure {figure.figure}")
        if figure.form == "png":
            photograph(picture, file)
        else:
            shutil.copyfile(picture, file)
        return file

    def step(self, name: str) -> Path:
        """Do a step unless it is done, and return the folder that it writes.

        Raises:
            Missing: When an input is needed that was not given.
            Failed: When its command does not work, or did not work before.
        """
        step = STEPS[name]
        made = self.out / step.makes
        if (made / "manifest.json").exists():
            return made
        if name in self.failures:
            raise Failed(self.failures[name])
        for need in step.needs:
            if need in STEPS and need not in INPUTS:
                self.step(need)
        words = [word for part in shlex.split(step.command) for word in self.filled(part)]
        try:
            self.call([*words, *self.limits(step)])
        except Failed as failure:
            self.failures[name] = str(failure)
            raise
        return made

    def limits(self, step: Step) -> list[str]:
        """Return the options of model and inputs that a step takes."""
        limit = ["--limit", str(self.limit)] if step.limit and self.limit else []
        return [*limit, *(["--model", self.model] if step.model and self.model else [])]

    def filled(self, word: str) -> list[str]:
        """Return a word of a command with its input; two words where it is an option with a value."""
        if word == "{wikipedia}":
            return self.texts()
        inputs = {name: self.input(name) for name in INPUTS if f"{{{name}}}" in word}
        return [word.format(out=self.out, **inputs)]

    def texts(self) -> list[str]:
        """Return the options of pairs of spans of running text; without any, that of a shipped sample."""
        if "wikipedia" not in self.given:
            return ["--task", "QNLI"]
        file = self.out / "inputs" / "wikipedia.jsonl"
        if not file.exists():
            model = ["--model", self.model] if self.model else []
            how = ["--out", str(file), "--cut", "words", *model]
            self.call(["convert", "pairs", self.given["wikipedia"], *how])
        return ["--data", str(file), "--group", "group"]

    def input(self, name: str) -> str:
        """Return an input that was given, or made from a shipped sample.

        Raises:
            Missing: When there is neither.
        """
        if name in self.given:
            return self.given[name]
        if name == "tuned" and self.model is None:
            return self.tuned()
        if name not in SAMPLES:
            raise Missing(f"it needs {INPUTS[name]}")
        task, column = SAMPLES[name]
        sample = sample_file(task)
        file = self.out / "inputs" / f"{name}.jsonl"
        if not file.exists():
            words = ["convert", "trees", str(sample), "--text-a", column, "--out", str(file)]
            self.call([*words, *(["--limit", str(self.limit)] if self.limit else [])])
        return str(file)

    def tuned(self) -> str:
        """Return the embedded encoder, fine-tuned on the shipped pairs of MRPC.

        Raises:
            Failed: When the training does not work.
        """
        folder = self.out / "inputs" / "tuned"
        if not (folder / "model.safetensors").exists():
            shutil.rmtree(folder, ignore_errors=True)  # what an interrupted training left
            limit = ["--limit", str(self.limit)] if self.limit else []
            words = [str(FINETUNE), "--train", str(sample_file("MRPC")), "--out", str(folder), *limit]
            run_python(words, shlex.join(["python", *words]))
        return str(folder)

    def call(self, words: Sequence[str]) -> None:
        """Run a command of headroles, and show it first.

        Raises:
            Failed: With the last line of what it printed.
        """
        (self.out / "inputs").mkdir(parents=True, exist_ok=True)
        run_python(["-m", "headroles", *words], shlex.join(["headroles", *words]))


def sample_file(task: str) -> Path:
    """Return the sample of a task that headroles ships."""
    import headroles

    return Path(headroles.__file__).parent / "samples" / f"{task}.tsv"


def run_python(words: Sequence[str], shown: str) -> None:
    """Run Python with some words, and show a command line first.

    Raises:
        Failed: With the last line of what it printed.
    """
    print(f"$ {shown}", flush=True)
    done = subprocess.run([sys.executable, *words], capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise Failed(lines[-1] if lines else f"the command ended with {done.returncode}")


def photograph(page: Path, file: Path) -> None:
    """Write a picture of a page, or of a drawing, as a browser shows it.

    Raises:
        Missing: When Playwright or Chromium is not installed.
    """
    if importlib.util.find_spec("playwright") is None or not CHROMIUM.exists():
        raise Missing(f"a picture of '{page}' needs the package playwright and {CHROMIUM}")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        window = browser.new_page(viewport={"width": 1000, "height": 700}, color_scheme="light")
        window.set_default_timeout(PATIENCE)
        window.goto(page.resolve().as_uri())
        window.evaluate("document.getElementById('view-app')?.scrollIntoView()")
        window.wait_for_timeout(1500)
        shown = window.locator("svg").first if page.suffix == ".svg" else window
        file.write_bytes(shown.screenshot())
        browser.close()


def make_all(maker: Maker, chosen: Sequence[Figure]) -> int:
    """Make figures, print a line for each, and return how many failed."""
    failed = 0
    for figure in chosen:
        started = time.monotonic()
        try:
            line = str(maker.figure(figure))
        except Missing as missing:
            line = f"skipped: {missing}"
        except Failed as failure:
            failed += 1
            line = f"failed: {failure}"
        print(f"{figure.key:<28}{time.monotonic() - started:7.1f} s  {line}", flush=True)
    return failed


def check_settings(out: Path, settings: Mapping[str, object]) -> None:
    """Refuse a folder of results that were made with other settings, and note the settings.

    Raises:
        SystemExit: When the folder holds results of other settings.
    """
    file = out / "settings.json"
    if file.exists() and json.loads(file.read_text(encoding="utf-8")) != settings:
        raise SystemExit(f"'{out}' holds results of other inputs or limits; name another --out")
    out.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


def main(words: Sequence[str] | None = None) -> None:
    """Read the options, and make the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("reproduced"), help="folder of results")
    parser.add_argument("--model", help="folder or name of a model; the embedded one without it")
    parser.add_argument("--limit", type=int, help="most inputs of a run; all without it")
    parser.add_argument("--only", nargs="+", metavar="KEY", help="figures to make; all without it")
    names = {"masked": "--masked-lm", "tuned": "--fine-tuned", "trees": "--treebank"}
    for name, about in INPUTS.items():
        parser.add_argument(names.get(name, f"--{name}"), dest=name, help=about.partition(",")[0])
    given = vars(parser.parse_args(words))
    known = {figure.key: figure for figure in FIGURES}
    unknown = [key for key in given["only"] or () if key not in known]
    if unknown:
        parser.error(f"--only names figures, but there is no {unknown[0]!r}; there are {', '.join(known)}")
    inputs = {name: given[name] for name in INPUTS if given[name] is not None}
    out = given["out"].resolve()
    check_settings(out, {"inputs": inputs, "model": given["model"], "limit": given["limit"]})
    chosen = [known[key] for key in given["only"]] if given["only"] else list(FIGURES)
    failed = make_all(Maker(out, inputs, given["model"], given["limit"]), chosen)
    if failed:
        raise SystemExit(f"{failed} of {len(chosen)} could not be made")


if __name__ == "__main__":
    main()
