"""Starting: the text of a new recipe, with remarks that say what to write where."""

from importlib.resources import files

from quire.domain.errors import UsageError
from quire.recipes.checking import NAME


def starter(name: str) -> str:
    """The file of a new recipe of this name."""
    if not NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is no name for a recipe; use a-z, 0-9 and _, and begin with a letter"
        )
    text = files("quire.recipes").joinpath("starter.toml").read_text("utf-8")
    return text.replace("NAME", name)
