"""Errors say what happened by themselves, and stand in the tree that is drawn above them."""

import inspect
import re

import pytest

from quire.domain import errors
from quire.domain.errors import (
    Error,
    Mistake,
    ProviderError,
    Remedy,
    SchemaInvalid,
    Undecodable,
    UsageError,
)
from quire.domain.runs import HeldError

EVERY_ERROR = [
    getmember
    for _, getmember in inspect.getmembers(errors, inspect.isclass)
    if issubclass(getmember, Error) and getmember.__module__ == errors.__name__
]
PLAIN = [item for item in EVERY_ERROR if item.__init__ is Error.__init__]


@pytest.mark.parametrize("error", PLAIN)
def test_the_docstring_is_the_default_message(error: type[Error]) -> None:
    assert error.__doc__
    assert str(error()) == error.__doc__
    assert str(error("no run 7; see `quire runs`")) == "no run 7; see `quire runs`"


@pytest.mark.parametrize("error", EVERY_ERROR)
def test_every_error_has_one_line_that_says_what_happened(error: type[Error]) -> None:
    assert re.fullmatch(r"[A-Z].*[^.]\.", error.__doc__ or "")


def test_the_tree_in_the_docstring_is_the_tree_of_classes() -> None:
    every = (*EVERY_ERROR, HeldError)
    parents = {item.__name__: item.__base__.__name__ for item in every if item.__base__}

    assert _drawn_parents(errors.__doc__ or "") == {**parents, "Error": None}


def test_an_invalid_schema_lists_every_mistake_with_its_place() -> None:
    mistakes = [Mistake("/properties/a", "has no type"), Mistake("", "has no title")]

    error = SchemaInvalid("clauses.json", mistakes)

    assert str(error).splitlines() == [
        "clauses.json: 2 mistakes",
        "  /properties/a: has no type",
        "  /: has no title",
    ]
    assert error.mistakes == tuple(mistakes)
    assert isinstance(error, UsageError)


def test_one_mistake_is_not_called_mistakes() -> None:
    assert str(SchemaInvalid("a.json", [Mistake("/x", "is odd")])).startswith("a.json: 1 mistake\n")


def test_a_providers_error_carries_what_can_be_done() -> None:
    error = ProviderError("429: slow down", remedy=Remedy.WAIT, retry_after=2.5)

    assert (str(error), error.remedy, error.retry_after) == ("429: slow down", Remedy.WAIT, 2.5)


def test_an_unreadable_response_asks_for_a_mended_decoder() -> None:
    error = Undecodable("no `choices`")

    assert (str(error), error.remedy, error.retry_after) == (
        "no `choices`",
        Remedy.FIX_REQUEST,
        None,
    )


def _drawn_parents(drawing: str) -> dict[str, str | None]:
    """Read the tree: each level is four characters further to the right."""
    parents: dict[str, str | None] = {}
    above: list[str] = []
    for branch, name in re.findall(
        r"^((?:│   |    |├── |└── )*)([A-Z]\w+)(?: {2,}|$)", drawing, re.M
    ):
        depth = len(branch) // 4
        above[depth:] = [name]
        parents[name] = above[depth - 1] if depth else None
    return parents
