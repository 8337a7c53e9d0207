"""Ids in an answer that nobody asked for, or that came twice, are kept with their request."""

import json
from collections.abc import Callable

from quire.domain.gates import NO_STRAYS, StrayIds
from quire.domain.ids import RequestId
from quire.engine import RunHandle
from quire.ledger.ledger import open_ledger
from quire.ledger.statements import migrations
from tests.ledger.raw import Raw
from tests.pipeline.scripted_model import let_model_say
from tests.world import METADATA, World

Worlds = Callable[..., World]
FIELDS = {"word_count": 1, "first_40_chars": "", "has_question": False}


def answer_oddly(user: str) -> str:
    """Answer every block, the first one twice, and one that was never asked about."""
    asked = [block["block_uid"] for block in json.loads(user.rsplit("\n", 1)[-1])["blocks"]]
    return json.dumps({"results": [{"block_uid": u, **FIELDS} for u in [asked[0], *asked, "zz"]]})


def run_oddly(here: World) -> tuple[RunHandle, str]:
    """A run of one call with strange ids in its answer, and the id that came twice."""
    here.ingest(["One.", "Two."])
    let_model_say(here, answer_oddly)
    run = here.engine.run(schema=METADATA, model="simulated/small")
    run.wait()
    raw = Raw(here.url)
    twice: str = raw.one("SELECT wire_id FROM request_tasks WHERE ordinal = 1")
    raw.close()
    return run, twice


def test_stray_ids_are_stored_with_the_request_and_shown(world: Worlds) -> None:
    here = world()

    run, twice = run_oddly(here)

    strays = StrayIds(("zz",), (twice,), 1)
    (line,) = here.engine.queries.requests(run.id)
    assert (line.stray_ids, line.document) == (strays, "doc")
    assert line.sent_at is not None
    exchange = here.engine.queries.exchange(line.id)
    assert exchange.request.stray_ids == strays
    task = exchange.members[0].task_id
    assert here.engine.queries.prompt(task).stray_ids == strays
    assert run.progress().done == 2


def test_a_ledger_from_before_has_none(world: Worlds) -> None:
    here = world()
    run, _ = run_oddly(here)
    raw = Raw(here.url)
    raw.rows("ALTER TABLE requests DROP COLUMN stray_ids")
    raw.rows(migrations(raw.dialect)[12])
    raw.close()

    ledger = open_ledger(here.url, durable=False)

    with ledger.snapshot() as tx:
        (line,) = tx.views.list_requests(run.id, 0, 10)
        request = tx.views.get_request(RequestId(line.id))
    ledger.close()
    assert line.stray_ids == NO_STRAYS
    assert request is not None
    assert request.stray_ids == NO_STRAYS
