"""A rehearsed job is the real one in all but its cost, its key and its ledger."""

import json
import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from quire.domain.documents import Block
from quire.domain.errors import NotFound, SettingsInvalid, UsageError
from quire.domain.ids import RunId
from quire.engine import Engine
from quire.engine.kept_schemas import read_schema_source
from quire.engine.orders import resolve_order, store_probe_result
from quire.engine.rehearsals import (
    ANY_KEY,
    RehearsalResult,
    RehearsalSpec,
    copy_inputs,
    redirect_settings,
    rehearse,
)
from quire.ledger.ledger import Ledger, open_ledger
from quire.providers.catalog import find_model
from quire.settings import Settings
from tests.ledger.raw import Raw
from tests.world import METADATA, NOW, Calm, World, sentences, until_rest

Worlds = Callable[..., World]

OPENAI = "openai/gpt-5.6-luna"
VENDORS = (
    OPENAI,
    "anthropic/claude-haiku-5-5",
    "gemini/gemini-3.6-flash",
    "vertex/gemini-3.6-flash",
    "mistral/mistral-small-latest",
    "groq/openai/gpt-oss-120b",
    "ollama/llama3",
    "compatible/mine@http://localhost:1/v1",
)
SCHEMA = read_schema_source(METADATA, None)
PATIENT = {"pack_size": 2, "max_tries": 25, "max_calls": 100}


@pytest.fixture
def here(world: Worlds) -> World:
    """A ledger with two documents and a schema."""
    made = world()
    made.ingest(sentences(30, mark=7), "first")
    made.ingest([f"Second: {text}" for text in sentences(10)], "second")
    made.engine.add_schema(METADATA)
    return made


def drive(engine: Engine, run: RunId) -> bool:
    """Work until the run is at rest."""
    until_rest(engine.get(run))
    return False


def rehearse_here(here: World, model: str = OPENAI, **how: object) -> RehearsalResult:
    """Rehearse the job."""
    server_config = how.pop("server_config", {})
    part = RehearsalSpec(schema="metadata", model=model, server_config=server_config, **how)  # type: ignore[arg-type]
    return rehearse(here.engine, part, drive, Calm())


def blocks_of(ledger: Ledger) -> dict[str, list[Block]]:
    """Every block, by its document's fingerprint."""
    with ledger.snapshot() as tx:
        return {
            document.conv_uid: [*tx.documents.copy_document(document).blocks]
            for document in tx.documents.list_documents()
        }


@pytest.mark.parametrize("model", VENDORS)
def test_every_vendors_job_is_carried_out_and_priced(here: World, model: str) -> None:
    done = rehearse_here(here, model)

    assert (done.model, done.schema) == (model, "metadata")
    assert (done.progress.state, done.progress.done, done.progress.failed) == ("finished", 40, 0)
    assert done.billed == done.progress.cost_pico
    assert done.usage.input_total == done.progress.input_tokens > 0
    assert done.usage.output == done.progress.output_tokens > 0
    assert done.progress.calls == done.forecast.expected.requests == done.server_stats["answered"]
    assert done.server_stats["statuses"] == {"200": done.progress.calls}


def test_the_ledger_of_the_job_is_only_read(here: World) -> None:
    rehearse_here(here)

    raw = Raw(here.url)
    tables = ("runs", "tasks", "attempts", "credentials", "events", "workers", "limit_levels")
    assert [raw.one(f"SELECT count(*) FROM {name}") for name in tables] == [0] * len(tables)
    raw.close()


def test_a_schema_in_a_file_is_not_kept(world: Worlds, tmp_path: Path) -> None:
    here = world()
    here.ingest(sentences(5))
    file = tmp_path / "mine.json"
    file.write_text(json.dumps({**METADATA, "title": "mine"}))

    done = rehearse(here.engine, RehearsalSpec(schema=str(file), model=OPENAI), drive)

    assert (done.schema, done.progress.done) == ("mine", 5)
    assert here.engine.schemas() == []


def test_documents_keep_their_names_and_their_blocks(here: World, tmp_path: Path) -> None:
    target = open_ledger(str(tmp_path / "copy.db"))

    copied = copy_inputs(here.engine.ledger, target, RehearsalSpec(schema="metadata"), SCHEMA)

    assert (copied.found, copied.taken) == (40, 40)
    assert blocks_of(target) == blocks_of(here.engine.ledger)
    target.close()


@pytest.mark.parametrize("sample", [1, 3, 39, 40, 100])
def test_a_sample_is_of_that_size_and_spread_evenly(
    here: World, tmp_path: Path, sample: int
) -> None:
    target = open_ledger(str(tmp_path / "copy.db"))

    copied = copy_inputs(
        here.engine.ledger, target, RehearsalSpec(schema="metadata", sample=sample), SCHEMA
    )

    whole, taken = blocks_of(here.engine.ledger), blocks_of(target)
    places = [
        number
        for number, (name, block) in enumerate(
            (name, block) for name, blocks in whole.items() for block in blocks
        )
        if block in taken.get(name, [])
    ]
    gaps = {later - sooner for sooner, later in pairwise(places)}
    assert len(places) == copied.taken == min(sample, 40)
    assert max(gaps, default=0) - min(gaps, default=0) <= 1
    target.close()


