"""A claim about a mean cannot forget the guard against missing units (``stats.claims``)."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = {
    "bootstrap_t", "bounded_outcome", "exact_statements", "outcome_of", ".role_p", "role_p_of",
    "sign_flip", "stdtr", "student", "student_biased", "student_skew", "ttest_1samp", "ttest_ind",
    "ttest_rel", "wilcoxon", "METHODS()",
}  # fmt: skip
"""What returns p of a mean without a guard; the last is a call of a method by its name."""
GUARDS = {"guarded_p", "label_p", "missed_p", "missing_p", "unseen_p"}
INTERVALS = {"accuracy_rows", "baseline_rows", "interval_of", "layer_means", "predict_mean"}
"""Functions that read the interval of a test alone, or the distribution of t."""
ELSEWHERE = {
    "outcome_of": "runs tests for functions that guard",
    "exact_statements": "of outcome_of and label_p",
    "handle_flat_scores": "of outcome_of and label_p",
    "_worst_p": "three more units, for claims that judge guards",
    "small_p": "decide_set adds hinges_on_few",
    "shared_p": "its caller adds units, and asks judge as well",
    "compare_ratios": "p is at least that of constants, the same bound for two ratios",
}
DECIDE = {
    "headroles.comparing.across", "stats.across.conjunction", "stats.across.steps",
    "stats.assessment.sensitivity", "stats.assessment.stability", "stats.assessment.withheld",
    "stats.causal.damage", "stats.causal.groups", "stats.causal.questions", "stats.causal.roles",
    "stats.comparing.paired", "stats.comparing.replication", "stats.engine", "stats.relabel",
    "stats.why.rotations", "stats.why.vertical",
}  # fmt: skip
"""Modules that decide by p. A new one takes p from ``engine.judge`` or ``claims``, or tests no mean."""


@cache
def functions() -> list[tuple[str, ast.FunctionDef]]:
    """Return every function of the product with its module, but those of tests of means and of oracles."""
    found = []
    for file in sorted([*(ROOT / "headroles").rglob("*.py"), *(ROOT / "stats").rglob("*.py")]):
        parts, text = file.relative_to(ROOT).with_suffix("").parts, file.read_text(encoding="utf-8")
        apart = {("stats", "methods"), ("stats", "oracles"), ("headroles", "stats")}
        if parts[:2] not in apart and re.search(r"stats|scipy", text):
            nodes = ast.walk(ast.parse(text))
            found += [(".".join(parts), node) for node in nodes if isinstance(node, ast.FunctionDef)]
    return found


def called(function: ast.FunctionDef) -> set[str]:
    """Return the functions that a function calls; ``METHODS()`` where it calls a test by its name."""
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    found = {node.id for node in calls if isinstance(node, ast.Name)}
    found |= {"." * (node.attr == "role_p") + node.attr for node in calls if isinstance(node, ast.Attribute)}
    text = ast.unparse(function)
    bound = re.findall(r"^ *(\w+)(?:, \w+)* = .*METHODS\[[\w.]*test\]", text, re.MULTILINE)
    named = found & {*bound} or re.search(r"METHODS\[[\w.]*test\]\(", text)
    return found | {"METHODS()"} if named else found


def test_functions_that_test_means_guard_their_claims() -> None:
    forgot = []
    for module, function in functions():
        used = called(function)
        if used & TESTS and not {*used, function.name} & GUARDS:
            read = {node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute)}
            if function.name not in ELSEWHERE and (function.name not in INTERVALS or read & {"p", "p_not"}):
                forgot.append(f"{module}.{function.name}: {sorted(used & TESTS)}")
    assert forgot == []
    assert {module for module, function in functions() if "significant" in called(function)} == DECIDE
