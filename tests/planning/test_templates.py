"""Templates: what they can say, and what is refused before it is rendered."""

from dataclasses import dataclass
from types import MappingProxyType

import pytest

from quire.domain.errors import TemplateFailed, TemplateInvalid, UsageError
from quire.planning.templates import LONGEST, SUBJECT_NAMES, compile_expression, compile_template


@dataclass(frozen=True, slots=True)
class Block:
    """A value with fields, as prompts are given."""

    text: str
    index: int


VARIABLES = {
    "block": Block("A clause.", 3),
    "parameters": {"language": "English", "words": 7, "items": ["a", "b"], "none": None},
    "inputs": MappingProxyType({"facts": {"data": {"who": "Ann", "when": [1, 2]}, "text": "…"}}),
    "documents": [{"title": "One", "text": "eins"}, {"title": "Two", "text": "zwei"}],
}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain {text} stays", "plain {text} stays"),
        ("{{ block.text }} {{ block.index + 1 }}", "A clause. 4"),
        ("{{ block['text'][:1] }}{{ block.text[2:8] }}", "Aclause"),
        ("{{ inputs.facts.data }}", '{"who": "Ann", "when": [1, 2]}'),
        ("{{ inputs.facts.data.who|upper ~ '!' }}", "ANN!"),
        (
            "{% for each in documents %}{{ loop.index }}.{{ each.title }} {% endfor %}",
            "1.One 2.Two ",
        ),
        ("{% for name, value in inputs.facts.data|items %}{{ name }};{% endfor %}", "who;when;"),
        ("{% for each in documents if each.title == 'Two' %}{{ each.text }}{% endfor %}", "zwei"),
        ("{% set word = parameters.language|lower %}{{ word }}", "english"),
        ("{% if parameters.words > 5 and 'a' in parameters['items'] %}yes{% endif %}", "yes"),
        ("{% if 'x' not in parameters['items'] %}no{% else %}yes{% endif %}", "no"),
        ("{{ documents|join(', ', attribute='title') }}", "One, Two"),
        ("{{ documents|map(attribute='text')|join('/') }}", "eins/zwei"),
        ("{{ documents|sort(attribute='title', reverse=true)|length }}", "2"),
        ("{{ (documents|last).title }} {{ [3, 1, 2]|sort|first }}", "Two 1"),
        ("{{ parameters.missing|default('none') }}", "none"),
        ("{{ 'there' if parameters.missing is defined else 'not there' }}", "not there"),
        ("{{ parameters.none }} {{ true }} {{ 1.5 }}", "null true 1.5"),
        ("{{ 'long text'|truncate(5) }}|{{ 'a\nb'|indent(2) }}", "long…|a\n  b"),
        ("{{ 'a-b'|replace('-', '+') }} {{ 2.345|round(1) }} {{ '7'|int }}", "a+b 2.3 7"),
        ('{{ "{{" }} {# not shown #}', "{{ "),
        ("a\n", "a\n"),
        ("{{ {'a': [1, -2]}|tojson }} {{ 'q\"'|tojson }}", '{"a": [1, -2]} "q\\""'),
        ("{% for n in range(3) %}{{ n }}{% endfor %}", "012"),
        ("{{ 7 // 2 }} {{ 7 % 4 }} {{ 2 * 3 }} {{ -1 }}", "3 3 6 -1"),
    ],
)
def test_a_template_is_filled_in(text: str, shown: str) -> None:
    assert compile_template(text).render(VARIABLES) == shown


def test_a_template_tells_what_it_mentions() -> None:
    text = (
        "{{ parameters.a }}{{ inputs['b'].data }}{% for block in documents %}{{ block.x }}"
        "{% endfor %}{% set own = sample %}{{ own }}"
    )
    found = compile_template(text)

    assert found.names == {"parameters", "inputs", "documents", "sample"}
    assert found.attributes == {("parameters", "a"), ("inputs", "b")}
    assert found.names & SUBJECT_NAMES == {"inputs", "documents", "sample"}


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("{{ inputs.facts.data.who }}", {"inputs.facts.data.who"}),
        ("{{ inputs['facts'].data['who'] }}", {"inputs.facts.data.who"}),
        ("{% for x in inputs.facts %}{{ x.data.who }}{% endfor %}", {"inputs.facts.*.data.who"}),
        ("{% for x in inputs.a if x.b %}{% else %}{{ x.c }}{% endfor %}", {"inputs.a.*.b", "x.c"}),
        ("{% for x in a.b[:3]|sort %}{{ x.c }}{% endfor %}{{ x.d }}", {"a.b.*.c", "x.d"}),
        ("{% for x in a %}{{ x.b }}{% endfor %}{% for x in c %}{{ x.d }}{% endfor %}", {"c.*.d"}),
        ("{% for x in a %}{% for y in x.b %}{{ y.c }}{% endfor %}{% endfor %}", {"a.*.b.*.c"}),
        ("{% set x = a.b %}{{ x.c }}{{ a.b[0].d }}", {"a.b.c", "a.b.*.d"}),
        ("{{ (a.b|first).c }}{{ a.b|map(attribute='d')|join(',', 'e') }}", {"a.b.*.d.e"}),
        ("{{ a.b|sort(attribute='d') }}", {"a.b.*.d"}),
        ("{% if a.b %}{% set x = a.c %}{% else %}{% set x = d %}{% endif %}{{ x.e }}", {"a.c"}),
        ("{% for k, v in a.b|items %}{{ v.c }}{{ loop.index.d }}{% endfor %}", {"a.b"}),
        ("{% for x in a %}{{ y.b }}{% set y = a.c %}{{ y.d }}{% endfor %}", {"a.c.d"}),
        ("{{ (a.b if a.c else a.d).e }}{{ a[b.c].d }}", {"a.b", "a.c", "a.d", "b.c"}),
    ],
)
def test_a_template_tells_what_it_reads_step_by_step(text: str, read: set[str]) -> None:
    found = {".".join(path) for path, _ in compile_template(text).readings}

    assert read <= found
    assert not {name for name in found if name.endswith((".e", "v.c", "x.b", "y.b"))} - read


