"""Tables of the report: the figures of each question, with interval, n and samples in each cell."""

from collections.abc import Callable, Iterator, Sequence
from html import escape

from quire.domain.quantities import quantity
from quire.engine import render_table
from quire.kits.judge.calibration import TRUTH
from quire.kits.judge.column_meanings import MEANINGS
from quire.kits.judge.display_bias import ALPHABET, BEGINNING, POSITION
from quire.kits.judge.finding_charts import p_number
from quire.kits.judge.findings import Findings
from quire.kits.judge.intervals import Estimate
from quire.kits.judge.metrics import Metrics
from quire.kits.judge.place_preferences import SURE, is_sure
from quire.kits.judge.rubric_quality import OUTCOMES, QUALITIES

Format = Callable[[float], str]


def percent(value: float) -> str:
    """A share."""
    return _with_minus(f"{value:.1%}")


def decimal(value: float) -> str:
    """A plain figure."""
    return _with_minus(f"{value:.2f}")


def difference(value: float) -> str:
    """A difference."""
    return _with_minus(f"{value:+.2f}")


def points(value: float) -> str:
    """A difference of shares."""
    return _with_minus(f"{100 * value:+.1f} points")


def _with_minus(text: str) -> str:
    """A number with a sign that people read, and none before what is rounded to 0."""
    is_zero = not any(digit in text for digit in "123456789")
    return text.lstrip("+-") if is_zero else text.replace("-", "−")


def cell(found: Estimate | None, form: Format = decimal) -> str:
    """A figure, its interval, and what it rests on."""
    if found is None or found.value is None:
        return "–"
    interval = ""
    if found.low is not None and found.high is not None:
        interval = f"{form(found.low)} to {form(found.high)}"
    rests_on = f"n {found.observations:,} in {found.clusters:,}" if found.observations else ""
    return f"{form(found.value)}<small>{interval}</small><small>{rests_on}</small>"


_FIGURES: dict[str, tuple[str, Format]] = {
    "abstain_rate": ("Abstained", percent),
    "singleton_rate": ("One stage", percent),
    "mean_subset_size": ("Stages named", decimal),
    "expected_stage": ("Expected stage", decimal),
    "mid_scale_occupancy": ("Mid-scale", percent),
    "stage_entropy": ("Entropy, bits", decimal),
    "critic_agreement": ("Critic agrees", decimal),
    "coverage": ("Right stage named", percent),
    "stage_error": ("Stages off", decimal),
}


def figures_table(metrics: Metrics, method: str, who_criticised: str) -> str:
    """What the scores of each model are like."""
    known = {
        name: column
        for name, column in _FIGURES.items()
        if any(getattr(figures, name).value is not None for figures in metrics.by_model)
        and (method == "subset" or name not in ("singleton_rate", "mean_subset_size", "coverage"))
    }
    return render_table(
        "Figures by model",
        "In each cell the figure, its 95 % interval over samples, and n: the scores that it rests"
        " on, in how many samples. The entropy is corrected for the bias of few samples."
        f" {who_criticised}",
        ("Model", "Scores", *(title for title, _ in known.values())),
        [
            [
                escape(figures.model),
                f"{figures.scores:,}<small>{figures.missing:,} missing</small>",
                *(cell(getattr(figures, name), form) for name, (_, form) in known.items()),
            ]
            for figures in metrics.by_model
        ],
        total=False,
        meanings=MEANINGS["figures"],
    )


def within_table(findings: Findings) -> str:
    """How far each model repeats itself."""
    return render_table(
        "Does a model agree with itself?",
        "Krippendorff's alpha over the samples of a model, a unit a bundle: 1 is always the same, 0"
        " no more than by chance; above 0.8 is usually called reliable, below 0.67 not. Abstentions"
        " are missing values. Lines are where the chosen stages stood on the display: where these"
        " are drawn anew for every sample, lines above stages mean that the model goes by place.",
        (
            "Model", "Stages, ordinal", "Stages, nominal", "Lines, ordinal", "Lines, nominal",
            "Lines less stages, ordinal",
        ),
        [
            [
                escape(item.model),
                *(
                    cell(found)
                    for found in (
                        item.stages_ordinal,
                        item.stages_nominal,
                        item.positions_ordinal,
                        item.positions_nominal,
                    )
                ),
                cell(item.lines_above_stages, difference),
            ]
            for item in findings.agreement.within
        ],
        total=False,
        meanings=MEANINGS["within"],
    )  # fmt: skip


