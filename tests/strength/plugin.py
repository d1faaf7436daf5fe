"""A plug-in of pytest: which tests reach which mutant, and which mutants they catch.

It is steered by ``STRENGTH``, a JSON object: ``mutants`` (a file of the chosen changes), ``out`` (a folder
for results), and, to catch them, ``reach`` (the file of the first pass), ``part``, ``parts``, ``seconds``.
Programs that tests start import it through ``start/sitecustomize.py``.
"""

import functools
import json
import os
import re
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.strength.mutants import Mutant, install

HOW: dict[str, Any] = json.loads(os.environ["STRENGTH"])
MUTANTS = [Mutant(**fields) for fields in json.loads(Path(HOW["mutants"]).read_text())]
SWITCHES = install(MUTANTS)
SWITCHES.on = int(os.environ.get("STRENGTH_ON", -1))
CAUGHT, MISSED, SLOW = 1, 0, 3

if "reach" not in HOW:
    _cache: Any = functools.cache

    def _again(function: Any) -> Any:
        """Keep no result of the tests: what it reaches is reached by every test that asks for it."""
        return function if function.__module__.startswith("tests") else _cache(function)

    functools.cache = _again


def hits_file() -> Path:
    """Return the file to which programs that tests start write what they reached."""
    return Path(HOW["out"]) / "children.jsonl"


if "pytest" in sys.modules:
    import pytest

    from tests.support import processor_time  # it imports the product, so the switches come first

    _fixtures: dict[tuple[str, str, int], set[int]] = defaultdict(set)
    _prices: dict[tuple[str, str, int], float] = defaultdict(float)
    _lines: list[dict[str, Any]] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(fixturedef: Any, request: Any) -> Generator[None, object, object]:
        """What a shared fixture reaches is reached by every test that asks for it."""
        outer, SWITCHES.asked, began = SWITCHES.asked, set(), processor_time()
        try:
            return (yield)
        finally:
            key = (fixturedef.baseid, fixturedef.argname, getattr(request, "param_index", 0))
            _fixtures[key] |= SWITCHES.asked
            _prices[key] = processor_time() - began
            SWITCHES.asked |= outer

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(item: Any) -> Generator[None, object, object]:
        """Note what a test reaches, and its processor time."""
        if "reach" in HOW:
            return (yield)
        SWITCHES.asked, began = set(), processor_time()
        item.stash[_PASSED] = True
        result = yield
        indices = item.callspec.indices if hasattr(item, "callspec") else {}
        definitions = item._fixtureinfo.name2fixturedefs if hasattr(item, "_fixtureinfo") else {}
        reached, seconds = set(SWITCHES.asked), processor_time() - began
        for name, known in definitions.items():
            for definition in known:
                key = (definition.baseid, name, indices.get(name, 0))
                reached |= _fixtures[key]
                seconds += _prices[key]  # a test that runs alone sets up what others share here
        name = re.sub(r"@[^\]@]*$", "", item.nodeid)  # without the group that a distributed run adds
        row = {"test": name, "seconds": seconds, "reached": sorted(reached)}
        _lines.append(row | {"passed": item.stash[_PASSED]})
        return result

    _PASSED = pytest.StashKey[bool]()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(item: Any, call: Any) -> Generator[None, Any, Any]:
        """Remember a failure."""
        report = yield
        if report.failed:
            item.stash[_PASSED] = False
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish() -> None:
        """Write what the tests of this process reached."""
        if _lines:
            file = Path(HOW["out"]) / f"reach-{os.getpid()}.jsonl"
            file.write_text("".join(json.dumps(line) + "\n" for line in _lines))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(session: Any) -> bool | None:
        """Run, for each mutant of this part, the tests that reach it until one fails."""
        if "reach" not in HOW or session.config.option.collectonly:
            return None
        rows = json.loads(Path(HOW["reach"]).read_text())
        items = {item.nodeid: item for item in session.items}
        with (Path(HOW["out"]) / f"caught-{HOW['part']}.jsonl").open("a") as results:
            for number in range(HOW["part"], len(MUTANTS), HOW["parts"]):
                tests = sorted(
                    (row["seconds"], row["test"])
                    for row in rows
                    if row["passed"] and number in row["reached"] and row["test"] in items
                )
                chosen = [items[name] for _, name in tests]
                began = time.monotonic()
                code, last = _meet(number, chosen) if chosen else (MISSED, "no test reaches it")
                how = {MISSED: "missed", SLOW: "not caught in time"}.get(code, "caught")
                row = {"mutant": number, "outcome": how, "tests": len(chosen), "last": last}
                results.write(json.dumps(row | {"wall": round(time.monotonic() - began, 1)}) + "\n")
                results.flush()
        return True

    def _meet(number: int, items: list[Any]) -> tuple[int, str]:
        """Run tests against one mutant in a fork; give how it ended, and the test that was run last."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            os.setpgid(0, 0)
            SWITCHES.on = number
            os.environ["STRENGTH_ON"] = str(number)
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            session, code = items[0].session, MISSED
            began = processor_time()
            for place, item in enumerate(items):
                os.write(writer, f"{item.nodeid}\n".encode())
                following = items[place + 1] if place + 1 < len(items) else None
                try:
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                except BaseException:
                    os._exit(CAUGHT)
                if session.testsfailed:
                    os._exit(CAUGHT)
                if processor_time() - began > HOW["seconds"]:
                    code = SLOW if following is not None else MISSED
                    break
            os._exit(code)
        os.close(writer)
        limit, names = time.monotonic() + 8 * HOW["seconds"], b""
        os.set_blocking(reader, False)
        while True:
            finished, status = os.waitpid(child, os.WNOHANG)
            with suppress(BlockingIOError):
                names += os.read(reader, 1 << 20)
            if finished or time.monotonic() > limit:
                break
            time.sleep(0.02)
        os.close(reader)
        last = names.decode().strip().split("\n")[-1]
        if not finished:  # a loop without end is seen by whoever runs the tests
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return CAUGHT, f"{last} (does not end)"
        return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else CAUGHT, last

else:
    import atexit

    @atexit.register
    def _tell() -> None:
        """Write what a program that a test started has reached."""
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
        if test and "reach" not in HOW and SWITCHES.asked:
            with hits_file().open("a") as file:
                file.write(json.dumps({"test": test, "reached": sorted(SWITCHES.asked)}) + "\n")
