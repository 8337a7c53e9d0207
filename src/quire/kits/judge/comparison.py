"""Comparisons: several experiments side by side, their settings, figures and contrasts."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from quire.domain.data import Json, canonical_json
from quire.domain.errors import UsageError
from quire.domain.quantities import quantity
from quire.kits.judge.alpha_contrasts import measure_alphas
from quire.kits.judge.contrast_families import find_family
from quire.kits.judge.contrast_questions import QUESTIONS
from quire.kits.judge.contrasts import (
    UNPAIRED,
    Arm,
    ArmFigure,
    Contrast,
    excludes_zero,
    find_levels,
)
from quire.kits.judge.experiment import SIMULATED, Experiment, ExperimentRows
from quire.kits.judge.experiment_tables import make_tables
from quire.kits.judge.findings import displays_of
from quire.kits.judge.intervals import COVERAGE
from quire.kits.judge.metrics import scores_of
from quire.kits.judge.randomization import SHUFFLE, sample_seeds

LEAST = 2  # experiments
_PLAIN = (  # settings that are shown as they stand
    *("task_type", "concept", "scale_size", "samples", "method", "abstain_enabled"),
    *("evidence_view", "view_model", "evidence_bundle_size", "bundle_strategy", "seed"),
    *("prompt_ordering", "rubric_model", "critic_model", "temperature", "top_p", "provider_seed"),
    "max_tokens",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentComparison:
    """Experiments, their figures, and how these differ."""

    arms: tuple[Arm, ...]
    runs: tuple[int, ...]
    statuses: tuple[str, ...]
    levels: tuple[ArmFigure, ...]
    contrasts: tuple[Contrast, ...]
    cautions: tuple[str, ...]
    models: tuple[str, ...]

    @property
    def simulated_models(self) -> tuple[str, ...]:
        """The models that answered by chance."""
        return tuple(model for model in self.models if model.startswith(SIMULATED))

    @property
    def is_simulated(self) -> bool:
        """Whether no model was asked at all."""
        return len(self.simulated_models) == len(self.models)

    @property
    def varying_names(self) -> tuple[str, ...]:
        """The settings in which not all are alike."""
        return tuple(name for name in self.arms[0].settings if len(self._values(name)) > 1)

    @property
    def common_settings(self) -> dict[str, str]:
        """The settings that are the same in all."""
        first = self.arms[0].settings
        return {name: value for name, value in first.items() if len(self._values(name)) == 1}

    def _values(self, name: str) -> set[str]:
        return {arm.settings[name] for arm in self.arms}

    def as_json(self) -> dict[str, Json]:
        """All of it, for a file beside the page."""
        experiments: list[Json] = [
            {"name": arm.name, "run_id": run, "status": status, "settings": dict(arm.settings)}
            for arm, run, status in zip(self.arms, self.runs, self.statuses, strict=True)
        ]
        return {
            "experiments": experiments,
            "varied": list(self.varying_names),
            "is_simulated": self.is_simulated,
            "cautions": list(self.cautions),
            "levels": [
                {**level._asdict(), "figure": level.figure.as_json()} for level in self.levels
            ],
            "contrasts": [contrast.as_row() for contrast in self.contrasts],
        }


def compare_experiments(found: Sequence[ExperimentRows]) -> ExperimentComparison:
    """Compare runs of experiments, in the order in which they were named."""
    if len({rows.run_id for rows in found}) < LEAST:
        raise UsageError("a comparison needs two experiments or more, each a run of its own")
    tags = Counter(rows.experiment.experiment_tag for rows in found)
    arms = tuple(_arm(rows, twice=tags[rows.experiment.experiment_tag] > 1) for rows in found)
    contrasts = tuple(find_family(arms))
    models = dict.fromkeys(model for rows in found for model in rows.experiment.models)
    return ExperimentComparison(
        arms=arms,
        runs=tuple(rows.run_id for rows in found),
        statuses=tuple(rows.status for rows in found),
        levels=tuple(find_levels(arms)),
        contrasts=contrasts,
        cautions=tuple(_cautions(found, contrasts)),
        models=tuple(models),
    )


def _arm(rows: ExperimentRows, *, twice: bool) -> Arm:
    experiment = rows.experiment
    tables = make_tables(rows)
    scores = tuple(score for score in scores_of(tables["scores"]) if not score.is_swap)
    seeds = sample_seeds(experiment.seed, experiment.samples)
    return Arm(
        name=f"{experiment.experiment_tag} (run {rows.run_id})"
        if twice
        else experiment.experiment_tag,
        scale_size=experiment.scale_size,
        seeds=seeds,
        scores=scores,
        settings=settings_of(experiment),
        alphas=measure_alphas(
            scores,
            displays_of(tables["samples"]),
            seeds,
            lines_drawn=SHUFFLE in experiment.randomizations,
        ),
    )


def settings_of(experiment: Experiment) -> dict[str, str]:
    """What an experiment was told, in words that can be compared; its tag is only a name."""
    evidence = sorted(item.id for item in experiment.evidence)
    truth = experiment.ground_truth
    rubric = [[stage.label, *stage.criteria] for stage in experiment.rubric]
    return {
        **{name: _words(getattr(experiment, name)) for name in _PLAIN},
        "models": ", ".join(experiment.models),
        "randomizations": ", ".join(experiment.randomizations) or "–",
        "swaps": "; ".join(" and ".join(pair) for pair in experiment.swaps) or "–",
        "rubric": f"given ({_short_hash(rubric)})" if rubric else "written",
        "prompts": ", ".join(f"{name} ({_short_hash(text)})" for name, text in experiment.prompts)
        or "built in",
        "evidence": f"{len(evidence)} pieces ({_short_hash(evidence)})",
        "windows": ", ".join(window.name for window in experiment.windows) or "–",
        "ground_truth": canonical_json(truth.as_json()) if truth else "–",
    }


def _words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "–" if value in (None, "") else str(value)


def _short_hash(value: object) -> str:
    return sha256(canonical_json(value).encode()).hexdigest()[:6]  # type: ignore[arg-type]


def _cautions(found: Sequence[ExperimentRows], contrasts: Sequence[Contrast]) -> Iterator[str]:
    yield from _scale_cautions(found)
    yield from _author_cautions(found)
    yield from _design_cautions(found)
    pairings = Counter(contrast.pairing for contrast in contrasts)
    if pairings[UNPAIRED]:
        yield (
            f"Not paired: {pairings[UNPAIRED]:,} of {quantity(len(contrasts), 'contrast')}, since"
            " those experiments share no sample seeds or no models: their intervals are longer."
        )
    yield from _family_cautions(contrasts)
    for rows in found:
        if rows.status != "finished":
            yield f"{rows.experiment.experiment_tag}, run {rows.run_id}, is {rows.status} as yet."


def _family_cautions(contrasts: Sequence[Contrast]) -> Iterator[str]:
    judged = [item for item in contrasts if excludes_zero(item.difference) is not None]
    if not judged:
        return
    by_chance = len(judged) * (1 - COVERAGE)
    alone, among = (
        sum(bool(excludes_zero(item.difference)) for item in judged),
        sum(bool(item.stands_out) for item in judged),
    )
    yield (
        f"{quantity(len(judged), 'contrast')} {'has' if len(judged) == 1 else 'have'} intervals of"
        f" 95 %: if nothing differed, about {by_chance:.0f} of them would exclude 0 by chance"
        f" alone. {alone:,} do; {among:,} also {'does' if among == 1 else 'do'} among so many (by"
        " Holm): these are bold. The intervals of all together are so long that all of them hold"
        " at once in 95 of 100 such comparisons."
    )


def _scale_cautions(found: Sequence[ExperimentRows]) -> Iterator[str]:
    sizes = sorted({rows.experiment.scale_size for rows in found})
    if len(sizes) > 1:
        yield (
            f"Scales of {_join_words(sizes)} stages are compared on a line from 0 to 1. A stage in"
            " the middle of a short scale is not the same judgement as in the middle of a long one,"
            " and the more stages, the rarer are exact hits: accuracy is compared above chance."
        )
    if len(sizes) > 1 and any(set(rows.experiment.truths().values()) - {None} for rows in found):
        yield (
            "The truth is a stage's number: the same number is another place on a scale of another"
            " size, so that figures against the truth tell scales apart by that as well."
        )


def _design_cautions(found: Sequence[ExperimentRows]) -> Iterator[str]:
    for question in QUESTIONS:
        settings = [settings_of(rows.experiment) for rows in found]
        fixed = [question.is_fixed_in(item) for item in settings]
        if question.fixed_by and any(fixed) and not all(fixed):  # else it stands above, as of all
            name, value = question.fixed_by
            yield (
                f"{question.title} of {sum(fixed):,} of {len(fixed):,} of these experiments are"
                f" decided by their design ({name} {value}): there they are left out, in contrasts"
                " and among those that are corrected for."
            )


def _author_cautions(found: Sequence[ExperimentRows]) -> Iterator[str]:
    if any(not rows.experiment.rubric for rows in found):
        yield (
            "Rubrics were written by models, one for each sample: a stage of one is compared with"
            " the stage of the same number of another as if they meant the same."
        )
    if any(not rows.experiment.critic_model for rows in found):
        yield (
            "Where no critic_model is set, critics are the models themselves: their agreement is a"
            " self-assessment."
        )


def _join_words(values: Sequence[object]) -> str:
    return f"{', '.join(map(str, values[:-1]))} and {values[-1]}"


def experiment_labels(comparison: ExperimentComparison) -> Mapping[str, str]:
    """A short name of each experiment: what it alone has of the settings that vary."""
    varied = comparison.varying_names
    labels = {
        arm.name: ", ".join(_label(name, arm.settings[name]) for name in varied)
        for arm in comparison.arms
    }
    is_short = varied and len(set(labels.values())) == len(labels)
    too_long = max(map(len, labels.values())) > 60
    return labels if is_short and not too_long else {name: name for name in labels}


def _label(setting: str, value: str) -> str:
    return value if value.isalpha() and value not in ("yes", "no") else f"{setting} {value}"


def contrast_label(comparison: ExperimentComparison, contrast: Contrast) -> str:
    """What a contrast is between: the setting that differs, then what both have."""
    by_name = {arm.name: arm.settings for arm in comparison.arms}
    one, other = by_name[contrast.of], by_name[contrast.against]
    if len(contrast.varies) != 1:
        labels = experiment_labels(comparison)
        return f"{labels[contrast.of]} − {labels[contrast.against]}"
    (setting,) = contrast.varies
    rest = [_label(name, one[name]) for name in comparison.varying_names if name != setting]
    return " · ".join([f"{setting} {one[setting]} − {other[setting]}", *rest])
