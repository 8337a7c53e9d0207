"""A model that says what a test wants: the answer to each message is a function of its text."""

import json
from collections.abc import Callable, Mapping

from quire.domain.accounts import KEYLESS_ACCOUNT, Account
from quire.domain.data import Json
from quire.domain.requests import Call
from quire.providers.protocol import RawResponse
from tests.world import OneProvider, Scripted, World

Say = Callable[[str], "str | Mapping[str, Json] | None"]


class SayingModel(Scripted):
    """The simulated model, but for what `say` has an answer to; records come as one record."""

    def __init__(self, say: Say) -> None:
        """Speak with somebody else's voice."""
        super().__init__()
        self.say = say

    async def send(self, call: Call, account: Account = KEYLESS_ACCOUNT) -> RawResponse:
        """Answer in the asked form, or as the simulated model would."""
        usual = await super().send(call, account)
        said = self.say(call.user)
        if said is None:
            return usual
        body = json.loads(usual.raw)
        body["text"] = said if isinstance(said, str) else self._records(call, said)
        return usual._replace(raw=json.dumps(body).encode())

    def _records(self, call: Call, said: Mapping[str, Json]) -> str:
        blocks = json.loads(call.user.rsplit("\n", 1)[-1])["blocks"]
        return json.dumps({"results": [{"block_uid": b["block_uid"], **said} for b in blocks]})


def let_model_say(here: World, say: Say) -> SayingModel:
    """Let a test speak for the model."""
    model = SayingModel(say)
    here.model = model
    here.engine.context.providers = OneProvider(model)
    return model
