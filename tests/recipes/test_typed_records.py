"""Records become objects of the classes that they were asked with."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from pydantic import AnyUrl, ValidationError

from quire.domain.class_schemas import typed_record
from tests.recipes import schema_classes as classes

HOME = classes.Address(street="High Street")


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (
            {"mood": "good", "level": 3, "shade": 0, "kind": 3},
            classes.Enums(
                mood=classes.Mood.GOOD, level=classes.Level.HIGH, shade=classes.Shade.NONE, kind=3
            ),
        ),
        (
            {"name": "Ada", "home": {"street": "High Street"}},
            classes.Person(name="Ada", home=HOME),
        ),
        (
            {
                "day": "2026-01-02",
                "at": "2026-01-02T03:04:05Z",
                "clock": "03:04:05",
                "length": "PT5M",
                "key": "a8098c1a-f86e-11da-bd1a-00112444be1e",
                "site": "https://example.org/",
            },
            classes.Times(
                day=date(2026, 1, 2),
                at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
                clock=time(3, 4, 5),
                length=timedelta(minutes=5),
                key=UUID("a8098c1a-f86e-11da-bd1a-00112444be1e"),
                site=AnyUrl("https://example.org/"),
            ),
        ),
        (
            {"amount": 12.1, "rounded": 3},
            classes.Money(amount=Decimal("12.1"), rounded=Decimal(3)),
        ),
        (
            {"ticketId": 3, "writtenOn": "2026-01-02", "first": "x"},
            classes.Aliased.model_construct(ticket_id=3, written_on=date(2026, 1, 2), either="x"),
        ),
        (
            {"pet": {"kind": "cat", "lives": 9}},
            classes.Tagged(pet=classes.Cat(kind="cat", lives=9)),
        ),
        ({"tags": ["a", "b"]}, classes.Sets(tags={"a", "b"})),
        (
            {"point": [1, 2], "pair": ["a", 1], "many": [3]},
            classes.Tuples(point=(1, 2), pair=("a", 1), many=(3,)),
        ),
        (
            {"number": "a", "stops": [{"street": "High Street"}]},
            classes.Parcel(number="a", stops=[HOME]),
        ),
        ({"answer": "x"}, classes.Reply(answer="x")),
    ],
)
def test_a_record_becomes_an_object_of_its_class(record: dict[str, Any], expected: Any) -> None:
    model_class = dict if isinstance(expected, dict) else type(expected)
    wanted: Any = classes.Reply if model_class is dict else model_class

    assert typed_record(record, wanted) == expected


def test_no_record_is_no_object() -> None:
    assert typed_record(None, classes.Plain) is None


def test_what_the_class_itself_refuses_is_its_own_error() -> None:
    with pytest.raises(ValidationError):
        typed_record({"topic": "x"}, classes.Plain)


def test_validators_of_the_class_run() -> None:
    made = typed_record({"name": " Ada "}, classes.Checked)

    assert made is not None
    assert (made.name, made.size) == ("Ada", 3)
