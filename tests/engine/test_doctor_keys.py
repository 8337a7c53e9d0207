"""The doctor tries the keys, shows none of them, and says how to start what does not answer."""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from quire.accounts.account_choice import choose_accounts
from quire.accounts.credentials import mark
from quire.accounts.encryption import Box
from quire.accounts.key_search import search_keys
from quire.dispatch.runtime import Runtime
from quire.domain.states import CredentialState
from quire.engine.doctor.findings import Installation
from quire.engine.doctor.ledger_checks import skew_finding
from quire.engine.doctor.provider_checks import (
    ProviderUse,
    ping_from_date,
    provider_accesses,
    providers_in_use,
)
from quire.providers.catalog import find_model
from quire.providers.vendors import KEYED_PROVIDERS, VENDORS
from tests.accounts.key_server import GOOD, KeyServer, serve_keys
from tests.engine.installations import Later, findings_of, severities, with_settings
from tests.pipeline.recipe_stages import SMALL
from tests.world import World

Worlds = Callable[..., World]

BAD = "sk-ant-a-key-that-nobody-lets-in-5678"


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder of one's own, and no proxies in the way to this machine."""
    for name in os.environ:
        if name.upper().endswith("_PROXY"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def key_server() -> Iterator[KeyServer]:
    """A vendor that lets one key in."""
    with serve_keys() as opened:
        yield opened


def test_a_key_is_named_by_its_end_and_its_place(world: Worlds) -> None:
    here = world()
    told = findings_of(here, "keys", environment={"ANTHROPIC_API_KEY": GOOD})

    assert told[0].message == "anthropic: env ANTHROPIC_API_KEY …1234"
    assert all(GOOD[:20] not in problem.message + problem.fix for problem in told)


def test_a_marked_key_is_a_warning(world: Worlds) -> None:
    here = with_settings(world(), model="anthropic/claude-haiku-5-5")
    environment = {"ANTHROPIC_API_KEY": GOOD}
    with here.engine.ledger.transaction() as tx:
        around = search_keys("anthropic", here.engine.settings, environment)
        (account,) = choose_accounts(tx, no_box, around, Runtime().now()).accounts
        mark(tx, account, CredentialState.SPENT, "no credit", Runtime().now())

    told = findings_of(here, "keys", environment=environment)

    assert severities(told)[:2] == ["problem", "warning"]
    assert "no usable key for anthropic" in told[0].message
    assert "marked spent (no credit)" in told[1].message


def no_box() -> Box:
    """Nothing is stored, so nothing is opened."""
    raise AssertionError


@pytest.mark.parametrize(
    ("model", "standing", "says"),
    [
        ("openai/gpt-5.6-luna", "problem", "no key for openai"),
        ("simulated/small", "ok", "there are none"),
    ],
)
def test_a_missing_key_is_a_problem_where_one_is_needed(
    world: Worlds, model: str, standing: str, says: str
) -> None:
    here = with_settings(world(), model=model)

    told = findings_of(here, "keys")[0]

    assert (told.severity, says in told.message) == (standing, True)


def test_a_key_that_looks_like_anothers_is_doubted(world: Worlds) -> None:
    here = world()

    told = findings_of(here, "keys", environment={"OPENAI_API_KEY": GOOD})

    assert "looks like a key of anthropic" in told[1].message


def test_a_secret_key_that_others_can_read_is_told(world: Worlds, tmp_path: Path) -> None:
    here = world()
    path = tmp_path / "quire.key"
    path.write_text("a secret key that nobody guesses")
    path.chmod(0o644)

    told = findings_of(here, "keys", environment={"QUIRE_SECRET_KEY_FILE": str(path)})[-1]

    assert "can be read by others" in told.message
    assert told.fix == f"`chmod 600 {path}`"


@pytest.mark.parametrize(
    ("key", "standing", "says"),
    [(GOOD, "ok", "is accepted"), (BAD, "warning", "Incorrect API key")],
)
def test_keys_are_tried_where_the_vendor_is(
    world: Worlds, key_server: KeyServer, key: str, standing: str, says: str
) -> None:
    here = world()
    environment = {"ANTHROPIC_API_KEY": key, "ANTHROPIC_BASE_URL": key_server.url}

    told = findings_of(here, "reach", environment=environment, offline=False)

    assert severities(told) == [standing]
    assert says in told[0].message
    assert key not in told[0].message
    assert f"…{key[-4:]}" in told[0].message


def test_a_refused_key_of_the_model_of_choice_is_a_problem(
    world: Worlds, key_server: KeyServer
) -> None:
    here = with_settings(world(), model="anthropic/claude-haiku-5-5")
    environment = {"ANTHROPIC_API_KEY": BAD, "ANTHROPIC_BASE_URL": key_server.url}

    (told,) = findings_of(here, "reach", environment=environment, offline=False)

    assert (told.severity, "quire keys add anthropic" in told.fix) == ("problem", True)


def test_offline_nobody_is_asked(world: Worlds, key_server: KeyServer) -> None:
    here = world()
    environment = {"ANTHROPIC_API_KEY": GOOD, "ANTHROPIC_BASE_URL": key_server.url}

    (told,) = findings_of(here, "reach", environment=environment)

    assert told.message == "nobody was asked (--offline)"
    assert key_server.seen == []


def test_the_vendors_clock_is_compared_with_ours(world: Worlds, key_server: KeyServer) -> None:
    here = world()
    environment = {"ANTHROPIC_API_KEY": GOOD, "ANTHROPIC_BASE_URL": key_server.url}
    how = {"environment": environment, "offline": False}

    agreed = findings_of(here, "clock", **how)[-1]
    behind = findings_of(here, "clock", **how, runtime=Later(seconds=-6))[-1]

    assert agreed.message == "agrees with the providers'"
    assert (behind.severity, "behind the providers'" in behind.message) == ("warning", True)


@pytest.mark.parametrize(
    ("name", "variable", "cure"),
    [
        ("ollama", "OLLAMA_HOST", "`ollama serve`"),
        ("local", "QUIRE_LOCAL_URL", "`quire local serve`"),
        ("vllm", "VLLM_BASE_URL", "`vllm serve MODEL`"),
    ],
)
def test_a_server_of_ones_own_that_is_not_there_can_be_started(
    world: Worlds, name: str, variable: str, cure: str
) -> None:
    here = world()

    (told,) = findings_of(
        here, "reach", environment={variable: "http://127.0.0.1:1"}, offline=False
    )

    assert told.message == f"{name}: nothing listens at 127.0.0.1:1"
    assert told.fix == f"start it with {cure}"


def test_a_server_named_by_a_model_is_where_that_says(world: Worlds, key_server: KeyServer) -> None:
    name = f"compatible/mine@{key_server.url}/v1"
    here = with_settings(world(), model=name)

    (told,) = findings_of(here, "reach", offline=False)

    assert told.message.startswith("compatible: without a key: ")
    assert [path for path, _ in key_server.seen if path.startswith("/v1/models")] != []


@pytest.mark.parametrize(
    ("skew", "standing"),
    [
        (0.0, "ok"),
        (2.4, "ok"),
        (-2.4, "ok"),
        (3.0, "warning"),
        (-9.0, "warning"),
        (11.0, "problem"),
    ],
)
def test_a_clock_is_judged_beyond_what_is_in_doubt(skew: float, standing: str) -> None:
    assert skew_finding(skew, 0.5, "theirs", lease=30).severity == standing


@pytest.mark.parametrize("told", ["", "yesterday", "Thu, 01 Jan 2026 00:00:00"])
def test_a_date_that_is_none_says_nothing(told: str) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)

    assert ping_from_date(told, now, now).skew is None


