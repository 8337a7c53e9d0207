"""A 403 or 404 about one block fails that block; one about the key holds the run."""

from collections.abc import Callable

import pytest

from quire.domain.accounts import KEYLESS_ACCOUNT, Account
from quire.domain.errors import ProviderError, Remedy
from quire.domain.reasons import HoldCause
from quire.domain.requests import Call
from quire.domain.states import RunState
from quire.providers.protocol import RawResponse
from tests.world import OneProvider, Scripted, World, sentences

Worlds = Callable[..., World]


class Moderated(Scripted):
    """Refuses calls about one word; without `answers` left, all of them."""

    def __init__(self, answers: int = 1000) -> None:
        super().__init__()
        self.answers, self.asked, self.bad_key = answers, 0, True

    async def send(self, call: Call, account: Account = KEYLESS_ACCOUNT) -> RawResponse:
        """Answer or refuse."""
        self.asked += 1
        if self.answers and "MARK" not in call.user:
            self.answers -= 1
            return await super().send(call, account)
        error = ProviderError("403: blocked", remedy=Remedy.FIX_ACCOUNT, bad_key=self.bad_key)
        error.may_concern_one = True
        raise error


@pytest.fixture
def moderated(world: Worlds) -> Callable[..., tuple[World, Moderated]]:
    """A world whose sixth block is refused."""

    def make(answers: int = 1000) -> tuple[World, Moderated]:
        here, model = world(), Moderated(answers)
        here.ingest(sentences(16, mark=5))
        here.engine.context.providers = OneProvider(model)
        return here, model

    return make


@pytest.mark.parametrize("pack_size", [1, 4])
def test_a_block_that_is_refused_while_others_are_answered_fails_alone(
    moderated: Callable[..., tuple[World, Moderated]], pack_size: int
) -> None:
    here, _ = moderated()

    run = here.run(pack_size=pack_size, concurrency=1)
    now = run.progress()

    assert (now.state, now.holds, now.done, now.failed) == (RunState.FINISHED, (), 15, 1)
    (failed,) = [error for state, _, error in here.task_tries(run.id) if state == "failed"]
    assert "403: blocked" in failed


def test_where_nothing_was_answered_a_refusal_holds_the_run_at_once(
    moderated: Callable[..., tuple[World, Moderated]],
) -> None:
    here, model = moderated(answers=0)

    run = here.run(pack_size=4, concurrency=1)

    (hold,) = run.progress().holds
    assert (hold.cause, model.asked) == (HoldCause.KEY_NOT_SENT, 1)


def test_where_every_call_is_refused_from_some_moment_on_the_run_is_held(
    moderated: Callable[..., tuple[World, Moderated]],
) -> None:
    here, model = moderated(answers=1)
    model.bad_key = False

    run = here.run(pack_size=2, concurrency=1)

    (hold,) = run.progress().holds
    assert (hold.cause, run.progress().failed) == (HoldCause.CALL_REFUSED, 0)
    model.answers = 1000
    run.resume()
    assert (run.wait().done, run.progress().failed) == (15, 1)
