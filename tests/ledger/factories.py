"""Makes what tests of the ledger start from: documents, runs, tasks, calls and answers."""

from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import NamedTuple

import orjson

from quire.domain.accounts import KEYLESS_ACCOUNT, CredentialId, KeySource
from quire.domain.documents import ParsedDocument
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
from quire.domain.requests import Answer, QueuedRequest, Reply, Stop
from quire.domain.sources import SourceReading
from quire.ledger.ledger import Ledger, Transaction
from quire.ledger.tables.credentials import NewCredential
from quire.ledger.tables.documents import NewBlock
from quire.pipeline.calls.claim import Outgoing, Sender, claim
from quire.pipeline.calls.prepare import prepare
from quire.pipeline.commands.corpus import add_blocks
from quire.pipeline.commands.start import Order, start
from quire.pipeline.contexts import Contexts
from quire.pipeline.stages.advance import advance
from quire.planning.first_calls import LEAST_UNHEARD
from quire.providers.catalog import find_model
from quire.recipes.policy_layers import resolve_policy
from quire.recipes.user_schemas import extraction_recipe

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


def parsed_document(name: str = "a.txt") -> ParsedDocument:
    """A source as it reaches the ledger, without its blocks."""
    uid = sha256(name.encode()).hexdigest()
    return ParsedDocument(
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
    parsed = parsed_document(name)
    document = tx.documents.add_document(parsed, NOW)
    tx.sources.add_source(document, parsed, SourceReading(place=parsed.source_locator), NOW)
    add_blocks(tx, document, [block(*content) for content in enumerate(contents)])
    tx.documents.set_document_counts(
        document, {"paragraph": len(contents)}, sum(map(len, contents))
    )
    return document


def new_run(
    ledger: Ledger, contents: Sequence[str] = ("one", "two", "three"), name: str = "a.txt"
) -> Place:
    """Start a run over one new document; nothing is owed yet."""
    with ledger.transaction() as tx:
        document = add_document(tx, contents, name)
        run = start_run(tx, document, name)
        stage = tx.runs.stages_of_run(run)[0].id
        return Place(run, stage, tx.requests.lanes_of_run(run)[0].id, document)


def start_run(tx: Transaction, document: DocumentId, name: str) -> RunId:
    """Start a run over a document that is here."""
    order = Order(
        recipe=extraction_recipe(SCHEMA, Params()),
        facts=find_model(MODEL),
        policy=resolve_policy([("flags", {"pack_size": 2})]),
        inputs=[(document, name)],
        new=True,
    )
    return start(tx, order, NOW).run_id


def expand_runs(ledger: Ledger) -> int:
    """Expand every running run by one chunk."""
    with ledger.transaction() as tx:
        return advance(tx, Contexts(), NOW).expanded


def run_with_ready_tasks(
    ledger: Ledger, contents: Sequence[str] = ("one", "two", "three"), name: str = "a.txt"
) -> Place:
    """A run whose tasks are ready."""
    place = new_run(ledger, contents, name)
    expand_runs(ledger)
    return place


def tasks_of(tx: Transaction, place: Place) -> list[TaskId]:
    """The run's tasks as an export sees them."""
    rows = tx.results.export_rows(place.run, place.stage)
    return [row.task_id for row in rows if row.task_id is not None]


def pack_tasks(tx: Transaction, place: Place) -> int:
    """Queue packs of two."""
    contexts = Contexts()
    context = contexts.any_of_stage(tx, place.run, place.stage)
    return prepare(tx, contexts, context, NOW)


def add_worker(tx: Transaction) -> WorkerId:
    """Somebody who sends."""
    return tx.workers.add_worker("here", 1, "0", NOW)


def claim_requests(tx: Transaction, place: Place, limit: int = 100) -> list[Outgoing]:
    """Claim by a worker of its own."""
    contexts = Contexts()
    context = contexts.any_of_stage(tx, place.run, place.stage)
    return claim(tx, contexts, context, Sender(add_worker(tx), KEYLESS_ACCOUNT), limit, NOW)


def claim_next(tx: Transaction, lane: LaneId, limit: int, now: datetime) -> list[QueuedRequest]:
    """Take the next requests of a lane as a claim does, and do nothing with them."""
    taken = tx.requests.sendable_requests(lane, limit, now)
    tx.requests.claim_requests(taken)
    return taken


def send_all(ledger: Ledger, contents: Sequence[str] = ("one",)) -> tuple[Place, list[AttemptId]]:
    """A run all of whose requests are out."""
    place = run_with_ready_tasks(ledger, contents)
    with ledger.transaction() as tx:
        pack_tasks(tx, place)
        sent = claim_requests(tx, place)
        while len(sent) % LEAST_UNHEARD == 0 and (more := claim_requests(tx, place)):
            sent += more  # first calls go a few at a time
        return place, [outgoing.call.attempt_id for outgoing in sent]


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
    added = tx.credentials.add_credential(
        NewCredential(provider, name, source, "tail", digest, sealed), NOW
    )
    assert added is not None
    return added


def request_of(tx: Transaction, attempt: AttemptId) -> RequestId:
    """The request that an attempt is a sending of."""
    return tx.attempts.attempts_by_id([attempt])[0].request_id
