"""What makes heads attend: products of queries and keys are the plain model's, and plants are found."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group

import headroles
from headroles import Labelling, extraction
from headroles.arrays import selection_of
from tests.support.causal.plain import cases, inputs_of, plain_attention, tensors_of
from tests.support.planted import UNEQUAL, write_pairs
from tests.support.read_models import opened
from tests.support.reference import draws
from tests.support.streams import passages, streamed

ModelOf = Callable[[str], Path]
seeds = st.integers(0, 2**32 - 1)

# The layout of queries.

ALONE, HALVES = list(range(8)), [0, 1, 2, 3, 0, 1, 2, 3]
GROUPS = {
    "bert": ALONE, "gpt2": ALONE, "t5": ALONE, "llama": HALVES, "gemma2": HALVES, "qwen3": HALVES,
    "modernbert": HALVES, "phi": [0, 1, 0, 1, 2, 3, 4, 5], "cohere2": [0, 0, 1, 1, 2, 2, 3, 3],
    "glm": [0, 0, 1, 1, 2, 3, 4, 5], "deepseek-v3": [0, 1, 2, 3, 4, 5, 4, 5], "roberta": ALONE,
    "even bert": ALONE, "bart": ALONE, "mistral": HALVES, "gpt-oss": HALVES, "smollm3": HALVES,
}  # fmt: skip
"""Number of the frequency pair of each dimension."""
TURNED = {"phi": range(4), "glm": range(4), "deepseek-v3": range(4, 8)}


@pytest.mark.parametrize(
    "name", [*[*GROUPS][:-6], *(pytest.param(name, marks=pytest.mark.ci) for name in [*GROUPS][-6:])]
)
def test_frequency_pairs_are_those_of_the_architecture(name: str, model_of: ModelOf) -> None:
    model = opened(model_of(name))
    group, free = extraction.frequency_groups(model)
    assert group.tolist() == GROUPS[name]
    turned = TURNED.get(name, range(0 if GROUPS[name] == ALONE else 8))
    assert free.tolist() == [dimension not in turned for dimension in range(8)]
    layout = extraction.query_layout(model)
    assert (layout.size, layout.capped, layout.biased) == (8, name == "gemma2", name == "t5")


# Contrasts, their parts, and re-deals of cells.


def mean_contrast(logits: np.ndarray, cells: np.ndarray, visible: np.ndarray) -> float:
    """Mean over rows of the mean of the cells less that of other visible keys, row by row."""
    rows = [
        logits[i, inside].mean() - logits[i, rest].mean()
        for i in range(len(logits))
        if (inside := cells[i] & visible[i]).any() and (rest := visible[i] & ~cells[i]).any()
    ]
    return float(np.mean(rows)) if rows else float("nan")


@settings(max_examples=draws(60))
@given(seeds, st.integers(1, 14), st.floats(0.02, 0.95), st.booleans())
def test_weights_of_keys_give_the_contrast_and_re_deals_keep_offsets(
    seed: int, tokens: int, share: float, causal: bool
) -> None:
    rng = np.random.default_rng(seed)
    visible = np.tri(tokens, dtype=bool) if causal else rng.random((tokens, tokens)) < 0.8
    cells = visible & (rng.random((tokens, tokens)) < share)
    logits = rng.normal(size=(tokens, tokens))
    wanted = mean_contrast(logits, cells, visible)
    weights, rows = extraction.contrast_weights(cells, visible), extraction.contrasted_rows(cells, visible)
    assert (weights * logits).sum() == pytest.approx(wanted, abs=1e-12, nan_ok=True)
    assert np.isnan(wanted) == (len(rows) == 0)
    own, seen = cells[rows], visible[rows]
    again = list(extraction.redeal(own, seen, rows, 4, np.random.default_rng(seed)))
    assert len(again) == 4
    for each in again:
        assert not (each & ~seen).any()
        both = (np.nonzero(each), np.nonzero(own))
        one, other = (sorted((key - rows[row]).tolist()) for row, key in both)
        assert one == other


def test_every_row_that_sees_the_key_gets_a_cell_equally_often() -> None:
    cells = np.zeros((6, 8), dtype=bool)
    cells[[1, 2], [0, 1]] = True  # both one key back, from rows 1 and 2
    visible = np.ones((6, 8), dtype=bool)
    visible[4, 3] = False
    redeals = list(extraction.redeal(cells, visible, np.arange(6), 4000, np.random.default_rng(0)))
    wanted = np.zeros((6, 8))
    wanted[[1, 2, 3, 5], [0, 1, 2, 4]] = 2 / 4
    np.testing.assert_allclose(np.mean(redeals, axis=0), wanted, atol=5 * np.sqrt(0.25 / 4000))
    few = list(extraction.redeal(cells, visible, np.arange(6), 7, np.random.default_rng(0)))
    np.testing.assert_array_equal(few, redeals[:7])


def made_cells(tokenised: Any) -> dict[str, np.ndarray]:
    """Made-up roles of an input: random cells, the previous token, and one without cells."""
    shape = (tokenised.size, tokenised.size)
    return {
        "random": np.random.default_rng(0).random(shape) < 0.2,
        "previous": np.eye(tokenised.size, k=-1, dtype=bool),
        "nothing": np.zeros(shape, dtype=bool),
    }


def families_of(model: Any, *roles: str) -> Any:
    """Every role at every head."""
    grid = [
        (role, layer, head) for head in range(model.heads) for layer in range(model.layers) for role in roles
    ]
    names, layers, heads = zip(*grid, strict=True)
    return extraction.Families(names, np.array(layers), np.array(heads))


def products_of(model: Any, tokenised: Any, cells: Any, families: Any, **how: Any) -> Any:
    """The products of an input; mean queries are its own."""
    queries = extraction.mean_queries(model, [tokenised], ["own"], families)[0]
    usual: dict[str, Any] = {"queries": queries, "redeals": 0, "seed": 0}
    return extraction.read_products(model, tokenised, cells, families, **usual | how)


@pytest.mark.parametrize(
    ("name", "kind"),
    cases("bert: gpt2: llama: t5:encoder t5:decoder", "roberta: distilbert: bart:decoder"),
)
def test_parts_and_bias_sum_to_the_contrast_of_the_plain_models_logits(
    name: str, kind: str, model_of: ModelOf
) -> None:
    model = opened(model_of(name), kind=kind or None)
    tokenised = inputs_of(model)[0]
    families, cells = families_of(model, "random", "previous", "nothing"), made_cells(tokenised)
    found = products_of(model, tokenised, cells, families, redeals=3)
    weights, _ = plain_attention(model, tokenised, name, kind or None)
    for place, role in enumerate(families.roles):
        own = weights[families.layers[place]][families.heads[place]]
        # A row's logarithm of attention is its logits less one number, which a contrast does not see.
        wanted = mean_contrast(np.log(np.maximum(own, 1e-300)), cells[role], own > 0)
        np.testing.assert_allclose(found.parts[place].sum() + found.bias[place], wanted, atol=2e-5)
        np.testing.assert_allclose(np.diag(found.outer[place]), found.parts[place], atol=1e-12)
    silent = np.array([role == "nothing" for role in families.roles])
    for array in (found.parts, found.difference, found.vertical, found.bias, found.outer, found.redealt):
        axes = tuple(range(1, array.ndim))
        np.testing.assert_array_equal(np.isnan(array).all(axis=axes), silent)
        np.testing.assert_array_equal(np.isnan(array).any(axis=axes), silent)
    assert bool(np.nan_to_num(found.bias).any()) == (name == "t5")
    previous = np.array([role == "previous" for role in families.roles])
    moved = np.abs(found.redealt - found.outer[:, None]).max(axis=(2, 3))
    np.testing.assert_allclose(moved[previous], 0, atol=1e-5)  # previous tokens have nowhere else to go
    assert (moved[~previous & ~silent] > 1e-3).all()
    chosen = np.flatnonzero((np.array(families.roles) == "random") & (families.layers == 1))[1:3]
    alone = extraction.Families(("random",) * 2, families.layers[chosen], families.heads[chosen])
    part, other = (products_of(model, tokenised, cells, alone, redeals=3, seed=seed) for seed in (0, 1))
    np.testing.assert_allclose(part.redealt, found.redealt[chosen], atol=1e-6)
    np.testing.assert_array_equal(part.parts, other.parts)
    assert np.abs(other.redealt - part.redealt).max() > 1e-3


def test_products_and_mean_queries_are_those_of_loops_over_queries_and_keys(model_of: ModelOf) -> None:
    import torch

    model = opened(model_of("bert"))
    first, *others = inputs_of(model)
    kept: list[Any] = []
    layer = model.network.encoder.layer[1].attention.self
    for part in (layer.query, layer.key):
        part.register_forward_hook(lambda module, given, output: kept.append(output[0].double().numpy()))
    head, size, own = 2, 8, slice(16, 24)

    def queries_and_keys(tokenised: Any) -> tuple[np.ndarray, np.ndarray]:
        kept.clear()
        with torch.inference_mode():
            model.network(**tensors_of(tokenised))
        return kept[0][:, own], kept[1][:, own]

    texts = [queries_and_keys(each)[0][each.texts >= 0].mean(axis=0) for each in others]
    query, key = queries_and_keys(first)
    families = extraction.Families(("random",), np.array([1]), np.array([head]))
    units = ["a", *["b"] * (len(others) - 1)]
    means = extraction.mean_queries(model, others, units, families)
    assert (means.shape, means.dtype) == ((2, 1, 8), np.float64)
    np.testing.assert_allclose(means[:, 0], [texts[0], np.mean(texts[1:], axis=0)], atol=1e-6)
    means = means.mean(axis=0)
    cells = made_cells(first)["random"]
    threads, found = torch.get_num_threads(), []
    for count in (1, 3):
        torch.set_num_threads(count)
        found.append(products_of(model, first, {"random": cells}, families, queries=means, redeals=2))
    torch.set_num_threads(threads)
    for field in ("parts", "difference", "vertical", "bias", "outer", "redealt"):
        np.testing.assert_array_equal(getattr(found[0], field), getattr(found[1], field))
    rows = [
        size**-0.5 * np.outer(query[i], key[inside].mean(0) - key[~inside].mean(0))
        for i, inside in enumerate(cells)
        if inside.any() and not inside.all()
    ]
    np.testing.assert_allclose(found[0].outer[0], np.mean(rows, axis=0), atol=1e-6)
    scores = size**-0.5 * (key @ means[0])[None].repeat(len(key), 0)
    vertical = mean_contrast(scores, cells, np.ones_like(cells))
    np.testing.assert_allclose(found[0].vertical[0], vertical, atol=1e-6)
    np.testing.assert_allclose(found[0].difference[0] @ means[0], vertical, atol=1e-6)


# Scores after directions were removed from queries.

SIEVES = ["block", "local", "delimiter", "identical", "previous", "syntactic", "parked"]
QUERIES = {"bert": "encoder.layer.{}.attention.self.query", "llama": "layers.{}.self_attn.q_proj",
           "gemma2": "layers.{}.self_attn.q_proj", "t5": "block.{}.layer.0.SelfAttention.q"}  # fmt: skip


def rounds_of(model: Any, rounds: list[Any]) -> tuple[Any, list[Any]]:
    """Scores of the ordinary run, and of one without removals and of each round, by the same sieves."""
    inputs = passages(2, 6, most=9)
    names = SIEVES if model.way.norms is not None else SIEVES[:-1]
    tokenised = extraction.tokenise(model.tokenizer, inputs, 512)
    job = extraction.SieveJob(
        model, selection_of(names), extraction.Annotator(None), units=[each.key for each in inputs]
    )
    return streamed(model, inputs, selection_of(names), longest=512), extraction.score_again(
        model, job, tokenised, rounds
    )


def test_weights_behind_a_gate_are_scored_again_as_they_were(model_of: ModelOf) -> None:
    whole, (again,) = rounds_of(opened(model_of("qwen3_next"), norms="some"), [])
    np.testing.assert_allclose(again.values, whole.values, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", [*QUERIES])
def test_a_removal_is_that_of_directions_from_the_weights_of_one_heads_queries(
    name: str, model_of: ModelOf
) -> None:
    import torch

    model = opened(model_of(name), norms="none") if name == "gemma2" else opened(model_of(name))
    basis = ortho_group.rvs(8, random_state=1)[:, :3]
    if name in ("llama", "gemma2"):  # directions that positions turn together
        basis = np.eye(8)[:, [1, 5]]
    usual, (clean, again, after) = rounds_of(model, [{}, {(1, 2): basis, (0, 0): np.eye(8)}])
    np.testing.assert_allclose(clean.values, usual.values, rtol=0, atol=1e-5)
    np.testing.assert_array_equal(clean.cells, usual.cells)
    np.testing.assert_array_equal(clean.null, usual.null)
    np.testing.assert_array_equal(again.values, clean.values)
    changed = np.nanmax(np.abs(after.values - clean.values), axis=(0, 1)) > 0
    assert np.argwhere(changed).tolist() == [[0, 0], [1, 2]]
    query = model.network.get_submodule(QUERIES[name].format(1))
    keep = torch.eye(8) - torch.from_numpy(basis @ basis.T).float()
    with torch.no_grad():
        query.weight[16:24] = keep @ query.weight[16:24]
        if query.bias is not None:
            query.bias[16:24] = keep @ query.bias[16:24]
    without, _ = rounds_of(model, [])
    np.testing.assert_allclose(after.values[..., 1, 2], without.values[..., 1, 2], rtol=0, atol=1e-5)
    assert np.nanmax(np.abs(without.values - usual.values)[..., 1, 2]) > 1e-3
    if name != "t5":  # its positions are a bias, which stays
        rows = [sieve for sieve in ("local", "delimiter", "identical") if sieve in SIEVES]
        places = [selection_of(SIEVES).columns.index(row) for row in rows]
        np.testing.assert_allclose(np.nan_to_num(after.values[places, :, 0, 0]), 0, atol=1e-5)


def test_parked_is_relative_to_the_other_values_of_a_head_and_not_about_their_size(model_of: ModelOf) -> None:
    import torch

    model = opened(model_of("bert"), norms="some")
    selection, inputs = selection_of(["parked"]), passages(2, 6, most=9)
    weight, relative = (selection.columns.index(name) for name in ("parked", "parked:values"))
    value = model.network.encoder.layer[0].attention.self.value
    usual = streamed(model, inputs, selection, longest=512).values[..., 0, :]
    with torch.no_grad():
        value.weight.mul_(1e-6)
        value.bias.mul_(1e-6)
        small = streamed(model, inputs, selection, longest=512).values[..., 0, :]
        value.weight.zero_()
        value.bias.fill_(1.0)
        same = streamed(model, inputs, selection, longest=512).values[..., 0, :]
    np.testing.assert_allclose(small, usual, atol=1e-4)
    np.testing.assert_allclose(same[relative], -same[weight], atol=1e-5)
    assert np.nanmax(np.abs(usual[relative] + usual[weight])) > 1e-3


# Whole runs on heads that are written by hand.

PREVIOUS, SPECIAL, OWN_TEXT, NEXT = (0, 0), (0, 2), (1, 1), (1, 2)
"""Heads of the planted model that look anywhere."""
PAIRS, QUARTER = 400, 100


@pytest.fixture(scope="module")
def labelled(planted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a label run on 400 pairs, beside their table."""
    folder = tmp_path_factory.mktemp("why")
    data, sieves = write_pairs(folder / "pairs.tsv", PAIRS, UNEQUAL), ["local", "delimiter", "block"]
    headroles.label(
        "QNLI", data=data, model=planted, max_length=48, sieve=sieves, maps=0, out=folder / "labels"
    )
    return folder / "labels"


