"""Identities: names of rows that are the same in every export of an experiment."""

from quire.kits.judge.experiment import Experiment

GIVEN = "given"  # the one rubric that nobody wrote


def experiment_id(experiment: Experiment, model: str) -> str:
    """One point of the design space: an experiment as one model carries it out."""
    return f"{experiment.experiment_tag}:{model}"


def rubric_id(experiment: Experiment, ordinal: int, model: str) -> str:
    """A rubric by its sample and its author; "" is the author of a rubric that was given."""
    if not model:
        return f"{experiment.experiment_tag}:{GIVEN}"
    return f"{experiment.experiment_tag}:{ordinal}:{model}"


def sample_id(experiment: Experiment, ordinal: int, scorer: str, rubric_model: str) -> str:
    """A sample by its number and its scorer, and the rubric's author where that is a rival."""
    rival = f":on:{rubric_model}" if rubric_model not in ("", scorer) else ""
    return f"{experiment.experiment_tag}:{ordinal}:{scorer}{rival}"


def score_id(sample: str, bundle: int) -> str:
    """A score by its sample and its bundle."""
    return f"{sample}:b{bundle}"
