"""The report: plots and a page that need nothing else, and say what the metrics say."""

import csv
import json
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Sequence
from html import escape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from quire.domain.errors import Conflict, UsageError
from quire.domain.groupings import Part
from quire.kits.judge.chart_drawing import (
    LIGHT,
    MODEL_COLOURS,
    Chart,
    PlotNumbers,
    as_csv,
    draw,
    draw_legend,
    set_percent_axis,
    stage_colours,
)
from quire.kits.judge.experiment import (
    Evidence,
    Experiment,
    ExperimentRows,
    GroundTruth,
    ScaleStage,
    all_pairs,
)
from quire.kits.judge.experiment_file import read_experiment, write_example
from quire.kits.judge.experiment_tables import make_tables
from quire.kits.judge.randomization import RANDOMIZATIONS
from quire.kits.judge.recipe import planned_tasks, recipe_of
from quire.kits.judge.report import make_report, metrics_of, render_report, write_report
from tests.kits.judge.examples import experiment
from tests.kits.judge.fake_run import FakeRun

SVG = "{http://www.w3.org/2000/svg}"
PLOTS = {
    "accuracy_and_abstention",
    "calibration_others",
    "calibration_truth",
    "critic_agreement",
    "drift",
    "evidence",
    "identifier_bias",
    "position_bias",
    "rubric_quality",
    "stage_distribution",
    "stages_and_lines",
    "swap_deltas",
}


