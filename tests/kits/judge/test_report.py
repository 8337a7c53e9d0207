"""The report: plots and a page that need nothing else, and say what the metrics say."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from quire.domain.errors import Conflict, UsageError
from quire.kits.judge.charts import MODEL_COLOURS, stage_colours
from quire.kits.judge.experiment import (
    Experiment,
    ExperimentRows,
    GroundTruth,
    all_pairs,
)
from quire.kits.judge.experiment_file import read_experiment, write_example
from quire.kits.judge.recipe import planned_tasks, recipe_of
from quire.kits.judge.report import metrics_of, write_report
from tests.kits.judge.examples import experiment
from tests.kits.judge.fake_run import FakeRun

PLOTS = {
    "abstain_rate",
    "accuracy",
    "critic_agreement",
    "expected_stage",
    "matched_deltas",
    "model_divergence",
    "singleton_rate",
    "stage_distribution",
    "stage_entropy",
    "swap_deltas",
}


@pytest.fixture(scope="module")
def rows() -> ExperimentRows:
    """A run of everything that a report can show, with names that would break a page."""
    return FakeRun(
        experiment(
            concept="order & <b>law</b>",
            method="subset",
            models=("a/<one>", "b/$two&three$", "{{footer}}"),
            swaps=all_pairs(("a/<one>", "b/$two&three$", "{{footer}}")),
            task_type="control",
            ground_truth=GroundTruth(source="experts", value=2),
        )
    ).rows()


@pytest.fixture(scope="module")
def folder(rows: ExperimentRows, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of that run."""
    made = tmp_path_factory.mktemp("report")
    written = write_report(rows, made)
    assert all(path.stat().st_size > 500 for path in written)
    return made


class _Page(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.fetched: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        named = {name: value or "" for name, value in attrs}
        self.fetched += [named[name] for name in ("src", "href") if name in named]

    def handle_data(self, data: str) -> None:
        self.words.append(data.strip())


def test_every_plot_is_a_picture_and_a_drawing(folder: Path) -> None:
    assert {path.stem for path in (folder / "plots").glob("*.png")} == PLOTS
    assert {path.stem for path in (folder / "plots").glob("*.svg")} == PLOTS
    for path in (folder / "plots").glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")
    for path in (folder / "plots").glob("*.svg"):
        assert ElementTree.parse(path).getroot().tag.endswith("svg")


def test_the_page_fetches_nothing(folder: Path) -> None:
    text = (folder / "report.html").read_text()
    page = _Page(text)

    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    assert page.fetched == []
    assert not re.search(r"url\((?!#)|@import", text)
    assert page.tags.count("svg") == len(PLOTS)


def test_the_page_shows_names_as_they_are(folder: Path) -> None:
    page = _Page((folder / "report.html").read_text())

    assert "order & <b>law</b>" in page.words
    assert {"a/<one>", "b/$two&three$", "{{footer}}"} <= set(page.words)
    assert "b" not in page.tags


def test_the_page_says_what_the_metrics_say(folder: Path, rows: ExperimentRows) -> None:
    page = _Page((folder / "report.html").read_text())
    metrics = metrics_of(rows)

    for figures in metrics.by_model:
        assert f"{figures.abstain_rate.value:.1%}" in page.words
        assert f"{figures.expected_stage.value:.2f}" in page.words
    metrics_json = json.loads((folder / "metrics.json").read_text())
    assert (
        metrics_json["overall"]["expected_stage"]["value"] == metrics.overall.expected_stage.value
    )
    assert metrics_json["by_model"][0]["model"] == "a/<one>"


def test_pictures_on_the_page_follow_its_colours(folder: Path) -> None:
    text = (folder / "report.html").read_text()

    assert "prefers-color-scheme: dark" in text
    assert text.count("var(--ink)") > 20
    assert not re.search("#01010[0-9]|#040404", text)


def test_the_same_rows_make_the_same_page(
    folder: Path, rows: ExperimentRows, tmp_path: Path
) -> None:
    write_report(rows, tmp_path)

    assert (tmp_path / "report.html").read_bytes() == (folder / "report.html").read_bytes()


def test_a_run_without_scores_has_a_report_too(tmp_path: Path) -> None:
    whole = FakeRun(experiment(models=("only/one",)), failing=1).rows()

    written = write_report(whole, tmp_path)

    assert tmp_path / "report.html" in written
    assert "model_divergence.svg" not in {path.name for path in written}


def test_a_report_that_cannot_be_written_is_told(rows: ExperimentRows, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    with pytest.raises(UsageError, match="cannot be written"):
        write_report(rows, tmp_path / "file")


def test_stages_go_from_pale_to_deep() -> None:
    assert stage_colours(2) == ["#bbd6f3", "#2459a8"]
    assert len(set(stage_colours(9))) == 9
    assert len(set(MODEL_COLOURS)) == 8


def test_the_example_can_be_run_as_it_is(tmp_path: Path) -> None:
    paths = write_example(tmp_path / "new")

    read = read_experiment(paths[0])

    assert len(read.evidence) == 3
    assert len(recipe_of(read).stages) == 4
    with pytest.raises(Conflict, match="is there already"):
        write_example(tmp_path / "new")


@pytest.mark.parametrize(
    ("wanted", "total"),
    [
        (experiment(), 6 * 2 + 30 * 2),
        (experiment(evidence_view="neutralized", evidence_bundle_size=2), 10 + 6 * 2 + 18 * 2),
        (experiment(swaps=all_pairs(experiment().models)), 6 * 2 + 90 * 2),
    ],
)
def test_planned_tasks_are_those_that_a_run_has(wanted: Experiment, total: int) -> None:
    rows = FakeRun(wanted, failing=0).rows()

    planned = planned_tasks(wanted)

    assert sum(planned.values()) == total == len(rows.tasks)
    assert {name: len(list(rows.tasks_of_stage(name))) for name in planned} == planned


def test_a_usual_experiment_has_as_many_tasks_as_was_said() -> None:
    evidence = tuple(
        type(experiment().evidence[0])(title=str(n), text=str(n), window=0) for n in range(20)
    )

    assert sum(planned_tasks(experiment(samples=30, evidence=evidence)).values()) == 3_780
