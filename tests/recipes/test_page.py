"""The page about recipes shows recipes that work, and names everything there is."""

import pytest

from quire.pipeline.run_spec import BEST_EFFORT, EXACT, THROUGHPUT
from quire.planning.builtin_groupings import GROUPINGS
from quire.planning.template_analysis import SUBJECT_NAMES
from quire.planning.template_filters import FILTERS, TESTS
from quire.recipes.plugin_registry import builtin_registry
from quire.recipes.prompt_checks import VARIABLE_PARTS
from quire.recipes.recipe_files import LARGEST_FILE, TOP_RULES
from quire.recipes.setting_rules import PARAM_RULES
from quire.recipes.stage_tables import STAGE_RULES
from tests.docs.pages import ROOT, blocks
from tests.recipes.examples import read

PAGE = ROOT / "docs" / "recipes.md"
RECIPES = [block.text for block in blocks(PAGE) if block.language == "toml"]


def test_every_recipe_on_the_page_can_be_run() -> None:
    assert RECIPES
    for text in RECIPES:
        assert len(text) < LARGEST_FILE
        assert read(text, given={"party": "the tenant"}).recipe.stages


@pytest.mark.parametrize(
    "names",
    [
        TOP_RULES,
        STAGE_RULES,
        PARAM_RULES,
        GROUPINGS,
        builtin_registry().gates,
        SUBJECT_NAMES,
        [f"{name}.{part}" for name in ("judged", "block") for part in VARIABLE_PARTS[name]],
        [word for word in (*FILTERS, *TESTS) if not word.startswith("_")],
    ],
    ids=["top", "stage", "params", "groupings", "gates", "variables", "parts", "filters"],
)
def test_the_page_names_everything(names: list[str]) -> None:
    text = PAGE.read_text()

    missing = [word for word in names if not any(f"`{word}{end}" in text for end in "`(.")]
    assert missing == []


def test_the_page_says_how_a_recipe_is_steered() -> None:
    text = PAGE.read_text().partition("## Steering a recipe")[2].partition("\n## ")[0]

    for command in ("stop-after", "retry", "waive", "rerun", "regate"):
        assert f"`quire {command} " in text
    for mode in (EXACT, BEST_EFFORT, THROUGHPUT):
        assert f"| `{mode}`" in text
