"""Experiments: one point of the design space, its evidence, and what became of its tasks."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from hashlib import sha256
from itertools import combinations
from typing import Any

from quire.domain.data import NOTHING, Json, JsonObject, plain_json
from quire.domain.documents import Block, BlockType, ParsedDocument
from quire.domain.ids import conv_uid, source_uid

ECC, CONTROL, BENCHMARK = "ecc", "control", "benchmark"
TASK_TYPES = (ECC, CONTROL, BENCHMARK)
SINGLE, SUBSET = "single", "subset"
RAW, CLEANED, NEUTRALIZED, ABSTRACTED = "raw", "cleaned", "neutralized", "abstracted"
VIEWS = (RAW, CLEANED, NEUTRALIZED, ABSTRACTED)  # l0 to l3, each made from the one before
ALL_PAIRS = "all"
RUBRIC_FIRST, EVIDENCE_FIRST = "rubric_first", "evidence_first"
ORDERINGS = (RUBRIC_FIRST, EVIDENCE_FIRST)  # of what a judge is shown
_DESIGN = (  # what spans the design space, as the export lists it
    *("models", "scale_size", "samples", "method", "abstain_enabled", "evidence_view"),
    *("randomizations", "evidence_bundle_size", "bundle_strategy", "seed", "prompt_ordering"),
    *("temperature", "top_p", "provider_seed", "max_tokens"),
)
# What files could not say once; only what is said is written, so that old runs are found again.
_LATER = (
    *("rubric_model", "critic_model", "prompt_ordering", "top_p", "provider_seed", "max_tokens"),
    *("prompts", "family"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundTruth:
    """What is held to be right, and on whose word."""

    source: str
    value: int | None = None  # a stage number
    label: str = ""

    def as_json(self) -> dict[str, Json]:
        """Only what was given."""
        body: dict[str, Json] = {"source": self.source}
        if self.value is not None:
            body["value"] = self.value
        return body | ({"label": self.label} if self.label else {})


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
    top_p: float | None = None
    provider_seed: int | None = None  # that every call is sent with
    max_tokens: int | None = None
    rubric_model: str = ""  # who writes all rubrics; "" = each model its own
    critic_model: str = ""  # who criticises all; "" = whoever wrote what is criticised
    prompt_ordering: str = RUBRIC_FIRST
    prompts: tuple[tuple[str, str], ...] = ()  # by name, those that are not the built-in ones
    family: str = ""  # experiments of one draw the same samples; "" = it is alone

    @property
    def authors(self) -> tuple[str, ...]:
        """Who writes rubrics; nobody where the rubric is given."""
        if self.rubric:
            return ()
        return (self.rubric_model,) if self.rubric_model else self.models

    @property
    def named_models(self) -> tuple[str, ...]:
        """Every model that it names, each once."""
        others = (self.view_model, self.rubric_model, self.critic_model)
        return tuple(dict.fromkeys([*self.models, *filter(None, others)]))

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
    def draws_of(self) -> str:
        """Whose draws they are: what one of a family asked, another finds answered."""
        return self.family or self.experiment_tag

    @property
    def fence(self) -> str:
        """What marks where foreign text begins and ends: nobody who wrote the text knew it."""
        ids = (evidence.id for evidence in self.evidence)
        return _digest(self.draws_of, str(self.seed), *ids)

    def truths(self) -> dict[str, int | None]:
        """The right stage of every piece of evidence, by its name; None where it is not known."""
        known = self.ground_truth.value if self.ground_truth else None
        return {
            evidence.id: known if evidence.truth is None else evidence.truth
            for evidence in self.evidence
        }

    def config(self) -> dict[str, Json]:
        """The point of the design space, for the export."""
        stated = {name: getattr(self, name) for name in _DESIGN}
        return stated | {
            "models": list(self.models),
            "randomizations": list(self.randomizations),
            "swaps": [list(pair) for pair in self.swaps],
            "rubric_given": bool(self.rubric),
            "rubric_model": self.rubric_model or None,
            "critic_model": self.critic_model or None,
            "view_model": (self.view_model or self.models[0]) if self.views else None,
            "own_prompts": [name for name, _ in self.prompts],
        }


def with_names(experiment: Experiment, names: Mapping[str, str]) -> Experiment:
    """The same with every model under its full name."""
    return replace(
        experiment,
        models=tuple(names[model] for model in experiment.models),
        view_model=names[experiment.view_model] if experiment.view_model else "",
        rubric_model=names[experiment.rubric_model] if experiment.rubric_model else "",
        critic_model=names[experiment.critic_model] if experiment.critic_model else "",
        swaps=tuple((names[first], names[second]) for first, second in experiment.swaps),
    )


def all_pairs(models: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Every two models, once."""
    return tuple(combinations(models, 2))


