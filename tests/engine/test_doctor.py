"""The doctor names what is wrong, and what to do about it, and never fails itself."""

import tomllib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from quire.domain.errors import Error, SettingsInvalid, SettingsMistake
from quire.domain.states import RunState
from quire.engine.doctor.checkup import is_well
from quire.engine.doctor.findings import finding_of_error
from quire.engine.doctor.setup_checks import EXTRAS, disk_finding
from tests.accounts.key_server import GOOD
from tests.crash.test_simulation import Died, Mortal
from tests.engine.installations import Later, examine_engine, findings_of, severities, with_settings
from tests.ledger.raw import Raw
from tests.world import METADATA, World, sentences, until_rest

Worlds = Callable[..., World]

FAULTS = "skip=0.1,wrong=0.05,500=0.1,429=0.05,truncate=0.1,drop=0.05,413=0.03,seed=3"


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder of one's own."""
    monkeypatch.chdir(tmp_path)


def test_after_a_run_full_of_faults_all_is_well(world: Worlds) -> None:
    here = world(faults=FAULTS)
    here.ingest(sentences(80))
    here.run(pack_size=6, max_tries=50, max_calls=500)

    findings = examine_engine(here.engine, {}, offline=True)

    assert [finding for finding in findings if finding.severity != "ok"] == []
    assert is_well(findings)
    areas = {finding.area for finding in findings}
    assert areas >= {"versions", "extras", "settings", "model", "disk", "ledger", "keys", "reach"}
    assert areas >= {"limits", "workers", "runs", "tallies"}
    assert all("\n" not in finding.message for finding in findings)


def test_examining_leaves_no_trace(world: Worlds) -> None:
    here = world()
    raw = Raw(here.url)
    findings_of(here, "keys", environment={"OPENAI_API_KEY": GOOD})

    assert raw.one("SELECT count(*) FROM credentials") == 0
    assert raw.one("SELECT count(*) FROM events") == 0
    raw.close()


@pytest.mark.parametrize("seed", range(2))
def test_a_recount_agrees_after_every_crash(world: Worlds, seed: int) -> None:
    outside = Mortal(seed, chance=0.2)
    here = world(faults=FAULTS, runtime=outside)
    here.ingest(sentences(30))
    run = here.start(pack_size=6, concurrency=3, max_tries=50, max_calls=500)

    while here.engine.progress(run.id).state != RunState.FINISHED:
        with suppress(Died, BaseExceptionGroup):
            run.wait()
        with here.engine.ledger.snapshot() as tx:
            assert tx.checks.miscounts() == []

    assert outside.deaths


def test_a_recount_agrees_after_purging_cancelling_and_retrying(world: Worlds) -> None:
    here = world(faults="wrong@MARK")
    here.ingest(sentences(12, mark=3), "first")
    here.ingest(sentences(12), "second")
    run = here.run(max_tries=1, pack_size=4)
    run.retry()
    run.wait()
    here.engine.purge("second")
    here.start(new=True).cancel()
    here.run(new=True, limit=3)

    assert severities(findings_of(here, "tallies")) == ["ok"]


def test_spend_adds_up_alike_by_everything_it_is_shown_by(world: Worlds) -> None:
    here = world(faults=FAULTS)
    here.ingest(sentences(40))
    here.run(pack_size=6, max_tries=50, max_calls=500)
    (sound,) = findings_of(here, "spend")
    raw = Raw(here.url)
    stage = raw.one("SELECT id FROM stages")
    raw.rows("INSERT INTO tallies (stage_id, what, delta) VALUES (:s, 'cost', 9)", s=stage)
    raw.close()

    (wrong,) = findings_of(here, "spend")

    assert (sound.severity, wrong.severity) == ("ok", "problem")
    assert "run, stage, model, day, key, outcome" in sound.message
    assert wrong.message.startswith("the tallies of run 1 come to ")


def test_what_wallets_paid_is_what_attempts_cost_and_runs_still_have(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(40))
    here.engine.wallets.create("team", 1)
    run = here.engine.run(schema=METADATA, model="simulated/small", wallet="team", limit=10)
    until_rest(run)
    (under_way,) = findings_of(here, "spend")
    raw = Raw(here.url)
    raw.rows("UPDATE wallet_entries SET amount = amount - 5000000000 WHERE kind = 'slice'")
    raw.close()

    (wrong,) = findings_of(here, "spend")

    assert "; wallets paid $" in under_way.message
    assert wrong.severity == "problem"
    assert wrong.message.startswith("wallet team paid $")


def test_wrong_tallies_are_found_and_corrected(world: Worlds) -> None:
    here = world(faults=FAULTS)
    here.ingest(sentences(40))
    run = here.run(pack_size=6, max_tries=50, max_calls=500)
    right = run.progress()
    raw = Raw(here.url)
    stage = raw.one("SELECT id FROM stages")
    for what, delta in (("done", -3), ("cost", 17), ("calls", 1), ("packs", -1), ("failed", 2)):
        raw.rows(
            "INSERT INTO tallies (stage_id, what, delta) VALUES (:s, :w, :d)",
            s=stage,
            w=what,
            d=delta,
        )
    raw.close()

    (finding,) = findings_of(here, "tallies")
    (mended,) = findings_of(here, "tallies", fix=True)
    (after,) = findings_of(here, "tallies")

    assert finding.severity == "problem"
    assert f"run {run.id} was miscounted: calls {right.calls + 1}" in finding.message
    assert "(and 2 more)" in finding.message
    assert "quire doctor --fix" in finding.fix
    assert (mended.severity, "is corrected" in mended.message) == ("warning", True)
    assert after.severity == "ok"
    assert run.progress() == right
    assert here.engine.queries.events(run.id)[-1].kind == "recounted"


