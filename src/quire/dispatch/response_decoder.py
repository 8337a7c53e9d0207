"""Decoding a response: whatever a vendor's decoder does, the paid bytes are kept."""

from typing import NamedTuple

from quire.domain.accounts import Account, Secret
from quire.domain.batches import RowEnd, parse_custom_id
from quire.domain.data import JsonObject
from quire.domain.errors import OddBody, Undecodable
from quire.domain.ids import AttemptId
from quire.domain.models import Usage
from quire.domain.pricing import price_call
from quire.domain.requests import Answer, Call, Reply, Stop
from quire.domain.runs import BATCH
from quire.pipeline.contexts import LaneContext
from quire.providers.embedding_formats import read_vectors
from quire.providers.protocol import BatchApi, Provider
from quire.providers.wire import MOST_TOKENS


class BatchLine(NamedTuple):
    """Of a body that may still be wrapped in its line of a batch's results: whose line it is."""

    batch_api: BatchApi
    attempt: AttemptId


def decode_response(
    provider: Provider, raw: bytes, body: JsonObject | None = None, line: BatchLine | None = None
) -> Reply | Undecodable:
    """Decode a body, perhaps parsed already, or say why it cannot be used; never raises."""
    try:
        reply = provider.decode(raw if line is None else response_body(line, raw), body)
        if not isinstance(reply.text, str) or not _is_plausible(reply.usage):
            return Undecodable("the response has no text, or token counts that cannot be")
        if not (reply.text or reply.usage.exact or any(reply.usage[:-1])):
            return Undecodable("the response has neither an answer nor what it used")
    except Undecodable as error:
        return error
    except Exception as error:  # noqa: BLE001 - a bug in a decoder must not cost the answer
        return Undecodable(f"the decoder failed: {describe_error(error)}")
    return reply


def check_embeddings(call: Call, raw: bytes, reply: Reply | Undecodable) -> Reply:
    """What came back for passages: declined, whatever it is, unless there is a vector for each.

    Nobody waits for a newer decoder: shared words do instead, and the paid bytes are kept.
    """
    try:
        whole = len(read_vectors(raw)) == len(call.passages)
    except Undecodable:
        whole = False
    usage = reply.usage if isinstance(reply, Reply) else Usage(exact=False)
    return Reply("", Stop.END if whole else Stop.REFUSAL, usage)


def build_answer(
    context: LaneContext,
    attempt: AttemptId,
    raw: bytes,
    reply: Reply | Undecodable,
    version: int,
    presumed: int = 0,
) -> Answer:
    """What a call brought back, priced; one that cannot be read costs what is presumed."""
    head = (attempt, context.run_id, context.stage_id, raw)
    if isinstance(reply, Undecodable):
        odd = None if context.route == BATCH else reply.odd  # a batch's row is never asked again
        presumed = 0 if odd is OddBody.PAGE else presumed  # nobody bills for a page
        return Answer(*head, None, version, presumed, str(reply), odd)
    price, usage = context.facts.price, reply.usage
    if (price.input or price.output) and _is_unsaid(reply):
        reply = reply._replace(usage=usage._replace(exact=False))
    cost = price_call(context.facts, usage, batched=context.route == BATCH)
    return Answer(*head, reply, version, cost)


def _is_unsaid(reply: Reply) -> bool:
    """Whether counts of nought cannot be: something was read, and something written."""
    usage = reply.usage
    unread = usage.input_total == 0 and reply.stop is not Stop.REFUSAL
    return unread or (usage.output == 0 and bool(reply.text))


def _is_plausible(usage: Usage) -> bool:
    """Whether a model can have used so many tokens, and a database can hold their cost."""
    return (
        0 <= usage.input_total <= MOST_TOKENS
        and 0 <= usage.output <= MOST_TOKENS
        and 0 <= usage.reasoning <= MOST_TOKENS
    )


def response_body(line: BatchLine, raw: bytes) -> bytes:
    """The body in what was kept of a batch's call, which may be a whole line.

    One that is still not readable, or is none, or speaks of another call, is left as it is.
    """
    nobody = Account(provider=line.batch_api.name, credential="", key=Secret(""))
    row = line.batch_api.row(raw, nobody)
    named = parse_custom_id(row.custom_id)
    ours = named is not None and named[1] == line.attempt
    return row.raw if ours and row.end is RowEnd.ANSWERED else raw


def describe_error(error: BaseException) -> str:
    """Name an error in a line; only built-in errors are asked for their words, others may lie."""
    name = type(error).__name__
    return f"{name}: {error}" if type(error).__module__ == "builtins" else name
