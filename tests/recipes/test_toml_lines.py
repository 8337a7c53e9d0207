"""Every key of a TOML text is found in its line, whatever stands around it."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.recipes.recipe_problems import find_lines

TEXT = '''\
# a remark with = and [[stages]]
top = 1
"quoted key" = "a # b"
dotted.key = [
  1, # one ]
  "]",
  { x = "[" },
]

[[stages]]
name = "first"
prompt = """
line one [[stages]]
name = "no"
line ""three"" \\""" four
"""  # after

[stages.params]
stop = ['\\n', "x"]

[[stages]]
name = "second"
prompt = \'\'\'in one line\'\'\'
schema.properties = { a = 1 }

[[stages.rules]]
rule = 1
[[stages.rules]]
rule = 2

[last."odd.name"]
key = true'''


def _line(part: str) -> int:
    return TEXT[: TEXT.index(part)].count("\n") + 1


@pytest.mark.parametrize(
    ("path", "part"),
    [
        (("top",), "top ="),
        (("quoted key",), '"quoted key"'),
        (("dotted", "key"), "dotted.key"),
        (("dotted",), "dotted.key"),
        (("stages", 0), '[[stages]]\nname = "first"'),
        (("stages", 0, "name"), 'name = "first"'),
        (("stages", 0, "prompt"), "prompt ="),
        (("stages", 0, "params"), "[stages.params]"),
        (("stages", 0, "params", "stop"), "stop ="),
        (("stages", 1), '[[stages]]\nname = "second"'),
        (("stages", 1, "schema", "properties", "a"), "schema.properties"),
        (("stages", 1, "rules", 1, "rule"), "rule = 2"),
        (("stages", 1, "nothing"), '[[stages]]\nname = "second"'),
        (("last", "odd.name", "key"), "key = true"),
    ],
)
def test_a_key_is_found_in_its_line(path: tuple[str | int, ...], part: str) -> None:
    tomllib.loads(TEXT)

    assert find_lines(TEXT).line(path) == _line(part)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_line_inside_a_text_is_counted_from_its_first(ending: str) -> None:
    lines = find_lines(TEXT.replace("\n", ending))

    assert lines.line(("stages", 0, "prompt"), 1) == _line("line one")
    assert lines.line(("stages", 0, "prompt"), 3) == _line('line ""three""')
    assert lines.line(("stages", 1, "prompt"), 1) == _line("prompt = '''in")


def test_what_is_not_there_is_told_at_the_first_line() -> None:
    assert find_lines(TEXT).line(("nobody",)) == 1
    assert find_lines("").line(("nobody", 3), 7) == 1


@given(st.text(alphabet="ab=[]{}\"'#\n \\.,1"))
def test_any_text_at_all_is_walked_to_an_end(text: str) -> None:
    assert find_lines(text).line(("a",)) >= 1
