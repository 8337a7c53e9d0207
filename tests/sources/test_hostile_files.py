"""Files that are broken, wrong or made to harm: one clear line each, and the others still go in."""

import os
import resource
import zipfile
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from quire.domain.documents import ReadOptions
from quire.domain.errors import SourceUnreadable
from quire.sources import csv_rows, zip_archives
from quire.sources.reading_limits import ReadingLimits
from quire.sources.reading_pool import ReadFile, read_sources
from quire.sources.source_reader import read_bytes, read_source
from tests.sources.sample_documents import make_pdf, sample

MAIN_PARTS = {
    "docx": "word/document.xml",
    "xlsx": "xl/workbook.xml",
    "pptx": "ppt/presentation.xml",
}
ENTITIES = (
    b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
)


def refusal(raw: bytes, form: str) -> str:
    """Read all of what must be refused, in this process."""
    with pytest.raises(SourceUnreadable) as refused:
        list(read_bytes(raw, form, "f").blocks)
    line = str(refused.value)
    assert line.startswith("f: ")
    assert "\n" not in line
    return line.removeprefix("f: ")


def contents_or_refusal(raw: bytes, form: str) -> str:
    """All that a source says, or the one line that refuses it."""
    try:
        return "".join(block.content for block in read_bytes(raw, form, "f").blocks)
    except SourceUnreadable as error:
        return str(error)


def rewrite(form: str, change: Callable[[str, bytes], bytes]) -> bytes:
    """The sample in a format, with the parts of its archive changed."""
    file = BytesIO()
    with zipfile.ZipFile(BytesIO(sample(form))) as old, zipfile.ZipFile(file, "w", 8) as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    return file.getvalue()


def add_part(form: str, name: str, content: bytes) -> bytes:
    """The sample in a format, with one more part in its archive."""
    file = BytesIO(sample(form))
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return file.getvalue()


