"""Experiments as JSON: what a run keeps, so that a changed file cannot change its export."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from quire.domain.data import Json, plain_json
from quire.kits.judge.experiment import Evidence, Experiment, GroundTruth, ScaleStage, Window

EXPERIMENT = "experiment"  # its name among the facts of a recipe


def experiment_to_json(experiment: Experiment) -> dict[str, Json]:
    """Write all of it but the texts of the evidence, which are documents of the run."""
    body = asdict(experiment)
    for written, evidence in zip(body["evidence"], experiment.evidence, strict=True):
        written["kept_id"] = evidence.id
        del written["text"]
    read: dict[str, Json] = json.loads(plain_json(body))  # tuples have become lists
    return read


def experiment_from_json(body: Mapping[str, Any], texts: Sequence[str]) -> Experiment:
    """Read what `experiment_to_json` wrote, with the texts of the evidence, "" if purged."""
    truth = body["ground_truth"]
    lists: dict[str, Any] = {
        "models": tuple(body["models"]),
        "randomizations": tuple(body["randomizations"]),
        "swaps": tuple((first, second) for first, second in body["swaps"]),
        "windows": tuple(Window(**each) for each in body["windows"]),
        "ground_truth": GroundTruth(**truth) if truth else None,
        "rubric": tuple(
            ScaleStage(label=each["label"], criteria=tuple(each["criteria"]))
            for each in body["rubric"]
        ),
        "evidence": tuple(
            Evidence(text=text, **each) for text, each in zip(texts, body["evidence"], strict=True)
        ),
    }
    return Experiment(**{**body, **lists})
