"""Schema drafts: a model proposes a schema from a wish and a sample of blocks; a person decides.

The wish and the sample are a document of their own, put aside, and asking for the draft is an
ordinary run of one block: paid for once, priced, bounded by what it may cost, found again in the
ledger. What breaks the rules for schemas is asked once more, with the mistakes. Nothing is kept.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

from quire.domain.data import Json
from quire.domain.documents import Block, BlockType, ParsedDocument
from quire.domain.errors import CostAboveLimit, Mistake, NotFound, SchemaInvalid, UsageError
from quire.domain.ids import DocumentId, RunId, conv_uid, source_uid
from quire.domain.pricing import to_usd
from quire.engine.engine import Engine
from quire.engine.wallets import Dollars
from quire.recipes.draft_fields import draft_request_schema, proposal_mistakes, write_schema
from quire.recipes.user_schemas import load_schema

SOURCE = "draft"  # where such a document comes from
TOOL, REPRESENTATION = "quire schema draft", "text"
LONGEST_WISH = 2_000
MOST_DOCUMENTS, BLOCKS_LOOKED_AT = 8, 60  # of which a sample is taken; of each document
MOST_CHARACTERS, LONGEST_BLOCK, SHORTEST_BLOCK = 12_000, 1_200, 30  # of a sample


class DraftFunds(NamedTuple):
    """What a draft may cost, and who pays."""

    max_cost_usd: float | None = None
    wallet: str | None = None
    budget_usd: Dollars | None = None
    person: str = ""  # whose keys are used first

    def less(self, cost: int) -> "DraftFunds":
        """What is left of it after a call that cost so many picodollars."""
        if self.max_cost_usd is None:
            return self
        return self._replace(max_cost_usd=max(0.0, self.max_cost_usd - to_usd(cost)))


UNBOUND = DraftFunds()


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaDraft:
    """A proposal, which nobody has kept."""

    body: dict[str, Json]
    mistakes: tuple[Mistake, ...]  # that are left; none: it can be kept as it is
    cost: int  # picodollars
    model: str
    simulated: bool
    blocks: int  # that the model was shown
    runs: tuple[RunId, ...]

    def as_json(self) -> dict[str, object]:
        """All of it, for programs."""
        return {
            "schema": self.body,
            "problems": [str(mistake) for mistake in self.mistakes],
            "cost_usd": to_usd(self.cost),
            "cost_pico": self.cost,
            "model": self.model,
            "simulated": self.simulated,
            "blocks": self.blocks,
            "runs": [*self.runs],
        }


def draft_schema(
    engine: Engine,
    wish: str,
    model: str | None = None,
    over: Iterable[DocumentId] | None = None,
    funds: DraftFunds = UNBOUND,
) -> SchemaDraft:
    """Ask a model for a schema; the same wish about the same blocks is not paid for twice."""
    wish = " ".join(wish.split())
    if not 0 < len(wish) <= LONGEST_WISH:
        raise UsageError(
            f"say what you want to know in 1 to {LONGEST_WISH:,} characters",
            'for example "party, amount and due date of every obligation"',
        )
    samples = _read_samples(engine, over)
    text = "\n\n".join([f"Wanted: {wish}", *_sample_lines(samples)])
    draft = _ask(engine, wish, text, model, funds)
    if draft.mistakes:
        written = json.dumps(draft.body, ensure_ascii=False)
        lines = "\n".join(f"- {mistake}" for mistake in draft.mistakes)
        again = f"{text}\n\nA draft that does not do:\n{written}\n\nIts mistakes:\n{lines}"
        with suppress(CostAboveLimit):  # then the first one is what there is, with its mistakes
            better = _ask(engine, wish, again, model, funds.less(draft.cost))
            cost, runs = draft.cost + better.cost, (*draft.runs, *better.runs)
            draft = replace(better, cost=cost, runs=runs)
    return replace(draft, blocks=len(samples))


def _ask(engine: Engine, wish: str, text: str, model: str | None, funds: DraftFunds) -> SchemaDraft:
    """One run about one block; what it holds is kept whatever becomes of it."""
    document = engine.add_parsed([_document(wish, text)])[0]
    schema, over = draft_request_schema(), [document]
    order = engine.orders.resolve(schema=schema, model=model, over=over, policy={})
    order = engine.orders.with_funds(order, funds.wallet, funds.budget_usd)
    run = engine.start(replace(order, person=funds.person), funds.max_cost_usd)
    now = run.wait()
    answers = [row for row in run.rows() if row["status"] in ("accepted", "confirmed")]
    if not answers:
        raise UsageError(
            f"the model drafted nothing that could be used: run {run.id} tells why",
            f"`quire failures {run.id}`, or try another model",
        )
    drafted = {name: answers[0][name] for name in ("title", "instructions", "fields")}
    body = write_schema(drafted)
    facts = engine.queries.head(run.id).model
    return SchemaDraft(
        body=body,
        mistakes=(*proposal_mistakes(drafted), *_contract_mistakes(body)),
        cost=now.cost_pico,
        model=facts.name,
        simulated=facts.provider == "simulated",
        blocks=0,
        runs=(run.id,),
    )


def _contract_mistakes(body: dict[str, Json]) -> tuple[Mistake, ...]:
    try:
        load_schema(body, name="the draft")
    except SchemaInvalid as error:
        return error.mistakes
    return ()


def _document(wish: str, text: str) -> ParsedDocument:
    raw = text.encode()
    return ParsedDocument(
        source_uid=source_uid(SOURCE, raw),
        source_type=SOURCE,
        source_filesize=len(raw),
        source_total_characters=len(text),
        source_locator=SOURCE,
        title=f"draft: {wish[:80]}",
        conv_uid=conv_uid(TOOL, REPRESENTATION, raw),
        parsing_tool=TOOL,
        representation_type=REPRESENTATION,
        blocks=[Block(0, BlockType.OTHER, text, {"type": SOURCE})],
    )


def _read_samples(engine: Engine, over: Iterable[DocumentId] | None) -> list[str]:
    """Some blocks of some documents, all over them, cut where they are long."""
    with engine.ledger.snapshot() as tx:
        known = tx.documents.usual_documents() if over is None else set(over)
        documents = tx.documents.documents_by_id(sorted(known))
        if missing := sorted(known - documents.keys()):
            raise NotFound(f"there is no document {missing[0]}; `quire documents` lists them")
        chosen = _spread(sorted(documents), MOST_DOCUMENTS)
        share = MOST_CHARACTERS // max(1, len(chosen))
        return [
            text
            for number in chosen
            for text in _fitting(tx.documents.copy_document(documents[number]).blocks, share)
        ]


def _fitting(blocks: Iterable[Block], room: int) -> Iterator[str]:
    """Blocks that say something, from the beginning, as many as there is room for."""
    for block in islice(blocks, BLOCKS_LOOKED_AT):
        text = block.content.strip()[:LONGEST_BLOCK]
        if len(text) < SHORTEST_BLOCK:
            continue
        if len(text) > room:
            return
        room -= len(text)
        yield text


def _spread(documents: Sequence[DocumentId], most: int) -> list[DocumentId]:
    """As many as that, evenly over all of them."""
    if len(documents) <= most:
        return [*documents]
    return [documents[place * len(documents) // most] for place in range(most)]


def _sample_lines(samples: Sequence[str]) -> Iterator[str]:
    for number, text in enumerate(samples, 1):
        yield f"Block {number}:\n{text}"
