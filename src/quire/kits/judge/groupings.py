"""Groupings of judge experiments: samples of a rubric, and the bundles judged on each."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from quire.domain.data import Json, JsonObject
from quire.domain.groupings import Driven, Driver, Part, Surroundings
from quire.domain.ids import DocumentId
from quire.gates.markers import MOST_STAGES
from quire.kits.judge.bundling import ROUND_ROBIN, STRATEGIES, bundle_signature, bundles
from quire.kits.judge.display import RANDOMIZATIONS, surface
from quire.kits.judge.seeding import sample_seeds, swap_seed
from quire.recipes.rules import Rule, one_of, unknown, whole

SEED = whole(0, 0xFFFFFFFF)


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

    @property
    def is_swap(self) -> bool:
        return self.sample.rubric_model not in ("", self.scorer)


class JudgeSamples:
    """Each sample of each model once: the rubrics of an experiment; samples × models tasks."""

    name = "judge_samples"
    driver = Driver.ONCE
    wants_documents = False

    def mistakes(self, around: Surroundings) -> Sequence[str]:
        """The base seed must be a number of 32 bits."""
        return _against(around.settings, {"seed": SEED}, needed=("seed",))

    def fan(self, driven: Driven, around: Surroundings) -> Iterator[Part]:
        """A task for each sample and model, the models of a sample with the same seed."""
        for ordinal, seed in enumerate(sample_seeds(_whole(around, "seed"), around.samples)):
            for model in _models(around):
                yield Part(model, ordinal, {"ordinal": ordinal, "seed": seed})

    def count(self, driven: int, around: Surroundings) -> int:
        """Samples × models."""
        return driven * around.samples * len(_models(around))


class JudgeTargets:
    """Each bundle on each rubric, by its own model and by its rivals: the scores."""

    name = "judge_targets"
    driver = Driver.RESULT
    wants_documents = True

    def mistakes(self, around: Surroundings) -> Sequence[str]:
        """Every setting of the wrong kind, by name."""
        return _target_mistakes(around)

    def fan(self, driven: Driven, around: Surroundings) -> Iterator[Part]:
        """A task for each bundle by the rubric's own model, then by each rival."""
        seed = driven.part.get("seed")
        if not isinstance(seed, int):  # rubrics that were not sampled as ours are
            seed = sample_seeds(_whole(around, "seed"), driven.sample + 1)[driven.sample]
        sample = _Sample(driven.sample, seed, driven.model)
        for scorer in (driven.model, *_rivals(around).get(driven.model, ())):
            yield from _scores(sample, scorer, around)

    def count(self, driven: int, around: Surroundings) -> int:
        """Rubrics × (1 + rivals) × bundles, where every model has as many rubrics."""
        rivals = _rivals(around)
        swapped = driven * sum(map(len, rivals.values())) // len(rivals) if rivals else 0
        return (driven + swapped) * len(_bundles(around))


class JudgeGivenTargets:
    """Each bundle on the rubric that was given: samples × models × bundles tasks."""

    name = "judge_given_targets"
    driver = Driver.ONCE
    wants_documents = True

    def mistakes(self, around: Surroundings) -> Sequence[str]:
        """Every setting of the wrong kind, by name."""
        return _target_mistakes(around)

    def fan(self, driven: Driven, around: Surroundings) -> Iterator[Part]:
        """A task for each sample, model and bundle, the models of a sample with the same seed."""
        for ordinal, seed in enumerate(sample_seeds(_whole(around, "seed"), around.samples)):
            for scorer in _models(around):
                yield from _scores(_Sample(ordinal, seed, ""), scorer, around)

    def count(self, driven: int, around: Surroundings) -> int:
        """Samples × models × bundles."""
        return driven * around.samples * len(_models(around)) * len(_bundles(around))


def _scores(sample: _Sample, scorer: str, around: Surroundings) -> Iterator[Part]:
    for number, positions in enumerate(_bundles(around)):
        target = _Target(sample, scorer, number, positions)
        documents = tuple(around.documents[position] for position in positions)
        yield Part(scorer, sample.ordinal, _part(target, around), documents)


