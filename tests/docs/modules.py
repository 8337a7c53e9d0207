"""The list of modules that ends ARCHITECTURE.md; `python -m tests.docs.modules` writes it anew."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.docs.pages import ROOT

PAGE = ROOT / "ARCHITECTURE.md"
SOURCE = ROOT / "src" / "quire"
START = "<!-- modules: written by `python -m tests.docs.modules` -->\n"
END = "<!-- end of modules -->"


def module_list() -> str:
    """Every package with its sentence, and under it every module with its own."""
    return "".join(f"{line}\n" for folder in folders() for line in _package(folder))


def written_module_list() -> str:
    """The list as the page has it."""
    return PAGE.read_text("utf-8").partition(START)[2].partition(END)[0]


def folders() -> list[Path]:
    """The package itself, and every package inside it."""
    return sorted(path.parent for path in SOURCE.rglob("__init__.py"))


def _package(folder: Path) -> Iterator[str]:
    called = folder.relative_to(SOURCE.parent).as_posix()
    yield f"\n**`{called}/`** {_sentence(folder / '__init__.py')}"
    yield ""
    for path in sorted(folder.glob("*.py")):
        if path.name != "__init__.py":
            yield f"- `{path.name}`: {_sentence(path)}"


def _sentence(path: Path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").split("\n")[0]


def main() -> None:
    """Write the list into the page."""
    text = PAGE.read_text("utf-8")
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    PAGE.write_text(before + start + module_list() + end + after, "utf-8")


if __name__ == "__main__":
    main()
