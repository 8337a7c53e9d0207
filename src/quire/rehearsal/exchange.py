"""One request, from its bytes to the response planned for it; nothing here waits."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson

from quire.domain.accounts import Secret
from quire.domain.data import Json, as_object
from quire.domain.ids import AttemptId
from quire.domain.models import Limits, Usage
from quire.domain.requests import Call, Stop
from quire.rehearsal.fault_script import REFUSAL_FAULTS, disturbances, first_strike
from quire.rehearsal.file_store import Upload
from quire.rehearsal.prompt_cache import (
    CachePoint,
    CacheUse,
    cache_points,
    input_tokens,
    longest_input,
    tokens_of,
)
from quire.rehearsal.rate_limits import BucketLevel, Shortage
from quire.rehearsal.request_log import LogEntry
from quire.rehearsal.response_schemas import find_schema_in_words
from quire.rehearsal.server_state import ServerState
from quire.rehearsal.vendor_protocol import (
    ApiProblem,
    CallEndpoint,
    IncomingRequest,
    KnownModel,
    ModelAnswer,
    ParsedCall,
    ProblemKind,
    VendorEndpoint,
)
from quire.simulated.block_answers import AskedBlock, blocks_in, byte_length
from quire.simulated.call_outcomes import SimulatedOutcome, respond
from quire.simulated.continued_answers import asked_text
from quire.simulated.fault_scripts import Faults

GARBAGE = b"<html><head><title>502</title></head><body>rehearsal: this is no answer</body></html>"
_JSON = "application/json"
_USUAL_WAIT = 1.0
_PROBLEM_KINDS = {
    "key": ProblemKind.BAD_KEY,
    "400": ProblemKind.INVALID,
    "413": ProblemKind.TOO_LARGE,
    "429": ProblemKind.RATE,
    "500": ProblemKind.BROKEN,
    "503": ProblemKind.OVERLOADED,
    "529": ProblemKind.OVERLOADED,
    "spend": ProblemKind.SPENT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponsePlan:
    """What to send back, and when."""

    status: int
    body: bytes
    headers: dict[str, str]
    content_type: str = _JSON
    wait: float = 0.0
    points: tuple[CachePoint, ...] = field(default=())  # for the cache, once the answer is out
    end: str = ""  # hang: never answer; drop: close the connection instead
    file: Path | None = None  # in the place of the body
    sent: int = 0  # bytes of the file; where it has more, the connection is closed after these


class Exchange:
    """One request in the making."""

    def __init__(
        self, state: ServerState, vendor: VendorEndpoint, entry: LogEntry, incoming: IncomingRequest
    ) -> None:
        """Begin with what is known when a request arrives."""
        self.state = state
        self._vendor = vendor
        self.entry = entry
        self.incoming = incoming
        self._owner = ("", "")
        self._now = entry.at
        self.draw_number = entry.number  # what chance goes by, and ids
        self.faults = state.faults
        self.upload: Upload | None = None  # a body that went to disk

    def plan_response(
        self, action: Callable[["Exchange", bytes], ResponsePlan], raw: bytes
    ) -> ResponsePlan:
        """Carry an act out; whatever goes wrong becomes an error in the vendor's form."""
        try:
            return action(self, raw)
        except ApiProblem as problem:
            return self._plan_error(problem)
        except Exception as error:  # noqa: BLE001 - a client's bytes must never show a traceback
            message = f"{type(error).__name__}: {error}"
            return self._plan_error(ApiProblem(ProblemKind.BROKEN, message))

    def list_models(self) -> ResponsePlan:
        """List the vendor's models."""
        self.admit()
        found = self.state.models.list_for(self._vendor.providers)
        return self.reply_json(self._vendor.list_models(found))

    def describe_model(self) -> ResponsePlan:
        """Describe one model."""
        self.admit()
        wire_id = self.incoming.path_params["model"]
        found = self.state.models.find(wire_id, self._vendor.providers)
        return self.reply_json(self._vendor.describe_model(found))

    def count_tokens(
        self, read: Callable[[Json, IncomingRequest], ParsedCall], raw: bytes
    ) -> ResponsePlan:
        """Count a call's input, for nothing."""
        self.admit()
        call = read(parse_json(raw), self.incoming)
        model = self.state.models.find(call.model, self._vendor.providers)
        return self.reply_json({"input_tokens": input_tokens(call, model)})

    def answer_call(self, endpoint: CallEndpoint, raw: bytes) -> ResponsePlan:
        """Let the model answer a call, or fail it as the script says."""
        key, state, entry = self.admit(), self.state, self.entry
        call = endpoint.read(parse_json(raw), self.incoming)
        entry.model = call.model[:200]
        model = state.models.find(call.model, endpoint.providers)
        entry.model = model.name[:200]
        self._owner = (key, model.name)
        call = endpoint.check(call, model)
        blocks = blocks_in(asked_text(call.user, call.turns))
        entry.blocks = len(blocks)
        self._refuse_scripted(blocks)
        total = input_tokens(call, model)
        if (longest := longest_input(call, model, total)) > model.most_input:
            message = f"prompt is too long: {longest} tokens > {model.most_input} maximum"
            raise ApiProblem(ProblemKind.TOO_LONG, message)
        cached = self._look_up_cache(cache_points(call, key, model, endpoint.cache_minimum(model)))
        reserved = self._reserve(endpoint, call, cached.usage(total, 0, 0))
        outcome = self._outcome(call, model, self.faults)
        fault = outcome.fault
        if fault in _PROBLEM_KINDS:
            raise self._scripted_problem(fault)
        if fault == "hang":
            entry.fault = fault
            state.request_log.count_refusal(entry)
            return ResponsePlan(status=0, body=b"", headers={}, end="hang")
        if fault:  # dropped or garbled, but carried out all the same
            outcome = self._outcome(call, model, state.answer_faults)
            entry.fault = fault
        usage = cached.usage(total, outcome.usage.output, outcome.usage.reasoning)
        plan = self._bill_answer(endpoint, call, cached, replace(outcome, usage=usage))
        self._settle(endpoint, reserved)
        return replace(plan, headers=self._headers())

    def _bill_answer(
        self, endpoint: CallEndpoint, call: ParsedCall, cached: CacheUse, outcome: SimulatedOutcome
    ) -> ResponsePlan:
        """Write down what was said, bill it, and say when it goes out."""
        state, entry = self.state, self.entry
        garbled = entry.fault == "garbage"
        end = "drop" if entry.fault == "drop" else ""
        answer = ModelAnswer(
            number=self.draw_number,
            call=call,
            text=outcome.text,
            stop=outcome.stop,
            usage=outcome.usage,
            now=self._now,
        )
        body, billed = endpoint.write(answer)
        state.request_log.bill(entry, billed, endpoint.rate_limited_tokens(billed))
        return ResponsePlan(
            status=200,
            body=GARBAGE if garbled else orjson.dumps(body),
            headers={},
            content_type="text/html" if garbled else _JSON,
            wait=self._wait(outcome.blocks),
            points=cached.points,
            end=end,
        )

    def _look_up_cache(self, points: list[CachePoint]) -> CacheUse:
        return self.state.cache.look_up(points, self._now)

    def admit(self) -> str:
        """Refuse whoever has no good key; return it."""
        key = self._vendor.key(self.incoming)
        self.entry.key = Secret(key).tail
        self.state.admit(key)
        return key

    def _refuse_scripted(self, blocks: list[AskedBlock]) -> None:
        """Fail a call that the script never lets reach the model."""
        name = first_strike(self.faults, REFUSAL_FAULTS, self.draw_number, blocks)
        if name:
            raise self._scripted_problem(name)

    def _scripted_problem(self, fault: str) -> ApiProblem:
        self.entry.fault = fault
        kind = _PROBLEM_KINDS[fault]
        if kind is ProblemKind.RATE:
            wait = self.faults.retry_after
            message = "Rate limit reached for requests, by the fault script."
            return ApiProblem(kind, message, retry_after=_USUAL_WAIT if wait is None else wait)
        if kind is ProblemKind.INVALID:
            fault = "The request is not valid, by the fault script."
        return ApiProblem(kind, fault)

    def _reserve(self, endpoint: CallEndpoint, call: ParsedCall, usage: Usage) -> Limits:
        """Take what the call needs; OpenAI holds as much back as the call may write."""
        wanted = endpoint.rate_limited_tokens(usage)
        held = (call.max_tokens or 0) if endpoint.name == "openai" else 0
        reserved = Limits(requests=1, input=wanted, total=max(wanted, held))
        short = self.state.limiter.take(self._owner, reserved, self._now)
        if short and self.state.limiter.silent:
            raise ApiProblem(ProblemKind.RATE, "Too Many Requests")
        if short:
            message, of_tokens = _shortage_message(short, call.model), short.kind != "requests"
            raise ApiProblem(ProblemKind.RATE, message, retry_after=short.wait, of_tokens=of_tokens)
        return reserved

    def _settle(self, endpoint: CallEndpoint, reserved: Limits) -> None:
        """Take what was written, and give back what was held for nothing."""
        usage = self.entry.usage or Usage()
        used = endpoint.rate_limited_tokens(usage) + usage.output
        changes = Limits(output=usage.output, total=used - (reserved.total or 0))
        self.state.limiter.settle(self._owner, changes, self._now)

    def _outcome(self, call: ParsedCall, model: KnownModel, faults: Faults) -> SimulatedOutcome:
        thinking = self._thinking(call)
        most = min(call.max_tokens or model.most_output, model.most_output)
        # The simulated model counts a token for four bytes; this one may count more of them.
        room = int((most - thinking) / model.token_factor)
        outcome = respond(self._model_call(call), faults, max(1, room))
        if outcome.fault:
            return outcome
        if call.prewarm:
            stop = Stop.LENGTH if call.max_tokens == 0 else Stop.END
            return replace(outcome, text="", stop=stop, usage=Usage())
        if thinking >= most:  # all of the budget went into reasoning
            spent = Usage(output=thinking, reasoning=thinking)
            return replace(outcome, text="", stop=Stop.LENGTH, usage=spent)
        if not faults.quiet:
            number, blocks = self.draw_number, outcome.blocks
            self.entry.fault = _outcome_fault(outcome) or disturbances(faults, number, blocks)
        written = tokens_of(byte_length(outcome.text), model)
        return replace(outcome, usage=Usage(output=written + thinking, reasoning=thinking))

    def _thinking(self, call: ParsedCall) -> int:
        thinking = self.state.config.thinking
        return thinking if call.max_tokens is None else min(thinking, call.max_tokens)

    def _model_call(self, call: ParsedCall) -> Call:
        system, user, turns = call.system, call.user, call.turns
        schema = call.schema
        if blocks_in(asked_text(user, turns)) and (
            schema is None or "results" in as_object(schema.get("properties"))
        ):
            # The words also say what no schema could bind.
            schema = find_schema_in_words(system) or schema
        return Call(
            attempt_id=AttemptId(self.draw_number),
            model=call.model,
            system=system,
            user=user,
            turns=turns,
            output_schema=schema,
            params=call.sampling,
        )

    def _wait(self, blocks: list[AskedBlock]) -> float:
        state = self.state
        wait = state.latency.draw(state.chance)
        if not first_strike(self.faults, ("slow",), self.draw_number, blocks):
            return wait
        self.entry.fault = f"{self.entry.fault},slow".removeprefix(",")
        return state.latency.slow_wait(wait)

    def _plan_error(self, problem: ApiProblem) -> ResponsePlan:
        self.entry.problem = problem.message
        self.state.request_log.count_refusal(self.entry)
        response = self._vendor.error(problem, self.entry.number)
        headers = {**self._headers(), **response.headers}
        body = orjson.dumps(response.body)
        return ResponsePlan(status=response.status, body=body, headers=headers)

    def reply_json(self, body: Json) -> ResponsePlan:
        """Answer with JSON, as it is."""
        return ResponsePlan(status=200, body=orjson.dumps(body), headers=self._headers())

    def _headers(self) -> dict[str, str]:
        levels: dict[str, BucketLevel] = {}
        if self._owner[0] and not self.state.limiter.silent:
            levels = self.state.limiter.levels(self._owner, self._now)
        return self._vendor.headers(self.entry.number, levels, self._now)


def parse_json(raw: bytes) -> Json:
    """Read a body, hostile until its form is checked."""
    try:
        return orjson.loads(raw)  # type: ignore[no-any-return]
    except ValueError:
        raise ApiProblem(ProblemKind.NOT_JSON, "the body is not JSON") from None


def _outcome_fault(outcome: SimulatedOutcome) -> str:
    if outcome.stop is Stop.REFUSAL:
        return "refuse"
    return outcome.slip if outcome.text else "empty"


def _shortage_message(short: Shortage, model: str) -> str:
    what = "requests" if short.kind == "requests" else f"{short.kind} tokens"
    return (
        f"Rate limit reached for {model} on {what} per min: Limit {short.limit},"
        f" Used {short.used}, Requested {short.wanted}. Please try again in {short.wait:.3f}s."
    )
