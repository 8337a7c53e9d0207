"""Recipes to try: a sound one, and ways to break it."""

from pathlib import Path
from textwrap import dedent

from quire.domain.data import Json
from quire.domain.errors import FileMistake, RecipeInvalid
from quire.domain.recipes import Recipe
from quire.recipes.plugin_registry import Registry, builtin_registry
from quire.recipes.recipe_files import RecipeFile, read_recipe_file

SOUND = '''\
name = "sound"
description = "Reads, checks and sums up."
inputs = ["contracts", "letters"]

[parameters]
language = "English"
depth = { default = 2, description = "how deep", choices = [1, 2, 3] }

[[stages]]
name = "digest"
about = "all_to_one"
needs = ["facts", "summary"]
prompt = """
{% for each in inputs.summary %}
{{ each.text }}
{% endfor %}
"""

[[stages]]
name = "facts"
about = "each_block"
over = "contracts"
system = "You read {{ parameters.language }}."
prompt = "Fill in {{ parameters.depth }} levels."
gates = [{ name = "rules", rules = [{ field = "who", min = 1 }] }]

[stages.params]
temperature = 0

[stages.policy]
packing = "off"
max_attempts = 5

[stages.schema]
type = "object"
additionalProperties = false

[stages.schema.properties]
who = { type = "string" }
score = { type = "number" }

[[stages]]
name = "check"
critic = true
of = "facts"
mode = "gate"
accepts = "answer.score > 0.5"
prompt = "{{ judged.asked }} {{ judged.answer }} {{ inputs.facts.data.who }}"

[stages.schema]
type = "object"
additionalProperties = false
properties = { score = { type = "number" } }

[[stages]]
name = "summary"
about = "each_document"
over = "contracts"
needs = ["facts"]
models = ["a/one", "a/two"]
samples = 3
prompt = "{{ document.title }} {{ inputs.facts|length }} {{ sample }} {{ critique }}"

[[stages]]
name = "echo"
about = "each_result"
of = "summary"
needs = ["facts"]
model = "same"
prompt = "{{ inputs.summary.text }}"
'''


def read(
    text: str,
    *,
    folder: Path = Path(),
    registry: Registry | None = None,
    given: dict[str, Json] | None = None,
) -> RecipeFile:
    """Read a recipe's text."""
    return read_recipe_file(
        dedent(text).encode(),
        "r.toml",
        folder=folder,
        registry=registry or builtin_registry(),
        given={} if given is None else given,
    )


def recipe(text: str = SOUND) -> Recipe:
    """The recipe of a text."""
    return read(text).recipe


def recipe_mistakes(
    text: str, folder: Path = Path(), given: dict[str, Json] | None = None
) -> list[FileMistake]:
    """What is wrong with a recipe's text."""
    try:
        read(text, folder=folder, given=given)
    except RecipeInvalid as error:
        return [mistake for mistake in error.mistakes if isinstance(mistake, FileMistake)]
    return []


def break_recipe(old: str, new: str) -> str:
    """The sound recipe with one change."""
    assert SOUND.count(old) >= 1, old
    return SOUND.replace(old, new, 1)


def line_of(text: str, part: str) -> int:
    """The line where some part of a text begins."""
    assert part in text, part
    return text[: text.index(part)].count("\n") + 1
