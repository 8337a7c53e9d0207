"""The built-in recipe: one stage that asks a schema's fields of every block."""

from dataclasses import replace

from quire.domain.data import Json
from quire.domain.models import Params
from quire.domain.recipes import DEFAULT_INSTRUCTIONS, DEFAULT_PROMPT, Recipe, Schema, Stage


def extract(schema: Schema, params: Params) -> Recipe:
    """Make the recipe of a checked schema; what `params` chose wins over the schema's wishes."""
    config = schema.prompt_config
    wished = config.get("temperature")
    if params.temperature is None and isinstance(wished, (int, float)):
        params = replace(params, temperature=float(wished))
    effort = config.get("effort")
    if params.effort is None and isinstance(effort, str):
        params = replace(params, effort=effort)
    stage = Stage(
        name="extract",
        about="each_block",
        schema=schema,
        instructions=_text(config.get("system_instructions")) or DEFAULT_INSTRUCTIONS,
        prompt=_text(config.get("per_block_prompt")) or DEFAULT_PROMPT,
        params=params,
        max_tokens_per_block=_whole(config.get("max_tokens_per_block")),
        max_batch_size=_whole(config.get("max_batch_size")),
    )
    return Recipe(name="extract", stages=(stage,))


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _whole(value: Json) -> int | None:
    return value if isinstance(value, int) else None
