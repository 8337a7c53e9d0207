"""Health: whether the server and its ledger answer."""

from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel

from quire.domain.version import VERSION
from quire.server.access import AskedEngine, Principal, find_principal

router = APIRouter(tags=["health"])


class HealthShape(BaseModel):
    """How the server is."""

    status: str
    version: str
    workers: int


class MeShape(BaseModel):
    """Who asks."""

    name: str
    role: str
    workspace: str
    local: bool


@router.get("/v1/health")
def get_health(engine: AskedEngine) -> HealthShape:
    """Say whether the ledger answers, and how many workers live."""
    return HealthShape(status="ok", version=VERSION, workers=engine.workers())


@router.get("/v1/me")
def get_me(principal: Annotated[Principal, Depends(find_principal)]) -> MeShape:
    """Say who asks, and what they may do."""
    role = principal.role.name.lower()
    return MeShape(
        name=principal.name, role=role, workspace=principal.workspace, local=principal.local
    )