def part_of(run: Labelling) -> Any:
    """What a run found about origins."""
    assert run.origins is not None
    return run.origins


@pytest.mark.xdist_group("why")
def test_planted_origins_are_found_their_removal_ends_the_role_and_no_unit_serves_two_purposes(
    labelled: Path,
) -> None:
    told: list[tuple[int, int]] = []
    run = headroles.why(labelled, rotations=199, progress=lambda *far: told.append(far))
    assert (PAIRS, PAIRS) in told
    assert told[-1] == (QUARTER, QUARTER)  # inputs that are scored again
    part, scores, labels = part_of(run), run.scores, headroles.load(labelled).scores
    rows = {(row.role, (row.layer, row.head)): row for row in part.origins}
    assert {*rows} == {("local", PREVIOUS), ("local", NEXT), ("delimiter", SPECIAL), ("block", OWN_TEXT)}
    special = rows.pop(("delimiter", SPECIAL))
    assert (special.verdict, special.found, special.few, special.rank) == ("vertical", 1, "few neurons", 1)
    assert special.share == pytest.approx(1, abs=0.01)
    assert special.participation == pytest.approx(1, abs=0.05)
    assert [test.dimension for test in part.dimensions if test.found and test.role == "delimiter"] == [0]
    for row in rows.values():
        assert row.verdict == "by query"
        assert row.share < 0.2
        assert row.contrast > 1
    assert rows["local", PREVIOUS].few == "as rotated"  # four waves of positions
    assert rows["block", OWN_TEXT].few == "few neurons"
    for role, head in (("delimiter", SPECIAL), ("block", OWN_TEXT)):
        knocked = [row for row in part.knockouts if (row.role, (row.layer, row.head)) == (role, head)]
        own = {row.by: row for row in knocked if row.scored == role}
        assert {*own} == {"dimensions", "subspace"}
        for row in own.values():
            assert (row.verdict, row.removed) == ("falls", 1)
            assert row.before > 0.8
            assert abs(row.after) < 0.05

    groups = [{*part.held.units}, {*part.products.units}, {*part.knocked.units}]
    assert [len(group) for group in groups] == [2 * QUARTER, QUARTER, QUARTER]
    assert len(set().union(*groups)) == PAIRS
    counts = {"deciding": 2 * QUARTER, "measured": QUARTER, "knocked": QUARTER}
    assert run.manifest["why"]["units"] == counts
    measured = ~np.isnan(scores.values).all(axis=(0, 2, 3))
    assert {unit for unit, seen in zip(scores.units, measured, strict=True) if seen} == groups[1]
    for row, role in enumerate(part.knocked.scored):
        family = part.knocked.family[row]
        place = (int(part.products.layers[family]), int(part.products.heads[family]))
        values = labels.values[labels.sieves.index(role), :, *place]
        before = [values[labels.units.index(unit)] for unit in part.knocked.units]
        np.testing.assert_allclose(part.knocked.before[row], before, atol=1e-5)

    delimiter = scores.values[scores.sieves.index("contrast:delimiter")]
    assert np.isnan(delimiter[:, [0, 1, 1, 1], [0, 0, 1, 2]]).all()  # heads without the role


@pytest.mark.xdist_group("why")
def test_a_unit_is_the_mean_of_its_inputs_however_they_are_cut_into_shards(
    labelled: Path, planted: Path
) -> None:
    how: dict[str, Any] = {"data": labelled.parent / "pairs.tsv", "model": planted, "max_length": 48}
    how |= {"task": "QNLI", "limit": 120, "redeals": 19, "rotations": 99, "group": "document"}
    runs = [headroles.why(labelled, shard_size=size, **how) for size in (7, 120)]
    few, many = (part_of(run).products for run in runs)
    assert len(few.units) < len(runs[0].scores.examples)
    assert few.units == many.units
    np.testing.assert_allclose(few.parts, many.parts, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(few.references, many.references, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(many.references.mean(axis=0), np.nanmean(many.vertical, axis=0), rtol=0.05)
    np.testing.assert_allclose(few.outer, many.outer, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(few.redealt, many.redealt, rtol=1e-4)
