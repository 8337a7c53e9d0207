"""Answers from the text alone: the blocks a call carries, and one record for each of them."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import cycle, islice
from json import dumps, loads
from typing import NamedTuple

import orjson

from quire.domain.data import Json, JsonObject, as_object
from quire.simulated.answer_sizes import within_reach
from quire.simulated.field_values import BlockText, read_block_text
from quire.simulated.judge_prompts import material_of
from quire.simulated.long_texts import words_asked_for
from quire.simulated.record_filler import compile_fields, compile_filler

_PLAIN_WORDS = 60
_RESTATED_WORDS = 400


class AskedBlock(NamedTuple):
    """One block as it stands in the message."""

    uid: str
    content: str


class AnswerWriter(NamedTuple):
    """A compiled wire schema: one block's data, or the whole answer where no records are asked."""

    record: Callable[[BlockText], dict[str, Json]] | None
    whole: Callable[[BlockText], Json] | None


def blocks_in(user: str) -> list[AskedBlock]:
    """Read the blocks from the message's last line; a message without any has an empty list."""
    try:
        payload = orjson.loads(user[user.rfind("\n") + 1 :])
        return [
            AskedBlock(item["block_uid"], item["block_content"])
            for item in payload["blocks"]
            if isinstance(item["block_uid"], str) and isinstance(item["block_content"], str)
        ]
    except (ValueError, KeyError, TypeError):
        return []


def writer_for(output_schema: JsonObject) -> AnswerWriter:
    """Compile a wire schema; equal schemas are compiled once."""
    return _compile_writer(write_json(output_schema))


def records_for(blocks: Sequence[AskedBlock], output_schema: JsonObject) -> list[JsonObject] | None:
    """Write a record for each block, flat or nested as asked; None where none are asked for."""
    fill = writer_for(output_schema).record
    if fill is None:
        return None
    return [{"block_uid": uid, **fill(read_block_text(content))} for uid, content in blocks]


def text_of(records: Sequence[JsonObject], longer: float = 0.0) -> str:
    """Write records as the model would, longer by that share through insignificant whitespace.

    The whitespace is spread as a wordier answer would be, so that an output limit cuts as many off.
    """
    if not longer:
        return write_json({"results": records})
    pieces = [write_json(record) for record in records]
    share = byte_length(text_of(records)) * longer / (sum(map(byte_length, pieces)) or 1)
    owed, padded = 0.0, []
    for piece in pieces:
        owed += byte_length(piece) * share
        padded.append(piece + " " * round(owed))
        owed -= round(owed)
    return f'{{"results":[{",".join(padded)}]}}'


def answer(user: str, output_schema: JsonObject | None) -> str:
    """Answer one message: a record for each block, one object, or plain text, as asked."""
    if output_schema is None:
        return _plain_answer(user)
    whole = writer_for(output_schema).whole
    if whole is not None:
        return write_json(whole(read_block_text(user)))
    return text_of(records_for(blocks_in(user), output_schema) or [])


def _plain_answer(user: str) -> str:
    """Restate the material of a message; where none is marked as such, its first words.

    Where it asks for "about 200 words", it is so many, from the start again where there are fewer.
    """
    material = material_of(user).removeprefix("simulated: ")  # it may be an answer of ours
    words = material.split()[:_RESTATED_WORDS] if material else user.split()[:_PLAIN_WORDS]
    asked = words_asked_for(user)
    if asked and words:
        words = [*islice(cycle((material or user).split()), asked)]
    return f"simulated: {' '.join(words)}"


def byte_length(text: str) -> int:
    """Measure text as it travels."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def write_json(value: Json) -> str:
    """Write JSON; the slow way only for integers beyond 64 bits, which a schema may name."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return dumps(value, separators=(",", ":"), ensure_ascii=False)


@lru_cache(maxsize=256)
def _compile_writer(written: str) -> AnswerWriter:
    schema = as_object(within_reach(loads(written)))
    items = as_object(as_object(schema.get("properties")).get("results")).get("items")
    if not isinstance(items, dict):
        return AnswerWriter(None, compile_filler(schema))
    return AnswerWriter(compile_fields(items, without="block_uid"), None)
