"""Mutants: where one small change makes another program, and all of them in one program with switches."""

import ast
import builtins
import importlib.abc
import importlib.machinery
import importlib.util
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, cast

ROOT = Path(__file__).resolve().parents[2]
COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
COMPILED = ("njit", "jit", "guvectorize", "vectorize", "intrinsic")
"""Decorators of functions that are compiled, where no switch can be."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of the product.

    Attributes:
        file: Path from the root of the repository.
        line: Line where the changed code begins, from 1.
        column: Column where it begins, from 0.
        kind: What is changed: a comparison, an operator, a constant, a statement that is dropped …
        change: The code before and after.
    """

    file: str
    line: int
    column: int
    kind: str
    change: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column} {self.kind}: {self.change}"


def _change(node: ast.AST) -> tuple[str, ast.expr | None] | None:
    """Return the kind of change of code and what it becomes; None for a statement that is dropped."""
    match node:
        case ast.Compare():
            return "comparison", ast.Compare(
                node.left, [COMPARED[type(node.ops[0])](), *node.ops[1:]], node.comparators
            )
        case ast.BinOp() if type(node.op) in COMPUTED:
            return "operator", ast.BinOp(node.left, COMPUTED[type(node.op)](), node.right)
        case ast.BoolOp():
            return "boolean", ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            return "sign", node.operand
        case ast.Constant(value=bool()):
            return "constant", ast.Constant(not node.value)
        case ast.Constant(value=int() | float() as value):
            return "constant", ast.Constant(value + 1)
        case ast.Raise() | ast.Expr(value=ast.Call()):
            return "dropped", None
    return None


class _Walk(ast.NodeTransformer):
    """Visit every place inside functions that may be changed, and replace the chosen ones by switches."""

    def __init__(self, file: str, place: Callable[[Mutant], int | None]) -> None:
        self.file = file
        self.place = place
        self.inside = False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if any(name in ast.unparse(decorator) for decorator in node.decorator_list for name in COMPILED):
            return node
        outer, self.inside = self.inside, True
        node.body = [self.visit(statement) for statement in node.body]
        self.inside = outer
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return node

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        node.body = [self.visit(statement) for statement in node.body]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        if not self.inside:
            return super().generic_visit(node)
        test = deepcopy(node.test)
        super().generic_visit(node)
        node.test = self._switched(node.test, test, "condition", ast.UnaryOp(ast.Not(), test))
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        if not self.inside or type(node.op) not in COMPUTED:
            return super().generic_visit(node)
        before = deepcopy(node)
        after = ast.AugAssign(node.target, COMPUTED[type(node.op)](), before.value)
        super().generic_visit(node)
        switched: ast.AST = self._switched(node, before, "operator", ast.copy_location(after, node))
        return switched

    def generic_visit(self, node: ast.AST) -> ast.AST:
        original = deepcopy(node) if self.inside and _change(node) is not None else node
        change = _change(original) if original is not node else None
        if change is None:
            return node if isinstance(node, ast.Raise) else super().generic_visit(node)
        if not isinstance(node, ast.Raise):  # its sentence is no behaviour; that it is raised is
            super().generic_visit(node)
        kind, after = change
        switched: ast.AST = self._switched(node, original, kind, ast.Pass() if after is None else after)
        return switched

    def _switched(self, node: Any, before: Any, kind: str, after: Any) -> Any:
        """Return the code behind a switch, where this change is a chosen one."""
        told = "nothing" if isinstance(after, ast.Pass) else ast.unparse(after)
        change = f"{ast.unparse(before)} -> {told}".replace("\n", " ")[:160]
        number = self.place(Mutant(self.file, before.lineno, before.col_offset, kind, change))
        if number is None:
            return node
        switch = ast.Call(ast.Name("__mutant__", ast.Load()), [ast.Constant(number)], [])
        if isinstance(node, ast.expr):
            return ast.copy_location(ast.IfExp(switch, after, node), node)
        return ast.copy_location(ast.If(switch, [after], [node]), node)


def product_files(root: Path = ROOT) -> list[Path]:
    """Return the Python files of the product, in order."""
    folders = ("headroles", "sieves", "stats", "reports")
    found = {file for folder in folders for file in (root / folder).rglob("*.py")}
    return sorted(file for file in found if not any(parent.is_symlink() for parent in file.parents))


def with_switches(source: str, file: str, place: Callable[[Mutant], int | None]) -> ast.Module:
    """Return the program of a file in which the changes that get a number stand behind switches."""
    tree = _Walk(file, place).visit(ast.parse(source))
    return cast(ast.Module, ast.fix_missing_locations(tree))


def sites_of(file: Path, root: Path = ROOT) -> list[Mutant]:
    """Return every change that can be made in a file."""
    sites: list[Mutant] = []
    with_switches(file.read_text(encoding="utf-8"), str(file.relative_to(root)), sites.append)
    return sites


def room_of(mutant: Mutant) -> str:
    """Return the room of a change: the folder of the root, or the folder below ``headroles``."""
    parts = Path(mutant.file).parts
    return parts[1] if parts[0] == "headroles" and len(parts) > 2 else parts[0]


def draw(count: int, seed: int, root: Path = ROOT) -> list[Mutant]:
    """Draw changes over all rooms: two of each, the rest by the size of rooms; every kind is as likely."""
    chance = random.Random(seed)
    rooms: dict[str, dict[str, list[Mutant]]] = defaultdict(lambda: defaultdict(list))
    for file in product_files(root):
        for mutant in sites_of(file, root):
            rooms[room_of(mutant)][mutant.kind].append(mutant)
    names = sorted(rooms)
    sizes = [sum(map(len, rooms[name].values())) for name in names]
    order = [name for name in names for _ in range(2)] + chance.choices(names, sizes, k=100 * count)
    drawn: dict[Mutant, None] = {}
    for name in order:
        kinds = rooms[name]
        drawn[chance.choice(kinds[chance.choice(sorted(kinds))])] = None
        if len(drawn) == count:
            break
    return list(drawn)


class Switches:
    """The switches that all chosen changes stand behind: which one is on, and which were asked."""

    def __init__(self) -> None:
        self.on = -1
        self.asked: set[int] = set()

    def __call__(self, number: int) -> bool:
        self.asked.add(number)
        return number == self.on


class _Loader(importlib.machinery.SourceFileLoader):
    """Load a module of the product with the switches in it; nothing of it is kept on disk."""

    numbers: dict[Mutant, int]

    def get_code(self, fullname: str) -> CodeType:
        path = Path(self.get_filename(fullname)).resolve()
        source = path.read_text(encoding="utf-8")
        changed = with_switches(source, str(path.relative_to(ROOT)), self.numbers.get)
        return compile(changed, str(path), "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, mutants: Sequence[Mutant]) -> None:
        self.numbers = {mutant: number for number, mutant in enumerate(mutants)}
        self.files = {mutant.file for mutant in mutants}

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not name.startswith("headroles."):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin is None or not spec.has_location:
            return spec
        origin = Path(spec.origin).resolve()
        if not origin.is_relative_to(ROOT) or str(origin.relative_to(ROOT)) not in self.files:
            return spec
        loader = _Loader(name, spec.origin)
        loader.numbers = self.numbers
        return importlib.util.spec_from_file_location(
            name, spec.origin, loader=loader, submodule_search_locations=spec.submodule_search_locations
        )


def install(mutants: Sequence[Mutant]) -> Switches:
    """Let every module that is imported from now on have switches; give them, all off."""
    switches = Switches()
    builtins.__mutant__ = switches  # type: ignore[attr-defined]
    sys.meta_path.insert(0, _Finder(mutants))
    return switches
