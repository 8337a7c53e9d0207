"""Blocks that say the same have one number, the first one's; of other workspaces none is seen."""

import pytest

from quire.domain.ids import WorkspaceId, hash_number
from quire.ledger.ledger import Ledger, open_ledger
from quire.ledger.statements import migrations
from quire.pipeline.commands.corpus import purge
from tests.ledger.factories import NOW, add_document, block
from tests.ledger.raw import Raw


def numbers_of(raw: Raw) -> list[tuple[str, str | None]]:
    """What each block says, and where what it says was said first."""
    return raw.rows(
        "SELECT b.content, f.content FROM blocks b LEFT JOIN blocks f ON f.id = b.content_id"
        " ORDER BY b.id"
    )


def test_a_block_that_says_what_an_earlier_one_does_has_its_number(
    ledger: Ledger, raw: Raw
) -> None:
    with ledger.transaction() as tx:
        add_document(tx, ["one", "two", "one"], "a.txt")
    with ledger.transaction() as tx:
        add_document(tx, ["three", "two"], "b.txt")

    assert numbers_of(raw) == [
        *(("one", None), ("two", None), ("one", "one")),
        *(("three", None), ("two", "two")),
    ]
    assert raw.one("SELECT count(*) FROM contents") == 3


def test_what_another_workspace_says_is_not_looked_at(ledger: Ledger, raw: Raw) -> None:
    theirs = Ledger(ledger._database, WorkspaceId("theirs"))
    for item in (ledger, theirs):
        with item.transaction() as tx:
            add_document(tx, ["one"])

    assert numbers_of(raw) == [("one", None), ("one", None)]


def test_what_is_purged_is_not_found_again(ledger: Ledger, raw: Raw) -> None:
    with ledger.transaction() as tx:
        document = add_document(tx, ["one", "two", "one"], "a.txt")
        add_document(tx, ["three"], "b.txt")

    with ledger.transaction() as tx:
        purge(tx, document, NOW)

    assert raw.one("SELECT count(*) FROM contents") == 1
    with ledger.transaction() as tx:
        add_document(tx, ["one", "three"], "c.txt")
    assert numbers_of(raw) == [("three", None), ("one", None), ("three", "three")]


@pytest.mark.usefixtures("migrated_ledgers")
def test_blocks_from_before_are_found_by_their_contents(
    bare_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {dialect: migrations(dialect) for dialect in ("sqlite", "postgres")}
    old = {
        name: {no: text for no, text in record.items() if no < 31} for name, record in known.items()
    }
    monkeypatch.setattr("quire.ledger.ledger.migrations", old.__getitem__)
    open_ledger(bare_url).close()
    raw = Raw(bare_url)
    raw.rows(
        "INSERT INTO documents (id, workspace_id, source_uid, source_type, source_filesize,"
        " source_locator, title, uploaded_at, conv_uid, conv_parsing_tool,"
        " conv_representation_type, conv_total_blocks, conv_block_type_freq, conv_total_characters)"
        " VALUES (1, 'local', 'u', 'txt', 1, 'a', 'a', 1, 'u', 't', 'text', 2, '{}', 6)"
    )
    for number, first in ((1, None), (2, 1)):
        raw.rows(
            "INSERT INTO blocks (id, workspace_id, document_id, block_index, block_type, locator,"
            " headings, content, content_hash, json_bytes, content_id)"
            " VALUES (:id, 'local', 1, :id, 'paragraph', '{}', '[]', 'one', :name, 5, :first)",
            id=number,
            name=block(0, "one").content_hash,
            first=first,
        )
    monkeypatch.undo()

    ledger = open_ledger(bare_url)

    with ledger.transaction() as tx:
        name = block(0, "one").content_hash
        assert tx.documents.first_blocks([hash_number(name)]) == {hash_number(name): 1}
    assert raw.one("SELECT count(*) FROM contents") == 1
    raw.close()
    ledger.close()
