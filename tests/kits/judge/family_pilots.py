"""Families that go through real engines, process by process, and proof that all of it adds up."""

import sys
from collections.abc import Sequence
from pathlib import Path

from quire.engine import Engine, RunHandle, open_engine
from quire.kits.judge.comparison import ExperimentComparison, compare_experiments
from quire.kits.judge.comparison_page import write_comparison
from quire.kits.judge.experiment_runs import find_experiment_run, rows_of, start_experiment
from quire.kits.judge.family_files import parse_variations, write_family
from tests.crash.victim import Doomed
from tests.kits.judge.pilots import prove, write_pilot

BATCHED = {"route": "batch", "min_batch_size": 2}


def write_pilot_family(
    folder: Path, models: Sequence[str], samples: int, evidence: int, *vary: str
) -> list[Path]:
    """The files of a family of control experiments."""
    base = write_pilot(folder, "control", models, samples, evidence)
    base.write_text(base.read_text().replace("value = 2\n", "value = 1\n"))
    return write_family(base, parse_variations(vary), folder / "family")


def run_family(engine: Engine, paths: Sequence[Path]) -> list[RunHandle]:
    """Carry out a family, as far as that is not done; the same again goes on."""
    handles = []
    for path in paths:
        handle = start_experiment(engine, path, **BATCHED)  # type: ignore[arg-type]
        handle.wait()
        handles.append(handle)
    return handles


def prove_family(engine: Engine, paths: Sequence[Path], folder: Path) -> ExperimentComparison:
    """Each experiment adds up, none paid for what another has, and they make one page."""
    runs = [find_experiment_run(engine, str(path)) for path in paths]
    for run, path in zip(runs, paths, strict=True):
        prove(engine, run, folder / path.stem)
    comparison = compare_experiments([rows_of(engine, run) for run in runs])
    write_comparison(comparison, folder / "page")
    return comparison


if __name__ == "__main__":
    with open_engine(sys.argv[1], runtime=Doomed("never", 0)) as opened:
        run_family(opened, [Path(name) for name in sys.argv[2:]])
