"""Documents come in, are listed, and go for good."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import EXAMPLES, SCHEMA, Quire


def test_init_says_where_to_go_on_in_a_browser_or_here(quire: Quire) -> None:
    last = quire("init").stdout.splitlines()[-1]

    assert last.startswith("next: quire serve, for the browser; or quire ingest FILES")


def test_init_writes_settings_and_makes_the_ledger(quire: Quire, folder: Path) -> None:
    quire("init")

    assert (folder / "quire.toml").read_text().count('ledger = "quire.db"') == 1
    assert (folder / "quire.db").exists()


def test_after_init_the_environment_still_names_the_model(
    ready: Quire, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUIRE_MODEL", "simulated/large")
    assert ready.json("plan", "--schema", "clauses")["model"] == "simulated/large"

    monkeypatch.delenv("QUIRE_MODEL")
    refused = ready("plan", "--schema", "clauses", code=2).stderr
    assert "no model: give --model or model=, or set `model` in quire.toml" in refused

    settings = folder / "quire.toml"
    settings.write_text(settings.read_text().replace("# model = ", "model = "))
    assert ready.json("plan", "--schema", "clauses")["model"] == "anthropic/claude-haiku-5-5"


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


@pytest.mark.parametrize("args", [[], ["--schema", "clauses"]])
def test_a_run_in_an_empty_folder_is_refused_and_leaves_it_empty(
    quire: Quire, folder: Path, args: list[str]
) -> None:
    refused = quire("run", *args, code=3)

    assert "there is no ledger at quire.db; `quire init` makes one here" in refused.stderr
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
    made, *refused = result.stderr.splitlines()
    assert made == "a new, empty ledger was made: quire.db"
    assert [line.split(":")[1] for line in refused] == [
        " refused missing.md",
        " refused binary.md",
    ]


def test_ingest_tells_programs_what_became_of_each_file(
    quire: Quire, write_blocks: Callable[[str, int], Path]
) -> None:
    printed = quire.json("ingest", write_blocks("good.txt", 2), "missing.md", code=1)

    read = printed["documents"][0]
    assert (read["document_id"], read["title"], read["blocks"], read["new"]) == (
        1,
        "good.txt",
        2,
        True,
    )
    assert (read["path"].endswith("good.txt"), read["new_path"], read["replaced"]) == (
        True,
        True,
        [],
    )
    assert len(printed["refused"]) == 1


def test_a_delimiter_that_the_ending_does_not_state_is_found_and_told(
    quire: Quire, folder: Path
) -> None:
    (folder / "rows.csv").write_text("id;body\n7;Hello, there\n")

    said = quire("ingest", "rows.csv", "--text-column", "body").stdout

    assert "rows.csv: its cells are parted by semicolons, and read so" in said


def test_documents_that_made_way_are_marked(quire: Quire, folder: Path) -> None:
    (folder / "rows.csv").write_text("id,text\n1,hello\n")
    quire("ingest", "rows.csv")
    assert "replaced" not in quire("documents").stdout
    quire("ingest", "rows.csv", "--text-column", "text")

    listed = quire.json("documents")

    assert [(row["use"], row["aside"]) for row in listed] == [("replaced", True), ("", False)]
    assert [row["options"] for row in listed] == [{}, {"text_column": "text"}]
    assert "replaced" in quire("documents").stdout.splitlines()[2]


def test_a_text_column_becomes_the_block(quire: Quire, folder: Path) -> None:
    (folder / "rows.csv").write_text("id,body\n7,Hello there\n")
    quire("ingest", "rows.csv", "--text-column", "body", "--key-column", "id")
    quire("run", "--schema", SCHEMA, "--model", "simulated/small")

    assert quire.json("show")[0]["block_content"] == "Hello there"


def test_a_file_that_is_read_in_another_way_takes_the_place_of_the_older_document(
    quire: Quire, folder: Path
) -> None:
    (folder / "rows.csv").write_text("id,text,more\n1,hello,a\n2,bye,b\n")
    quire("schema", "add", SCHEMA)
    quire("ingest", "rows.csv")
    asked = ("--schema", "clauses", "--model", "simulated/small")
    assert "changed" not in quire("ingest", "rows.csv").stdout

    said = quire("ingest", "rows.csv", "--text-column", "text", "--replace").stdout
    alone = quire.json("plan", *asked)["blocks"]
    back = quire.json("ingest", "rows.csv", "--text-column", "", "--keep")["documents"][0]
    both = quire.json("plan", *asked)["blocks"]

    assert (
        'rows.csv is read in another way (--text-column "text", before not given): now document 2'
        in said
    )
    assert "document 1 is left to the runs that have it, or name it (--keep: both)" in said
    assert (alone, both) == (2, 4)
    assert (back["document_id"], back["replaced"], back["beside"]) == (1, [], [2])


def test_a_path_is_read_as_it_was_before_unless_something_else_is_said(
    quire: Quire, folder: Path
) -> None:
    rows = folder / "data" / "rows.csv"
    rows.parent.mkdir()
    rows.write_text("id,text,more\n1,hello,a\n")
    quire("ingest", "data/rows.csv", "--text-column", "text", "--key-column", "id")
    (folder / "data" / "new.csv").write_text("id,note\n1,bye\n")

    same = quire.json("ingest", "data")["documents"]
    rows.write_text("id,text,more\n1,hello,a\n2,bye,b\n")
    grown = quire("ingest", "data").stdout
    other = quire("ingest", "data/rows.csv", "--text-column", "more").stdout

    chosen = {"key_column": "id", "text_column": "text"}
    assert [row["options"] for row in same] == [{}, chosen]
    assert (same[1]["document_id"], same[1]["new"]) == (1, False)
    assert "data/rows.csv has changed: now document 3" in grown
    assert 'is read in another way (--text-column "more", before "text"): now document 4' in other
    listed = [row for row in quire.json("documents") if row["use"] == ""]
    assert [row["options"] for row in listed] == [{}, {"key_column": "id", "text_column": "more"}]


def test_two_files_of_the_same_content_share_a_document_and_neither_vanishes(
    quire: Quire, folder: Path
) -> None:
    (folder / "a.txt").write_text("One rule.\n")
    (folder / "b.txt").write_text("One rule.\n")

    said = quire("ingest", "a.txt", "b.txt").stdout

    assert said == "1 document, 1 block new; 1 more path of what is here\n"
    listed = quire.json("documents")
    assert [(row["id"], row["source_locator"]) for row in listed] == [(1, "a.txt"), (1, "b.txt")]
    (folder / "b.txt").write_text("Another rule.\n")
    changed = quire("ingest", "b.txt").stdout
    assert "b.txt has changed" in changed
    assert "document 1 stays, as a.txt" in changed
    listed = quire.json("documents")
    assert [(row["id"], row["source_locator"]) for row in listed] == [(1, "a.txt"), (2, "b.txt")]


def test_folders_and_globs_name_documents(quire: Quire, folder: Path) -> None:
    for name in ("contracts/a.txt", "contracts/old/b.txt", "contracts/c.md", "notes/d.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"All about {name}.\n")
    quire("ingest", "contracts", "notes")
    asked = ("plan", "--schema", SCHEMA, "--model", "simulated/small", "--document")

    counts = {
        name: quire.json(*asked, name)["documents"]
        for name in (
            "contracts/*.txt",
            "contracts/",
            "**/*.txt",
            "*.md",
            f"{folder}/notes",
            "d.txt",
        )
    }

    assert counts == dict(zip(counts, (1, 3, 3, 1, 1, 1), strict=True))
    assert "there is no document 'letters/*'" in quire(*asked, "letters/*", code=2).stderr
    assert len(quire.json("purge", "contracts/", "--yes")["purged"]) == 3
    assert [row["title"] for row in quire.json("documents")] == ["d.txt"]


def test_documents_are_listed_whole_in_a_narrow_table(ready: Quire) -> None:
    lines = ready("documents").stdout.splitlines()

    assert lines[0].split() == ["id", "title", "type", "blocks", "characters", "from"]
    assert lines[2].split()[:4] == ["1", "notes.txt", "txt", "30"]
    assert max(map(len, lines)) <= 100


def test_a_title_cannot_steer_the_terminal(quire: Quire, folder: Path) -> None:
    (folder / "red\x1b[31m.txt").write_text("Hello.")
    (folder / "a\u202egnp.txt").write_text("A name that reads as another, a\u2066txt.png.")
    quire("ingest", ".")

    text = quire("documents").stdout

    assert not {"\x1b", "\u202e", "\u2066"} & set(text)
    assert "red\\x1b[31m.txt" in text
    assert "a\\u202egnp.txt" in text


def test_a_document_is_put_aside_and_taken_back(ready: Quire) -> None:
    put = ready("aside", "notes.txt").stdout
    aside = ready.json("documents")[0]["use"]
    back = ready.json("aside", "notes.txt", "--back")

    assert put.startswith("1 document put aside")
    assert aside == "aside"
    assert back == {"documents": [1], "aside": False}
    assert ready.json("documents")[0]["use"] == ""


def test_a_document_is_purged_with_a_yes(ready: Quire) -> None:
    result = ready("purge", "notes.txt", "--yes")

    assert result.stdout.startswith("erased 'notes.txt'")
    assert ready.json("documents") == []


def test_without_a_terminal_purge_needs_a_yes(ready: Quire) -> None:
    result = ready("purge", "notes.txt", code=2)

    assert "--yes" in result.stderr
    assert len(ready.json("documents")) == 1


def test_what_was_left_out_is_counted_and_listed_on_request(quire: Quire, folder: Path) -> None:
    (folder / "in").mkdir()
    (folder / "in" / "x.exe").write_text("x")
    (folder / "in" / "rows.csv").write_text("a,b\n1,2\n3\n")

    summary, *listed = quire("ingest", "in", "--skip-bad-rows", "--left-out").stdout.splitlines()

    assert summary == (
        "1 document, 1 block new; 1 file of other types left out;"
        " 1 part of files left out: --left-out lists them"
    )
    assert listed == [
        "left out in/x.exe: unknown type of file: .exe",
        "left out in/rows.csv: line 3: 1 fields, but the header has 2",
    ]


def test_rows_without_text_are_counted_and_listed_on_request(quire: Quire, folder: Path) -> None:
    (folder / "rows.jsonl").write_text('{"a":"x"}\n{"a":null}\n{"a":" "}\n')

    result = quire("ingest", "rows.jsonl", "--text-column", "a", "--left-out")

    assert result.stdout.splitlines() == [
        "1 document, 1 block new; 2 rows without text left out: --left-out lists them",
        "left out rows.jsonl: line 2: there is no text in this row",
        "left out rows.jsonl: line 3: there is no text in this row",
    ]


def test_rows_left_out_of_a_known_file_are_not_told_in_part(quire: Quire, folder: Path) -> None:
    (folder / "rows.csv").write_text("id,a\n1,\n2,x\n3,\n")
    quire("ingest", "rows.csv", "--text-column", "a")

    again = quire("ingest", "rows.csv", "--text-column", "a").stdout

    assert again == "0 documents, 0 blocks new; 1 already here\n"


def test_an_encoding_that_there_is_not_is_told_once(quire: Quire, folder: Path) -> None:
    (folder / "a.txt").write_text("x")

    result = quire("ingest", "a.txt", "--encoding", "klingon", code=2)

    assert "there is no encoding 'klingon'" in result.stderr
