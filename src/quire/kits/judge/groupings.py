"""Groupings of judge experiments: samples of a rubric, and the bundles judged on each."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from quire.domain.data import Json, JsonObject
from quire.domain.groupings import Driver, DriverItem, GroupingContext, Part
from quire.domain.recipes import SAME
from quire.gates.markers import MOST_STAGES
from quire.kits.judge.randomization import (
    RANDOMIZATIONS,
    ROUND_ROBIN,
    STRATEGIES,
    bundle_signature,
    bundles,
    sample_seeds,
    scale_display,
    swap_seed,
)
from quire.kits.judge.toml_tables import texts
from quire.recipes.setting_rules import Rule, one_of, unknown_message, whole_number_rule

_SHOWN = ("labels", "tokens", "order", "hide_labels", "shuffled")  # of how a scale is displayed
SEED = whole_number_rule(0, 0xFFFFFFFF)


class _Sample(NamedTuple):
    """One draw: whose rubric it is, and the seed that decides how it is displayed."""

    ordinal: int
    seed: int
    rubric_model: str  # "" = the rubric was given


class _Target(NamedTuple):
    """One bundle to be judged by one model."""

    sample: _Sample
    scorer: str
    bundle: int
    positions: tuple[int, ...]
    is_swap: bool = False  # judged on a rival's rubric; one that is everybody's has no rival


class JudgeSamples:
    """Each sample of each model once: the rubrics of an experiment; samples × models tasks."""

    name = "judge_samples"
    driver = Driver.ONCE
    wants_documents = False

    def mistakes(self, context: GroupingContext) -> Sequence[str]:
        """The base seed must be a number of 32 bits."""
        return _rule_mistakes(context.settings, {"seed": SEED}, needed=("seed",))

    def fan(self, driven: DriverItem, context: GroupingContext) -> Iterator[Part]:
        """A task for each sample and model, the models of a sample with the same seed."""
        for ordinal, seed in _draws(context):
            for model in _models(context):
                yield Part(model, ordinal, {"ordinal": ordinal, "seed": seed})

    def count(self, driven: int, context: GroupingContext) -> int:
        """Samples × models."""
        return driven * context.samples * len(_models(context))


class JudgeTargets:
    """Each bundle on each rubric, by its own model and its rivals, or by all models: the scores."""

    name = "judge_targets"
    driver = Driver.RESULT
    wants_documents = True

    def mistakes(self, context: GroupingContext) -> Sequence[str]:
        """Every setting of the wrong kind, by name."""
        return _target_mistakes(context)

    def fan(self, driven: DriverItem, context: GroupingContext) -> Iterator[Part]:
        """A task for each bundle by the rubric's own model and each rival; or by each model."""
        seed = driven.part.get("seed")
        if not isinstance(seed, int):  # rubrics that were not sampled as ours are
            seed = sample_seeds(_int_setting(context, "seed"), driven.sample + 1)[driven.sample]
        sample = _Sample(driven.sample, seed, driven.model)
        if not _is_by_author(context):
            for scorer in context.models:
                yield from _score_parts(sample, scorer, context)
            return
        yield from _score_parts(sample, driven.model, context)
        for rival in _rivals(context).get(driven.model, ()):
            yield from _score_parts(sample, rival, context, is_swap=True)

    def count(self, driven: int, context: GroupingContext) -> int:
        """Rubrics × (1 + rivals, or models) × bundles, where every model has as many rubrics."""
        if not _is_by_author(context):
            return driven * len(context.models) * len(_bundles(context))
        rivals = _rivals(context)
        swapped = driven * sum(map(len, rivals.values())) // len(rivals) if rivals else 0
        return (driven + swapped) * len(_bundles(context))


class JudgeGivenTargets(JudgeTargets):
    """Each bundle on the rubric that was given: samples × models × bundles tasks."""

    name = "judge_given_targets"
    driver = Driver.ONCE

    def fan(self, driven: DriverItem, context: GroupingContext) -> Iterator[Part]:
        """A task for each sample, model and bundle, the models of a sample with the same seed."""
        for ordinal, seed in _draws(context):
            for scorer in _models(context):
                yield from _score_parts(_Sample(ordinal, seed, ""), scorer, context)

    def count(self, driven: int, context: GroupingContext) -> int:
        """Samples × models × bundles."""
        return driven * context.samples * len(_models(context)) * len(_bundles(context))


def _is_by_author(context: GroupingContext) -> bool:
    """Whether each rubric is judged on by whoever wrote it, not by the stage's own models."""
    return context.models in ((), (SAME,))


