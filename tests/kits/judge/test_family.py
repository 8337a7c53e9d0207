"""Families of experiments: their files, what they share, what they cost together, their page."""

import csv
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from quire.domain.errors import RecipeInvalid, UsageError
from quire.domain.states import RunState
from quire.kits.judge.comparison import compare_experiments
from quire.kits.judge.comparison_page import write_comparison
from quire.kits.judge.experiment_file import read_experiment
from quire.kits.judge.experiment_runs import rows_of, start_experiment
from quire.kits.judge.family_files import Variation, parse_variations, write_family
from quire.kits.judge.family_plans import plan_family
from tests.kits.judge.examples import TOML, write
from tests.world import World

Worlds = Callable[..., World]
SWEEP = ("scale_size=3,4", "evidence_view=raw,cleaned")
EVIDENCE = """
[[evidence]]
text = "Two people were fined."
window = "us"
"""


def family(folder: Path, *vary: str) -> list[Path]:
    """The files of a sweep of the small experiment."""
    return write_family(write(folder, TOML + EVIDENCE), parse_variations(vary), folder / "sweep")


def test_values_are_read_as_the_file_would_have_them() -> None:
    found = parse_variations(
        [
            "scale_size=3, 4",
            "abstain_enabled=true,false",
            "randomizations=none,hide_label_text+anonymize_stages",
            "critic_model=none,simulated/large",
            "temperature=0,0.7",
        ]
    )

    assert found == [
        Variation("scale_size", (3, 4)),
        Variation("abstain_enabled", (True, False)),
        Variation("randomizations", ([], ["hide_label_text", "anonymize_stages"])),
        Variation("critic_model", (None, "simulated/large")),
        Variation("temperature", (0, 0.7)),
    ]


@pytest.mark.parametrize(
    ("vary", "refusal"),
    [
        ("scale_size", "write SETTING=VALUE,VALUE"),
        ("scale=3,4", "--vary scale is not known"),
        ("evidence=a,b", "--vary evidence is not known"),
        ("scale_size=3,3", "a value twice"),
        ("scale_size=3", "2 to 200 experiments; this would be 1"),
    ],
)
def test_a_sweep_that_makes_no_sense_is_refused(tmp_path: Path, vary: str, refusal: str) -> None:
    with pytest.raises(UsageError, match=refusal):
        family(tmp_path, vary)


def test_files_say_what_differs_and_stay_as_they_are(tmp_path: Path) -> None:
    paths = family(tmp_path, *SWEEP)
    before = [path.stat().st_mtime_ns for path in paths]

    assert family(tmp_path, *SWEEP) == paths
    assert [path.stat().st_mtime_ns for path in paths] == before
    assert [path.name for path in paths] == [
        "scale_size-3_evidence_view-raw.toml",
        "scale_size-3_evidence_view-cleaned.toml",
        "scale_size-4_evidence_view-raw.toml",
        "scale_size-4_evidence_view-cleaned.toml",
    ]
    assert paths[1].read_text().splitlines()[1:] == [
        'extends = "../experiment.toml"',
        'family = "order-pilot"',
        'experiment_tag = "order-pilot.3.cleaned"',
        "scale_size = 3",
        'evidence_view = "cleaned"',
    ]
    read = read_experiment(paths[1])
    base = read_experiment(tmp_path / "experiment.toml")
    assert (read.scale_size, read.evidence_view, read.samples) == (3, "cleaned", base.samples)
    assert read.evidence == base.evidence


def test_a_file_that_extends_another_is_swept_as_it_is_itself(tmp_path: Path) -> None:
    write(tmp_path, TOML)
    (tmp_path / "own").mkdir()
    path = tmp_path / "own" / "e2.toml"
    path.write_text('extends = "../experiment.toml"\nexperiment_tag = "e2"\nsamples = 5\n')

    paths = write_family(path, parse_variations(["scale_size=3,5"]), tmp_path / "sweep")

    read = [read_experiment(path) for path in paths]
    assert [item.experiment_tag for item in read] == ["e2.3", "e2.5"]
    assert {(item.family, item.samples, item.seed) for item in read} == {("e2", 5, 7)}
    assert read[0].evidence == read_experiment(tmp_path / "experiment.toml").evidence


