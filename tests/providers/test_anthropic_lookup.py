"""Looking for a batch at Anthropic, where nothing on it is ours but its size and its rows."""

from typing import Any

from quire.domain.batches import BatchMatch
from quire.providers.anthropic_batches import PAGE, AnthropicBatches
from tests.providers.batch_servers import Answer, Answers, BatchServer, batch_query, json_lines, run
from tests.providers.exchanges.anthropic_batches import GOOD, REF, batch, listing, row
from tests.providers.sample_calls import account

BATCHES = AnthropicBatches()
PATH = "/v1/messages/batches"
ONE = f"{PATH}/{REF}"


def batch_server(answers: Answers) -> BatchServer:
    return BatchServer(answers, lambda base: account("anthropic", base))


def looking(*batches: dict[str, Any], **results: bytes) -> BatchMatch:
    """What looking for a batch shows, among these and their results."""
    there = batch_server(
        {
            f"GET {PATH}": Answer(listing(*batches)),
            **{f"GET {PATH}/{ref}/results": Answer(body) for ref, body in results.items()},
        }
    )
    return run(there, lambda on: BATCHES.find(on.http, on.account, batch_query(2, "known_1")))


def test_a_batch_that_has_ended_is_known_by_its_rows() -> None:
    theirs = json_lines(row(1, GOOD, "qzzzzzzzz77"))
    ours = json_lines(row(2, GOOD))
    other = batch(name="other_1")

    assert looking(other, batch(), other_1=theirs, msgbatch_1=ours) == BatchMatch(ref=REF)
    assert looking(other, other_1=theirs) == BatchMatch()
    assert looking(batch(counts={"succeeded": 3}), msgbatch_1=ours) == BatchMatch()
    assert looking(batch(name="known_1"), known_1=ours) == BatchMatch()
    assert looking() == BatchMatch()


def test_a_batch_of_an_earlier_submission_is_known_by_its_rows_whatever_its_size() -> None:
    old = batch(name="old_1", counts={"succeeded": 7})
    there = batch_server(
        {
            f"GET {PATH}": Answer(listing(old)),
            f"GET {PATH}/old_1/results": Answer(json_lines(row(1, GOOD, "qretired234"))),
        }
    )
    retiring = batch_query()._replace(retired=frozenset(["qretired234"]))

    found = run(there, lambda on: BATCHES.find(on.http, on.account, retiring))

    assert found == BatchMatch(earlier=("old_1",))


def test_while_a_batch_of_the_same_size_runs_nobody_can_tell() -> None:
    running = batch("in_progress", "running_1")

    assert "running_1" in looking(running).unsure
    assert "no results" in looking(batch()).unsure
    ours = looking(running, batch(), msgbatch_1=json_lines(row(1, GOOD)))
    assert ours == BatchMatch(ref=REF)


def test_the_list_is_read_as_far_as_it_must_be_and_no_further() -> None:
    older = batch(name="old_1", created_at="2026-11-15T11:49:00Z")
    pages = [listing(batch(name="other_1"), more=True), listing(batch(), older, more=True)]
    other, ours = json_lines(row(1, GOOD, "qzzzzzzzz77")), json_lines(row(1, GOOD))
    there = batch_server(
        {
            f"GET {PATH}": [Answer(page) for page in pages],
            f"GET {PATH}/other_1/results": Answer(other),
            f"GET {ONE}/results": Answer(ours),
        }
    )

    found = run(there, lambda on: BATCHES.find(on.http, on.account, batch_query()))

    asked_for = [dict(call.query) for call in there.requests_to("GET", PATH)]
    assert found == BatchMatch(ref=REF)
    assert asked_for == [{"limit": str(PAGE)}, {"limit": str(PAGE), "after_id": "other_1"}]


def test_a_list_that_goes_round_in_circles_proves_nothing() -> None:
    there = batch_server(
        {f"GET {PATH}": Answer(listing(batch(counts={"succeeded": 9}), more=True))}
    )

    found = run(there, lambda on: BATCHES.find(on.http, on.account, batch_query()))

    assert "anthropic's list of batches goes round in circles" in found.unsure


def test_a_list_that_goes_round_in_larger_circles_is_left_too() -> None:
    others = [batch(name=name, counts={"succeeded": 9}) for name in ("a_1", "b_1", "c_1")]
    pages = [Answer(listing(record, more=True)) for record in others * 3]
    there = batch_server({f"GET {PATH}": pages})

    found = run(there, lambda on: BATCHES.find(on.http, on.account, batch_query()))

    assert "circles" in found.unsure
    assert len(there.requests_to("GET", PATH)) == 4
