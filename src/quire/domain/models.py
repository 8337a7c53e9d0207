"""What is known of a model: its window, its prices, the parameters and usage of a call to it."""

from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any, NamedTuple

from quire.domain.data import Json, JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Picodollars a token (micro-dollars a million tokens), each kind of token apart."""

    input: int
    output: int
    cached: int  # input read from the provider's prompt cache
    written_short: int  # input written to the cache in its short-lived form
    written_long: int  # input written to the cache in its long-lived form


class Usage(NamedTuple):
    """Tokens of one attempt; `input` is what was neither read from nor written to a cache."""

    input: int = 0
    output: int = 0  # includes reasoning, as every provider bills it
    cached: int = 0
    written_short: int = 0
    written_long: int = 0
    reasoning: int = 0
    exact: bool = True  # false: the provider did not say all of it; what is 0 is then unknown

    @property
    def input_total(self) -> int:
        """All input tokens, however they were billed."""
        return self.input + self.cached + self.written_short + self.written_long


class Tier(NamedTuple):
    """What a call costs, all of it, once its input passes a size."""

    above: int  # input tokens
    price: Price


class StructuredOutput(StrEnum):
    """The best way a model lets us ask for JSON of a form."""

    SCHEMA = "schema"  # the answer is bound to a JSON Schema
    TOOL = "tool"  # the answer is the argument of a tool that the model is forced to call
    JSON = "json"  # the answer is some JSON; its form is asked for in words
    TEXT = "text"  # everything is asked for in words


class CacheMarking(StrEnum):
    """How a prefix is marked for the provider's prompt cache."""

    NONE = "none"  # there is no cache
    AUTOMATIC = "automatic"  # the provider finds equal prefixes by itself
    BREAKPOINT = "breakpoint"  # the end of the prefix is marked in the call


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """How a model is spoken to."""

    id: str = ""  # the vendor's name for it; "" = the part of ours after the slash
    url: str = ""  # where it answers, if not where its vendor's others do
    structured: StructuredOutput = StructuredOutput.SCHEMA
    marking: CacheMarking = CacheMarking.NONE
    sampling: bool = True  # whether it takes temperature and top_p


PLAIN_WIRE = Wire()
SIMULATED = "simulated"  # the provider whose answers are made up, by rules


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What may go to a model in a minute; None where nothing is known to limit it."""

    requests: int | None = None
    input: int | None = None  # tokens
    output: int | None = None  # tokens
    total: int | None = None  # tokens, input and output together
    enqueued: int | None = None  # tokens in batches that the provider has not worked off
    jobs: int | None = None  # batches that it has not worked off


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """One model of the catalog; a run keeps its own copy, so a price change rewrites nothing."""

    name: str  # provider/model
    window: int  # tokens a call may hold, input and output together
    max_output: int
    price: Price
    max_input: int | None = None  # where it is less than the window
    tiers: tuple[Tier, ...] = ()  # dearer prices of large calls, by rising size
    batch_price: Price | None = None  # None: unknown, or there is no batch
    batch_tiers: tuple[Tier, ...] = ()  # of large calls in a batch, by rising size
    cache_minimum: int = 0  # tokens a prefix must have to be cached
    thinking: int = 0  # output tokens to allow for reasoning, beside the answer
    token_factor: float = 1.0  # tokens it counts, for each that a common tokenizer counts
    limits: Limits = field(default_factory=Limits)
    wire: Wire = PLAIN_WIRE
    retires: str = ""  # a date
    note: str = ""
    window_guessed: bool = False  # nobody stated it: that a call exceeds it proves nothing
    embeds: bool = False  # it makes embeddings, and answers nothing
    dimensions: int = 0  # numbers of a vector to ask it for; 0 = as many as it makes

    def as_json(self) -> dict[str, Json]:
        """All of it, for the run's snapshot."""
        return asdict(self)

    @classmethod
    def from_json(cls, facts: JsonObject) -> "ModelFacts":
        """Read a snapshot back."""
        values: dict[str, Any] = dict(facts)
        values["price"] = Price(**values["price"])
        for name in ("tiers", "batch_tiers"):
            values[name] = tuple(Tier(above, Price(**item)) for above, item in values.get(name, ()))
        if values.get("batch_price"):
            values["batch_price"] = Price(**values["batch_price"])
        values["limits"] = Limits(**values.get("limits", {}))
        wire = dict(values.get("wire", {}))
        for name, kind in (("structured", StructuredOutput), ("marking", CacheMarking)):
            if name in wire:
                wire[name] = kind(wire[name])
        return cls(**{**values, "wire": Wire(**wire)})

    @property
    def provider(self) -> str:
        """The part of the name that says who answers."""
        return self.name.partition("/")[0]

    @property
    def is_simulated(self) -> bool:
        """Whether its answers are made up, and its dollars no money."""
        return self.provider == SIMULATED

    @property
    def has_url_in_name(self) -> bool:
        """Whether its own name says where it answers, which counts for more than any setting."""
        return bool(self.wire.url) and self.name.rstrip("/").endswith(f"@{self.wire.url}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """What a call is asked with besides its text; None leaves the choice to the provider."""

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    effort: str | None = None  # how hard a reasoning model should think, in the vendor's word
    stop: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Json]:
        """Only what was chosen, for the ledger and the wire."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in values.items() if value not in (None, ())}
