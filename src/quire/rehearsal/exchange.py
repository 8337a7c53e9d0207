"""One request from its bytes to the decision what to send back; nothing here waits."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson

from quire.domain.accounts import Secret
from quire.domain.data import Json, JsonObject
from quire.domain.ids import AttemptId
from quire.domain.models import Limits, Params, Usage
from quire.domain.requests import Call, Stop
from quire.rehearsal.asked import Asked, Problem, Said, Trouble
from quire.rehearsal.batches.files import Upload
from quire.rehearsal.caching import Cached, Point, input_tokens, points_of, tokens_of
from quire.rehearsal.counting import Entry
from quire.rehearsal.dialects.dialect import Dialect, Incoming, Vendor
from quire.rehearsal.faults import REFUSING, disturbances, struck
from quire.rehearsal.limiting import Level, Short
from quire.rehearsal.memory import Memory
from quire.rehearsal.models import Known
from quire.rehearsal.schemas import from_words
from quire.simulated.answering import AskedBlock, blocks_in, byte_length
from quire.simulated.faults import Faults
from quire.simulated.responding import Outcome, respond

GARBAGE = b"<html><head><title>502</title></head><body>rehearsal: this is no answer</body></html>"
_JSON = "application/json"
_USUAL_WAIT = 1.0
_TROUBLES = {
    "key": Trouble.BAD_KEY,
    "400": Trouble.INVALID,
    "413": Trouble.TOO_LARGE,
    "429": Trouble.RATE,
    "500": Trouble.BROKEN,
    "503": Trouble.OVERLOADED,
    "529": Trouble.OVERLOADED,
    "spend": Trouble.SPENT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to send back, and when."""

    status: int
    body: bytes
    headers: dict[str, str]
    content_type: str = _JSON
    wait: float = 0.0
    points: tuple[Point, ...] = field(default=())  # for the cache, once the answer is out
    end: str = ""  # hang: never answer; drop: close the connection instead
    file: Path | None = None  # in the place of the body
    sent: int = 0  # bytes of the file; where it has more, the connection is closed after these


