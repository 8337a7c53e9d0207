"""Whatever a recipe's file says, it is read, or refused with lines that exist."""

from contextlib import suppress

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quire.domain.errors import FileMistake, RecipeInvalid
from quire.planning.template_analysis import RESERVED, SUBJECT_NAMES
from quire.recipes.stage_tables import STAGE_RULES
from tests.recipes.examples import SOUND, read

LINES = SOUND.splitlines()
VALUES = ["1", "-1", "1.5", "true", '""', '"facts"', '"same"', "[]", '["facts"]', "{}", '["a", 1]']
VALUES += ["[[1]]", '{ name = "text" }', '"{{ x"', '"{{ block.text }}"', "2026-01-01", "nan"]


@st.composite
def changed_recipes(draw: st.DrawFn) -> str:
    """The sound recipe with lines moved, lost, or given other values."""
    lines = list(LINES)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(lines) - 1))
        match draw(st.integers(0, 3)):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, lines.pop(draw(st.integers(0, len(lines) - 1))))
            case 2:
                key = lines[at].partition("=")[0].strip() or "name"
                lines[at] = f"{key} = {draw(st.sampled_from(VALUES))}"
            case _:
                key = draw(st.sampled_from([*STAGE_RULES, *RESERVED, *SUBJECT_NAMES]))
                lines.insert(at, f"{key} = {draw(st.sampled_from(VALUES))}")
    return "\n".join(lines)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(changed_recipes())
def test_a_changed_recipe_is_read_or_refused_with_lines_that_exist(text: str) -> None:
    try:
        read(text)
    except RecipeInvalid as error:
        last = len(text.splitlines()) + 1
        mistakes = [mistake for mistake in error.mistakes if isinstance(mistake, FileMistake)]
        assert mistakes
        assert all(
            1 <= mistake.line <= last and "\n" not in mistake.message for mistake in mistakes
        )


@given(st.binary(max_size=200).map(lambda raw: raw.decode("latin-1")))
def test_any_bytes_are_read_or_refused(text: str) -> None:
    with suppress(RecipeInvalid):
        assert read(text).recipe.stages
