"""The call view: a prompt with its blocks, answers with their ids marked, and what differs."""

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from quire.domain.data import Json
from quire.engine.queries import ExchangeView
from quire.gates.packed_json import refused_record
from quire.ledger.tables.views import AttemptView, MemberView

COLOURS = 6  # that wire ids take in turn
UID = "block_uid"  # the field that names a task on the wire
MOST_COMPARED = 2000  # lines of an answer


class MarkedText(NamedTuple):
    """A piece of a text; a wire id has a colour."""

    text: str
    colour: int | None


class SentBlock(NamedTuple):
    """A block as the model saw it."""

    uid: str
    colour: int
    about: str
    content: str


class SentPrompt(NamedTuple):
    """What the user's message says, and the blocks in it; none where it is text alone."""

    text: str
    blocks: list[SentBlock]


class JudgedRecord(NamedTuple):
    """A task of the call, what was answered for it, and what the gates said."""

    member: MemberView
    colour: int
    block: SentBlock | None  # what it was asked about, where it stands by itself in the prompt
    fields: Mapping[str, Json]


class DiffLine(NamedTuple):
    """A line of two answers: in both, only in the first, or only in the second."""

    kind: str  # same, del, ins
    text: str


def read_prompt(view: ExchangeView) -> SentPrompt | None:
    """The user's message, its JSON read; None once purged."""
    if view.user is None:
        return None
    head, _, last = view.user.rpartition("\n")
    try:
        blocks = json.loads(last)["blocks"]
        return SentPrompt(head, [_block(block, no) for no, block in enumerate(blocks)])
    except (ValueError, KeyError, TypeError):
        return SentPrompt(view.user, [])


def _block(block: Mapping[str, Json], no: int) -> SentBlock:
    about = f"{block['block_type']} {block['block_index']}"
    return SentBlock(str(block["block_uid"]), no % COLOURS, about, str(block["block_content"]))


def colours_of(members: Sequence[MemberView]) -> dict[str, int]:
    """The colour of each wire id, by its place."""
    return {member.wire_id: no % COLOURS for no, member in enumerate(members)}


def mark_ids(text: str, colours: Mapping[str, int]) -> list[MarkedText]:
    """A text, its wire ids marked where they stand in quotes."""
    if not colours:
        return [MarkedText(text, None)]
    ids = re.compile('"(' + "|".join(map(re.escape, colours)) + ')"')
    return list(_mark(text, ids, colours))


def _mark(text: str, ids: re.Pattern[str], colours: Mapping[str, int]) -> Iterator[MarkedText]:
    place = 0
    for found in ids.finditer(text):
        yield MarkedText(text[place : found.start()], None)
        yield MarkedText(found[0], colours[found[1]])
        place = found.end()
    yield MarkedText(text[place:], None)


def judge_records(view: ExchangeView, prompt: SentPrompt | None) -> list[JudgedRecord]:
    """Every task of the call beside its block, with its record in the last readable answer."""
    answers = [attempt.decoded for attempt in view.attempts if attempt.decoded]
    colours = colours_of(view.members)
    blocks = {block.uid: block for block in prompt.blocks} if prompt else {}
    return [
        JudgedRecord(
            member,
            colours[member.wire_id],
            blocks.get(member.wire_id),
            _fields(answers[-1], member) if answers else {},
        )
        for member in view.members
    ]


def _fields(answer: str, member: MemberView) -> dict[str, Json]:
    record = refused_record(answer, member.wire_id)
    if not isinstance(record, Mapping):
        return {} if record is None else {"answer": record}
    return {name: value for name, value in record.items() if name != UID}


def compare_answers(attempts: Sequence[AttemptView]) -> list[DiffLine]:
    """What differs between the last two answers; none where there are not two."""
    answers = [_lines(attempt.decoded) for attempt in attempts if attempt.decoded]
    if len(answers) < 2:
        return []
    kinds = {"  ": "same", "- ": "del", "+ ": "ins"}
    return [
        DiffLine(kinds[line[:2]], line[2:])
        for line in difflib.Differ().compare(*answers[-2:])
        if line[:2] in kinds
    ]


def _lines(answer: str) -> list[str]:
    with suppress(ValueError):  # plain text is compared as it is
        answer = json.dumps(json.loads(answer), indent=1, ensure_ascii=False)
    return answer.splitlines()[:MOST_COMPARED]