def _part(target: _Target, around: Surroundings) -> dict[str, Json]:
    sample = target.sample
    display_seed = swap_seed(sample.seed) if target.is_swap else sample.seed
    shown = surface(
        display_seed, _whole(around, "scale_size"), _texts(around.settings.get("randomizations"))
    )
    evidence = _texts(around.settings.get("evidence")) or _names(around.documents)
    return {
        "ordinal": sample.ordinal,
        "seed": sample.seed,
        "display_seed": display_seed,
        "labels": shown.labels,
        "tokens": shown.tokens,
        "order": shown.order,
        "hide_labels": shown.hide_labels,
        "shuffled": shown.shuffled,
        "bundle": target.bundle,
        "bundle_signature": bundle_signature([evidence[each] for each in target.positions]),
        "evidence_ids": [evidence[each] for each in target.positions],
        "evidence_labels": [f"E{number}" for number in range(1, len(target.positions) + 1)],
        "is_swap": target.is_swap,
        "rubric_model": sample.rubric_model,
    }


def _bundles(around: Surroundings) -> tuple[tuple[int, ...], ...]:
    windows = around.settings.get("windows") or [0] * len(around.documents)
    assert isinstance(windows, Sequence)
    return bundles(
        tuple(int(str(each)) for each in windows),
        _whole(around, "bundle_size", 1),
        str(around.settings.get("bundle_strategy", ROUND_ROBIN)),
        _whole(around, "seed"),
    )


def _models(around: Surroundings) -> tuple[str, ...]:
    return around.models or ("",)  # "" is the run's own


def _rivals(around: Surroundings) -> dict[str, tuple[str, ...]]:
    """For each model of the experiment, who else judges on its rubrics."""
    rivals = around.settings.get("rivals")
    if not isinstance(rivals, Mapping):
        return {}
    return {model: _texts(scorers) for model, scorers in rivals.items()}


def _names(documents: Sequence[DocumentId]) -> tuple[str, ...]:
    return tuple(map(str, documents))


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, Sequence) else ()


def _whole(around: Surroundings, name: str, default: int = 0) -> int:
    value = around.settings.get(name, default)
    assert isinstance(value, int)
    return value


def _each(rule: Rule, wanted: str) -> Rule:
    return Rule(
        wanted=wanted,
        allows=lambda value: isinstance(value, list | tuple) and all(map(rule.allows, value)),
    )


_TEXT = Rule(wanted="text", allows=lambda value: isinstance(value, str))
_TARGET_RULES = {
    "seed": SEED,
    "scale_size": whole(2, MOST_STAGES),
    "randomizations": _each(one_of(*RANDOMIZATIONS), f"a list of {', '.join(RANDOMIZATIONS)}"),
    "bundle_size": whole(1),
    "bundle_strategy": one_of(*STRATEGIES),
    "windows": _each(whole(0), "a list with a window's number for each document"),
    "evidence": _each(_TEXT, "a list with a name for each document"),
    "rivals": Rule(
        wanted="a table from models to lists of models",
        allows=lambda value: (
            isinstance(value, Mapping)
            and all(_each(_TEXT, "").allows(scorers) for scorers in value.values())
        ),
    ),
}


def _target_mistakes(around: Surroundings) -> list[str]:
    found = _against(around.settings, _TARGET_RULES, needed=("seed", "scale_size"))
    for name in ("windows", "evidence"):
        given = around.settings.get(name)
        if around.documents and isinstance(given, Sequence) and len(given) != len(around.documents):
            found.append(
                f"{name} names {len(given)} documents, but the stage has {len(around.documents)}"
            )
    return found


def _against(given: JsonObject, rules: dict[str, Rule], needed: Sequence[str]) -> list[str]:
    found = [f"{name} is missing" for name in needed if name not in given]
    for name, value in given.items():
        if name not in rules:
            found.append(f"{name} {unknown(name, rules)}")
        elif not rules[name].allows(value):
            found.append(f"{name} must be {rules[name].wanted}, not {str(value)[:60]}")
    return found
