"""A call that is not answered in time is lost, and its request goes again."""

from collections.abc import Callable

from tests.world import World, sentences

Worlds = Callable[..., World]

LATE = 2.0  # seconds; where a busy machine takes longer, more than one call goes again


def test_a_call_past_its_deadline_goes_again(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(3))
    here.model.script = ["hang=1"]

    ended = here.run(pack_size=1, concurrency=1, call_timeout=LATE).progress()

    assert (ended.done, here.model.calls) == (3, 3 + ended.resent)
    assert ended.resent >= 1
    assert ended.presumed_pico > 0


def test_a_late_call_says_how_long_it_was_waited_for(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(1))
    here.model.script = ["hang=1"]

    run = here.run(call_timeout=LATE)

    (request,) = here.engine.queries.requests(run.id)
    late, *_, answered = here.engine.queries.exchange(request.id).attempts
    assert late.error == f"no answer within {LATE:g} s"
    assert answered.error is None
