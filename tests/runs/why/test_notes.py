"""What a run says of its rotations, where they cannot show anything."""

from headroles.records.rules.rule import Decision
from headroles.runs.why.facts import rotations_note


def test_too_few_rotations_are_named_with_the_number_that_suffices() -> None:
    note = rotations_note(99, 81, Decision())
    assert note == (
        "99 rotations cannot show that few neurons carry a single one of 81 roles of heads, after "
        "correction. Give at least --rotations 1619."
    )
    assert rotations_note(1619, 81, Decision()) == ""
    assert rotations_note(1618, 81, Decision())


def test_without_a_correction_99_rotations_suffice() -> None:
    assert rotations_note(99, 81, Decision(correction="none")) == ""
    assert rotations_note(99, 1, Decision(correction="none", alpha=0.001)).startswith(
        "99 rotations cannot show that few neurons carry a role of a head. Give at least"
    )


def test_no_number_of_rotations_is_advised_that_would_be_refused() -> None:
    note = rotations_note(9_999, 163, Decision(alpha=0.001))
    assert note.endswith("No number of --rotations up to 99,999 can; give another --alpha or --correction.")
