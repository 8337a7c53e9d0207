"""JSON answers: values as the command line prints them with --json, and lists page by page."""

import base64
import json
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Generic, TypeVar

from fastapi import Header, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from quire.domain.data import Json
from quire.domain.errors import UsageError
from quire.engine.json_views.encoding import json_bytes

MOST_ITEMS, USUAL_ITEMS = 500, 50  # on a page
LARGEST = 2**63 - 2  # number that a ledger holds, and so it does the next
FIRST = LARGEST  # before which the newest items are
Item = TypeVar("Item")

Limit = Annotated[int, Query(ge=1, le=MOST_ITEMS, description="How many items at most.")]
Cursor = Annotated[
    str | None, Query(max_length=400, description="What `next` of the page before said.")
]
Number = Annotated[int, Path(ge=1, le=LARGEST)]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=r"^[\x20-\x7e]+$",
        description="The same key again does nothing twice; with another body it is refused.",
    ),
]


MOST_DOLLARS = 1_000_000.0
Dollars = Annotated[  # a number: neither true nor a text is an amount
    float, Field(strict=True, ge=0, le=MOST_DOLLARS, allow_inf_nan=False)
]
Budget = Annotated[float, Field(strict=True, gt=0, le=MOST_DOLLARS, allow_inf_nan=False)]
SignedDollars = Annotated[
    float, Field(strict=True, ge=-MOST_DOLLARS, le=MOST_DOLLARS, allow_inf_nan=False)
]


def _free(why: str) -> Any:
    """Say of a value why nobody can say more of it than that it is JSON."""
    return Field(json_schema_extra={"x-free": why})


Data = Annotated[Any, _free("the schema that was asked says what it holds")]
Record = Annotated[dict[str, Any], _free("its fields are those of the schema that was asked")]
JsonSchema = Annotated[dict[str, Any], _free("a JSON Schema of the user's own")]
Settings = Annotated[dict[str, Any], _free("each name has a type of its own")]
SettingValue = Annotated[Any, _free("of the type that its name has")]


class AnswerShape(BaseModel):
    """What an answer holds, field by field; later versions may add fields."""


class Body(BaseModel):
    """What a request holds; what is not known is refused."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def refuse_odd_text(cls, value: object) -> object:
        """Refuse text that no ledger keeps."""
        _check_text(value)
        return value


class Page(AnswerShape, Generic[Item]):
    """Some items of a list, and how to ask for those after them."""

    items: list[Item]
    next: str | None = None  # a cursor; null: there is nothing more


def answer_json(value: object, status: int = 200) -> Response:
    """One JSON value as a response."""
    return Response(json_bytes(value), status, media_type="application/json")


def answer_page(
    items: Sequence[Item],
    limit: int,
    key: Callable[[Item], int],
    show: Callable[[Item], object] = lambda item: item,
) -> Response:
    """A page of items, of which one more than `limit` was read; `key` is where one stands."""
    shown = items[:limit]
    cursor = write_cursor(key(shown[-1])) if len(items) > limit else None
    return answer_json({"items": [show(item) for item in shown], "next": cursor})


def cut_page(
    items: Sequence[Item], cursor: str | None, limit: int
) -> tuple[Sequence[Item], str | None]:
    """A page of a list that was read whole, for there is never much of it; and what comes next."""
    begin = read_cursor(cursor)
    end = min(begin + limit, len(items))
    return items[begin:end], write_cursor(end) if end < len(items) else None


def answer_part(items: Sequence[object], cursor: str | None, limit: int) -> Response:
    """The same as a response."""
    shown, further = cut_page(items, cursor, limit)
    return answer_json({"items": shown, "next": further})


def write_cursor(*key: Json) -> str:
    """A place in a list, as text that nobody need understand."""
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


def read_cursor(text: str | None, first: int = 0) -> int:
    """The number that a cursor stands for; without one the first page's."""
    if not text:
        return first
    try:
        key = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, RecursionError):
        key = None
    match key:
        case [int(number)] if not isinstance(number, bool) and 0 <= number <= LARGEST:
            return number
    raise UsageError("cursor: this is none of ours", "take `next` of the page before as it is")


def _check_text(value: object) -> None:
    if isinstance(value, str):
        if "\x00" in value:
            raise ValueError("text holds no NUL characters")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError("text holds half a character") from None
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_text(key)
            _check_text(item)
    elif isinstance(value, list):
        for item in value:
            _check_text(item)
