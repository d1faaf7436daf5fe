"""Rows of mistakes as text, and what headroles answers to each; run as a program, in a fresh interpreter."""

import contextlib
import io
import json
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

from tests.refusals.sites import origins
from tests.support import OUTLOOK, PHASE

ROWS = Path(__file__).parent / "rows"
STAGE = re.compile(r"\[([a-z]+|with .*)\]")
"""The line that begins a part of a table."""
CODES = {"help": 0, "usage": 2, "options": 1, "light": 1, "command": 1}
"""Exit codes of commands by stage."""
HEAVY = (
    "torch", "transformers", "spacy", "scipy", "pandas", "pyarrow", "plotly", "statsmodels", "sklearn",
    "datasets",
)  # fmt: skip
"""Libraries that no row of the stage *light* imports."""
HEAVIER = (*HEAVY, "numpy", "jaxtyping", "rich", "headroles.shards.work", "headroles.records.findings")
"""Libraries and parts that help, usage and the check of an option do without, too."""
IMPORTS = {"help": HEAVIER, "usage": HEAVIER, "options": HEAVIER, "light": HEAVY}
"""What a fresh interpreter must not import, by stage; these stages run in this order."""


@dataclass(frozen=True, slots=True)
class Row:
    """A mistake of a stage: where it is written, what is done, and the key words of the sentence."""

    place: str
    stage: str
    asked: str
    words: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a row got: exit code, text or sentence, places that raised, and heavy imports."""

    code: int
    text: str
    places: Sequence[tuple[str, int]]
    imported: list[str]


def read_rows() -> list[Row]:
    """Return the rows of all tables; a line ``[stage]`` begins each part of a table.

    Rows below ``[with …]`` are rows of the stage *python*: their words stand for ``IT`` in its expression.
    """
    rows = []
    for file in sorted(ROWS.glob("*.txt")):
        stage = ""
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if (begins := STAGE.fullmatch(line)) is not None:
                stage = begins[1]
            elif line.strip() and not line.startswith("#"):
                asked, _, words = line.rpartition(" | ")
                kind, _, around = stage.partition(" ")
                asked = around.replace("IT", asked.strip()) if kind == "with" else asked.strip()
                kind = "python" if kind == "with" else kind
                rows.append(Row(f"{file.name}:{number}", kind, asked, words.strip()))
    return rows


def write_files(rows: Iterable[Row], folder: Path) -> None:
    r"""Write the files of the stage *files*: a name, and its content with escapes such as ``\xff``."""
    for row in rows:
        if row.stage == "files":
            path = folder / row.asked
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(row.words.encode("ascii").decode("unicode_escape").encode("latin-1"))


def run_command(words: str) -> Answer:
    """Run ``headroles`` with some words in this process."""
    from headroles.cli.main import main

    before, output = sys.argv, io.StringIO()
    sys.argv = ["headroles", *shlex.split(words)]
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            main()
    except SystemExit as leaving:
        text = OUTLOOK.sub("", PHASE.sub("", output.getvalue()))
        return Answer(int(leaving.code or 0), text, origins(leaving.__context__), [])
    except Exception as error:
        return Answer(-1, f"{type(error).__name__}: {error}", origins(error), [])
    finally:
        sys.argv = before


def call(expression: str, names: dict[str, Any]) -> Answer:
    """Evaluate an expression of Python, which must raise an error of headroles; anything else is code 0."""
    from headroles.errors import HeadrolesError

    try:
        answer = eval(expression, names)
    except HeadrolesError as error:
        return Answer(1, str(error), origins(error), [])
    except Exception as error:
        return Answer(-1, f"{type(error).__name__}: {error}", origins(error), [])
    return Answer(0, f"no error, but {answer!r:.80}", [], [])


class Blocked(MetaPathFinder):
    """A finder that refuses to import some modules, and keeps their names."""

    def __init__(self) -> None:
        """Refuse none."""
        self.names: tuple[str, ...] = ()
        self.asked: list[str] = []

    def find_spec(self, name: str, path: object, target: object = None) -> None:
        """Refuse a module, or leave it to the other finders."""
        if name in self.names or name.partition(".")[0] in self.names:
            self.asked.append(name)
            raise ImportError(f"{name} must not be imported here")


def main() -> None:
    """Run the commands of a fresh interpreter, given as JSON, and print their answers as JSON."""
    blocked, answers = Blocked(), []
    sys.meta_path.insert(0, blocked)
    for stage, words in json.loads(sys.stdin.read()):
        blocked.names, blocked.asked = IMPORTS[stage], []
        answers.append(asdict(run_command(words)) | {"imported": blocked.asked})
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
