"""Place preferences: which models choose by where a stage stands or by its identifier, in words."""

from collections.abc import Iterator, Sequence

from quire.domain.quantities import quantity
from quire.kits.judge.agreement import WithinModel
from quire.kits.judge.alpha_contrasts import CHOICE_BY_PLACE
from quire.kits.judge.comparison import ExperimentComparison, experiment_labels
from quire.kits.judge.contrast_families import coverage_of
from quire.kits.judge.contrasts import ArmFigure
from quire.kits.judge.display_bias import ALPHABET, BEGINNING, POSITION, DisplayBias
from quire.kits.judge.findings import Findings
from quire.kits.judge.intervals import COVERAGE, Estimate
from quire.planning.quantiles import student_quantile

SURE = 0.05  # an adjusted p below it is said in words
_MOST_NAMED = 4  # models in a sentence


def place_preferences(findings: Findings) -> Iterator[str]:
    """A sentence for each way in which displays decide verdicts; none where none is seen."""
    repeating = _repeating(findings)
    if repeating:
        named = [
            f"{item.model} (alpha of lines {_decimal(item.positions_ordinal.value)}, of stages"
            f" {_decimal(item.stages_ordinal.value)})"
            for item in repeating
        ]
        verb = "repeats" if len(repeating) == 1 else "repeat"
        yield (
            f"{_list(named)} {verb} the line of the display more than the stage that stood on it:"
            " what is read as a stage is in part a place."
        )
    for kind, (what, noun) in _KINDS.items():
        favouring = [bias for bias in findings.display_bias if bias.kind == kind and is_sure(bias)]
        if favouring:
            verb = "favours" if len(favouring) == 1 else "favour"
            named = [f"{bias.model} ({_favoured_slot(bias, noun)})" for bias in favouring]
            yield f"{_list(named)} {verb} {what} more than chance would."


def place_caution(comparison: ExperimentComparison) -> str:
    """How many of all models in all experiments choose by place, in a sentence; else empty."""
    known = [level for level in comparison.levels if level.question == CHOICE_BY_PLACE]
    sure = _sure_among(known)
    if not sure:
        return ""
    labels = experiment_labels(comparison)
    models: dict[str, list[str]] = {}
    for level in sure:
        models.setdefault(level.model, []).append(labels[level.experiment])
    every = len(comparison.arms)
    named = [
        f"{model} ({'all' if len(where) == every else '; '.join(where)})"
        for model, where in models.items()
    ]
    return (
        f"In {len(sure):,} of {quantity(len(known), 'case')}, a model in an experiment, lines of"
        " the display repeat more than the stages that stood on them, also among so many cases (by"
        f" Holm): {_list(named)}. What is read"
        " as a stage there is in part a place, and so is what differs between experiments."
    )


def _sure_among(cases: Sequence[ArmFigure]) -> list[ArmFigure]:
    """Those whose interval lies above 0 also among all, by Holm's steps."""
    left = [case for case in cases if case.figure.low is not None]
    out: list[ArmFigure] = []
    while left:
        coverage = coverage_of(len(left))
        clear = [case for case in left if _lowest(case.figure, coverage) > 0]
        if not clear:
            break
        out += clear
        left = [case for case in left if case not in clear]
    return [case for case in cases if case in out]


def _lowest(found: Estimate, coverage: float) -> float:
    """Where Student's interval begins if it is to hold so often."""
    assert found.value is not None
    assert found.low is not None
    degrees = found.clusters - 1
    longer = student_quantile(coverage, degrees) / student_quantile(COVERAGE, degrees)
    return found.value - longer * (found.value - found.low)


def _repeating(findings: Findings) -> list[WithinModel]:
    """The models whose lines agree better than their stages, where lines were drawn by chance."""
    drawn = any(bias.kind == POSITION for bias in findings.display_bias)
    known = [
        (item.lines_above_stages, item)
        for item in findings.agreement.within
        if drawn and item.lines_above_stages.low is not None and item.lines_above_stages.low > 0
    ]
    return [item for _, item in sorted(known, key=lambda pair: -(pair[0].value or 0))]


_KINDS = {
    POSITION: ("some lines", "line "),
    ALPHABET: ("some identifiers", "of the alphabet's order, number "),
    BEGINNING: ("some identifiers by how they begin", ""),
}


def is_sure(bias: DisplayBias) -> bool:
    """Whether a test is hardly chance, among all those of the report."""
    return bias.adjusted_p_value is not None and bias.adjusted_p_value < SURE


def _favoured_slot(bias: DisplayBias, noun: str) -> str:
    most = max(bias.slots, key=lambda slot: (slot.chosen.value or 0) - slot.expected)
    return (
        f"{noun}{most.slot} got {most.chosen.value or 0:.0%} of verdicts, {most.expected:.0%} were"
        " displayed there"
    )


def _list(named: Sequence[str]) -> str:
    shown = list(named[:_MOST_NAMED])
    if len(named) > _MOST_NAMED:
        shown.append(quantity(len(named) - _MOST_NAMED, "more model"))
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _decimal(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{round(value, 2) or 0.0:.2f}".replace("-", "−")  # never −0.00
