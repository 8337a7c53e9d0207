"""Fallbacks: the next weaker way for a part that a server refuses, and a call written in it.

A server may not take what all calls are sent with: a bound form of the answer, the system role, the
name of the output limit. Asking every task in vain would cost a call each, so one refusal decides
for all: the next weaker way is taken, at once and for nothing, and remembered for this model at
this address. The ways end: the form in words, the prefix before the blocks, the parameter left out.
What was asked does not change, since the prefix says in words what a form would have bound.

Calls that were out under the stronger way come back refused as well. They step along: a way is
weaker only if the refused call was sent as calls are sent now.
"""

from collections.abc import Iterable
from dataclasses import replace

from quire.domain.fallbacks import (
    COUNTED_STREAM,
    LEFT_OUT,
    PLAIN_STREAM,
    Fallback,
    FallbackPart,
    Fallbacks,
    PartRefusal,
    RefusedPart,
)
from quire.domain.models import ModelFacts, StructuredOutput
from quire.domain.requests import Call, Role, Turn

SYSTEM, USER = "system", "user"  # whose words the prefix is said to be
MAX_TOKENS, MAX_COMPLETION_TOKENS = "max_tokens", "max_completion_tokens"

_FORMS = tuple(StructuredOutput)  # the strongest first
_PARTS = {
    RefusedPart.FORMAT: FallbackPart.STRUCTURED,
    RefusedPart.FORMAT_TYPE: FallbackPart.STRUCTURED,
    RefusedPart.TOOLS: FallbackPart.STRUCTURED,
    RefusedPart.SYSTEM_ROLE: FallbackPart.SYSTEM,
    RefusedPart.DEVELOPER_ROLE: FallbackPart.SYSTEM,
    RefusedPart.MAX_TOKENS: FallbackPart.LIMIT,
    RefusedPart.MAX_COMPLETION_TOKENS: FallbackPart.LIMIT,
    RefusedPart.OUTPUT_LIMIT: FallbackPart.MAX_OUTPUT,
    RefusedPart.TEMPERATURE: FallbackPart.TEMPERATURE,
    RefusedPart.TOP_P: FallbackPart.TOP_P,
    RefusedPart.SEED: FallbackPart.SEED,
    RefusedPart.STREAM: FallbackPart.STREAM,
}
_OTHER_NAMES = {
    RefusedPart.MAX_TOKENS: MAX_COMPLETION_TOKENS,
    RefusedPart.MAX_COMPLETION_TOKENS: MAX_TOKENS,
}


def part_of(refusal: PartRefusal) -> FallbackPart:
    """The part of a call that a refusal is about."""
    return _PARTS[refusal.part]


def next_fallback(facts: ModelFacts, refusal: PartRefusal, sent: Fallbacks) -> Fallback | None:
    """The next weaker way for what was refused as it was sent; None where none is left."""
    part = part_of(refusal)
    before = sent.get(part, "")
    match part:
        case FallbackPart.STRUCTURED:
            way = _weaker_form(structured_way(facts, sent), refusal.part)
        case FallbackPart.SYSTEM:
            first = SYSTEM if refusal.part is RefusedPart.DEVELOPER_ROLE else USER
            way = "" if before == USER else USER if before else first
        case FallbackPart.LIMIT:
            way = "" if before == LEFT_OUT else LEFT_OUT if before else _OTHER_NAMES[refusal.part]
        case FallbackPart.MAX_OUTPUT:
            most = refusal.most_output
            way = str(most) if 0 < most < (int(before) if before else facts.max_output) else ""
        case FallbackPart.STREAM:
            way = {"": COUNTED_STREAM, COUNTED_STREAM: PLAIN_STREAM}.get(before, "")
        case _:
            way = "" if before else LEFT_OUT
    return Fallback(part, way) if way else None


def structured_way(facts: ModelFacts, fallbacks: Fallbacks) -> StructuredOutput:
    """How the form of the answer is asked for: as it is stated, or weaker."""
    stated, way = facts.wire.structured, fallbacks.get(FallbackPart.STRUCTURED)
    return max(stated, StructuredOutput(way), key=_FORMS.index) if way else stated


def _weaker_form(form: StructuredOutput, refused: RefusedPart) -> str:
    """A bound form gives way to some JSON, that to words; where none is taken, at once to words.

    A tool is never stepped down to: servers that ignore one say nothing, and their answers break.
    """
    if form is StructuredOutput.TEXT:
        return ""
    if refused is RefusedPart.FORMAT or form is StructuredOutput.JSON:
        return StructuredOutput.TEXT.value
    return StructuredOutput.JSON.value


def limit_output(facts: ModelFacts, places: Iterable[Fallbacks]) -> ModelFacts:
    """What is known of a model, with the longest answer that it allows wherever it is asked."""
    said = [int(found.get(FallbackPart.MAX_OUTPUT, facts.max_output)) for found in places]
    return replace(facts, max_output=min([facts.max_output, *said])) if said else facts


def is_limit_left_out(places: Iterable[Fallbacks]) -> bool:
    """Whether there is a place at which a model is not told how long an answer may be."""
    return any(found.get(FallbackPart.LIMIT) == LEFT_OUT for found in places)


def weakest_form(facts: ModelFacts, places: Iterable[Fallbacks]) -> StructuredOutput:
    """How weakly the form of answers is asked for at any place that the model is asked at."""
    forms = [structured_way(facts, found) for found in places]
    return max([facts.wire.structured, *forms], key=_FORMS.index)


def weaken_call(call: Call, facts: ModelFacts, fallbacks: Fallbacks) -> Call:
    """The same call, written in the weaker ways."""
    if not fallbacks:
        return call
    params, limit = call.params, fallbacks.get(FallbackPart.LIMIT, "")
    params = replace(
        params,
        temperature=None if FallbackPart.TEMPERATURE in fallbacks else params.temperature,
        top_p=None if FallbackPart.TOP_P in fallbacks else params.top_p,
        seed=None if FallbackPart.SEED in fallbacks else params.seed,
    )
    if params.max_tokens is not None and FallbackPart.MAX_OUTPUT in fallbacks:
        most = int(fallbacks[FallbackPart.MAX_OUTPUT])
        params = replace(params, max_tokens=min(params.max_tokens, most))
    if limit == LEFT_OUT:
        params, limit = replace(params, max_tokens=None), ""
    wire = replace(call.wire, structured=structured_way(facts, fallbacks))
    role = fallbacks.get(FallbackPart.SYSTEM, "")
    stream = fallbacks.get(FallbackPart.STREAM, "")
    call = replace(call, params=params, wire=wire, limit_name=limit, stream=stream)
    if role == USER and call.system:  # it stands before the blocks, and is cached as well there
        return _with_system_said(call)
    return replace(call, system_role=role)


def _with_system_said(call: Call) -> Call:
    """The same call, its system text said by the user at the beginning of all that is said."""
    if not call.turns:
        return replace(call, system="", user=f"{call.system}\n\n{call.user}")
    said = Turn(Role.USER, call.system)
    return replace(call, system="", turns=(said, *call.turns), stable_turns=call.stable_turns + 1)
