"""Hostile templates: each ends at once, with one line, having reached nothing."""

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.errors import TemplateFailed, TemplateInvalid
from quire.planning.templates import compile_expression, compile_template

LARGE = "a" * 100_000
VARIABLES = {
    "x": {"text": LARGE, "list": list(range(1000)), "one": 1, "f": len},
    "n": 1_000,
    "document": {"text": LARGE},
}

REFUSED = {
    "attribute": "{{ ''.__class__.__mro__ }}",
    "private name": "{{ _meter }}",
    "private filter": "{{ x|_each }}",
    "attr filter": "{{ ''|attr('__class__') }}",
    "format filter": "{{ '{0.__class__}'|format(x) }}",
    "format method": "{{ '{0.__class__}'.format(x) }}",
    "format map": "{{ '{a.__class__}'.format_map(x) }}",
    "lipsum": "{{ lipsum(n=10000) }}",
    "cycler": "{{ cycler.__init__.__globals__ }}",
    "namespace": "{% set ns = namespace(a=1) %}",
    "namespace field": "{% set x.y = 1 %}",
    "method": "{{ x.list.append(1) }}",
    "called variable": "{{ x.f(x) }}",
    "called loop": "{% for a in x.list recursive %}{{ loop(x.list) }}{% endfor %}",
    "self": "{{ self.__init__ }}",
    "macro": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "call": "{% call x() %}{% endcall %}",
    "import": "{% import 'os' as os %}",
    "from": "{% from 'os' import system %}",
    "include": "{% include '/etc/passwd' %}",
    "extends": "{% extends 'x' %}",
    "block": "{% block a %}{% endblock %}",
    "filter block": "{% filter upper %}a{% endfilter %}",
    "set block": "{% set a %}b{% endset %}",
    "with": "{% with a = 1 %}{% endwith %}",
    "raw": "{% raw %}{{ x }}{% endraw %}",
    "do": "{% do x %}",
    "autoescape": "{% autoescape true %}{% endautoescape %}",
    "power": "{{ 9 ** 9 ** 9 }}",
    "star arguments": "{{ x|join(*x.list) }}",
    "huge range": "{% for a in range(1000000000000000000000) %}{% endfor %}",
    "nested ranges": "{% for a in range(999) %}{% for b in range(999) %}{% endfor %}{% endfor %}",
    "deep if": "{% if x %}" * 1_000 + "{% endif %}" * 1_000,
    "deep for": "{% for a in x %}" * 40 + "{% endfor %}" * 40,
    "long number": "{{ " + "9" * 50_000 + " }}",
    "lists that double": "{% set a = [1] %}" + "{% set a = [a, a] %}" * 100 + "{{ a }}",
    "tables that double": "{% set a = 1 %}" + "{% set a = {'l': a, 'r': a} %}" * 100 + "{{ a }}",
    "pairs that double": "{% set a = 1 %}" + "{% set a = (a, a) %}" * 100 + "{{ a }}",
}


def deep_templates(depth: int) -> dict[str, str]:
    """Templates whose syntax tree is this deep."""
    return {
        "deep brackets": "{{ " + "(" * depth + "1" + ")" * depth + " }}",
        "long sum": "{{ " + "x+" * depth + "x }}",
        "long path": "{{ x" + ".a" * depth + " }}",
        "long not": "{{ " + "not " * depth + "x }}",
        "long minus": "{{ " + "-" * depth + "1 }}",
        "deep list": "{{ " + "[" * depth + "]" * depth + " }}",
        "many filters": "{{ x" + "|upper" * depth + " }}",
    }


REFUSED |= deep_templates(2_000)  # deeper than Python itself would follow

