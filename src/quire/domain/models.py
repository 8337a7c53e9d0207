"""What is known of a model: its window, its prices, the parameters and usage of a call to it."""

from dataclasses import asdict, dataclass
from typing import Any

from quire.domain.data import Json, JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Micro-dollars per million tokens, each kind of token apart."""

    input: int
    output: int
    cached: int  # input read from the provider's prompt cache
    written_short: int  # input written to the cache in its short-lived form
    written_long: int  # input written to the cache in its long-lived form


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one attempt; `input` is what was neither read from nor written to a cache."""

    input: int = 0
    output: int = 0  # includes reasoning, as every provider bills it
    cached: int = 0
    written_short: int = 0
    written_long: int = 0
    reasoning: int = 0

    @property
    def input_total(self) -> int:
        """All input tokens, however they were billed."""
        return self.input + self.cached + self.written_short + self.written_long


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """One model of the catalog; a run keeps its own copy, so a price change rewrites nothing."""

    name: str  # provider/model
    window: int  # tokens a call may hold, input and output together
    max_output: int
    price: Price
    note: str = ""

    def as_json(self) -> dict[str, Json]:
        """All of it, for the run's snapshot."""
        return asdict(self)

    @classmethod
    def from_json(cls, facts: JsonObject) -> "ModelFacts":
        """Read a snapshot back."""
        values: dict[str, Any] = dict(facts)
        return cls(**{**values, "price": Price(**values["price"])})

    @property
    def provider(self) -> str:
        """The part of the name that says who answers."""
        return self.name.partition("/")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """What a call is asked with besides its text; None leaves the choice to the provider."""

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Json]:
        """Only what was chosen, for the ledger and the wire."""
        return {name: value for name, value in asdict(self).items() if value not in (None, ())}
