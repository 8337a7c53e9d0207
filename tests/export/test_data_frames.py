"""Rows become frames of every kind, with typed columns and keys that merge."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest

from quire.domain.errors import UsageError
from quire.engine import RunHandle
from quire.export.column_types import INTEGER, Column, schema_columns
from quire.export.data_frames import make_frame
from tests.export.test_delimited import TYPED
from tests.world import World

Worlds = Callable[..., World]


@pytest.fixture
def run(world: Worlds, tmp_path: Path) -> RunHandle:
    here = world()
    rows = [{"id": 10 + number, "body": f"Row {number}?"} for number in range(3)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    here.engine.ingest(str(tmp_path / "rows.jsonl"), text_column="body", key_column="id")
    return here.run(TYPED)


def test_a_frame_merges_with_the_users_own_by_the_key(run: RunHandle) -> None:
    mine = pandas.DataFrame({"key": [12, 10, 11], "colour": ["c", "a", "b"]})

    merged = run.to_pandas().merge(mine, on="key")

    assert dict(zip(merged["text"], merged["colour"], strict=True)) == {
        "Row 0?": "a",
        "Row 1?": "b",
        "Row 2?": "c",
    }
    assert [row["key"] for row in run.rows()] == [10, 11, 12]


def test_every_kind_of_frame_has_the_types_of_the_schema(run: RunHandle) -> None:
    arrow, polars, hf = run.to_arrow(), run.to_polars(), run.to_hf()

    assert {name: str(arrow.schema.field(name).type) for name in ("key", "day", "names")} == {
        "key": "int64",
        "day": "date32[day]",
        "names": "list<item: string>",
    }
    assert str(polars.schema["names"]) == "List(String)"
    assert hf.features["word_count"].dtype == "int64"
    assert polars["text"].to_list() == hf["text"][:] == arrow["text"].to_pylist()
    assert str(run.to_pandas(categories=True)["country"].dtype) == "category"
    assert len(run.to_pandas(only="failed")) == 0


def test_a_value_that_does_not_fit_makes_its_column_text(run: RunHandle) -> None:
    columns = (Column("n", INTEGER), *schema_columns({"l": {"type": "array", "items": {}}}))
    rows: list[tuple[Any, ...]] = [(1, [1]), (2**80, ["a", None])]

    frame = make_frame("pandas", columns, rows)

    assert list(frame["n"]) == ["1", str(2**80)]
    assert list(frame["l"]) == [[1], ["a", None]]
    assert make_frame("arrow", columns, rows).to_pylist()[1]["l"] == '["a",null]'


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "hf"])
def test_a_package_that_is_missing_is_named_with_how_to_get_it(
    run: RunHandle, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = {"arrow": "pyarrow", "hf": "datasets"}.get(kind, kind)
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(UsageError, match=f"needs the package {package}: pip install"):
        getattr(run, f"to_{kind}")()
