"""A ledger from before reasons were values decides as it did: what logic reads is filled in."""

import re
from collections.abc import Iterator

import pytest

from quire.domain.ids import BatchId, TaskId
from quire.domain.reasons import BatchTrouble, EventKind, HoldCause, TaskErrorKind
from quire.domain.task_wording import shared_cause
from quire.ledger.ledger import Ledger, open_ledger
from quire.ledger.view_scripts import drop_views
from quire.pipeline.batches.reconcile import (
    mark_absent,
    mark_unknown,
    may_be_duplicate,
    note_duplicates,
)
from quire.pipeline.batches.submit import confirm_created, record_intent
from tests.ledger.factories import NOW, Place, run_with_ready_tasks, tasks_of
from tests.ledger.raw import Raw

BEFORE = 9  # the last version that had only sentences
ADDED = {
    "batches": ("absent_at", "duplicate_found_at", "trouble"),
    "holds": ("cause", "fields"),
    "events": ("fields",),
    "tasks": (
        *("error_kind", "error_stage", "error_task", "origin_id", "group_id"),
        *("compressing", "compression", "follows"),
    ),
    "blocks": ("content_id",),
    "requests": ("stray_ids", "most_input"),  # of a later version
    "request_tasks": ("gate_version",),
    "documents": ("aside", "result_id"),
    "credentials": ("accepted_at", "person"),
    "results": (
        *("notes", "reviewer", "reviewed_at"),
        *("stage_id", "review_rank", "review_reasons", "critic_score"),
    ),
    "runs": ("noted_progress", "noted_progress_at", "block_types", "started_by"),
    "lanes": ("given_up_at",),
    "workers": ("workspace_id",),
    "attempts": ("slice_id",),
    "limit_levels": ("learnt_rate",),
}
ADDED_TABLES = (
    "slices",
    "run_funds",
    "wallet_entries",
    "wallets",
    "outbox",
    "webhooks",
    "fallbacks",
    "extracts",
    "compressions",
    "pieces",
    "embeddings",
    "embedding_tasks",
    "stage_forecasts",
    "run_limits",
    "limit_profiles",
    "questions",
    "sources",
    "contents",
    "audit_marks",
    "audit_items",
    "audits",
    "review_leases",
    "reviews",
    "access_tokens",
    "policy_changes",
)  # later ones
ADDED_INDEXES = (
    "documents_result",
    "tasks_origin",
    "tasks_group",
    "tasks_compressing",
    "requests_assembled",
    "tasks_following",
    "tasks_follows",
    "results_rejected",
    "results_edited",
    "results_inbox",
    "results_superseded",
    "blocks_repeated",
    "documents_workspace",
    "documents_purged",
    "credentials_kept",
    "requests_lane",
    "results_scored",
)


class OldLedger:
    """A ledger that can be put back to the version before, and opened again."""

    def __init__(self, url: str) -> None:
        """Start with the newest version, in which it can be filled."""
        self.ledger = open_ledger(url, durable=False)
        self.raw = Raw(url)

    def upgrade(self) -> Ledger:
        """Forget what the migration adds, and let it run again."""
        self.ledger.close()
        for statement in drop_views():
            self.raw.rows(statement)
        for index in ADDED_INDEXES:
            self.raw.rows(f"DROP INDEX {index}")
        for table, columns in ADDED.items():
            for column in columns:
                self.raw.rows(f"ALTER TABLE {table} DROP COLUMN {column}")
        for table in ADDED_TABLES:
            self.raw.rows(f"DROP TABLE {table}")
        if self.raw.dialect == "sqlite":
            self.raw.rows(f"PRAGMA user_version = {BEFORE}")
        else:
            self.raw.rows("DELETE FROM quire_version WHERE version > :before", before=BEFORE)
        self.ledger = open_ledger(self.ledger.url, durable=False)
        return self.ledger

    def close(self) -> None:
        """Let go of it."""
        self.raw.close()
        self.ledger.close()


@pytest.fixture
def old(ledger_url: str) -> Iterator[OldLedger]:
    """A ledger on each database."""
    made = OldLedger(ledger_url)
    yield made
    made.close()


def _lose_batch(ledger: Ledger, batch: BatchId, nonce: str) -> None:
    with ledger.transaction() as tx:
        submitted = record_intent(tx, batch, None, nonce, NOW)
        assert submitted
        assert mark_unknown(tx, submitted, "nobody knows", NOW)


def _declare_absent(ledger: Ledger, batch: BatchId) -> None:
    with ledger.transaction() as tx:
        found = tx.batches.get_batch(batch)
        assert found
        assert mark_absent(tx, found, NOW)


def _is_suspect(ledger: Ledger, batch: BatchId) -> bool:
    with ledger.snapshot() as tx:
        found = tx.batches.get_batch(batch)
        assert found
        return may_be_duplicate(tx, found)