FAILED = {
    "item": "{{ x['__class__'] }}",
    "item of text": "{{ ''['__class__'] }}",
    "item of list": "{{ x.list['append'] }}",
    "item of loop": "{% for a in x.list %}{{ loop['__init__'] }}{% endfor %}",
    "item of function": "{{ x.f['__globals__'] }}",
    "function as text": "{{ x.f }}",
    "map to a private part": "{{ [1]|map(attribute='__class__') }}",
    "join of private parts": "{{ [1]|join(attribute='__class__') }}",
    "text times number": "{{ 'a' * 1000000000 }}",
    "list times number": "{{ x.list * 1000000000 }}",
    "percent format": "{{ '%1000000000d' % 1 }}",
    "range of a variable": "{% for a in range(n * n * n) %}{% endfor %}",
    "nested loops": "{% for a in range(n) %}{% for b in range(n) %}.{% endfor %}{% endfor %}",
    "loop that filters": (
        "{% for a in range(n) %}{% for b in x.list if b < 0 %}.{% endfor %}{% endfor %}"
    ),
    "loop of sums": "{% for a in range(n) %}{% if x.list|sum %}{% endif %}{% endfor %}",
    "doubling text": "{% set t = x.text %}" + "{% set t = t + t %}" * 60,
    "doubling by ~": "{% set t = x.text %}" + "{% set t = t ~ t %}" * 60,
    "doubling by join": "{% set t = x.text %}" + "{% set t = 'abc'|join(t) %}" * 60,
    "doubling list": "{% set t = x.list %}" + "{% set t = t + t %}" * 60,
    "many copies": "{% set t = x.text[1:] %}" * 500,
    "many cases": "{% if x.text|upper %}{% endif %}" * 500,
    "squares": "{% set t = 9 %}" + "{% set t = t * t %}" * 60,
    "replace": "{{ x.text|replace('a', x.text) }}",
    "join": "{{ x.list|join(x.text) }}",
    "indent": "{{ x.text|indent(1000000000) }}",
    "indented JSON": "{{ x.list|tojson(1000000000) }}",
    "round": "{{ 1.5|round(1000000000) }}",
    "long output": "{% for a in range(99) %}{{ document.text }}{% endfor %}",
    "search in a loop": "{% for a in range(9999) %}{% if 'b' in x.text %}{% endif %}{% endfor %}",
    "infinity": "{{ 1e308 * 1e308 * 0 }}",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_a_hostile_template_is_refused_before_it_is_rendered(text: str) -> None:
    begun = time.process_time()
    with pytest.raises(TemplateInvalid) as caught:
        compile_template(text)

    assert "\n" not in str(caught.value)
    assert time.process_time() - begun < 5


@pytest.mark.soak
@pytest.mark.parametrize("text", deep_templates(15_000).values(), ids=deep_templates(1))
def test_a_template_however_deep_is_refused(text: str) -> None:
    with pytest.raises(TemplateInvalid, match=r"too deeply|longer than"):
        compile_template(text)


@pytest.mark.parametrize("text", FAILED.values(), ids=FAILED)
def test_a_hostile_template_is_stopped_while_it_is_rendered(text: str) -> None:
    template = compile_template(text)
    begun = time.process_time()
    with pytest.raises(TemplateFailed) as caught:
        template.render(VARIABLES)

    assert "\n" not in str(caught.value)
    assert time.process_time() - begun < 5


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_a_hostile_condition_is_refused(text: str) -> None:
    with pytest.raises(TemplateInvalid):
        compile_expression(text.removeprefix("{{").removesuffix("}}") + " %}")


def test_data_that_look_like_a_template_stay_data() -> None:
    hostile = "{{ 7 * 7 }}{% for a in range(9) %}"

    assert compile_template("{{ block.text }}").render({"block": {"text": hostile}}) == hostile


def test_data_with_the_names_of_methods_are_data() -> None:
    given = {"answer": {"items": "a", "keys": "b", "format": "c"}}

    text = compile_template("{{ answer.items }}{{ answer.keys }}{{ answer.format }}").render(given)

    assert text == "abc"


PIECES = [
    *("{{ ", " }}", "{% for a in ", " %}", "{% endfor %}", "{% if ", "{% endif %}", "{% set b = "),
    *("x", "n", "a", "b", ".text", ".list", "[0]", "[1:]", "|join(", "|upper", "|map(", ")", "("),
    *(" + ", " ~ ", " * ", " in ", " not ", " if ", " else ", "'t'", "3", "loop", "range(", "{#"),
    *("|default(", "|sort", "|sum", " is defined", " == ", "-", "{%-", "\n", "attribute='text'"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_any_template_ends_with_a_text_or_one_line(text: str) -> None:
    with suppress(TemplateInvalid, TemplateFailed):
        assert isinstance(compile_template(text).render(VARIABLES), str)
