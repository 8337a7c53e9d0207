"""Runs to review: documents that are asked about by the simulated model, and who asks a site."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fastapi import FastAPI
from fastapi.testclient import TestClient

from quire.domain.data import Json
from quire.engine import Engine, open_engine
from quire.server.access import AccessRole
from quire.server.site import Site

CLAUSE: Mapping[str, Json] = {
    "title": "clause",
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "kind": {"type": "string", "enum": ["payment", "duration", "other"]},
        "headline": {"type": "string", "maxLength": 80, "description": "In one short line."},
        "party": {"type": ["string", "null"]},
        "terms": {"type": "array", "items": {"type": "string"}, "maxItems": 5},
        "words": {"type": "integer", "minimum": 0},
        "asks": {"type": "boolean"},
    },
    "required": ["kind", "headline", "party", "terms", "words", "asks"],
}


def open_ledger_of(folder: Path) -> Engine:
    """An engine on the ledger that the site of a folder serves."""
    return open_engine(str(folder / "quire.db"), environment={})


def answer_texts(
    folder: Path,
    texts: Sequence[str],
    schema: Mapping[str, Json] = CLAUSE,
    name: str = "lease.txt",
) -> list[int]:
    """Have a schema asked about every text; the tasks of the run, in order."""
    (folder / name).write_text("\n\n".join(texts) + "\n")
    (folder / "clause.json").write_text(json.dumps(schema))
    with open_ledger_of(folder) as engine:
        over = engine.ingest(folder / name)
        run = engine.run(over=over, schema=folder / "clause.json", model="simulated/small")
        run.wait()
        return [line.task_id for line in engine.review.inbox(run.id, limit=500).lines]


def clauses(count: int) -> list[str]:
    """As many texts, each with its number in it."""
    return [f"The Tenant of house {number} pays ${number}00 on 1 May." for number in range(count)]


def sign_in(client: TestClient, name: str, role: AccessRole) -> None:
    """Let the client's requests come with a token of somebody, to a site that asks for one."""
    app = client.app
    assert isinstance(app, FastAPI)
    site: Site = app.state.site
    made = site.engine(site.settings.workspace).access_tokens.create(name, role.name.lower())
    site.settings = replace(site.settings, local=False)
    client.headers["Authorization"] = f"Bearer {made.token}"


def record_of(engine: Engine, task: int) -> dict[str, Json]:
    """The data of a result."""
    data = engine.review.item(task).data
    assert isinstance(data, dict)
    return data
