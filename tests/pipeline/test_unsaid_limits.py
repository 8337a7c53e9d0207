"""A budget holds, too, where a server takes no word about how long an answer may be."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest

from quire.domain.accounts import KEYLESS_ACCOUNT, Account
from quire.domain.errors import CallFault, ProviderError, Remedy
from quire.domain.fallbacks import PartRefusal, RefusedPart
from quire.domain.reasons import HoldCause
from quire.domain.requests import Call
from quire.providers.catalog import CATALOG
from quire.providers.protocol import RawResponse
from tests.pipeline.recipe_stages import SMALL
from tests.pipeline.test_tight_budgets import assert_books_balance
from tests.world import METADATA, OneProvider, Scripted, World, sentences, until_rest


class Talkative(Scripted):
    """Takes no limit of an answer, and writes as much as it can."""

    async def send(self, call: Call, account: Account = KEYLESS_ACCOUNT) -> RawResponse:
        """Refuse the limit, or answer at length."""
        if call.params.max_tokens is not None:
            said = "400: unsupported parameter: max_tokens"
            error = ProviderError(said, remedy=Remedy.FIX_ACCOUNT, fault=CallFault.FORM)
            error.refusal = PartRefusal(RefusedPart.MAX_TOKENS)
            raise error
        body = orjson.loads((await super().send(call, account)).raw)
        body["usage"]["output_tokens"] = CATALOG[SMALL].max_output
        return RawResponse(orjson.dumps(body))


@pytest.mark.parametrize("pack_size", [1, 10])
def test_calls_without_a_limit_reserve_the_longest_answer_of_the_model(
    world: Callable[..., World], pack_size: int
) -> None:
    here = world()
    here.ingest(sentences(60))
    here.engine.context.providers = OneProvider(Talkative())
    longest = CATALOG[SMALL].max_output * CATALOG[SMALL].price.output
    budget = longest * 7 // 2

    policy: Any = {"pack_size": pack_size}
    order = here.engine.orders.resolve(schema=METADATA, model=SMALL, policy=policy)
    held = until_rest(here.engine.start(replace(order, budget=budget)))

    assert [hold.cause for hold in held.holds] == [HoldCause.BUDGET_SPENT]
    assert 3 * longest <= held.cost_pico <= budget
    assert_books_balance(here)
