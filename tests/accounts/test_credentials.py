"""Keys are kept under names, listed in the order in which they are tried, marked and cleared."""

from datetime import UTC, datetime, timedelta

import pytest

from quire.accounts.account_choice import every_account
from quire.accounts.credentials import add, clear, clear_one, list_keys, mark, remove
from quire.accounts.encryption import Box
from quire.accounts.key_search import KeySearch
from quire.domain.accounts import KEYLESS_ACCOUNT, Account, Secret
from quire.domain.errors import Conflict, NotFound, UsageError
from quire.domain.states import CredentialState
from quire.ledger.ledger import Ledger, Transaction
from tests.accounts.test_key_search import KEY, OTHER, key_search

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


def accounts(tx: Transaction, box: Box, search: KeySearch) -> tuple[Account, ...]:
    """Every account of a provider, as `keys test` sees them."""
    return every_account(tx, lambda: box, search, NOW).accounts


def test_a_kept_key_is_listed_by_its_end_only(ledger: Ledger, box: Box) -> None:
    with ledger.transaction() as tx:
        add(tx, box, "openai", "work", Secret(KEY), NOW)
        (known,) = list_keys(tx, [])

    assert known.standing == "untested"
    assert known == ("openai", "work", "stored", "1234", "valid", "", NOW, False, "")


def test_what_cannot_be_a_key_is_not_kept(ledger: Ledger, box: Box) -> None:
    with ledger.transaction() as tx:
        for text in ("", "two words", "line\nbreak", "\udcff"):
            with pytest.raises(UsageError, match="the key"):
                add(tx, box, "openai", "work", Secret(text), NOW)

        assert tx.credentials.list_credentials() == []


def test_the_same_key_is_not_kept_twice(ledger: Ledger, box: Box) -> None:
    with ledger.transaction() as tx:
        add(tx, box, "openai", "work", Secret(KEY), NOW)

        with pytest.raises(Conflict, match="that key is kept already, as openai work"):
            add(tx, box, "openai", "home", Secret(KEY), NOW)
        with pytest.raises(Conflict, match="has a key called work already"):
            add(tx, box, "openai", "work", Secret(OTHER), NOW)
        assert add(tx, box, "openai", "home", Secret(OTHER), NOW)
        assert add(tx, box, "compatible", "work", Secret(KEY), NOW)


def test_a_removed_key_can_be_kept_again_and_starts_afresh(ledger: Ledger, box: Box) -> None:
    with ledger.transaction() as tx:
        first = add(tx, box, "openai", "work", Secret(KEY), NOW)
        (account,) = accounts(tx, box, key_search())
        mark(tx, account, CredentialState.INVALID, "wrong", NOW)
        assert remove(tx, "openai", "work", NOW).id == first
        assert list_keys(tx, []) == []

        assert add(tx, box, "openai", "work", Secret(KEY), LATER) == first
        assert [(model.name, model.state) for model in list_keys(tx, [])] == [("work", "valid")]
        assert accounts(tx, box, key_search()) == (account,)


def test_keeping_a_key_takes_the_mark_off_its_twin_in_the_environment(
    ledger: Ledger, box: Box
) -> None:
    search = key_search(OPENAI_API_KEY=KEY)
    with ledger.transaction() as tx:
        (account,) = accounts(tx, box, search)
        mark(tx, account, CredentialState.SPENT, "no credit", NOW)

        add(tx, box, "openai", "work", Secret(KEY), NOW)

        assert [model.state for model in list_keys(tx, [search])] == ["valid", "valid"]


def test_the_only_key_is_removed_without_its_name(ledger: Ledger, box: Box) -> None:
    with ledger.transaction() as tx:
        add(tx, box, "openai", "work", Secret(KEY), NOW)
        add(tx, box, "openai", "home", Secret(OTHER), NOW)

        with pytest.raises(UsageError, match="several stored keys; which one of work, home"):
            remove(tx, "openai", None, NOW)
        remove(tx, "openai", "work", NOW)
        assert remove(tx, "openai", None, NOW).name == "home"


