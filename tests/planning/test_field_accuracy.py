"""Accuracy is counted by hand in small cases, and agrees with published tests of pairs."""

import pytest

from quire.domain.data import Json, JsonObject
from quire.planning.accuracy import (
    NO_ANSWER,
    NULL,
    GoldPair,
    RunAccuracy,
    compare_runs,
    measure_accuracy,
)
from quire.planning.critic_agreement import measure_agreement
from quire.planning.distributions import OTHERS, ValueCount, count_values
from quire.planning.share_estimates import (
    estimate_clustered_share,
    estimate_share,
    holm_p_values,
    paired_p_value,
)
from quire.planning.value_matching import rule_of_field

SCHEMA: dict[str, JsonObject] = {
    "urgency": {"enum": ["low", "high"]},
    "tags": {"type": "array", "items": {"type": "string"}},
}
RULES = {name: rule_of_field(field) for name, field in SCHEMA.items()}


def pair(name: str, answer: JsonObject | None, gold: JsonObject, **more: object) -> GoldPair:
    """One row."""
    return GoldPair(name, f"text of {name}", answer, gold, **more)  # type: ignore[arg-type]


def measure(*pairs: GoldPair, label: str = "run 1") -> RunAccuracy:
    """These rows, measured."""
    return measure_accuracy(label, pairs, RULES, SCHEMA)


def test_fields_are_counted_row_by_row() -> None:
    found = measure(
        pair("a", {"urgency": "low", "tags": ["x", "y"]}, {"urgency": "low", "tags": ["y", "x"]}),
        pair("b", {"urgency": "low", "tags": ["x"]}, {"urgency": "high", "tags": ["x", "z"]}),
        pair("c", {"urgency": None, "tags": []}, {"urgency": None, "tags": ["x"]}),
        pair("d", None, {"urgency": "low", "tags": []}),
    )
    urgency, tags = found.fields

    assert (found.rows, found.answered, found.whole.hits) == (4, 3, 1)
    assert (urgency.accuracy.hits, urgency.precision[:2], urgency.recall[:2]) == (2, (1, 2), (1, 3))
    assert (tags.accuracy.hits, tags.precision[:2], tags.recall[:2]) == (1, (3, 3), (3, 5))
    assert urgency.f1 == pytest.approx(2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3))
    assert urgency.confusion == {
        ("low", "low"): 1,
        ("high", "low"): 1,
        (NULL, NULL): 1,
        ("low", NO_ANSWER): 1,
    }
    assert tags.confusion == {}


def test_the_worst_rows_come_first_and_say_what_is_wrong() -> None:
    found = measure(
        pair("right", {"urgency": "low", "tags": []}, {"urgency": "low", "tags": []}),
        pair("one", {"urgency": "low", "tags": []}, {"urgency": "high", "tags": []}),
        pair("both", {"urgency": "low", "tags": ["x"]}, {"urgency": "high", "tags": []}),
        pair("silent", None, {"urgency": None, "tags": None}),
    )

    assert [case.pair.name for case in found.cases] == ["silent", "both", "one"]
    assert found.cases[1].wrong == (("urgency", "low", "high"), ("tags", ["x"], []))


def test_two_runs_are_compared_on_the_rows_that_both_have() -> None:
    gold: JsonObject = {"urgency": "high", "tags": []}
    right: JsonObject = {"urgency": "high", "tags": []}
    wrong: JsonObject = {"urgency": "low", "tags": []}
    first = measure(*(pair(f"{no}", wrong if no < 8 else right, gold) for no in range(20)))
    second = measure(*(pair(f"{no}", right, gold) for no in range(10)), label="run 2")

    (found,) = compare_runs([first, second])
    urgency = found.fields[0]

    assert (found.first, found.second, found.rows) == ("run 1", "run 2", 10)
    assert (urgency.first.share, urgency.second.share, urgency.excess.share) == (0.2, 1.0, 0.8)
    assert urgency.p_value == pytest.approx(2 / 2**8)
    assert urgency.excess.low > 0
    assert [field.field for field in found.fields] == ["urgency", "tags", ""]
    assert urgency.adjusted_p_value == pytest.approx(3 * 2 / 2**8)


def test_pairs_are_tested_as_published() -> None:
    """Agresti, Categorical Data Analysis, table 10.1: 150 against 86; and small ones by hand."""
    assert paired_p_value(150, 86) == pytest.approx(3.7e-5, rel=0.1)
    assert paired_p_value(0, 0) == paired_p_value(5, 5) == 1.0
    assert paired_p_value(0, 5) == pytest.approx(2 / 32)
    assert paired_p_value(1051, 950) == pytest.approx(paired_p_value(1050, 950), abs=3e-3)
    assert holm_p_values([0.04, 0.01, 0.5]) == pytest.approx([0.08, 0.03, 0.5])


def test_elements_that_are_wrong_together_make_a_wider_interval() -> None:
    together = estimate_clustered_share([(10, 10)] * 9 + [(0, 10)])
    apart = estimate_clustered_share([(9, 10)] * 10)
    plain = estimate_share(90, 100)

    assert together.share == apart.share == plain.share
    assert together.high - together.low > 2 * (plain.high - plain.low)
    assert (apart.low, apart.high) == pytest.approx((plain.low, plain.high))
    assert estimate_clustered_share([(10, 10)] * 5).low == estimate_share(5, 5).low
    assert estimate_clustered_share([(1, 1)] * 90 + [(0, 1)] * 10) == plain


@pytest.mark.parametrize(
    ("said", "agreement", "discrimination"),
    [
        ([True, False, True, False], 3 / 4, None),
        ([0.9, 0.2, 0.5, 0.4], None, 1.0),
        ([0.5, 0.5, 0.5, 0.5], None, 0.5),
        (["good", "bad", "good", "good"], None, None),
    ],
)
def test_critics_are_held_against_gold(
    said: list[Json], agreement: float | None, discrimination: float | None
) -> None:
    right: JsonObject = {"urgency": "low", "tags": []}
    wrong: JsonObject = {"urgency": "high", "tags": []}
    answers = [right, wrong, right, right if isinstance(said[0], bool) else wrong]
    found = measure(
        *(
            pair(f"{no}", answer, right, said={"check.ok": word, "check.status": "accepted"})
            for no, (answer, word) in enumerate(zip(answers, said, strict=True))
        ),
        pair("unjudged", right, right, review="edited"),
    )

    critic, review = measure_agreement(found)

    assert (critic.judge, critic.discrimination) == ("check.ok", discrimination)
    assert (critic.agreement and critic.agreement.share) == agreement
    assert review.counts == {("edited", True): 1}


def test_values_are_counted_as_they_can_be_shown() -> None:
    assert count_values([True, None], [True, True]) == [
        ValueCount("true", 1, 2),
        ValueCount(NULL, 1, 0),
    ]
    assert count_values([["a", "b"]], [["a"]]) == [ValueCount("a", 1, 1), ValueCount("b", 1, 0)]
    ranges = count_values(list(range(100)), [0.0, 99.5, None])
    assert (len(ranges), sum(bar.answers for bar in ranges), ranges[0].gold, ranges[9].gold) == (
        11,
        100,
        1,
        1,
    )
    many = count_values([f"word {no}" for no in range(30)], [])
    assert (len(many), many[-1]) == (10, ValueCount(OTHERS, 21, 0))
