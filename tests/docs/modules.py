"""The page docs/modules.md: every module with its own sentence; `make docs` writes it anew."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "modules.md"
SOURCE = ROOT / "src" / "quire"
HEAD = """# Modules

Every module with its own first sentence, written by `make docs`. A test compares it with the code.
"""


def module_page() -> str:
    """Every package with its sentence, and under it every module with its own."""
    return HEAD + "".join(f"{line}\n" for folder in folders() for line in _package(folder))


def folders() -> list[Path]:
    """The package itself, and every package inside it."""
    return sorted(path.parent for path in SOURCE.rglob("__init__.py"))


def _package(folder: Path) -> Iterator[str]:
    name = folder.relative_to(SOURCE.parent).as_posix()
    yield f"\n**`{name}/`** {_sentence(folder / '__init__.py')}"
    yield ""
    for path in sorted(folder.glob("*.py")):
        if path.name != "__init__.py":
            yield f"- `{path.name}`: {_sentence(path)}"


def _sentence(path: Path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").split("\n")[0]


if __name__ == "__main__":
    PAGE.write_text(module_page(), "utf-8")
