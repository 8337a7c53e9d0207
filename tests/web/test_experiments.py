"""Pages of experiments: the list, and the report with its charts."""

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from fastapi.testclient import TestClient

from quire.engine import open_engine
from quire.kits.judge.chart_drawing import FORMS, Chart, Drawing, draw
from quire.kits.judge.experiment import ExperimentRows
from quire.kits.judge.experiment_runs import start_experiment
from quire.kits.judge.report import Report, make_report
from quire.web import experiments
from tests.kits.judge.pilots import write_pilot
from tests.server.sites import open_site, start_run, upload
from tests.time_limits import wait_until

MODELS = ("simulated/small", "simulated/large")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A site: run 1 is an experiment that has ended, 2 one not begun, 3 no experiment."""
    folder = tmp_path_factory.mktemp("experiments")
    with open_engine(str(folder / "quire.db"), environment={}) as engine:
        start_experiment(engine, write_pilot(folder, "ecc", MODELS, 2, 2)).wait()
        start_experiment(engine, write_pilot(folder, "benchmark", MODELS, 2, 2))
    with open_site(folder) as opened:
        upload(opened)
        start_run(opened)
        yield opened


def test_experiments_are_listed_and_no_other_runs(client: TestClient) -> None:
    page = client.get("/experiments").text

    assert 'href="/experiments/1">ecc-pilot' in page
    assert 'href="/experiments/2">benchmark-pilot' in page
    assert "/experiments/3" not in page


def test_an_experiment_shows_the_tables_of_its_report_and_its_charts(client: TestClient) -> None:
    page = client.get("/experiments/1").text

    assert "Does a model agree with itself?" in page
    assert "<strong>SIMULATED</strong>" in page
    assert "quire judge report 1 --to report" in page
    assert 'src="/experiments/1/stage_distribution.svg?v=' in page


def test_a_large_report_is_reckoned_behind_a_page_that_says_so(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = "Does a model agree with itself?"
    monkeypatch.setattr(experiments, "MOST_AT_ONCE", 1)
    client.app.state.site.answers.forget()  # type: ignore[attr-defined]

    first = client.get("/experiments/1")
    wait_until(lambda: shown in client.get("/experiments/1").text)

    assert first.status_code == 200
    assert "The report is being reckoned from " in first.text
    assert 'data-refresh="4"' in first.text
    assert shown not in first.text


def test_an_experiment_that_has_not_begun_says_so(client: TestClient) -> None:
    page = client.get("/experiments/2")

    assert page.status_code == 200
    assert "The run is not finished" in page.text


@pytest.mark.parametrize("dark", [False, True])
def test_a_chart_is_a_picture_that_runs_nothing(client: TestClient, dark: bool) -> None:
    answer = client.get("/experiments/1/stage_distribution.svg", params={"dark": dark})

    assert answer.headers["content-type"] == "image/svg+xml"
    assert "script-src" not in answer.headers["content-security-policy"]
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert ElementTree.fromstring(answer.content).tag.endswith("svg")
    assert ("#e8e8e6" in answer.text) == dark


@pytest.mark.parametrize(
    ("ending", "begins"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("csv", b"model,")]
)
def test_a_chart_and_its_numbers_are_taken_from_the_page(
    client: TestClient, ending: str, begins: bytes
) -> None:
    address = f"/experiments/1/files/stage_distribution.{ending}"

    answer = client.get(address)

    assert f'href="{address}" download' in client.get("/experiments/1").text
    assert answer.content.startswith(begins)
    assert f"stage_distribution.{ending}" in answer.headers["content-disposition"]
    assert client.get(f"{address}x").status_code == 404


def test_the_forms_of_a_chart_are_drawn_together_once(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[str] = []

    def counted(chart: Chart) -> Drawing:
        drawn.append(chart.name)
        return draw(chart)

    monkeypatch.setattr("quire.kits.judge.page_report.draw_chart", counted)

    forms = [client.get(f"/experiments/1/files/evidence.{ending}") for ending in FORMS]

    assert [form.status_code for form in forms] == [200] * 3
    assert drawn == ["evidence"]


def test_what_is_no_experiment_and_what_is_no_chart_say_where_to_go(client: TestClient) -> None:
    other = client.get("/experiments/3", headers={"Accept": "text/html"})
    missing = client.get("/experiments/1/nothing.svg")

    assert other.status_code == missing.status_code == 404
    assert "/runs/3" in other.text


def test_the_page_of_an_experiments_run_leads_to_its_report(client: TestClient) -> None:
    assert 'href="/experiments/1">Report' in client.get("/runs/1").text
    assert "/experiments/3" not in client.get("/runs/3").text


def test_results_without_a_schema_are_shown_by_what_they_have(client: TestClient) -> None:
    page = client.get("/v1/runs/1/results?stage=score_gen").json()
    grid = client.get("/runs/1?stage=score_gen").text

    assert "reasoning" in page["fields"]
    assert page["fields"] == list(page["items"][0]["data"])
    assert '<span class="name">reasoning</span></th>' in grid
    assert '<span class="name">text</span></th>' not in grid


def test_a_report_is_computed_again_only_when_its_run_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def counted(rows: ExperimentRows) -> Report:
        made.append(rows.run_id)
        return make_report(rows)

    monkeypatch.setattr("quire.kits.judge.page_report.make_report", counted)
    monkeypatch.setattr("quire.server.shared_answers.FRESH", 0.0)
    monkeypatch.setattr("quire.server.shared_answers.TIMES_ITS_COST", 0.0)
    with open_engine(str(tmp_path / "quire.db"), environment={}) as engine:
        run = start_experiment(engine, write_pilot(tmp_path, "ecc", MODELS[:1], 2, 2))
        with open_site(tmp_path) as client:
            for _ in range(3):
                client.get(f"/experiments/{run.id}")
            client.get(f"/experiments/{run.id}/stage_distribution.svg")
            assert len(made) == 1
            run.wait()
            assert "The run is not finished" not in client.get(f"/experiments/{run.id}").text
            assert len(made) == 2
