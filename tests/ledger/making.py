"""Makes what tests of the ledger start from: documents, runs, tasks, calls and answers."""

from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import NamedTuple

import orjson

from quire.domain.accounts import NOBODY, CredentialId, KeySource
from quire.domain.documents import Parsed
from quire.domain.ids import (
    AttemptId,
    DocumentId,
    LaneId,
    RequestId,
    RunId,
    StageId,
    TaskId,
    WorkerId,
    fingerprint,
)
from quire.domain.models import Params, Usage
from quire.domain.recipes import Schema
from quire.domain.requests import Answer, Queued, Reply, Stop
from quire.ledger.ledger import Ledger, Transaction
from quire.ledger.tables.credentials import NewCredential
from quire.ledger.tables.documents import NewBlock
from quire.pipeline.advance import advance
from quire.pipeline.claim import Outgoing, Sender, claim
from quire.pipeline.contexts import Contexts
from quire.pipeline.prepare import prepare
from quire.pipeline.start import Order, start
from quire.providers.catalog import find_model
from quire.recipes.extracting import extract
from quire.recipes.policies import resolve

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
MODEL = "simulated/small"
SCHEMA = Schema(
    ref="counts",
    uid="c0ffee",
    body={"type": "object", "properties": {"word_count": {"type": "integer"}}},
)


class Place(NamedTuple):
    """Where the tasks of a run of one stage are."""

    run: RunId
    stage: StageId
    lane: LaneId
    document: DocumentId


def parsed(name: str = "a.txt") -> Parsed:
    """A source as it reaches the ledger, without its blocks."""
    uid = sha256(name.encode()).hexdigest()
    return Parsed(
        source_uid=uid,
        source_type="txt",
        source_filesize=10,
        source_total_characters=10,
        source_locator=f"/somewhere/{name}",
        title=name,
        conv_uid=uid[::-1],
        parsing_tool="test/1",
        representation_type="blocks",
        blocks=(),
    )


def block(index: int, content: str) -> NewBlock:
    """A paragraph as it reaches the ledger."""
    size = len(orjson.dumps(content))
    digest = fingerprint("paragraph", content)
    return NewBlock(index, "paragraph", '{"type":"text"}', "[]", content, digest, size)


def add_document(tx: Transaction, contents: Sequence[str], name: str = "a.txt") -> DocumentId:
    """Add a document of paragraphs."""
    document = tx.documents.add(parsed(name), NOW)
    tx.documents.add_blocks(document, [block(*each) for each in enumerate(contents)])
    tx.documents.set_counts(document, {"paragraph": len(contents)}, sum(map(len, contents)))
    return document


def begin(
    ledger: Ledger, contents: Sequence[str] = ("one", "two", "three"), name: str = "a.txt"
) -> Place:
    """Start a run over one new document; nothing is owed yet."""
    with ledger.transaction() as tx:
        document = add_document(tx, contents, name)
        run = start_run(tx, document, name)
        stage = tx.runs.stages(run)[0].id
        return Place(run, stage, tx.requests.lanes_of_run(run)[0].id, document)


def start_run(tx: Transaction, document: DocumentId, name: str) -> RunId:
    """Start a run over a document that is here."""
    order = Order(
        recipe=extract(SCHEMA, Params()),
        facts=find_model(MODEL),
        policy=resolve([("flags", {"pack_size": 2})]),
        inputs=[(document, name)],
        new=True,
    )
    return start(tx, order, NOW).run_id


def owe(ledger: Ledger) -> int:
    """Expand every running run by one chunk."""
    with ledger.transaction() as tx:
        return advance(tx, Contexts(), NOW).expanded


def owing(
    ledger: Ledger, contents: Sequence[str] = ("one", "two", "three"), name: str = "a.txt"
) -> Place:
    """A run whose tasks are ready."""
    place = begin(ledger, contents, name)
    owe(ledger)
    return place


def tasks_of(tx: Transaction, place: Place) -> list[TaskId]:
    """The run's tasks as an export sees them."""
    rows = tx.results.export(place.run, place.stage)
    return [row.task_id for row in rows if row.task_id is not None]


def pack(tx: Transaction, place: Place) -> int:
    """Queue packs of two."""
    contexts = Contexts()
    context = contexts.any_of_stage(tx, place.run, place.stage)
    return prepare(tx, contexts, context, NOW)


def add_worker(tx: Transaction) -> WorkerId:
    """Somebody who sends."""
    return tx.workers.add("here", 1, "0", NOW)


def take(tx: Transaction, place: Place, limit: int = 100) -> list[Outgoing]:
    """Claim by a worker of its own."""
    contexts = Contexts()
    context = contexts.any_of_stage(tx, place.run, place.stage)
    return claim(tx, contexts, context, Sender(add_worker(tx), NOBODY), limit, NOW)


def take_next(tx: Transaction, lane: LaneId, limit: int, now: datetime) -> list[Queued]:
    """Take the next requests of a lane as a claim does, and do nothing with them."""
    taken = tx.requests.next(lane, limit, now)
    tx.requests.claim(taken)
    return taken


def sent(ledger: Ledger, contents: Sequence[str] = ("one",)) -> tuple[Place, list[AttemptId]]:
    """A run all of whose requests are out."""
    place = owing(ledger, contents)
    with ledger.transaction() as tx:
        pack(tx, place)
        return place, [each.call.attempt_id for each in take(tx, place)]


def reply(text: str = "{}", *, stop: Stop = Stop.END, reasoning: str = "") -> Reply:
    """What a model says."""
    return Reply(text=text, stop=stop, usage=Usage(input=3, output=2), reasoning=reasoning)


def answer(
    place: Place, attempt: AttemptId, raw: bytes = b"{}", said: Reply | None = None
) -> Answer:
    """What came back for an attempt; without a reply the decoder could not read it."""
    problem = "" if said else "unreadable"
    return Answer(attempt, place.run, place.stage, raw, said, 1, 7, problem)


def add_credential(
    tx: Transaction,
    name: str = "work",
    digest: bytes = b"12345678",
    *,
    provider: str = "openai",
    sealed: bytes | None = b"sealed",
) -> CredentialId:
    """A key in the ledger; without anything sealed, one of the environment."""
    source = KeySource.ENVIRONMENT if sealed is None else KeySource.STORED
    added = tx.credentials.add(NewCredential(provider, name, source, "tail", digest, sealed), NOW)
    assert added is not None
    return added


def request_of(tx: Transaction, attempt: AttemptId) -> RequestId:
    """The request that an attempt is a sending of."""
    return tx.attempts.by_id([attempt])[0].request_id
