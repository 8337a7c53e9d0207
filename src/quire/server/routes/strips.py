"""Strips: how the packs of a run stand, made once for all who look."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import BaseModel, ConfigDict

from quire.engine import Engine
from quire.engine.pack_strips import PackStrip
from quire.server.access import AskedEngine, Principal, find_principal, site_of

router = APIRouter(tags=["runs"])


class StripCellShape(BaseModel):
    """Packs that follow each other: one, or of a large run many."""

    packs: int
    request: int  # the first of them
    stage: str
    model: str
    tasks: int
    sent: int
    cost_usd: float
    states: dict[str, int]  # packs by state: done, failed, again, out, waiting


class StripShape(BaseModel):
    """The packs of a run, in the order of what they ask about."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "run": 3,
                "packs": 1,
                "to_come": 4,
                "cells": 5,
                "counts": {"done": 1, "failed": 0, "again": 0, "out": 0, "waiting": 0},
                "bins": [
                    {
                        "packs": 1,
                        "request": 1,
                        "stage": "extract",
                        "model": "simulated/small",
                        "tasks": 10,
                        "sent": 1,
                        "cost_usd": 0.0013,
                        "states": {"done": 1},
                    }
                ],
                "last_event": 7,
                "ended": False,
            }
        }
    )

    run: int
    packs: int
    to_come: int  # packs that are not made yet, about
    cells: int  # that a drawing of it has, with those that are to come
    counts: dict[str, int]
    bins: list[StripCellShape]
    last_event: int
    ended: bool


def shared_strip(
    request: Request, engine: Engine, workspace: str, run: int, stage: str | None
) -> PackStrip:
    """A strip as it was made at most a moment ago, for whoever asks."""

    def still_holds(strip: PackStrip) -> bool:
        return strip.ended and strip.last_event == engine.pack_strips.last_event(run)

    asked = ("strip", workspace, run, stage)
    return (
        site_of(request)
        .recall(engine)
        .get(asked, lambda: engine.pack_strips.make(run, stage), still_holds)
    )


@router.get("/v1/runs/{run}/strip", response_model=StripShape)
def get_strip(
    request: Request,
    engine: AskedEngine,
    principal: Annotated[Principal, Depends(find_principal)],
    run: Annotated[int, Path(ge=1, le=2**63 - 1)],
    stage: Annotated[str | None, Query(max_length=200)] = None,
) -> dict[str, object]:
    """Say how the packs of a run stand, in order; of a large run many to a bin."""
    return shared_strip(request, engine, principal.workspace, run, stage).as_json()
