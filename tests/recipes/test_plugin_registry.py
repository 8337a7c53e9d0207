"""Packages bring gates, groupings and recipes; a broken one breaks nobody else."""

import sys
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from quire.domain.errors import Conflict
from quire.recipes.plugin_registry import builtin_registry, with_entry_points
from quire.recipes.recipe_files import load_recipe
from tests.plugin_packages import Packages

MODULE = """
from pathlib import Path

class Gate:
    name = "{name}"
    version = "1"
    def mistakes(self, params): return []
    def judge(self, answer, params): ...

class Grouping:
    name = "{name}"
    driver = "{driver}"
    wants_documents = False
    def mistakes(self, around): return []
    def fan(self, driven, around): return []
    def count(self, driven, around): return 0

gate = Gate()
RECIPE = Path(__file__).with_name("{recipe}")
"""
RECIPE = '[[stages]]\nname = "a"\nabout = "all_to_one"\nprompt = "Go."\n'


class RecipePackages(Packages):
    """Packages with a gate, a grouping and a recipe."""

    def bring(self, package: str, points: str, **fields: str) -> None:
        """Install one; `fields` say what is unusual about it."""
        fields = {"name": "theirs", "driver": "once", "recipe": f"{package}.toml"} | fields
        (self.folder / f"{package}.toml").write_text(RECIPE)
        self.install(package, points, fields.get("module") or MODULE.format(**fields))


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RecipePackages:
    """A folder on the path."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return RecipePackages(tmp_path)


def test_what_a_package_offers_is_added(packages: RecipePackages) -> None:
    packages.bring(
        "quire_stranger",
        "[quire.gates]\ntheirs = quire_stranger:gate\n"
        "[quire.groupings]\ntheirs = quire_stranger:Grouping\n"
        "[quire.recipes]\ntheirs = quire_stranger:RECIPE\n",
    )

    found = with_entry_points()

    assert found.warnings == ()
    assert found.gates["theirs"].version == "1"
    assert found.groupings["theirs"].name == "theirs"
    assert load_recipe("theirs", found, {}).stages[0].name == "a"
    assert {"json", "text"} <= set(found.gates)


def test_what_a_package_says_of_itself_is_read_once(
    packages: RecipePackages, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages.bring("quire_stranger", "[quire.gates]\ntheirs = quire_stranger:gate\n")
    for _ in range(2):  # the first compiles the module, beside which that is kept
        with_entry_points()
    read, read_text = list[str](), PathDistribution.read_text

    def note(self: PathDistribution, name: str) -> str | None:
        read.append(name)
        return read_text(self, name)

    monkeypatch.setattr(PathDistribution, "read_text", note)

    assert "theirs" in with_entry_points().gates
    assert read == []


@pytest.mark.parametrize(
    ("point", "told", "said"),
    [
        ("[quire.gates]\ntheirs = bad:nothing", {}, "AttributeError"),
        ("[quire.gates]\ntheirs = nowhere:gate", {}, "ModuleNotFoundError"),
        ("[quire.gates]\ntheirs = bad", {"module": "1 / 0"}, "ZeroDivisionError"),
        ("[quire.gates]\ntheirs = bad", {"module": "raise SystemError('a\\nb')"}, "a b"),
        ("[quire.gates]\ntheirs = bad:RECIPE", {}, "it has no"),
        ("[quire.gates]\nother = bad:gate", {}, "calls itself 'theirs'"),
        ("[quire.groupings]\ntheirs = bad:Grouping", {"driver": "week"}, "not a valid Driver"),
        ("[quire.recipes]\ntheirs = bad:RECIPE", {"recipe": "gone.toml"}, "is no file"),
        ("[quire.recipes]\ntheirs = bad:gate", {}, "is no path"),
    ],
)
def test_a_broken_package_is_one_line_that_names_it(
    packages: RecipePackages, point: str, told: dict[str, str], said: str
) -> None:
    packages.bring("bad", point, **told)
    packages.bring("good", "[quire.gates]\nfine = good:gate", name="fine")

    found = with_entry_points()

    (warning,) = found.warnings
    assert warning.startswith("package bad: quire.")
    assert said in warning
    assert "\n" not in warning
    assert "fine" in found.gates


@pytest.mark.parametrize(
    ("name", "owners"), [("theirs", ("one", "two")), ("json", ("quire", "one"))]
)
def test_two_of_one_name_are_refused_and_both_are_named(
    packages: RecipePackages, name: str, owners: tuple[str, str]
) -> None:
    packages.bring("one", f"[quire.gates]\n{name} = one:gate", name=name)
    packages.bring("two", f"[quire.gates]\n{name} = two:gate", name=name)

    with pytest.raises(Conflict, match=f"of {owners[0]} and {owners[1]}"):
        with_entry_points()


def test_without_packages_there_is_what_comes_with_quire() -> None:
    ours = builtin_registry()

    assert set(ours.gates) == {"json", "text", "rules", "markers"}
    assert set(ours.groupings) == {
        *(
            "each_block",
            "each_document",
            "each_section",
            "each_page",
            "each_result",
            "samples",
            "all_to_one",
            "each_model",
        ),
        *("pairs_by_origin", "by_lineage", "by_group"),
    }


def test_a_package_that_is_installed_later_is_found_by_the_next_look(
    packages: RecipePackages,
) -> None:
    packages.bring("early", "[quire.gates]\nearly = early:gate", name="early")
    before = with_entry_points()

    packages.bring("late", "[quire.gates]\nlate = late:gate", name="late")

    assert "late" not in before.gates
    assert {"early", "late"} <= set(with_entry_points().gates)