def outcomes(folder: Path, files: Mapping[str, bytes], **limits: float) -> dict[str, ReadFile]:
    """Write files and read them as a folder is read, in processes of their own."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    paths = [folder / name for name in files]
    bounds = ReadingLimits(**limits)  # type: ignore[arg-type]
    return {file.path.name: file for file in read_sources(paths, limits=bounds)}


@pytest.mark.parametrize("form", ["docx", "xlsx", "pptx"])
def test_an_archive_that_unpacks_to_too_much_is_refused_before_it_is_unpacked(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zip_archives, "LARGEST_UNPACKED", 1 << 20)
    bomb = add_part(form, "media/zeros.bin", bytes(2 << 20))

    assert refusal(bomb, form).endswith("more than it may: a zip bomb?")


def test_an_archive_of_too_many_parts_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_archives, "MOST_PARTS", 3)

    assert refusal(sample("docx"), "docx").endswith("parts, more than 3")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("form", ["docx", "xlsx", "pptx"])
def test_entities_are_refused_whether_they_grow_or_name_files(form: str, encoding: str) -> None:
    part = MAIN_PARTS[form]

    def declare(name: str, content: bytes) -> bytes:
        if name != part:
            return content
        head, _, rest = content.partition(b"?>")
        return (head + b"?>" + ENTITIES + rest).decode().encode(encoding)

    assert (
        refusal(rewrite(form, declare), form) == f"declares entities in {part}, as no {form} does"
    )


def test_names_in_an_archive_that_lead_out_of_it_write_nothing(tmp_path: Path) -> None:
    target = tmp_path / "evil.xml"
    raw = add_part("docx", f"../../../../../..{target}", b"x")

    assert list(read_bytes(raw, "docx", "f").blocks)
    assert not target.exists()


def test_an_archive_with_broken_data_is_told() -> None:
    raw = bytearray(sample("docx"))
    start = raw.index(b"word/document.xml") + 60
    raw[start : start + 40] = b"\0" * 40

    assert refusal(bytes(raw), "docx").startswith("is broken")


@pytest.mark.parametrize(
    ("form", "of", "reason"),
    [
        ("docx", "pdf", "is no docx: it is not a zip archive; it is a pdf"),
        ("docx", "xlsx", "is no docx: it is a xlsx"),
        ("xlsx", "docx", "is no xlsx: it is a docx"),
        ("pptx", "json", "is no pptx: it is not a zip archive"),
        ("pdf", "docx", "is no pdf"),
        ("txt", "docx", "is binary, not text (it has NUL bytes)"),
        ("html", "xlsx", "is binary, not text (it has NUL bytes)"),
        ("parquet", "pdf", "is broken, or is no parquet: "),
        ("eml", "json", "is no letter: it has no header lines"),
    ],
)
def test_a_file_with_the_ending_of_another_type_is_told(form: str, of: str, reason: str) -> None:
    assert refusal(sample(of), form).startswith(reason)


@pytest.mark.parametrize("form", ["docx", "xlsx", "pptx"])
def test_an_office_file_with_a_password_is_told(form: str) -> None:
    compound = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)

    assert refusal(compound, form).startswith("has a password or is an old ")


def test_a_pdf_with_a_password_is_told() -> None:
    key = "<" + "ab" * 32 + ">"
    encryption = f"/Encrypt<</Filter/Standard/V 1/R 2/Length 40/P -4/O {key}/U {key}>>"
    raw = make_pdf([[(72, 72, 12, "secret")]], trailer=f"{encryption}/ID[<00><00>]")

    assert refusal(raw, "pdf") == "has a password: save it without"


@pytest.mark.parametrize("share", [0.05, 0.3, 0.7])
@pytest.mark.parametrize("form", ["pdf", "docx", "xlsx", "pptx", "parquet"])
def test_a_file_that_was_cut_off_is_told_or_read_as_far_as_it_goes(form: str, share: float) -> None:
    raw = sample(form)[: int(share * len(sample(form)))]

    assert contents_or_refusal(raw, form)


def test_a_pdf_of_pictures_says_how_it_can_be_read() -> None:
    picture = "q 9 0 0 9 9 9 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x41 EI Q\n"

    one, two = (refusal(make_pdf([[]] * count, drawing=picture), "pdf") for count in (1, 2))

    assert one == "has no text layer (1 page of pictures); try --ocr"
    assert two == "has no text layer (2 pages of pictures); try --ocr"


def test_a_page_without_text_among_others_is_listed() -> None:
    picture = "q 9 0 0 9 9 9 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x41 EI Q\n"

    parsed = read_bytes(make_pdf([[(72, 72, 12, "words")], []], drawing=picture), "pdf", "f")

    assert [tuple(item)[:2] for item in parsed.left_out] == [
        ("page 2", "a picture without text; --ocr reads it")
    ]


@pytest.mark.parametrize("form", ["docx", "pdf", "html", "json", "eml", "txt"])
def test_two_gigabytes_are_refused_at_once(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"huge.{form}"
    path.touch()
    os.truncate(path, 2 << 30)

    with pytest.raises(SourceUnreadable, match=r"is larger than (64|256) MiB"):
        read_source(path)


@pytest.mark.parametrize(
    "form",
    ["csv", "jsonl", pytest.param("tsv", marks=pytest.mark.soak)],  # which is read as csv is
)
def test_a_line_without_an_end_fills_no_memory(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"endless.{form}"
    path.write_text("a,b\n1,")
    os.truncate(path, 2 << 30)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(SourceUnreadable, match="is binary, not text"):
        read_source(path)

    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 600 << 10  # KiB


def test_a_line_of_rows_that_is_too_long_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_rows, "LONGEST_LINE", 1 << 10)
    path = tmp_path / "long.csv"
    path.write_text("a,b\n" + "x," * (1 << 9) + "x\n")

    with pytest.raises(SourceUnreadable, match=r"long\.csv: line 2: is longer than 1024 char"):
        list(read_source(path, ReadOptions(skip_bad_rows=True)).blocks)


def test_nul_and_half_surrogates_never_reach_a_block() -> None:
    file = BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"a": ["x\0y"]}), file)

    (block,) = read_bytes(file.getvalue(), "parquet", "f").blocks

    assert block.content == '{"a":"x\ufffdy"}'


def test_text_in_two_encodings_at_once_is_told_with_its_place() -> None:
    raw = "Größe".encode() + "Größe".encode("latin-1")

    assert refusal(raw, "html").startswith("is not UTF-8 at byte 9; ")


@pytest.mark.parametrize(
    ("form", "raw"),
    [
        ("html", b"<div>" * 30_000 + b"x"),
        ("html", b"<table><tr><td>" * 3_000 + b"x"),
        ("html", b'<table><tr><td colspan="999999999" rowspan=99999>x<td>y</table>'),
        ("eml", b"Content-Type: multipart/mixed; boundary=a\n\n" + b"--a\n" * 3_000),
        ("rst", b"* " * 200 + b"x"),
        ("rst", b".. include:: /etc/passwd\n\n.. raw:: html\n   :file: /etc/passwd\n\nx\n"),
    ],
)
def test_what_is_made_to_blow_up_is_read_or_refused(form: str, raw: bytes) -> None:
    assert "root:" not in contents_or_refusal(raw, form)


def test_a_file_that_takes_too_long_is_ended_and_the_others_are_read(tmp_path: Path) -> None:
    endless = b"<a" * 400_000  # the parser of Python's own library needs hours for it
    files = {"a.html": sample("html"), "slow.html": endless, "z.docx": sample("docx")}

    found = outcomes(tmp_path, files, cpu_seconds=1, cpu_seconds_per_mib=0)

    assert (
        found["slow.html"].refusal
        == f"{tmp_path}/slow.html: takes more than 1 seconds of CPU to read"
    )
    assert [found[name].refusal for name in ("a.html", "z.docx")] == ["", ""]


def test_a_file_that_takes_too_much_memory_is_refused_and_the_others_are_read(
    tmp_path: Path,
) -> None:
    files = {
        "a.html": sample("html"),
        "big.html": b"<p>" + b"x" * 60_000_000,  # as bytes, as text and once more in a block
        "z.rst": sample("rst"),
    }

    found = outcomes(tmp_path, files, memory_mib=128)

    assert found["big.html"].refusal.endswith("takes more than 128 MiB of memory to read")
    assert [found[name].refusal for name in ("a.html", "z.rst")] == ["", ""]


def test_a_parquet_file_that_swells_does_not_fill_the_disk(tmp_path: Path) -> None:
    file = BytesIO()
    rows = pyarrow.array(["z" * 1_000] * 5_000)
    pyarrow.parquet.write_table(pyarrow.table({"a": rows}), file)

    found = outcomes(tmp_path, {"swells.parquet": file.getvalue()}, blocks_mib=1)

    assert found["swells.parquet"].refusal.endswith("its blocks cannot be written: File too large")


def test_blocks_come_from_a_process_as_they_are_read_in_this_one(tmp_path: Path) -> None:
    forms = ("html", "rst", "docx", "pptx", "xlsx", "pdf", "eml", "parquet", "json")
    for form in forms:
        (tmp_path / f"a.{form}").write_bytes(sample(form))
    paths = [tmp_path / f"a.{form}" for form in forms]

    for path, file in zip(paths, read_sources(paths), strict=True):
        here = read_source(path)
        assert file.parsed is not None
        assert list(file.parsed.blocks) == list(here.blocks)
        assert (file.parsed.conv_uid, file.parsed.title) == (here.conv_uid, here.title)
        assert list(file.parsed.left_out) == list(here.left_out)


def test_no_process_and_no_file_stays_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spools = tmp_path / "spools"
    spools.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spools))
    (tmp_path / "a.html").write_bytes(sample("html"))
    files = read_sources([tmp_path / "a.html"])
    next(files)
    assert list(spools.iterdir())

    files.close()

    assert list(spools.iterdir()) == []


def test_a_process_is_not_given_the_keys_of_its_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    (tmp_path / "a.html").write_bytes(sample("html"))
    files = read_sources([tmp_path / "a.html"])
    next(files)

    children = [
        Path(f"/proc/{child}/environ").read_bytes()
        for task in Path("/proc/self/task").iterdir()
        for child in (task / "children").read_text().split()
    ]
    files.close()

    readers = [environment for environment in children if b"PATH=" in environment]
    assert readers
    assert not any(b"sk-secret" in environment for environment in readers)


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from quire.sources import source_reader

    def import_nothing(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(source_reader, "import_module", import_nothing)

    assert (
        refusal(sample("docx"), "docx") == "its reader is not installed: pip install 'quire[files]'"
    )
