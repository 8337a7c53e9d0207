"""Opening sources: names, encodings, and one clear line for whatever is wrong."""

import os
from dataclasses import fields
from pathlib import Path

import pytest

from quire.domain.documents import ReadChoices, ReadOptions
from quire.domain.errors import SourceUnreadable
from quire.domain.ids import conv_uid, source_uid
from quire.sources.source_reader import read_bytes, read_source


def refusal(path: Path) -> str:
    """Read what must be refused; the line must name the file."""
    with pytest.raises(SourceUnreadable) as refused:
        read_source(path)
    name, _, reason = str(refused.value).partition(": ")
    assert name == str(path)
    assert "\n" not in reason
    return reason


@pytest.mark.parametrize("name", ["a.md", "a.MARKDOWN", "a.txt", "a.text", "a.csv", "a.tsv"])
def test_a_type_is_told_by_its_ending(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("word\nword\n")

    assert read_source(path).source_type in ("md", "txt", "csv")


@pytest.mark.parametrize("form", ["md", "txt", "csv", "jsonl"])
def test_names_are_those_of_the_identity_rules(form: str) -> None:
    raw = "\ufeff{}\n{}\n".encode() if form == "jsonl" else "\ufeffä\nb\n".encode()

    parsed = read_bytes(raw, form, "f")

    assert parsed.source_uid == source_uid(form, raw)
    assert parsed.conv_uid == conv_uid(parsed.parsing_tool, parsed.representation_type, raw)
    assert parsed.source_filesize == len(raw)
    assert parsed.source_total_characters == len(raw.decode()) - 1


def test_a_markdown_document_is_called_by_its_heading_else_by_its_file(tmp_path: Path) -> None:
    titled, untitled = tmp_path / "a.md", tmp_path / "b.md"
    titled.write_text("# Letters\n\ntext")
    untitled.write_text("text")

    assert read_source(titled).title == "Letters"
    assert read_source(untitled).title == "b.md"


def test_a_file_is_located_by_the_path_it_was_named_by(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("text")

    assert read_source(path).source_locator == str(path)


def test_offsets_do_not_count_the_byte_order_mark() -> None:
    (block,) = read_bytes("\ufeff# A".encode(), "md", "f").blocks

    assert block.content == "# A"
    assert block.locator == {"type": "text_offset_range", "start_offset": 0, "end_offset": 3}


def test_windows_line_endings_stay_in_the_slices() -> None:
    (block,) = read_bytes(b"one\r\ntwo\r\n", "md", "f").blocks

    assert block.content == "one\r\ntwo"


def test_a_document_carries_the_options_it_was_read_with() -> None:
    options = ReadOptions(text_column="a")

    assert read_bytes(b"a,b\n1,2\n", "csv", "f", options).options == options
    assert {*ReadChoices.__annotations__} == {field.name for field in fields(ReadOptions)}


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    assert refusal(tmp_path / "a.md") == "there is no such file"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    folder = tmp_path / "a.md"
    folder.mkdir()

    assert refusal(folder) == "is not a file"


@pytest.mark.parametrize("name", ["a.exe", "a", "md"])
def test_an_unknown_type_is_told(tmp_path: Path, name: str) -> None:
    assert refusal(tmp_path / name).startswith("unknown type")


@pytest.mark.parametrize("form", ["md", "txt", "csv", "jsonl"])
def test_an_empty_file_is_told(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"a.{form}"
    path.write_bytes(b"")

    assert refusal(path) == "is empty"


@pytest.mark.parametrize("form", ["md", "txt", "jsonl"])
@pytest.mark.parametrize("raw", [b" \n\t\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n"])
def test_a_file_without_content_is_told(tmp_path: Path, form: str, raw: bytes) -> None:
    path = tmp_path / f"a.{form}"
    path.write_bytes(raw)

    assert refusal(path) in ("is empty: it holds only white space", "has no rows")


@pytest.mark.parametrize("form", ["md", "txt", "csv", "jsonl"])
@pytest.mark.parametrize("raw", [b"a\0b", b"\x89PNG\r\n\x1a\n\0\0", b"\xff\xfea\0\0\0"])
def test_a_binary_file_is_told(tmp_path: Path, form: str, raw: bytes) -> None:
    path = tmp_path / f"a.{form}"
    path.write_bytes(raw)

    assert refusal(path) == "is binary, not text (it has NUL bytes)"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "utf-32-be"])
@pytest.mark.parametrize("form", ["md", "txt", "csv", "tsv", "jsonl"])
def test_other_unicode_is_read_where_a_byte_order_mark_says_so(form: str, encoding: str) -> None:
    line = '{"a": "\U0001f600\u2028é"}\n'
    long = "Größe\n\n" + "ü\u2028\U0001f600 " * 120_000  # more than is read at once
    text = line * 2 if form == "jsonl" else long
    mark = "\ufeff" if encoding.endswith("be") else ""

    raw = (mark + text).encode(encoding)
    parsed = read_bytes(raw, form, "f")

    plain = read_bytes(text.encode(), form, "f")
    assert [*parsed.blocks] == [*plain.blocks]
    assert parsed.source_total_characters == len(text)
    assert (parsed.source_filesize, parsed.source_uid) == (
        len(raw),
        source_uid(parsed.source_type, raw),
    )


def test_what_begins_as_utf16_and_is_not_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xff\xfea\0\x00\xdcb\0")  # half of a pair

    assert refusal(path) == "begins as UTF-16 and is not at byte 4"


@pytest.mark.parametrize("form", ["md", "txt", "csv", "jsonl"])
@pytest.mark.parametrize("before", [0, 3, (1 << 20) - 1, (1 << 20), (1 << 20) + 5])
@pytest.mark.parametrize("bad", [b"\xff", b"\xc3(", b"\xf0\x9f\x98"])
def test_the_first_byte_that_is_not_utf8_is_told(
    tmp_path: Path, form: str, before: int, bad: bytes
) -> None:
    path = tmp_path / f"a.{form}"
    path.write_bytes(b"x" * before + bad)

    assert refusal(path).startswith(f"is not UTF-8 at byte {before}; ")


@pytest.mark.parametrize("shift", range(4))
def test_a_character_across_two_chunks_is_read_whole(shift: int) -> None:
    text = "x" * ((1 << 20) - shift) + "😀"

    (block,) = read_bytes(text.encode(), "txt", "f").blocks

    assert block.content == text


def test_a_gigantic_text_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.touch()
    os.truncate(path, (64 << 20) + 1)

    assert refusal(path) == "is larger than 64 MiB"


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.symlink_to("/proc/self/mem")  # a file that nobody can read from its start, not even root

    assert refusal(path) == "Input/output error"


def test_a_name_too_long_for_the_system_is_told() -> None:
    with pytest.raises(SourceUnreadable, match="too long"):
        read_source(Path("x" * 5_000 + ".md"))


def test_a_file_name_that_is_not_utf8_gives_names_that_are(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.txt"))
    path.write_text("text")

    assert read_source(path).title == "\ufffd.txt"


def test_bytes_of_an_unknown_type_are_told() -> None:
    with pytest.raises(SourceUnreadable, match="stdin: unknown type 'exe'"):
        read_bytes(b"x", "exe", "stdin")
