"""The page on judge experiments names every column and every setting."""

import re
from pathlib import Path

import pytest

from quire.engine.attempt_rows import MESSAGE_COLUMNS
from quire.kits.judge.experiment_file import SETTINGS
from quire.kits.judge.experiment_tables import COLUMNS
from quire.kits.judge.figure_table import FIGURE_COLUMNS

PAGE = (Path(__file__).parents[3] / "docs" / "judge.md").read_text(encoding="utf-8")


TABLES = {**COLUMNS, "figures": FIGURE_COLUMNS, "messages": MESSAGE_COLUMNS}


@pytest.mark.parametrize("table", TABLES)
def test_every_column_is_described_and_no_other(table: str) -> None:
    section = PAGE.partition("## Tables")[2].partition("## Metrics")[0]
    described = re.split(r"^\*\*", section, flags=re.MULTILINE)[1:]
    (text,) = [item for item in described if item.startswith(f"{table}**")]
    cells = "".join(
        line.split("|")[1] if line.startswith("|") else line for line in text.split("\n")
    )

    assert set(re.findall(r"`([a-z_]+)`", cells)) == set(TABLES[table])


def test_every_setting_is_described() -> None:
    section = PAGE.partition("## The file")[2].partition("## What is shown")[0]

    assert [name for name in SETTINGS if not re.search(rf"`\[*{name}\]*`", section)] == []
