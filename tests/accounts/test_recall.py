"""What was sent is asked after with the key it was sent with, and with no other."""

from quire.accounts.choose import choose, recall
from quire.accounts.credentials import add, mark, remove
from quire.accounts.sealing import Box
from quire.domain.accounts import CredentialId, Secret
from quire.ledger.ledger import Ledger
from tests.accounts.test_choose import no_box
from tests.accounts.test_credentials import NOW
from tests.accounts.test_finding import KEY, OTHER, look


def test_what_was_sent_is_asked_after_with_the_same_key(ledger: Ledger, box: Box) -> None:
    around = look(OPENAI_API_KEY=OTHER)
    with ledger.transaction() as tx:
        add(tx, box, "openai", "work", Secret(KEY), NOW)
        stored, found = choose(tx, lambda: box, around, NOW).accounts
        assert stored.id
        assert found.id
        mark(tx, stored, "spent", "x", NOW)

        assert recall(tx, lambda: box, around, stored.id).accounts == (stored,)
        assert recall(tx, no_box, around, found.id).accounts == (found,)
        assert recall(tx, no_box, around, stored.id).problem == "the secret key is missing"


def test_without_the_key_it_was_sent_with_nothing_else_is_tried(ledger: Ledger, box: Box) -> None:
    with ledger.transaction() as tx:
        add(tx, box, "openai", "work", Secret(KEY), NOW)
        stored, found = choose(tx, lambda: box, look(OPENAI_API_KEY=OTHER), NOW).accounts
        assert stored.id
        assert found.id
        remove(tx, "openai", "work", NOW)

        for each in (stored, found):
            assert each.id
            gone = recall(tx, lambda: box, look(), each.id)
            assert gone.accounts == ()
            assert gone.problem.endswith(f"is gone ({each.credential}); put it back")
        assert "no credential 999" in recall(tx, no_box, look(), CredentialId(999)).problem


def test_a_removed_key_that_is_in_the_environment_is_found_there(ledger: Ledger, box: Box) -> None:
    with ledger.transaction() as tx:
        add(tx, box, "openai", "work", Secret(KEY), NOW)
        (stored,) = choose(tx, lambda: box, look(), NOW).accounts
        remove(tx, "openai", "work", NOW)
        assert stored.id

        (account,) = recall(tx, no_box, look(OPENAI_API_KEY=KEY), stored.id).accounts
        assert account.key == stored.key