def test_what_is_not_stored_cannot_be_removed(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        with pytest.raises(NotFound, match="openai has no stored key; `quire keys list`"):
            remove(tx, "openai", None, NOW)
        with pytest.raises(NotFound, match="openai has no stored key called work"):
            remove(tx, "openai", "work", NOW)
        with pytest.raises(NotFound, match="OPENAI_API_KEY is in the environment, not in the"):
            remove(tx, "openai", "OPENAI_API_KEY", NOW)


def test_keys_are_listed_in_the_order_in_which_they_are_tried(ledger: Ledger, box: Box) -> None:
    openai = key_search(OPENAI_API_KEY=OTHER)
    gemini = key_search("gemini", GEMINI_API_KEY="AIza-something-9999")
    with ledger.transaction() as tx:
        add(tx, box, "openai", "work", Secret(KEY), NOW)
        add(tx, box, "mistral", "m", Secret("abcdefghijklmnop"), NOW)

        assert [(model.provider, model.name) for model in list_keys(tx, [openai, gemini])] == [
            ("gemini", "GEMINI_API_KEY"),
            ("mistral", "m"),
            ("openai", "work"),
            ("openai", "OPENAI_API_KEY"),
        ]


def test_a_mark_is_listed_with_its_reason_and_since_when(ledger: Ledger, box: Box) -> None:
    search = key_search(OPENAI_API_KEY=KEY)
    with ledger.transaction() as tx:
        (account,) = accounts(tx, box, search)
        (before,) = list_keys(tx, [search])
        mark(tx, account, CredentialState.INVALID, "HTTP 401: no such key", LATER)
        (after,) = list_keys(tx, [search])

    assert (before.state, before.since) == ("valid", None)
    assert (after.state, after.reason, after.since) == ("invalid", "HTTP 401: no such key", LATER)


def test_a_variable_that_is_no_longer_set_is_not_listed(ledger: Ledger, box: Box) -> None:
    with ledger.transaction() as tx:
        accounts(tx, box, key_search(OPENAI_API_KEY=KEY))

        assert list_keys(tx, [key_search()]) == []
        assert [model.tail for model in list_keys(tx, [key_search(OPENAI_API_KEY=OTHER)])] == [
            "5678"
        ]


def test_a_reason_that_repeats_the_key_is_kept_without_it(ledger: Ledger, box: Box) -> None:
    search = key_search(OPENAI_API_KEY=KEY)
    with ledger.transaction() as tx:
        (account,) = accounts(tx, box, search)

        mark(tx, account, CredentialState.INVALID, f"Incorrect key:\n {KEY}{'!' * 1000}", NOW)

        (known,) = list_keys(tx, [search])
        assert known.reason.startswith("Incorrect key: …1234!!!")
        assert len(known.reason) == 300


def test_a_second_mark_changes_nothing(ledger: Ledger, box: Box) -> None:
    search = key_search(OPENAI_API_KEY=KEY)
    with ledger.transaction() as tx:
        (account,) = accounts(tx, box, search)
        assert mark(tx, account, CredentialState.SPENT, "", NOW)
        assert not mark(tx, account, CredentialState.INVALID, "later", LATER)

        assert list_keys(tx, [search])[0][4:7] == ("spent", "no reason was given", NOW)


def test_nobody_needs_no_mark(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        assert not mark(tx, KEYLESS_ACCOUNT, CredentialState.INVALID, "x", NOW)
        assert not clear_one(tx, KEYLESS_ACCOUNT, NOW)


def test_marks_are_cleared_for_all_for_a_provider_or_for_one(ledger: Ledger, box: Box) -> None:
    def mark_all(tx: Transaction) -> list[Account]:
        everyone = [
            *accounts(tx, box, key_search(OPENAI_API_KEY=KEY)),
            *accounts(tx, box, key_search("gemini", GEMINI_API_KEY=KEY, GOOGLE_API_KEY=OTHER)),
        ]
        for account in everyone:
            mark(tx, account, CredentialState.SPENT, "x", NOW)
        return everyone

    with ledger.transaction() as tx:
        one = mark_all(tx)[0]
        assert clear(tx, NOW, "gemini") == 2
        assert clear_one(tx, one, NOW)
        assert not clear_one(tx, one, NOW)
        mark_all(tx)
        assert clear(tx, NOW) == 3
        assert clear(tx, NOW) == 0
