"""Refusals that nobody can explain: held where all calls meet them, halved where others do not."""

from collections.abc import Callable

import pytest

from quire.domain.accounts import KEYLESS_ACCOUNT, Account
from quire.domain.errors import ProviderError, Remedy
from quire.domain.reasons import HoldCause
from quire.domain.requests import Call
from quire.domain.runs import HeldError
from quire.domain.states import RunState
from quire.providers.protocol import RawResponse
from tests.world import OneProvider, Scripted, World, sentences

Worlds = Callable[..., World]


class Grumpy(Scripted):
    """Refuses calls that it does not like, and does not say why in any known words."""

    def __init__(self, dislikes: Callable[[str], bool]) -> None:
        super().__init__()
        self.dislikes, self.asked = dislikes, 0

    async def send(self, call: Call, account: Account = KEYLESS_ACCOUNT) -> RawResponse:
        """Answer or refuse."""
        self.asked += 1
        if not self.dislikes(call.user):
            return await super().send(call, account)
        error = ProviderError("400: the frobnicator is grumpy", remedy=Remedy.FIX_REQUEST)
        error.unexplained = True
        raise error


@pytest.fixture
def grumpy(world: Worlds) -> Callable[..., tuple[World, Grumpy]]:
    """A world with blocks, one of them marked, whose model refuses calls."""

    def make(dislikes: Callable[[str], bool], blocks: int = 100) -> tuple[World, Grumpy]:
        here, model = world(), Grumpy(dislikes)
        here.ingest(sentences(blocks, mark=0))
        here.engine.context.providers = OneProvider(model)
        return here, model

    return make


def everything(user: str) -> bool:
    return True


@pytest.mark.parametrize(("blocks", "pack_size"), [(100, 10), (100, 1), (10, 10), (1, 1)])
def test_where_all_calls_are_refused_the_run_is_held_and_no_block_fails(
    grumpy: Callable[..., tuple[World, Grumpy]], blocks: int, pack_size: int
) -> None:
    here, model = grumpy(everything, blocks)

    run = here.run(pack_size=pack_size)
    held, asked = run.progress(), model.asked

    (hold,) = held.holds
    assert (hold.cause, held.failed) == (HoldCause.CALLS_REFUSED, 0)
    assert "400: the frobnicator is grumpy" in hold.detail
    assert asked <= 25
    model.dislikes = lambda user: False
    run.resume()
    ended = run.wait()
    assert (ended.state, ended.done, ended.failed) == (RunState.FINISHED, blocks, 0)


def test_a_run_that_goes_on_too_early_is_held_again_and_no_block_fails(
    grumpy: Callable[..., tuple[World, Grumpy]],
) -> None:
    here, model = grumpy(everything)
    run = here.run(pack_size=10)
    asked = model.asked

    run.resume()
    with pytest.raises(HeldError, match="the frobnicator is grumpy"):
        run.wait()
    held = run.progress()

    assert ([hold.cause for hold in held.holds], held.failed) == ([HoldCause.CALLS_REFUSED], 0)
    assert model.asked - asked <= 25


@pytest.mark.parametrize("pack_size", [1, 4])
@pytest.mark.parametrize("concurrency", [1, 8])
def test_where_others_are_answered_the_refused_block_fails_alone(
    grumpy: Callable[..., tuple[World, Grumpy]], pack_size: int, concurrency: int
) -> None:
    here, _ = grumpy(lambda user: "MARK" in user, 16)

    run = here.run(pack_size=pack_size, concurrency=concurrency)
    now = run.progress()

    assert (now.state, now.holds, now.done, now.failed) == (RunState.FINISHED, (), 15, 1)
    (failed,) = [error for state, _, error in here.task_tries(run.id) if state == "failed"]
    assert "400: the frobnicator is grumpy" in failed


def test_packs_that_are_too_large_for_a_server_without_words_for_it_are_halved(
    grumpy: Callable[..., tuple[World, Grumpy]],
) -> None:
    here, _ = grumpy(lambda user: user.count('"block_uid"') > 3, 60)

    run = here.run(pack_size=10)
    now = run.progress()

    assert (now.state, now.done, now.failed) == (RunState.FINISHED, 60, 0)
