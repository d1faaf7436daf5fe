"""Plant mutants, and count those that the tests catch: ``python -m tests.strength OUT``."""

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from tests.strength.mutants import ROOT, Mutant, draw, room_of

START = Path(__file__).parent / "start"


def _pytest(how: dict[str, object], words: list[str], log: Path) -> "subprocess.Popen[bytes]":
    path = os.pathsep.join([str(START), str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"STRENGTH": json.dumps(how), "PYTHONPATH": path}
    command = [sys.executable, "-m", "pytest", "-p", "tests.strength.plugin", "-q", *words]
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=log.open("wb"), stderr=subprocess.STDOUT
    )


def reach(out: Path, words: list[str]) -> None:
    """Run the tests once, and write which of them reach which mutant."""
    how: dict[str, object] = {"mutants": str(out / "mutants.json"), "out": str(out)}
    _pytest(how, words, out / "reach.log").wait()
    rows = [json.loads(line) for file in out.glob("reach-*.jsonl") for line in file.read_text().splitlines()]
    by_name = {row["test"]: row for row in rows}
    children = out / "children.jsonl"
    for line in children.read_text().splitlines() if children.exists() else []:
        told = json.loads(line)
        if told["test"] in by_name:
            row = by_name[told["test"]]
            row["reached"] = sorted({*row["reached"], *told["reached"]})
    (out / "reach.json").write_text(json.dumps(rows))


def catch(out: Path, words: list[str], seconds: float, parts: int) -> None:
    """Run the tests against every mutant that they reach, in some processes beside each other."""
    how = {"mutants": str(out / "mutants.json"), "out": str(out), "reach": str(out / "reach.json")}
    for file in out.glob("caught-*.jsonl"):
        file.unlink()
    processes = [
        _pytest(how | {"part": part, "parts": parts, "seconds": seconds}, ["-n", "0", *words],
                out / f"catch-{part}.log")
        for part in range(parts)
    ]  # fmt: skip
    for process in processes:
        process.wait()


def summary(out: Path) -> str:
    """Return what was caught, by room, and every mutant that was not."""
    mutants = [Mutant(**fields) for fields in json.loads((out / "mutants.json").read_text())]
    rows = [json.loads(line) for file in out.glob("caught-*.jsonl") for line in file.read_text().splitlines()]
    drawn, caught = Counter(map(room_of, mutants)), Counter[str]()
    lines = []
    for row in sorted(rows, key=lambda row: row["mutant"]):
        mutant = mutants[row["mutant"]]
        if row["outcome"] == "caught":
            caught[room_of(mutant)] += 1
        else:
            lines.append(f"{row['outcome']} (tests that reach it: {row['tests']}): {mutant}")
    table = [f"{room:14} {caught[room]:4} of {count}" for room, count in sorted(drawn.items())]
    return "\n".join([*table, f"{'all':14} {caught.total():4} of {len(rows)}", *lines])


def main() -> None:
    """Read the words of the command, and run it."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.strength", description=__doc__, epilog="Words after -- are for pytest."
    )
    parser.add_argument("out", type=Path, help="folder for the chosen mutants and the results")
    parser.add_argument("--count", type=int, default=150, help="mutants to draw")
    parser.add_argument("--seed", type=int, default=16)
    parser.add_argument(
        "--mutants", type=Path, help="a mutants.json of an earlier call, in place of a new draw"
    )
    parser.add_argument("--seconds", type=float, default=60, help="processor time for each mutant")
    parser.add_argument("--parts", type=int, default=2, help="processes beside each other")
    parser.add_argument("--only", choices=("reach", "catch", "summary"), help="one step alone")
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    given, words = parser.parse_args(sys.argv[1:end]), sys.argv[end + 1 :]
    out: Path = given.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    file = out / "mutants.json"
    if given.mutants is not None:
        file.write_text(given.mutants.read_text())
    elif not file.exists():
        file.write_text(json.dumps([asdict(mutant) for mutant in draw(given.count, given.seed)], indent=1))
    if given.only in (None, "reach"):
        reach(out, words)
    if given.only in (None, "catch"):
        catch(out, words, given.seconds, given.parts)
    if given.only != "reach":
        print(summary(out))


if __name__ == "__main__":
    main()