def between_table(metrics: Metrics, findings: Findings) -> str:
    """How far models agree, pair by pair, and all together."""
    deltas = {(delta.of, delta.against): delta.stages for delta in metrics.deltas}
    every = findings.agreement.between
    rows = []
    for pair in (*findings.agreement.pairs, *([every] if every and len(every.models) > 2 else [])):
        both = (pair.models[0], pair.models[1])
        two = len(pair.models) == 2
        rows.append(
            [
                escape(" and ".join(pair.models)) if two else "all models",
                cell(pair.apart_ordinal),
                cell(pair.apart_nominal),
                cell(pair.matched_ordinal),
                cell(pair.matched_nominal),
                cell(pair.kappa),
                cell(metrics.divergence[both[0]][both[1]]) if two else "–",
                cell(deltas.get(both), difference) if two else "–",
            ]
        )
    return render_table(
        "Do models agree with each other?",
        "Alphas of verdicts on the same bundle: apart, of different samples, so that only the"
        " evidence is shared; in a sample, on the same display, where a common liking for the first"
        " line counts as agreement. Divergence: Jensen and Shannon's of the stage shares, in bits."
        " Stages apart: the first model's expected stage less the second's, matched.",
        (
            "Models", "Alpha apart, ordinal", "Alpha apart, nominal", "Alpha in a sample, ordinal",
            "Alpha in a sample, nominal", "Cohen's kappa in a sample", "Divergence", "Stages apart",
        ),
        rows,
        total=False,
        meanings=MEANINGS["between"],
    )  # fmt: skip


_KINDS = {
    POSITION: "line on the display",
    ALPHABET: "identifier's place in the alphabet",
    BEGINNING: "what the identifier begins with",
}


def bias_table(findings: Findings) -> str:
    """What was tested of displays, and what came of it."""
    rows = []
    for bias in findings.display_bias:
        favoured = max(bias.slots, key=lambda slot: (slot.chosen.value or 0) - slot.expected)
        rows.append(
            [
                escape(bias.model),
                _KINDS[bias.kind],
                p_number(bias.p_value),
                p_number(bias.adjusted_p_value),
                "–" if bias.chi_square is None else f"{bias.chi_square:.1f}",
                escape(favoured.slot),
                cell(favoured.chosen, percent),
                percent(favoured.expected),
            ]
        )
    return render_table(
        "Does it matter where a stage stands, or what it is called?",
        "Displays are drawn anew 999 times, sample by sample; p is how often chance alone favours"
        " some lines (identifiers) as much as was seen; adjusted (by Holm), among all tests of this"
        " table. A small p: the model does not only go by what stages say."
        f" {_tests_in_words(findings)}",
        ("Model", "Tested", "p", "Adjusted", "χ²", "Favoured most", "Chosen", "Displayed"),
        rows,
        total=False,
        meanings=MEANINGS["bias"],
    )


def _tests_in_words(findings: Findings) -> str:
    sure, every = (
        sum(map(is_sure, findings.display_bias)),
        quantity(len(findings.display_bias), "test"),
    )
    return (
        f"Of {every}, {sure:,} {'is' if sure == 1 else 'are'} below {SURE} when adjusted."
        if sure
        else f"None of {every} is below {SURE} when adjusted; with few verdicts that shows little."
    )


def drift_table(findings: Findings) -> str:
    """How far models move over their samples."""
    return render_table(
        "Do later samples judge otherwise?",
        "Change from the first sample to the last along a straight line. An interval that holds 0:"
        " none is seen. One that holds all that can be, such as −100 to +100 points: too few"
        " samples to tell.",
        ("Model", "Expected stage", "Abstentions"),
        [
            [
                escape(item.model),
                cell(item.expected_stage, difference),
                cell(item.abstain_rate, points),
            ]
            for item in findings.drift
        ],
        total=False,
        meanings=MEANINGS["drift"],
    )


