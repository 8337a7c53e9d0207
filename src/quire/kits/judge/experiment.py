"""Experiments: one point of the design space, with all that is needed to run it again."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import combinations

from quire.domain.data import Json

ECC, CONTROL, BENCHMARK = "ecc", "control", "benchmark"
TASK_TYPES = (ECC, CONTROL, BENCHMARK)
SINGLE, SUBSET = "single", "subset"
RAW, CLEANED, NEUTRALIZED, ABSTRACTED = "raw", "cleaned", "neutralized", "abstracted"
VIEWS = (RAW, CLEANED, NEUTRALIZED, ABSTRACTED)  # l0 to l3, each made from the one before
ALL_PAIRS = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundTruth:
    """What is held to be right, and on whose word."""

    source: str
    value: int | None = None  # a stage number
    label: str = ""

    def as_json(self) -> dict[str, Json]:
        """Only what was given."""
        told: dict[str, Json] = {"source": self.source}
        if self.value is not None:
            told["value"] = self.value
        return told | ({"label": self.label} if self.label else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A scope that evidence is collected from."""

    name: str  # what evidence calls it in the file
    start_date: str  # ISO
    end_date: str
    country: str
    concept: str

    @property
    def id(self) -> str:
        """A name by content: the same window of two experiments has the same."""
        return "w-" + _digest(self.start_date, self.end_date, self.country, self.concept)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One article to be judged, as it was found."""

    title: str
    text: str
    url: str = ""
    window: int | None = None  # its window's place in the experiment
    truth: int | None = None  # the stage it is known to be at
    kept_id: str = field(default="", compare=False)  # its name, where the text may be gone

    @property
    def id(self) -> str:
        """A name by content: the same text in two experiments has the same."""
        return self.kept_id or "e-" + _digest(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleStage:
    """One stage of a rubric that was given."""

    label: str
    criteria: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What is asked of whom about which evidence, and how it is displayed."""

    experiment_tag: str
    task_type: str
    concept: str
    models: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    windows: tuple[Window, ...] = ()
    ground_truth: GroundTruth | None = None
    evidence_view: str = RAW
    view_model: str = ""  # who makes the views; "" = the first of the models
    scale_size: int = 4
    samples: int = 30
    method: str = SINGLE
    abstain_enabled: bool = True
    randomizations: tuple[str, ...] = ()
    evidence_bundle_size: int = 1
    bundle_strategy: str = "window_round_robin"
    seed: int = 0
    swaps: tuple[tuple[str, str], ...] = ()  # rivals: each judges on the other's rubrics
    rubric: tuple[ScaleStage, ...] = ()  # given rather than generated
    temperature: float | None = None

    @property
    def views(self) -> tuple[str, ...]:
        """The views that must be made, in order; none for raw text."""
        return VIEWS[1 : VIEWS.index(self.evidence_view) + 1]

    @property
    def rivals(self) -> dict[str, tuple[str, ...]]:
        """For each model, who else judges on its rubrics."""
        pairs = {*self.swaps, *((second, first) for first, second in self.swaps)}
        return {
            model: tuple(other for other in self.models if (model, other) in pairs)
            for model in self.models
        }

    @property
    def bundle_count(self) -> int:
        """How many bundles the evidence makes."""
        return -(-len(self.evidence) // self.evidence_bundle_size)

    @property
    def fence(self) -> str:
        """What marks where foreign text begins and ends: nobody who wrote the text knew it."""
        return _digest(self.experiment_tag, str(self.seed), *(each.id for each in self.evidence))

    def truths(self) -> dict[str, int | None]:
        """The right stage of every piece of evidence, by its name; None where it is not known."""
        known = self.ground_truth.value if self.ground_truth else None
        return {each.id: known if each.truth is None else each.truth for each in self.evidence}

    def config(self) -> dict[str, Json]:
        """The point of the design space, for the export."""
        return {
            "models": list(self.models),
            "scale_size": self.scale_size,
            "samples": self.samples,
            "method": self.method,
            "abstain_enabled": self.abstain_enabled,
            "evidence_view": self.evidence_view,
            "randomizations": list(self.randomizations),
            "evidence_bundle_size": self.evidence_bundle_size,
            "bundle_strategy": self.bundle_strategy,
            "seed": self.seed,
            "swaps": [list(pair) for pair in self.swaps],
            "rubric_given": bool(self.rubric),
            "temperature": self.temperature,
        }


def with_names(experiment: Experiment, names: Mapping[str, str]) -> Experiment:
    """The same with every model under its full name."""
    return replace(
        experiment,
        models=tuple(names[each] for each in experiment.models),
        view_model=names[experiment.view_model] if experiment.view_model else "",
        swaps=tuple((names[first], names[second]) for first, second in experiment.swaps),
    )


def all_pairs(models: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Every two models, once."""
    return tuple(combinations(models, 2))


def shared_truth(truths: Mapping[str, int | None], evidence: Iterable[str]) -> int | None:
    """The right stage of a bundle; None where it is not known, or its pieces differ."""
    known = {truths[each] for each in evidence}
    return known.pop() if len(known) == 1 else None


def _digest(*parts: str) -> str:
    return sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:12]
