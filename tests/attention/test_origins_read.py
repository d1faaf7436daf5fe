"""What makes heads attend: products of queries and keys are the plain model's, and plants are found."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group

import headroles
from headroles import Labelling
from headroles.arrays import selection_of
from headroles.extraction import (
    Annotator,
    Families,
    Model,
    SieveJob,
    Tokenised,
    contrast_weights,
    contrasted_rows,
    frequency_groups,
    largest_singular,
    mean_queries,
    query_layout,
    read_products,
    redeal,
    score_again,
    tokenise,
    turning_pairs,
)
from tests.support.causal.plain import cases, inputs_of, plain_attention
from tests.support.causal.planted_queries import (
    BY_QUERY,
    CLASSES,
    ONE,
    ROTATED,
    SIZE,
    STRENGTH,
    THREE,
    class_of,
    plant,
)
from tests.support.planted import write_pairs
from tests.support.read_models import cut_into_blocks, opened
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
    group, free = frequency_groups(model)
    assert group.tolist() == GROUPS[name]
    turned = TURNED.get(name, range(0 if GROUPS[name] == ALONE else 8))
    assert free.tolist() == [dimension not in turned for dimension in range(8)]
    layout = query_layout(model)
    assert (layout.size, layout.capped, layout.biased) == (8, name == "gemma2", name == "t5")


@pytest.mark.parametrize(("dtype", "scaled"), [("float32", True), ("bfloat16", False)])
def test_the_slowest_pairs_of_a_large_head_are_found(
    dtype: str, scaled: bool, tmp_path: Path, tokenizer_of: Callable[[str], Any]
) -> None:
    from transformers import LlamaConfig, LlamaModel

    slow: dict[str, Any] = {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0,
                            "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}  # fmt: skip
    rope = {"rope_theta": 500_000.0} | (slow if scaled else {"rope_type": "default"})
    config = LlamaConfig(
        hidden_size=128, num_attention_heads=2, num_key_value_heads=1, num_hidden_layers=2, pad_token_id=0,
        intermediate_size=16, vocab_size=400, max_position_embeddings=131_072, rope_parameters=rope,
    )  # fmt: skip
    torch.manual_seed(0)
    network: Any = LlamaModel(config).eval()  # type: ignore[no-untyped-call]
    with torch.no_grad():
        for weights in network.parameters():
            if weights.dim() > 1:
                weights.normal_(0, 0.15)
    network.save_pretrained(tmp_path)
    tokenizer_of("gpt2").save_pretrained(tmp_path)
    group, free = frequency_groups(opened(tmp_path, dtype=dtype))
    assert group.tolist() == [*range(32), *range(32)]
    assert not free.any()


def test_dimensions_that_move_without_keeping_a_length_do_not_turn() -> None:
    walk = np.random.default_rng(0).normal(size=(3, 16, 6))
    walk[..., 4:] = walk[:, :1, 4:]
    assert not turning_pairs(walk, 1e-3).any()
    assert not turning_pairs(np.zeros((3, 16, 6)), 1e-3).any()


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
    weights, rows = contrast_weights(cells, visible), contrasted_rows(cells, visible)
    assert (weights * logits).sum() == pytest.approx(wanted, abs=1e-12, nan_ok=True)
    assert np.isnan(wanted) == (len(rows) == 0)
    own, seen = cells[rows], visible[rows]
    again = list(redeal(own, seen, rows, 4, np.random.default_rng(seed)))
    assert len(again) == 4
    for each in again:
        assert not (each & ~seen).any()
        both = (np.nonzero(each), np.nonzero(own))
        one, other = (sorted((key - rows[row]).tolist()) for row, key in both)
        assert one == other


def test_every_row_that_sees_the_key_gets_a_cell_equally_often_and_previous_tokens_stay() -> None:
    cells = np.zeros((6, 8), dtype=bool)
    cells[[1, 2], [0, 1]] = True  # both one key back, from rows 1 and 2
    visible = np.ones((6, 8), dtype=bool)
    visible[4, 3] = False
    redeals = list(redeal(cells, visible, np.arange(6), 4000, np.random.default_rng(0)))
    wanted = np.zeros((6, 8))
    wanted[[1, 2, 3, 5], [0, 1, 2, 4]] = 2 / 4
    np.testing.assert_allclose(np.mean(redeals, axis=0), wanted, atol=5 * np.sqrt(0.25 / 4000))
    few = list(redeal(cells, visible, np.arange(6), 7, np.random.default_rng(0)))
    np.testing.assert_array_equal(few, redeals[:7])
    previous = np.eye(12, k=-1, dtype=bool)
    for seen in (np.tri(12, dtype=bool), np.ones((12, 12), dtype=bool)):
        rows = contrasted_rows(previous, seen)
        for again in redeal(previous[rows], seen[rows], rows, 5, np.random.default_rng(0)):
            np.testing.assert_array_equal(again, previous[rows])


@settings(max_examples=draws(25))
@given(seeds, st.integers(1, 9))
def test_largest_singular_values_are_those_of_numpy(seed: int, size: int) -> None:
    total = np.random.default_rng(seed).normal(size=(3, 4, size, size)).astype(np.float32)
    total[0, 1] = np.outer(total[0, 1, 0], total[0, 1, 0])
    total[1, 2, 0, 0] = np.nan
    total[2, 3] = 0
    found = largest_singular(total)
    wanted = np.linalg.svd(np.nan_to_num(total).astype(np.float64), compute_uv=False)[..., 0]
    wanted[1, 2] = np.nan
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


def made_cells(tokenised: Tokenised) -> dict[str, np.ndarray]:
    """Made-up roles of an input: random cells, the previous token, and one without cells."""
    shape = (tokenised.size, tokenised.size)
    return {
        "random": np.random.default_rng(0).random(shape) < 0.2,
        "previous": np.eye(tokenised.size, k=-1, dtype=bool),
        "nothing": np.zeros(shape, dtype=bool),
    }


def families_of(model: Model, *roles: str) -> Families:
    """Every role at every head."""
    grid = [
        (role, layer, head) for head in range(model.heads) for layer in range(model.layers) for role in roles
    ]
    names, layers, heads = zip(*grid, strict=True)
    return Families(names, np.array(layers), np.array(heads))


def products_of(model: Model, tokenised: Tokenised, cells: Any, families: Families, **how: Any) -> Any:
    """The products of an input; mean queries are its own."""
    usual: dict[str, Any] = {"queries": mean_queries(model, [tokenised]), "redeals": 0, "seed": 0}
    return read_products(model, tokenised, cells, families, **usual | how)


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
    for array in (found.parts, found.vertical, found.bias, found.outer, found.redealt):
        axes = tuple(range(1, array.ndim))
        np.testing.assert_array_equal(np.isnan(array).all(axis=axes), silent)
        np.testing.assert_array_equal(np.isnan(array).any(axis=axes), silent)
    assert bool(np.nan_to_num(found.bias).any()) == (name == "t5")
    previous = np.array([role == "previous" for role in families.roles])
    moved = np.abs(found.redealt - found.outer[:, None]).max(axis=(2, 3))
    np.testing.assert_allclose(moved[previous], 0, atol=1e-5)  # previous tokens have nowhere else to go
    assert (moved[~previous & ~silent] > 1e-3).all()
    chosen = np.flatnonzero((np.array(families.roles) == "random") & (families.layers == 1))[1:3]
    alone = Families(("random",) * 2, families.layers[chosen], families.heads[chosen])
    part, other = (products_of(model, tokenised, cells, alone, redeals=3, seed=seed) for seed in (0, 1))
    np.testing.assert_allclose(part.redealt, found.redealt[chosen], atol=1e-6)
    np.testing.assert_array_equal(part.parts, other.parts)
    assert np.abs(other.redealt - part.redealt).max() > 1e-3


def test_products_and_mean_queries_are_those_of_loops_over_queries_and_keys(model_of: ModelOf) -> None:
    model = opened(model_of("bert"))
    first, *others = inputs_of(model)
    kept: list[Any] = []
    layer = model.network.encoder.layer[1].attention.self
    for part in (layer.query, layer.key):
        part.register_forward_hook(lambda module, given, output: kept.append(output[0].double().numpy()))
    head, size, own = 2, 8, slice(16, 24)

    def queries_and_keys(tokenised: Tokenised) -> tuple[np.ndarray, np.ndarray]:
        kept.clear()
        with torch.inference_mode():
            model.network(**{key: torch.tensor([ids]) for key, ids in tokenised.inputs.items()})
        return kept[0][:, own], kept[1][:, own]

    texts = np.concatenate([queries_and_keys(each)[0][each.texts >= 0] for each in others])
    query, key = queries_and_keys(first)
    means = mean_queries(model, others)
    assert (means.shape, means.dtype) == ((2, 4, 8), np.float64)
    np.testing.assert_allclose(means[1, head], texts.mean(axis=0), atol=1e-6)
    cells = made_cells(first)["random"]
    families = Families(("random",), np.array([1]), np.array([head]))
    threads, found = torch.get_num_threads(), []
    for count in (1, 3):
        torch.set_num_threads(count)
        found.append(products_of(model, first, {"random": cells}, families, queries=means, redeals=2))
    torch.set_num_threads(threads)
    for field in ("parts", "vertical", "bias", "outer", "redealt"):
        np.testing.assert_array_equal(getattr(found[0], field), getattr(found[1], field))
    rows = [
        size**-0.5 * np.outer(query[i], key[inside].mean(0) - key[~inside].mean(0))
        for i, inside in enumerate(cells)
        if inside.any() and not inside.all()
    ]
    np.testing.assert_allclose(found[0].outer[0], np.mean(rows, axis=0), atol=1e-6)
    scores = size**-0.5 * (key @ means[1, head])[None].repeat(len(key), 0)
    vertical = mean_contrast(scores, cells, np.ones_like(cells))
    np.testing.assert_allclose(found[0].vertical[0], vertical, atol=1e-6)


def test_windows_leave_out_cells_that_a_layer_hides_and_capped_logits_are_read_before_the_cap(
    model_of: ModelOf,
) -> None:
    model = opened(model_of("mistral"))
    tokenised, families = inputs_of(model)[0], families_of(model, "first")
    first = np.zeros((tokenised.size, tokenised.size), dtype=bool)
    first[:, 0] = True
    shown = first.copy()
    shown[6:] = False  # the window is of 6 tokens
    found, again = (products_of(model, tokenised, {"first": own}, families).parts for own in (first, shown))
    np.testing.assert_array_equal(found, again)
    assert np.isfinite(found).all()
    capped = opened(model_of("gemma2"))
    tokenised = inputs_of(capped)[0]
    cells, families = made_cells(tokenised), families_of(capped, "random")
    parts = products_of(capped, tokenised, cells, families).parts.sum(1)
    weights, _ = plain_attention(capped, tokenised, "gemma2")
    after = [
        mean_contrast(
            np.log(np.maximum(weights[layer][head], 1e-300)), cells["random"], weights[layer][head] > 0
        )
        for layer, head in zip(families.layers, families.heads, strict=True)
    ]
    assert np.abs(parts - after).max() > 1e-3


def test_planted_queries_and_keys_are_found(tokenizer_of: Callable[[str], Any], tmp_path: Path) -> None:
    model, rotation = plant(tmp_path / "planted", tokenizer_of("bert"))
    tokenised = inputs_of(model)[0]
    ids, words = np.array(tokenised.inputs["input_ids"]), tokenised.texts >= 0
    separator, classes = ids == model.tokenizer.sep_token_id, class_of(ids)
    same = (classes[:, None] == classes[None]) & words[:, None] & words[None]
    cells = {"separator": separator[None].repeat(tokenised.size, 0), "same": same}
    roles = ("separator",) * 3 + ("same",)
    families = Families(roles, np.zeros(4, dtype=np.int64), np.array([ONE, THREE, ROTATED, BY_QUERY]))
    found = products_of(model, tokenised, cells, families)
    contrast, first = STRENGTH / np.sqrt(SIZE), np.eye(SIZE)[0]
    np.testing.assert_allclose(found.parts.sum(1), contrast, rtol=1e-5)
    np.testing.assert_allclose(found.parts[ONE], contrast * first, atol=1e-5)
    np.testing.assert_allclose(found.parts[THREE], contrast / 3 * (np.arange(SIZE) < 3), atol=1e-5)
    np.testing.assert_allclose(found.parts[ROTATED], contrast * rotation[:, 0] ** 2, atol=1e-5)
    back = rotation.T @ found.outer[ROTATED] @ rotation
    np.testing.assert_allclose(back, contrast * np.outer(first, first), atol=1e-5)
    np.testing.assert_allclose(found.vertical[:BY_QUERY], contrast, rtol=1e-5)
    # The mean query knows only how frequent a class is, so it favours keys of the query's class by that.
    share = np.bincount(classes[words], minlength=CLASSES) / words.sum()
    product = np.where(words, share[classes], 0.0)
    favours = mean_contrast(np.tile(product, (len(ids), 1)), same, np.ones_like(same))
    assert found.vertical[BY_QUERY] == pytest.approx(contrast * favours, rel=1e-4)
    ranks = np.linalg.matrix_rank(found.outer, tol=1e-4).tolist()
    assert ranks == [1, 1, 1, CLASSES]


# Scores after directions were removed from queries.

SIEVES = ["block", "local", "delimiter", "identical", "previous", "syntactic", "parked"]
QUERIES = {"bert": "encoder.layer.{}.attention.self.query", "llama": "layers.{}.self_attn.q_proj",
           "gemma2": "layers.{}.self_attn.q_proj", "t5": "block.{}.layer.0.SelfAttention.q"}  # fmt: skip


def rounds_of(model: Model, rounds: list[Any]) -> tuple[Any, list[Any]]:
    """Scores of the ordinary run, and of one without removals and of each round, by the same sieves."""
    inputs = passages(2, 6, most=9)
    names = SIEVES if model.way.norms is not None else SIEVES[:-1]
    tokenised = tokenise(model.tokenizer, inputs, 512)
    job = SieveJob(model, selection_of(names), Annotator(None), units=[each.key for each in inputs])
    return streamed(model, inputs, selection_of(names), longest=512), score_again(
        model, job, tokenised, rounds
    )


@pytest.mark.parametrize("name", [*QUERIES])
def test_a_removal_is_that_of_directions_from_the_weights_of_one_heads_queries(
    name: str, model_of: ModelOf
) -> None:
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


def test_long_inputs_and_half_precision_are_scored_likewise(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    half, (clean,) = rounds_of(opened(model_of("llama"), dtype="bfloat16", norms="none"), [])
    np.testing.assert_allclose(clean.values, half.values, rtol=0, atol=2e-2)
    cut_into_blocks(monkeypatch, 8, 4096)
    long, (clean, after) = rounds_of(opened(model_of("mistral"), 512), [{(1, 0): np.eye(8)}])
    np.testing.assert_allclose(clean.values, long.values, rtol=0, atol=1e-5)
    moved = np.nanmax(np.abs(after.values - clean.values), axis=(0, 1)) > 0
    assert np.argwhere(moved).tolist() == [[1, 0]]


# Whole runs on heads that are written by hand.

PREVIOUS, SPECIAL, OWN_TEXT, NEXT = (0, 0), (0, 2), (1, 1), (1, 2)
"""Heads of the planted model that look anywhere."""
PAIRS = 240


@pytest.fixture(scope="module")
def labelled(planted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a label run on 240 pairs, beside their table."""
    folder = tmp_path_factory.mktemp("why")
    data, sieves = write_pairs(folder / "pairs.tsv", PAIRS), ["local", "delimiter", "block"]
    headroles.label(
        "QNLI", data=data, model=planted, max_length=48, sieve=sieves, maps=0, out=folder / "labels"
    )
    return folder / "labels"


