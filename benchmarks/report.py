"""Size and response time of a report in headless Chromium: 32 × 32 heads against 12 × 12.

    python benchmarks/report.py [--runs 5]        # prints one line of JSON

Both pages show 20 sieves of one run, with as many examples on head cards as a run keeps. They are opened in
turn. "ready" is the time from the start of the navigation until the maps are painted and the filter of
the table has answered; the shortest time of the runs counts.
"""

import argparse
import json
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, sync_playwright

from headroles.options.label import Options
from headroles.records.example import Example, Scores
from headroles.records.findings import Labelling
from headroles.records.kept_maps import KeptMaps
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.assessment.assess import assess
from headroles.stats.engine import judge
from headroles.storage.kept_maps import candidates, choose_kept_maps, wanted_maps

CHROMIUM = "/usr/bin/chromium"
MAPS = Options(data="made up").maps
SIEVES, EXAMPLES, TOKENS = 20, 60, 64
SHARPNESS = 0.05
"""Concentration of the Dirichlet distribution of random attention; trained attention compresses as well."""
READY = """async () => {
  const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  await painted();
  const chips = document.querySelectorAll("#matrix .chip").length;
  const filter = document.getElementById("filter");
  filter.value = "sieve7 2-9";
  filter.dispatchEvent(new Event("input"));
  const rows = document.querySelectorAll("#table tbody tr").length;
  await painted();
  return { ready: performance.now(), chips, rows };
}"""


def random_run(layers: int, heads: int) -> Labelling:
    """Return a run of 20 sieves whose scores are drawn at random around a level of each head."""
    generator = np.random.default_rng(0)
    names = tuple(f"sieve{number}" for number in range(SIEVES))
    rules = [Rule(name, low=-1.0, high=1.0) for name in names]
    level = generator.beta(0.5, 4.0, size=(SIEVES, 1, layers, heads))
    noise = generator.normal(0, 0.1, size=(SIEVES, EXAMPLES, layers, heads))
    keys = tuple(f"e{number}" for number in range(EXAMPLES))
    cells = np.full((SIEVES, EXAMPLES), 12.0)
    values = (level + noise).clip(-1, 1).astype(np.float32)
    scores = Scores(names, keys, keys, np.full(EXAMPLES, TOKENS), cells, values, np.zeros_like(cells))
    decision = Decision()
    findings = judge(scores, rules, decision)
    assessment = assess(scores, rules, decision, findings)
    facts = {"command": "headroles label", "settings": {}}
    run = Labelling(scores, findings, decision, facts, (), assessment)
    return replace(run, exhibited=examples_of(run, generator))


def examples_of(run: Labelling, chance: np.random.Generator) -> KeptMaps:
    """Return typical inputs of head cards with random attention, as many as the limits of a run allow."""
    found = candidates(run.findings, run.scores)
    places = wanted_maps(found, run.scores.tokens, MAPS)
    maps = {place: attention_of(chance) for place in places}
    tokens = tuple(f"token{number}" for number in range(TOKENS))
    shown = {place[0]: Example(run.scores.examples[place[0]], tokens) for place in places}
    return choose_kept_maps(found, maps, shown, MAPS)


def attention_of(chance: np.random.Generator) -> np.ndarray:
    """Return one random map, in steps of 1/255."""
    weights = chance.dirichlet(np.full(TOKENS, SHARPNESS), size=TOKENS)
    rounded: np.ndarray = np.rint(255 * weights).astype(np.uint8)
    return rounded


def time_page(browser: Browser, address: str) -> dict[str, Any]:
    """Open a page in a window of its own, and measure when it answers."""
    window = browser.new_page(viewport={"width": 1280, "height": 900})
    window.goto(address, wait_until="domcontentloaded")
    timing: dict[str, Any] = window.evaluate(READY)
    window.close()
    return timing


def measure_pages(sizes: dict[str, tuple[int, int]], runs: int) -> dict[str, Any]:
    """Return size, time to make and time until ready of every page."""
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name, (layers, heads) in sizes.items():
            run = random_run(layers, heads)
            start = time.perf_counter()
            text = page_of(run)
            seconds = time.perf_counter() - start
            Path(folder, f"{name}.html").write_text(text, encoding="utf-8")
            size, maps = len(text.encode()) / 1e6, run.exhibited.weights if run.exhibited else ()
            results[name] = {
                "mb": round(size, 2),
                "maps": len(maps),
                "made_s": round(seconds, 2),
                "ready_ms": [],
            }
        for _ in range(runs):
            for name in sizes:
                timing = time_page(browser, Path(folder, f"{name}.html").as_uri())
                results[name]["ready_ms"].append(round(timing["ready"]))
                results[name] |= {"chips": timing["chips"], "rows": timing["rows"]}
        browser.close()
    for result in results.values():
        times = result["ready_ms"]
        result |= {"ready_ms": min(times), "ready_ms_median": round(statistics.median(times))}
    return results


def main() -> None:
    """Measure, and print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    results = measure_pages({"32x32": (32, 32), "12x12": (12, 12)}, runs)
    ratio = results["32x32"]["ready_ms"] / results["12x12"]["ready_ms"]
    print(json.dumps({"benchmark": "report", "sieves": SIEVES, **results, "ratio": round(ratio, 2)}))


if __name__ == "__main__":
    main()
