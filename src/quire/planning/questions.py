"""Questions: what a task asks, as a fingerprint, whatever pack or name it travels under.

Two tasks ask the same if their fingerprints are equal: a first half for what the stage says (its
system text and schema, its prompt, the model, the parameters), a second for the content as it is
sent. Gates are in neither, for a stored answer is judged by the gates of whoever takes it; nor is a
block's place in its document, nor the limit of output, unless the stage states one.

Samples are drawn to differ, so that the number of the sample is part of the question, and with it
the name of the recipe and the seed: the same experiment finds its own samples again, and no other.

The ledger finds questions by numbers, which are the beginnings of these halves; a block's content
has a smaller one, its first block's key. Numbers may collide, and only fingerprints decide.
"""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

import orjson

from quire.domain.ids import fingerprint
from quire.domain.models import Params
from quire.domain.recipes import Recipe, Stage
from quire.domain.requests import Turn
from quire.planning.rendering import RENDER_VERSION, params_text

if TYPE_CHECKING:
    from hashlib import _Hash

HALF = 16  # bytes of each half


def stage_question(prefix_hash: bytes, prompt: str, model: str, params: Params) -> bytes:
    """Fingerprint the part of the question that all tasks of a stage share."""
    return fingerprint(prefix_hash, prompt, model, params_text(params), RENDER_VERSION)


def block_content(block_type: str, content: str) -> bytes:
    """Fingerprint what is asked about where that is a block as it stands."""
    data = content.encode()
    digest = _begin_content(block_type).copy()
    digest.update(len(data).to_bytes(8, "big") + data)
    return digest.digest()[:HALF]


@lru_cache(maxsize=64)
def _begin_content(block_type: str) -> "_Hash":
    """What `fingerprint` digests before the content: every block of a document goes through it."""
    data = block_type.encode()
    return sha256(len(data).to_bytes(8, "big") + data)


def rendered_content(
    kind: str, content: str, turns: Sequence[Turn] = (), drawn: bytes = b"", sample: int = 0
) -> bytes:
    """Fingerprint what is asked about, as it was put into words."""
    if not turns and not drawn:
        return block_content(kind, content)
    said = orjson.dumps([*map(list, turns)])
    return fingerprint(kind, content, said, drawn, sample)


def drawn_by(recipe: Recipe, stage: Stage) -> bytes:
    """Name the experiment that a stage's tasks belong to, if they come from samples; else empty."""
    stages = {item.name: item for item in recipe.stages}
    above, more = {stage.name}, {stage.name}
    while more:
        read = {name for item in more for name in (*stages[item].upstream, stages[item].of)}
        more = {name for name in read if name in stages} - above
        above |= more
    drawing = [stages[name] for name in sorted(above)]
    drawing = [item for item in drawing if item.is_sampled or "seed" in item.settings]
    if not drawing:
        return b""
    seeds = sorted({str(item.settings.get("seed", "")) for item in drawing})
    return fingerprint("drawn", recipe.name, *seeds)
