"""Experiments through an engine: what a run keeps, in which order, and what becomes of it."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from quire.domain.states import RunState, TaskState
from quire.kits.judge.experiment import (
    BENCHMARK,
    Experiment,
    ExperimentRows,
    GroundTruth,
    ScaleStage,
    experiment_from_json,
    experiment_to_json,
)
from quire.kits.judge.experiment_export import export_experiment
from quire.kits.judge.experiment_file import read_experiment
from quire.kits.judge.experiment_runs import (
    experiment_run,
    find_experiment_run,
    plan_experiment,
    rows_of,
    start_experiment,
)
from quire.kits.judge.experiment_tables import make_tables
from quire.kits.judge.recipe import SCORE_CRITIC, SCORE_GEN
from tests.kits.judge.examples import experiment
from tests.kits.judge.pilots import prove, write_pilot
from tests.world import World

Worlds = Callable[..., World]
MODELS = ("simulated/small", "simulated/large")
GIVEN = """
experiment_tag = "given"
task_type = "benchmark"
concept = "civil order"
models = ["simulated/small"]
samples = 2
scale_size = 2
evidence_view = "VIEW"
[ground_truth]
source = "us"
value = 1
[[rubric]]
label = "Weak"
criteria = ["few signs"]
[[rubric]]
label = "Strong"
criteria = ["many signs"]
[[evidence]]
text = "The march ended without arrests."
[[evidence]]
text = "A curfew was declared."
"""


def run_experiment(here: World, path: Path) -> ExperimentRows:
    """Run an experiment to its end."""
    run = start_experiment(here.engine, path)
    assert run.wait().state == RunState.FINISHED
    return rows_of(here.engine, run.id)


def write_experiment(folder: Path, text: str, name: str = "experiment.toml") -> Path:
    """Put an experiment into a file."""
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize(
    "wanted",
    [
        experiment(),
        experiment(swaps=(("simulated/a", "simulated/b"),), randomizations=("hide_label_text",)),
        experiment(
            task_type=BENCHMARK,
            ground_truth=GroundTruth(source="experts", value=2, label="some"),
            rubric=(ScaleStage(label="a", criteria=("b", "c")),),
            temperature=0.5,
        ),
    ],
)
def test_an_experiment_is_read_as_it_was_written(wanted: Experiment) -> None:
    texts = [evidence.text for evidence in wanted.evidence]

    again = experiment_from_json(experiment_to_json(wanted), texts)

    assert again == wanted
    assert [evidence.id for evidence in again.evidence] == [
        evidence.id for evidence in wanted.evidence
    ]


def test_texts_of_evidence_are_not_written_twice() -> None:
    assert "Text number" not in str(experiment_to_json(experiment()))


@pytest.mark.parametrize("kind", ["ecc", "control"])
def test_a_pilot_adds_up(world: Worlds, tmp_path: Path, kind: str) -> None:
    here = world(faults="missing_marker=0.1,garbled_id=0.1,seed=5")
    path = write_pilot(tmp_path, kind, MODELS, samples=3, evidence=4)

    run = start_experiment(here.engine, path)
    run.wait()

    prove(here.engine, run.id, tmp_path / "tables")


def test_evidence_is_in_the_order_of_the_file_even_if_it_was_there_before(
    world: Worlds, tmp_path: Path
) -> None:
    here = world()
    texts = ["First of all.", "Second to none.", "Third time lucky."]
    lines = "".join(f'[[evidence]]\ntext = "{text}"\n' for text in texts)
    head = 'task_type = "ecc"\nconcept = "x"\nmodels = ["simulated/small"]\nsamples = 1\n'
    last = write_experiment(
        tmp_path, f'experiment_tag = "last"\n{head}[[evidence]]\ntext = "{texts[2]}"\n'
    )
    run_experiment(here, last)

    rows = run_experiment(
        here, write_experiment(tmp_path, f'experiment_tag = "all"\n{head}{lines}', "2.toml")
    )

    assert list(rows.documents) == [2, 3, 1]
    assert [evidence.text for evidence in rows.experiment.evidence] == texts
    by_id = dict(zip(rows.documents, rows.experiment.evidence, strict=True))
    for task in rows.tasks_of_stage(SCORE_GEN):
        assert task.part["evidence_ids"] == [by_id[document].id for document in task.documents]


def test_what_the_judge_is_shown_is_the_text_word_for_word(world: Worlds, tmp_path: Path) -> None:
    here = world()
    path = write_pilot(tmp_path, "ecc", MODELS, samples=1, evidence=2)
    rows = run_experiment(here, path)

    for task in rows.tasks_of_stage(SCORE_GEN):
        asked = here.engine.queries.prompt(task.task_id)  # type: ignore[arg-type]
        text = dict(zip(rows.documents, rows.experiment.evidence, strict=True))[task.documents[0]]
        assert text.text in asked.user
        critic = rows.task_about(SCORE_CRITIC, task.task_id)
        assert critic is not None
        judged = here.engine.queries.prompt(critic.task_id)  # type: ignore[arg-type]
        assert asked.user in judged.user
        assert task.answer in judged.user


def test_a_run_is_found_by_its_file_and_a_changed_file_finds_none(
    world: Worlds, tmp_path: Path
) -> None:
    here = world()
    path = write_pilot(tmp_path, "ecc", MODELS, samples=1, evidence=2)
    rows = run_experiment(here, path)

    assert find_experiment_run(here.engine, str(path)) == rows.run_id
    assert experiment_run(here.engine, find_experiment_run(here.engine)).experiment == (
        read_experiment(path)
    )
    path.write_text(path.read_text().replace("seed = 11", "seed = 12"))
    with pytest.raises(Exception, match=f"was changed since run {rows.run_id}"):
        find_experiment_run(here.engine, str(path))


def test_evidence_that_was_purged_leaves_the_rest_of_the_export_as_it_was(
    world: Worlds, tmp_path: Path
) -> None:
    here = world()
    path = write_pilot(tmp_path, "ecc", MODELS, samples=1, evidence=3)
    before = run_experiment(here, path)

    here.engine.purge(str(before.documents[1]))
    after = rows_of(here.engine, before.run_id)  # type: ignore[arg-type]
    export_experiment(here.engine, before.run_id, tmp_path / "tables")  # type: ignore[arg-type]

    names = [table["evidence_id"] for table in make_tables(before)["evidences"]]
    assert [table["evidence_id"] for table in make_tables(after)["evidences"]] == names
    assert not make_tables(after)["evidences"][1]["raw_content"]
    kept = [table["evidence_id"] for table in make_tables(after)["scores"]]
    assert sorted(kept) == sorted([names[0], names[2]] * len(MODELS))  # type: ignore[type-var]


def test_views_are_made_from_each_other_and_judged_in_the_place_of_the_text(
    world: Worlds, tmp_path: Path
) -> None:
    here = world()
    rows = run_experiment(
        here, write_pilot(tmp_path, "ecc", MODELS, samples=1, evidence=2, view="neutralized")
    )

    evidence = make_tables(rows)["evidences"]
    assert all(row["cleaned_content"] and row["neutralized_content"] for row in evidence)
    assert all(row["abstracted_content"] is None for row in evidence)
    for task in rows.tasks_of_stage(SCORE_GEN):
        view = evidence[rows.documents.index(task.documents[0])]["neutralized_content"]
        asked = here.engine.queries.prompt(task.task_id).user  # type: ignore[arg-type]
        assert str(view) in asked


def test_a_view_that_fails_blocks_the_scores_that_need_it_and_no_others(
    world: Worlds, tmp_path: Path
) -> None:
    here = world(faults="empty@March 1")
    path = write_pilot(tmp_path, "ecc", MODELS, samples=2, evidence=3, view="cleaned")

    run = start_experiment(here.engine, path)
    run.wait()
    rows = rows_of(here.engine, run.id)

    bad = rows.experiment.evidence[1].id
    states = Counter(
        (task.part["evidence_ids"] == [bad], task.state) for task in rows.tasks_of_stage(SCORE_GEN)
    )
    assert states == {(True, TaskState.BLOCKED): 4, (False, TaskState.DONE): 8}


@pytest.mark.parametrize("view", ["raw", "cleaned"])
def test_a_rubric_that_is_given_is_judged_on_by_all(
    world: Worlds, tmp_path: Path, view: str
) -> None:
    rows = run_experiment(world(), write_experiment(tmp_path, GIVEN.replace("VIEW", view)))

    table = make_tables(rows)
    assert len(table["rubrics"]) == 1
    assert [row["parse_status"] for row in table["scores"]] == ["parsed"] * 4
    assert {row["score_critic_parse_status"] for row in table["scores"]} == {"parsed"}


def test_a_view_that_fails_blocks_scores_on_a_given_rubric_too(
    world: Worlds, tmp_path: Path
) -> None:
    here = world(faults="empty@curfew")

    run = start_experiment(
        here.engine, write_experiment(tmp_path, GIVEN.replace("VIEW", "cleaned"))
    )
    run.wait()
    rows = rows_of(here.engine, run.id)

    bad = rows.experiment.evidence[1].id
    states = Counter(
        (task.part["evidence_ids"] == [bad], task.state) for task in rows.tasks_of_stage(SCORE_GEN)
    )
    assert (True, TaskState.DONE) not in states
    assert states[False, "done"] == 2


def test_rivals_judge_on_each_others_rubrics(world: Worlds, tmp_path: Path) -> None:
    path = write_pilot(tmp_path, "ecc", MODELS, samples=2, evidence=2)
    path.write_text(f'swaps = "all"\nevidence_bundle_size = 2\n{path.read_text()}')

    rows = run_experiment(world(), path)

    scores = make_tables(rows)["scores"]
    assert Counter(score["is_swap"] for score in scores) == {True: 4, False: 4}
    assert all(
        score["model_id"] != score["rubric_model_id"] for score in scores if score["is_swap"]
    )
    assert {len(score["evidence_ids"]) for score in scores} == {2}  # type: ignore[arg-type]
    assert {score["score_critic_parse_status"] for score in scores} == {"parsed"}


def test_models_may_go_by_other_names(world: Worlds, tmp_path: Path) -> None:
    here = world()
    here.engine.context.settings = replace(
        here.engine.settings, aliases={"mine": "simulated/large"}
    )
    path = write_pilot(tmp_path, "ecc", ("simulated/small", "mine"), samples=1, evidence=1)
    path.write_text(f'swaps = "all"\nview_model = "mine"\n{path.read_text()}')

    rows = run_experiment(here, path)

    assert rows.experiment.models == MODELS
    assert {task.model for task in rows.tasks_of_stage(SCORE_GEN)} == set(MODELS)
    assert len(list(rows.tasks_of_stage(SCORE_GEN))) == 4


def test_a_score_asked_again_stands_beside_what_was_said_of_it_not_of_the_one_before(
    world: Worlds, tmp_path: Path
) -> None:
    here = world()
    run = start_experiment(here.engine, write_experiment(tmp_path, GIVEN.replace("VIEW", "raw")))
    run.wait()
    before = rows_of(here.engine, run.id)
    run.rerun(SCORE_GEN)
    run.wait()

    after = rows_of(here.engine, run.id)

    said = {task.task_id for task in before.tasks if task.stage == SCORE_CRITIC}
    assert said
    assert said.isdisjoint(task.task_id for task in after.tasks)
    assert Counter(task.stage for task in after.tasks) == Counter(
        task.stage for task in before.tasks
    )


def asked_for(here: World, path: Path) -> int:
    """Run an experiment; how many calls that took, which its plan must have known."""
    before, planned = here.model.calls, plan_experiment(here.engine, path).to_ask.calls
    run_experiment(here, path)
    assert here.model.calls - before == planned
    return planned


def test_an_experiment_with_one_more_model_asks_only_that_model(
    world: Worlds, tmp_path: Path
) -> None:
    here = world()
    text = GIVEN.replace("VIEW", "raw")
    first = asked_for(here, write_experiment(tmp_path, text))

    more = text.replace('["simulated/small"]', '["simulated/small", "simulated/large"]')
    second = asked_for(here, write_experiment(tmp_path, more, "more.toml"))

    assert first == second == 2 * 2 * 2  # samples × evidence, each judged by its critic


def test_another_seed_or_another_experiment_draws_its_own_samples(
    world: Worlds, tmp_path: Path
) -> None:
    here = world()
    text = GIVEN.replace("VIEW", "raw")
    first = asked_for(here, write_experiment(tmp_path, text))

    seeded = asked_for(here, write_experiment(tmp_path, f"seed = 9\n{text}", "seeded.toml"))
    renamed = text.replace('experiment_tag = "given"', 'experiment_tag = "other"')

    assert first == seeded == asked_for(here, write_experiment(tmp_path, renamed, "other.toml"))


def test_more_samples_ask_only_for_those(world: Worlds, tmp_path: Path) -> None:
    here = world()
    text = GIVEN.replace("VIEW", "raw")
    asked_for(here, write_experiment(tmp_path, text))

    more = write_experiment(tmp_path, text.replace("samples = 2", "samples = 3"), "more.toml")

    assert asked_for(here, more) == 2 * 2
