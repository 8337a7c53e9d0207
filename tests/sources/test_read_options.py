"""Encodings, delimiters and bad rows: what is stated is heeded, what is wrong is told."""

import json
from io import BytesIO

import pyarrow.parquet
import pytest
from openpyxl import Workbook

from quire.domain.data import as_object
from quire.domain.documents import LeftOut, ReadOptions
from quire.domain.errors import SourceUnreadable, UsageError
from quire.sources.read_options import make_read_options
from quire.sources.source_reader import read_bytes


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-le", "koi8-r", "shift_jis"])
@pytest.mark.parametrize("form", ["md", "txt", "csv", "jsonl", "json", "html", "rst"])
def test_text_is_read_in_the_encoding_that_is_stated(form: str, encoding: str) -> None:
    word = {"koi8-r": "жук", "shift_jis": "本"}.get(encoding, "Größe")
    if encoding == "utf-16-le" and form == "html":
        word = "Größe"
    text = {"csv": f"a\n{word}\n", "jsonl": f'{{"a":"{word}"}}\n', "json": f'["{word}"]'}
    raw = text.get(form, f"{word}\n").encode(encoding)
    options = make_read_options({"encoding": encoding})

    parsed = read_bytes(raw, form, "f", options)

    assert [word in block.content for block in parsed.blocks] == [True]
    assert f";encoding={options.encoding}" in parsed.parsing_tool


def test_text_in_another_encoding_says_what_to_pass() -> None:
    with pytest.raises(
        SourceUnreadable, match="not UTF-8 at byte 2; if it is in latin-1, say --enc"
    ):
        read_bytes("Größe".encode("latin-1"), "txt", "f")
    with pytest.raises(SourceUnreadable, match="then say --encoding utf-16-be"):
        read_bytes("a long line".encode("utf-16-be"), "txt", "f")
    with pytest.raises(SourceUnreadable, match="f: is not utf-8 at byte 1"):
        read_bytes(b"a\xff", "txt", "f", ReadOptions(encoding="utf-8"))


def test_a_stated_delimiter_is_taken_and_not_told() -> None:
    options = make_read_options({"delimiter": "semicolon"})

    parsed = read_bytes(b"a,b;c\n1,2;3\n", "csv", "f", options)

    assert [block.content for block in parsed.blocks] == ['{"a,b":"1,2","c":"3"}']
    assert parsed.delimiter == ""


@pytest.mark.parametrize(
    ("choices", "reason"),
    [
        ({"encoding": "klingon"}, "there is no encoding 'klingon'"),
        ({"encoding": "hex"}, "there is no encoding 'hex'"),
        ({"delimiter": ";;"}, "a delimiter is one character, or comma, semicolon, tab, pipe"),
        ({"delimiter": '"'}, "a delimiter is one character"),
    ],
)
def test_options_that_there_are_not_are_told(choices: dict[str, str], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        make_read_options(choices)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("form", "raw", "left"),
    [
        (
            "csv",
            'a,b\n1,2\n3\n4,"5"x\n6,7\n',
            [
                LeftOut("line 3", "1 fields, but the header has 2"),
                LeftOut("line 4", "',' expected after '\"'"),
            ],
        ),
        (
            "jsonl",
            '{"a":1}\n[]\nx\n{"a":2}\n',
            [
                LeftOut("line 2", "is not a JSON object"),
                LeftOut("line 3", "is not JSON: expected value at column 1"),
            ],
        ),
    ],
)
def test_bad_rows_are_left_out_on_request_and_listed(
    form: str, raw: str, left: list[LeftOut]
) -> None:
    parsed = read_bytes(raw.encode(), form, "f", ReadOptions(skip_bad_rows=True))

    blocks = list(parsed.blocks)

    assert len(blocks) == 2
    assert parsed.left_out == left
    assert list(parsed.blocks) == blocks
    assert parsed.left_out == left
    with pytest.raises(SourceUnreadable):
        list(read_bytes(raw.encode(), form, "f").blocks)


def rows_in(form: str, texts: list[str | None]) -> bytes:
    """A file with the columns `id` and `body`."""
    rows = [{"id": str(number), "body": text} for number, text in enumerate(texts, 1)]
    file = BytesIO()
    if form == "parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), file)
    elif form == "xlsx":
        book = Workbook()
        for cells in (("id", "body"), *((row["id"], row["body"]) for row in rows)):
            book.worksheets[0].append(cells)
        book.save(file)
    elif form == "csv":
        lines = ["id,body", *(f"{row['id']},{row['body'] or ''}" for row in rows)]
        return "\n".join(lines).encode()
    else:
        whole = json.dumps(rows) if form == "json" else "\n".join(map(json.dumps, rows))
        return whole.encode()
    return file.getvalue()


@pytest.mark.parametrize("form", ["csv", "jsonl", "json", "xlsx", "parquet"])
def test_rows_without_text_are_no_blocks_and_are_listed(form: str) -> None:
    options = ReadOptions(text_column="body", key_column="id")
    parsed = read_bytes(rows_in(form, [None, "one", " ", "two", ""]), form, "f", options)

    for _ in range(2):
        assert [(block.index, block.content) for block in parsed.blocks] == [(0, "one"), (1, "two")]
        assert [item.without_text for item in parsed.left_out] == [True] * 3
    assert [as_object(block.locator)["key"] for block in parsed.blocks] == ["2", "4"]
    with pytest.raises(SourceUnreadable, match=r"^f: no row has text in its column 'body'$"):
        read_bytes(rows_in(form, [None, " "]), form, "f", options)


def test_a_row_keeps_its_number_where_others_are_left_out() -> None:
    parsed = read_bytes(b"a,b\n1\n2,3\n", "csv", "f", ReadOptions(skip_bad_rows=True))

    assert [block.locator for block in parsed.blocks] == [{"type": "row", "row": 2}]


def test_json_is_cut_at_its_members() -> None:
    raw = b'{"name":"x","rows":[{"a":1},{"a":2}],"a/b":[1,2]}'

    blocks = list(read_bytes(raw, "json", "f").blocks)

    places = [block.locator for block in blocks]
    assert [place["pointer"] for place in places if isinstance(place, dict)] == [
        "/name", "/rows/0", "/rows/1", "/a~1b",
    ]  # fmt: skip
    assert [block.content for block in blocks] == [
        '{"name":"x"}', '{"a":1}', '{"a":2}', '{"a/b":[1,2]}',
    ]  # fmt: skip
    assert blocks[1].headings == ("rows",)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ('{"a":1}\n{"a":2}', "if each line is JSON, call it .jsonl"),
        ('{"a":1,"a":2}', "is not JSON"),
        ("[]", "has no rows"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_json_that_is_none_or_holds_nothing_is_told(raw: str, reason: str) -> None:
    with pytest.raises(SourceUnreadable, match=reason):
        read_bytes(raw.encode(), "json", "f")