def shared_truth(truths: Mapping[str, int | None], evidence: Iterable[str]) -> int | None:
    """The right stage of a bundle; None where it is not known, or its pieces differ."""
    known = {truths[name] for name in evidence}
    return known.pop() if len(known) == 1 else None


def _digest(*parts: str) -> str:
    return sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:12]


SIMULATED = "simulated/"  # how the names of models begin that answer by chance
EXPERIMENT = "experiment"  # its name among the facts of a recipe
_DEFAULTS = {item.name: item.default for item in fields(Experiment)}


def experiment_to_json(experiment: Experiment) -> dict[str, Json]:
    """Write all of it but the texts of the evidence, which are documents of the run."""
    body = asdict(experiment)
    for name in _LATER:
        if getattr(experiment, name) == _DEFAULTS[name]:
            del body[name]
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
        "prompts": tuple((name, text) for name, text in body.get("prompts", ())),
        "swaps": tuple((first, second) for first, second in body["swaps"]),
        "windows": tuple(Window(**item) for item in body["windows"]),
        "ground_truth": GroundTruth(**truth) if truth else None,
        "rubric": tuple(
            ScaleStage(label=item["label"], criteria=tuple(item["criteria"]))
            for item in body["rubric"]
        ),
        "evidence": tuple(
            Evidence(text=text, **item) for text, item in zip(texts, body["evidence"], strict=True)
        ),
    }
    return Experiment(**{**body, **lists})


TOOL = "quire-evidence/1"
REPRESENTATION = "text_bytes"
_TYPE = "txt"


def document_of(evidence: Evidence) -> ParsedDocument:
    """The document that holds a piece of evidence; equal texts are the same document."""
    raw = evidence.text.encode()
    size = len(evidence.text)
    whole = Block(
        index=0,
        type=BlockType.OTHER,
        content=evidence.text,
        locator={"type": "text_offset_range", "start_offset": 0, "end_offset": size},
    )
    return ParsedDocument(
        source_uid=source_uid(_TYPE, raw),
        source_type=_TYPE,
        source_filesize=len(raw),
        source_total_characters=size,
        source_locator=evidence.url or evidence.title,
        title=evidence.title,
        conv_uid=conv_uid(TOOL, REPRESENTATION, raw),
        parsing_tool=TOOL,
        representation_type=REPRESENTATION,
        blocks=(whole,),
    )


PARSED, FAILED, PENDING = "parsed", "failed", "pending"
BLOCKED, CANCELLED = "blocked", "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
    """One task of a run, with its result where it has one."""

    task_id: int
    stage: str
    state: str  # as the ledger has it
    model: str
    sample: int = 0
    part: JsonObject = field(default_factory=dict)
    documents: tuple[int, ...] = ()  # that it was shown, in order
    of: int | None = None  # the task whose result it is about
    attempts: int = 0  # answers that were judged
    refused: int = 0  # of them
    error: str = ""  # of its last refused answer, or why it does not go on
    failed_by_critic: bool = (
        False  # the answer was read; then its critic came to nothing or objected
    )
    data: Json = None  # of its result
    answer: str = ""  # the model's text, the last refused one where there is no result
    message_id: str = ""  # of the attempt that gave the answer

    @property
    def facts(self) -> JsonObject:
        """Its data by name; empty while there are none."""
        return self.data if isinstance(self.data, Mapping) else NOTHING

    @property
    def parse_status(self) -> str:
        """Whether there is a decoded answer, and if not, why not."""
        if self.facts:
            return PARSED
        return self.state if self.state in (FAILED, BLOCKED, CANCELLED) else PENDING

    @property
    def parse_error(self) -> str:
        """Why there is no decoded answer; "" where there is one, whatever came before it."""
        return "" if self.facts or self.failed_by_critic else self.error

    @property
    def critic_failure(self) -> str:
        """Why it failed because of its critic; "" where it did not."""
        return self.error if self.failed_by_critic else ""

    @property
    def reasoning(self) -> str:
        """What the model wrote before its marker."""
        return str(self.facts.get("reasoning", ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentRows:
    """An experiment and all of its tasks, each with its current result."""

    experiment: Experiment
    documents: tuple[int, ...]  # of the evidence, piece by piece
    tasks: Sequence[TaskRow]
    status: str  # of the run
    updated_at: datetime
    run_id: int
    _of: dict[tuple[str, int], TaskRow] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Look up by what a task is about, once."""
        known = {(task.stage, task.of): task for task in self.tasks if task.of is not None}
        object.__setattr__(self, "_of", known)

    def tasks_of_stage(self, name: str) -> Iterator[TaskRow]:
        """The tasks of one stage, in order."""
        return (task for task in self.tasks if task.stage == name)

    def task_about(self, stage: str, task_id: int) -> TaskRow | None:
        """The one task of a stage that is about another task's result, such as its critic."""
        return self._of.get((stage, task_id))
