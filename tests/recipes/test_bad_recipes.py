"""Bad recipes are refused before a cent is spent: every mistake at once, each with its line."""

from pathlib import Path
from typing import NamedTuple

import pytest

from quire.domain.data import Json
from tests.recipes.examples import SOUND, break_recipe, line_of, recipe_mistakes

LOOP = "{% for a in range(1000) %}{% for b in range(1000) %}.{% endfor %}{% endfor %}"
STAGE = '\n[[stages]]\nname = "more"\nabout = "each_block"\nprompt = "{{ block.text }}"\n'


class BadRecipe(NamedTuple):
    """A change of the sound recipe that breaks it."""

    old: str
    new: str
    message: str
    at: str = ""  # what stands in the line it is told at; "" = what is new


BAD = {
    "syntax": BadRecipe("about = ", "about ", "not TOML"),
    "unclosed": BadRecipe(
        'model = "same"', 'model = """same', "not TOML", at='prompt = "{{ inputs.summary.text }}"'
    ),
    "unknown key": BadRecipe("description =", "descripton =", "did you mean description"),
    "unknown key of a stage": BadRecipe("samples = 3", "sample = 3", "did you mean samples"),
    "wrong type": BadRecipe("samples = 3", "samples = 'three'", "must be a whole number"),
    "too many samples": BadRecipe("samples = 3", "samples = 0", "from 1 to 1000000"),
    "two of one name": BadRecipe(
        'name = "summary"',
        'name = "facts"',
        "two stages are named",
        at='name = "facts"\nabout = "each_document"',
    ),
    "bad name": BadRecipe('name = "echo"', 'name = "Echo!"', "must be of a-z"),
    "no name": BadRecipe(
        'name = "echo"\n', "", "needs a name", at='[[stages]]\nabout = "each_result"'
    ),
    "no about": BadRecipe(
        'about = "each_result"\n', "", "needs about", at='[[stages]]\nname = "echo"'
    ),
    "no prompt": BadRecipe(
        'prompt = "{{ inputs.summary.text }}"', "", "needs a prompt", at='[[stages]]\nname = "echo"'
    ),
    "unknown grouping": BadRecipe(
        'about = "each_block"', 'about = "each_blok"', "did you mean each_block"
    ),
    "unknown stage needed": BadRecipe(
        'needs = ["facts"]\nmodels', 'needs = ["fact"]\nmodels', "did you mean facts"
    ),
    "grouping cut short": BadRecipe(
        'about = "each_block"', 'about = "each_doc"', "did you mean each_document"
    ),
    "unknown stage": BadRecipe('of = "summary"', 'of = "summery"', "did you mean summary"),
    "needs itself": BadRecipe(
        'needs = ["facts"]\nmodels', 'needs = ["summary"]\nmodels', "cannot need itself"
    ),
    "needs a critic": BadRecipe(
        'needs = ["facts"]\nmodels', 'needs = ["facts", "check"]\nmodels', "nobody reads"
    ),
    "needed twice": BadRecipe(
        'needs = ["facts"]\nmodels', 'needs = ["facts", "facts"]\nmodels', "named twice"
    ),
    "circle": BadRecipe(
        'over = "contracts"\nsystem',
        'over = "contracts"\nneeds = ["digest"]\nsystem',
        "circle: digest → facts → digest",
        at='[[stages]]\nname = "digest"',
    ),
    "unknown input": BadRecipe('over = "contracts"', 'over = "contract"', "did you mean contracts"),
    "input twice": BadRecipe('"letters"]', '"contracts"]', "named twice", at="inputs ="),
    "other documents": BadRecipe(
        'over = "contracts"\nneeds',
        'over = "letters"\nneeds',
        "other documents",
        at='needs = ["facts"]\nmodels',
    ),
    "unrelated": BadRecipe(
        'needs = ["facts"]\nmodel ', 'needs = ["digest", "check"]\nmodel ', "check"
    ),
    "about results of none": BadRecipe(
        'of = "summary"\n', "", "needs of", at='about = "each_result"'
    ),
    "of with blocks": BadRecipe('over = "contracts"\nsystem', 'of = "echo"\nsystem', "in needs"),
    "unknown gate": BadRecipe(
        'name = "rules"', 'name = "rule"', "did you mean rules", at="gates ="
    ),
    "gate's parameter": BadRecipe("field =", "feld =", "feld is not a parameter", at="gates ="),
    "gate's reference": BadRecipe(
        "min = 1", 'min = "parameters.least"', "not declared", at="gates ="
    ),
    "gate out of order": BadRecipe(
        "gates = [", 'gates = ["json", { name = "markers", kind = "quality" }, ', "must come first"
    ),
    "json without schema": BadRecipe("samples = 3", 'gates = ["json"]', "with a schema"),
    "critic of nothing": BadRecipe('of = "facts"\n', "", "a critic needs of", at="critic = true"),
    "critic of nobody": BadRecipe('of = "facts"', 'of = "fact"', "did you mean facts"),
    "gate without accepts": BadRecipe(
        'accepts = "answer.score > 0.5"\n', "", "needs accepts", at='mode = "gate"'
    ),
    "accepts without gate": BadRecipe(
        'mode = "gate"\n', "", "accepts is for critics", at="accepts ="
    ),
    "mode without critic": BadRecipe(
        "critic = true\n", 'about = "each_result"\n', "critic = true", at='mode = "gate"'
    ),
    "accepts nonsense": BadRecipe('"answer.score > 0.5"', '"answer.score >"', "cannot be read"),
    "accepts a field": BadRecipe("answer.score >", "answer.scores >", "did you mean score"),
    "accepts a number": BadRecipe("answer.score > 0.5", "answer.score", "not as a number"),
    "accepts a number at times": BadRecipe(
        "answer.score > 0.5", "answer.score > 0.2 and answer.score", "not as a number"
    ),
    "accepts a comparison that never works": BadRecipe(
        "answer.score > 0.5", "answer.score > 'high'", "cannot be decided on any answer"
    ),
    "accepts something else": BadRecipe("answer.score > 0.5", "1 > 0", "a condition on answer"),
    "critic of two models": BadRecipe(
        "critic = true", 'critic = true\nmodels = ["a/b", "c/d"]', "one model", at="models = ["
    ),
    "critic about blocks": BadRecipe(
        "critic = true", 'critic = true\nabout = "samples"', "each_result", at='about = "samples"'
    ),
    "mode": BadRecipe('mode = "gate"', 'mode = "both"', "record or gate"),
    "template syntax": BadRecipe("{{ each.text }}", "{{ each.text }", "template"),
    "template's third line": BadRecipe("{% endfor %}", "{% endfr %}", "endfr", at="{% endfr"),
    "template macro": BadRecipe(
        "{% endfor %}", "{% endfor %}{% macro x() %}{% endmacro %}", "macro"
    ),
    "unknown variable": BadRecipe(
        "{{ document.title }}", "{{ documnt.title }}", "did you mean document"
    ),
    "unknown part": BadRecipe("document.title", "document.titel", "did you mean title"),
    "no block here": BadRecipe("document.title", "block.text", "not about blocks"),
    "no documents here": BadRecipe(
        "{{ each.text }}", "{{ documents }}", "settings = { documents = true }", at='prompt = """'
    ),
    "judged elsewhere": BadRecipe(
        "document.title", "judged.asked", "only critics", at="{{ judged.asked }} {{ inputs.facts|"
    ),
    "input not needed": BadRecipe(
        "inputs.facts|length", "inputs.digest|length", "add 'digest' to needs"
    ),
    "field of a record": BadRecipe(
        "inputs.facts.data.who", "inputs.facts.data.woh", "data.woh of facts is not known"
    ),
    "field of what is judged": BadRecipe(
        "{{ judged.answer }}", "{{ judged.data.woh }}", "did you mean who", at="{{ judged.asked"
    ),
    "field in a loop": BadRecipe(
        "{% for each in inputs.summary %}\n",
        "{% for each in inputs.facts if each.data.scor %}\n",
        "did you mean score",
        at="{% for each in inputs.facts",
    ),
    "field in a line of a loop": BadRecipe(
        "{% for each in inputs.summary %}\n{{ each.text }}",
        "{% for each in inputs.facts %}\n{{ each.data.who }} {{ each.data.scor }}",
        "did you mean score",
        at="{{ each.data.who",
    ),
    "part of a result": BadRecipe(
        "{{ each.text }}", "{{ each.txt }}", "txt of a result of summary", at="{{ each.txt"
    ),
    "list read as one result": BadRecipe(
        "{{ inputs.facts|length }}",
        "{{ inputs.facts.text }}",
        "inputs.facts is a list here: write {% for each in inputs.facts %}{{ each.text }}",
        at="{{ inputs.facts.text }}",
    ),
    "one result read as a list": BadRecipe(
        'prompt = "{{ inputs.summary.text }}"',
        'prompt = "{% for each in inputs.summary %}{{ each.text }}{% endfor %}"',
        "inputs.summary is one result here, not a list",
        at="in inputs.summary %}{{ each.text }}{% endfor",
    ),
    "subject in system": BadRecipe(
        "You read {{ parameters.language }}.", "{{ block.text }}", "share it"
    ),
    "unknown parameter": BadRecipe(
        "parameters.language", "parameters.langage", "did you mean language"
    ),
    "template too long": BadRecipe(
        "Fill in", "Fill in" + "x" * 100_001, "100,000 characters", at="Fill in"
    ),
    "template of too many steps": BadRecipe(
        "Fill in", LOOP, "100,000 steps", at='prompt = "{% for a'
    ),
    "template that must fail": BadRecipe("Fill in", "{{ 1 / 0 }}", "division by zero"),
    "steps of a parameter": BadRecipe(
        "Fill in",
        "{% for a in range(parameters.depth * 99999) %}{% endfor %}",
        "100,000",
        at='prompt = "{% for a',
    ),
    "schema": BadRecipe('who = { type = "string" }', 'who = { type = "text" }', "must be one of"),
    "params": BadRecipe("temperature = 0", "temperature = 3", "from 0 to 2"),
    "unknown param": BadRecipe("temperature = 0", "temprature = 0", "did you mean temperature"),
    "policy": BadRecipe('packing = "off"', 'packing = "maybe"', "packing must be"),
    "unknown policy": BadRecipe("max_attempts", "max_atempts", "did you mean max_attempts"),
    "temperature as policy": BadRecipe(
        "max_attempts = 5", "temperature = 1", "into the stage's params"
    ),
    "parameter's table": BadRecipe("choices = [1, 2, 3]", "choice = [1]", "did you mean choices"),
    "parameter's default": BadRecipe("default = 2", "default = 9", "one of 1, 2, 3", at="depth ="),
    "date": BadRecipe(
        'language = "English"', "language = 2026-01-01", "in quotes", at="language ="
    ),
    "no number": BadRecipe("temperature = 0", "temperature = nan", "finite"),
    "model and models": BadRecipe(
        'models = ["a/one", "a/two"]', 'models = ["a/one"]\nmodel = "b"', "not both"
    ),
    "same model of no result": BadRecipe(
        'models = ["a/one", "a/two"]',
        'model = "same"',
        "needs a result",
        at='about = "each_document"',
    ),
    "model twice": BadRecipe('"a/two"', '"a/one"', "named twice", at='models = ["a/one", "a/one"]'),
    "samples of results": BadRecipe(
        'model = "same"', "samples = 2", 'about = "samples"', at='about = "each_result"'
    ),
    "setting": BadRecipe(
        'model = "same"', "settings = { x = 1 }", "no setting 'x'", at='about = "each_result"'
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_recipe_is_refused_with_its_line(name: str) -> None:
    bad = BAD[name]
    text = break_recipe(bad.old, bad.new)
    line = line_of(text, bad.at or bad.new.partition("\n")[0])

    found = {
        mistake.line: mistake.message
        for mistake in recipe_mistakes(text)
        if bad.message in mistake.message
    }

    assert line in found, [*map(str, recipe_mistakes(text))]


def test_the_sound_recipe_has_no_mistakes() -> None:
    assert recipe_mistakes(SOUND) == []


def test_every_mistake_is_told_at_once_in_the_order_of_the_file() -> None:
    text = break_recipe("samples = 3", "sample = 3").replace("max_attempts", "max_atempts")
    text = text.replace("document.title", "block.text")

    found = recipe_mistakes(text)

    wrong = ("max_atempts", "sample = 3", "block.text")
    assert [mistake.line for mistake in found] == [line_of(text, item) for item in wrong]


def test_a_critic_of_a_critic_is_refused() -> None:
    more = (
        '\n[[stages]]\nname = "second"\ncritic = true\nof = "check"\nprompt = "{{ judged.data }}"\n'
    )

    (found,) = recipe_mistakes(SOUND + more)

    assert "check is a critic itself" in found.message


def test_all_mistakes_of_a_schema_file_are_told_at_the_line_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text('{"type": "array", "properties": {"a": {"type": "word"}}}')

    found = recipe_mistakes(STAGE + 'schema = "s.json"\n', tmp_path)

    assert len(found) == 2
    assert {mistake.line for mistake in found} == {6}
    assert all("s.json" in mistake.message for mistake in found)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", 1, "at least one stage"),
        ("stages = 3", 1, "[[stages]]"),
        ("stages = [3]", 1, "must be a table"),
        ("stages = []", 1, "at least one stage"),
        ("parameters = 1" + STAGE, 1, "must be a table"),
        ("a = " + "[" * 5_000, 1, "not"),
        ("x = 1\nx = 2", 2, "not TOML"),
        ("a" + ".a" * 5_000 + " = 1", 1, "levels deep"),
        ('name = "\\u0000"' + STAGE, 1, "must be of a-z"),
    ],
)
def test_what_is_no_recipe_at_all_is_refused(text: str, line: int, said: str) -> None:
    found = recipe_mistakes(text)

    assert any(mistake.line == line and said in mistake.message for mistake in found), [
        *map(str, found)
    ]


def test_too_many_stages_are_refused() -> None:
    stages = "".join(STAGE.replace("more", f"s{number}") for number in range(101))

    assert any("at most 100 stages" in mistake.message for mistake in recipe_mistakes(stages))


@pytest.mark.parametrize(
    ("given", "line", "said"),
    [
        ({"depth": 5}, 7, "must be one of 1, 2, 3"),
        ({"depth": "deep"}, 7, "must be of type integer"),
        ({"langage": "German"}, 5, "did you mean language"),
    ],
)
def test_a_parameter_that_cannot_be_taken_is_refused(
    given: dict[str, Json], line: int, said: str
) -> None:
    (found,) = recipe_mistakes(SOUND, given=given)

    assert (found.line, said in found.message) == (line, True)