def _new_draft(ledger: Ledger, name: str = "a.txt") -> BatchId:
    place = run_with_ready_tasks(ledger, ["one"], name)
    with ledger.transaction() as tx:
        return tx.batches.add_batch(place.lane, NOW)


def test_an_unknown_batch_declared_absent_before_the_migration_is_still_suspect(
    old: OldLedger,
) -> None:
    batch, other = _new_draft(old.ledger), _new_draft(old.ledger, "b.txt")
    _lose_batch(old.ledger, batch, "qfirst")
    _declare_absent(old.ledger, batch)
    _lose_batch(old.ledger, batch, "qsecond")
    told = "SELECT detail FROM events WHERE kind = 'batch_absent'"
    assert old.raw.rows(told) == [(f"batch {batch} was never made",)]

    ledger = old.upgrade()

    assert _is_suspect(ledger, batch)
    assert not _is_suspect(ledger, other)


def test_a_batch_submitted_again_only_after_the_migration_is_suspect_too(old: OldLedger) -> None:
    batch = _new_draft(old.ledger)
    _lose_batch(old.ledger, batch, "qfirst")
    _declare_absent(old.ledger, batch)

    ledger = old.upgrade()
    assert not _is_suspect(ledger, batch)  # it has one name: nothing of it can be there twice

    _lose_batch(ledger, batch, "qsecond")
    assert _is_suspect(ledger, batch)


def test_a_batch_whose_double_was_found_before_the_migration_is_not_looked_for_again(
    old: OldLedger,
) -> None:
    batch = _new_draft(old.ledger)
    _lose_batch(old.ledger, batch, "qfirst")
    _declare_absent(old.ledger, batch)
    _lose_batch(old.ledger, batch, "qsecond")
    with old.ledger.transaction() as tx:
        found = tx.batches.get_batch(batch)
        assert found
        assert confirm_created(tx, found, "ref", NOW, NOW)
        note_duplicates(tx, found, ["other"], NOW)

    assert not _is_suspect(old.upgrade(), batch)


def test_a_batch_refused_and_submitted_again_is_not_suspect(old: OldLedger) -> None:
    batch = _new_draft(old.ledger)
    with old.ledger.transaction() as tx:
        tx.batches.note_submission(batch, "qfirst", None, NOW)
        tx.batches.note_submission(batch, "qsecond", None, NOW)

    assert not _is_suspect(old.upgrade(), batch)


def test_events_from_before_are_told_as_they_were(old: OldLedger) -> None:
    place = run_with_ready_tasks(old.ledger, ["one"])
    with old.ledger.snapshot() as tx:
        before = [event[:3] for event in tx.events.events_of_run(place.run)]

    with old.upgrade().transaction() as tx:
        tx.events.add_event(place.run, EventKind.BATCH_ABSENT, NOW, batch=3)
        *events, last = tx.events.events_of_run(place.run)

    assert [event[:3] for event in events] == before
    assert not any(event.fields for event in events)
    assert (last.detail, last.fields) == ("batch 3 was never made", {"batch": 3})


OLD_HOLDS = [  # as they were written before, with what they are taken for
    ("user", "paused; `quire resume 1` goes on", HoldCause.PAUSED),
    ("stop_after", "stopped after extract, as asked; `quire resume 1` goes on", "stop_after"),
    ("failures", "11 of the first 50 tasks failed; see `quire failures 1`, then"
        " `quire resume 1` to pay for the rest anyway", HoldCause.EARLY_FAILURES),
    ("failures", "2 failed in extract, and the run is to be exact: `quire failures 1`,"
        " then `quire retry 1` or `quire waive TASK`", HoldCause.EXACT_FAILURES),
    ("credential", "no key; then the same command, or `quire resume 1`", HoldCause.NO_KEY),
    ("credential", "no such model; mend that; then `quire resume 1`", HoldCause.CALL_REFUSED),
    ("credential", "no such model", None),  # without a command: its kind must do
    ("credential", "batch 3: no key; then `quire resume 1`", HoldCause.BATCH_KEY_MISSING),
    ("credential", "batch 3: gone; mend that, then `quire resume 1`; if it is gone for good:"
        " `quire batches adopt 3 --absent`", HoldCause.BATCH_UNREACHABLE),
    ("refused", "the provider refused batch 3: no; mend that, then `quire resume 1`, or"
        " `quire run` the same with --route direct", HoldCause.BATCH_REFUSED),
    ("unknown_submit", "nobody knows whether batch 3 was made", HoldCause.BATCH_UNKNOWN),
    ("unknown_submit", "what was found as batch 3 is another's", HoldCause.BATCH_FOREIGN),
    ("plugin", "no gate 'x', start the workers again, then `quire resume 1`", HoldCause.PLUGIN),
    ("undecodable", "what; `quire retry 1` asks, and pays, again", HoldCause.ANSWER_UNREADABLE),
    ("undecodable", "batch 3 has calls without a row, and 2 lines that nobody can read;"
        " `quire retry 1` asks, and pays, again", HoldCause.LINES_UNREADABLE),
]  # fmt: skip