@pytest.fixture(scope="module")
def rows() -> ExperimentRows:
    """A run of everything that a report can show, with names that would break a page."""
    return FakeRun(
        experiment(
            concept="order & <b>law</b>",
            method="subset",
            samples=4,
            randomizations=RANDOMIZATIONS,
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
    assert all(path.stat().st_size > 50 for path in written)
    return made


class _Page(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.fetched: list[str] = []
        self.words: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        named = {name: value or "" for name, value in attrs}
        self.names.add(named.get("id", ""))
        self.fetched += [named[name] for name in ("src", "href") if name in named]

    def handle_data(self, data: str) -> None:
        self.words.append(data.strip())


def _text_of(rows: ExperimentRows) -> str:
    """The page without its plots, which take most of the time that it takes."""
    return render_report(make_report(rows), ())


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
    assert all(address.startswith(("#", "data:")) for address in page.fetched)
    assert {address[1:] for address in page.fetched if address[0] == "#"} <= page.names
    assert not re.search(r"url\((?!#)|@import", text)
    assert page.tags.count("svg") == len(PLOTS)


def test_each_plot_can_be_taken_from_the_page_with_its_numbers(folder: Path) -> None:
    page = _Page((folder / "report.html").read_text())

    for name in PLOTS:
        files = [folder / "plots" / f"{name}.{form}" for form in ("png", "svg", "csv")]
        for path, kind in zip(files, ("image/png", "image/svg+xml", "text/csv"), strict=True):
            held = b64encode(path.read_bytes()).decode()
            assert f"data:{kind};base64,{held}" in page.fetched
        rows = list(csv.reader(files[2].read_text().splitlines()))
        assert len({len(row) for row in rows}) == 1
        assert len(rows) > 2


def test_numbers_of_a_plot_do_nothing_in_a_spreadsheet() -> None:
    numbers = PlotNumbers(("model", "value"), (("=1+1", -0.5), ("a,b", None)))
    chart = Chart("n", "N", "", 1, lambda axes, theme: None, numbers)

    assert as_csv(chart).decode() == 'model,value\n\'=1+1,-0.5\n"a,b",\n'


def test_ticks_say_where_they_are() -> None:
    def draw_axis(axes: Any, theme: Any) -> None:
        axes.set_xlim(0, 0.1)
        set_percent_axis(axes.xaxis)

    drawn = draw(Chart("t", "T", "", 1.5, draw_axis, PlotNumbers((), ()))).html

    ticks = [float(tick) for tick in re.findall(r">([0-9.]+)%<", drawn)]
    steps = {round(b - a, 6) for a, b in pairwise(ticks)}
    assert LIGHT.ink not in drawn
    assert len(ticks) > 3
    assert len(steps) == 1


def test_a_title_stands_above_the_names_of_what_is_drawn_and_a_page_has_its_own() -> None:
    def draw_line(axes: Any, theme: Any) -> None:
        axes.plot([0, 1], label="named")
        draw_legend(axes)

    drawing = draw(Chart("t", "The title", "", 1.5, draw_line, PlotNumbers((), ())))

    heights = {
        text.text: float(text.attrib["y"])
        for text in ElementTree.fromstring(drawing.files["svg"]).iter(f"{SVG}text")
    }
    page = ElementTree.fromstring(drawing.html)
    assert heights["named"] - heights["The title"] > 10  # points: a line apart
    assert "The title" not in drawing.html
    top = float(page.attrib["viewBox"].split()[1])
    assert heights["The title"] <= top <= heights["named"] - 8


def test_models_are_compared_and_not_thrown_together(folder: Path) -> None:
    page = _Page((folder / "report.html").read_text())

    assert "overall" not in page.words
    assert "Do models agree with each other?" in page.words


def test_every_column_says_what_it_is(folder: Path) -> None:
    text = (folder / "report.html").read_text()
    cards = [card for card in text.split("<section class='card wide'>") if "<thead>" in card]
    known = {
        "Model",
        "Models",
        "Evidence",
        "Divided",
        "Truth",
        "a/&lt;one&gt;",
        "b/$two&amp;three$",
    }
    known |= {"{{footer}}"}  # the evidence's own table says what is in it

    unsaid = []
    for card in cards:
        heads = set(re.findall(r"<th scope='col'>(.*?)</th>", card))
        related = {
            head for head in heads if head.split()[0] in ("Observability", "Discriminability")
        }
        unsaid += sorted(heads - set(re.findall(r"<dt>(.*?)</dt>", card)) - known - related)

    assert unsaid == []
    assert text.count("class='meanings'") == 12


def test_marks_without_an_interval_are_hollow_counted_and_in_a_table(folder: Path) -> None:
    text = (folder / "report.html").read_text()

    for name, title in (("accuracy_and_abstention", "Accuracy against abstention"),
                        ("calibration_truth", "Do verdicts come true as critics say?"),
                        ("swap_deltas", "Judging on a rival's rubric")):  # fmt: skip
        marks = list(csv.DictReader((folder / "plots" / f"{name}.csv").read_text().splitlines()))
        hollow = sum(not mark["low"] for mark in marks)
        figure = text.partition(f"<h2>{escape(title)}</h2>")[2].partition("</figcaption>")[0]
        told = re.search(r"(\d+) of \d+ marks (?:is|are) hollow", figure)
        assert int(told[1] if told else 0) == hollow
        drawn = (folder / "plots" / f"{name}.svg").read_text()
        assert (f"fill: {LIGHT.paper}; stroke: #" in drawn) == (hollow > 0)
    critics = text.partition("What critics said and what came true")[2].partition("</section>")[0]
    assert len(re.findall(r"<small>n \d+ in \d</small>", critics)) == critics.count("<tr>") - 1
    swaps = text.partition("Do models judge otherwise on a rival")[2].partition("</section>")[0]
    assert swaps.count("<tr>") == 1 + 6


def test_every_bundle_leads_to_its_texts_verdicts_and_reasons(folder: Path) -> None:
    text = (folder / "report.html").read_text()
    page = _Page(text)

    assert {f"#bundle-{number}" for number in range(1, 6)} <= set(page.fetched)
    assert {f"Text number {number}." for number in range(5)} <= set(page.words)
    assert "=It shows signs." in page.words
    columns = text.count("class='meanings'")
    rubrics = {name for name in page.names if name.startswith("rubric-")}
    assert page.tags.count("details") == 5 * (1 + 3) + columns + 2 + len(rubrics)  # marks: 2


def test_every_verdict_leads_to_what_its_stages_meant(folder: Path, rows: ExperimentRows) -> None:
    text = (folder / "report.html").read_text()
    tables = make_tables(rows)
    said = {str(row["rubric_id"]): row for row in tables["rubrics"] if row["stages"]}

    shown = re.findall(r"<summary>([^<]*), sample (\d)</summary><div id='(rubric-\d+)'>(.*?)</div>",
                       text)  # fmt: skip
    assert len(shown) == len(said) > 9
    for model, sample, _, stages in shown:
        assert any(
            (escape(str(row["model_id"])), str(row["sample_ordinal"])) == (model, sample)
            for row in said.values()
        )
        assert "<dt>3. Level 3</dt><dd>a; b; c</dd>" in stages
    linked = re.findall(r"<td><a href='#(rubric-\d+)'>[a\d+·]+</a></td>", text)
    judged = [row for row in tables["scores"] if not row["is_swap"] and row["rubric_id"] in said]
    assert Counter(linked).total() == len(judged)
    assert set(linked) <= {anchor for _, _, anchor, _ in shown}


@pytest.mark.parametrize("models", [("simulated/a",), ("simulated/a", "other/b")])
def test_a_simulated_page_says_so_in_large_letters(models: tuple[str, ...]) -> None:
    text = _text_of(FakeRun(experiment(models=models, evidence_bundle_size=5)).rows())

    assert "<strong>SIMULATED</strong>" in text
    assert ("simulated/a answered by chance" in text) == (len(models) == 2)


def test_what_must_be_known_first_stands_first(folder: Path) -> None:
    evidence = tuple(Evidence(title=str(n), text=f"Text {n}.", truth=n) for n in (1, 2, 3, 3))
    given = tuple(ScaleStage(label=str(n), criteria=("c",)) for n in range(4))
    rows = FakeRun(
        experiment(
            models=("other/b",), evidence=evidence, windows=(), evidence_bundle_size=2,
            rubric=given, task_type="benchmark", critic_model="other/c", temperature=0.5,
            prompt_ordering="evidence_first", max_tokens=2000,
        )
    ).rows()  # fmt: skip

    own, shared = (folder / "report.html").read_text(), _text_of(rows)

    assert "stage 3 of one rubric is not stage 3 of another" in own
    assert "SIMULATED" not in own
    assert "stage 3 of one rubric is not stage 3 of another" not in shared
    assert "1 of 2 bundles hold pieces with different truths" in shared
    assert "criticised it, too, so that what critics say here is a self-assessment" in own
    assert "self-assessment" not in shared
    assert own.count("Whoever wrote a rubric or a verdict criticised it") == 4
    assert shared.count("other/c criticised every rubric and every verdict") == 2
    assert ">truth by experts<" in own
    assert ">windows us, fr<" in own
    assert ">rubric first<" in own
    for choice in ("bundles of 2, window round robin", "rubric given", "critic other/c",
                   "evidence first", "temperature 0.5", "max_tokens 2000"):  # fmt: skip
        assert f">{choice}<" in shared
        assert choice not in own


class _ByPlace(FakeRun):
    """A judge to whom each piece of evidence means a line of the display, whatever stands there."""

    def _verdict(self, part: Part) -> str:
        tokens, order = part.part["tokens"], part.part["order"]
        assert isinstance(tokens, Sequence)
        assert isinstance(order, Sequence)
        line = part.documents[0] % len(order) if self.random.random() < 0.8 else 0
        return str(tokens[int(str(order[line])) - 1])


def test_who_chooses_by_place_is_named_before_any_figure(folder: Path) -> None:
    evidence = tuple(Evidence(title=str(n), text=f"Text {n}.", window=0) for n in range(8))
    wanted = experiment(
        models=("a/x", "b/y"), samples=12, evidence=evidence, randomizations=RANDOMIZATIONS
    )

    placed, by_stage = _text_of(_ByPlace(wanted).rows()), (folder / "report.html").read_text()

    first, _, rest = placed.partition("<h2>Figures by model</h2>")
    assert rest
    assert re.search(r"by place\..*b/y \(alpha of lines 0\.[4-9]\d, .* repeats? the line", first)
    assert re.search(r"line 1 got .* favours? some lines more than chance would", first)
    assert "Chosen by place" not in by_stage.partition("<h2>Figures by model</h2>")[0]


def test_the_page_shows_names_as_they_are(folder: Path) -> None:
    page = _Page((folder / "report.html").read_text())

    assert "order & <b>law</b>" in page.words
    assert {"a/<one>", "b/$two&three$", "{{footer}}"} <= set(page.words)
    assert "b" not in page.tags  # as in the concept


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
    within = metrics_json["findings"]["agreement"]["within"][0]
    assert within["stages_ordinal"].keys() == {"value", "low", "high", "observations", "clusters"}


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
    assert "evidence.svg" not in {path.name for path in written}


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
