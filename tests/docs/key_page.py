"""The page docs/keys_of_files.md: what quire.toml, a policy and a recipe file may hold."""

import ast
import io
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import fields
from inspect import getsource
from typing import Any

from quire.domain.policy import Policy
from quire.recipes.recipe_files import TOP_RULES
from quire.recipes.setting_rules import POLICY_RULES
from quire.recipes.stage_tables import STAGE_RULES
from quire.settings import settings_file
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "keys_of_files.md"
HEAD = """# Keys of quire.toml and of recipe files

What each key may be, written by `make docs` from the rules that check these files. A test compares
it with the code. [The reference](reference.md#3-settings) explains settings, [recipes](recipes.md)
the stages.
"""


def key_page() -> str:
    """The keys of every table of both files."""
    tables: list[tuple[str, Mapping[str, Any]]] = [
        ("quire.toml", settings_file._RULES),
        ("`[worker]`", settings_file._WORKER),
        ("`[simulated]`", settings_file._SIMULATED),
        ("`[providers.NAME]`", settings_file._PROVIDER),
        ('`[models."provider/name"]`', settings_file._MODEL),
    ]
    lines = [line for title, rules in tables for line in _table(title, rules)]
    lines += _policy_table()
    lines += _table("A recipe file", TOP_RULES)
    lines += _table("`[[stages]]` of a recipe file", STAGE_RULES)
    return HEAD + "".join(f"{line}\n" for line in lines)


def _table(title: str, rules: Mapping[str, Any]) -> Iterator[str]:
    yield f"\n## {title}\n\n| Key | Must be |\n|---|---|"
    for name, rule in rules.items():
        yield f"| `{name}` | {_cell(rule.wanted)} |"


def _policy_table() -> Iterator[str]:
    words = _field_comments()
    yield "\n## `[policy]`\n"
    yield "Also as options of `quire run` and `quire plan`, as `QUIRE_…` in the environment, in a"
    yield "schema's `prompt_config` and in a stage's `policy`."
    yield "\n| Key | Must be | Built-in | Is |\n|---|---|---|---|"
    for field in fields(Policy):
        wanted = POLICY_RULES[field.name].wanted if field.name in POLICY_RULES else ""
        default = "–" if field.default is None else str(field.default).lower()
        about = words.get(field.name, "")
        yield f"| `{field.name}` | {_cell(wanted)} | {default} | {_cell(about)} |"


def _field_comments() -> dict[str, str]:
    """What the comment behind each field of a policy says."""
    source = getsource(Policy)
    comments = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    names = {
        item.lineno: item.target.id
        for item in ast.walk(ast.parse(source))
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    }
    return {name: comments[line] for line, name in names.items() if line in comments}


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(key_page(), "utf-8")