class Exchange:
    """One request in the making."""

    def __init__(self, memory: Memory, vendor: Vendor, entry: Entry, incoming: Incoming) -> None:
        """Begin with what is known when a request arrives."""
        self.memory = memory
        self._vendor = vendor
        self.entry = entry
        self.incoming = incoming
        self._owner = ("", "")
        self._now = entry.at
        self.draw = entry.number  # what chance goes by, and ids
        self.faults = memory.faults
        self.upload: Upload | None = None  # a body that went to disk

    def decide(self, act: Callable[["Exchange", bytes], Decision], raw: bytes) -> Decision:
        """Carry an act out; whatever goes wrong becomes an error in the vendor's form."""
        try:
            return act(self, raw)
        except Problem as problem:
            return self._failed(problem)
        except Exception as error:  # noqa: BLE001 - a stranger's bytes must never show a traceback
            return self._failed(Problem(Trouble.BROKEN, f"{type(error).__name__}: {error}"))

    def listing(self) -> Decision:
        """List the vendor's models."""
        self.admit()
        return self.plain(self._vendor.listing(self.memory.models.of(self._vendor.providers)))

    def described(self) -> Decision:
        """Describe one model."""
        self.admit()
        wire_id = self.incoming.named["model"]
        found = self.memory.models.find(wire_id, self._vendor.providers)
        return self.plain(self._vendor.described(found))

    def counted(self, read: Callable[[Json, Incoming], Asked], raw: bytes) -> Decision:
        """Count a call's input, for nothing."""
        self.admit()
        asked = read(_parsed(raw), self.incoming)
        model = self.memory.models.find(asked.model, self._vendor.providers)
        return self.plain({"input_tokens": input_tokens(asked, model)})

    def called(self, dialect: Dialect, raw: bytes) -> Decision:
        """Let the model answer a call, or fail it as the script says."""
        key = self.admit()
        memory, entry = self.memory, self.entry
        asked = dialect.read(_parsed(raw), self.incoming)
        entry.model = asked.model[:200]
        model = memory.models.find(asked.model, dialect.providers)
        entry.model = model.name[:200]
        self._owner = (key, model.name)
        asked = dialect.check(asked, model)
        blocks = blocks_in(asked.user)
        entry.blocks = len(blocks)
        self._refuse(blocks)
        total = input_tokens(asked, model)
        if total > model.most_input:
            raise Problem(Trouble.TOO_LONG, _too_long(total, model))
        cached = self._look(points_of(asked, key, model, dialect.minimum(model)))
        reserved = self._reserve(dialect, asked, cached.usage(total, 0, 0))
        outcome = self._outcome(asked, model, self.faults)
        fault = outcome.fault
        if fault in _TROUBLES:
            raise self._scripted(fault)
        if fault == "hang":
            entry.fault = fault
            memory.witness.refused(entry)
            return Decision(status=0, body=b"", headers={}, end="hang")
        if fault:  # dropped or garbled, but carried out all the same
            outcome = self._outcome(asked, model, memory.answering)
            entry.fault = fault
        usage = cached.usage(total, outcome.usage.output, outcome.usage.reasoning)
        decision = self._answered(dialect, asked, cached, replace(outcome, usage=usage))
        self._settle(dialect, reserved)
        return replace(decision, headers=self._headers())

    def _answered(
        self, dialect: Dialect, asked: Asked, cached: Cached, outcome: Outcome
    ) -> Decision:
        """Write down what was said, bill it, and say when it goes out."""
        memory, entry = self.memory, self.entry
        garbled = entry.fault == "garbage"
        end = "drop" if entry.fault == "drop" else ""
        said = Said(
            number=self.draw,
            asked=asked,
            text=outcome.text,
            stop=outcome.stop,
            usage=outcome.usage,
            now=self._now,
        )
        body, billed = dialect.write(said)
        memory.witness.carried_out(entry, billed, dialect.counted(billed))
        return Decision(
            status=200,
            body=GARBAGE if garbled else orjson.dumps(body),
            headers={},
            content_type="text/html" if garbled else _JSON,
            wait=self._wait(outcome.blocks),
            points=cached.points,
            end=end,
        )

    def _look(self, points: list[Point]) -> Cached:
        return self.memory.cache.look(points, self._now)

    def admit(self) -> str:
        """Refuse whoever has no good key; return it."""
        key = self._vendor.key(self.incoming)
        self.entry.key = Secret(key).tail
        self.memory.admit(key)
        return key

    def _refuse(self, blocks: list[AskedBlock]) -> None:
        """Fail a call that the script never lets reach the model."""
        faults = self.faults
        name = "" if faults.quiet else struck(faults, REFUSING, self.draw, blocks)
        if name:
            raise self._scripted(name)

    def _scripted(self, fault: str) -> Problem:
        self.entry.fault = fault
        trouble = _TROUBLES[fault]
        told = self.faults.retry_after
        wait = (_USUAL_WAIT if told is None else told) if trouble is Trouble.RATE else None
        messages = {
            Trouble.RATE: "Rate limit reached for requests, by the fault script.",
            Trouble.INVALID: "The request is not valid, by the fault script.",
        }
        return Problem(trouble, messages.get(trouble, fault), retry_after=wait)

    def _reserve(self, dialect: Dialect, asked: Asked, usage: Usage) -> Limits:
        """Take what the call needs; OpenAI holds as much back as the call may write."""
        wanted = dialect.counted(usage)
        held = (asked.max_tokens or 0) if dialect.name == "openai" else 0
        reserved = Limits(requests=1, input=wanted, total=max(wanted, held))
        short = self.memory.limiter.take(self._owner, reserved, self._now)
        if short:
            raise Problem(Trouble.RATE, _short(short, asked.model), retry_after=short.wait)
        return reserved

    def _settle(self, dialect: Dialect, reserved: Limits) -> None:
        """Take what was written, and give back what was held for nothing."""
        usage = self.entry.usage or Usage()
        used = dialect.counted(usage) + usage.output
        changes = Limits(output=usage.output, total=used - (reserved.total or 0))
        self.memory.limiter.settle(self._owner, changes, self._now)

    def _outcome(self, asked: Asked, model: Known, faults: Faults) -> Outcome:
        thinking = self._thinking(asked)
        most = min(asked.max_tokens or model.most_output, model.most_output)
        # The simulated model counts a token for four bytes; this one may count more of them.
        room = int((most - thinking) / model.token_factor)
        outcome = respond(self._call(asked), faults, max(1, room))
        if outcome.fault:
            return outcome
        if asked.prewarm:
            stop = Stop.LENGTH if asked.max_tokens == 0 else Stop.END
            return replace(outcome, text="", stop=stop, usage=Usage())
        if thinking >= most:  # all of the budget went into reasoning
            spent = Usage(output=thinking, reasoning=thinking)
            return replace(outcome, text="", stop=Stop.LENGTH, usage=spent)
        if not faults.quiet:
            number, blocks = self.draw, outcome.blocks
            self.entry.fault = _told(outcome) or disturbances(faults, number, blocks)
        written = tokens_of(byte_length(outcome.text), model)
        return replace(outcome, usage=Usage(output=written + thinking, reasoning=thinking))

    def _thinking(self, asked: Asked) -> int:
        thinking = self.memory.scene.thinking
        return thinking if asked.max_tokens is None else min(thinking, asked.max_tokens)

    def _call(self, asked: Asked) -> Call:
        system, user = asked.system, asked.user
        schema = asked.schema
        if blocks_in(user) and (schema is None or "results" in _properties(schema)):
            schema = from_words(system) or schema  # the words also say what no schema could bind
        return Call(
            attempt_id=AttemptId(self.draw),
            model=asked.model,
            system=system,
            user=user,
            output_schema=schema,
            params=Params(),
        )

    def _wait(self, blocks: list[AskedBlock]) -> float:
        memory = self.memory
        wait = memory.latency.draw(memory.chance)
        if self.faults.quiet or not struck(self.faults, ("slow",), self.draw, blocks):
            return wait
        self.entry.fault = f"{self.entry.fault},slow".removeprefix(",")
        return memory.latency.slow(wait)

    def _failed(self, problem: Problem) -> Decision:
        self.entry.problem = problem.message
        self.memory.witness.refused(self.entry)
        worded = self._vendor.error(problem, self.entry.number)
        headers = {**self._headers(), **worded.headers}
        return Decision(status=worded.status, body=orjson.dumps(worded.body), headers=headers)

    def plain(self, body: Json) -> Decision:
        """Answer with JSON, as it is."""
        return Decision(status=200, body=orjson.dumps(body), headers=self._headers())

    def _headers(self) -> dict[str, str]:
        levels: dict[str, Level] = {}
        if self._owner[0]:
            levels = self.memory.limiter.levels(self._owner, self._now)
        return self._vendor.headers(self.entry.number, levels, self._now)


def _parsed(raw: bytes) -> Json:
    try:
        return orjson.loads(raw)  # type: ignore[no-any-return]  # hostile until a form is checked
    except ValueError:
        raise Problem(Trouble.NOT_JSON, "the body is not JSON") from None


def _told(outcome: Outcome) -> str:
    if outcome.stop is Stop.REFUSAL:
        return "refuse"
    return "" if outcome.text else "empty"


def _too_long(total: int, model: Known) -> str:
    return f"prompt is too long: {total} tokens > {model.most_input} maximum"


def _short(short: Short, model: str) -> str:
    what = "requests" if short.kind == "requests" else f"{short.kind} tokens"
    return (
        f"Rate limit reached for {model} on {what} per min: Limit {short.limit},"
        f" Used {short.used}, Requested {short.wanted}. Please try again in {short.wait:.3f}s."
    )


def _properties(schema: JsonObject) -> Mapping[str, Json]:
    found = schema.get("properties")
    return found if isinstance(found, Mapping) else {}
