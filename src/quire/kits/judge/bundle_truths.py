"""Truths of bundles: which of them hold pieces that are known to be at different stages."""

from quire.kits.judge.experiment import Experiment, shared_truth
from quire.kits.judge.randomization import bundles


def mixed_bundles(experiment: Experiment) -> list[int]:
    """The bundles, from 0, whose pieces have different truths; no verdict on them is right."""
    windows = tuple(evidence.window or 0 for evidence in experiment.evidence)
    made = bundles(
        windows, experiment.evidence_bundle_size, experiment.bundle_strategy, experiment.seed
    )
    truths = experiment.truths()
    names = [[experiment.evidence[at].id for at in positions] for positions in made]
    return [
        number
        for number, pieces in enumerate(names)
        if shared_truth(truths, pieces) is None and any(truths[name] for name in pieces)
    ]


def truth_caution(experiment: Experiment) -> str:
    """What is said before such an experiment is run; "" where all bundles are of one truth."""
    mixed = len(mixed_bundles(experiment))
    if not mixed:
        return ""
    return (
        f"{mixed} of {experiment.bundle_count} bundles hold pieces with different truths:"
        " their verdicts count for no accuracy"
    )
