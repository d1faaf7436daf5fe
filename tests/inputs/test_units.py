"""Units of inference: inputs of one group or with a text in common, and no others."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from headroles.inputs.units import unit_names

GROUPS = st.one_of(st.none(), st.sampled_from(["group a", "group b", "group c"]))
TEXTS = st.lists(st.sampled_from([f"text {number}" for number in range(12)]), min_size=1, max_size=2)
INPUTS = st.lists(st.tuples(GROUPS, TEXTS), max_size=14)
Inputs = list[tuple[str | None, list[str]]]


def _names(inputs: Inputs) -> list[str]:
    keys = [f"key {place}" for place in range(len(inputs))]
    return unit_names([group for group, _ in inputs], [texts for _, texts in inputs], keys)


def _reachable(inputs: Inputs) -> list[frozenset[int]]:
    """The inputs that each one is joined to, by growing its set until nothing is added."""
    found = []
    for place in range(len(inputs)):
        mine, before = {place}, set[int]()
        while mine != before:
            before = set(mine)
            groups = {inputs[each][0] for each in before} - {None}
            texts = {text for each in before for text in inputs[each][1]}
            mine |= {k for k, (group, own) in enumerate(inputs) if group in groups or texts & set(own)}
        found.append(frozenset(mine))
    return found


@given(INPUTS)
def test_two_inputs_share_a_unit_exactly_where_groups_and_texts_join_them(inputs: Inputs) -> None:
    names, joined = _names(inputs), _reachable(inputs)
    for place, name in enumerate(names):
        assert {other for other, theirs in enumerate(names) if theirs == name} == joined[place]


@given(INPUTS)
def test_a_unit_is_named_by_its_first_input(inputs: Inputs) -> None:
    for name, joined in zip(_names(inputs), _reachable(inputs), strict=True):
        first = min(joined)
        assert name == (inputs[first][0] or f"key {first}")


@given(INPUTS, st.randoms(use_true_random=False))
def test_units_do_not_depend_on_the_order_of_the_inputs(inputs: Inputs, random: Random) -> None:
    order = list(range(len(inputs)))
    random.shuffle(order)
    names, turned = _names(inputs), _names([inputs[place] for place in order])
    for a, first in enumerate(order):
        for b, second in enumerate(order):
            assert (names[first] == names[second]) == (turned[a] == turned[b])


def test_a_group_without_a_name_joins_nothing_by_itself() -> None:
    assert _names([(None, ["one"]), (None, ["two"])]) == ["key 0", "key 1"]


def test_long_chains_of_shared_texts_are_one_unit() -> None:
    count = 3000
    chain: Inputs = [(None, [f"{place}", f"{place + 1}"]) for place in range(count)]
    assert set(_names(chain[::-1])) == {"key 0"}
    assert len(set(_names(chain[::2]))) == count // 2


def test_a_text_is_itself_only_and_never_a_group() -> None:
    assert _names([("same", ["one"]), (None, ["same"]), (None, ["One"])]) == ["same", "key 1", "key 2"]
