"""The statements that run all the time find their rows by an index, however many there are."""

import json
import re
from collections.abc import Iterator

import pytest

from quire.ledger.ledger import open_ledger
from quire.ledger.postgres import PLANNER_SETTINGS
from quire.ledger.statements import load
from tests.ledger.crowd import FIRST, fill_ledger
from tests.ledger.factories import Place
from tests.ledger.raw import Raw
from tests.postgres import Databases

TASKS = 20_000
LARGE = (
    *("tasks", "requests", "attempts", "blocks", "request_tasks", "responses", "results"),
    *("questions", "contents"),
)
SMALL = ("lanes", "runs", "tallies", "workers")  # here; PostgreSQL rightly reads such a table whole

WHOLE_STAGE = re.compile(  # the index that keeps subjects apart, used to read all of a stage
    r"sqlite_autoindex_tasks_1 \(stage_id=\?\)|using tasks_stage_id_subject_hash_key"
)
WHOLE_WORKSPACE = re.compile(r"SEARCH (b|blocks) USING [A-Z ]*INDEX \w+ \(workspace_id=\?\)")

# What each statement is asked, and the index by which it should find its rows.
ASKED: dict[str, tuple[dict[str, object], str]] = {
    "ready_tasks": ({"stage": 1, "limit": 400}, "tasks_ready"),
    "sendable_requests": ({"lane": 1, "limit": 16, "now": 1}, "requests_queued"),
    "answered_attempts": ({"limit": 256}, "attempts_answered"),
    "open_lanes": ({"now": 1}, "runs_running"),
    "count_queued_in_lane": ({"lane": 1, "limit": 16}, "requests_queued"),
    "unsent_packs": ({"ids": [FIRST + 1, FIRST + 2]}, ""),
    "unsent_requests": ({"lane": 1}, "requests_queued"),
    "outdated_requests": ({"lane": 1, "version": 1}, "requests_queued"),
    "silent_workers": ({"before": 1}, "workers_alive"),
    "unknown_attempts": ({"before": 1, "limit": 1000}, "attempts_unknown"),
    "open_attempts_of_workers": ({"workers": [1]}, "attempts_open"),
    "output_samples": ({"lane": 1, "limit": 200, "refusals": 1}, "requests_closed"),
    "subjects_after": ({"run": 1, "ordinal": 0, "index": 9999, "limit": 500}, ""),
    "sampled_subjects_after": ({"run": 1, "ordinal": 0, "index": 9999, "limit": 500}, ""),
    "take_members": ({"ids": [FIRST + 1, FIRST + 2]}, ""),
    "count_sendable_members": ({"ids": [FIRST + 1, FIRST + 2], "most": 12}, ""),
    "member_contents": ({"ids": [FIRST + 1, FIRST + 2]}, ""),
    "tasks_carried_elsewhere": (
        {"tasks": [FIRST + 1], "requests": [FIRST + 1]},
        "request_tasks_task",
    ),
    "move_tasks": ({"ids": [FIRST + 1], "source": "done", "target": "done"}, ""),
    "move_task_group": (
        {"stage": 1, "ids": [FIRST + 1], "source": "done", "target": "done", "calls": 1},
        "",
    ),
    "claim_requests": ({"ids": [FIRST + 1], "source": "queued", "target": "out"}, ""),
    "count_open_attempts": ({"ids": [FIRST + 1]}, ""),
    "attempts_by_id": ({"ids": [FIRST + 1]}, ""),
    "queued_requests_of_run": ({"run": 1, "limit": 100}, "requests_queued"),
    "next_lane_moment": ({"run": 1}, "requests_queued"),
    "move_requests": ({"ids": [FIRST + 1], "source": "out", "target": "closed"}, ""),
    "move_attempts": ({"ids": [FIRST + 1], "source": "open", "target": "answered"}, ""),
    "failures_of_stage": ({"stage": 1, "limit": 50}, "tasks_failed"),
    "get_task": ({"id": FIRST + 1}, ""),
    "get_request": ({"id": FIRST + 1}, ""),
    "attempts_of_request": ({"id": FIRST + 1}, ""),
    "undecoded_responses": ({}, "attempts_answered"),
    "tallies_of_stage": ({"stage": 1}, "tallies_stage"),
    "crowded_stages": ({"limit": 200}, "tallies_stage"),
    "tasks_of_documents": ({"stage": 1, "documents": [1]}, "tasks_document"),
    "tasks_of_blocks": ({"stage": 1, "blocks": [FIRST + 1]}, "tasks_block"),
    "block_tasks_of_documents": ({"stage": 1, "documents": [2]}, "tasks_block"),
    "lineages_of_stage": ({"stage": 1, "key": 1, "limit": 500}, "tasks_origin"),
    "groups_of_stage": ({"stage": 1, "key": 1, "limit": 500}, "tasks_group"),
    "tasks_of_lineages": ({"stage": 1, "origins": [FIRST + 1, FIRST + 2]}, "tasks_origin"),
    "tasks_of_groups": ({"stage": 1, "groups": [FIRST + 1, FIRST + 2]}, "tasks_group"),
    "origins_in_stage": ({"stage": 1, "origins": [FIRST + 1, FIRST + 2]}, ""),
    "drivers_by_id": ({"ids": [FIRST + 1, FIRST + 2]}, ""),
    "counts_of_batches": ({"ids": [1, 2]}, "attempts_"),
    "due_batches": ({"now": 1, "limit": 8}, ""),
    "drafted_calls": ({"batch": 1, "after": 0, "limit": 1000}, "attempts_"),
    "open_attempts_of_batch": ({"batch": 1, "limit": 1000}, "attempts_"),
    "attempt_states_of_batch": ({"batch": 1, "ids": [FIRST + 1]}, ""),
    "is_batch_answered": ({"batch": 1}, "attempts_batch"),
    "most_sendings": ({"batch": 1}, "attempts_batch"),
    "mark_requests_late": ({"batch": 1}, "attempts_"),
    "tasks_in_late_requests": ({"batch": 1, "limit": 1000}, "attempts_"),
    "redirect_requests": ({"lane": 1, "target": 1}, "requests_queued"),
    "count_calls_in_flight": ({"run": 1}, "attempts_open"),
    "document_characters_of_tasks": ({"ids": [FIRST + 1, FIRST + 2]}, ""),
    "stages_to_compress": ({}, "tasks_compressing"),
    "tasks_to_compress": ({"stage": 1, "model": 0, "limit": 16}, "tasks_compressing"),
    "release_compressions": ({}, "tasks_compressing"),
    "last_pieces": ({"tasks": [FIRST + 1, FIRST + 2]}, ""),
    "pieces_before": ({"attempts": [FIRST + 1]}, ""),
    "chains_before": ({"attempts": [FIRST + 1]}, ""),
    "failed_outcomes_after": ({"stage": 1, "after": 0, "limit": 200}, "tasks_failed"),
    "proposed_outcomes_after": ({"stage": 1, "after": 0, "limit": 200}, "tasks_proposed"),
    "blocked_outcomes_after": ({"stage": 1, "after": 0, "limit": 200}, "tasks_blocked"),
    "outcome_of_task": ({"id": FIRST + 1}, ""),
    "last_event_of_run": ({"run": 1}, ""),
    "events_after": ({"run": 1, "after": 0, "limit": 200}, ""),
    "find_askers": ({"question": 7, "contents": [FIRST + 1, FIRST + 2]}, "questions"),
    "askers_by_id": ({"ids": [FIRST + 1, FIRST + 2]}, ""),
    "asked_questions": ({"ids": [FIRST + 1, FIRST + 2]}, ""),
    "edited_results": ({}, "results_edited"),
    "sources_of_tasks": ({"ids": [FIRST + 1, FIRST + 2]}, ""),
    "accepted_blocks_after": ({"stage": 1, "after": FIRST, "limit": 500}, ""),
    "costs_of_attempts": ({"ids": [FIRST + 1, FIRST + 2]}, ""),
    "has_followers": ({"stage": 1}, "tasks_following"),
    "followers_of_tasks": ({"leaders": [FIRST + 1, FIRST + 2]}, "tasks_follows"),
    "followers_in_stage": ({"stage": 1, "limit": 1000}, "tasks_following"),
    "first_blocks": ({"numbers": [FIRST + 1, FIRST + 2]}, ""),
    "block_sizes": ({"documents": [1]}, "blocks"),
    "block_sizes_from": ({"document": 1, "index": 9999, "limit": 50}, "blocks"),
    "first_block_sizes": ({"documents": [1, 2], "limit": 50}, "blocks"),
    "document_texts": ({"ids": [1]}, "blocks"),
    "ranked_inbox_entries": (
        {"stage": 1, "review": "unreviewed", "rank": 2, "after": 5_000, "limit": 50},
        "results_inbox",
    ),
    "newer_inbox_entries": (
        {"stage": 1, "review": "unreviewed", "rank": 2, "before": 5_000, "limit": 50},
        "results_inbox",
    ),
    "scored_inbox_entries": (
        {"stage": 1, "review": "unreviewed", "score": 500, "after": 5_000, "limit": 50},
        "results_scored",
    ),
    "later_scored_inbox_entries": (
        {"stage": 1, "review": "unreviewed", "score": 500, "limit": 50},
        "results_scored",
    ),
    "later_inbox_entries": (
        {"stage": 1, "review": "unreviewed", "rank": 2, "limit": 50},
        "results_inbox",
    ),
    "count_inbox": (
        {"stage": 1, "review": "unreviewed", "rank": 2, "most": 100},
        "results_inbox",
    ),
    "count_decided": ({"stage": 1, "review": "approved", "most": 10_000}, "results_inbox"),
    "inbox_details": ({"ids": [FIRST + 1, FIRST + 2]}, ""),
    "inbox_texts": ({"ids": [FIRST + 1, FIRST + 2]}, ""),
    "rejected_tasks": ({"ids": [FIRST + 1, FIRST + 2]}, "results_rejected"),
    "flag_stale_readers": ({"ids": [FIRST + 1, FIRST + 2]}, ""),
    "flag_stale_tasks": ({"ids": [FIRST + 1, FIRST + 2]}, ""),
    "flag_asked_again": ({"ids": [FIRST + 1, FIRST + 2]}, ""),
    "answers_about_same_block": ({"ids": [FIRST + 1, FIRST + 2]}, "tasks_block"),
    "answers_about_same_group": ({"ids": [FIRST + 1, FIRST + 2]}, ""),
    "answers_about_same_document": ({"ids": [FIRST + 1, FIRST + 2]}, ""),
    "review_row": ({"id": FIRST + 1}, ""),
    "versions_of_task": ({"task": FIRST + 1, "limit": 50}, "results_superseded"),
    "stale_tasks": ({"stage": 1, "limit": 20_000}, "tasks_stale"),
    "readers_to_renew": ({"stage": 1, "ids": [FIRST + 1, FIRST + 2]}, ""),
    "last_calls_of_tasks": ({"ids": [FIRST + 1, FIRST + 2]}, "request_tasks_task"),
    "critics_of_tasks": ({"ids": [FIRST + 1, FIRST + 2], "critic": 1}, "tasks_judging"),
    "neighbour_blocks": ({"document": 1, "first": 9998, "last": 10_002}, ""),
    "last_decision": ({"task": FIRST + 1}, ""),
    "decisions_of_task": ({"run": 1, "task": FIRST + 1, "before": 10**12, "limit": 50}, ""),
    "calls_after": ({"lane": 1, "after": FIRST + 500, "limit": 51}, "requests_lane"),
    "request_lines": ({"ids": [FIRST + 1, FIRST + 2]}, ""),
    "documents_before": ({"before": 10**12, "limit": 51}, "documents"),
    "newest_titles": ({"most": 5_000}, "documents"),
    "count_usual": ({"most": 10_001}, "documents"),
    "documents_put_aside": ({"ids": [1, 2]}, ""),
    "sources_of_documents": ({"documents": [1, 2]}, "sources"),
    "blocks_after": ({"document": 1, "after": 5_000, "limit": 101}, "blocks"),
    "runs_about_document": ({"document": 1, "limit": 20}, ""),
    "results_beside_blocks": ({"document": 1, "run": 1, "first": 9_900, "last": 10_000}, "blocks"),
    "results_about_document": ({"document": 1, "run": 1, "limit": 20}, "tasks_"),
    "runs_before": ({"before": 10**12, "state": "", "limit": 51, "drafts": 0}, ""),
    "events_of_run": ({"run": 1, "limit": 200}, "events"),
    "blocked_tasks_of_stage": ({"stage": 1, "limit": 10_000}, "tasks_blocked"),
    "list_batches": ({"run": 1, "batch": 0, "limit": 100}, ""),
    "decisions_of_run": ({"run": 1, "before": 10**12, "limit": 50}, ""),
}

