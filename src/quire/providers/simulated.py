"""The simulated provider: carries calls to the simulated model in this process, faults included."""

import asyncio
import os
from collections.abc import Callable
from typing import Any, NoReturn

import orjson

from quire.domain.accounts import KEYLESS_ACCOUNT, Account
from quire.domain.data import JsonObject
from quire.domain.errors import ProviderError, Remedy, SettingsInvalid, Undecodable
from quire.domain.ids import fingerprint
from quire.domain.models import Usage
from quire.domain.requests import Call, Reply, Stop
from quire.providers.catalog import CATALOG
from quire.providers.embedding_formats import read_embeddings
from quire.providers.protocol import RawResponse
from quire.simulated.call_outcomes import UNANSWERED, SimulatedOutcome, respond
from quire.simulated.embeddings import embed_text, embedded_tokens
from quire.simulated.fault_scripts import NO_FAULTS, Faults

GARBAGE = b"\xff\xfe<html><body>simulated: this is no answer</body></html>"

_REMEDIES = {
    "key": (Remedy.FIX_ACCOUNT, "401: the key is not valid"),
    "400": (Remedy.FIX_REQUEST, "400: the request is not valid"),
    "413": (Remedy.SPLIT, "413: the request is too large"),
    "429": (Remedy.WAIT, "429: too many requests"),
    "500": (Remedy.RETRY, "500: the provider broke down"),
    "drop": (Remedy.LOST, "the connection was dropped after the call was carried out"),
}
_STOPS = {item.value: item for item in Stop}


class SimulatedProvider:
    """Answers at once and for nothing; counts the calls that reach it, as a witness for tests."""

    name = "simulated"
    decoder_version = 1

    def __init__(
        self, faults: Faults = NO_FAULTS, log: Callable[[str], None] | None = None
    ) -> None:
        """Follow a fault script; its call log is opened now, so that a bad path is found now."""
        self.faults = faults
        self.calls = 0  # that reached the provider, whatever became of them
        self.blocks = 0  # that these calls carried
        self.carried_out = 0  # calls that a vendor would bill, lost answers included
        self._log = log
        self._log_file = _open_log(faults.log) if faults.log else None

    async def send(self, call: Call, account: Account = KEYLESS_ACCOUNT) -> RawResponse:
        """Answer one call, or fail it as the script says."""
        facts = CATALOG.get(call.model)
        if call.passages:
            return await self._embed(call)
        outcome = respond(call, self.faults, facts.max_output if facts else None)
        self._log_call(call, outcome)
        if outcome.fault == "hang":
            await asyncio.Event().wait()
        if self.faults.latency:
            await asyncio.sleep(self.faults.latency)
        if outcome.fault == "garbage":
            return RawResponse(GARBAGE)
        if outcome.fault:
            self._fail(outcome.fault)
        if facts and outcome.usage.input > facts.window:
            raise ProviderError(
                f"simulated 400: the prompt has {outcome.usage.input:,} tokens, the window of"
                f" {call.model} holds {facts.window:,}",
                remedy=Remedy.SPLIT,
            )
        return RawResponse(_body(call, outcome))

    def decode(self, raw: bytes, body: JsonObject | None = None) -> Reply:
        """Read a body that `send` returned; anything else is Undecodable."""
        try:
            found: Any = orjson.loads(raw) if body is None else body
            if "data" in found and (reply := read_embeddings(found)):
                return reply
            usage = found["usage"]
            text, stop = found["text"], _STOPS[found["stop"]]
            counts = (usage["input_tokens"], usage["output_tokens"])
        except (ValueError, KeyError, TypeError) as error:
            raise Undecodable(f"the simulated response is not readable: {error!r}") from None
        if not isinstance(text, str):
            raise Undecodable("the simulated response has no text")
        if any(type(count) is not int or count < 0 for count in counts):
            raise Undecodable("the simulated response has no usable token counts")
        return Reply(text=text, stop=stop, usage=Usage(input=counts[0], output=counts[1]))

    async def _embed(self, call: Call) -> RawResponse:
        """Embed passages, or fail the call as the script says of any call."""
        fault = ""
        if not self.faults.quiet:
            draws, texts = self.faults.strikes_call, [*call.passages]
            fault = next((name for name in UNANSWERED if draws(name, call.attempt_id, texts)), "")
        self._log_call(call, SimulatedOutcome(blocks=[], fault=fault))
        if fault == "hang":
            await asyncio.Event().wait()
        if self.faults.latency:
            await asyncio.sleep(self.faults.latency)
        if fault == "garbage":
            return RawResponse(GARBAGE)
        if fault:
            self._fail(fault)
        size = call.dimensions
        data = [
            {"object": "embedding", "index": no, "embedding": embed_text(text, size)}
            for no, text in enumerate(call.passages)
        ]
        tokens = embedded_tokens(call.passages)
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        made = {"object": "list", "data": data, "model": call.model, "usage": usage}
        return RawResponse(orjson.dumps(made))

    async def close(self) -> None:
        """Close the call log."""
        if self._log_file is not None:
            os.close(self._log_file)
            self._log_file = None

    def _log_call(self, call: Call, outcome: SimulatedOutcome) -> None:
        """Put the call on record before anything answers it, so that a kill cannot hide it."""
        self.calls += 1
        self.blocks += len(outcome.blocks)
        self.carried_out += outcome.fault in ("", "drop", "garbage")
        if self._log is None and self._log_file is None:
            return
        said = [*(turn.text for turn in call.turns), *call.passages]
        contents = fingerprint(*sorted(block.content for block in outcome.blocks), *said).hex()
        became = outcome.fault or outcome.stop.value
        line = f"{call.attempt_id} {len(outcome.blocks)} {contents} {became}\n"
        if self._log is not None:
            self._log(line)
        if self._log_file is not None:
            os.write(self._log_file, line.encode())  # one write, so that processes do not mix

    def _fail(self, fault: str) -> NoReturn:
        remedy, message = _REMEDIES[fault]
        wait = self.faults.retry_after if remedy is Remedy.WAIT else None
        raise ProviderError(f"simulated {message}", remedy=remedy, retry_after=wait)


def _open_log(path: str) -> int:
    try:
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise SettingsInvalid(
            f"simulated faults: the call log {path} cannot be written ({error.strerror}); "
            "give log= another path"
        ) from None


def _body(call: Call, outcome: SimulatedOutcome) -> bytes:
    return orjson.dumps(
        {
            "model": call.model,
            "text": outcome.text,
            "stop": outcome.stop,
            "usage": {"input_tokens": outcome.usage.input, "output_tokens": outcome.usage.output},
            "simulated": True,
        }
    )
