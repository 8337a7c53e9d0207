"""Lists of batches that have no end, and batches under names that were given up."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from quire.domain.batches import BatchMatch
from quire.providers.anthropic_batches import AnthropicBatches
from quire.providers.batch_requests import MOST_PAGES
from quire.providers.openai_batches import OpenAIBatches
from tests.providers.batch_servers import (
    SINCE,
    Answer,
    Asked,
    BatchServer,
    batch_query,
    json_lines,
    run,
)
from tests.providers.exchanges.anthropic_batches import GOOD
from tests.providers.exchanges.anthropic_batches import batch as anthropic_batch
from tests.providers.exchanges.anthropic_batches import listing as anthropic_listing
from tests.providers.exchanges.anthropic_batches import row as anthropic_row
from tests.providers.exchanges.openai_batches import BATCH
from tests.providers.sample_calls import account
from tests.providers.scripted import Heard, Scripted
from tests.providers.test_openai_batches import SOUGHT, looking, pages
from tests.providers.test_vertex_batches import PATH as VERTEX_PATH
from tests.providers.test_vertex_batches import batch_server as vertex_desk
from tests.providers.test_vertex_batches import batches as vertex
from tests.providers.test_vertex_batches import job as vertex_job


def test_batches_of_earlier_submissions_are_told_apart_from_the_last() -> None:
    old = {**BATCH, "id": "batch_0", "metadata": {"quire": "qretired234"}, "input_file_id": "f"}
    retiring = SOUGHT._replace(retired=frozenset(["qretired234"]))
    alone = Scripted(**{"GET /batches": pages(120, old)})
    both = Scripted(**{"GET /batches": (200, {"data": [BATCH, old], "has_more": False})})

    assert alone.during(looking(retiring)) == BatchMatch(earlier=("batch_0",))
    assert alone.during(looking()) == BatchMatch()
    assert both.during(looking(retiring)) == BatchMatch("batch_1", earlier=("batch_0",))


@pytest.mark.parametrize("length", [1, 2, 7])
def test_a_listing_that_goes_round_in_circles_is_left_and_proves_nothing(length: int) -> None:
    made = {"created_at": BATCH["created_at"], "metadata": None, "input_file_id": "f"}

    def answer(heard: Heard) -> tuple[int, Any]:
        after = int(heard.query.get("after", "b0")[1:])
        page = [{"id": f"b{after % length + 1}", **made}]
        return 200, {"data": page, "has_more": True}

    server = Scripted(**{"GET /batches": answer})

    found = server.during(looking())

    assert not found.ref
    assert "openai's list of batches goes round in circles" in found.unsure
    assert len(server.heard) == length + 1


def test_a_listing_without_an_end_is_left_and_proves_nothing() -> None:
    made = {"created_at": BATCH["created_at"], "metadata": None, "input_file_id": "f"}

    def answer(heard: Heard) -> tuple[int, Any]:
        after = int(heard.query.get("after", "b0")[1:])
        return 200, {"data": [{"id": f"b{after + 1}", **made}], "has_more": True}

    server = Scripted(**{"GET /batches": answer})

    found = server.during(looking())

    assert found.unsure == f"openai's list of batches does not end: {MOST_PAGES} pages were read"
    assert len(server.heard) == MOST_PAGES


def test_jobs_of_earlier_names_are_asked_for_one_by_one(tmp_path: Path) -> None:
    old = vertex_job(displayName="qretired234", name="jobs/old")
    there = vertex_desk(
        {f"GET {VERTEX_PATH}": [Answer({}), Answer({"batchPredictionJobs": [old]})]}
    )
    mine, names = vertex(tmp_path), frozenset(["qretired234"])

    found = run(
        there, lambda on: mine.find(on.http, on.account, batch_query()._replace(retired=names))
    )

    assert found == BatchMatch(earlier=("jobs/old",))
    assert there.asked[1].query["filter"] == 'display_name="qretired234"'


def test_a_list_that_goes_round_in_circles_is_left_and_proves_nothing(tmp_path: Path) -> None:
    pages = [Answer({"nextPageToken": token}) for token in ("p2", "p3", "p2", "p3", "p2")]
    there, mine = vertex_desk({f"GET {VERTEX_PATH}": pages}), vertex(tmp_path)

    assert "circles" in run(there, lambda on: mine.find(on.http, on.account, batch_query())).unsure
    assert len(there.asked) == 3


AN_HOUR_BEHIND = {"Date": "Sun, 15 Nov 2026 11:10:00 GMT"}
ASKED = datetime(2026, 11, 15, 12, 10, tzinfo=UTC)  # ten minutes after the batch may have been made
OURS = {"created_at": "2026-11-15T11:00:30Z"}  # a moment after it was sent, by a clock behind ours


def dated(headers: dict[str, str], asked: datetime | None, made: dict[str, str]) -> BatchMatch:
    """What looking for a batch at Anthropic shows, by what its clock says and ours."""
    path = "/v1/messages/batches"
    answers = {
        f"GET {path}": Answer(anthropic_listing(anthropic_batch(**made)), headers=headers),
        f"GET {path}/msgbatch_1/results": Answer(json_lines(anthropic_row(1, GOOD))),
    }
    there = BatchServer(answers, lambda base: account("anthropic", base))
    look = batch_query()._replace(asked_at=asked)
    return run(there, lambda on: AnthropicBatches().find(on.http, on.account, look))


def test_a_clock_behind_ours_does_not_hide_a_batch() -> None:
    assert dated(AN_HOUR_BEHIND, ASKED, OURS) == BatchMatch("msgbatch_1")
    assert dated(AN_HOUR_BEHIND, None, OURS) == BatchMatch()
    long_before = {"created_at": "2026-11-15T10:40:00Z"}
    assert dated(AN_HOUR_BEHIND, ASKED, long_before) == BatchMatch()
    first = {"Date": "Mon, 01 Jan 0001 00:00:00 GMT"}
    assert dated(first, ASKED, long_before) == BatchMatch("msgbatch_1")


@pytest.mark.parametrize(
    "said",
    [
        "Sun, 15 Nov 2026 13:10:00 GMT",  # a clock ahead of ours, or one that runs faster
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "Sun, 15 Nov 2026 11:10:00 -0000",
        "yesterday",
        "",
    ],
)
def test_whatever_a_date_says_nothing_is_looked_for_less_far_back(said: str) -> None:
    at_once = {"created_at": "2026-11-15T11:51:00Z"}

    assert dated({"Date": said}, ASKED, at_once) == BatchMatch("msgbatch_1")
    assert dated({"Date": said}, ASKED, OURS) == BatchMatch()


def test_a_long_list_is_read_as_far_as_a_clock_behind_ours_demands() -> None:
    behind = int((SINCE - timedelta(hours=1)).timestamp())
    later = [
        {"id": f"b{number}", "created_at": behind + 60, "metadata": None, "input_file_id": "f"}
        for number in range(100)
    ]
    ours = {**BATCH, "created_at": behind + 1}

    def answer(asked: Asked) -> Answer:
        page = [ours] if "after" in asked.query else later
        return Answer({"data": page, "has_more": page is later}, headers=AN_HOUR_BEHIND)

    there = BatchServer({"GET /v1/batches": answer}, lambda base: account("openai", f"{base}/v1"))
    look = SOUGHT._replace(since=SINCE, asked_at=ASKED)

    assert run(there, lambda on: OpenAIBatches().find(on.http, on.account, look)).ref == "batch_1"
