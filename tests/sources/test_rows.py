"""CSV and JSON lines: one block a row, streamed."""

import json
import tracemalloc
from pathlib import Path
from time import process_time
from typing import Unpack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.data import Json, canonical_json
from quire.domain.documents import ReadChoices, ReadOptions
from quire.domain.errors import SourceUnreadable
from quire.sources.source_reader import read_bytes, read_source


def contents(data: str, form: str, **choices: Unpack[ReadChoices]) -> list[str]:
    """Read everything and take the contents."""
    parsed = read_bytes(data.encode(), form, "f", ReadOptions(**choices))
    return [block.content for block in parsed.blocks]


def refusal(data: bytes | str, form: str, **choices: Unpack[ReadChoices]) -> str:
    """Read everything of what must be refused."""
    raw = data.encode() if isinstance(data, str) else data
    with pytest.raises(SourceUnreadable) as refused:
        list(read_bytes(raw, form, "f", ReadOptions(**choices)).blocks)
    return str(refused.value)


def test_a_row_is_the_canonical_json_of_its_fields() -> None:
    assert contents('b,a\n1,"x, ""y""\nz"\n', "csv") == ['{"a":"x, \\"y\\"\\nz","b":"1"}']


def test_tabs_separate_where_the_ending_says_so() -> None:
    assert contents("a\tb\n1,5\t2\n", "tsv") == ['{"a":"1,5","b":"2"}']


def test_a_named_text_column_is_the_whole_content() -> None:
    assert contents("id,body\n1,hello\n", "csv", text_column="body") == ["hello"]
    assert contents('{"id":1,"body":"hello"}', "jsonl", text_column="body") == ["hello"]


def test_a_named_key_column_stands_in_the_locator() -> None:
    rows = read_bytes(b"id,body\nk1,hello\n", "csv", "f", ReadOptions(key_column="id")).blocks
    lines = read_bytes(b'\n{"id":7}\n', "jsonl", "f", ReadOptions(key_column="id")).blocks

    assert [block.locator for block in rows] == [{"type": "row", "row": 1, "key": "k1"}]
    assert [block.locator for block in lines] == [{"type": "line", "line": 2, "key": 7}]


def test_blank_lines_are_passed_over() -> None:
    assert contents("\na,b\n\n1,2\n\n", "csv") == ['{"a":"1","b":"2"}']
    assert contents('\n{"a":1}\n \r\n{"a":2}\n', "jsonl") == ['{"a":1}', '{"a":2}']


def test_a_byte_order_mark_is_no_part_of_the_first_field() -> None:
    assert contents("\ufeffa\n1\n", "csv") == ['{"a":"1"}']
    assert contents('\ufeff{"a":1}\n', "jsonl") == ['{"a":1}']


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("a,b\n1\n", "f: line 2: 1 fields, but the header has 2"),
        ("a,b\n1,2\n\n1,2,3\n", "f: line 4: 3 fields, but the header has 2"),
        ("a,a\n1,2\n", "f: line 1: two columns are named 'a'"),
        ("a,\n1,2\n", "f: line 1: a column has no name"),
        ('a\n"x\n', "f: line 2: unexpected end of data"),
        ('a\n"x"y\n', "f: line 2: ',' expected after '\"'"),
        ("a,b\n", "f: has no rows"),
        ("\n\n", "f: has no header line"),
        ("a\n" + "x" * (1 << 24) + "y\n", "f: line 2: field larger than field limit (16777216)"),
    ],
)
def test_a_bad_csv_row_is_told_with_its_line(data: str, reason: str) -> None:
    assert refusal(data, "csv") == reason


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"a":1', "is not JSON: EOF"),
        ("[1]", "is not a JSON object"),
        ("null", "is not a JSON object"),
        ('{"a":1,"a":2}', "duplicate key"),
        ('{"a":NaN}', "is not JSON"),
        ('{"a":1e400}', "is not JSON"),
        ('{"a":"\\ud800"}', "is not JSON"),
        ('{"a":1} {"a":2}', "trailing characters at column 9"),
        ("[" * 1_000 + "]" * 1_000, "recursion limit"),
    ],
)
def test_a_bad_json_line_is_told_with_its_number(line: str, reason: str) -> None:
    told = refusal('{"a":0}\n\n' + line, "jsonl")

    assert told.startswith("f: line 3: ")
    assert reason in told


