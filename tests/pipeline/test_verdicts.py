"""What is said of every answer: accepted ones are not written down, and are shown all the same."""

from collections.abc import Callable

from quire.domain.states import AttemptState
from tests.world import World, sentences

Worlds = Callable[..., World]


def test_every_judged_member_has_a_verdict_written_or_not(world: Worlds) -> None:
    here = world(faults="skip=0.1,wrong=0.1,500=0.2,drop=0.1,seed=3")
    here.ingest(sentences(60))

    run = here.run(pack_size=5, max_tries=20, max_calls=60)

    with here.engine.ledger.snapshot() as tx:
        lines = tx.views.list_requests(run.id, 0, 1000)
        for line in lines:
            judged = any(
                attempt.state == AttemptState.SETTLED
                for attempt in tx.views.attempts_of_request(line.id)
            )
            verdicts = [member.verdict for member in tx.views.verdicts_of_request(line.id)]
            assert all((verdict is not None) == judged for verdict in verdicts)
            assert line.accepted == verdicts.count("accept")
    assert run.progress().done == sum(line.accepted for line in lines) == 60
    assert any(line.accepted < line.tasks for line in lines)


def test_an_answer_that_was_not_judged_yet_is_not_shown_as_accepted(world: Worlds) -> None:
    here = world(faults="garbage=1")
    here.ingest(sentences(5))

    run = here.run(pack_size=5)

    with here.engine.ledger.snapshot() as tx:
        (line,) = tx.views.list_requests(run.id, 0, 10)
        verdicts = [member.verdict for member in tx.views.verdicts_of_request(line.id)]
    assert line.accepted == 0
    assert verdicts == [None] * 5