def _score_parts(
    sample: _Sample, scorer: str, context: GroupingContext, *, is_swap: bool = False
) -> Iterator[Part]:
    for number, positions in enumerate(_bundles(context)):
        target = _Target(sample, scorer, number, positions, is_swap)
        documents = tuple(context.documents[position] for position in positions)
        yield Part(scorer, sample.ordinal, _target_part(target, context), documents)


def _target_part(target: _Target, context: GroupingContext) -> dict[str, Json]:
    sample = target.sample
    display_seed = swap_seed(sample.seed) if target.is_swap else sample.seed
    display = scale_display(
        display_seed,
        _int_setting(context, "scale_size"),
        texts(context.settings.get("randomizations")),
    )
    names = texts(context.settings.get("evidence")) or tuple(map(str, context.documents))
    evidence = [names[position] for position in target.positions]
    return {
        "ordinal": sample.ordinal,
        "seed": sample.seed,
        "display_seed": display_seed,
        **{name: getattr(display, name) for name in _SHOWN},
        "bundle": target.bundle,
        "bundle_signature": bundle_signature(evidence),
        "evidence_ids": evidence,
        "evidence_labels": [f"E{number}" for number in range(1, len(evidence) + 1)],
        "is_swap": target.is_swap,
        "rubric_model": sample.rubric_model,
    }


def _bundles(context: GroupingContext) -> tuple[tuple[int, ...], ...]:
    windows = context.settings.get("windows") or [0] * len(context.documents)
    assert isinstance(windows, Sequence)
    return bundles(
        tuple(int(str(window)) for window in windows),
        _int_setting(context, "bundle_size", 1),
        str(context.settings.get("bundle_strategy", ROUND_ROBIN)),
        _int_setting(context, "seed"),
    )


def _draws(context: GroupingContext) -> Iterator[tuple[int, int]]:
    """The samples, each with the seed that all models share."""
    return iter(enumerate(sample_seeds(_int_setting(context, "seed"), context.samples)))


def _models(context: GroupingContext) -> tuple[str, ...]:
    return context.models or ("",)  # "" is the run's own


def _rivals(context: GroupingContext) -> dict[str, tuple[str, ...]]:
    """For each model of the experiment, who else judges on its rubrics."""
    rivals = context.settings.get("rivals")
    if not isinstance(rivals, Mapping):
        return {}
    return {model: texts(scorers) for model, scorers in rivals.items()}


def _int_setting(context: GroupingContext, name: str, default: int = 0) -> int:
    value = context.settings.get(name, default)
    assert isinstance(value, int)
    return value


def _list_rule(rule: Rule, wanted: str) -> Rule:
    return Rule(
        wanted=wanted,
        allows=lambda value: isinstance(value, list | tuple) and all(map(rule.allows, value)),
    )


_TEXT = Rule(wanted="text", allows=lambda value: isinstance(value, str))
_TARGET_RULES = {
    "seed": SEED,
    "scale_size": whole_number_rule(2, MOST_STAGES),
    "randomizations": _list_rule(one_of(*RANDOMIZATIONS), f"a list of {', '.join(RANDOMIZATIONS)}"),
    "bundle_size": whole_number_rule(1),
    "bundle_strategy": one_of(*STRATEGIES),
    "windows": _list_rule(whole_number_rule(0), "a list with a window's number for each document"),
    "evidence": _list_rule(_TEXT, "a list with a name for each document"),
    "rivals": Rule(
        wanted="a table from models to lists of models",
        allows=lambda value: (
            isinstance(value, Mapping)
            and all(_list_rule(_TEXT, "").allows(scorers) for scorers in value.values())
        ),
    ),
}


def _target_mistakes(context: GroupingContext) -> list[str]:
    found = _rule_mistakes(context.settings, _TARGET_RULES, needed=("seed", "scale_size"))
    for name in ("windows", "evidence"):
        given, there = context.settings.get(name), len(context.documents)
        if there and isinstance(given, Sequence) and len(given) != there:
            found.append(f"{name} names {len(given)} documents, but the stage has {there}")
    return found


def _rule_mistakes(given: JsonObject, rules: dict[str, Rule], needed: Sequence[str]) -> list[str]:
    found = [f"{name} is missing" for name in needed if name not in given]
    for name, value in given.items():
        if name not in rules:
            found.append(f"{name} {unknown_message(name, rules)}")
        elif not rules[name].allows(value):
            found.append(f"{name} must be {rules[name].wanted}, not {str(value)[:60]}")
    return found
