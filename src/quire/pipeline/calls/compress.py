"""Compress: prompts too large for their model are taken aside, shortened, and packed after all.

Ranking passages takes seconds, so it happens between two transactions: a worker takes tasks by
compare-and-set, computes, and stores what came of it. A worker that dies in between has its tasks
released with its lease; who was slow finds that they are no longer its own, and drops what it made.
What is stored is what bodies are rendered from ever after, so that they come out the same however
a later version ranks.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import orjson

from quire.domain.embeddings import LOCAL, RANKERS, WORDS
from quire.domain.errors import PromptTooLong, TemplateFailed
from quire.domain.extracts import CompressedText, NewExtract, Ranker, ShownText
from quire.domain.gates import NoteKind, ReadingNote
from quire.domain.ids import LaneId, RunId, TaskId, WorkerId
from quire.domain.reasons import TaskError, TaskErrorKind
from quire.domain.requests import Turn
from quire.domain.states import TaskMove, TaskState
from quire.ledger.ledger import Transaction
from quire.ledger.tables.results import AcceptedAnswer
from quire.ledger.tables.tasks import TaskNote
from quire.pipeline.calls.open_lanes import open_lanes
from quire.pipeline.calls.reading_limits import readable_at_once
from quire.pipeline.calls.render import load_materials, render_material
from quire.pipeline.contexts import NOTHING_LEARNT, Contexts, LaneContext, Sizes
from quire.planning.compressible_parts import (
    asked_words,
    compressible_texts,
    with_extracts,
    without_texts,
)
from quire.planning.compression import Compression, Extractor, compress, prompt_hash, text_hash
from quire.planning.embedding_groups import embedder_version
from quire.planning.history import shorten_turns, turn_bytes, turn_texts
from quire.planning.prompt_fitting import PromptRoom, lone_prompt_room
from quire.planning.prompt_variables import Material
from quire.planning.rare_words import RareWordRanker
from quire.planning.rendering import FRAMING_BYTES, item_bytes
from quire.planning.sizing import (
    LONGEST_PROMPT,
    UNKNOWN_SIZE,
    output_estimates,
    prompt_room,
    prompt_tokens,
)
from quire.planning.vector_ranking import VectorRanker

MOST_TAKEN = 16  # tasks that a worker takes at once; each may hold megabytes
MOST_EMBEDDED = 4  # the same where embeddings are needed, which are larger than the text
MOST_QUEUED = 64  # calls for embeddings that wait, above which nothing more is taken

UNRENDERABLE = 4 * LONGEST_PROMPT  # bytes that stand for a prompt that is longer, at least

DENSITY_MARGIN = 1.05  # tokens to a byte that an extract may have beyond those of the whole

CountTokens = Callable[[str], int]  # as the model would


def prompt_room_of(context: LaneContext, known: Sizes, json_bytes: int) -> PromptRoom:
    """How large the prompt of a task may be that is asked alone."""
    facts = context.facts
    shape, learned = context.output_shape, known.learned
    (estimate,) = output_estimates(shape, [json_bytes], learned, facts.max_output)
    return lone_prompt_room(facts, context.stage, estimate, known.per_byte)


def prompt_bytes(context: LaneContext, content: str, json_bytes: int, reasons: str) -> int:
    """Bytes of all that is sent about a task alone."""
    if context.stage.schema is None:
        return len(context.prefix.system.encode()) + len(content.encode())
    asked = FRAMING_BYTES + item_bytes(json_bytes) + len(reasons.encode())
    return context.prefix_bytes + asked


class Ranking(NamedTuple):
    """Who says which passages matter to a prompt."""

    name: str  # auto, local, words, or a model of embeddings
    version: str
    lane: LaneId | None = None  # of that model's calls
    instead: bool = False  # by words, because whoever was to rank could not


class OversizedTask(NamedTuple):
    """A task whose prompt may not fit, with all that compressing it needs."""

    task_id: TaskId
    context: LaneContext
    material: Material
    texts: list[ShownText]
    prompt: str  # what passages are ranked by
    known: Mapping[tuple[bytes, int], str]  # extracts that were made before
    turns: tuple[Turn, ...]  # what was said before
    sizes: Sizes
    ranking: Ranking

    def measure(self, extracts: Mapping[bytes, str]) -> int:
        """Bytes of all that is sent, with these extracts; a prompt that breaks is none."""
        try:
            content = self._content(extracts)
        except PromptTooLong:
            shown = (extracts.get(text_hash(text.text), text.text) for text in self.texts)
            return max(UNRENDERABLE, sum(len(text.encode()) for text in shown))
        except TemplateFailed:
            return UNKNOWN_SIZE
        reasons, said = self.material.critique, shorten_turns(self.turns, extracts)
        size = prompt_bytes(self.context, content, len(orjson.dumps(content)), reasons)
        return size + turn_bytes(said)

    def room(self, count: CountTokens | None = None) -> PromptRoom:
        """How large it may be, by the model's own tokenizer where there is one.

        Never larger than whoever packs it allows, who would have it compressed again for ever.
        """
        try:
            content = self._content({})
        except PromptTooLong:
            content = "".join(shown.text for shown in self.texts)
        size = len(orjson.dumps(content))
        allowed = prompt_room_of(self.context, self.sizes, size)
        if count is None:
            return allowed
        per_byte = DENSITY_MARGIN * count(content) / max(1, len(content.encode()))
        counted = prompt_room_of(self.context, self.sizes._replace(per_byte=per_byte), size)
        most = min(counted.most, allowed.most)
        return PromptRoom(min(counted.fits, most), most)

    def _content(self, extracts: Mapping[bytes, str]) -> str:
        return render_material(self.context.stage_prompt, with_extracts(self.material, extracts))


class CompressedTask(NamedTuple):
    """What became of a task whose prompt was too large."""

    oversized: OversizedTask
    prompt: bytes  # fingerprint of what its extracts were made for
    compression: Compression
    most: int  # bytes above which it is known not to fit
    instead: bool = False  # by shared words, because who was to rank could not


def take_oversized(
    tx: Transaction,
    contexts: Contexts,
    worker: WorkerId,
    versions: Mapping[str, str],
    now: datetime,
    only: RunId | None = None,
) -> list[OversizedTask]:
    """Take some tasks whose prompts wait to be compressed; `versions` are of rankers, by name."""
    waiting = set(tx.extracts.stages_to_compress())
    if not waiting:
        return []
    tx.embeddings.end_embedding_waits()  # whatever became of the calls for them
    taken: list[OversizedTask] = []
    for lane in open_lanes(tx, contexts, now, only):
        context = contexts.of_lane(tx, lane)
        left = MOST_TAKEN - len(taken)
        if not lane.serves or (context.stage_id, context.model_no) not in waiting or not left:
            continue
        ranking = _ranking_of(tx, context, versions)
        if ranking.lane is not None:
            if tx.requests.count_queued_in_lane(ranking.lane, MOST_QUEUED) == MOST_QUEUED:
                continue
            left = min(left, MOST_EMBEDDED)
        wanted = tx.extracts.tasks_to_compress(context.stage_id, context.model_no, left)
        found = readable_at_once(tx, wanted, spans=context.stage_prompt.shows_spans)
        mine = tx.extracts.take_compression(found, worker) if found else []
        sizes = contexts.sizes.get((context.stage_id, context.model_no), NOTHING_LEARNT)
        taken += [
            _oversized_task(tx, context, material, ranking, sizes)
            for material in (load_materials(tx, context, mine) if mine else [])
        ]
    return taken


def _ranking_of(tx: Transaction, context: LaneContext, versions: Mapping[str, str]) -> Ranking:
    """Who ranks for a stage; shared words where its model of embeddings was given up."""
    name = context.policy.embedder
    number = None if name in RANKERS else context.spec.model_number(name)
    if number is None:
        version = versions.get(name, versions[WORDS])
        return Ranking(name, version, instead=name == LOCAL and version == versions[WORDS])
    lane = tx.embeddings.embedding_lane(context.run_id, context.stage_id, name)
    if lane is None or lane.given_up:
        return Ranking(WORDS, versions[WORDS], instead=True)
    version = embedder_version(context.spec.models[number])
    return Ranking(name, RareWordRanker(VectorRanker(version, {})).version, lane.id)


def _oversized_task(
    tx: Transaction, context: LaneContext, material: Material, ranking: Ranking, sizes: Sizes
) -> OversizedTask:
    stage_prompt = context.stage_prompt
    turns = stage_prompt.history.turns(material) if stage_prompt.history else ()
    texts = [*compressible_texts(material, context.stage.relevance), *turn_texts(turns)]
    try:
        alone = render_material(stage_prompt, without_texts(material, texts))
    except TemplateFailed:  # it cannot do without: its fixed words will have to do
        alone = context.stage.prompt
    asked = asked_words(stage_prompt.stage, alone)
    known: dict[tuple[bytes, int], str] = {}
    for shown in texts:
        key = text_hash(shown.text)
        made = tx.extracts.extracts_of_text(key, prompt_hash(asked, ranking.version))
        known |= {(key, size): text for size, text in made.items()}
    head = (material.row.id, context, material, texts, asked, known, turns)
    return OversizedTask(*head, sizes, ranking)


def compress_task(
    oversized: OversizedTask, ranker: Ranker, count: CountTokens | None = None
) -> CompressedTask:
    """Shorten a prompt until it fits, as far as it can be done; nothing is read or written."""
    room = oversized.room(count)
    fits = room.fits if oversized.measure({}) < UNRENDERABLE else min(room.fits, LONGEST_PROMPT)
    extractor = Extractor(ranker, oversized.prompt, oversized.known)
    done = compress(oversized.texts, fits, oversized.measure, extractor)
    made_for = prompt_hash(oversized.prompt, ranker.version)
    return CompressedTask(oversized, made_for, done, room.most, oversized.ranking.instead)


def store_compressed(
    tx: Transaction, worker: WorkerId, done: Sequence[CompressedTask]
) -> list[TaskId]:
    """Keep what prompts were shortened to; what is known not to fit fails, unsent."""
    tasks = [item.oversized.task_id for item in done]
    mine = set(tx.extracts.end_compression(tasks, worker))
    hopeless: dict[TaskId, TaskError] = {}
    for item in done:
        task = item.oversized.task_id
        if task not in mine:  # others went on with it
            continue
        if item.compression.size > item.most:
            hopeless[task] = _too_large(item)
        else:
            for made in _new_extracts(item):
                tx.extracts.add_extract(item.prompt, made)
                tx.extracts.add_compression(task, item.prompt, made)
            tx.extracts.count_compression(task)
    tx.tasks.note_tasks([TaskNote(task, error=error) for task, error in hopeless.items()])
    tx.tasks.move_tasks(TaskMove.GIVE_UP, list(hopeless), [TaskState.READY])
    return sorted(mine)


def _too_large(item: CompressedTask) -> TaskError:
    facts, per_byte = item.oversized.context.facts, item.oversized.sizes.per_byte
    return TaskError(
        TaskErrorKind.TOO_LARGE,
        facts.name,
        tokens=prompt_tokens(item.compression.size, facts, per_byte),
        room=prompt_room(facts),
        compressed=len(item.compression.extracts),
        tokens_before=prompt_tokens(item.compression.before, facts, per_byte),
    )


def _new_extracts(item: CompressedTask) -> list[NewExtract]:
    facts, per_byte = item.oversized.context.facts, item.oversized.sizes.per_byte

    def tokens(text: str) -> int:
        return math.ceil(prompt_tokens(len(text.encode()), facts, per_byte))

    return [
        NewExtract(
            made.shown.name,
            key,
            made.size,
            made.text,
            tokens(made.shown.text),
            tokens(made.text),
            item.instead,
        )
        for key, made in item.compression.extracts.items()
    ]


def with_compression_notes(
    tx: Transaction, results: Sequence[AcceptedAnswer]
) -> list[AcceptedAnswer]:
    """Accepted answers, each with what was compressed of the prompt that it answers."""
    texts = tx.extracts.compressed_texts([result[0] for result in results])
    notes = {
        task: [note for shown in compressed for note in _notes(shown)]
        for task, compressed in texts.items()
    }
    return [
        (*result[:5], (*result[5], *notes[result[0]]), *result[6:])
        if result[0] in notes
        else result
        for result in results
    ]


def _notes(shown: CompressedText) -> Iterator[ReadingNote]:
    yield ReadingNote(NoteKind.COMPRESSED, shown.name, str(shown.tokens), str(shown.kept))
    if shown.instead:
        yield ReadingNote(NoteKind.RANKED_BY_WORDS, shown.name, "")
