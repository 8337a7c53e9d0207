"""What a plan says, as JSON: a schema's in every way it could go, a recipe's stage by stage."""

from pydantic import Field

from quire.server.json_answers import AnswerShape


class VariantShape(AnswerShape):
    """One way in which a schema could be asked."""

    name: str = Field(description="What it is called.", examples=["packed"])
    requests: int = Field(description="Calls.")
    batched_requests: int = Field(description="Of them, those inside batches.")
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost_usd: float
    seconds: int | None = Field(description="About how long; null: nobody can tell.")


class RouteShape(AnswerShape):
    """How calls would travel."""

    lane: str = Field(description="direct, paced or batch.", examples=["direct"])
    why: str = Field(description="Why so.")
    problem: str = Field(description="What stands against what was asked for; empty: nothing.")


class CachingFormShape(AnswerShape):
    """One way of caching in batches."""

    name: str = Field(description="What it is called.")
    cost_usd: float
    taken: bool = Field(description="It would be done so.")
    remark: str = Field(description="Why not, or what to expect.")


class BatchCachingShape(AnswerShape):
    """What is done about caching in batches, and why."""

    marked: bool = Field(description="Prefixes are marked for the cache.")
    long_lived: bool = Field(description="In its long-lived form.")
    primer: bool = Field(description="One call goes ahead and writes it.")
    saving_usd: float = Field(description="Dollars that it saves.")
    why: str = Field(description="Why so.")
    hits: float = Field(description="The share of calls that are taken to read it.")
    forms: list[CachingFormShape] = Field(description="Every way, with its cost.")


class PlannedStageShape(AnswerShape):
    """What one stage of a recipe would take."""

    stage: str
    about: str = Field(description="What a task of it is about.")
    model: str
    tasks: int = Field(description="Tasks of it.")
    reused: bool = Field(description="Its results are taken from another run.")
    calls: int = Field(description="Calls.")
    input_tokens: int
    output_tokens: int
    low_usd: float
    cost_usd: float
    high_usd: float
    asked_tasks: int = Field(description="Tasks that are not answered already.")
    asked_calls: int = Field(description="Calls of those.")
    asked_cost_usd: float = Field(description="Dollars of those.")
    rough: bool
    largest_prompt_tokens: int = Field(description="The largest prompt that is expected.")
    room_tokens: int = Field(description="What a prompt may have.")
    fits: bool = Field(description="The largest prompt fits.")
    oversized: int
    compressed: int
    embeds: bool = Field(description="These are calls for embeddings, and owe no answers.")


class AnsweredShape(AnswerShape):
    """What need not be asked again."""

    blocks: int = Field(description="Tasks that are answered already.")
    saved_usd: float
    repeated: int = Field(description="Tasks that ask what another one of them asks.")
    stages: list[str] = Field(description="Stages that are answered already.")


class AskedShape(AnswerShape):
    """What is left to ask, and what that costs."""

    tasks: int = Field(description="Tasks.")
    calls: int = Field(description="Calls.")
    low_usd: float
    cost_usd: float
    high_usd: float
    least_budget_usd: float = Field(
        description="Dollars that one call about one task may cost: a smaller budget sends none."
    )
    variants: list[VariantShape] = Field(
        description="Every way in which what is left could go; of a recipe, and of nothing, none."
    )


class SchemaPlanShape(AnswerShape):
    """What a run of a schema would take."""

    model: str
    simulated: bool
    documents: int
    per: str = Field(description="What one record is of.", examples=["block"])
    blocks: int = Field(description="Tasks: one for each block, document, section or page.")
    oversized: int
    compressed: int
    blocks_per_call: int = Field(description="Tasks that share a call, at most.")
    variants: list[VariantShape] = Field(description="Every way in which it could go.")
    cacheable_tokens: int = Field(description="Of the prefix that all calls share.")
    learnt: bool = Field(description="Earlier runs taught what answers take.")
    route: RouteShape
    batch_from: int | None = Field(description="Calls from which batches would pay.")
    batch_caching: BatchCachingShape | None = Field(description="Null: no batches.")
    expected: str = Field(description="The name of the way that is taken.")
    low_usd: float
    expected_usd: float = Field(description="Dollars, expected.")
    high_usd: float
    recommended: str = Field(description="The name of the cheapest way.")
    saving_percent: float = Field(description="Of that, against one task a call.")
    answered: AnsweredShape = Field(description="What need not be asked again.")
    asked: AskedShape = Field(description="What is left to ask.")


class RecipePlanShape(AnswerShape):
    """What a run of a recipe would take."""

    recipe: str
    model: str
    simulated: bool
    documents: int
    blocks: int = Field(description="Blocks of the documents.")
    tasks: int = Field(description="Tasks of all stages.")
    calls: int = Field(description="Calls of all stages.")
    low_usd: float
    cost_usd: float
    high_usd: float
    rough: bool
    learnt_from: int | None = Field(description="The run of the recipe that it was put right by.")
    stages: list[PlannedStageShape] = Field(description="Stage by stage.")
    answered: AnsweredShape = Field(description="What need not be asked again.")
    asked: AskedShape = Field(description="What is left to ask.")


PlanShape = SchemaPlanShape | RecipePlanShape
