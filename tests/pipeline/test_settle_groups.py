"""How many answers are judged in one transaction: the more the shorter they are."""

from collections.abc import Callable

import pytest

from quire.pipeline.answers import settle as settling
from quire.pipeline.answers.settle import GROUP, settle
from quire.pipeline.calls import prepare
from quire.pipeline.contexts import FIRST_SETTLE_GROUP, Contexts
from quire.pipeline.stages.advance import advance
from tests.world import World, sentences

Worlds = Callable[..., World]


@pytest.mark.parametrize(
    ("size", "next_time"), [(settling.GROUP_SIZE, 2 * FIRST_SETTLE_GROUP), (3_000, 20)]
)
def test_the_next_group_is_as_large_as_the_last_answers_were_short(
    world: Worlds, monkeypatch: pytest.MonkeyPatch, size: int, next_time: int
) -> None:
    here = world()
    here.ingest(sentences(40))
    run = here.start(pack_size=1)
    monkeypatch.setattr(settling, "GROUP_SIZE", size)
    contexts, judged = Contexts(here.engine.registry), list[int]()
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr("quire.dispatch.settler.settle", lambda *_: 0)
        meanwhile.setattr(prepare, "FIRST_PACKS", 40)  # though no answer is accepted meanwhile
        here.engine.work(lambda: here.model.calls == 40)

    with here.engine.ledger.transaction() as tx:
        advance(tx, contexts, here.runtime.now())
        while count := settle(tx, contexts, here.runtime.now()):
            judged.append(count)

    assert sum(judged) == 40
    assert contexts.settle_group_size <= GROUP
    assert abs(contexts.settle_group_size - next_time) <= next_time // 2
    assert run.progress().done == 40
