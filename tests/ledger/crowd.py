"""Fills a ledger with a run in full swing: half its tasks done, with their calls and answers."""

from collections.abc import Iterator
from contextlib import contextmanager

from quire.ledger.ledger import Ledger
from tests.ledger.factories import Place, new_run
from tests.ledger.raw import Raw

PACK = 10  # tasks a request
FIRST = 1_000_000  # keys of what is filled in begin after this
NUMBERS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :count)"

BLOCKS = """
INSERT INTO blocks (id, workspace_id, document_id, block_index, block_type, locator, headings,
    content, content_hash, json_bytes)
SELECT :first + i, 'local', :document, i, 'paragraph', '{}', '[]',
    'Block number ' || CAST(i AS TEXT), HASH, 20 FROM n"""
TASKS = """
INSERT INTO tasks (id, workspace_id, run_id, stage_id, block_id, subject_hash, question_hash, state)
SELECT :first + i, 'local', :run, :stage, :first + i, HASH, HASH,
    CASE WHEN 2 * i <= :count THEN 'done' ELSE 'ready' END FROM n"""
REQUESTS = """
INSERT INTO requests (id, lane_id, kind, prefix_hash, payload_hash, render_version, tasks,
    content_bytes, max_output, reserve, state, sent)
SELECT :first + i, :lane, 'answer', (SELECT hash FROM prefixes), HASH, 1, :pack,
    200, 100, 1, 'closed', 1 FROM n"""
MEMBERS = """
INSERT INTO request_tasks (request_id, ordinal, task_id, wire_id, version, verdict)
SELECT :first + 1 + (i - 1) / :pack, i - :pack * ((i - 1) / :pack), :first + i, 'w', 1, 'accept'
FROM n"""
ATTEMPTS = """
INSERT INTO attempts (id, request_id, no, worker_id, state, provider, model, params, sent_at,
    ended_at, output_tokens, reserved)
SELECT :first + i, :first + i, 1, 1, 'settled', 'p', 'm', '{}', 0, 0, 100, 1 FROM n"""
RESPONSES = """
INSERT INTO responses (attempt_id, stop, codec, decoder_version, stored_at)
SELECT :first + i, 'end', 'plain', 1, 0 FROM n"""
RESULTS = """
INSERT INTO results (task_id, version, attempt_id, origin, gate_version, data, created_at, stage_id,
    review_rank)
SELECT :first + i, 1, :first + 1 + (i - 1) / :pack, 'model', '1', '{}', 0, :stage,
    CASE WHEN i - 10 * (i / 10) = 0 THEN 2 ELSE 6 END FROM n"""
QUESTIONS = """
INSERT INTO questions (question, content, stage_id, task_id)
SELECT 7, :first + i, :stage, :first + i FROM n"""

CONTENTS = """
INSERT INTO contents (number, block_id) SELECT :first + i, :first + i FROM n"""

DOCUMENTS = """
INSERT INTO documents (id, workspace_id, source_uid, source_type, source_filesize, source_locator,
    title, uploaded_at, conv_uid, conv_parsing_tool, conv_representation_type, conv_total_blocks,
    conv_block_type_freq, conv_total_characters)
SELECT :first + i, 'local', 'u' || CAST(i AS TEXT), 'md', 1, 'p' || CAST(i AS TEXT),
    'Paper ' || CAST(i AS TEXT), 0, 'u' || CAST(i AS TEXT), 't', 'r', 3, '{}', 9 FROM n"""
SOURCES = """
INSERT INTO sources (workspace_id, document_id, place, path, title, options, stamp, read_at)
SELECT 'local', :first + i, 'p' || CAST(i AS TEXT), 'p', 't', '{}', '', 0 FROM n"""
EVENTS = """
INSERT INTO events (workspace_id, run_id, at, kind, detail)
SELECT 'local', :run, 0, 'progress', '' FROM n"""
DECISIONS = """
INSERT INTO reviews (workspace_id, run_id, stage_id, task_id, move, who, at, before_review)
SELECT 'local', :run, :stage, :first + i, 'approve', 'ann', 0, 'none' FROM n"""
FAILED = "UPDATE tasks SET state = 'failed' WHERE state = 'ready'"


EARLIER_RUN = (
    "INSERT INTO runs (id, workspace_id, run_key, recipe, model, policy, state, created_at)"
    " SELECT -1, workspace_id, run_key, recipe, model, policy, state, 0 FROM runs",
    "INSERT INTO stages (id, run_id, name, state) VALUES (-1, -1, 'extract', 'open')",
    "INSERT INTO lanes (id, workspace_id, run_id, stage_id, model, route)"
    " VALUES (-1, 'local', -1, -1, 'simulated/small', 'direct')",
)


