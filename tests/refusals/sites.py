"""The places of the product that raise an error of a user, and those that an error came from."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from traceback import walk_tb

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("headroles", "sieves", "stats", "reports")
KINDS = {"HeadrolesError", "UnknownName", "BadSieve", "BadInput", "MissingExtra", "Refusal"}
"""Classes of errors that are a user's mistake or a missing resource."""


@dataclass(frozen=True, slots=True)
class Site:
    """A ``raise`` statement: its file, function, first and last line, and the words of its sentence."""

    file: str
    function: str
    first: int
    last: int
    words: str

    @property
    def name(self) -> str:
        """A name that stays when code moves."""
        return f"{self.file} {self.function}: {self.words}"


def name_of(call: ast.expr) -> str:
    """Return the last name of what is called; "" for any other expression."""
    called = call.func if isinstance(call, ast.Call) else None
    return getattr(called, "id", "") or getattr(called, "attr", "")


@cache
def sites() -> tuple[Site, ...]:
    """Return every place that raises an error of a user, which a function of the product may make."""
    files = sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))
    trees = {str(file.relative_to(ROOT)): ast.parse(file.read_text(encoding="utf-8")) for file in files}
    makers = KINDS | {
        node.name
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and node.returns
        and ast.unparse(node.returns).strip("'\"") in KINDS
    }
    return tuple(site for file, tree in trees.items() for site in _in_tree(file, tree, makers))


def _in_tree(file: str, tree: ast.AST, makers: set[str], function: str = "") -> Iterator[Site]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            raised = [node.exc.body, node.exc.orelse] if isinstance(node.exc, ast.IfExp) else [node.exc]
            if {name_of(one) for one in raised} & makers:
                words = " ".join("…".join(_texts(node.exc)).split())
                yield Site(file, function, node.lineno, node.end_lineno or node.lineno, words)
        inner = function
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            inner = f"{function}.{node.name}".lstrip(".")
        yield from _in_tree(file, node, makers, inner)


def _texts(expression: ast.expr) -> Iterator[str]:
    """Yield the pieces of text of an expression, in their order."""
    for node in ast.iter_child_nodes(expression):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.expr):
            yield from _texts(node)


def origins(error: BaseException | None) -> list[tuple[str, int]]:
    """Return file and line that raised an error, and those of the errors that it came from."""
    found, waiting, seen = [], [error], set[int]()
    while waiting:
        this = waiting.pop()
        if this is None or id(this) in seen:
            continue
        seen.add(id(this))
        waiting += [this.__cause__, this.__context__]
        places = [(_relative(frame.f_code.co_filename), line) for frame, line in walk_tb(this.__traceback__)]
        found += [(file, line) for file, line in places if file is not None][-1:]
    return found


@cache
def _relative(file: str) -> str | None:
    path = Path(file).resolve()
    if not path.is_relative_to(ROOT) or path.relative_to(ROOT).parts[0] not in FOLDERS:
        return None
    return str(path.relative_to(ROOT))


def reached(places: list[tuple[str, int]]) -> set[Site]:
    """Return the sites among places."""
    lines = defaultdict(set)
    for file, line in places:
        lines[file].add(line)
    return {site for site in sites() if lines[site.file] & {*range(site.first, site.last + 1)}}
