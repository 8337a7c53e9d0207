"""A model that says what a test wants of each call, with all that was said before it."""

import json
from collections.abc import Callable

from quire.domain.accounts import KEYLESS_ACCOUNT, Account
from quire.domain.requests import Call, Stop
from quire.providers.protocol import RawResponse
from tests.world import OneProvider, Scripted, World

Say = Callable[[Call], "tuple[str, Stop] | None"]


class TurningModel(Scripted):
    """The simulated model, but for what `say` has an answer to."""

    def __init__(self, say: Say) -> None:
        """Speak with somebody else's voice, and remember what was asked."""
        super().__init__()
        self.say = say
        self.asked: list[Call] = []

    async def send(self, call: Call, account: Account = KEYLESS_ACCOUNT) -> RawResponse:
        """Answer as the test says, or as the simulated model would."""
        usual = await super().send(call, account)
        self.asked.append(call)
        said = self.say(call)
        if said is None:
            return usual
        body = json.loads(usual.raw)
        body["text"], body["stop"] = said
        body["usage"]["output_tokens"] = len(said[0].encode()) // 4
        return usual._replace(raw=json.dumps(body).encode())


def let_model_speak(here: World, say: Say) -> TurningModel:
    """Let a test speak for the model."""
    model = TurningModel(say)
    here.model = model
    here.engine.context.providers = OneProvider(model)
    return model


def wire_id(call: Call) -> str:
    """The id of the only block that a call, or the question that it goes on with, is about."""
    seed = call.turns[-2].text if call.turns else call.user
    blocks = json.loads(seed.rsplit("\n", 1)[-1])["blocks"]
    return str(blocks[0]["block_uid"])


def record(call: Call, **fields: object) -> str:
    """An answer of one record."""
    return json.dumps({"results": [{"block_uid": wire_id(call), **fields}]})
