"""Prompts of one's own: what they may name, what they must show, and where a mistake stands."""

from pathlib import Path

import pytest

from quire.domain.errors import RecipeInvalid
from quire.kits.judge.experiment import experiment_from_json, experiment_to_json
from quire.kits.judge.experiment_file import read_experiment
from quire.kits.judge.prompt_files import VARIABLES
from quire.kits.judge.recipe import builtin_prompt, recipe_of
from tests.kits.judge.examples import TOML, write

HIDDEN = 'randomizations = ["hide_label_text", "shuffle_rubric_order"]\n'
SCALE = """{% for number in part.order %}
[{{ part.tokens[number - 1] }}] {{ rubric_stages[number - 1].criteria | join(", ") }}
{% endfor %}
"""
EVIDENCE = (
    "{% for document in documents %}{{ document.views[parameters.evidence_view] }}{% endfor %}\n"
)
ENDING = "VERDICT: or ABSTAIN"


def refused(folder: Path, name: str, text: str, settings: str = "") -> list[str]:
    """Read an experiment with one prompt of its own; what is wrong, without the folder."""
    (folder / "own.md").write_text(text)
    path = write(folder, f'prompts.{name} = "own.md"\n{settings}{TOML}')
    with pytest.raises(RecipeInvalid) as found:
        read_experiment(path)
    return [str(mistake).removeprefix(f"{folder}/") for mistake in found.value.mistakes]


@pytest.mark.parametrize("name", VARIABLES)
def test_every_built_in_prompt_could_be_ones_own(tmp_path: Path, name: str) -> None:
    (tmp_path / "own.md").write_text(builtin_prompt(name))

    read = read_experiment(write(tmp_path, f'prompts.{name} = "own.md"\n{HIDDEN}{TOML}'))

    assert read.prompts == ((name, builtin_prompt(name)),)


def test_the_text_of_a_prompt_is_part_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "own.md").write_text(f"{SCALE}{EVIDENCE}Mine. {ENDING}\n")
    read = read_experiment(write(tmp_path, f'prompts.score_gen = "own.md"\n{TOML}'))

    again = experiment_from_json(experiment_to_json(read), [item.text for item in read.evidence])

    assert again == read
    stages = {stage.name: stage.prompt for stage in recipe_of(again).stages}
    assert stages["score_gen"].endswith(f"Mine. {ENDING}")
    assert stages["score_critic"] == builtin_prompt("score_critic")


def test_unknown_variables_are_told_all_at_once_with_their_lines(tmp_path: Path) -> None:
    text = "{{ parameters.concept }}\n{{ judged.asked }} {{ part.labels }}\n\n{{ evidense }}\n"

    assert refused(tmp_path, "score_gen", text) == [
        "own.md:4: the variable evidense is not known; known are documents, parameters, part,"
        " rubric_stages",
        "own.md:2: the variable judged is not known; known are documents, parameters, part,"
        " rubric_stages",
        "own.md:2: part.labels is not known; did you mean part.hide_labels?",
    ]


def test_a_mistake_of_the_file_and_one_of_a_template_are_told_together(tmp_path: Path) -> None:
    found = refused(tmp_path, "rubric_gen", "RUBRIC:\n{% if %}", "scale_size = 1\n")

    assert [line.partition(": ")[0] for line in found] == ["experiment.toml:2", "own.md:2"]


@pytest.mark.parametrize(
    ("name", "text", "settings", "wrong"),
    [
        ("rubric_gen", "Write a rubric.", "", "never says RUBRIC:, which ends the answer"),
        (
            "rubric_critic",
            "{{ judged.data.stages }} QUALITY: observability",
            "",
            "discriminability",
        ),
        ("rubric_critic", "QUALITY: observability discriminability", "", "criteria of every stage"),
        ("score_gen", f"{SCALE}{EVIDENCE}ABSTAIN", "", "never says VERDICT:"),
        ("score_gen", f"{SCALE}{ENDING}", "", "does not show the evidence"),
        ("score_gen", f"{EVIDENCE}{ENDING}", "", "does not show the criteria"),
        ("score_gen", f"{SCALE}{EVIDENCE}VERDICT:", "", "ABSTAIN may be answered"),
        (
            "score_gen",
            f"{SCALE.replace('part.order', 'parameters.numbers')}{EVIDENCE}{ENDING}",
            HIDDEN,
            "in the order of part.order",
        ),
        (
            "score_gen",
            f"{SCALE}{EVIDENCE}{ENDING}{{{{ rubric_stages[0].label }}}}",
            HIDDEN,
            "shows labels, which hide_label_text hides",
        ),
        (
            "score_gen",
            f"{SCALE}{EVIDENCE}{ENDING}",
            'prompt_ordering = "evidence_first"\n',
            "takes no notice of prompt_ordering",
        ),
        ("score_critic", "{{ judged.asked }} EXPERT_AGREEMENT:", "", "does not show judged.answer"),
        (
            "score_critic",
            "{{ judged.asked }}{{ judged.answer }}",
            "",
            "never says EXPERT_AGREEMENT:",
        ),
        ("cleaned", "Clean it.", "", "does not show the text"),
        ("score_gen", f"{SCALE}\n{{{{ documents[7] }}}}", "", "own.md:5: template:"),
        ("score_gen", "", "", "experiment.toml:1: score_gen cannot be read"),
    ],
)
def test_a_prompt_that_would_break_the_experiment_is_refused(
    tmp_path: Path, name: str, text: str, settings: str, wrong: str
) -> None:
    assert any(wrong in mistake for mistake in refused(tmp_path, name, text, settings))


def test_a_prompt_that_does_not_exist_and_a_file_that_is_not_there(tmp_path: Path) -> None:
    path = write(tmp_path, f'prompts.score = "a.md"\nprompts.score_gen = "gone.md"\n{TOML}')

    with pytest.raises(RecipeInvalid) as found:
        read_experiment(path)

    first, second = (str(mistake).removeprefix(f"{path}:") for mistake in found.value.mistakes)
    assert first.startswith("1: score is not known")
    assert second == f"2: score_gen cannot be read: {tmp_path}/gone.md: No such file or directory"
