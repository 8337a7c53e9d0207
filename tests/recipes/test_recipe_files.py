"""Recipe files become recipes, with every default filled in."""

from dataclasses import replace
from pathlib import Path

import pytest

from quire.domain.data import Json
from quire.domain.errors import NotFound, RecipeInvalid
from quire.domain.models import Params
from quire.domain.recipes import GATE, SAME, GateUse
from quire.recipes.plugin_registry import builtin_registry
from quire.recipes.recipe_files import find_recipe, load_recipe, open_recipe, read_recipe_file
from tests.recipes.examples import SOUND, read, recipe

REGISTRY = builtin_registry()
SCHEMA = '{"title": "Who", "type": "object", "additionalProperties": false, "properties": %s}'


def test_stages_come_in_the_order_of_their_needs() -> None:
    found = recipe()

    assert [stage.name for stage in found.stages] == ["facts", "check", "summary", "digest", "echo"]
    assert found.critics_of("facts")[0].name == "check"


def test_a_file_is_read_with_all_it_says() -> None:
    found = recipe()
    stages = {stage.name: stage for stage in found.stages}
    facts, check, summary = stages["facts"], stages["check"], stages["summary"]

    assert (found.name, found.version, found.inputs) == ("sound", "1", ("contracts", "letters"))
    assert found.parameters == {"language": "English", "depth": 2}
    assert facts.gates[0] == GateUse("json")
    assert facts.gates[1].params["rules"] == [{"field": "who", "min": 1}]
    assert facts.params == Params(temperature=0.0)
    assert facts.policy == {"packing": False, "max_tries": 5}
    assert (facts.over, facts.templated) == ("contracts", True)
    assert (check.about, check.critic, check.of) == ("each_result", GATE, "facts")
    assert check.accepts == "answer.score > 0.5"
    assert (summary.models, summary.samples) == (("a/one", "a/two"), 3)
    assert summary.gates == (GateUse("text"),)
    assert summary.schema is None
    assert stages["echo"].models == (SAME,)


def test_a_schema_may_be_a_file_beside_the_recipe(tmp_path: Path) -> None:
    body = SCHEMA % '{"who": {"type": "string"}}'
    config = '"prompt_config": {"per_block_prompt": "Who?", "temperature": 1, "pack_size": 3},'
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "who.json").write_text(body.replace("{", "{" + config, 1))
    text = '[[stages]]\nname = "a"\nabout = "each_block"\nschema = "schemas/who.json"\n'

    (stage,) = read(text, folder=tmp_path).recipe.stages

    assert stage.record.ref == "who"
    assert stage.prompt == "Who?"
    assert stage.params == Params(temperature=1.0)
    assert stage.policy == {"pack_size": 3}


def test_what_a_stage_says_wins_over_its_schema(tmp_path: Path) -> None:
    body = SCHEMA % '{"who": {"type": "string"}}'
    config = '"prompt_config": {"per_block_prompt": "Who?", "temperature": 1, "pack_size": 3},'
    (tmp_path / "who.json").write_text(body.replace("{", "{" + config, 1))
    text = """
        [[stages]]
        name = "a"
        about = "each_block"
        schema = "who.json"
        prompt = "Whom?"
        params = { temperature = 0.5 }
        policy = { pack_size = 7 }
        """

    (stage,) = read(text, folder=tmp_path).recipe.stages

    assert (stage.prompt, stage.params.temperature) == ("Whom?", 0.5)
    assert stage.policy == {"pack_size": 7}


@pytest.mark.parametrize(
    ("typed", "taken"),
    [("3", 3), (3, 3), ("1", 1)],
)
def test_what_was_typed_for_a_parameter_is_taken_as_it_is_meant(
    typed: str | int, taken: int
) -> None:
    assert read(SOUND, given={"depth": typed}).recipe.parameters["depth"] == taken


def test_a_text_stays_a_text() -> None:
    assert read(SOUND, given={"language": "7"}).recipe.parameters["language"] == "7"


def test_a_recipe_that_is_only_looked_at_needs_no_parameters() -> None:
    text = SOUND.replace('language = "English"', "language = { description = 'which' }")
    with pytest.raises(RecipeInvalid, match=r"r.toml:6: parameter language must be given \(which"):
        read_recipe_file(text.encode(), "r.toml", folder=Path(), registry=REGISTRY, given={})
    given = read_recipe_file(
        text.encode(), "r.toml", folder=Path(), registry=REGISTRY, given={"language": "German"}
    )

    assert given.recipe.parameters["language"] == "German"
    looked = read_recipe_file(text.encode(), "r.toml", folder=Path(), registry=REGISTRY)
    assert looked.recipe.parameters == {"depth": 2}
    assert looked.parameters["language"].required


@pytest.mark.parametrize("name", sorted(REGISTRY.recipes))
def test_every_built_in_recipe_can_be_run_with_no_more_than_a_brief(name: str) -> None:
    looked = open_recipe(name, REGISTRY)
    asked: dict[str, Json] = {
        parameter.name: "Why?" for parameter in looked.parameters.values() if parameter.prompt
    }
    found = load_recipe(name, REGISTRY, asked)

    assert found.name == name
    assert found.description
    assert replace(found, parameters=looked.recipe.parameters) == looked.recipe


def test_the_built_in_recipes_are_there() -> None:
    assert {"summarise", "extract_checked", "dialectic", "report"} <= set(REGISTRY.recipes)


def test_a_recipe_is_found_by_name_or_by_path(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(SOUND)

    assert find_recipe(str(file), REGISTRY) == file
    assert find_recipe("summarise", REGISTRY).name == "summarise.toml"
    with pytest.raises(NotFound, match="did you mean summarise"):
        find_recipe("summarize", REGISTRY)
    with pytest.raises(NotFound, match="no such file"):
        find_recipe("elsewhere.toml", REGISTRY)


def test_a_name_comes_from_the_file_where_none_is_given() -> None:
    assert recipe(SOUND.replace('name = "sound"\n', "", 1)).name == "r"


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "huge.toml"
    with file.open("wb") as stream:
        stream.truncate(5_000_000)

    with pytest.raises(OSError, match="larger than"):
        open_recipe(file, REGISTRY)
