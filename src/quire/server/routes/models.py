"""The route about models: which there are, and what they cost."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from quire.domain.models import CacheMarking, StructuredOutput
from quire.engine.json_views.model_views import models_json
from quire.engine.model_list import read_model_list
from quire.server.access import AccessRole, AskedEngine, requires
from quire.server.json_answers import AnswerShape, answer_json

router = APIRouter(tags=["models"])


class PriceShape(AnswerShape):
    """Micro-dollars a million tokens, each kind of token apart."""

    input: int = Field(description="Plain input.")
    output: int = Field(description="Output, reasoning included.")
    cached: int = Field(description="Input read from the provider's cache.")
    written_short: int = Field(description="Input written to the cache in its short-lived form.")
    written_long: int = Field(description="Input written to the cache in its long-lived form.")


class ModelLimitsShape(AnswerShape):
    """What may go to a model in a minute; null where nothing is known to limit it."""

    requests: int | None
    input: int | None = Field(description="Input tokens.")
    output: int | None = Field(description="Output tokens.")
    total: int | None = Field(description="Input and output tokens together.")
    enqueued: int | None = Field(description="Tokens in batches that are not worked off.")
    jobs: int | None = Field(description="Batches that are not worked off.")


class WireShape(AnswerShape):
    """How a model is spoken to."""

    id: str = Field(description="The vendor's name for it; empty: ours after the slash.")
    url: str = Field(description="Where it answers, if not where its vendor's others do.")
    structured: StructuredOutput = Field(description="The best way to ask it for JSON.")
    marking: CacheMarking = Field(description="How a prefix is marked for its cache.")
    sampling: bool = Field(description="Whether it takes temperature and top_p.")


class TierShape(AnswerShape):
    """What a call costs once its input passes a size."""

    above: int = Field(description="Input tokens.")
    price: PriceShape = Field(description="Of all of the call.")


class ModelShape(AnswerShape):
    """A model; one without a price has only its name, price and note."""

    name: str = Field(description="Provider and model.", examples=["simulated/small"])
    price: PriceShape | None = Field(description="Null: nobody knows.")
    note: str = Field(description="What else there is to say of it.")
    window: int = Field(0, description="Tokens a call may hold, input and output together.")
    max_output: int = Field(0, description="Output tokens of a call, at most.")
    max_input: int | None = Field(None, description="Where it is less than the window.")
    tiers: list[TierShape] = Field(
        [], description="Prices of calls whose input is above so many tokens."
    )
    batch_price: PriceShape | None = Field(None, description="In batches; null: no batches.")
    batch_tiers: list[TierShape] = Field([], description="Prices of large calls in batches.")
    cache_minimum: int = Field(0, description="Tokens a prefix must have to be cached.")
    thinking: int = Field(0, description="Output tokens allowed for reasoning.")
    token_factor: float = Field(1, description="Its tokens for each of a common tokenizer.")
    limits: ModelLimitsShape | None = Field(None, description="What it takes in a minute.")
    wire: WireShape | None = Field(None, description="How it is spoken to.")
    retires: str = Field("", description="The day it is shut down; empty: none is known.")
    window_guessed: bool = Field(False, description="Nobody stated the window.")
    embeds: bool = Field(False, description="It makes embeddings, and answers nothing.")
    dimensions: int = Field(0, description="Numbers of a vector; 0: as many as it makes.")
    source: str = Field(
        "", alias="from", description="Where these facts are from.", examples=["quire.toml"]
    )


class ModelListShape(AnswerShape):
    """The models of the catalog and of quire.toml."""

    items: list[ModelShape]
    next: str | None = None
    default: str | None = Field(None, description="The model that quire.toml names.")


@router.get("/v1/models", response_model=ModelListShape, dependencies=[requires(AccessRole.VIEWER)])
def list_models(
    engine: AskedEngine, q: Annotated[str | None, Query(max_length=100)] = None
) -> Response:
    """List the models with their prices, or those whose names contain a text."""
    known = read_model_list()
    chosen = [
        facts for name, facts in known.known.items() if q is None or q.lower() in name.lower()
    ]
    items = models_json(known, chosen, everything=q is None)
    return answer_json({"items": items, "next": None, "default": engine.settings.model})
