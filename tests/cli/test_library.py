"""Documents come in, are listed, and go for good."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import EXAMPLES, SCHEMA, Quire


def test_init_writes_settings_and_makes_the_ledger(quire: Quire, folder: Path) -> None:
    quire("init")

    assert (folder / "quire.toml").read_text().count('ledger = "quire.db"') == 1
    assert (folder / "quire.db").exists()


@pytest.mark.parametrize("args", [["--ledger", "my.db", "init"], ["init", "--ledger=my.db"]])
def test_init_writes_the_ledger_it_is_told(quire: Quire, folder: Path, args: list[str]) -> None:
    quire(*args)

    assert 'ledger = "my.db"\n' in (folder / "quire.toml").read_text()
    assert (folder / "my.db").exists()
    assert quire.json("documents") == []


def test_init_takes_the_ledger_of_the_environment(
    quire: Quire, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUIRE_LEDGER", "from_environment.db")

    quire("init")

    assert (folder / "from_environment.db").exists()
    assert not (folder / "quire.db").exists()


def test_init_leaves_settings_alone_that_are_there(quire: Quire, folder: Path) -> None:
    (folder / "quire.toml").write_text('ledger = "old.db"\n')

    result = quire("init")

    assert "stays as it is" in result.stderr
    assert (folder / "quire.toml").read_text() == 'ledger = "old.db"\n'
    assert (folder / "old.db").exists()


def test_init_with_a_wrong_ledger_leaves_no_settings_behind(quire: Quire, folder: Path) -> None:
    quire("init", "--ledger", "no/such/folder.db", code=3)

    assert list(folder.iterdir()) == []


def test_ingest_says_what_came_in(quire: Quire) -> None:
    result = quire("ingest", EXAMPLES / "contracts")

    assert result.stdout == "3 documents, 52 blocks new\n"


def test_what_is_here_already_is_counted_apart(
    quire: Quire, write_blocks: Callable[[str, int], Path]
) -> None:
    known, new = write_blocks("known.txt", 2), write_blocks("new.txt", 3)
    quire("ingest", known)

    result = quire("ingest", known, new)

    assert result.stdout == "1 document, 3 blocks new; 1 already here\n"


def test_a_bad_file_gets_one_line_and_the_rest_go_in(
    quire: Quire, folder: Path, write_blocks: Callable[[str, int], Path]
) -> None:
    (folder / "binary.md").write_bytes(b"\x00\x01\xff")

    result = quire("ingest", "binary.md", write_blocks("good.txt", 1), "missing.md", code=1)

    assert result.stdout == "1 document, 1 block new; 2 refused\n"
    assert [line.split(":")[1] for line in result.stderr.splitlines()] == [
        " refused missing.md",
        " refused binary.md",
    ]


def test_ingest_tells_programs_what_became_of_each_file(
    quire: Quire, write_blocks: Callable[[str, int], Path]
) -> None:
    printed = quire.json("ingest", write_blocks("good.txt", 2), "missing.md", code=1)

    assert printed["documents"] == [
        {"document_id": 1, "title": "good.txt", "blocks": 2, "new": True, "delimiter": ""}
    ]
    assert len(printed["refused"]) == 1


def test_a_delimiter_that_the_ending_does_not_state_is_found_and_told(
    quire: Quire, folder: Path
) -> None:
    (folder / "rows.csv").write_text("id;body\n7;Hello, there\n")

    said = quire("ingest", "rows.csv", "--text-column", "body").stdout

    assert "rows.csv: its cells are parted by semicolons, and read so" in said


def test_documents_that_were_put_aside_are_marked(quire: Quire, folder: Path) -> None:
    (folder / "rows.csv").write_text("id,text\n1,hello\n")
    quire("ingest", "rows.csv")
    assert "aside" not in quire("documents").stdout
    quire("ingest", "rows.csv", "--text-column", "text", "--replace")

    assert [document["aside"] for document in quire.json("documents")] == [True, False]
    assert "aside" in quire("documents").stdout.splitlines()[2]


def test_a_text_column_becomes_the_block(quire: Quire, folder: Path) -> None:
    (folder / "rows.csv").write_text("id,body\n7,Hello there\n")
    quire("ingest", "rows.csv", "--text-column", "body", "--key-column", "id")
    quire("run", "--schema", SCHEMA, "--model", "simulated/small")

    assert quire.json("show")[0]["block_content"] == "Hello there"


def test_a_file_that_is_read_in_another_way_is_told_and_can_replace_the_older_document(
    quire: Quire, folder: Path
) -> None:
    (folder / "rows.csv").write_text("id,text,more\n1,hello,a\n2,bye,b\n")
    quire("schema", "add", SCHEMA)
    quire("ingest", "rows.csv")
    asked = ("--schema", "clauses", "--model", "simulated/small")
    assert "read before" not in quire("ingest", "rows.csv").stdout

    said = quire("ingest", "rows.csv", "--text-column", "text").stdout
    doubled = quire.json("plan", *asked)["blocks"]
    replaced = quire("ingest", "rows.csv", "--text-column", "text", "--replace").stdout
    alone = quire.json("plan", *asked)["blocks"]

    assert "read before with other content or columns: rows.csv (document 1)" in said
    assert "`quire ingest … --replace` puts the older aside" in said
    assert "put aside, for the runs that name it: what was read before of rows.csv" in replaced
    assert (doubled, alone) == (4, 2)
    back = quire.json("ingest", "rows.csv", "--replace")["earlier"]
    assert back == [{"document": 2, "from": "rows.csv", "aside": True}]


def test_documents_are_listed_whole_in_a_narrow_table(ready: Quire) -> None:
    lines = ready("documents").stdout.splitlines()

    assert lines[0].split() == ["id", "title", "type", "blocks", "characters", "from"]
    assert lines[2].split()[:4] == ["1", "notes.txt", "txt", "30"]
    assert max(map(len, lines)) <= 100


def test_a_title_cannot_steer_the_terminal(quire: Quire, folder: Path) -> None:
    (folder / "red\x1b[31m.txt").write_text("Hello.")
    quire("ingest", ".")

    text = quire("documents").stdout

    assert "\x1b" not in text
    assert "red\\x1b[31m.txt" in text


def test_a_document_is_purged_with_a_yes(ready: Quire) -> None:
    result = ready("purge", "notes.txt", "--yes")

    assert result.stdout.startswith("erased 'notes.txt'")
    assert ready.json("documents") == []


def test_without_a_terminal_purge_needs_a_yes(ready: Quire) -> None:
    result = ready("purge", "notes.txt", code=2)

    assert "--yes" in result.stderr
    assert len(ready.json("documents")) == 1