def test_only_the_named_documents_are_rehearsed(here: World) -> None:
    done = rehearse_here(here, documents=here.engine.library.resolve_documents(["second"]))

    assert (done.all_blocks, done.progress.total) == (10, 10)


def test_a_sample_says_what_all_would_cost(here: World) -> None:
    whole, part = rehearse_here(here), rehearse_here(here, sample=20)

    assert (part.progress.total, part.all_blocks) == (20, 40)
    assert part.projected_cost == 2 * part.billed
    assert abs(part.projected_cost - whole.billed) < whole.billed / 2


def test_faults_are_survived_and_counted(here: World) -> None:
    script = "500=0.2,skip=0.2,seed=4"  # who meets which is a matter of order: none may run out

    done = rehearse_here(here, server_config={"faults": script}, policy=PATIENT)

    assert done.progress.done == 40
    assert done.progress.resent > 0
    assert {"500", "skip"} <= done.server_stats["faults"].keys()
    assert done.server_stats["statuses"]["500"] == done.server_stats["faults"]["500"]


def test_an_answer_that_is_lost_is_billed_all_the_same(here: World) -> None:
    done = rehearse_here(
        here, server_config={"faults": "drop=0.3,seed=2"}, policy={"pack_size": 10}
    )

    assert done.progress.done == 40
    assert done.billed > done.progress.cost_pico
    assert done.progress.presumed_pico > 0


def test_failures_are_told_by_their_cause(here: World) -> None:
    done = rehearse_here(here, server_config={"faults": "wrong@MARK"}, policy={"max_tries": 2})

    assert done.progress.failed == 1
    assert [len(failure.failures) for failure in done.failures] == [1]


def test_a_key_that_is_refused_ends_as_it_would(here: World) -> None:
    done = rehearse_here(here, server_config={"faults": "key=1"})

    assert [hold.kind.value for hold in done.progress.holds] == ["credential"]
    assert done.billed == 0


def test_neither_real_keys_nor_proxies_are_used(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-real-key-of-somebody-9876")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    before = dict(os.environ)
    keys: list[str] = []

    def watching(engine: Engine, run: RunId) -> bool:
        drive(engine, run)
        with engine.ledger.snapshot() as tx:
            keys.extend(credential.tail for credential in tx.credentials.list_credentials())
        assert dict(os.environ) == before  # others in this process may need it
        return False

    done = rehearse(here.engine, RehearsalSpec(schema="metadata", model=OPENAI), watching)

    assert done.progress.done == 40
    assert keys == [ANY_KEY[-4:]]
    assert dict(os.environ) == before


def test_the_server_sees_nothing_but_the_made_up_key(
    here: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-real-key-of-somebody-9876")
    log = tmp_path / "log.jsonl"

    rehearse_here(
        here, server_config={"faults": "key=0.5,seed=1", "log": str(log)}, policy={"pack_size": 1}
    )

    seen = [json.loads(line)["key"] for line in log.read_text().splitlines()]
    assert set(seen) == {ANY_KEY[-4:]}


def test_what_quire_toml_says_of_a_key_is_left_aside(tmp_path: Path) -> None:
    told = {"openai": {"key_env": "NOT_SET", "api": "chat", "base_url": "https://gateway.example"}}
    settings = Settings(ledger="x.db", providers=told)

    made = redirect_settings(settings, find_model(OPENAI), "http://127.0.0.1:9", tmp_path)

    table = made.providers["openai"]
    assert table["base_url"] == "http://127.0.0.1:9"
    assert table["api"] == "chat"
    assert "key_env" not in table
    assert Path(str(table["key_file"])).read_text() == ANY_KEY
    assert Path(made.ledger).parent == tmp_path


@pytest.mark.parametrize(
    ("how", "error", "says"),
    [
        ({"model": "simulated/small"}, UsageError, "a rehearsal already"),
        ({"model": "local/smollm2"}, UsageError, "costs nothing"),
        ({"schema": "nobody"}, NotFound, "there is no schema"),
        ({"server_config": {"faults": "nothing=1"}}, SettingsInvalid, "nothing"),
        ({"server_config": {"latency": "soon"}}, SettingsInvalid, "latency"),
        (
            {"server_config": {"limit": "model"}, "model": "ollama/llama3"},
            UsageError,
            "--limit-profile",
        ),
        ({"policy": {"pack_size": 0}}, UsageError, "pack_size"),
        ({"documents": []}, UsageError, "nothing to rehearse"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_line(
    here: World, how: dict[str, object], error: type[Exception], says: str
) -> None:
    part = RehearsalSpec(**{"schema": "metadata", "model": OPENAI, **how})  # type: ignore[arg-type]

    with pytest.raises(error, match=says):
        rehearse(here.engine, part, drive)


def test_a_pack_size_that_was_probed_is_rehearsed(here: World) -> None:
    asked = resolve_order(here.engine.settings, SCHEMA, OPENAI, {"pack_size": "probed"})
    store_probe_result(here.engine.ledger, asked, 20, {}, NOW)

    done = rehearse_here(here, policy={"pack_size": "probed"})

    assert (done.progress.packs, done.progress.packed_tasks) == (2, 40)


def test_the_servers_limits_are_kept_to(here: World) -> None:
    done = rehearse_here(here, server_config={"limit": "requests=100000,input=9000000"})

    assert done.progress.done == 40
    assert done.server_stats["statuses"] == {"200": done.progress.calls}
