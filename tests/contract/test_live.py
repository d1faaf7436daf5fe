"""Every kind of run on the seeded checkpoint: from a model to the scores and decisions that are recorded."""

import numpy as np
import pytest

import headroles
from tests.contract.conftest import Made
from tests.contract.kinds import JUDGED
from tests.contract.live import ROOT, compare_products
from tests.contract.recorded import NOT_STORED, RECORDED
from tests.contract.same import folder_differences, manifest_facts, names_of
from tests.support.folders import verify

LIVE = [pytest.param(name, marks=pytest.mark.xdist_group(f"live {name}")) for name in JUDGED]
NO_TABLES = r"shards/.*|(?!.*\.(csv|npz)$).*"
"""What is no table and holds no arrays, and the parts of these that shards have."""


@pytest.mark.parametrize("name", LIVE)
def test_a_run_on_the_checkpoint_has_the_recorded_scores_files_and_facts(name: str, made: Made) -> None:
    folder, stored = made(name), RECORDED / name / "run"
    own = {file for file in names_of(folder) if not file.startswith(NOT_STORED)}
    assert own == names_of(stored).keys()
    assert folder_differences(stored, folder, 1e-2, leave=NO_TABLES) == []
    run = headroles.load(folder)
    facts, expected = (
        manifest_facts((place / "manifest.json").read_text(encoding="utf-8")) for place in (folder, stored)
    )
    for field in ("remarks", "rules"):  # they hold numbers of scores
        facts.pop(field, None), expected.pop(field, None)
    assert facts == expected
    recorded = headroles.load(stored)
    np.testing.assert_allclose(run.scores.values, recorded.scores.values, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(run.findings.decision, recorded.findings.decision)
    assert (run.scores.sieves, run.scores.examples) == (recorded.scores.sieves, recorded.scores.examples)
    assert run.scores.units == recorded.scores.units


@pytest.mark.parametrize("name", LIVE)
def test_a_run_is_whole_and_other_libraries_give_its_findings(name: str, made: Made) -> None:
    verified = verify(made(name), oracles=True)
    run = headroles.load(made(name))
    assert [check for check in verified.checks if not check.fits] == []
    assert {check.quantity for check in verified.checks if check.compared} >= {"p", "q", "decision"}
    assert (verified.examples, verified.findings) == (len(run.scores.examples), run.findings.count.size)


@pytest.mark.release
def test_two_processes_make_equal_products() -> None:
    assert compare_products(str(ROOT)) == []
