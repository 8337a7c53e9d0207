"""Schema drafts: a model proposes a schema from a wish and some blocks, and nothing is kept."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from quire.domain.ids import DocumentId
from quire.engine.schema_drafts import LONGEST_WISH, DraftFunds, draft_schema
from quire.server.access import AccessRole, AskedEngine, requires, site_of
from quire.server.json_answers import Dollars, JsonSchema
from quire.server.stated_models import Asker, check_stated

router = APIRouter(tags=["schemas"])


class DraftBody(BaseModel):
    """What is wished for, and who is asked."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "wish": "party, amount and due date of every obligation",
                    "model": "simulated/small",
                    "max_cost_usd": 0.05,
                }
            ]
        },
    )

    wish: Annotated[str, Field(min_length=1, max_length=LONGEST_WISH, pattern=r"\S")]
    model: str | None = None  # None: the usual one
    documents: list[Annotated[int, Field(ge=1, lt=2**63)]] | None = None  # None: the usual ones
    max_cost_usd: Dollars | None = None  # of both of its calls together
    wallet: str | None = None


class DraftAnswer(BaseModel):
    """A proposal with what it cost."""

    model_config = ConfigDict(populate_by_name=True)

    body: JsonSchema = Field(alias="schema")
    problems: list[str]  # that are left: mended by a person before it can be kept
    cost_usd: float
    cost_pico: int
    model: str
    simulated: bool
    blocks: int  # that the model was shown
    runs: list[int]


@router.post("/v1/schemas/draft", dependencies=[requires(AccessRole.OPERATOR)])
async def post_draft(
    request: Request, engine: AskedEngine, asker: Asker, asked: DraftBody
) -> DraftAnswer:
    """Let a model draft a schema; the same wish about the same blocks is paid for once.

    A few are carried out at once; 429 says that the next one may be asked for later.
    """
    check_stated(asker, engine.settings, asked.model)
    over = None if asked.documents is None else [*map(DocumentId, asked.documents)]
    funds = DraftFunds(asked.max_cost_usd, asked.wallet, person=asker.name)
    drafted = await site_of(request).drafts.carry_out(
        engine, partial(draft_schema, engine, asked.wish, asked.model, over, funds)
    )
    return DraftAnswer.model_validate(drafted.as_json())