def test_what_is_read_is_told_with_its_line() -> None:
    found = compile_template("a\n{% for x in inputs.a %}\n{{ x.data.b }}\n{% endfor %}").readings

    assert dict(found)[("inputs", "a", "*", "data", "b")] == 3


def test_the_same_text_is_compiled_once() -> None:
    assert compile_template("{{ a }} once") is compile_template("{{ a }} once")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{ nobody }}", "there is no variable 'nobody'"),
        ("a\n{{ parameters.langage }}", "line 2: there is no 'langage' here; there are items"),
        ("{{ inputs.facts.data.who.first }}", "there is no 'first' in a value of type str"),
        ("{{ nobody.at.all }}", "'nobody'"),
        ("{% for x in nobody %}{% endfor %}", "'nobody'"),
        ("{{ nobody|upper }}", "'nobody'"),
        ("{{ 1 + nobody }}", "'nobody'"),
        ("{{ documents|map(attribute='nope') }}", "not every item has 'nope'"),
        ("{{ 1 / 0 }}", "division by zero"),
        ("{{ 1 < 'a' }}", "not supported"),
        ("{{ [1, 'a']|sort }}", "not supported"),
        ("{% for x in 5 %}{% endfor %}", "a loop goes over a list"),
        ("{{ block.text|int }}", "invalid literal"),
        ("{{ range(2) }}", "cannot be written"),
    ],
)
def test_what_cannot_be_filled_in_is_one_line_that_names_it(text: str, said: str) -> None:
    with pytest.raises(TemplateFailed) as caught:
        compile_template(text).render(VARIABLES)

    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, UsageError)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("a\n\n{{ x", 3, "unexpected end of template"),
        ("a\n{% if %}", 2, "Expected an expression"),
        ("{{ x|shout }}", 1, "there is no filter 'shout'"),
        ("a\nb\n{{ x is callable }}", 3, "there is no test 'callable'"),
        ("\n{% include 'x' %}", 2, "include is not allowed"),
        ("{% set parameters = 1 %}", 1, "means something already"),
        ("{{ 1 < 2 < 3 }}", 1, "two things at a time"),
        ("{{ range() }}", 1, "one to three numbers"),
        ("x" * (LONGEST + 1), 1, "longer than 100,000 characters"),
    ],
)
def test_a_template_that_cannot_be_used_is_refused_with_its_line(
    text: str, line: int, said: str
) -> None:
    with pytest.raises(TemplateInvalid) as caught:
        compile_template(text)

    assert caught.value.line == line
    assert said in caught.value.reason


@pytest.mark.parametrize(
    ("text", "answer", "holds"),
    [
        ("answer.score >= 0.7", {"score": 0.7}, True),
        ("answer.score >= 0.7", {"score": 0.69}, False),
        ("answer.ok and answer.kind in ['a', 'b']", {"ok": True, "kind": "b"}, True),
        ("not answer.problems|length > 0", {"problems": []}, True),
        ("answer.problems|length == 0", {"problems": ["x"]}, False),
    ],
)
def test_a_condition_holds_or_not(text: str, answer: object, holds: bool) -> None:
    assert compile_expression(text).holds(answer) is holds


def test_a_condition_tells_which_fields_it_asks_for() -> None:
    found = compile_expression("answer.score > 1 or answer['why'] == ''")

    assert found.names == {"answer"}
    assert found.attributes == {("answer", "score"), ("answer", "why")}


@pytest.mark.parametrize(
    "text",
    ["", "answer.score >=", "a b", "answer }}{{ answer", "answer.score() > 1", "answer ** 9 > 1"],
)
def test_a_condition_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(TemplateInvalid):
        compile_expression(text)


@pytest.mark.parametrize("text", ["answer.missing > 1", "answer.score", "other > 1"])
def test_a_condition_that_cannot_be_decided_fails(text: str) -> None:
    with pytest.raises(TemplateFailed):
        compile_expression(text).holds({"score": 0.5})
