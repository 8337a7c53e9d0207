"""Quotes are found in the block whatever their marks and spaces look like, or refused."""

from typing import Any

import pytest

from quire.domain.gates import Judgement, Verdict
from quire.domain.quotes import Quote, asked_schema, quoted_fields, split_notes
from quire.gates.quotes import find_words, judge_quotes
from quire.gates.shape import Shape

TEXT = (
    "The tenant pays within  thirty\n days – “at once” if asked; the ﬁne is 10\u00a0€ (it’s naïve)."
)

SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "days": {"type": "integer", "x-quote": True},
        "days_quote": {"type": "string"},
        "party": {"type": ["string", "null"], "x-quote": True},
        "fees": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"sum": {"type": "number", "x-quote": True}},
                "required": ["sum"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["days", "days_quote"],
}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("tenant pays", "tenant pays"),
        ("within thirty days", "within  thirty\n days"),
        ('days - "at once" if', "days – “at once” if"),
        ("the fine is 10 €", "the ﬁne is 10\u00a0€"),
        ("it's na\u0131ve", None),
        ("it's nai\u0308ve", "it’s naïve"),
        ('"The tenant pays"', "The tenant pays"),
        ("“The tenant pays”", "The tenant pays"),
        ("  if asked;  ", "if asked;"),
        ("thirty days at once", None),
        ("the tenant pays", None),
        ("", None),
        (" \n", None),
        (None, None),
        (7, None),
        ('""', None),
    ],
)
def test_words_are_found_as_they_stand_in_the_block(words: object, found: str | None) -> None:
    place = find_words(words, TEXT)

    assert (None if place is None else TEXT[place[0] : place[1]]) == found


def test_what_is_asked_has_a_quote_before_each_field_that_wants_one() -> None:
    asked: Any = asked_schema(SCHEMA)

    assert list(asked["properties"]) == [
        "days_quote_", "days", "days_quote", "party_quote", "party", "fees",
    ]  # fmt: skip
    assert asked["required"] == ["days_quote_", "days", "days_quote"]
    assert asked["properties"]["days_quote_"]["type"] == "string"
    assert "x-quote" not in str(asked)
    plain: Any = {"type": "object", "properties": {"a": {"type": "string"}}}
    assert asked_schema(plain) == plain


def judge(**fields: object) -> Verdict:
    given = {"days": 30, "days_quote": "mine", "days_quote_": "thirty days", **fields}
    verdict = Shape(asked_schema(SCHEMA)).judge(given)  # type: ignore[arg-type]
    return judge_quotes(verdict, quoted_fields(SCHEMA), TEXT)


def test_data_keeps_its_own_fields_and_quotes_are_noted_with_their_places() -> None:
    fees = [{"sum_quote": "10 €", "sum": 10}, {"sum_quote": "thirty", "sum": 30}]

    verdict = judge(party="tenant", party_quote="The tenant", fees=fees)

    assert verdict.data == {
        "days": 30, "days_quote": "mine", "party": "tenant", "fees": [{"sum": 10}, {"sum": 30}],
    }  # fmt: skip
    kept = split_notes([note._asdict() for note in verdict.notes])
    assert kept.notes == []
    assert kept.quotes[:2] == [
        Quote("/days", "thirty\n days", 24, 36),
        Quote("/party", "The tenant", 0, 10),
    ]
    assert [quote.path for quote in kept.quotes[2:]] == ["/fees/0/sum", "/fees/1/sum"]
    assert all(TEXT[quote.start : quote.end] == quote.text for quote in kept.quotes)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"days_quote_": "forty days"}, '/days_quote_: "forty days" does not stand in the block'),
        (
            {"party": "tenant"},
            "/party_quote: is missing: the words of the block that show /party",
        ),
        ({"party": "tenant", "party_quote": " "}, "/party_quote: is missing: the words of the b"),
        ({"fees": [{"sum": 1, "sum_quote": "x€"}]}, '/fees/0/sum_quote: "x€" does not stand in'),
    ],
)
def test_a_quote_that_is_not_there_is_refused_with_its_reason(
    fields: dict[str, object], reason: str
) -> None:
    verdict = judge(**fields)

    assert verdict.judgement is Judgement.RETRY
    assert verdict.reasons[0].startswith(reason)


@pytest.mark.parametrize("fields", [{"party": None}, {"party": ""}, {"party_quote": "anything"}])
def test_what_has_no_value_needs_no_quote(fields: dict[str, object]) -> None:
    verdict = judge(**fields)

    assert verdict.judgement is Judgement.ACCEPT
    assert len(verdict.notes) == 1


def test_a_block_without_words_cannot_be_quoted() -> None:
    given = Verdict(Judgement.ACCEPT, {"days": 1, "days_quote": "x", "days_quote_": "y"})

    assert judge_quotes(given, quoted_fields(SCHEMA), " \n").judgement is Judgement.ACCEPT
