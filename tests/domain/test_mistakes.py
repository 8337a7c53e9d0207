"""Mistakes of an edited result, each with the field that it is about."""

import pytest

from quire.domain.errors import EditInvalid, Mistake


@pytest.mark.parametrize(
    ("line", "mistake"),
    [
        ("/party: must be text", Mistake("/party", "must be text")),
        ("/terms/0: must be text: not 1", Mistake("/terms/0", "must be text: not 1")),
        ("/: must be an object", Mistake("", "must be an object")),
        ("the sum is wrong: 3", Mistake("", "the sum is wrong: 3")),
        ("/nothing after it", Mistake("", "/nothing after it")),
    ],
)
def test_what_a_gate_says_is_told_at_its_field(line: str, mistake: Mistake) -> None:
    assert EditInvalid(7, [line]).mistakes == (mistake,)


def test_an_edit_that_is_refused_names_the_task_and_every_mistake() -> None:
    error = EditInvalid(7, ["/a: is missing", "/b: is missing"])

    assert str(error) == (
        "task 7 cannot be edited so: 2 mistakes\n  /a: is missing\n  /b: is missing"
    )
