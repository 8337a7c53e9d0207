"""Stored texts: what requests say, once more, from the ledger; to the byte, or not at all.

A request that goes on with an answer says nothing of its own: the question that was asked first,
all that was said so far, and the words that ask for more. All three are in the ledger, so that it
is rendered again like any other, and checked against what was promised when it was queued.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby

from quire.domain.continuation import AnswerPiece
from quire.domain.ids import AttemptId, RequestId
from quire.domain.requests import CallText, QueuedRequest, Role, Turn
from quire.gates.assembly import assemble_pieces
from quire.ledger.ledger import Transaction
from quire.pipeline.calls.render import rerender_requests
from quire.pipeline.contexts import LaneContext
from quire.planning.continuation import instruction
from quire.planning.rendering import BlockItem, payload_hash, user_text


def verified_texts(
    tx: Transaction, context: LaneContext, requests: Sequence[QueuedRequest]
) -> dict[RequestId, CallText]:
    """Texts as the ledger stores or renders them, where they are what was promised."""
    continued = [request for request in requests if request.parent is not None]
    plain = [request for request in requests if request.parent is None]
    history = context.stage.history  # is not stored with a body
    rendered = [request.id for request in plain if request.body is None or history]
    texts = _render_texts(tx, context, rendered)
    texts |= {
        item.id: CallText(item.body, texts[item.id].turns if item.id in texts else ())
        for item in plain
        if item.body is not None
    }
    if continued:
        texts |= _continued_texts(tx, context, continued)
    return {
        request.id: text
        for request in requests
        if (text := texts.get(request.id)) is not None
        and _hash(context, request.max_output, text) == request.payload_hash
    }


def _hash(context: LaneContext, max_output: int, text: CallText) -> bytes:
    return payload_hash(context.request_head(max_output).payload_head, text.user, text.turns)


def _render_texts(
    tx: Transaction, context: LaneContext, requests: Sequence[RequestId]
) -> dict[RequestId, CallText]:
    if not context.by_block:
        return rerender_requests(tx, context, requests)
    contents = tx.requests.member_contents(requests) if requests else []
    return {
        request: CallText(
            user_text(
                context.stage.prompt,
                request,
                [
                    BlockItem(member.block_index, member.block_type, member.content or "")
                    for member in members
                ],
            )
        )
        for request, members in groupby(contents, lambda content: content.request_id)
    }


def _continued_texts(
    tx: Transaction, context: LaneContext, requests: Sequence[QueuedRequest]
) -> dict[RequestId, CallText]:
    parents = {item.id: item.parent for item in requests if item.parent is not None}
    chains = tx.pieces.pieces_before([*parents.values()])
    seeds = seed_texts(tx, context, chains)
    return {
        request: continuation_text(context, seeds[parent], chains[parent])
        for request, parent in parents.items()
        if parent in seeds
    }


def seed_texts(
    tx: Transaction, context: LaneContext, chains: Mapping[AttemptId, Sequence[AnswerPiece]]
) -> dict[AttemptId, CallText]:
    """The questions that chains began with; not there where one would be put differently now."""
    first = {last: chain[0].attempt_id for last, chain in chains.items()}
    roots = tx.pieces.requests_of_attempts([*first.values()])
    texts = verified_texts(tx, context, [*roots.values()])
    return {
        last: texts[roots[attempt].id]
        for last, attempt in first.items()
        if attempt in roots and roots[attempt].id in texts
    }


def continuation_text(
    context: LaneContext, seed: CallText, chain: Sequence[AnswerPiece]
) -> CallText:
    """The three messages that go on with a chain, behind whatever came before its question."""
    so_far = assemble_pieces(chain, json=context.answers_json)
    gap = chain[-1].gap
    turns = (*seed.turns, Turn(Role.USER, seed.user), Turn(Role.ASSISTANT, so_far))
    return CallText(instruction(gap, so_far), turns, bound=not gap.is_fragment)
