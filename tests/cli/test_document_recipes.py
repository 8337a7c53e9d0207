"""The recipes that write documents, as people type them: looked at, planned and run."""

from collections import Counter
from pathlib import Path

import pytest

from tests.cli.conftest import EXAMPLES, Quire
from tests.recipes.document_recipes import DIALECTIC_COUNTS, MODELS

MODEL_NAMES = ",".join(MODELS)


@pytest.fixture
def briefed(quire: Quire, folder: Path) -> Quire:
    """The commands, in a folder with a brief."""
    (folder / "brief.md").write_text("# Workshop\n\nShould the workshop be leased again?\n")
    quire("init")
    return quire


def test_a_dialectic_is_run_from_a_brief_with_documents_attached(briefed: Quire) -> None:
    attached = ("--attach", EXAMPLES / "contracts" / "lease.md")
    order = ("--recipe", "dialectic", "--prompt", "brief.md", *attached, "--models", MODEL_NAMES)

    planned = briefed.json("plan", *order)
    said = briefed("run", *order, "--param", "words=200")

    tasks: Counter[str] = Counter()
    for stage in planned["stages"]:
        tasks[stage["stage"]] += stage["tasks"]
    assert tasks == DIALECTIC_COUNTS
    assert "60 of 60 tasks done, 0 failed" in said.stdout
    counts = [f"{stage}: {count} done" for stage, count in DIALECTIC_COUNTS.items()]
    assert " · ".join(counts) in said.stdout
    assert "premises" in briefed("prompt", 4).stdout


def test_a_report_is_run_from_a_brief_alone(briefed: Quire) -> None:
    wishes = ("--param", "sections=2", "--param", "words=300", "--param", "language=German")

    said = briefed("run", "--recipe", "report", "--prompt", "brief.md", "-m", MODELS[0], *wishes)

    assert "outline: 1 done · section: 2 done · report: 1 done" in said.stdout
    assert "in German" in briefed("prompt", 1).stdout


@pytest.mark.parametrize(
    ("recipe", "drawn"),
    [
        ("dialectic", ["header", "thesis", "antithesis", "pairwise", "reduced", "paralysis"]),
        ("report", ["outline", "section", "report"]),
    ],
)
def test_document_recipes_are_shown_and_drawn(quire: Quire, recipe: str, drawn: list[str]) -> None:
    listed, shown = quire("recipe", "list").stdout, quire("recipe", "show", recipe).stdout
    graph = quire("recipe", "graph", recipe).stdout

    assert recipe in listed
    assert "--prompt" not in graph
    assert all(stage in shown and stage in graph for stage in drawn)
    assert "must be given" in shown


def test_the_counts_of_a_dialectic_are_stated_before_anything_is_asked(quire: Quire) -> None:
    shown = quire.json("recipe", "show", "dialectic", "--models", 3)

    assert {stage["stage"]: stage["tasks"] for stage in shown["tasks"]} == DIALECTIC_COUNTS
