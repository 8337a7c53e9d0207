"""Runs of several stages are stopped, waived, retried, rerun and judged again by commands."""

from collections.abc import Callable
from pathlib import Path

import pytest

from quire.engine import open_engine
from quire.providers.provider_registry import Providers
from tests.cli.conftest import Quire
from tests.ledger.raw import Raw
from tests.world import until_rest

RECIPE = """
name = "two"

[[stages]]
name = "first"
about = "each_document"
prompt = "Sum up: {{ document.text }}"
gates = [{ name = "rules", rules = [{ field = "words", min = 0 }] }]

[stages.schema]
type = "object"
additionalProperties = false
properties = { words = { type = "integer" } }
required = ["words"]

[stages.policy]
max_tries = 1

[[stages]]
name = "second"
about = "each_result"
of = "first"
prompt = "More: {{ inputs.first.data.words }}"
"""


@pytest.fixture
def two(quire: Quire, folder: Path) -> Callable[..., Quire]:
    """The commands, with a run of two stages over two documents, carried out."""
    for name in ("one", "two"):
        (folder / f"{name}.txt").write_text(f"The text of document {name}.")
    (folder / "two.toml").write_text(RECIPE)
    quire("init")
    quire("ingest", "one.txt", "two.txt")

    def run(faults: str = "", **settings: object) -> Quire:
        with open_engine(None) as engine:
            engine.context.providers = Providers(faults)
            until_rest(engine.run(recipe="two.toml", model="simulated/small", **settings))  # type: ignore[arg-type]
        return quire

    return run


@pytest.mark.parametrize("command", ["stop-after", "waive", "rerun", "regate"])
def test_every_command_has_an_example_in_its_help(quire: Quire, command: str) -> None:
    assert f"Example: quire {command}" in " ".join(quire(command, "--help").stdout.split())


def test_a_run_is_told_to_stop_after_a_stage_and_to_go_on(two: Callable[..., Quire]) -> None:
    quire = two(stop_after="first")

    assert "held (stop_after): stopped after first, as asked" in quire("status", 1).stdout
    assert "was to stop after first already" in quire("stop-after", 1, "first").stdout
    assert "run 1 does not stop any more" in quire("stop-after", 1, "--clear").stdout
    assert "was not to stop" in quire("stop-after", 1, "--clear").stdout
    assert "run 1 stops after second" in quire("stop-after", 1, "second").stdout
    quire("work", "--until-idle")
    assert quire.json("status")["state"] == "finished"


def test_stopping_needs_a_stage_or_the_wish_to_clear(two: Callable[..., Quire]) -> None:
    quire = two(stop_after="first")

    assert "name the STAGE to stop after" in quire("stop-after", 1, code=2).stderr
    assert "name the STAGE" in quire("stop-after", 1, "first", "--clear", code=2).stderr
    assert (
        "no stage 'third'; stages: first, second" in quire("stop-after", 1, "third", code=2).stderr
    )


def test_a_failed_task_of_an_exact_run_is_waived(two: Callable[..., Quire]) -> None:
    quire = two("wrong@two", completion_mode="exact")
    (group,) = quire.json("failures")
    task = group["failures"][0]["task_id"]

    assert "held (failures): 1 failed in first" in quire("status").stdout
    assert "1 task waived" in quire("waive", task).stdout
    assert "waived before" in quire("waive", task).stdout
    assert quire.json("waive", task) == {"tasks": [task], "changed": 0}
    quire("work", "--until-idle")
    assert quire.json("status")["tasks"] == {"blocked": 1, "done": 2, "failed": 1}


def test_what_failed_is_retried_in_one_stage(two: Callable[..., Quire]) -> None:
    quire = two("wrong@two")

    assert "has no failed tasks in second" in quire("retry", "--stage", "second").stdout
    assert "run 1 owes 1 task again" in quire("retry", "--stage", "first").stdout
    assert "has no stale tasks" in quire("retry", "--stale").stdout
    quire("work", "--until-idle")
    assert quire.json("status")["tasks"] == {"done": 4}


def test_a_stage_and_all_after_it_are_asked_again(two: Callable[..., Quire]) -> None:
    quire = two()

    assert "name the first stage" in quire("rerun", code=2).stderr
    assert "run 1 asks 2 tasks again, from second on" in quire("rerun", "--from", "second").stdout
    assert quire.json("rerun", 1, "--from", "first") == {"run": 1, "changed": 4}
    quire("work", "--until-idle")
    assert quire.json("status")["calls"] == 3 + 3  # the first stage's two share one


def test_a_changed_recipe_keeps_what_comes_before_the_change(
    two: Callable[..., Quire], folder: Path
) -> None:
    quire = two()
    changed = RECIPE.replace("More:", "Much more:")
    (folder / "changed.toml").write_text(changed)
    how = ("--from", "second", "--recipe", "changed.toml")

    planned = quire("plan", "--reuse", 1, *how).stdout
    assert "together: 2 tasks, 2 calls" in planned
    assert [line.split()[-1] for line in planned.splitlines() if line.startswith("first")] == [
        "reused"
    ]
    assert "run 2 keeps the results of run 1 before second" in quire("rerun", 1, *how).stdout
    assert "run 2 has this already and keeps the results" in quire("rerun", 1, *how).stdout
    quire("work", "--until-idle")
    assert [quire.json("status", run)["calls"] for run in (1, 2)] == [3, 2]
    assert quire.json("status", 2)["tasks"] == {"done": 4}
    again = quire("rerun", 1, *how).stdout
    assert again == "run 2 has this already and is finished: nothing is asked again\n"
    refused = quire("run", "--reuse", 1, "--recipe", "changed.toml", code=2).stderr
    assert "--reuse RUN and --from STAGE go together" in refused


def test_stored_answers_are_judged_again(two: Callable[..., Quire]) -> None:
    quire = two("wrong@two")

    shown = quire("regate").stdout
    printed = quire.json("regate", 1, "--stage", "first", "--apply")

    assert "nothing changes" in shown
    assert [line.split()[:2] for line in shown.splitlines() if "first" in line] == [["first", "2"]]
    assert printed[0]["counts"]["same"] == 2


def test_what_would_change_is_shown_before_it_is_applied(two: Callable[..., Quire]) -> None:
    quire = two()
    with open_engine(None) as engine:
        raw = Raw(engine.ledger.url)
    raw.rows("UPDATE runs SET recipe = replace(recipe, '\"min\":0', '\"min\":5000')")
    raw.close()

    shown = quire("regate", 1, "--stage", "first").stdout
    applied = quire("regate", 1, "--stage", "first", "--apply").stdout

    assert "2 tasks would change; nothing is changed yet" in shown
    assert "`quire regate 1 --stage first --apply` does" in shown
    assert "first, task 1, refused:" in shown
    assert "2 tasks changed" in applied
    assert "`quire retry 1 --stale` asks them again" in applied
    assert quire.json("status")["tasks"] == {"done": 2, "failed": 2}


def test_the_policy_says_where_a_stage_has_its_own(two: Callable[..., Quire]) -> None:
    quire = two()

    shown = " ".join(quire("status", "--policy").stdout.split())

    assert "max_tries 3 built-in" in shown
    assert "max_tries 1 stage first" in shown
    assert quire.json("status", "--policy")["stage_policies"] == {"first": {"max_tries": 1}}
