"""Credentials are kept once, found by provider, erased without being forgotten, and marked."""

from datetime import timedelta

import pytest

from quire.domain.accounts import KeySource
from quire.domain.errors import LedgerError
from quire.domain.ids import WorkspaceId
from quire.domain.states import CredentialMove
from quire.ledger.ledger import Ledger, open_ledger
from quire.ledger.statements import migrations
from quire.ledger.tables.credentials import NewCredential
from tests.ledger.factories import NOW, add_credential, send_all
from tests.ledger.raw import REFUSED, Raw

LATER = NOW + timedelta(hours=1)


@pytest.fixture
def theirs(ledger: Ledger) -> Ledger:
    """The same database, as another workspace sees it."""
    return Ledger(ledger._database, WorkspaceId("theirs"))


def test_a_credential_comes_back_as_it_went_in(ledger: Ledger) -> None:
    sealed = bytes(range(256))
    with ledger.transaction() as tx:
        new = NewCredential("openai", "work", KeySource.STORED, "1234", b"\x00" * 8, sealed)
        added = tx.credentials.add_credential(new, NOW)
        (kept,) = tx.credentials.credentials_of_provider("openai")

    assert (kept.id, kept.provider, kept.name, kept.source) == (added, *new[:3])
    assert (kept.tail, kept.digest, kept.sealed) == ("1234", b"\x00" * 8, sealed)
    assert (kept.state, kept.reason, kept.marked_at, kept.created_at) == ("valid", "", None, NOW)