_PARAMETER = re.compile(r"%\((\w+)\)s")


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def crowded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, postgres: Databases
) -> Iterator[tuple[Raw, Place]]:
    """A ledger with twenty thousand tasks in one stage."""
    if request.param == "sqlite":
        yield from _fill_ledger(str(tmp_path_factory.mktemp("crowd") / "quire.db"))
        return
    with postgres.database() as url:
        yield from _fill_ledger(url)


@pytest.mark.parametrize("name", ASKED)
def test_a_frequent_statement_never_reads_a_whole_table(
    name: str, crowded: tuple[Raw, Place]
) -> None:
    raw, place = crowded
    asked, index = ASKED[name]

    plan = _plan(raw, name, asked | {"workspace": "local"})

    assert _scanned_tables(plan, load(raw.dialect)[name].text) == [], plan
    assert not WHOLE_STAGE.search(plan), plan
    assert not WHOLE_WORKSPACE.search(plan), plan
    assert index in plan or (raw.dialect == "postgres" and index.startswith(SMALL)), plan
    assert place.run == 1


@pytest.mark.parametrize("name", ["ranked_inbox_entries", "later_inbox_entries"])
def test_a_page_deep_in_an_inbox_begins_where_the_last_one_ended(
    name: str, crowded: tuple[Raw, Place]
) -> None:
    raw, _ = crowded

    plan = _plan(raw, name, ASKED[name][0])

    if raw.dialect == "sqlite":
        place = "review_rank=? AND id>?" if name == "ranked_inbox_entries" else "review_rank>?"
        assert f"results_inbox (stage_id=? AND review_state=? AND {place})" in plan
        assert "TEMP B-TREE" not in plan
    else:
        condition = re.search(r"Index Cond: (.*)", plan)
        assert condition, plan
        assert "review_rank" in condition[1]
        assert ("ROW(review_rank, id) > " in condition[1]) == (name == "ranked_inbox_entries"), plan