def accuracy_table(findings: Findings, who_criticised: str) -> str:
    """How right models are."""
    return render_table(
        "How right are they?",
        "Of answered verdicts with a known truth: exactly the right stage, and no other. Above"
        " chance: 0 is guessing with as many"
        " stages at a time as the model named, 1 always right. Kappa also allows for how often"
        " stages are named; with one"
        " truth only it says nothing. Critic tells: how often the critic is surer of a right"
        " verdict than of a wrong one, by chance 50 %."
        f" {who_criticised}",
        (
            "Model", "Accuracy", "Chance", "Commonest truth", "Above chance", "Kappa", "Answered",
            "Right of all", "Critic tells",
        ),
        [
            [
                escape(item.model),
                cell(item.accuracy, percent),
                percent(item.chance),
                percent(item.commonest_truth),
                cell(item.corrected),
                cell(item.kappa),
                cell(item.answered, percent),
                cell(item.right_of_all, percent),
                cell(item.discrimination, percent),
            ]
            for item in findings.correctness
        ],
        total=False,
        meanings=MEANINGS["accuracy"],
    )  # fmt: skip


def calibration_table(findings: Findings, who_criticised: str) -> str:
    """Whether critics say what comes true."""
    return render_table(
        "Do critics know?",
        "What critics said against what came true: the verdict was right, or the share of the other"
        " models' verdicts on the same bundle that say the same. Excess above 0: critics promise"
        " too much. Correlation 0: they cannot tell. Brier's score is the mean square error."
        f" {who_criticised}",
        ("Model", "Against", "Said", "Found", "Excess", "Brier", "Correlation"),
        [
            [
                escape(item.model),
                "truth" if item.against == TRUTH else "other models",
                cell(item.said, percent),
                cell(item.found, percent),
                cell(item.excess, points),
                cell(item.brier),
                cell(item.correlation, difference),
            ]
            for item in findings.calibration
        ],
        total=False,
        meanings=MEANINGS["calibration"],
    )


_OUTCOME_TITLES = {
    "agreement": "same verdicts", "abstain_rate": "abstentions", "stage_error": "stages off"
}  # fmt: skip


def rubric_table(findings: Findings, who_criticised: str) -> str:
    """What critics say of rubrics, and what goes with it."""
    known = [
        name
        for name in OUTCOMES
        if any(
            relation.outcome == name and relation.correlation.value is not None
            for item in findings.rubrics
            for relation in item.relations
        )
    ]
    heads = [f"{name.capitalize()} and {_OUTCOME_TITLES[o]}" for name in QUALITIES for o in known]
    return render_table(
        "Are the rubrics good, and does it matter?",
        "Means of the critic's two scores, and their correlation, rubric by rubric, with how often"
        " other samples say the same, with abstentions and with error. An interval that holds 0: no"
        " relation is seen."
        f" {who_criticised}",
        ("Model", "Observability", "Discriminability", *heads),
        list(_rubric_rows(findings, known)),
        total=False,
        meanings=MEANINGS["rubrics"],
    )


def _rubric_rows(findings: Findings, known: Sequence[str]) -> Iterator[list[str]]:
    for item in findings.rubrics:
        found = {(one.quality, one.outcome): one.correlation for one in item.relations}
        yield [
            escape(item.model),
            cell(item.observability),
            cell(item.discriminability),
            *(cell(found[quality, name], difference) for quality in QUALITIES for name in known),
        ]


def refusal_table(findings: Findings) -> str:
    """How often answers could not be read."""
    return render_table(
        "How often were answers refused?",
        "Answers that could not be read, of those that came. They were asked for again, so that all"
        " figures above are of answers that could be read: where the rates of models differ, so may"
        " what they leave out.",
        ("Stage", "Model", "Refused", "Answers refused", "Tasks given up", "Tasks"),
        [
            [
                item.stage,
                escape(item.model),
                cell(item.rate, percent),
                f"{item.refused:,}",
                f"{item.failed:,}",
                f"{item.tasks:,}",
            ]
            for item in findings.refusals
        ],
        total=False,
        meanings=MEANINGS["refusals"],
    )
