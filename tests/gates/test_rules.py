"""The rules gate names every rule that the data break."""

import pytest

from quire.domain.data import Json, JsonObject
from quire.domain.gates import GateInput, Judgement, Verdict
from quire.domain.requests import Stop
from quire.gates.rules import RulesGate

GATE = RulesGate()
DATA: dict[str, Json] = {
    "amount": 12,
    "date": "2024-05-01",
    "kind": "invoice",
    "items": [{"price": 2}, {"price": 30}],
    "net.amount": 3,
    "note": None,
}


def judge(*rules: Json, data: Json = DATA) -> Verdict:
    """Judge data for a recipe with the parameter `most`."""
    facts: JsonObject = {"parameters": {"most": 10, "word": "ten"}, "part": {}}
    return GATE.judge(GateInput("", Stop.END, data, None, facts), {"rules": [*rules]})


def test_data_that_break_no_rule_are_accepted_as_they_are() -> None:
    verdict = judge(
        {"field": "amount", "min": 0, "max": 12},
        {"field": "date", "pattern": r"^\d{4}-"},
        {"field": "items.price", "max": 30},
        {"field": "note", "min": 0},
        {"field": "nothing.there", "pattern": "x"},
        {"when": "kind == 'invoice'", "require": "amount > 0 and len(items) == 2"},
        {"when": "kind == 'order'", "require": "false"},
        {"require": "answer['net.amount'] < parameters.most"},
    )

    assert verdict == Verdict(Judgement.ACCEPT, DATA)


def test_every_broken_rule_is_named() -> None:
    verdict = judge(
        {"field": "amount", "max": 10},
        {"field": "date", "pattern": r"^\d{2}\."},
        {"field": "kind", "not_pattern": "voice"},
        {"field": "note", "required": True},
        {"field": "items.price", "max": 20},
        {"field": "net.amount", "min": 5},
        {"field": "kind", "min": 1},
        {"field": "amount", "pattern": "1"},
        {"when": "amount > 10", "require": "kind == 'order'"},
        {"require": "discount < amount"},
        {"require": "amount < 5", "say": "the amount must stay below five"},
    )

    assert verdict.judgement is Judgement.RETRY
    assert verdict.reasons == (
        "amount: 12 is above 10",
        r'date: "2024-05-01" does not match ^\d{2}\.',
        'kind: "invoice" must not match voice',
        "note is missing",
        "items.price: 30 is above 20",
        "net.amount: 3 is below 5",
        'kind: "invoice" is not a number',
        "amount: 12 is not a text",
        "must hold: kind == 'order' (where amount > 10)",
        "must hold: discount < amount; it cannot be worked out: what is missing is not a number",
        "the amount must stay below five",
    )


def test_a_limit_may_be_a_parameter_of_the_recipe() -> None:
    assert judge({"field": "amount", "max": "parameters.most"}).reasons == (
        "amount: 12 is above 10",
    )


@pytest.mark.parametrize("limit", ["parameters.none", "parameters.word"])
def test_a_limit_that_is_no_number_fails_the_task_and_is_not_paid_for_again(limit: str) -> None:
    assert judge({"field": "amount", "max": limit}).judgement is Judgement.FAIL


def test_data_that_are_no_object_are_called_answer() -> None:
    assert judge({"require": "answer[0] == 1"}, data=[1]).judgement is Judgement.ACCEPT


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (None, "rules must be a list of at least one rule"),
        ([], "rules must be a list of at least one rule"),
        ([{"require": "a"}] * 101, "there may be at most 100 rules"),
        (["amount > 1"], "rule 1: must be an object"),
        ([{"field": "a"}], "rule 1: must have min, max, pattern, not_pattern or required"),
        ([{"field": "", "min": 1}], "rule 1: field must be the name of a field"),
        ([{"field": "a", "min": "1"}], "rule 1: min must be a number"),
        ([{"field": "a", "min": 2, "max": 1}], "rule 1: min 2 is above max 1"),
        ([{"field": "a", "pattern": "["}], "rule 1: pattern is not a regular expression"),
        ([{"field": "a", "required": 1}], "rule 1: required must be true or false"),
        (
            [{"field": "a", "min": 1, "maxi": 2}],
            "rule 1: maxi is not a parameter; did you mean max?",
        ),
        ([{"require": "a"}, {"when": "a"}], "rule 2: must say which field it is about"),
        ([{"require": "a **"}], "rule 1: require is not an expression"),
        ([{"when": "open(1)", "require": "a"}], "rule 1: when may call only"),
        ([{"require": "a", "say": 1}], "rule 1: say must be a text"),
    ],
)
def test_every_mistake_in_its_rules_is_told_with_its_place(rules: Json, said: str) -> None:
    (mistake,) = GATE.mistakes({"rules": rules})

    assert said in mistake
