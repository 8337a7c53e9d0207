"""JSON: a list of objects is rows, anything else is cut at its members; each has a JSON pointer.

A list at the top, or in a member of an object at the top, is one block an item. Every other member
of an object at the top is one block. Deeper values are never cut: they stand inside their block.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from quire.domain.data import Json, canonical_json, mend_text, strict_json
from quire.domain.documents import Block, BlockType, LeftOut, ReadOptions
from quire.sources.row_blocks import lacks_text, row_block, row_without_text
from quire.sources.source_parts import BadContent, SourceParts


class _Member(NamedTuple):
    pointer: str
    value: Any
    headings: tuple[str, ...] = ()
    name: str | None = None  # in the object that it is a member of


def read_text(text: str, options: ReadOptions) -> SourceParts:
    """Cut a JSON value into blocks."""
    if not text.strip():
        return SourceParts("", ())
    try:
        value = strict_json(text.encode())
    except ValueError as error:
        hint = "; if each line is JSON, call it .jsonl" if _is_lines(text) else ""
        raise BadContent(f"is not JSON: {error}{hint}") from error
    members = list(_members(value))
    if not members:
        raise BadContent("has no rows")
    asked: list[_Member] = []
    left_out: list[LeftOut] = []
    for member in members:
        if _is_row(member) and lacks_text(member.value, options):
            left_out.append(row_without_text(member.pointer))
        else:
            asked.append(member)
    return SourceParts("", tuple(_blocks(asked, options)), left_out)


def _is_lines(text: str) -> bool:
    first, _, rest = text.lstrip().partition("\n")
    try:
        strict_json(first.encode())
    except ValueError:
        return False
    return bool(rest.strip())


def _is_row(member: _Member) -> bool:
    return isinstance(member.value, dict) and member.name is None


def _blocks(members: Iterable[_Member], options: ReadOptions) -> Iterator[Block]:
    for index, member in enumerate(members):
        locator = {"type": "json_pointer", "pointer": member.pointer}
        if _is_row(member):
            try:
                block = row_block(index, member.value, locator, options)
            except BadContent as error:
                raise BadContent(f"{member.pointer}: {error}") from error
        elif options.text_column is not None:
            raise BadContent(f"{member.pointer}: is no object with a field {options.text_column!r}")
        else:
            kind = BlockType.OTHER if member.name is None else BlockType.KEY_VALUE_REGION
            block = Block(index, kind, _content(member), locator)
        yield block._replace(headings=member.headings)


def _members(value: Json) -> Iterator[_Member]:
    if isinstance(value, list):
        yield from (_Member(f"/{place}", item) for place, item in enumerate(value))
        return
    if not isinstance(value, dict):
        yield _Member("", value)
        return
    for name, member in value.items():
        pointer = "/" + name.replace("~", "~0").replace("/", "~1")
        if isinstance(member, list) and member and all(isinstance(item, dict) for item in member):
            for place, item in enumerate(member):
                yield _Member(f"{pointer}/{place}", item, (mend_text(name),))
        else:
            yield _Member(pointer, member, (), name)


def _content(member: _Member) -> str:
    if member.name is not None:
        return canonical_json({member.name: member.value})
    if isinstance(member.value, str):
        return mend_text(member.value)
    return canonical_json(member.value)
