"""The route about models: which there are, and what they cost."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from quire.engine.json_views.model_views import models_json
from quire.engine.model_list import read_model_list
from quire.server.access import AccessRole, AskedEngine, requires
from quire.server.json_answers import AnswerShape, answer_json

router = APIRouter(tags=["models"])


class ModelShape(AnswerShape):
    """A model; prices are micro-dollars per million tokens."""

    name: str = Field(examples=["simulated/small"])


class ModelListShape(AnswerShape):
    """The models of the catalog and of quire.toml."""

    items: list[ModelShape]
    next: str | None = None
    default: str | None = None  # that quire.toml names


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