@pytest.mark.parametrize(
    ("data", "form", "reason"),
    [
        ("a,b\n1,2\n", "csv", "f: has no column 'c'; its columns are a, b"),
        ('{"a":1}', "jsonl", "f: line 1: has no field 'c'"),
        ('{"c":1}', "jsonl", "f: line 1: its field 'c' is not text"),
        ('{"c":"\\u0000"}', "jsonl", "f: line 1: its field 'c' has a NUL character"),
    ],
)
def test_a_text_column_that_is_not_there_is_told(data: str, form: str, reason: str) -> None:
    assert refusal(data, form, text_column="c") == reason


def test_other_columns_make_another_conversion_of_the_same_source() -> None:
    data = b"a,b\n1,2\n"
    plain = read_bytes(data, "csv", "f")
    named = read_bytes(data, "csv", "f", ReadOptions(text_column="a"))
    keyed = read_bytes(data, "csv", "f", ReadOptions(key_column="a"))

    assert len({document.conv_uid for document in (plain, named, keyed)}) == 3
    assert len({document.source_uid for document in (plain, named, keyed)}) == 1
    assert named.parsing_tool == "quire-csv/1;text=a;no_text=skipped"


def test_rows_before_a_bad_one_are_yielded_before_it_is_told(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("a\n1\n2\n3,4\n")

    rows = iter(read_source(path).blocks)

    assert [next(rows).content, next(rows).content] == ['{"a":"1"}', '{"a":"2"}']
    with pytest.raises(SourceUnreadable, match="line 4"):
        next(rows)


def test_blocks_can_be_read_more_than_once(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    path.write_text('{"a":1}\n{"a":2}\n')

    blocks = read_source(path).blocks

    assert list(blocks) == list(blocks)
    assert len(list(blocks)) == 2


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("a\n1\n2\n")
    parsed = read_source(path)

    path.write_text("a\n1\n2\n3\n")

    with pytest.raises(SourceUnreadable, match="was changed while it was read"):
        list(parsed.blocks)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_many_rows_need_no_memory(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"f.{form}"
    row = "x" * 1_000 if form == "csv" else json.dumps({"a": "x" * 1_000})
    path.write_text("a\n" + f"{row}\n" * 10_000 if form == "csv" else f"{row}\n" * 10_000)

    tracemalloc.start()
    count = sum(1 for _ in read_source(path).blocks)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert count == 10_000
    assert peak < 5_000_000  # of 10 MB


@given(st.lists(st.dictionaries(st.text(), st.integers() | st.text(), min_size=1), min_size=1))
def test_any_json_rows_come_back_as_canonical_json(rows: list[dict[str, Json]]) -> None:
    data = "".join(json.dumps(row) + "\n" for row in rows)

    assert contents(data, "jsonl") == [canonical_json(row) for row in rows]


def test_a_header_of_very_many_columns_takes_no_time() -> None:
    header = ",".join(f"column {number}" for number in range(100_000))
    before = process_time()

    with pytest.raises(SourceUnreadable, match=r"columns are column 0, .* and 99950 more$"):
        read_bytes(f"{header}\n".encode(), "csv", "f", ReadOptions(text_column="c"))

    assert process_time() - before < 5  # seconds; comparing each with each takes minutes


@pytest.mark.parametrize(
    ("data", "form", "blocks"),
    [
        ("a;b\n1;x, y\n", "csv", ['{"a":"1","b":"x, y"}']),
        ("a\tb\n1\t2\n", "csv", ['{"a":"1","b":"2"}']),
        ("a|b|c\n1|2|3\n", "csv", ['{"a":"1","b":"2","c":"3"}']),
        ("a,b\n1,2\n", "tsv", ['{"a":"1","b":"2"}']),
        ('a;b\n"x;y";2\n', "csv", ['{"a":"x;y","b":"2"}']),
        ("\ufeffa;b\n1;2\n", "csv", ['{"a":"1","b":"2"}']),
        ("a,b\n1;2,3\n", "csv", ['{"a":"1;2","b":"3"}']),  # the stated one parts the header
        ("text\none; two\nthree; four\n", "csv", ['{"text":"one; two"}', '{"text":"three; four"}']),
        ("a;b\nno\nnone\n1;2\n", "csv", ['{"a;b":"no"}', '{"a;b":"none"}', '{"a;b":"1;2"}']),
    ],
)
def test_the_delimiter_is_what_parts_the_header_and_most_of_the_first_rows(
    data: str, form: str, blocks: list[str]
) -> None:
    assert contents(data, form) == blocks


def test_a_row_that_is_parted_in_another_way_than_the_header_is_refused() -> None:
    assert refusal("a;b\n1;2\n3;4\n5\n", "csv") == "f: line 4: 1 fields, but the header has 2"