def test_credentials_are_found_by_provider_the_oldest_first(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        for name in ("c", "a", "b"):
            add_credential(tx, name)
        add_credential(tx, "other", provider="anthropic")

        assert [
            credential.name for credential in tx.credentials.credentials_of_provider("openai")
        ] == ["c", "a", "b"]
        assert [credential.name for credential in tx.credentials.list_credentials()] == [
            "c",
            "a",
            "b",
            "other",
        ]
        assert tx.credentials.credentials_of_provider("nobody") == []


def test_the_same_key_in_the_same_place_is_written_down_once(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        add_credential(tx, "OPENAI_API_KEY", sealed=None)
        again = NewCredential("openai", "OPENAI_API_KEY", KeySource.ENVIRONMENT, "x", b"12345678")

        assert tx.credentials.add_credential(again, LATER) is None
        assert len(tx.credentials.list_credentials()) == 1


def test_a_changed_key_in_the_same_place_is_another_credential(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        first = add_credential(tx, "OPENAI_API_KEY", b"firstkey", sealed=None)
        second = add_credential(tx, "OPENAI_API_KEY", b"otherkey", sealed=None)

    assert first != second


def test_a_name_means_one_stored_key(ledger: Ledger) -> None:
    def keep(digest: bytes) -> None:
        with ledger.transaction() as tx:
            add_credential(tx, "work", digest)

    keep(b"firstkey")
    with pytest.raises(LedgerError):
        keep(b"otherkey")


def test_a_removed_key_is_erased_and_its_name_is_free_again(ledger: Ledger, raw: Raw) -> None:
    with ledger.transaction() as tx:
        old = add_credential(tx, "work", b"firstkey")
        assert tx.credentials.remove_credential(old, LATER)
        new = add_credential(tx, "work", b"otherkey")
        remembered = tx.credentials.get_credential(old)

        assert [credential.id for credential in tx.credentials.list_credentials()] == [new]
        assert not tx.credentials.remove_credential(old, LATER)
    assert remembered
    assert (remembered.name, remembered.sealed) == ("work", None)
    assert raw.one("SELECT sealed FROM credentials WHERE id = :id", id=old) is None


def test_a_removed_key_that_comes_back_is_the_same_credential(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        old = add_credential(tx)
        tx.credentials.remove_credential(old, NOW)

        assert add_credential(tx, sealed=b"sealed anew") == old
        assert [credential.sealed for credential in tx.credentials.list_credentials()] == [
            b"sealed anew"
        ]


def test_a_key_of_the_environment_cannot_be_removed(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        credential = add_credential(tx, sealed=None)

        assert not tx.credentials.remove_credential(credential, NOW)
        assert len(tx.credentials.list_credentials()) == 1


def test_a_mark_has_a_reason_and_a_moment_and_both_go_with_it(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        credential = add_credential(tx)
        assert tx.credentials.move_credentials(
            CredentialMove.REJECT, [credential], "a \0 in it", NOW
        ) == [credential]
        assert (
            tx.credentials.move_credentials(CredentialMove.EXHAUST, [credential], "too late", LATER)
            == []
        )
        (marked,) = tx.credentials.list_credentials()
        assert tx.credentials.move_credentials(CredentialMove.CLEAR, [credential], "", LATER) == [
            credential
        ]
        (cleared,) = tx.credentials.list_credentials()

    assert (marked.state, marked.reason, marked.marked_at) == ("invalid", "a \ufffd in it", NOW)
    assert (cleared.state, cleared.reason, cleared.marked_at) == ("valid", "", None)


def test_nobody_moves_where_nobody_is_named(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        add_credential(tx)

        assert tx.credentials.move_credentials(CredentialMove.REJECT, [], "why", NOW) == []


def test_credentials_of_others_are_neither_seen_nor_moved_nor_removed(
    ledger: Ledger, theirs: Ledger
) -> None:
    with ledger.transaction() as tx:
        mine = add_credential(tx)
    with theirs.transaction() as tx:
        assert (
            tx.credentials.list_credentials()
            == tx.credentials.credentials_of_provider("openai")
            == []
        )
        assert tx.credentials.get_credential(mine) is None
        assert tx.credentials.move_credentials(CredentialMove.REJECT, [mine], "spite", NOW) == []
        assert not tx.credentials.remove_credential(mine, NOW)
        add_credential(tx)  # of the same name, and of the same key

    with ledger.snapshot() as tx:
        assert [
            (credential.id, credential.state) for credential in tx.credentials.list_credentials()
        ] == [(mine, "valid")]


@pytest.mark.parametrize(
    "change",
    [
        "sealed = NULL",
        "removed_at = 1",
        "source = 'environment'",
        "source = 'dream'",
        "state = 'invalid'",
        "state = 'invalid', reason = 'no moment'",
        "reason = 'of a valid one'",
        "marked_at = 1",
    ],
)
def test_the_database_refuses_a_credential_that_contradicts_itself(
    change: str, ledger: Ledger, raw: Raw
) -> None:
    with ledger.transaction() as tx:
        add_credential(tx)

    with pytest.raises(REFUSED):
        raw.rows(f"UPDATE credentials SET {change}")


def test_an_attempt_remembers_a_credential_that_exists(ledger: Ledger, raw: Raw) -> None:
    send_all(ledger)
    with ledger.transaction() as tx:
        credential = add_credential(tx)

    raw.rows("UPDATE attempts SET credential_id = :id", id=credential)
    with pytest.raises(REFUSED):
        raw.rows("UPDATE attempts SET credential_id = 999")
    with pytest.raises(REFUSED):
        raw.rows("DELETE FROM credentials")


@pytest.mark.usefixtures("migrated_ledgers")
def test_a_ledger_of_the_first_version_gets_its_credentials(
    bare_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = {1: migrations("sqlite" if bare_url.endswith(".db") else "postgres")[1]}
    monkeypatch.setattr("quire.ledger.ledger.migrations", lambda dialect: first)
    open_ledger(bare_url).close()
    monkeypatch.undo()
    raw = Raw(bare_url)
    raw.rows("INSERT INTO batches (id, nonce, state) VALUES (7, 'n', 'open')")

    ledger = open_ledger(bare_url)

    with ledger.transaction() as tx:
        assert add_credential(tx)
    assert raw.one("SELECT nonce FROM batches") == "n"
    assert raw.rows("SELECT credential_id FROM attempts") == []
    raw.close()
    ledger.close()
