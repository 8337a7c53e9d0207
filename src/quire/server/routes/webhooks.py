"""Routes about webhooks: addresses that are told what happens to runs."""

from datetime import datetime

from fastapi import APIRouter, Response
from pydantic import Field

from quire.domain.notifications import Notification
from quire.engine.json_views.webhook_views import webhook_json
from quire.server.access import AccessRole, AskedEngine, requires
from quire.server.json_answers import (
    LARGEST,
    USUAL_ITEMS,
    AnswerShape,
    Body,
    Cursor,
    Limit,
    Number,
    answer_json,
    answer_part,
)

router = APIRouter(tags=["settings"], dependencies=[requires(AccessRole.ADMIN)])


class WebhookShape(AnswerShape):
    """A webhook, without its secret."""

    id: int = Field(description="The number of the webhook.")
    url: str
    notifications: list[Notification] = Field(description="What it is told; empty: everything.")
    run_id: int | None = Field(description="Of which run it is told; null: of every one.")
    created_at: datetime
    delivered: int = Field(description="How often it was told something.")
    delivered_at: datetime | None = Field(description="The last time.")
    failures: int = Field(description="Failed deliveries since.")
    problem: str = Field(description="Of the last failure; empty: none.")
    next_at: datetime = Field(description="When it is tried again.")
    waiting: int = Field(description="What it is still to be told.")
    given_up: int = Field(description="What it was never told.")


class WebhookListShape(AnswerShape):
    """Every webhook, the oldest first."""

    items: list[WebhookShape]
    next: str | None = None


class NewWebhookBody(Body):
    """An address to be told."""

    url: str = Field(max_length=2000, examples=["https://example.com/quire"])
    events: list[str] = Field(default=[], max_length=50, examples=[["completed", "failed"]])
    run: int | None = Field(default=None, ge=1, le=LARGEST)


class AddedWebhookShape(AnswerShape):
    """A new webhook, with the secret that signs what it is told: it is shown this once."""

    webhook: int
    url: str
    secret: str = Field(description="What signs what it is told.")


class RemovedWebhookShape(AnswerShape):
    """A webhook that is told nothing more."""

    webhook: int
    dropped: int = Field(description="What waited for it, and is told no more.")


@router.get("/v1/webhooks", response_model=WebhookListShape)
def list_webhooks(
    engine: AskedEngine, cursor: Cursor = None, limit: Limit = USUAL_ITEMS
) -> Response:
    """List the webhooks, with what waits for them and what went wrong."""
    items = [webhook_json(webhook) for webhook in engine.webhooks.list()]
    return answer_part(items, cursor, limit)


@router.post("/v1/webhooks", response_model=AddedWebhookShape, status_code=201)
def add_webhook(engine: AskedEngine, asked: NewWebhookBody) -> Response:
    """Tell an address what happens; the secret that signs it is told this once."""
    added = engine.webhooks.add(asked.url, asked.events, asked.run)
    return answer_json({"webhook": added.id, "url": asked.url, "secret": added.secret}, 201)


@router.delete("/v1/webhooks/{webhook}", response_model=RemovedWebhookShape)
def remove_webhook(engine: AskedEngine, webhook: Number) -> Response:
    """Tell an address nothing more; what waits for it is dropped."""
    removed = engine.webhooks.remove(webhook)
    return answer_json({"webhook": webhook, "dropped": removed.waiting})
