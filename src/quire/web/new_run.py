"""The page of a new run: documents, a question and a plan, all three in sight."""

import json
from collections.abc import Sequence
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse

from quire.domain.ids import DocumentId
from quire.domain.pricing import MOST_DOLLARS, to_usd
from quire.engine import Engine
from quire.engine.model_list import read_model_list
from quire.engine.recipe_list import RecipeList
from quire.server.access import AccessRole, AskedEngine, Principal, find_principal
from quire.server.json_answers import FIRST
from quire.web.pages import render

router = APIRouter()
FREE_MODEL = "simulated/small"  # where there is no key
LISTED = 50  # documents to choose from, the newest
MOST_COUNTED = 10_000  # documents in use; beyond that it is "more than"
PEEKED = 3  # blocks that are shown
SHOWN = 600  # characters of each
BLANK: dict[str, object] = {
    "title": "record",
    "type": "object",
    "additionalProperties": False,
    "required": ["summary"],
    "properties": {"summary": {"type": "string", "description": "The block in one sentence."}},
}


class UsualDocuments(NamedTuple):
    """What a run is about that says nothing of it."""

    documents: int
    blocks: int
    more: bool  # there are others that were not counted


class ModelChoice(NamedTuple):
    """A model that can be asked."""

    name: str
    note: str


@router.get("/new")
def new_run(
    request: Request,
    principal: Annotated[Principal, Depends(find_principal)],
    engine: AskedEngine,
    documents: Annotated[str, Query(max_length=4000)] = "",
) -> HTMLResponse:
    """Show the three steps; the address says what was chosen, the script does the rest."""
    chosen = [int(part) for part in documents.split(",") if part.isdecimal() and len(part) < 16]
    keys = len(engine.keys.listing().keys)
    return render(
        request,
        "new.html",
        principal,
        usual=_count_usual(engine),
        listed=_list_documents(engine, chosen),
        chosen=chosen,
        schemas=_newest_schemas(engine),
        recipes=RecipeList(engine.registry).lines(),
        models=_models(),
        default_model=engine.settings.model or ("" if keys else FREE_MODEL),
        usual_funds=_usual_funds(engine),
        wallets=[wallet.name for wallet in engine.wallets.list()],
        blank=json.dumps(BLANK, indent=2),
        peeked=PEEKED,
        shown=SHOWN,
        most_dollars=MOST_DOLLARS,
        may_start=principal.role >= AccessRole.OPERATOR,
        keys=keys,
    )


def _usual_funds(engine: Engine) -> dict[str, str]:
    """What the workspace lets a run spend that says nothing of it; empty: it decided nothing."""
    funds = engine.workspace_policy.usual_funds()
    amount = 0.0 if funds.budget is None else to_usd(funds.budget)
    budget = f"{amount:.12f}".rstrip("0").rstrip(".") if amount else ""
    return {"wallet": funds.wallet or "", "budget": budget}


def _count_usual(engine: Engine) -> UsualDocuments:
    documents, blocks = engine.listings.count_usual(MOST_COUNTED + 1)
    return UsualDocuments(documents, blocks, more=documents > MOST_COUNTED)


def _list_documents(engine: Engine, chosen: Sequence[int]) -> list[dict[str, object]]:
    """Those that were chosen, and the newest of those that runs are usually about."""
    newest = [item.as_json() for item in engine.listings.documents(FIRST, LISTED)]
    shown = {item["id"] for item in newest}
    with engine.ledger.snapshot() as tx:
        wanted = [DocumentId(number) for number in chosen if number not in shown]
        there = sorted(tx.documents.documents_by_id(wanted)) if wanted else []
    more = [engine.listings.document(number).as_json() for number in there]
    return [item for item in (*more, *newest) if not item["use"] or item["id"] in chosen]


def _newest_schemas(engine: Engine) -> list[str]:
    return sorted({schema.ref for schema in engine.schemas()})


def _models() -> list[ModelChoice]:
    known = read_model_list().known
    return [ModelChoice(name, facts.note) for name, facts in known.items() if not facts.embeds]
