"""Looking for Gemini's jobs by their name; ending them, and deleting what they were made of."""

from typing import Any

import pytest

from quire.domain.batches import Found, Lookup
from quire.domain.errors import Remedy
from quire.providers.gemini_batches import PAGE, GeminiBatches
from tests.providers.asking import account
from tests.providers.desks import Answer, Answers, Desk, failing, run, sought
from tests.providers.exchanges.gemini_batches import REF, job
from tests.providers.exchanges.google import error

BATCHES = GeminiBatches()
LIST, ONE = "/v1beta/batches", f"/v1beta/{REF}"


def desk(answers: Answers) -> Desk:
    return Desk(answers, lambda base: account("gemini", base))


def test_a_job_is_known_by_its_name_on_whatever_page() -> None:
    pages = [
        {"operations": [job(tag="another", name="batches/other")], "nextPageToken": "p2"},
        {"operations": [job()]},
    ]
    there = desk({f"GET {LIST}": [Answer(each) for each in pages]})

    assert run(there, lambda on: BATCHES.find(on.door, on.account, sought())) == Found(REF)
    asked_for = [dict(each.query) for each in there.asked]
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
    there = desk({f"GET {LIST}": Answer(page)})

    found = run(there, lambda on: BATCHES.find(on.door, on.account, sought()))

    assert found.ref == ""
    assert (not found.unsure) is sure


def test_a_list_that_goes_round_in_circles_is_left_and_proves_nothing() -> None:
    pages = [{"nextPageToken": token} for token in ("p2", "p3", "p2", "p3", "p2")]
    there = desk({f"GET {LIST}": [Answer(each) for each in pages]})

    found = run(there, lambda on: BATCHES.find(on.door, on.account, sought()))

    assert "gemini's list of batches goes round in circles" in found.unsure
    assert len(there.asked) == 3


def test_cancelling_and_discarding_may_come_too_late() -> None:
    ended = {f"GET {ONE}": Answer(job()), f"POST {ONE}:cancel": Answer(error(400, "X"), 400)}
    gone = error(403, "PERMISSION_DENIED", "You do not have permission, or it may not exist.")
    there = desk({f"POST {ONE}:cancel": Answer({}), "DELETE /v1beta/files/in1": Answer({})})

    run(there, lambda on: BATCHES.cancel(on.door, on.account, REF))
    run(there, lambda on: BATCHES.discard(on.door, on.account, "files/in1"))
    run(there, lambda on: BATCHES.discard(on.door, on.account, ""))
    run(desk(ended), lambda on: BATCHES.cancel(on.door, on.account, REF))
    late = desk({"DELETE /v1beta/files/in1": Answer(gone, 403)})
    run(late, lambda on: BATCHES.discard(on.door, on.account, "files/in1"))

    assert [each.method for each in there.asked] == ["POST", "DELETE"]
    broken = desk({"DELETE /v1beta/files/in1": Answer(b"", 500)})
    found = failing(broken, lambda on: BATCHES.discard(on.door, on.account, "files/in1"))
    assert found.remedy is Remedy.RETRY
    assert BATCHES.rules.lookup is Lookup.TAG
