"""Looking for Gemini's jobs by their name; ending them, and deleting what they were made of."""

from typing import Any

import pytest

from quire.domain.batches import BatchLookup, BatchMatch
from quire.domain.errors import Remedy
from quire.providers.gemini import PAGE, GeminiBatches
from tests.providers.batch_servers import Answer, Answers, BatchServer, batch_query, failure_of, run
from tests.providers.exchanges.gemini_batches import REF, job
from tests.providers.exchanges.google import error
from tests.providers.sample_calls import account

BATCHES = GeminiBatches()
LIST, ONE = "/v1beta/batches", f"/v1beta/{REF}"


def batch_server(answers: Answers) -> BatchServer:
    return BatchServer(answers, lambda base: account("gemini", base))


def test_a_job_is_known_by_its_name_on_whatever_page() -> None:
    pages = [
        {"operations": [job(tag="another", name="batches/other")], "nextPageToken": "p2"},
        {"operations": [job()]},
    ]
    there = batch_server({f"GET {LIST}": [Answer(page) for page in pages]})

    assert run(there, lambda on: BATCHES.find(on.http, on.account, batch_query())) == BatchMatch(
        REF
    )
    asked_for = [dict(call.query) for call in there.asked]
    assert asked_for == [{"pageSize": str(PAGE)}, {"pageSize": str(PAGE), "pageToken": "p2"}]


@pytest.mark.parametrize(
    ("page", "sure"),
    [
        ({}, True),
        ({"operations": [job(tag="another")]}, True),
        ({"operations": "none"}, False),
        ({"operations": [], "nextPageToken": "again"}, False),
        ({"operations": [job(name=7)]}, False),
    ],
)
def test_a_job_is_absent_only_where_the_whole_list_was_read(page: Any, sure: bool) -> None:
    there = batch_server({f"GET {LIST}": Answer(page)})

    found = run(there, lambda on: BATCHES.find(on.http, on.account, batch_query()))

    assert found.ref == ""
    assert (not found.unsure) is sure


def test_a_list_that_goes_round_in_circles_is_left_and_proves_nothing() -> None:
    pages = [{"nextPageToken": token} for token in ("p2", "p3", "p2", "p3", "p2")]
    there = batch_server({f"GET {LIST}": [Answer(page) for page in pages]})

    found = run(there, lambda on: BATCHES.find(on.http, on.account, batch_query()))

    assert "gemini's list of batches goes round in circles" in found.unsure
    assert len(there.asked) == 3


def test_cancelling_and_discarding_may_come_too_late() -> None:
    ended = {f"GET {ONE}": Answer(job()), f"POST {ONE}:cancel": Answer(error(400, "X"), 400)}
    gone = error(403, "PERMISSION_DENIED", "You do not have permission, or it may not exist.")
    there = batch_server({f"POST {ONE}:cancel": Answer({}), "DELETE /v1beta/files/in1": Answer({})})

    run(there, lambda on: BATCHES.cancel(on.http, on.account, REF))
    run(there, lambda on: BATCHES.discard(on.http, on.account, "files/in1"))
    run(there, lambda on: BATCHES.discard(on.http, on.account, ""))
    run(batch_server(ended), lambda on: BATCHES.cancel(on.http, on.account, REF))
    late = batch_server({"DELETE /v1beta/files/in1": Answer(gone, 403)})
    run(late, lambda on: BATCHES.discard(on.http, on.account, "files/in1"))

    assert [call.method for call in there.asked] == ["POST", "DELETE"]
    broken = batch_server({"DELETE /v1beta/files/in1": Answer(b"", 500)})
    found = failure_of(broken, lambda on: BATCHES.discard(on.http, on.account, "files/in1"))
    assert found.remedy is Remedy.RETRY
    assert BATCHES.rules.lookup is BatchLookup.TAG
