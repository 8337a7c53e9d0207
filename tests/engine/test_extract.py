"""One call turns rows into typed rows of their kind; the same call again asks only what is new."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pydantic import BaseModel

import quire
from quire.domain.errors import NotFound, UsageError
from quire.engine.extraction.extracted import ExtractedRows
from tests.world import World

MODEL = "simulated/small"
Worlds = Callable[..., World]


class Ticket(BaseModel):
    """Classify the support ticket."""

    urgency: Literal["low", "high"]
    product: str | None
    words: int


ROWS: list[dict[str, Any]] = [
    {"id": 7, "body": "The printer is on fire.", "status": "open"},
    {"id": 8, "body": None, "status": "open"},
    {"id": 9, "body": "Where is my refund?", "status": "shut"},
]
ADDED = ["urgency", "product", "words", "quire_status", "error", "cost_usd"]


@pytest.fixture
def here(world: Worlds) -> World:
    return world()


def extract(here: World, data: Any, schema: Any = Ticket, **said: Any) -> Any:
    return here.engine.extract(data, schema, model=MODEL, **said)


def dataset() -> Any:
    """The rows as Hugging Face has them."""
    import datasets  # takes long, and few tests need it

    return datasets.Dataset.from_list(ROWS)


def datasets_by_name() -> Any:
    """More than one of them."""
    import datasets

    return datasets.DatasetDict(a=dataset())


def as_rows(frame: Any) -> list[dict[str, Any]]:
    """A frame of any kind as mappings, with None for what is missing."""
    if isinstance(frame, pd.DataFrame):
        frame = frame.astype(object).where(frame.notna(), None)
        return [dict(row) for row in frame.to_dict("records")]
    if isinstance(frame, pl.DataFrame):
        return frame.to_dicts()
    if isinstance(frame, pa.Table):
        return [dict(row) for row in frame.to_pylist()]
    return [dict(row) for row in frame]


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: ROWS, ExtractedRows),
        (lambda: (row for row in ROWS), ExtractedRows),
        (lambda: pd.DataFrame(ROWS), pd.DataFrame),
        (lambda: pl.DataFrame(ROWS), pl.DataFrame),
        (lambda: pa.Table.from_pylist(ROWS), pa.Table),
        (lambda: pa.Table.from_pylist(ROWS).to_reader(), pa.Table),
        (lambda: dataset(), "datasets:Dataset"),
        (lambda: dataset().to_iterable_dataset(), ExtractedRows),
    ],
    ids=["rows", "iterator", "pandas", "polars", "arrow", "reader", "dataset", "stream"],
)
def test_rows_come_back_as_the_kind_they_came_in_with_answers_beside_them(
    here: World, make: Callable[[], Any], kind: type | str
) -> None:
    found = extract(here, make(), text="body", key="id")

    assert isinstance(found, resolve_name(kind) if isinstance(kind, str) else kind)
    rows = as_rows(found)
    assert [[row[name] for name in ROWS[0]] for row in rows] == [[*row.values()] for row in ROWS]
    assert list(rows[0]) == [*ROWS[0], *ADDED]
    assert [row["quire_status"] for row in rows] == ["accepted", "skipped", "accepted"]
    assert rows[1]["error"] == "there is no text in this row"
    assert rows[0]["urgency"] in ("low", "high")
    assert isinstance(rows[0]["words"], int)
    assert rows[0]["cost_usd"] > rows[1]["cost_usd"] == 0
    assert sum(here.model.packs) == 2


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([3, 3, 5], name="n"),
        pd.Index(["a", "b", "c"], dtype="string"),
        pd.Index([1, 2, 3], dtype="Int64"),
        pd.DatetimeIndex(["2026-01-01", "2026-01-02", "2026-01-02"]),
        pd.CategoricalIndex(["x", "y", "z"]),
        pd.MultiIndex.from_tuples([(1, "a"), (1, "b"), (2, "a")]),
    ],
    ids=["twice", "text", "nullable", "moments", "categories", "levels"],
)
def test_a_pandas_frame_keeps_its_index_and_the_types_of_its_columns(
    here: World, index: pd.Index
) -> None:
    frame = pd.DataFrame(ROWS, index=index).astype({"id": "Int64", "status": "category"})
    before = frame.copy()

    found = extract(here, frame, text="body")

    pd.testing.assert_frame_equal(found[[*before.columns]], before)
    pd.testing.assert_frame_equal(frame, before)
    assert found[["urgency", "words"]].dtypes.astype(str).tolist() == ["string", "Int64"]
    assert found["words"].isna().tolist() == [False, True, False]


def test_typed_columns_are_typed_also_where_no_row_has_an_answer(here: World) -> None:
    found = extract(here, pd.DataFrame({"body": [None, " "]}), text="body")

    assert found["status"].tolist() == ["skipped", "skipped"]
    assert str(found["words"].dtype) == "Int64"
    assert found.attrs["quire"] == {
        "run": None,
        "cost_usd": 0.0,
        "statuses": {"skipped": 2},
        "simulated": False,
    }
    assert here.engine.runs() == []


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT, "", " \n"])
def test_what_says_nothing_is_skipped_and_never_an_error(here: World, missing: Any) -> None:
    found = extract(here, pd.Series(["a text", missing], dtype=object, name="note"))

    assert found["status"].tolist() == ["accepted", "skipped"]
    assert found.columns[0] == "note"


def test_the_same_call_asks_nothing_and_one_more_row_asks_one(here: World) -> None:
    texts = [f"Ticket {number} is about something." for number in range(20)]
    first = extract(here, texts)
    asked = sum(here.model.packs)

    again = extract(here, texts)
    assert sum(here.model.packs) == asked == 20
    more = extract(here, [*texts, "One more."])

    assert sum(here.model.packs) == asked + 1
    assert list(again) == list(first)
    assert (again.cost_usd, again.run) == (0.0, first.run)
    assert [row["cost_usd"] for row in more[:20]] == [0.0] * 20
    assert more[20]["cost_usd"] == pytest.approx(more.cost_usd)
    assert repr(more) == f"<quire rows: 21 accepted, {_dollars(more)}, simulated, run 2>"


def _dollars(found: ExtractedRows) -> str:
    from quire.domain.pricing import dollars

    return dollars(found.cost)


def test_what_rows_cost_is_what_the_run_spent(here: World) -> None:
    here.model.script = ["skip@three", ""]

    found = extract(here, [f"{word} words" for word in ("one", "two", "three", "four", "five")])

    assert sum(row["cost_usd"] for row in found) == pytest.approx(found.cost_usd, rel=1e-12)
    assert found[2]["cost_usd"] > found[0]["cost_usd"]


def test_a_row_that_fails_is_a_row_and_is_asked_once_more_on_request(world: Worlds) -> None:
    here = world(faults="wrong@BAD")
    texts = ["BAD", *(f"good {number}" for number in range(30))]
    found = extract(here, texts)
    asked = here.model.calls
    here.model.faults = type(here.model.faults)()

    same = extract(here, texts)
    assert here.model.calls == asked
    mended = extract(here, texts, retry=True)

    assert [row["status"] for row in found] == ["failed"] + ["accepted"] * 30
    assert found[0]["error"]
    assert same[0]["status"] == "failed"
    assert mended[0]["status"] == "accepted"


def test_a_template_names_columns_and_whole_rows_are_json(here: World) -> None:
    frame = pd.DataFrame(
        {"id": [1, 2], "title": ["Fire", None], "at": [datetime(2026, 1, 2, tzinfo=UTC)] * 2}
    )

    extract(here, frame, text="{id} {{{title}}} on {at:%d}", key="id")
    extract(here, frame, key="id")

    with here.engine.ledger.snapshot() as tx:
        said = [
            [block.content for block in tx.documents.copy_document(document).blocks]
            for document in tx.documents.list_documents()
        ]
    assert said[0] == ["1 {Fire} on 02", "2 {} on 02"]
    assert said[1][1] == '{"id":2,"title":null,"at":"2026-01-02T00:00:00+00:00"}'


@pytest.mark.parametrize(
    ("data", "said", "words"),
    [
        (ROWS, {"text": "bod"}, "there is no column 'bod'; the columns are id, body, status"),
        (ROWS, {"text": "{title}"}, "there is no column 'title'"),
        (ROWS, {"text": "{body"}, "is no template"),
        (ROWS, {"key": "nr"}, "there is no column 'nr'"),
        (ROWS, {"key": "body"}, "row 2 has no key: 'body' is empty there"),
        (ROWS, {"key": "status"}, "rows 1 and 2 have the same key, 'open' in 'status'"),
        (ROWS, {"as_": "excel"}, "as_='excel' is unknown"),
        (ROWS, {"prompt": " "}, "the prompt is empty"),
        ({"a": "b"}, {}, "a dict is not rows"),
        ([object()], {}, "row 1 is a object: rows are texts"),
        (ROWS, {"per": "document"}, "per= is for files"),
        ("no/such/file", {}, r"a text of its own goes into a list: \[text\]"),
        (pl.LazyFrame(ROWS), {}, r"give its rows, frame.collect\(\)"),
        (lambda: datasets_by_name(), {}, "give one of them, a"),
    ],
)
def test_bad_input_gets_one_line_before_anything_is_asked(
    here: World, data: Any, said: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words) as refused:
        extract(here, data() if callable(data) else data, **said)

    assert "\n" not in str(refused.value)
    assert here.engine.runs() == []
    assert here.model.calls == 0


def test_a_folder_is_read_for_this_call_only(here: World, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("One thing.\n\nAnother thing.")
    (tmp_path / "notes" / "b.txt").write_text("A third.")

    found = extract(here, tmp_path / "notes", per="block")
    whole = extract(here, tmp_path / "notes")
    frame = extract(here, [tmp_path / "notes" / "a.txt"], as_="pandas", per="block")

    assert [(row["title"], row["status"]) for row in whole] == [
        ("a.txt", "accepted"),
        ("b.txt", "accepted"),
    ]
    assert sum(row["cost_usd"] for row in whole) == pytest.approx(whole.cost_usd)
    assert [row["text"] for row in found] == ["One thing.", "Another thing.", "A third."]
    assert {row["status"] for row in found} == {"accepted"}
    assert frame["title"].tolist() == ["a.txt", "a.txt"]
    assert len(here.engine.library.documents_aside()) == 2


def test_rows_of_a_file_without_text_are_not_asked_and_told(
    here: World, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "rows.csv").write_text("id,body\n1,\n2,One thing.\n3, \n")

    found = extract(here, tmp_path / "rows.csv", text="body", key="id")

    assert [(row["key"], row["status"]) for row in found] == [("2", "accepted")]
    assert caplog.messages == ["2 rows without text left out"]


@pytest.mark.parametrize("per", ["block", "document"])
def test_files_of_the_same_content_have_their_own_rows_and_one_price(
    here: World, tmp_path: Path, per: str
) -> None:
    named = [tmp_path / "b.txt", tmp_path / "a.txt", tmp_path / "copy.txt"]
    for path, words in zip(named, ["A third.", "One thing.", "One thing."], strict=True):
        path.write_text(words)

    extract(here, [tmp_path / "a.txt"], per=per)
    alone = extract(here, [tmp_path / "copy.txt"], per=per)
    found = extract(here, named, per=per)

    assert [(Path(row["source"]).name, row["title"]) for row in alone] == [("copy.txt", "copy.txt")]
    assert sorted((Path(row["source"]).name, row["status"]) for row in found) == [
        ("a.txt", "accepted"),
        ("b.txt", "accepted"),
        ("copy.txt", "accepted"),
    ]
    assert sum(row["cost_usd"] for row in found) == pytest.approx(found.cost_usd)


def test_a_limit_leaves_the_rest_pending_and_the_same_call_goes_on(here: World) -> None:
    texts = [f"Ticket {number}." for number in range(10)]

    some = extract(here, texts, limit=4)
    rest = extract(here, texts)

    assert some.statuses == {"pending": 6, "accepted": 4}
    assert rest.statuses == {"accepted": 10}
    assert (rest.run, sum(here.model.packs)) == (some.run, 10)


def test_a_run_that_is_held_gives_what_it_has_and_the_same_call_goes_on(here: World) -> None:
    texts = [f"Ticket {number}." for number in range(8)]
    here.model.script = ["", "key=1"]
    said: dict[str, Any] = {"pack_size": 4, "concurrency": 1, "text": "t", "key": "n"}
    frame = pd.DataFrame({"n": range(8), "t": texts})

    with pytest.raises(quire.HeldError, match="the same call") as held:
        extract(here, frame, **said)
    found = extract(here, frame, **said)

    partial = held.value.partial
    assert isinstance(partial, pd.DataFrame)
    assert partial["status"].tolist() == ["accepted"] * 4 + ["pending"] * 4
    assert found["status"].tolist() == ["accepted"] * 8


def test_a_budget_holds_it_and_a_larger_one_lets_it_go_on(here: World) -> None:
    texts = [f"Ticket {number}." for number in range(8)]

    with pytest.raises(quire.HeldError) as held:
        extract(here, texts, budget="0.000001")
    found = extract(here, texts, budget="1")

    assert [hold.kind.value for hold in held.value.progress.holds] == ["funds"]
    assert found.statuses == {"accepted": 8}
    with pytest.raises(UsageError, match="nothing was started"):
        extract(here, ["another text"], max_cost=0)


def test_made_up_answers_are_called_simulated_wherever_they_are_shown(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pd.DataFrame(ROWS)

    out = extract(here, frame, text="body", key="id", progress=True)
    rows = extract(here, ["one text", "another"])

    assert capsys.readouterr().err.rstrip().endswith(" · simulated")
    assert out.attrs["quire"]["simulated"] is rows.simulated is True
    run = here.engine.get(rows.run)
    for shown in (rows, run, run.progress()):
        assert ", simulated" in repr(shown)


def test_what_asks_nothing_although_told_to_ask_all_says_what_would(
    here: World, caplog: pytest.LogCaptureFixture
) -> None:
    extract(here, ["one text", "another"])
    assert caplog.messages == []

    again = extract(here, ["one text", "another"], reuse=False)
    said = list(caplog.messages)
    anew = extract(here, ["one text", "another"], reuse=False, new=True)

    assert (again.run, again.cost_usd, len(said)) == (1, 0.0, 1)
    assert said[0].startswith("run 1 has this already: reuse=False asks nothing again; new=True")
    assert caplog.messages == said
    assert (anew.run, anew.cost_usd > 0, sum(here.model.packs)) == (2, True, 4)


@pytest.mark.parametrize("name", ["budget", "max_cost"])
def test_money_by_the_name_of_the_other_call_is_refused_with_its_own(
    here: World, name: str
) -> None:
    said: Any = {name: 1}
    with pytest.raises(UsageError, match=f"{name}_usd= is not known here; did you mean {name}=?"):
        extract(here, ["one text"], **{f"{name}_usd": 0.0001})
    with pytest.raises(UsageError, match=f"{name}= is not known here; did you mean {name}_usd=?"):
        here.engine.run(schema=Ticket, model=MODEL, **said)


def test_slips_in_naming_a_schema_are_told_as_what_they_are(here: World) -> None:
    with pytest.raises(UsageError, match=r"urgent has its type in quotes.*write {'urgent': bool}"):
        extract(here, ["one text"], schema={"urgent": "bool", "words": int})
    with pytest.raises(NotFound, match=r"there is no file '\./nofile\.json', nor a schema of that"):
        extract(here, ["one text"], schema="./nofile.json")
    with pytest.raises(NotFound, match="there is no schema 'tickt'; known: "):
        extract(here, ["one text"], schema="tickt")


def test_a_plan_takes_the_same_arguments_and_sends_nothing(here: World) -> None:
    frame = pd.DataFrame(ROWS)

    planned = here.engine.plan_extract(frame, Ticket, model=MODEL, text="body", key="id", limit=1)
    assert here.model.calls == 0
    extract(here, frame, text="body", key="id")
    after = here.engine.plan_extract(frame, Ticket, model=MODEL, text="body", key="id")

    assert planned.tasks == 2
    assert repr(after).endswith("0 are not answered yet, about $0, simulated>")
    assert "<table>" in after._repr_html_()
    with pytest.raises(UsageError, match="no row has a text"):
        here.engine.plan_extract([""], Ticket, model=MODEL)


def test_one_call_opens_the_store_that_it_names(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(ROWS)
    said: dict[str, Any] = {"text": "body", "model": MODEL}

    named = quire.extract(frame, Ticket, store=tmp_path / "tickets.db", **said)
    usual = quire.extract(frame, Ticket, **said)
    planned = quire.plan(frame, Ticket, store="tickets.db", **said)

    assert named["urgency"].equals(usual["urgency"])
    assert (tmp_path / "quire.db").exists()
    assert planned.answered.blocks == 2
    said["store"] = object()
    with pytest.raises(UsageError, match=r"what quire\.open gave, not object"):
        quire.extract(frame, Ticket, **said)


def test_pandas_and_polars_have_it_as_an_accessor(tmp_path: Path) -> None:
    said: dict[str, Any] = {"text": "body", "model": MODEL, "store": tmp_path / "a.db"}
    pandas, polars = pd.DataFrame(ROWS), pl.DataFrame(ROWS)

    assert pandas.quire.plan(Ticket, **said).tasks == 2
    found = pandas.quire.extract(Ticket, **said)
    same = polars.quire.extract(Ticket, **said)  # type: ignore[attr-defined]  # registered

    assert found["urgency"].dropna().tolist() == same["urgency"].drop_nulls().to_list()
    assert [row.position for row in pandas.quire.stream(Ticket, **said)] == [1, 0, 2]


@pytest.fixture(params=["run", "rows", "objects"])
def shown(request: pytest.FixtureRequest, here: World) -> Iterator[Any]:
    if request.param == "run":
        extract(here, ["<b>bold</b>"])
        yield here.engine.get(1)
    else:
        yield extract(here, ["<b>bold</b>"], as_=request.param)


def test_what_comes_back_shows_itself_in_a_notebook(shown: Any) -> None:
    html = shown._repr_html_()

    assert "<b>" not in html
    assert "1 accepted" in html or "1 of 1 block done" in html