def test_files_that_extend_each_other_in_a_circle_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, f'extends = "other.toml"\n{TOML}')
    (tmp_path / "other.toml").write_text('extends = "experiment.toml"\n')

    with pytest.raises(RecipeInvalid, match="which extends this file"):
        read_experiment(path)


def test_mistakes_stand_in_the_file_that_made_them_each_once(tmp_path: Path) -> None:
    path = write(tmp_path, f"sampels = 3\n{TOML}")

    with pytest.raises(RecipeInvalid) as found:
        write_family(path, parse_variations(["scale_size=1,4"]), tmp_path)

    told = [str(mistake).removeprefix(f"{tmp_path}/") for mistake in found.value.mistakes]
    assert [line.partition(": ")[0] for line in told] == [
        "scale_size-1.toml:5",
        "experiment.toml:1",
    ]


def test_a_family_asks_once_what_does_not_differ_and_its_plan_knows(
    world: Worlds, tmp_path: Path
) -> None:
    here = world()
    paths = family(tmp_path, *SWEEP)
    planned = plan_family(here.engine, paths)
    asked = []
    for path in paths:
        before = here.model.calls
        run = start_experiment(here.engine, path)
        assert run.wait().state == RunState.FINISHED
        asked.append(here.model.calls - before)

    rubrics, scores, views = 2 * 3 * 2, 2 * 3 * 2 * 2, 2  # models × samples × (evidence ×) critics
    assert asked == [rubrics + scores, views + scores, rubrics + scores, scores]
    shared = [member.shared > 0 for member in planned]
    assert shared == [False, True, False, True]
    assert planned[3].to_pay < planned[3].plan.cost
    assert sum(item.to_pay for item in planned) < sum(item.plan.cost for item in planned)


def test_the_page_says_what_varies_and_every_contrast_is_in_the_table(
    world: Worlds, tmp_path: Path
) -> None:
    here = world()
    runs = [start_experiment(here.engine, path) for path in family(tmp_path, *SWEEP)]
    for run in runs:
        run.wait()
    comparison = compare_experiments([rows_of(here.engine, run.id) for run in runs])

    page, *files = write_comparison(comparison, tmp_path / "out")

    text = page.read_text()
    assert "SIMULATED" in text
    assert "varied: scale_size, evidence_view" in text
    assert "Scales of 3 and 4 stages are compared on a line from 0 to 1" in text
    assert "http" not in text.replace("http://www.w3.org", "")
    with (tmp_path / "out" / "contrasts.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(comparison.contrasts) > 0
    assert Counter(row["varies"] for row in rows).keys() == {"scale_size", "evidence_view"}
    assert {row["pairing"] for row in rows} == {"evidence", "sample"}
    assert "<h2>Agreement of a model with itself</h2>" in text
    assert "<h2>What stands out</h2>" in text
    assert text.count("<dt>All together</dt>") == 1  # once is enough, also on paper
    assert "Verdicts for one stage" not in text  # each names one, by the method
    marks = (tmp_path / "out" / "plots" / "position_contrasts.csv").read_text().splitlines()
    assert marks[0].endswith("simultaneous_low,simultaneous_high,stands_out")
    body = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert len(body["contrasts"]) == len(rows)
    assert {path.suffix for path in files} >= {".csv", ".json", ".png", ".svg"}
    widths = [float(box.split()[2]) for box in re.findall(r'viewBox="([^"]*)"', text)]
    assert widths
    assert max(widths) < 450  # points: a phone shows all of it, and can be read


def test_one_experiment_is_no_comparison(world: Worlds, tmp_path: Path) -> None:
    here = world()
    run = start_experiment(here.engine, write(tmp_path, TOML))
    run.wait()
    rows = rows_of(here.engine, run.id)

    with pytest.raises(UsageError, match="two experiments or more"):
        compare_experiments([rows, rows])