def test_a_date_is_measured_against_the_middle_of_the_wait() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    knock = ping_from_date("Thu, 01 Jan 2026 00:00:00 GMT", now, now + timedelta(seconds=3))

    assert (knock.skew, knock.doubt) == (1.0, 2.0)


def test_every_provider_with_a_key_is_of_concern(world: Worlds) -> None:
    here = world()
    environment = {
        VENDORS[name].key_variables[0]: f"a-key-of-{name}-12345678" for name in KEYED_PROVIDERS
    }
    installation = Installation(
        settings=here.engine.settings, environment=environment, context=here.engine.context
    )

    found = {access.use.provider for access in provider_accesses(installation)}
    assert found == {*KEYED_PROVIDERS}


def test_a_further_model_of_a_run_is_of_concern(world: Worlds) -> None:
    here = world()
    here.ingest(["Alpha speaks."])
    run = here.start()
    further = replace(find_model(SMALL), name="mistral/small")
    with here.engine.ledger.transaction() as tx:
        tx.lineage.add_run_models(run.id, [(further.name, further.as_json())])

    installation = Installation(
        settings=here.engine.settings, environment={}, context=here.engine.context
    )
    with here.engine.ledger.snapshot() as tx:
        found_out = providers_in_use(installation, tx)

    assert found_out == [ProviderUse("mistral", "", needed=True)]
