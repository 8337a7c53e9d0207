"""The recipes there are: listed, opened, checked, drawn and started; needs no ledger."""

from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from quire.domain.errors import Error, FileMistake, RecipeInvalid, UsageError
from quire.domain.groupings import Driver
from quire.domain.recipes import Recipe
from quire.planning.stage_counts import InputCount, count_recipe
from quire.planning.stage_lineage import recipe_lineage
from quire.recipes import recipe_drawing, recipe_files
from quire.recipes.plugin_registry import Registry, with_entry_points
from quire.recipes.recipe_parameters import name_models
from quire.recipes.recipe_snapshots import recipe_to_json

GRAPH_FORMATS = recipe_drawing.FORMATS
draw_recipe = recipe_drawing.draw
describe_subject = recipe_drawing.describe_subject
starter_recipe = recipe_files.starter_recipe


class RecipeLine(NamedTuple):
    """A recipe that can be named, in a line."""

    name: str
    file: str
    stages: int | None  # None: it cannot be read, and the description says why
    description: str


class StageTasks(NamedTuple):
    """How many tasks a stage has, of a run or for each block."""

    stage: str
    tasks: int
    per_block: bool  # how many blocks documents have is not known


class RecipeList:
    """The recipes that come with Quire and with installed packages, and those in files."""

    def __init__(self, registry: Registry | None = None) -> None:
        """Read what there is, or take what an engine has read."""
        self._registry = registry or with_entry_points()
        self.warnings = self._registry.warnings

    def lines(self) -> list[RecipeLine]:
        """Those that can be named, by name."""
        return [self._line(name) for name in sorted(self._registry.recipes)]

    def _line(self, name: str) -> RecipeLine:
        path = self._registry.recipes[name]
        try:
            recipe = recipe_files.open_recipe(path, self._registry).recipe
        except Error as error:  # a package's file may be wrong; the others are listed
            return RecipeLine(name, str(path), None, f"! {error.headline}")
        except OSError as error:
            return RecipeLine(name, str(path), None, f"! {error}")
        return RecipeLine(name, str(path), len(recipe.stages), recipe.description)

    def open(self, name: str) -> recipe_files.RecipeFile:
        """A recipe by its name, or by its file's path."""
        return recipe_files.open_recipe(name, self._registry)

    def find(self, name: str) -> Path:
        """Where a recipe's file is."""
        return recipe_files.find_recipe(name, self._registry)

    def check(self, file: str) -> tuple[int, list[FileMistake]]:
        """How many stages a recipe has, and what is wrong with it."""
        try:
            return len(self.open(file).recipe.stages), []
        except RecipeInvalid as error:
            return 0, [mistake for mistake in error.mistakes if isinstance(mistake, FileMistake)]
        except recipe_files.RecipeFileMissing:
            return 0, [FileMistake(file, 1, recipe_files.NO_SUCH_FILE)]
        except UsageError as error:
            return 0, [FileMistake(file, 1, str(error))]
        except OSError as error:
            return 0, [FileMistake(file, 1, error.strerror or str(error))]

    def check_text(self, text: str) -> tuple[int, list[FileMistake]]:
        """The same of a recipe that is in no file; files that it names are not read."""
        try:
            found = recipe_files.read_recipe_file(
                text.encode(), "recipe", folder=None, registry=self._registry
            )
        except RecipeInvalid as error:
            return 0, [mistake for mistake in error.mistakes if isinstance(mistake, FileMistake)]
        except UsageError as error:
            return 0, [FileMistake("recipe", 1, str(error))]
        return len(found.recipe.stages), []

    def count_tasks(self, name: str, models: int = 1, documents: int = 1) -> list[StageTasks]:
        """How many tasks each stage has with so many models and documents; none may fail."""
        recipe = self.open(name).recipe
        recipe = name_models(recipe, [f"model {number}" for number in range(1, models + 1)])
        counts = count_recipe(recipe, self._registry.groupings, InputCount(documents, blocks=1))
        lineage = recipe_lineage(recipe)
        return [
            StageTasks(
                stage.name,
                counts[stage.name].tasks,
                lineage.driver(lineage.origin(stage)) is Driver.BLOCK,
            )
            for stage in recipe.stages
        ]

    def as_json(self, name: str) -> dict[str, object]:
        """All that a recipe's file says."""
        file = self.open(name)
        declared = {key: asdict(parameter) for key, parameter in file.parameters.items()}
        return {**recipe_to_json(file.recipe), "parameters": declared, "file": str(self.find(name))}


def graph_json(recipe: Recipe) -> dict[str, object]:
    """Which stage reads which, for a program."""
    found = recipe_drawing.edges(recipe)
    return {
        "name": recipe.name,
        "stages": [stage.name for stage in recipe.stages],
        "edges": [{"from": source, "to": to, "kind": kind} for source, to, kind in found],
    }
