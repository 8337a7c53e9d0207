"""Experiments to test with."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from quire.kits.judge.experiment import Evidence, Experiment, Window

WINDOWS = (
    Window(
        name="us", start_date="2025-01-01", end_date="2025-01-31", country="US", concept="order"
    ),
    Window(
        name="fr", start_date="2025-02-01", end_date="2025-02-28", country="FR", concept="order"
    ),
)

TOML = """\
experiment_tag = "order-pilot"
task_type = "ecc"
concept = "civil order"
models = ["simulated/small", "simulated/large"]
seed = 7
samples = 3

[[windows]]
name = "us"
start_date = 2025-01-01
end_date = 2025-01-31
country = "US"

[[evidence]]
text = "The march ended without arrests."
window = "us"
"""


def experiment(**changes: Any) -> Experiment:
    """A small experiment of two models, two windows and five pieces of evidence."""
    evidence = tuple(
        Evidence(title=f"Article {number}", text=f"Text number {number}.", window=number % 2)
        for number in range(5)
    )
    small = Experiment(
        experiment_tag="order-pilot",
        task_type="ecc",
        concept="civil order",
        models=("simulated/a", "simulated/b", "simulated/c"),
        evidence=evidence,
        windows=WINDOWS,
        samples=2,
        seed=7,
    )
    return replace(small, **changes)


def write(folder: Path, text: str) -> Path:
    """Put an experiment's file into a folder."""
    path = folder / "experiment.toml"
    path.write_text(text, encoding="utf-8")
    return path