def fill_lists(ledger: Ledger, place: Place, count: int) -> None:
    """Add so many documents and events, and let what a run still owes have failed.

    As many calls of an earlier run stand before all of its own.
    """
    raw = Raw(ledger.url)
    for text in EARLIER_RUN:
        raw.rows(text)
    _insert(raw, REQUESTS, {"first": 0, "count": count, "lane": -1, "pack": 1})
    for text in (DOCUMENTS, SOURCES, EVENTS):
        _insert(raw, text, {"first": FIRST, "count": count, "run": place.run})
    raw.rows(FAILED)
    if raw.dialect == "postgres":
        raw.rows("VACUUM ANALYZE")
    raw.close()


def fill_decisions(ledger: Ledger, place: Place, count: int) -> None:
    """Add a decision about each of so many results."""
    raw = Raw(ledger.url)
    _insert(raw, DECISIONS, place._asdict() | {"first": FIRST, "count": count})
    raw.close()


def fill_ledger(ledger: Ledger, tasks: int) -> Place:
    """Make a run of so many tasks, the first half done; on PostgreSQL its statistics are fresh."""
    place, raw = new_run(ledger), Raw(ledger.url)
    raw.rows("DELETE FROM blocks")
    raw.rows(
        "INSERT INTO workers (id, host, pid, version, started_at, seen_at)"
        " VALUES (1, 'h', 1, '0', 0, 0)"
    )
    with ledger.transaction() as tx:
        tx.requests.add_prefix(b"prefix", "", {})
    values = place._asdict() | {"first": FIRST, "pack": PACK}
    answered = tasks // 2
    for text, count in (
        (BLOCKS, tasks),
        (TASKS, tasks),
        (REQUESTS, answered // PACK),
        (MEMBERS, answered),
        (ATTEMPTS, answered // PACK),
        (RESPONSES, answered // PACK),
        (RESULTS, answered),
        (QUESTIONS, tasks),
        (CONTENTS, tasks),
    ):
        _insert(raw, text, values | {"count": count})
    raw.rows("UPDATE stages SET state = 'open'")
    for state, count in (("done", answered), ("ready", tasks - answered)):
        raw.rows(
            "INSERT INTO tallies (stage_id, what, delta) VALUES (:stage, :state, :count)",
            stage=place.stage,
            state=state,
            count=count,
        )
    if raw.dialect == "postgres":
        _refresh(raw)
    raw.close()
    return place


@contextmanager
def put_held_runs_first(ledger: Ledger, runs: int) -> Iterator[None]:
    """Add held runs that come before any other in the order of lanes; take them away again."""
    raw = Raw(ledger.url)
    for table, columns, selected in (
        ("runs", "id, workspace_id, run_key, recipe, model, policy, state, created_at",
         "-i, workspace_id, run_key, recipe, model, policy, state, 0 FROM n, runs WHERE id > 0"),
        ("stages", "id, run_id, name, state", "-i, -i, 'extract', 'open' FROM n"),
        ("lanes", "id, workspace_id, run_id, stage_id, model, route",
         "-i, 'local', -i, -i, 'simulated/small', 'direct' FROM n"),
        ("holds", "run_id, kind, detail, since", "-i, 'user', 'paused', 0 FROM n"),
    ):  # fmt: skip
        text = f"INSERT INTO {table} ({columns}) SELECT {selected}"
        _insert(raw, text, {"count": runs})
    if raw.dialect == "postgres":
        raw.rows("ANALYZE runs, stages, lanes, holds")
    yield
    for table in ("holds", "lanes", "stages", "runs"):
        raw.rows(f"DELETE FROM {table} WHERE {'run_id' if table == 'holds' else 'id'} < 0")
    raw.close()


def _insert(raw: Raw, text: str, values: dict[str, object]) -> None:
    digest = raw.bytes_of("'s' || CAST(i AS TEXT)")
    raw.rows(f"{NUMBERS} {text.replace('HASH', digest)}", **values)


def _refresh(raw: Raw) -> None:
    for table in ("blocks", "tasks", "requests", "attempts", "results", "workers"):
        raw.rows(f"SELECT setval('{table}_id_seq', (SELECT max(id) FROM {table}))")
    raw.rows("VACUUM ANALYZE")
