"""A call goes out with the first key that works: stored, then quire.toml's, then the vendor's."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from quire.accounts.account_choice import AccountChoice, choose_accounts, every_account
from quire.accounts.credentials import add, clear, mark
from quire.accounts.encryption import Box
from quire.accounts.key_search import KeyPlaces, KeySearch, search_places
from quire.domain.accounts import Credential, Secret
from quire.domain.errors import UsageError
from quire.domain.ids import WorkspaceId
from quire.domain.states import CredentialState
from quire.ledger.ledger import Ledger, Transaction
from quire.ledger.tables.credentials import NewCredential
from tests.accounts.test_credentials import NOW
from tests.accounts.test_key_search import KEY, OTHER, key_search

Choose = Callable[[Transaction, KeySearch], AccountChoice]


@pytest.fixture
def chosen(box: Box) -> Choose:
    """Choose with the right secret key."""
    return lambda tx, search: choose_accounts(tx, lambda: box, search, NOW)


def no_box() -> Box:
    """What happens without a secret key."""
    raise UsageError("the secret key is missing")


def refusal(chosen: AccountChoice) -> str:
    """Why there is no account."""
    assert chosen.accounts == ()
    return str(chosen.problem)


def labels(chosen: AccountChoice) -> list[str]:
    """Which credentials were chosen, in order."""
    return [account.credential for account in chosen.accounts]


def sealed_as(row: Credential, sealed: bytes | None) -> NewCredential:
    """A row whose sealed text was put there by somebody else."""
    return NewCredential(row.provider, row.name, row.source, row.tail, row.digest, sealed)


def test_stored_keys_come_first_the_oldest_of_them_first(
    ledger: Ledger, box: Box, chosen: Choose
) -> None:
    search = key_search(OPENAI_API_KEY="sk-a-third-key-9999")
    with ledger.transaction() as tx:
        add(tx, box, "openai", "zoo", Secret(KEY), NOW)
        add(tx, box, "openai", "ark", Secret(OTHER), NOW)

        found = chosen(tx, search)

    assert labels(found) == ["stored zoo …1234", "stored ark …5678", "env OPENAI_API_KEY …9999"]
    assert [account.key.reveal() for account in found.accounts][:2] == [KEY, OTHER]
    assert found.problem is None


def test_an_account_says_where_to_go_and_how(ledger: Ledger, chosen: Choose) -> None:
    places = KeyPlaces({}, {"AZURE_OPENAI_API_KEY": KEY}, Path())
    search = search_places("azure", places, "https://me.example/openai/v1", {"deployment": "d"})
    with ledger.transaction() as tx:
        (account,) = chosen(tx, search).accounts

    assert (account.provider, account.base_url) == ("azure", "https://me.example/openai/v1")
    assert account.options == {"deployment": "d"}
    assert account.id is not None


def test_without_any_key_it_says_what_to_do(ledger: Ledger, chosen: Choose) -> None:
    with ledger.transaction() as tx:
        anthropic, gemini = chosen(tx, key_search("anthropic")), chosen(tx, key_search("gemini"))

    assert refusal(anthropic) == (
        "no key for anthropic: `quire keys add anthropic` (with --person NAME: for runs of that"
        " person alone), or set ANTHROPIC_API_KEY"
    )
    assert str(gemini.problem).endswith("or set GEMINI_API_KEY or GOOGLE_API_KEY")


@pytest.mark.parametrize("provider", ["vllm", "ollama", "llamacpp", "lmstudio", "simulated"])
def test_a_server_of_ones_own_is_asked_without_a_key(
    ledger: Ledger, chosen: Choose, provider: str
) -> None:
    with ledger.transaction() as tx:
        (account,) = chosen(tx, key_search(provider)).accounts

    assert (account.provider, account.credential, account.id) == (provider, "", None)
    assert not account.key


def test_a_server_of_ones_own_is_asked_with_the_key_it_has(ledger: Ledger, chosen: Choose) -> None:
    with ledger.transaction() as tx:
        assert labels(chosen(tx, key_search("vllm", VLLM_API_KEY="short"))) == ["env VLLM_API_KEY"]
        assert labels(chosen(tx, key_search("simulated", SIMULATED_API_KEY=KEY))) == [""]


def test_a_marked_key_makes_way_for_the_next(ledger: Ledger, box: Box, chosen: Choose) -> None:
    search = key_search(OPENAI_API_KEY=OTHER)
    with ledger.transaction() as tx:
        add(tx, box, "openai", "work", Secret(KEY), NOW)
        first = chosen(tx, search).accounts[0]
        mark(tx, first, CredentialState.SPENT, "no credit left", NOW)

        assert labels(chosen(tx, search)) == ["env OPENAI_API_KEY …5678"]
        clear(tx, NOW)
        assert chosen(tx, search).accounts[0] == first


def test_when_every_key_is_marked_it_says_which_and_why(ledger: Ledger, chosen: Choose) -> None:
    search = key_search("gemini", GEMINI_API_KEY=KEY, GOOGLE_API_KEY=OTHER)
    with ledger.transaction() as tx:
        first, second = chosen(tx, search).accounts
        mark(tx, first, CredentialState.INVALID, "HTTP 401", NOW)
        mark(tx, second, CredentialState.SPENT, "HTTP 402", NOW)

        assert refusal(chosen(tx, search)) == (
            "no usable key for gemini: env GEMINI_API_KEY …1234 was not accepted (HTTP 401);"
            " env GOOGLE_API_KEY …5678 has no credit left (HTTP 402);"
            " mend that, or `quire keys add gemini --name another`"
        )


def test_a_marked_key_of_a_server_of_ones_own_is_not_left_out_silently(
    ledger: Ledger, chosen: Choose
) -> None:
    search = key_search("vllm", VLLM_API_KEY=KEY)
    with ledger.transaction() as tx:
        (account,) = chosen(tx, search).accounts
        mark(tx, account, CredentialState.INVALID, "HTTP 401", NOW)

        assert chosen(tx, search).accounts == ()


def test_a_changed_variable_is_another_key_without_the_mark(ledger: Ledger, chosen: Choose) -> None:
    with ledger.transaction() as tx:
        (account,) = chosen(tx, key_search(OPENAI_API_KEY=KEY)).accounts
        mark(tx, account, CredentialState.INVALID, "HTTP 401", NOW)

        assert labels(chosen(tx, key_search(OPENAI_API_KEY=OTHER))) == ["env OPENAI_API_KEY …5678"]
        assert chosen(tx, key_search(OPENAI_API_KEY=KEY)).accounts == ()


def test_one_key_in_two_places_is_tried_once(ledger: Ledger, box: Box, chosen: Choose) -> None:
    with ledger.transaction() as tx:
        add(tx, box, "gemini", "work", Secret(KEY), NOW)
        search = key_search("gemini", GEMINI_API_KEY=KEY, GOOGLE_API_KEY=KEY)
        found = chosen(tx, search)
        mark(tx, found.accounts[0], CredentialState.SPENT, "x", NOW)

        assert labels(found) == ["stored work …1234"]
        assert chosen(tx, search).accounts == ()


def test_choosing_again_writes_nothing_down_again(ledger: Ledger, chosen: Choose) -> None:
    search = key_search(OPENAI_API_KEY=KEY)
    with ledger.transaction() as tx:
        first = chosen(tx, search)
    with ledger.snapshot() as tx:  # which cannot write
        assert chosen(tx, search) == first


def test_workers_that_see_a_key_at_once_write_it_down_once(ledger: Ledger, chosen: Choose) -> None:
    search = key_search("gemini", GEMINI_API_KEY=KEY, GOOGLE_API_KEY=OTHER)

    def work(_: int) -> AccountChoice:
        with ledger.transaction() as tx:
            return chosen(tx, search)

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(work, range(12)))

    assert len(found[0].accounts) == 2
    assert all(choice == found[0] for choice in found)


def test_a_stored_key_that_cannot_be_opened_is_not_replaced_by_another(
    ledger: Ledger, box: Box
) -> None:
    search = key_search(OPENAI_API_KEY=OTHER)
    with ledger.transaction() as tx:
        add(tx, box, "openai", "work", Secret(KEY), NOW)
        wrong = Box(Secret("not the secret key"))

        without = choose_accounts(tx, no_box, search, NOW)
        with_wrong = choose_accounts(tx, lambda: wrong, search, NOW)

    assert refusal(without) == "the secret key is missing"
    assert with_wrong.accounts == ()
    assert "encrypted with another secret key" in str(with_wrong.problem)


def test_no_secret_key_is_needed_where_nothing_is_stored(ledger: Ledger, box: Box) -> None:
    search = key_search(OPENAI_API_KEY=KEY)
    with ledger.transaction() as tx:
        assert labels(choose_accounts(tx, no_box, search, NOW)) == ["env OPENAI_API_KEY …1234"]
        add(tx, box, "openai", "work", Secret(OTHER), NOW)
        (stored, _) = every_account(tx, lambda: box, search, NOW).accounts
        mark(tx, stored, CredentialState.SPENT, "x", NOW)

        assert labels(choose_accounts(tx, no_box, search, NOW)) == ["env OPENAI_API_KEY …1234"]


def test_rows_that_were_swapped_are_refused(ledger: Ledger, box: Box) -> None:
    with ledger.transaction() as tx:
        add(tx, box, "openai", "work", Secret(KEY), NOW)
        add(tx, box, "anthropic", "work", Secret(OTHER), NOW)
        sealed = {
            credential.provider: credential.sealed
            for credential in tx.credentials.list_credentials()
        }
        for credential in tx.credentials.list_credentials():
            other = "anthropic" if credential.provider == "openai" else "openai"
            tx.credentials.remove_credential(credential.id, NOW)
            tx.credentials.add_credential(sealed_as(credential, sealed[other]), NOW)

        found = choose_accounts(tx, lambda: box, key_search(), NOW)

    assert found.accounts == ()
    assert "its row was changed, or moved here" in str(found.problem)


def test_a_key_of_another_workspace_does_not_open_here(ledger: Ledger, box: Box) -> None:
    theirs = Ledger(ledger._database, WorkspaceId("theirs"))
    with ledger.transaction() as tx:
        add(tx, box, "openai", "work", Secret(KEY), NOW)
        (mine,) = tx.credentials.list_credentials()
    with theirs.transaction() as tx:
        assert choose_accounts(tx, lambda: box, key_search(), NOW).accounts == ()
        tx.credentials.add_credential(sealed_as(mine, mine.sealed), NOW)

        assert "moved here" in str(choose_accounts(tx, lambda: box, key_search(), NOW).problem)


def test_what_quire_toml_says_wrongly_holds_unless_a_stored_key_works(
    ledger: Ledger, box: Box, chosen: Choose
) -> None:
    search = key_search(table={"key_env": "TEAM_KEY"}, OPENAI_API_KEY=OTHER)
    with ledger.transaction() as tx:
        before = chosen(tx, search)
        add(tx, box, "openai", "work", Secret(KEY), NOW)
        after = chosen(tx, search)

    assert refusal(before) == "quire.toml says that the key of openai is in TEAM_KEY; set it"
    assert labels(after) == ["stored work …1234"]


def test_vertex_may_leave_the_search_to_google(ledger: Ledger, chosen: Choose) -> None:
    with ledger.transaction() as tx:
        (account,) = chosen(tx, key_search("vertex")).accounts
        mark(tx, account, CredentialState.INVALID, "HTTP 403", NOW)

        assert account.options == {"adc": "true"}
        assert account.credential == "env application default credentials"
        assert chosen(tx, key_search("vertex")).accounts == ()


def test_every_account_is_found_marked_or_not_and_those_that_do_not_open_are_told(
    ledger: Ledger, box: Box, chosen: Choose
) -> None:
    search = key_search(OPENAI_API_KEY=OTHER)
    with ledger.transaction() as tx:
        add(tx, box, "openai", "work", Secret(KEY), NOW)
        for account in chosen(tx, search).accounts:
            mark(tx, account, CredentialState.INVALID, "x", NOW)

        assert len(every_account(tx, lambda: box, search, NOW).accounts) == 2
        without = every_account(tx, no_box, search, NOW)
        assert (labels(without), str(without.problem)) == (
            ["env OPENAI_API_KEY …5678"],
            "the secret key is missing",
        )
        assert every_account(tx, no_box, key_search("vllm"), NOW).accounts[0].credential == ""
        assert every_account(tx, no_box, key_search("simulated"), NOW).accounts[0].credential == ""
        assert "no key for groq" in str(every_account(tx, no_box, key_search("groq"), NOW).problem)


def test_a_persons_own_key_is_used_first_and_by_nobody_else(ledger: Ledger, box: Box) -> None:
    with ledger.transaction() as tx:
        add(tx, box, "openai", "default", Secret("sk-of-the-workspace-wwww"), NOW)
        add(tx, box, "openai", "default", Secret("sk-the-key-of-ann-aaaa"), NOW, person="ann")
        add(tx, box, "openai", "default", Secret("sk-the-key-of-bob-bbbb"), NOW, person="bob")
        search = key_search(OPENAI_API_KEY="sk-the-key-of-ann-aaaa")

        def tails(person: str) -> list[str]:
            chosen = choose_accounts(tx, lambda: box, search, NOW, person)
            return [account.key.tail for account in chosen.accounts]

        # what is found outside is the platform's, though ann keeps the same one
        assert tails("ann") == ["aaaa", "wwww"]
        assert tails("bob") == ["bbbb", "wwww", "aaaa"]
        assert tails("cleo") == ["wwww", "aaaa"]
        assert tails("") == ["wwww", "aaaa"]


def test_a_row_that_is_given_to_another_person_does_not_open(ledger: Ledger, box: Box) -> None:
    with ledger.transaction() as tx:
        add(tx, box, "openai", "default", Secret(KEY), NOW, person="ann")
        (hers,) = tx.credentials.list_credentials()
        tx.credentials.remove_credential(hers.id, NOW)
        moved = sealed_as(hers, hers.sealed)._replace(person="bob")
        tx.credentials.add_credential(moved, NOW)

        chosen = choose_accounts(tx, lambda: box, key_search(), NOW, "bob")

    assert chosen.accounts == ()
    assert "moved here" in str(chosen.problem)