def _fill_ledger(url: str) -> Iterator[tuple[Raw, Place]]:
    ledger = open_ledger(url, durable=False)
    place = fill_ledger(ledger, TASKS)
    raw = Raw(url)
    yield raw, place
    raw.close()
    ledger.close()


def _plan(raw: Raw, name: str, values: dict[str, object]) -> str:
    """How the database would carry out a statement, in the way the ledger asks it to."""
    text = load(raw.dialect)[name].text
    if raw.dialect == "sqlite":
        lists = {key: json.dumps(value) for key, value in values.items() if isinstance(value, list)}
        rows = raw.rows(f"EXPLAIN QUERY PLAN {text}", **values | lists)
        return "\n".join(row[3] for row in rows)
    for statement in PLANNER_SETTINGS:
        raw.rows(statement)
    written = _PARAMETER.sub(lambda found: _literal(values[found[1]]), text)
    return "\n".join(row[0] for row in raw.rows(f"EXPLAIN {written}"))


def _literal(value: object) -> str:
    if isinstance(value, list):
        return "'{" + ",".join(map(str, value)) + "}'"
    return f"'{value}'" if isinstance(value, str) else str(value)


def _scanned_tables(plan: str, text: str) -> list[str]:
    """Tables that grow without end and are read from one end to the other."""
    names = re.findall(r"\b(?:FROM|JOIN)\s+(\w+)(?: (?:AS )?(\w+))?", text)
    tables = {name: table for table, alias in names for name in (table, alias)}
    scans = re.findall(r"^SCAN (\w+)$", plan, re.MULTILINE)
    growing = [name for name in scans if tables.get(name) in LARGE + SMALL]
    return growing + [name for name in re.findall(r"Seq Scan on (\w+)", plan) if name in LARGE]