def test_holds_from_before_have_their_causes(old: OldLedger) -> None:
    runs = [run_with_ready_tasks(old.ledger, ["one"], str(number)).run for number in range(15)]
    told = [
        (kind, re.sub(r"`quire (\w+) 1\b", rf"`quire \g<1> {run}", detail), cause)
        for run, (kind, detail, cause) in zip(runs, OLD_HOLDS, strict=True)
    ]
    for run, (kind, detail, _) in zip(runs, told, strict=True):
        old.raw.rows(
            "INSERT INTO holds (run_id, kind, detail, since) VALUES (:run, :kind, :detail, 1)",
            run=run,
            kind=kind,
            detail=detail,
        )

    with old.upgrade().snapshot() as tx:
        holds = [hold for run in runs for hold in tx.holds.holds_of_run(run)]

    assert [(hold.kind, hold.detail, hold.cause) for hold in holds] == told
    fields = [{"stage": "extract"} if kind == "stop_after" else {} for kind, _, _ in told]
    assert [hold.fields for hold in holds] == fields


def _insert(raw: Raw, table: str, **values: object) -> None:
    names = ", ".join(values)
    raw.rows(f"INSERT INTO {table} ({names}) VALUES (:{', :'.join(values)})", **values)


def _add_critic(raw: Raw, place: Place, judged: TaskId) -> None:
    _insert(raw, "stages", run_id=place.run, name="taste", state="open")
    critic = raw.one("SELECT id FROM stages WHERE name = 'taste'")
    _insert(raw, "results", task_id=judged, version=1, origin="model", gate_version="1",
            created_at=1)  # fmt: skip
    result = raw.one("SELECT id FROM results")
    _insert(raw, "tasks", workspace_id="local", run_id=place.run, stage_id=critic,
            subject_hash=b"s", question_hash=b"q", state="done",
            judged_result_id=result)  # fmt: skip


def test_what_blocks_and_who_objected_is_known_of_tasks_from_before(old: OldLedger) -> None:
    place = run_with_ready_tasks(old.ledger, ["one", "two", "three", "four"])
    with old.ledger.snapshot() as tx:
        first, second, third, fourth = tasks_of(tx, place)
    _add_critic(old.raw, place, first)
    for task, state, error, read in (
        (first, "failed", "taste: too sour", None),
        (second, "blocked", f"task {first} of extract, which it reads, came to nothing", first),
        (third, "blocked", f"task {second}, which it reads, is blocked", second),
        (fourth, "failed", "tastes: of nothing", None),
    ):
        old.raw.rows(
            "UPDATE tasks SET state = :state, error = :error WHERE id = :id",
            state=state,
            error=error,
            id=task,
        )
        if read:
            _insert(old.raw, "task_inputs", task_id=task, ordinal=0, input_task_id=read)

    ledger = old.upgrade()

    kinds = old.raw.rows(
        "SELECT error_kind, error_stage, error_task FROM tasks WHERE stage_id = :stage ORDER BY id",
        stage=place.stage,
    )
    assert kinds == [
        (TaskErrorKind.CRITIC_OBJECTED, "taste", None),
        (TaskErrorKind.BLOCKED, "extract", first),
        (TaskErrorKind.BLOCKED, "extract", second),
        (None, None, None),
    ]
    with ledger.snapshot() as tx:
        blocked = tx.tasks.blocked_tasks_of_stage(place.stage, 10)
        failed = tx.tasks.failures_of_stage(place.stage, 10)
    assert [failure.error_task for failure in blocked] == [first, second]
    causes = [shared_cause(task.error_kind, task.error_stage, task.error) for task in failed]
    assert causes == ["taste objected", "tastes: of nothing"]


OLD_PROBLEMS = {  # of batches, as they were written before
    "": BatchTrouble.NONE,
    "a person must look": BatchTrouble.NEEDS_PERSON,
    "its key is missing": BatchTrouble.KEY_MISSING,
    "not found yet; it may still show": BatchTrouble.NOT_FOUND_YET,
    "500 broken": BatchTrouble.PROVIDER_SAID,
}


def test_batches_from_before_that_are_in_trouble_are_not_waited_for(old: OldLedger) -> None:
    for number, problem in enumerate(OLD_PROBLEMS):
        batch = _new_draft(old.ledger, str(number))
        _lose_batch(old.ledger, batch, f"q{number}")
        old.raw.rows(
            "UPDATE batches SET problem = :problem WHERE id = :id", problem=problem, id=batch
        )
    old.raw.rows("UPDATE runs SET state = 'finished', ended_at = 1")

    ledger = old.upgrade()

    found = old.raw.rows("SELECT problem, trouble FROM batches ORDER BY id")
    assert [tuple(row) for row in found] == list(OLD_PROBLEMS.items())
    with ledger.snapshot() as tx:
        waited_for = tx.views.count_uncollected_of_ended_runs()
    assert waited_for == 1  # the one without a problem
