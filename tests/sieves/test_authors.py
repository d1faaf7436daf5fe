"""What a third party can state with public names, and the page for authors of sieves."""

import re
from pathlib import Path
from typing import Any

import numpy as np

from headroles import Contrast, Example, MaskSieve, Match, Same, Scorer, SieveFamily, score, sieve
from headroles.testing import check_sieve, made_example

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "sieves.md").read_text(encoding="utf-8")
BLOCKS: list[tuple[str, str]] = re.findall(r"```(\w*)\n(.*?)```", PAGE, re.DOTALL)
CODE = [code for language, code in BLOCKS if language == "python"]
RNG = np.random.default_rng(7)
PAIR = made_example(RNG, texts=2, words=9, key="pair")
ATTENTION = RNG.dirichlet(np.ones(PAIR.size), size=(2, 3, PAIR.size))


def test_a_contrast_that_is_a_number_counts_the_sieves_own_cells_within_its_scope_or_the_texts() -> None:
    def both(example: Example) -> Same:
        return Same(np.where(example.segment >= 0, 0, -1))

    def every(example: Example) -> np.ndarray:
        return np.ones(example.size, dtype=np.bool_)

    def keys(example: Example) -> np.ndarray:
        third: np.ndarray = np.arange(example.size) % 3 == 1
        return third

    def near(example: Example) -> Match:
        return Match(np.arange(example.size), np.arange(example.size) + 1)

    for mask, more, scope in (
        (near, {}, both),
        (keys, {}, both),
        (keys, {"scope": every, "specials": True}, every),
    ):
        short = sieve("own", contrast=0.04, **more)(mask)  # type: ignore[arg-type]
        long = sieve("own", contrast=Contrast(0.04, mask, scope), **more)(mask)  # type: ignore[arg-type]
        assert short.contrast is not None
        assert short.contrast.margin == 0.04
        ours, theirs = (score(ATTENTION, PAIR, [made]) for made in (short, long))
        assert np.isfinite(ours["own:matched"]).all()
        for column, values in ours.items():
            assert values.tobytes() == theirs[column].tobytes()
        check_sieve(short)


def test_queries_without_a_group_ask_nothing_and_groups_weigh_the_same() -> None:
    def even(example: Example) -> np.ndarray:
        keys: np.ndarray = np.arange(example.size) % 2 == 0
        return keys

    def groups(example: Example) -> np.ndarray:
        return np.minimum(np.arange(example.size) - 1, 1).clip(-1)  # none, one alone, and all others

    counted = even(PAIR) & ~PAIR.special
    inside, chance = ATTENTION[..., counted].sum(-1), counted.mean()
    rest = [place for place in range(2, PAIR.size) if not PAIR.special[place]]
    wanted = ((inside[..., 1] + inside[..., rest].mean(-1)) / 2 - chance) / (1 - chance)
    found = score(ATTENTION, PAIR, sieve("own", groups=groups)(even))["own"]
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_the_code_of_the_page_runs_and_defines_what_it_says(tmp_path: Path) -> None:
    file = tmp_path / "my_sieves.py"
    file.write_text("\n".join(CODE), encoding="utf-8")
    defined: dict[str, Any] = {"__name__": "my_sieves", "__file__": str(file)}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), defined)
    for name in ("questions", "same_letter", "block"):
        assert isinstance(defined[name], MaskSieve)
    assert isinstance(defined["ring"], SieveFamily)
    assert isinstance(defined["peak"], Scorer)
    assert defined["picture"].startswith("<svg ")
    rings = {defined["ring"].sieve(name.partition(":")[2]).name for name in defined["rings"]}
    assert rings == {*defined["rings"]}
    ours, own = score(ATTENTION, PAIR, "block"), score(ATTENTION, PAIR, defined["block"])
    for column in ("", ":matched"):
        assert own[f"my-block{column}"].tobytes() == ours[f"block{column}"].tobytes()
