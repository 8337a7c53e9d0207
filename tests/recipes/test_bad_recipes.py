"""Bad recipes are refused before a cent is spent: every mistake at once, each with its line."""

from pathlib import Path
from typing import NamedTuple

import pytest

from quire.domain.data import Json
from tests.recipes.examples import SOUND, broken, line_of, mistakes

LOOP = "{% for a in range(1000) %}{% for b in range(1000) %}.{% endfor %}{% endfor %}"
STAGE = '\n[[stages]]\nname = "more"\nabout = "each_block"\nprompt = "{{ block.text }}"\n'


class Bad(NamedTuple):
    """A change of the sound recipe that breaks it."""

    old: str
    new: str
    said: str
    at: str = ""  # what stands in the line it is told at; "" = what is new


BAD = {
    "syntax": Bad("about = ", "about ", "not TOML"),
    "unclosed": Bad(
        'model = "same"', 'model = """same', "not TOML", at='prompt = "{{ inputs.summary.text }}"'
    ),
    "unknown key": Bad("description =", "descripton =", "did you mean description"),
    "unknown key of a stage": Bad("samples = 3", "sample = 3", "did you mean samples"),
    "wrong type": Bad("samples = 3", "samples = 'three'", "must be a whole number"),
    "too many samples": Bad("samples = 3", "samples = 0", "from 1 to 1000000"),
    "two of one name": Bad(
        'name = "summary"',
        'name = "facts"',
        "two stages are named",
        at='name = "facts"\nabout = "each_document"',
    ),
    "bad name": Bad('name = "echo"', 'name = "Echo!"', "must be of a-z"),
    "no name": Bad('name = "echo"\n', "", "needs a name", at='[[stages]]\nabout = "each_result"'),
    "no about": Bad('about = "each_result"\n', "", "needs about", at='[[stages]]\nname = "echo"'),
    "no prompt": Bad(
        'prompt = "{{ inputs.summary.text }}"', "", "needs a prompt", at='[[stages]]\nname = "echo"'
    ),
    "unknown grouping": Bad(
        'about = "each_block"', 'about = "each_blok"', "did you mean each_block"
    ),
    "unknown stage needed": Bad(
        'needs = ["facts"]\nmodels', 'needs = ["fact"]\nmodels', "did you mean facts"
    ),
    "unknown stage": Bad('of = "summary"', 'of = "summery"', "did you mean summary"),
    "needs itself": Bad(
        'needs = ["facts"]\nmodels', 'needs = ["summary"]\nmodels', "cannot need itself"
    ),
    "needs a critic": Bad(
        'needs = ["facts"]\nmodels', 'needs = ["facts", "check"]\nmodels', "nobody reads"
    ),
    "needed twice": Bad(
        'needs = ["facts"]\nmodels', 'needs = ["facts", "facts"]\nmodels', "named twice"
    ),
    "circle": Bad(
        'over = "contracts"\nsystem',
        'over = "contracts"\nneeds = ["digest"]\nsystem',
        "circle: digest → facts → digest",
        at='[[stages]]\nname = "digest"',
    ),
    "unknown input": Bad('over = "contracts"', 'over = "contract"', "did you mean contracts"),
    "input twice": Bad('"letters"]', '"contracts"]', "named twice", at="inputs ="),
    "other documents": Bad(
        'over = "contracts"\nneeds',
        'over = "letters"\nneeds',
        "other documents",
        at='needs = ["facts"]\nmodels',
    ),
    "unrelated": Bad('needs = ["facts"]\nmodel ', 'needs = ["digest", "check"]\nmodel ', "check"),
    "about results of none": Bad('of = "summary"\n', "", "needs of", at='about = "each_result"'),
    "of with blocks": Bad('over = "contracts"\nsystem', 'of = "echo"\nsystem', "in needs"),
    "unknown gate": Bad('name = "rules"', 'name = "rule"', "did you mean rules", at="gates ="),
    "gate's parameter": Bad("field =", "feld =", "feld is not a parameter", at="gates ="),
    "gate's reference": Bad("min = 1", 'min = "parameters.least"', "not declared", at="gates ="),
    "gate out of order": Bad(
        "gates = [", 'gates = ["json", { name = "markers", kind = "quality" }, ', "must come first"
    ),
    "json without schema": Bad("samples = 3", 'gates = ["json"]', "with a schema"),
    "critic of nothing": Bad('of = "facts"\n', "", "a critic needs of", at="critic = true"),
    "critic of nobody": Bad('of = "facts"', 'of = "fact"', "did you mean facts"),
    "gate without accepts": Bad(
        'accepts = "answer.score > 0.5"\n', "", "needs accepts", at='mode = "gate"'
    ),
    "accepts without gate": Bad('mode = "gate"\n', "", "accepts is for critics", at="accepts ="),
    "mode without critic": Bad(
        "critic = true\n", 'about = "each_result"\n', "critic = true", at='mode = "gate"'
    ),
    "accepts nonsense": Bad('"answer.score > 0.5"', '"answer.score >"', "cannot be read"),
    "accepts a field": Bad("answer.score >", "answer.scores >", "did you mean score"),
    "accepts a number": Bad("answer.score > 0.5", "answer.score", "not as a number"),
    "accepts a number at times": Bad(
        "answer.score > 0.5", "answer.score > 0.2 and answer.score", "not as a number"
    ),
    "accepts a comparison that never works": Bad(
        "answer.score > 0.5", "answer.score > 'high'", "cannot be decided on any answer"
    ),
    "accepts something else": Bad("answer.score > 0.5", "1 > 0", "a condition on answer"),
    "critic of two models": Bad(
        "critic = true", 'critic = true\nmodels = ["a/b", "c/d"]', "one model", at="models = ["
    ),
    "critic about blocks": Bad(
        "critic = true", 'critic = true\nabout = "samples"', "each_result", at='about = "samples"'
    ),
    "mode": Bad('mode = "gate"', 'mode = "both"', "record or gate"),
    "template syntax": Bad("{{ each.text }}", "{{ each.text }", "template"),
    "template's third line": Bad("{% endfor %}", "{% endfr %}", "endfr", at="{% endfr"),
    "template macro": Bad("{% endfor %}", "{% endfor %}{% macro x() %}{% endmacro %}", "macro"),
    "unknown variable": Bad("{{ document.title }}", "{{ documnt.title }}", "did you mean document"),
    "unknown part": Bad("document.title", "document.titel", "did you mean title"),
    "no block here": Bad("document.title", "block.text", "not about blocks"),
    "no documents here": Bad(
        "{{ each.text }}", "{{ documents }}", "settings = { documents = true }", at='prompt = """'
    ),
    "judged elsewhere": Bad(
        "document.title", "judged.asked", "only critics", at="{{ judged.asked }} {{ inputs.facts|"
    ),
    "input not needed": Bad("inputs.facts|length", "inputs.digest|length", "add 'digest' to needs"),
    "field of a record": Bad(
        "inputs.facts.data.who", "inputs.facts.data.woh", "data.woh of facts is not known"
    ),
    "field of what is judged": Bad(
        "{{ judged.answer }}", "{{ judged.data.woh }}", "did you mean who", at="{{ judged.asked"
    ),
    "field in a loop": Bad(
        "{% for each in inputs.summary %}\n",
        "{% for each in inputs.facts if each.data.scor %}\n",
        "did you mean score",
        at="{% for each in inputs.facts",
    ),
    "field in a line of a loop": Bad(
        "{% for each in inputs.summary %}\n{{ each.text }}",
        "{% for each in inputs.facts %}\n{{ each.data.who }} {{ each.data.scor }}",
        "did you mean score",
        at="{{ each.data.who",
    ),
    "part of a result": Bad(
        "{{ each.text }}", "{{ each.txt }}", "txt of a result of summary", at="{{ each.txt"
    ),
    "subject in system": Bad("You read {{ parameters.language }}.", "{{ block.text }}", "share it"),
    "unknown parameter": Bad("parameters.language", "parameters.langage", "did you mean language"),
    "template too long": Bad(
        "Fill in", "Fill in" + "x" * 100_001, "100,000 characters", at="Fill in"
    ),
    "template of too many steps": Bad("Fill in", LOOP, "100,000 steps", at='prompt = "{% for a'),
    "template that must fail": Bad("Fill in", "{{ 1 / 0 }}", "division by zero"),
    "steps of a parameter": Bad(
        "Fill in",
        "{% for a in range(parameters.depth * 99999) %}{% endfor %}",
        "100,000",
        at='prompt = "{% for a',
    ),
    "schema": Bad('who = { type = "string" }', 'who = { type = "text" }', "must be one of"),
    "params": Bad("temperature = 0", "temperature = 3", "from 0 to 2"),
    "unknown param": Bad("temperature = 0", "temprature = 0", "did you mean temperature"),
    "policy": Bad('packing = "off"', 'packing = "maybe"', "packing must be"),
    "unknown policy": Bad("max_attempts", "max_atempts", "did you mean max_attempts"),
    "temperature as policy": Bad("max_attempts = 5", "temperature = 1", "into the stage's params"),
    "parameter's table": Bad("choices = [1, 2, 3]", "choice = [1]", "did you mean choices"),
    "parameter's default": Bad("default = 2", "default = 9", "one of 1, 2, 3", at="depth ="),
    "date": Bad('language = "English"', "language = 2026-01-01", "in quotes", at="language ="),
    "no number": Bad("temperature = 0", "temperature = nan", "finite"),
    "model and models": Bad(
        'models = ["a/one", "a/two"]', 'models = ["a/one"]\nmodel = "b"', "not both"
    ),
    "same model of no result": Bad(
        'models = ["a/one", "a/two"]',
        'model = "same"',
        "needs a result",
        at='about = "each_document"',
    ),
    "model twice": Bad('"a/two"', '"a/one"', "named twice", at='models = ["a/one", "a/one"]'),
    "samples of results": Bad(
        'model = "same"', "samples = 2", 'about = "samples"', at='about = "each_result"'
    ),
    "setting": Bad(
        'model = "same"', "settings = { x = 1 }", "no setting 'x'", at='about = "each_result"'
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_recipe_is_refused_with_its_line(name: str) -> None:
    bad = BAD[name]
    text = broken(bad.old, bad.new)
    line = line_of(text, bad.at or bad.new.partition("\n")[0])

    told = {each.line: each.message for each in mistakes(text) if bad.said in each.message}

    assert line in told, [*map(str, mistakes(text))]


def test_the_sound_recipe_has_no_mistakes() -> None:
    assert mistakes(SOUND) == []


def test_every_mistake_is_told_at_once_in_the_order_of_the_file() -> None:
    text = broken("samples = 3", "sample = 3").replace("max_attempts", "max_atempts")
    text = text.replace("document.title", "block.text")

    found = mistakes(text)

    wrong = ("max_atempts", "sample = 3", "block.text")
    assert [each.line for each in found] == [line_of(text, each) for each in wrong]


def test_a_critic_of_a_critic_is_refused() -> None:
    more = (
        '\n[[stages]]\nname = "second"\ncritic = true\nof = "check"\nprompt = "{{ judged.data }}"\n'
    )

    (found,) = mistakes(SOUND + more)

    assert "check is a critic itself" in found.message


def test_all_mistakes_of_a_schema_file_are_told_at_the_line_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text('{"type": "array", "properties": {"a": {"type": "word"}}}')

    found = mistakes(STAGE + 'schema = "s.json"\n', tmp_path)

    assert len(found) == 3
    assert {each.line for each in found} == {6}
    assert all("s.json" in each.message for each in found)


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
    found = mistakes(text)

    assert any(each.line == line and said in each.message for each in found), [*map(str, found)]


def test_too_many_stages_are_refused() -> None:
    stages = "".join(STAGE.replace("more", f"s{number}") for number in range(101))

    assert any("at most 100 stages" in each.message for each in mistakes(stages))


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
    (found,) = mistakes(SOUND, given=given)

    assert (found.line, said in found.message) == (line, True)
