"""Classes as people write them: Pydantic models plain and odd, dataclasses, typed dictionaries."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Annotated, Any, Generic, Literal, NotRequired, TypeVar

from pydantic import (
    AliasChoices,
    AnyUrl,
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    StringConstraints,
    computed_field,
    conint,
    field_validator,
)
from typing_extensions import TypedDict

Item = TypeVar("Item")


class Plain(BaseModel):
    """A ticket of the shop."""

    topic: str
    urgency: int
    price: float
    open: bool


class Mood(StrEnum):
    GOOD = "good"
    BAD = "bad"


class Level(IntEnum):
    LOW = 1
    HIGH = 3


class Shade(Enum):
    RED = "red"
    NONE = 0


class Enums(BaseModel):
    mood: Mood
    level: Level
    shade: Shade
    kind: Literal["a", "b", 3]
    only: Literal["one"] = "one"


class Optionals(BaseModel):
    name: str | None
    mood: Mood | None = None
    size: int | None = Field(None, ge=0)
    kind: Literal["a", "b"] | None = None


class Address(BaseModel):
    street: str
    number: int | None = None


class Person(BaseModel):
    name: str = Field(min_length=1, description="as it stands in the text")
    home: Address
    work: Address | None = None


class Order(BaseModel):
    buyer: Person
    lines: list[Address] = Field(min_length=1, max_length=5)
    notes: list[str] = []


class Bounds(BaseModel):
    weight: float = Field(gt=0)
    share: float = Field(ge=0, lt=1)
    pages: int = Field(gt=0, lt=10)
    even: int = Field(multiple_of=2)
    small: conint(ge=1, le=3)  # type: ignore[valid-type]


class Strings(BaseModel):
    code: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]
    short: str = Field(max_length=5)
    long: str = Field(min_length=3)


class Times(BaseModel):
    day: date
    at: datetime
    clock: time
    length: timedelta
    key: uuid.UUID
    site: AnyUrl


class Money(BaseModel):
    amount: Decimal
    rounded: Decimal = Field(max_digits=8, decimal_places=2)
    maybe: Decimal | None = None


class Sets(BaseModel):
    tags: set[str]
    numbers: frozenset[int] = frozenset()


class Tuples(BaseModel):
    point: tuple[float, float]
    pair: tuple[str, int]
    many: tuple[int, ...]


class Maps(BaseModel):
    counts: dict[str, int]
    homes: dict[str, Address] = {}


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int
    name: str = "Tom"


class Dog(BaseModel):
    kind: Literal["dog"]
    tricks: list[str]


class Tagged(BaseModel):
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]


class MaybeTagged(BaseModel):
    pet: Annotated[Cat | Dog, Field(discriminator="kind")] | None = None


class Unions(BaseModel):
    mark: int | str
    where: Address | str
    which: Address | Dog


class Aliased(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    ticket_id: int = Field(alias="ticketId")
    written_on: date = Field(validation_alias="writtenOn")
    either: str = Field(validation_alias=AliasChoices("first", "second"))


class Described(BaseModel):
    """Say what the letter is about.

    Leave out greetings.
    """

    topic: str = Field(description="in three words", examples=["late delivery"], title="Topic")


class Base(BaseModel):
    name: str


class Inherited(Base):
    size: int


class Page(BaseModel, Generic[Item]):
    items: list[Item]
    more: bool = False


class Free(BaseModel):
    anything: Any
    mixed: list[Any] = []
    open: dict[str, Any] = {}


class Extra(BaseModel):
    model_config = ConfigDict(extra="allow")

    name: str


class Checked(BaseModel):
    name: str

    @field_validator("name")
    @classmethod
    def strip(cls, value: str) -> str:
        return value.strip()

    @computed_field  # type: ignore[prop-decorator]
    @property
    def size(self) -> int:
        return len(self.name)


class Node(BaseModel):
    text: str
    children: list[Node] = []


class Author(BaseModel):
    books: list[Book]


class Book(BaseModel):
    author: Author | None = None


class Listing(RootModel[list[Address]]):
    pass


class Callback(BaseModel):
    call: Callable[[int], int]


@dataclass
class Parcel:
    """A parcel on its way."""

    number: str
    weight: float = 1.0
    stops: list[Address] = field(default_factory=list)


class Reply(TypedDict):
    answer: str
    sure: NotRequired[bool]


class NoSchema:
    """A class that says nothing of its fields."""
