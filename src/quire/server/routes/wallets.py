"""Routes about wallets: money that runs may spend, in entries that are only ever added."""

from typing import Annotated

from fastapi import APIRouter, Path, Response
from pydantic import Field

from quire.engine.json_views.money_views import entry_json, wallet_json
from quire.server.access import AccessRole, AskedEngine, requires
from quire.server.json_answers import (
    FIRST,
    USUAL_ITEMS,
    AnswerShape,
    Body,
    Cursor,
    IdempotencyKey,
    Limit,
    Page,
    SignedDollars,
    answer_json,
    answer_page,
    answer_part,
    read_cursor,
)

router = APIRouter(tags=["money"])
Name = Annotated[str, Path(min_length=1, max_length=200)]


class WalletShape(AnswerShape):
    """A wallet, and what its runs have of it."""

    wallet: str = Field(examples=["team"])
    balance_usd: float
    balance_pico: int
    granted_usd: float  # to runs that go on
    used_usd: float


class WalletListShape(AnswerShape):
    """Every wallet."""

    items: list[WalletShape]
    next: str | None = None


class EntryShape(AnswerShape):
    """One change of a wallet."""

    entry: int
    kind: str
    amount_usd: float
    amount_pico: int
    key: str  # the same key again is the same entry
    note: str
    run: int | None
    at: str


class NewWallet(Body):
    """A wallet to be made."""

    name: str = Field(min_length=1, max_length=200, examples=["team"])


class CreditBody(Body):
    """Money that is paid in; below 0, taken out."""

    amount_usd: SignedDollars = Field(examples=[5])
    note: str = Field(default="", max_length=1000, examples=["for May"])


class TransferBody(CreditBody):
    """Money that is moved."""

    source: str = Field(max_length=200, examples=["team"])
    target: str = Field(max_length=200, examples=["spare"])


@router.get(
    "/v1/wallets", response_model=WalletListShape, dependencies=[requires(AccessRole.VIEWER)]
)
def list_wallets(
    engine: AskedEngine, cursor: Cursor = None, limit: Limit = USUAL_ITEMS
) -> Response:
    """List every wallet."""
    items = [wallet_json(wallet) for wallet in engine.wallets.list()]
    return answer_part(items, cursor, limit)


@router.post(
    "/v1/wallets",
    response_model=WalletShape,
    status_code=201,
    dependencies=[requires(AccessRole.ADMIN)],
)
def create_wallet(engine: AskedEngine, asked: NewWallet) -> Response:
    """Make a wallet; one of that name stays as it is."""
    engine.wallets.create(asked.name)
    return answer_json(wallet_json(engine.wallets.get(asked.name)), 201)


@router.get(
    "/v1/wallets/{name}/entries",
    response_model=Page[EntryShape],
    dependencies=[requires(AccessRole.VIEWER)],
)
def list_entries(
    engine: AskedEngine, name: Name, cursor: Cursor = None, limit: Limit = USUAL_ITEMS
) -> Response:
    """List the changes of a wallet, the newest first."""
    before = read_cursor(cursor, FIRST)
    found = engine.listings.wallet_entries(name, before, limit + 1)
    return answer_page(found, limit, lambda entry: entry.id, entry_json)


@router.post(
    "/v1/wallets/{name}/credit",
    response_model=EntryShape,
    dependencies=[requires(AccessRole.ADMIN)],
)
def credit_wallet(
    engine: AskedEngine, name: Name, asked: CreditBody, command: IdempotencyKey = None
) -> Response:
    """Pay money in; the same Idempotency-Key again is the same payment."""
    return answer_json(
        entry_json(engine.wallets.credit(name, asked.amount_usd, key=command, note=asked.note))
    )


@router.post(
    "/v1/wallets/transfer", response_model=EntryShape, dependencies=[requires(AccessRole.ADMIN)]
)
def transfer_money(
    engine: AskedEngine, asked: TransferBody, command: IdempotencyKey = None
) -> Response:
    """Move money from one wallet to another; the same key again is the same transfer."""
    moved = engine.wallets.transfer(
        asked.source, asked.target, asked.amount_usd, key=command, note=asked.note
    )
    return answer_json(entry_json(moved))
