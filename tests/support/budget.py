"""The price of the tests: processor time of tests and folders, and lines; CI fails above the budget.

Processor time is that of the process and of the programs that it waited for; wall time is never looked at.
"""

import os
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.support import processor_time

TESTS = Path(__file__).resolve().parents[1]
LINES = 30_000
"""Most lines of Python below ``tests``; a change may lower it, and not raise it."""
TOLD, MOST = 10.0, 30.0
"""Seconds of processor time from which a test is named, and from which CI fails."""
DEAR = ("::test_the_short_mode_finds_no_fault", "/test_refusals.py::")
"""Tests that are a program of their own, or share one, whose price is that of their folder."""
FOLDERS = {
    "attention": 240, "commands": 90, "contract": 200, "faults": 130, "pages": 80, "refusals": 60,
    "sieves": 40, "statistics": 210, "storage": 260, "structure": 80, "texts": 60,
}  # fmt: skip
"""Seconds of processor time that each folder may take in CI; half as much again fails."""


def lines_of_tests() -> int:
    """Return the lines of Python below ``tests``."""
    return sum(len(file.read_bytes().splitlines()) for file in TESTS.rglob("*.py"))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the tests that take longest, so that no worker waits for them at the end.

    With pytest 9.2, pytest-xdist 3.8 drops all groups in silence (pytest-xdist issue 1386).
    """
    for item in items if hasattr(config, "workerinput") else ():
        assert "@" in item.nodeid or item.get_closest_marker("xdist_group") is None, "groups are dropped"
    items.sort(key=lambda item: not any(part in item.nodeid for part in DEAR))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Note the processor time of a test, its fixtures included."""
    began = processor_time()
    item.user_properties.append(("began", began))
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Let reports carry the time through whichever process runs the test.

    Taking fixtures down is left out: the last test of a session would pay for the browser of all.
    """
    report = yield
    if report.when != "teardown":
        noted: dict[str, Any] = dict(item.user_properties)
        report.processor_time = processor_time() - noted["began"]
    return report


_spent: dict[str, float] = {}


def pytest_runtest_logreport(report: Any) -> None:
    """Collect times, where the session ends."""
    if hasattr(report, "processor_time"):
        _spent[report.nodeid] = report.processor_time


def _folders() -> dict[str, float]:
    """Return the processor time of every folder."""
    folders: dict[str, float] = defaultdict(float)
    for name, seconds in _spent.items():
        folders[name.split("/")[1] if name.count("/") > 1 else "tests"] += seconds
    return dict(sorted(folders.items()))


def _over_budget() -> list[str]:
    """Return a sentence for everything that is over budget."""
    folders, lines = _folders(), lines_of_tests()
    told = [
        f"{name} took {spent:.1f} s, at most {MOST:g}"
        for name, spent in _spent.items()
        if spent > MOST and not any(part in name for part in DEAR)
    ]
    told += [
        f"the folder {name} took {folders[name]:.0f} s, its budget is {budget}"
        for name, budget in FOLDERS.items()
        if folders.get(name, 0) > 1.5 * budget
    ]
    return [*told, f"tests have {lines} lines, at most {LINES}"] if lines > LINES else told


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail in CI where something is over budget."""
    if os.environ.get("CI") == "true" and _spent and _over_budget():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Name dear tests, the time of every folder, and what is over budget."""
    for seconds, name in sorted(
        ((spent, name) for name, spent in _spent.items() if spent > TOLD), reverse=True
    ):
        terminalreporter.write_line(f"{seconds:.1f} s of processor time: {name}")
    if len(folders := _folders()) > 1:
        each = ", ".join(f"{name} {seconds:.0f}" for name, seconds in folders.items())
        terminalreporter.write_line(f"processor time in s: {sum(folders.values()):.0f} in all; {each}")
    for sentence in _over_budget() if _spent else []:
        terminalreporter.write_line(f"over budget: {sentence}")
