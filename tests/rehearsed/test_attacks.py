"""What an attacker found: absurd answers, echoed keys, other people's runs, unknown vendors."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from quire.accounts.key_search import KeyPlaces, search_places
from quire.domain.accounts import Account, Secret
from quire.domain.data import JsonObject
from quire.domain.errors import LedgerUnavailable
from quire.domain.models import Usage
from quire.ledger.ledger import Transaction
from quire.providers.redaction import redact_answer
from tests.cli.conftest import Quire
from tests.rehearsed.conftest import Rehearse
from tests.world import METADATA, sentences, until_rest

KEY = "sk-secret/with+signs-1234567890"


@pytest.mark.parametrize(
    "echo",
    [
        KEY,
        KEY.replace("/", "\\/"),
        KEY.replace("+", "\\u002b"),
        "".join(name if name.isalnum() else f"\\u{ord(name):04x}" for name in KEY),
    ],
)
def test_a_key_that_comes_back_is_taken_out_however_json_writes_it(echo: str) -> None:
    account = Account(provider="openai", credential="x", key=Secret(KEY))
    body = b'{"headers": "Bearer ' + echo.encode() + b'"}'

    assert redact_answer(body, account) == b'{"headers": "Bearer ..."}'


def test_a_run_spends_for_nobody_else(rehearse: Rehearse) -> None:
    here = rehearse()
    here.ingest(sentences(20))
    stopped = here.start(pack_size=1)
    mine = here.engine.run(schema=METADATA, model=here.asks, pack_size=2)

    mine.wait()

    assert mine.progress().done == 20
    assert stopped.progress().calls == 0


def test_a_vendor_that_nobody_answers_for_is_refused_before_anything_is_sent(
    quire: Quire, tmp_path: Path
) -> None:
    Path("quire.toml").write_text(
        '[models."x/y"]\nwindow = 8000\nmax_output = 1000\ninput = 1.0\noutput = 1.0\n'
    )
    Path("a.txt").write_text("One.\n\nTwo.")
    Path("s.json").write_text(json.dumps(METADATA))
    quire("ingest", "a.txt")

    said = quire("run", "-s", "s.json", "-m", "x/y", code=2).stderr

    assert "nobody answers for x/…" in said


def test_a_pipe_in_the_place_of_a_key_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    found = search_places("openai", KeyPlaces({"key_file": str(tmp_path / "pipe")}, {}, tmp_path))

    assert "is not a file" in str(found.problem)


def test_absurd_usage_is_kept_unread_and_stops_nobody_else(rehearse: Rehearse) -> None:
    here = rehearse()
    here.ingest(sentences(5))
    provider = here.engine.providers.get("openai")
    decode = provider.decode

    def absurd(raw: bytes, _: JsonObject | None = None) -> object:
        return decode(raw)._replace(usage=Usage(input=2**53, output=1))

    provider.decode = absurd  # type: ignore[method-assign,assignment]
    run = here.start()
    ended = until_rest(run)

    assert [hold.kind.value for hold in ended.holds] == ["undecodable"]
    assert ended.calls == 1


def test_a_claim_that_was_rolled_back_leaves_no_key_behind_that_the_ledger_does_not_know(
    rehearse: Rehearse, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = rehearse()
    here.ingest(sentences(10))
    run = here.start()
    transaction, failed = here.engine.ledger.transaction, list[int]()

    @contextmanager
    def failing() -> Iterator[Transaction]:
        with transaction() as tx:
            yield tx
            seen = len(tx.credentials.list_credentials())
            if seen and not failed:  # the key was written down in this very transaction
                failed.append(seen)
                raise LedgerUnavailable("the disk is full")

    monkeypatch.setattr(here.engine.ledger, "transaction", failing)

    assert run.wait().done == 10
    assert failed
