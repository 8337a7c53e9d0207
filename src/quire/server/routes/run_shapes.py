"""How runs stand and why tasks failed, as JSON: what `quire status --json` says."""

from datetime import datetime

from pydantic import Field

from quire.domain.reasons import HoldKind
from quire.server.json_answers import AnswerShape, Data, SettingValue


class MoneyShape(AnswerShape):
    """What bounds a run's spending, and how that stands."""

    wallet: str | None = Field(description="The wallet that it spends from.")
    budget_usd: float | None = Field(description="The most that it may spend, in dollars.")
    spent_usd: float = Field(description="Dollars that are spent.")
    reserved_usd: float = Field(description="Dollars set aside for calls that are out.")
    left_usd: float = Field(description="Dollars that are left.")


class HoldShape(AnswerShape):
    """A reason why a run does not go on."""

    kind: HoldKind
    detail: str = Field(description="The reason in words.")
    since: datetime = Field(description="Since when.")


class RunStageShape(AnswerShape):
    """A stage of a recipe, as it stands in a run."""

    name: str
    state: str = Field(examples=["open"])
    tasks: dict[str, int] = Field(description="Its tasks by state.")
    expanded: int = Field(description="How many of its tasks are written down.")
    critic_of: str | None = Field(description="The stage whose results it judges.")
    waits_for: str | None = Field(description="The stage that it waits for.")
    stale: int = Field(description="Results whose inputs have changed.")


class RunShape(AnswerShape):
    """How a run stands, as `quire status --json` says it."""

    run: int
    state: str = Field(examples=["running"])
    standing: str = Field(
        description="How it stands in a word: held, say, where `state` is running.",
        examples=["held"],
    )
    at_rest: bool = Field(description="Nothing more happens until somebody acts.")
    workers: int = Field(description="Who is there to carry it out.")
    schema_: str | None = Field(
        alias="schema", description="The schema's name; null of a recipe.", examples=["clauses"]
    )
    recipe: str = Field("", description="The recipe's name, of a recipe.")
    models: list[str] = Field([], description="Every model that is asked, of a recipe.")
    stages: list[RunStageShape] = Field([], description="Its stages, of a recipe.")
    model: str
    simulated: bool
    started_at: datetime = Field(description="When it was started.")
    started_by: str = Field(description="The person; empty: nobody had signed in.")
    ended_at: datetime | None = Field(description="When it ended; null: it has not.")
    per: str | None = Field(description="What one record is of; null of a recipe.")
    blocks: int = Field(description="Tasks in all.")
    limit: int | None = Field(description="Tasks that it goes no further than, for now.")
    tasks: dict[str, int] = Field(description="Tasks by state.", examples=[{"done": 97}])
    done: int = Field(description="Tasks with a result.")
    failed: int = Field(description="Tasks that were given up.")
    packs: int = Field(description="Calls that carry tasks.")
    mean_tasks_per_pack: float = Field(description="Tasks in one, on average.")
    splits: int = Field(description="How often tasks went again in smaller packs.")
    in_flight: int = Field(description="Calls that are out.")
    cut_off: int = Field(description="Calls whose worker died: nobody knows their fate yet.")
    batches: int = Field(description="Batches that providers have.")
    next_poll_at: datetime | None = Field(description="When a batch is looked at next.")
    calls: int = Field(description="Answered calls.")
    resent: int = Field(description="Calls that went again because they were lost.")
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float
    presumed_usd: float
    reused: int
    saved_usd: float
    money: MoneyShape | None = Field(description="What bounds its spending; null: nothing.")
    cancelling: bool
    holds: list[HoldShape] = Field(description="Why it does not go on.")
    why: list[str] = Field(description="Why nothing moves just now, in words.")


class WholeRunShape(RunShape):
    """The same, with answers that are not whole."""

    incomplete: dict[str, int] = Field(
        description="Results of a recipe that are not whole, by stage."
    )


class TimeLeftShape(AnswerShape):
    """How long a run still takes: about, or until providers end its batches at the latest."""

    seconds: float | None = Field(description="Null: nobody can tell.")
    batches: int = Field(description="Batches that are waited for.")
    providers: list[str] = Field(description="Who has them.")
    unknown: str | None = Field(description="Why nobody can tell.", examples=["no_worker"])


class TimedRunShape(WholeRunShape):
    """How a run stands, and how long it still takes."""

    time_left: TimeLeftShape | None = Field(description="Null: it owes nothing.")


class StartedRunShape(WholeRunShape):
    """The same, and whether the same order was given before."""

    goes_on: bool = Field(description="A run of the same order goes on.")


class CritiqueShape(AnswerShape):
    """What a critic said of an answer that was refused."""

    stage: str = Field(description="The critic's stage.")
    data: Data = Field(description="Its record; the fields are those of its own schema.")


class FailureShape(AnswerShape):
    """A failed task; of a recipe, with what it reads and who was asked."""

    task_id: int
    block_uid: str | None
    title: str
    tries: int
    error: str = Field(description="What went wrong.")
    source: str = Field(description="The file it comes from.")
    block_index: int | None
    part: str | None
    refused: Data = Field(description="What it was last answered; the fields are its schema's.")
    critique: CritiqueShape | None = Field(description="Why a critic refused that.")
    model_no: int = Field(0, description="Which of the run's models was asked, from 0.")
    sample: int = Field(0, description="Which of several answers, from 0.")
    reads: int | None = Field(None, description="The first task whose result it reads.")
    error_kind: str | None = Field(None, description="The kind of error.")
    error_stage: str | None = Field(None, description="The critic, or the stage of what blocks.")
    error_task: int | None = Field(None, description="The task that blocks it.")
    about: str = Field("", description="What it is about, in words.")


class FailureGroupShape(AnswerShape):
    """Failures of one cause."""

    stage: str = Field("", description="Of a recipe.")
    cause: str = Field(description="What went wrong, in words.")
    count: int = Field(description="How many tasks.")
    failures: list[FailureShape] = Field(description="The tasks.")


class FailuresShape(AnswerShape):
    """Why tasks of a run failed, the commonest cause of a stage first."""

    items: list[FailureGroupShape]
    next: str | None = None


class SourcedValueShape(AnswerShape):
    """A setting with where it comes from."""

    value: SettingValue = Field(description="Of the type that the setting has.")
    source: str = Field(description="Who said it.", examples=["built-in"])


class RunPolicyShape(AnswerShape):
    """What a run was told, each value with its source."""

    policy: dict[str, SourcedValueShape] = Field(
        description="Every setting.", examples=[{"pack_size": {"value": 10, "source": "flag"}}]
    )
    stage_policies: dict[str, dict[str, SettingValue]] = Field(
        description="What stages are told instead, by their names.",
        examples=[{"score_gen": {"pack_size": 1}}],
    )
