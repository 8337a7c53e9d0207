"""The page docs/commands.md: every command with its options and examples, as --help has them."""

import re
from collections.abc import Iterator
from typing import Any

from typer import Context
from typer.core import TyperGroup
from typer.main import get_command

from quire.cli import app
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "commands.md"
HEAD = """# Commands

Every command with its arguments, options and examples, written by `make docs` from what
`quire COMMAND --help` shows. A test compares it with the code. `--ledger` and `--quiet` may stand
before or after any command.
"""
EXAMPLE = "Example: "


def command_page() -> str:
    """Every command in the order of the help; those of a group under it."""
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    context = Context(group, info_name="quire")
    lines = [line for name in group.list_commands(context) for line in _tell(group, context, name)]
    return HEAD + "".join(f"{line}\n" for line in lines)


def _tell(group: Any, context: Context, name: str) -> Iterator[str]:
    command = group.get_command(context, name)
    if command is None or command.hidden:
        return
    inner = Context(command, info_name=name, parent=context)
    path = inner.command_path
    yield f"\n{'##' if path.count(' ') == 1 else '###'} {path}\n"
    yield _sentence(command.help or "")
    if isinstance(command, TyperGroup):
        for item in command.list_commands(inner):
            yield from _tell(command, inner, item)
        return
    yield from _examples(command.epilog or "")
    rows = [_row(parameter) for parameter in command.params if not parameter.hidden]
    if rows:
        yield "\n| Takes | Is |\n|---|---|"
        yield from rows


def _examples(epilog: str) -> Iterator[str]:
    parts = [part.strip() for part in epilog.split("\n\n") if part.strip()]
    if not parts:
        return
    yield "\n```"
    for part in parts:
        said, colon, line = part.partition(": ")
        comment = f"  # {said.lower()}" if colon and f"{said}: " != EXAMPLE else ""
        yield f"{line if colon else part}{comment}"
    yield "```"


def _row(parameter: Any) -> str:
    names = [*parameter.opts, *parameter.secondary_opts]
    metavar = parameter.metavar or ""
    if parameter.param_type_name == "argument":
        shown = f"`{metavar or parameter.name.upper()}`"
        shown += " …" if parameter.nargs == -1 else ""
    else:
        value = f" {metavar}" if metavar and not parameter.is_flag else ""
        shown = ", ".join(f"`{name}{value}`" for name in names)
    words = _sentence(parameter.help or "")
    default = _default(parameter)
    return f"| {shown.replace('|', chr(92) + '|')} | {words.replace('|', chr(92) + '|')}{default} |"


def _default(parameter: Any) -> str:
    value = parameter.default
    if value is None or value is False or callable(value) or value in ((), [], ""):
        return ""
    return f" Default: `{value}`." if not isinstance(value, bool) else ""


def _sentence(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


if __name__ == "__main__":
    PAGE.write_text(command_page(), "utf-8")
