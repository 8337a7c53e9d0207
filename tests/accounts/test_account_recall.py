"""What was sent is asked after with the key it was sent with, and with no other."""

from quire.accounts.account_choice import choose_accounts, recall
from quire.accounts.credentials import add, mark, remove
from quire.accounts.encryption import Box
from quire.domain.accounts import CredentialId, Secret
from quire.domain.states import CredentialState
from quire.ledger.ledger import Ledger
from tests.accounts.test_account_choice import no_box
from tests.accounts.test_credentials import NOW
from tests.accounts.test_key_search import KEY, OTHER, key_search


def test_what_was_sent_is_asked_after_with_the_same_key(ledger: Ledger, box: Box) -> None:
    search = key_search(OPENAI_API_KEY=OTHER)
    with ledger.transaction() as tx:
        add(tx, box, "openai", "work", Secret(KEY), NOW)
        stored, found = choose_accounts(tx, lambda: box, search, NOW).accounts
        assert stored.id
        assert found.id
        mark(tx, stored, CredentialState.SPENT, "x", NOW)

        assert recall(tx, lambda: box, search, stored.id).accounts == (stored,)
        assert recall(tx, no_box, search, found.id).accounts == (found,)
        assert str(recall(tx, no_box, search, stored.id).problem) == "the secret key is missing"


def test_without_the_key_it_was_sent_with_nothing_else_is_tried(ledger: Ledger, box: Box) -> None:
    with ledger.transaction() as tx:
        add(tx, box, "openai", "work", Secret(KEY), NOW)
        stored, found = choose_accounts(
            tx, lambda: box, key_search(OPENAI_API_KEY=OTHER), NOW
        ).accounts
        assert stored.id
        assert found.id
        remove(tx, "openai", "work", NOW)

        for account in (stored, found):
            assert account.id
            gone = recall(tx, lambda: box, key_search(), account.id)
            assert gone.accounts == ()
            assert str(gone.problem).endswith(f"is gone ({account.credential}); put it back")
        assert "no credential 999" in str(
            recall(tx, no_box, key_search(), CredentialId(999)).problem
        )


def test_a_removed_key_that_is_in_the_environment_is_found_there(ledger: Ledger, box: Box) -> None:
    with ledger.transaction() as tx:
        add(tx, box, "openai", "work", Secret(KEY), NOW)
        (stored,) = choose_accounts(tx, lambda: box, key_search(), NOW).accounts
        remove(tx, "openai", "work", NOW)
        assert stored.id

        (account,) = recall(tx, no_box, key_search(OPENAI_API_KEY=KEY), stored.id).accounts
        assert account.key == stored.key
