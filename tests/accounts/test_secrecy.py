"""A key is in no file, table, log, message or traceback: only in headers, and in sealed form."""

import base64
import logging
import pydoc
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

import quire
from quire.accounts.account_choice import choose_accounts, every_account, recall
from quire.accounts.credentials import add, clear, list_keys, mark, remove
from quire.accounts.encryption import Box
from quire.accounts.key_search import KeySearch
from quire.domain.accounts import Secret
from quire.domain.errors import Error
from quire.domain.states import CredentialState
from quire.ledger.ledger import Ledger
from tests.accounts.conftest import SECRET
from tests.accounts.test_account_choice import no_box
from tests.accounts.test_credentials import NOW
from tests.accounts.test_key_search import key_search
from tests.ledger.raw import Raw

KEYS = tuple(f"sk-ant-{where}-{'a1b2c3d4' * 4}-1234" for where in ("stored", "found", "filed"))
TABLES = {
    "sqlite": "SELECT name FROM sqlite_schema WHERE type = 'table'",
    "postgres": "SELECT tablename FROM pg_tables WHERE schemaname = 'public'",
}


@pytest.fixture
def around(tmp_path: Path) -> KeySearch:
    """One key in the environment, one in a file."""
    (tmp_path / "mine.key").write_text(KEYS[2])
    return key_search("anthropic", {"key_file": "mine.key"}, tmp_path, ANTHROPIC_API_KEY=KEYS[1])


@pytest.fixture
def lived(ledger: Ledger, box: Box, around: KeySearch) -> Ledger:
    """A ledger in which keys were kept, chosen, refused, cleared and erased."""
    with ledger.transaction() as tx:
        add(tx, box, "anthropic", "work", Secret(KEYS[0]), NOW)
        for account in choose_accounts(tx, lambda: box, around, NOW).accounts:
            mark(
                tx,
                account,
                CredentialState.INVALID,
                f"you said {account.key.reveal()}, which is wrong",
                NOW,
            )
    with ledger.transaction() as tx:
        clear(tx, NOW)
        remove(tx, "anthropic", "work", NOW)
        add(tx, box, "anthropic", "again", Secret(KEYS[0]), NOW)
        every_account(tx, lambda: box, around, NOW)
    return ledger


def test_no_key_is_in_the_ledger_in_any_form_but_the_sealed_one(lived: Ledger) -> None:
    held = b"".join(_everything(lived.url))

    assert b"ANTHROPIC_API_KEY" in held  # it was looked at, all of it
    assert [form for form in _forms() if form in held] == []


def test_the_sealed_form_is_of_use_only_with_the_secret_key(lived: Ledger, box: Box) -> None:
    with lived.transaction() as tx:
        account = choose_accounts(tx, lambda: box, key_search("anthropic"), NOW).accounts[0]
        wrong = choose_accounts(tx, lambda: Box(Secret("x" * 16)), key_search("anthropic"), NOW)

    assert account.key.reveal() == KEYS[0]
    assert wrong.accounts == ()


def test_nothing_that_can_be_printed_shows_a_key(
    lived: Ledger, box: Box, around: KeySearch
) -> None:
    with lived.transaction() as tx:
        chosen = choose_accounts(tx, lambda: box, around, NOW)
        shown = [
            chosen,
            around,
            list_keys(tx, [around]),
            tx.credentials.list_credentials(),
            box,
            SECRET,
        ]
        texts = [text for item in shown for text in (repr(item), str(item), f"{item}")]
    held = " ".join(texts).encode()

    assert len(chosen.accounts) == 3
    assert [form for form in _forms() if form in held] == []


def test_no_error_and_no_traceback_shows_a_key(
    lived: Ledger, box: Box, around: KeySearch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    messages = []
    with lived.transaction() as tx:
        chosen = choose_accounts(tx, lambda: box, around, NOW)
        for account in chosen.accounts:
            mark(tx, account, CredentialState.SPENT, account.key.reveal(), NOW)
        messages.append(str(choose_accounts(tx, lambda: box, around, NOW).problem))
        messages.append(str(every_account(tx, no_box, around, NOW).problem))
        messages += [
            str(recall(tx, no_box, key_search("anthropic"), account.id or 0).problem)  # type: ignore[arg-type]
            for account in chosen[0]
        ]
        for name in ("again", "twice"):
            try:
                add(tx, box, "anthropic", name, Secret(KEYS[0]), NOW)
            except Error as error:
                messages += traceback.format_exception(error)
    messages.append(caplog.text)

    assert "None" not in messages[:3]
    assert [form for form in _forms() if form in "".join(messages).encode()] == []


def _forms() -> Iterator[bytes]:
    """What a key, or a good part of one, may look like."""
    for key in (*(name.encode() for name in KEYS), SECRET.reveal().encode()):
        part = key[:-4]
        yield from (part, part.hex().encode(), base64.b64encode(part)[:-4], part[:16], part[-16:])


def _everything(url: str) -> Iterator[bytes]:
    """Every file of the ledger, and every value of every table."""
    if "://" not in url:
        for path in Path(url).parent.glob(f"{Path(url).name}*"):
            yield path.read_bytes()
    raw = Raw(url)
    for (table,) in raw.rows(TABLES[raw.dialect]):
        for row in raw.rows(f"SELECT * FROM {table}"):
            yield b" ".join(item if isinstance(item, bytes) else str(item).encode() for item in row)
    raw.close()


def test_help_shows_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-shown-to-nobody")

    shown = pydoc.render_doc(quire.open) + pydoc.render_doc(quire.Engine)

    assert "sk-shown-to-nobody" not in shown