@pytest.fixture(scope="module")
def asked(labelled: Path) -> Labelling:
    """A run that asks about these roles."""
    told: list[tuple[int, int]] = []
    run: Labelling = headroles.why(labelled, rotations=199, progress=lambda *far: told.append(far))
    assert (PAIRS, PAIRS) in told
    assert told[-1] == (PAIRS // 4, PAIRS // 4)  # inputs that are scored again
    return run


def part_of(run: Labelling) -> Any:
    """What a run found about origins."""
    assert run.origins is not None
    return run.origins


@pytest.mark.xdist_group("why")
def test_planted_origins_are_found_and_their_removal_ends_the_role(asked: Labelling) -> None:
    part = part_of(asked)
    rows = {(row.role, (row.layer, row.head)): row for row in part.origins}
    assert {*rows} == {("local", PREVIOUS), ("local", NEXT), ("delimiter", SPECIAL), ("block", OWN_TEXT)}
    special = rows["delimiter", SPECIAL]
    assert (special.verdict, special.found, special.few, special.rank) == ("vertical", 1, "few neurons", 1)
    assert special.share == pytest.approx(1, abs=0.01)
    assert special.participation == pytest.approx(1, abs=0.05)
    assert [test.dimension for test in part.dimensions if test.found and test.role == "delimiter"] == [0]
    for (role, head), row in rows.items():
        if role != "delimiter":
            assert (row.verdict, row.share < 0.2, row.contrast > 1) == ("by query", True, True), (role, head)
    assert rows["local", PREVIOUS].few == "as rotated"  # four waves of positions
    assert rows["block", OWN_TEXT].few == "few neurons"
    for role, head in (("delimiter", SPECIAL), ("block", OWN_TEXT)):
        knocked = {
            row.by: row for row in part.knockouts
            if (row.role, (row.layer, row.head), row.scored) == (role, head, role)
        }  # fmt: skip
        assert set(knocked) == {"dimensions", "subspace"}
        for row in knocked.values():
            assert (row.before > 0.8, abs(row.after) < 0.05, row.verdict, row.removed) == (
                True,
                True,
                "falls",
                1,
            )


@pytest.mark.xdist_group("why")
def test_no_unit_serves_two_purposes_and_each_has_a_half_that_the_seed_draws(
    asked: Labelling, labelled: Path
) -> None:
    part, quarter = part_of(asked), PAIRS // 4
    groups = [{*part.held.units}, {*part.products.units}, {*part.knocked.units}]
    assert [len(group) for group in groups] == [2 * quarter, quarter, quarter]
    assert len(set().union(*groups)) == PAIRS
    assert asked.manifest["why"]["units"] == {
        "deciding": 2 * quarter,
        "measured": quarter,
        "knocked": quarter,
    }
    measured = ~np.isnan(asked.scores.values).all(axis=(0, 2, 3))
    assert {unit for unit, own in zip(asked.scores.units, measured, strict=True) if own} == groups[1]
    labels, knocked = headroles.load(labelled).scores, part.knocked
    for row, role in enumerate(knocked.scored):
        layer, head = (int(of[knocked.family[row]]) for of in (part.products.layers, part.products.heads))
        values = labels.values[labels.sieves.index(role), :, layer, head]
        own = [values[labels.units.index(unit)] for unit in knocked.units]
        np.testing.assert_allclose(knocked.before[row], own, atol=1e-5)


@pytest.mark.xdist_group("why")
def test_columns_are_contrasts_and_hold_for_heads_with_the_role_alone(asked: Labelling) -> None:
    scores, part = asked.scores, part_of(asked)
    places = [scores.units.index(unit) for unit in part.products.units]
    for family, row in enumerate(part.origins):
        contrast, vertical = (
            scores.values[scores.sieves.index(f"{what}:{row.role}"), places, row.layer, row.head]
            for what in ("contrast", "vertical")
        )
        total = part.products.parts[:, family].sum(axis=1)
        np.testing.assert_allclose(contrast, total, rtol=1e-4)
        twice = 2 * part.products.vertical[:, family] - total
        np.testing.assert_allclose(vertical, twice, rtol=1e-3, atol=1e-3)
    delimiter = scores.values[scores.sieves.index("contrast:delimiter")]
    assert np.isnan(delimiter[:, [0, 1, 1, 1], [0, 0, 1, 2]]).all()


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
    np.testing.assert_allclose(few.outer, many.outer, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(few.redealt, many.redealt, rtol=1e-4)
    np.testing.assert_allclose(
        np.diagonal(few.outer, axis1=1, axis2=2), np.nanmean(few.parts, axis=0), atol=1e-5
    )
    scores = runs[0].scores
    for family, row in enumerate(part_of(runs[0]).origins):
        values = scores.values[scores.sieves.index(f"contrast:{row.role}"), :, row.layer, row.head]
        for unit, parts in zip(few.units, few.parts[:, family], strict=True):
            own = [value for value, name in zip(values, scores.units, strict=True) if name == unit]
            assert np.nanmean(own) == pytest.approx(parts.sum(), rel=1e-3)


@pytest.mark.xdist_group("why")
def test_a_run_without_a_role_ends_and_one_of_few_units_decides_nothing(
    labelled: Path, planted: Path, table: Path, tmp_path: Path
) -> None:
    how: dict[str, Any] = {"data": table, "model": planted, "max_length": 48, "limit": 16, "maps": 0}
    headroles.label("QNLI", sieve=["duplicate"], margin=0.9, out=tmp_path / "labels", **how)
    run = headroles.why(tmp_path / "labels", out=tmp_path / "run")
    part = part_of(run)
    assert (part.origins, part.dimensions, part.knocked) == ((), (), None)
    assert run.scores.sieves == ("contrast:duplicate", "vertical:duplicate")
    assert np.isnan(run.scores.values).all()
    assert headroles.load(tmp_path / "run").origins is not None
    few = part_of(headroles.why(labelled, limit=40, rotations=99, redeals=0))
    assert {row.verdict for row in few.origins} == {"untestable"}
