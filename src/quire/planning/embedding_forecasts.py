"""Embedding forecasts: what ranking the passages of prompts that are too large will cost."""

import math
from collections.abc import Sequence

from quire.domain.embeddings import EmbeddingRules
from quire.domain.models import ModelFacts
from quire.planning.prompt_fitting import prompt_room_of
from quire.planning.rendering import prefix_bytes, render_prefix
from quire.planning.sizing import FORECAST_BYTES, limit_to_stage
from quire.planning.stage_forecasts import StageForecast, StageWork

PASSAGE_BYTES = 200  # of a typical passage


def forecast_embeddings(
    works: Sequence[StageWork], embedder: ModelFacts, rules: EmbeddingRules
) -> StageForecast | None:
    """Forecast the embeddings of one stage, whichever models it asks; None where all prompts fit.

    A text is embedded once, however many tasks and models read it: what the model with the
    smallest window needs is all that is needed.
    """
    found = [texts for work in works if (texts := _compressed_texts(work))]
    if not found:
        return None
    texts, first = max(found, key=sum), works[0]
    asked = math.ceil(first.fixed or 0.0)
    tokens = math.ceil((sum(texts) + asked) / FORECAST_BYTES * embedder.token_factor)
    passages = [math.ceil(text / PASSAGE_BYTES) for text in texts]
    return StageForecast(
        stage=first.stage.name,
        about=first.stage.about,
        model=embedder.name,
        tasks=0,
        calls=sum(math.ceil(count / rules.passages) for count in passages),
        input_tokens=tokens,
        output_tokens=0,
        cost=tokens * embedder.price.input,
        rough=first.rough and first.contents is None,
        largest=0,
        room=0,
        embeds=True,
    )


def _compressed_texts(work: StageWork) -> list[float]:
    """Bytes of what is shown in each prompt that has to be compressed."""
    if work.fixed is None:
        return []
    facts = limit_to_stage(work.facts, work.stage)
    room = prompt_room_of(work.stage, facts, prefix_bytes(render_prefix(work.stage)))
    if work.fixed > room.most:
        return []
    # where answers are among them, nobody knows of the single ones
    sizes = [work.content] * work.tasks if work.contents is None else list(work.contents)
    return [size - work.fixed for size in sizes if size > max(room.fits, work.fixed)]
