"""Results are reviewed in a terminal, listed, decided about all at once, and audited."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from quire.engine import open_engine
from tests.cli.conftest import Quire
from tests.cli.terminals import Terminal

SCHEMA = {
    "title": "note",
    "type": "object",
    "additionalProperties": False,
    "properties": {"words": {"type": "integer"}, "topic": {"type": "string"}},
    "required": ["words", "topic"],
}


@pytest.fixture
def run(quire: Quire, folder: Path) -> int:
    """A run over a document of six blocks, carried out."""
    blocks = [f"Block {number} speaks of thing{number}." for number in range(6)]
    (folder / "one.txt").write_text("\n\n".join(blocks))
    (folder / "note.json").write_text(json.dumps(SCHEMA))
    quire("init")
    quire("ingest", "one.txt")
    with open_engine(None) as engine:
        engine.run(schema="note.json", model="simulated/small").wait()
    return 1


@pytest.fixture
def terminal(run: int, quick: list[str]) -> Iterator[Terminal]:
    """Somebody reviews the run in a terminal."""
    made = Terminal(quick, ["review", run, "--as", "Ada"])
    yield made
    assert made.close() == 0


def decisions(run: int) -> list[tuple[str, str, str]]:
    """Move, who and note of every decision, the oldest first."""
    with open_engine(None) as engine:
        found = engine.review.decisions(run).decisions
    return [(it.move.value, it.who, it.note) for it in reversed(found)]


def test_a_person_decides_with_single_keys(run: int, terminal: Terminal) -> None:
    terminal.expect("6 left · as Ada")
    for keys, *shown in (
        (
            "",
            "▌ Block 0 speaks of thing0.",
            "a approve  e edit  r reject",
            "f filter  ? keys  q quit",
        ),
        ("a", "5 left", "is approved"),
        ("j", "▌ Block 2"),
        ("k", "▌ Block 1"),
        ("e", "words ["),
        ("7\n", "topic ["),
        ("\n", "is edited"),
        ("r", "what is wrong?", " simulated; empty leaves"),
        ("It names nobody.\n", "is rejected and asked again"),
        ("u", "is undone"),
        ("s", "▌ Block 3"),
        ("?", "undo the last decision"),
        ("/", "filter [none]:"),
        ("thing5\n", "▌ Block 5"),
        ("q", "2 decisions; 4 left in run 1"),
    ):
        terminal.press(keys)
        for text in shown:
            terminal.expect(text)

    assert decisions(run) == [
        ("approve", "Ada", ""),
        ("edit", "Ada", ""),
        ("reject", "Ada", "It names nobody."),
        ("undo", "Ada", ""),
    ]
    with open_engine(None) as engine:
        assert engine.review.leases(run) == ()  # what was held went back
        (edited,) = (row for row in engine.get(run).rows(only="confirmed") if row["words"] == 7)
        assert edited["review"] == "edited"


def test_an_answer_that_came_while_another_was_shown_is_not_approved_unseen(
    run: int, terminal: Terminal
) -> None:
    terminal.expect("▌ Block 0")
    with open_engine(None) as engine:
        engine.get(run).rerun("extract")
        engine.get(run).wait()

    terminal.press("a")
    terminal.expect("changed; look at it again")
    assert decisions(run) == []
    terminal.press("a")
    terminal.expect("is approved")
    terminal.press("q")
    terminal.expect("1 decision; 5 left")


def test_after_an_undo_the_item_that_was_decided_about_is_shown(terminal: Terminal) -> None:
    for keys, shown in (
        ("", "▌ Block 0"),
        ("j", "▌ Block 1"),
        ("a", "▌ Block 2"),
        ("u", "▌ Block 1"),
        ("j", "▌ Block 2"),
        ("q", "0 decisions; 6 left"),
    ):
        terminal.press(keys)
        terminal.expect(shown)


def test_who_rejects_is_told_what_asks_again_where_nobody_works(terminal: Terminal) -> None:
    for keys, shown in (
        ("r", "what is wrong?"),
        ("It names nobody.\n", "is rejected and asked again"),
        ("q", "`quire attach 1` asks again what was rejected, and so does `quire work`"),
    ):
        terminal.press(keys)
        terminal.expect(shown)


def test_what_cannot_be_edited_so_is_told_and_the_item_stays(run: int, terminal: Terminal) -> None:
    terminal.expect("6 left")
    terminal.press("e")
    terminal.expect("words [")
    terminal.press("many\n")
    terminal.expect("topic [")
    terminal.press("mine\x1b[31m\n")  # as a model may answer, too
    terminal.expect("cannot be edited so: 1 mistake")
    terminal.expect("`e` goes on with what you typed")
    assert decisions(run) == []
    terminal.press("e")
    terminal.expect("words [many]")
    terminal.press("7\n")
    terminal.expect("topic [mine\\x1b[31m]")
    terminal.press("mine\n")
    terminal.expect("is edited")
    terminal.press("q")
    terminal.expect("1 decision; 5 left")
    with open_engine(None) as engine:
        (edited,) = engine.get(run).rows(only="confirmed")
    assert (edited["words"], edited["topic"]) == (7, "mine")


def test_the_name_is_asked_for_once(run: int, quick: list[str]) -> None:
    made = Terminal(quick, ["review", run], {"QUIRE_REVIEWER": ""})
    made.expect("who reviews?")
    made.press("Bo\n")
    made.expect("as Bo")
    made.press("a")
    made.expect("5 left · as Bo")
    made.press("q")
    made.expect("1 decision")
    assert made.close() == 0
    assert decisions(run) == [("approve", "Bo", "")]


def test_without_a_terminal_the_inbox_is_listed(quire: Quire, run: int) -> None:
    shown = quire("review", run)

    assert "no terminal to press keys in" in shown.stderr
    assert "6 items" in shown.stdout
    heading, _, first = shown.stdout.splitlines()[:3]
    assert heading.split()[-2:] == ["words", "topic"]
    assert "one" in first
    assert '{"' not in shown.stdout
    listed = json.loads(quire("review", run, "--json", "--filter", "text=thing3").stdout)
    assert [item["block_index"] for item in listed["items"]] == [3]
    assert "0 items" in quire("review", run, "--list", "--filter", "reason=stale").stdout
    assert "a filter knows no" in quire("review", run, "--filter", "colour=red", code=2).stderr


def test_all_that_a_filter_takes_are_decided_about(quire: Quire, run: int) -> None:
    refused = quire("review", run, "--approve-all", "--as", "Ada", code=2)
    assert "this would approve 6 results" in refused.stderr
    chosen = ("--filter", "text=thing3")

    done = quire("review", run, "--approve-all", *chosen, "--as", "Ada", "--yes")
    rejected = quire("review", run, "--reject-all", "No.", "--as", "Ada", "--yes", "--json")

    assert "approve: 1 result of run 1" in done.stdout
    assert json.loads(rejected.stdout)["decided"] == 5
    assert decisions(run) == [("approve", "Ada", ""), *[("reject", "Ada", "No.")] * 5]


def test_what_was_decided_at_once_is_taken_back_at_once(quire: Quire, run: int) -> None:
    done = quire("review", run, "--approve-all", "--as", "Ada", "--yes")
    command = done.stdout.partition("`")[2].partition("`")[0].split()
    assert "no decision 99" in quire("undo", "--bulk", 99, code=2).stderr
    assert "leave the rest out" in quire("undo", 1, "--bulk", 1, code=2).stderr

    undone = quire(*command[1:], "--as", "Bo")

    assert command[1:3] == ["undo", "--bulk"]
    assert "6 decisions undone" in undone.stdout
    assert decisions(run)[6:] == [("undo", "Bo", "")] * 6


def test_a_decision_is_taken_back(quire: Quire, run: int) -> None:
    task = json.loads(quire("review", run, "--json").stdout)["items"][0]["task_id"]
    assert "there is nothing to undo" in quire("undo", task, code=2).stderr
    quire("approve", task)

    undone = quire("undo", task, "--as", "Bo")

    assert f"the last decision about task {task} of extract is undone" in undone.stdout
    assert [move for move, _, _ in decisions(run)] == ["approve", "undo"]


def test_decisions_are_listed_with_the_number_that_undo_takes(quire: Quire, run: int) -> None:
    assert "nobody has decided anything about run 1 yet" in quire("decisions", run).stdout
    first, second, third = (
        item["task_id"] for item in json.loads(quire("review", run, "--json").stdout)["items"][:3]
    )
    quire("approve", first)
    quire("edit", second, "--set", "words=7")
    quire("reject", third, "--note", "It names nobody.")
    quire("undo", first, "--as", "Bo")

    shown = quire("decisions").stdout

    lines = [line.split() for line in shown.splitlines()[2:6]]
    assert [line[3:5] for line in lines] == [
        ["undo", str(first)],
        ["reject", str(third)],
        ["edit", str(second)],
        ["approve", str(first)],
    ]
    assert "→ 7" in shown
    assert "It names nobody." in shown
    assert "undone" in shown.splitlines()[5]
    told = json.loads(quire("decisions", run, "--task", second, "--json").stdout)
    assert [(it["move"], it["task_id"], it["after"]["words"]) for it in told] == [
        ("edit", second, 7)
    ]
    cut = quire("decisions", run, "--limit", 2)
    assert len(cut.stdout.splitlines()) == 4
    assert "truncated at 2" in cut.stderr


def test_undo_without_a_task_says_where_its_number_stands(quire: Quire, run: int) -> None:
    refused = quire("undo", code=2)

    assert "`quire decisions` lists them" in refused.stderr


def test_a_name_has_a_letter_or_a_digit(quire: Quire, run: int) -> None:
    refused = quire("review", run, "--approve-all", "--yes", "--as", "?", code=2)

    assert "'?' is no name: it has no letter and no digit" in refused.stderr
    assert decisions(run) == []


@pytest.mark.parametrize("how", [[], ["--report"], ["--json"]])
def test_without_a_terminal_no_sample_is_drawn_that_nobody_asked_for(
    quire: Quire, run: int, how: list[str]
) -> None:
    refused = quire("audit", run, *how, code=2)

    assert "no such sample of run 1 is drawn yet" in refused.stderr
    assert "--yes" in refused.stderr
    with open_engine(None) as engine:
        assert engine.review.audits(run) == ()

    assert "0 of 6 marked" in quire("audit", run, "--yes", "--as", "Ada").stdout
    quire("audit", run, *how)  # now it is there
    with open_engine(None) as engine:
        assert [head.who for head in engine.review.audits(run)] == ["Ada"]


def test_a_sample_is_marked_in_a_terminal_and_gone_on_with(
    quire: Quire, run: int, quick: list[str]
) -> None:
    asked = ("audit", run, "--sample", 3, "--tolerance", 0.4, "--seed", 5, "--as", "Ada")
    made = Terminal(quick, asked)
    made.expect("item 1 of 3")
    made.press("y")
    made.expect("› topic")
    made.press("b")
    made.expect("› words")
    made.press("ny")
    made.expect("item 2 of 3")
    made.press("q")
    made.expect("1 of 3 marked")
    assert made.close() == 0

    again = Terminal(quick, asked)
    again.expect("item 2 of 3")
    again.press("yy")
    again.expect("item 3 of 3")
    again.press("b")
    again.expect("item 2 of 3")
    again.press("yy")
    again.expect("item 3 of 3")
    again.press("yu")
    again.expect("3 of 3 marked")
    again.expect("not shown: all are marked, and they are too few to say; this is final")
    assert again.close() == 0

    told = json.loads(quire(*asked, "--json").stdout)
    assert told["complete"]
    assert [(rate["field"], rate["wrong"], rate["unsure"]) for rate in told["fields"]] == [
        ("words", 1, 0),
        ("topic", 0, 1),
    ]
    assert "3 of 3 marked" in quire(*asked, "--report").stdout


def test_a_report_without_words_is_of_the_newest_audit(quire: Quire, run: int) -> None:
    quire("audit", run, "--sample", 3, "--tolerance", 0.4, "--yes", "--as", "Ada")

    newest = quire("audit", run, "--report").stdout
    other = quire("audit", run, "--report", "--sample", 4, code=2).stderr

    assert "0 of 3 marked" in newest
    assert "is drawn yet; --sample 3 --tolerance 0.4 is" in other


def test_where_enough_is_known_b_goes_back_and_what_is_missed_stays_missed(
    quire: Quire, run: int, quick: list[str]
) -> None:
    made = Terminal(quick, ("audit", run, "--sample", 3, "--tolerance", 0.1, "--as", "Ada"))
    made.expect("item 1 of 3")
    made.press("ny")
    made.expect("enough is known: q stops here, b goes back, any other key goes on")
    made.press("b")
    made.expect("item 1 of 3")
    made.press("ny")
    made.expect("enough is known")
    made.press(" ")
    made.expect("item 2 of 3")
    made.press("yy")
    made.expect("item 3 of 3")
    made.press("yy")
    made.expect("tolerance missed: all are marked, this is final")
    assert made.close() == 0