def test_only_the_runs_that_are_wrong_are_corrected(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(5))
    first, second = here.run(), here.run(new=True)
    raw = Raw(here.url)
    raw.rows(
        "DELETE FROM tallies WHERE stage_id IN (SELECT id FROM stages WHERE run_id = :run)",
        run=second.id,
    )
    raw.close()

    findings = findings_of(here, "tallies", fix=True)

    assert [f"run {second.id} " in finding.message for finding in findings] == [True]
    assert second.progress().done == 5
    assert [event.kind for event in here.engine.queries.events(first.id)].count("recounted") == 0


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    here = World(str(tmp_path / "quire.db"))
    here.ingest(sentences(400))
    here.engine.ledger.scrub()
    with (tmp_path / "quire.db").open("r+b") as file:
        file.seek(8 * 4096)
        file.write(b"\xff" * 40_000)

    findings = examine_engine(here.engine, {}, offline=True)

    assert any(
        "damaged" in finding.message or "malformed" in finding.message for finding in findings
    )
    assert not is_well(findings)
    here.close()


def test_a_check_that_fails_is_a_problem_and_not_an_end(tmp_path: Path) -> None:
    here = World(str(tmp_path / "quire.db"))
    here.close()

    findings = examine_engine(here.engine, {}, offline=True)

    assert not is_well(findings)
    assert [finding.severity for finding in findings if finding.area == "versions"] == ["ok"]
    assert {finding.area for finding in findings if finding.severity == "problem"} >= {
        "ledger",
        "keys",
    }


def test_postgres_says_its_version_connections_and_clock(postgres_database: str) -> None:
    here = World(postgres_database)

    ledger, clock = findings_of(here, "ledger"), findings_of(here, "clock")
    ahead = findings_of(here, "clock", runtime=Later(seconds=5))
    far_ahead = findings_of(here, "clock", runtime=Later(minutes=5))

    assert "PostgreSQL" in ledger[0].message
    assert ledger[1].message.endswith(" of 100 in use")
    assert [problem.message for problem in clock] == ["agrees with the database's"]
    assert (severities(ahead), severities(far_ahead)) == (["warning"], ["problem"])
    assert "NTP" in ahead[0].fix
    here.close()


def test_no_line_shows_a_password(postgres_database: str) -> None:
    here = World(postgres_database)
    here.engine.ledger.url = "postgresql://me:swordfish@db.example/quire"

    assert all(
        "swordfish" not in problem.message
        for problem in examine_engine(here.engine, {}, offline=True)
    )
    here.close()


@pytest.mark.parametrize(
    ("free", "standing"), [(10**8 - 1, "problem"), (10**9 - 1, "warning"), (10**9, "ok")]
)
def test_a_disk_is_judged_by_what_is_free(free: int, standing: str) -> None:
    assert disk_finding(free, "here").severity == standing


def test_an_error_as_a_finding_says_what_happened_and_what_to_do() -> None:
    finding = finding_of_error(Error("it broke; twice", "mend it\nand\nmore"))

    assert (finding.message, finding.fix) == ("it broke; twice (and 2 more lines)", "mend it")


def test_every_mistake_in_the_settings_is_kept_with_its_fix() -> None:
    error = SettingsInvalid(SettingsMistake("a is not known", "did you mean b?"), "c is wrong")

    finding = finding_of_error(error)

    assert str(error) == "a is not known; did you mean b?\nc is wrong"
    assert (finding.message, finding.fix) == (
        "a is not known (and 1 more lines)",
        "did you mean b?",
    )


def test_a_foreign_error_is_a_finding_as_it_is() -> None:
    finding = finding_of_error(ValueError("it broke; mend it"))

    assert (finding.message, finding.fix) == ("it broke; mend it", "")


def test_the_extras_are_those_of_the_package() -> None:
    path = Path(__file__).parents[2] / "pyproject.toml"
    stated = tomllib.loads(path.read_text())["project"]["optional-dependencies"]

    assert set(EXTRAS) == stated.keys() - {"all"}
    assert all(stated[name][0].startswith(package) for name, package in EXTRAS.items())


def test_a_model_that_there_is_not_is_a_problem(world: Worlds) -> None:
    here = with_settings(
        world(), model="openai/gpt-6-lnua", aliases={"cheap": "openai/nothing-such"}
    )

    chosen, alias = findings_of(here, "model")

    assert (chosen.severity, "quire.toml" in chosen.fix) == ("problem", True)
    assert (alias.severity, "alias cheap" in alias.message) == ("warning", True)


def test_a_model_that_was_shut_down_is_a_problem(world: Worlds) -> None:
    table = {"window": 1000, "max_output": 100, "input": 1, "output": 1, "retires": "2020-01-01"}
    here = with_settings(world(), model="openai/old", models={"openai/old": table})

    assert "was shut down on 2020-01-01" in findings_of(here, "model")[0].message


def test_a_policy_that_cannot_be_used_is_a_problem(world: Worlds) -> None:
    here = with_settings(world(), environment_policy={"pack_size": "many"})

    (finding,) = findings_of(here, "settings")

    assert (finding.severity, "pack_size" in finding.message) == ("problem", True)
