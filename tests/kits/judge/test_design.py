"""The design of an experiment: who writes, who criticises, what is sent, and what a change asks."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from quire.domain.errors import RecipeInvalid, UsageError
from quire.domain.states import RunState
from quire.kits.judge.experiment import ExperimentRows
from quire.kits.judge.experiment_file import read_experiment
from quire.kits.judge.experiment_runs import plan_experiment, rows_of, start_experiment
from quire.kits.judge.experiment_tables import make_tables
from quire.kits.judge.recipe import (
    RUBRIC_CRITIC,
    RUBRIC_GEN,
    SCORE_CRITIC,
    SCORE_GEN,
    builtin_prompt,
    recipe_of,
)
from tests.kits.judge.examples import TOML, experiment, write
from tests.kits.judge.test_recipe import _score_prompt
from tests.world import World

Worlds = Callable[..., World]
SMALL, LARGE = "simulated/small", "simulated/large"
BASE = f"""\
experiment_tag = "design"
task_type = "ecc"
concept = "civil order"
models = ["{SMALL}"]
samples = 2
[[evidence]]
text = "The march ended without arrests."
[[evidence]]
text = "A curfew was declared."
[[evidence]]
text = "Nobody came."
"""
RUBRICS, SCORES = 2, 6  # of BASE


def run(here: World, folder: Path, *settings: str, base: str = BASE) -> ExperimentRows:
    """Run an experiment to its end."""
    path = write(folder, "".join(f"{line}\n" for line in settings) + base)
    begun = start_experiment(here.engine, path)
    assert begun.wait().state == RunState.FINISHED
    return rows_of(here.engine, begun.id)


def asked(here: World, folder: Path, *settings: str, base: str = BASE) -> dict[str, int]:
    """Run an experiment; the calls by stage, as its plan says them, and all of them made."""
    path = write(folder, "".join(f"{line}\n" for line in settings) + base)
    before, planned = here.model.calls, plan_experiment(here.engine, path)
    run(here, folder, *settings, base=base)
    by_stage: Counter[str] = Counter()
    for stage in planned.stages:
        by_stage[stage.stage] += stage.to_ask.calls
    assert here.model.calls - before == sum(by_stage.values())
    return {stage: calls for stage, calls in by_stage.items() if calls}


def test_one_model_criticises_all_and_the_tables_say_so(world: Worlds, tmp_path: Path) -> None:
    rows = run(world(), tmp_path, f'critic_model = "{LARGE}"')

    for stage in (RUBRIC_CRITIC, SCORE_CRITIC):
        assert {task.model for task in rows.tasks_of_stage(stage)} == {LARGE}
    tables = make_tables(rows)
    assert {row["rubric_critic_model_id"] for row in tables["rubrics"]} == {LARGE}
    assert {row["score_critic_model_id"] for row in tables["scores"]} == {LARGE}
    assert {row["model_id"] for row in tables["scores"]} == {SMALL}
    (point,) = tables["experiments"]
    assert (point["rubric_model_id"], point["critic_model_id"]) == (SMALL, LARGE)
    assert point["view_model_id"] is None


def test_one_model_writes_the_rubrics_that_all_judge_on(world: Worlds, tmp_path: Path) -> None:
    both = BASE.replace(f'["{SMALL}"]', f'["{SMALL}", "{LARGE}"]')
    rows = run(world(), tmp_path, f'rubric_model = "{LARGE}"', base=both)

    tables = make_tables(rows)
    assert [row["model_id"] for row in tables["rubrics"]] == [LARGE] * RUBRICS
    counted = Counter((row["model_id"], row["rubric_model_id"]) for row in tables["scores"])
    assert counted == {(SMALL, LARGE): SCORES, (LARGE, LARGE): SCORES}
    assert not any(row["is_swap"] for row in tables["scores"])
    assert {row["rubric_id"] for row in tables["scores"]} == {
        row["rubric_id"] for row in tables["rubrics"]
    }
    assert {row["sample_id"] for row in tables["scores"]} == {
        row["sample_id"] for row in tables["samples"]
    }
    assert {row["parse_status"] for row in tables["scores"]} == {"parsed"}


def test_rubrics_of_one_model_leave_no_rivals(tmp_path: Path) -> None:
    path = write(tmp_path, f'rubric_model = "{LARGE}"\nswaps = "all"\n{TOML}')

    with pytest.raises(RecipeInvalid, match=r"toml:1: rubric_model writes all rubrics, but swaps"):
        read_experiment(path)


def test_evidence_comes_before_the_scale_where_that_is_wanted() -> None:
    plain = _score_prompt(experiment(evidence_bundle_size=2))
    turned = _score_prompt(experiment(evidence_bundle_size=2, prompt_ordering="evidence_first"))

    assert plain.index("[A]") < plain.index("RAW TEXT")
    assert turned.rindex("RAW TEXT") < turned.index("The scale has 4 stages") < turned.index("[A]")
    assert plain.partition("Choose")[2] == turned.partition("Choose")[2]
    assert turned.count("RAW TEXT") == plain.count("RAW TEXT") == 2


def test_what_calls_are_sent_with_is_said_in_the_file(world: Worlds, tmp_path: Path) -> None:
    settings = ("temperature = 0.5", "top_p = 0.9", "provider_seed = 7", "max_tokens = 3000")
    rows = run(world(), tmp_path, *settings)

    stages = recipe_of(rows.experiment).stages
    sent = {"temperature": 0.5, "top_p": 0.9, "seed": 7, "max_tokens": 3000}
    assert [stage.params.as_json() for stage in stages] == [sent] * 4
    (point,) = make_tables(rows)["experiments"]
    assert (point["top_p"], point["provider_seed"], point["max_tokens"]) == (0.9, 7, 3000)


@pytest.mark.parametrize(
    ("model", "settings", "refusal"),
    [
        ("anthropic/claude-haiku-5-5", "provider_seed = 7", "takes no seed; leave it out"),
        ("openai/gpt-6-luna", "provider_seed = 7", "seed"),
        ("anthropic/claude-haiku-4-5", "temperature = 1.5", "a temperature from 0 to 1, not 1.5"),
        ("mistral/mistral-large-4", "temperature = 1.6", "a temperature from 0 to 1.5, not 1.6"),
        (
            "anthropic/claude-haiku-5-5",
            "temperature = 1\ntop_p = 1\nprovider_seed = 1",
            "takes no temperature and no top_p and no seed; leave them out",
        ),
    ],
)
def test_what_a_model_refuses_is_told_before_anything_is_sent(
    world: Worlds, tmp_path: Path, model: str, settings: str, refusal: str
) -> None:
    path = write(tmp_path, f"{settings}\n{BASE.replace(SMALL, model)}")

    with pytest.raises(UsageError, match=refusal) as refused:
        plan_experiment(world().engine, path)

    assert model in str(refused.value)


def test_openai_takes_a_seed_where_the_older_api_is_chosen(world: Worlds, tmp_path: Path) -> None:
    here = world()
    here.engine.context.settings = replace(
        here.engine.settings, providers={"openai": {"api": "chat"}}
    )
    path = write(tmp_path, f"provider_seed = 7\n{BASE.replace(SMALL, 'openai/gpt-6-luna')}")

    assert plan_experiment(here.engine, path).calls == 2 * (RUBRICS + SCORES)


class TestAChangedExperimentAsksOnlyWhatChanged:
    """Each change of a finished experiment, by the calls that it makes."""

    @pytest.fixture
    def here(self, world: Worlds, tmp_path: Path) -> World:
        """A ledger in which the experiment was carried out."""
        made = world()
        first = asked(made, tmp_path)
        assert first == {
            RUBRIC_GEN: RUBRICS,
            RUBRIC_CRITIC: RUBRICS,
            SCORE_GEN: SCORES,
            SCORE_CRITIC: SCORES,
        }
        return made

    def test_another_prompt_of_a_critic_asks_that_critic(self, here: World, tmp_path: Path) -> None:
        own = builtin_prompt("score_critic").replace("How likely", "Tell me how likely")
        (tmp_path / "critic.md").write_text(own)

        found = asked(here, tmp_path, 'prompts.score_critic = "critic.md"')

        assert found == {SCORE_CRITIC: SCORES}

    def test_another_critic_asks_the_critics(self, here: World, tmp_path: Path) -> None:
        found = asked(here, tmp_path, f'critic_model = "{LARGE}"')

        assert found == {RUBRIC_CRITIC: RUBRICS, SCORE_CRITIC: SCORES}

    def test_one_more_model_asks_that_model(self, here: World, tmp_path: Path) -> None:
        both = BASE.replace(f'["{SMALL}"]', f'["{SMALL}", "{LARGE}"]')

        found = asked(here, tmp_path, base=both)

        assert found == {
            RUBRIC_GEN: RUBRICS,
            RUBRIC_CRITIC: RUBRICS,
            SCORE_GEN: SCORES,
            SCORE_CRITIC: SCORES,
        }

    def test_one_more_sample_asks_that_sample(self, here: World, tmp_path: Path) -> None:
        found = asked(here, tmp_path, base=BASE.replace("samples = 2", "samples = 3"))

        assert found == {RUBRIC_GEN: 1, RUBRIC_CRITIC: 1, SCORE_GEN: 3, SCORE_CRITIC: 3}

    def test_another_order_asks_scores_and_their_critics(self, here: World, tmp_path: Path) -> None:
        found = asked(here, tmp_path, 'prompt_ordering = "evidence_first"')

        assert found == {SCORE_GEN: SCORES, SCORE_CRITIC: SCORES}
