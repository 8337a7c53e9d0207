"""The seeds' exit criteria: two schemas at 1, 10 and 25 blocks per call, field by field."""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from quire.domain.data import Json
from quire.domain.models import Params, Usage
from quire.domain.policy import Policy
from quire.domain.pricing import price_call
from quire.domain.runs import Progress
from quire.engine import Engine, open_engine
from quire.planning.job_forecasts import break_even
from quire.planning.sizing import largest_pack
from quire.providers.catalog import find_model
from quire.recipes.user_schemas import extraction_recipe, read_schema

FIXTURES = Path(__file__).parents[1] / "tests" / "fixtures" / "exit_criteria"
MODEL = "simulated/large"
SCHEMAS = ("extract", "revise")
COUNTS = (29, 200)
PACKS = (1, 10, 25)
GROWTHS = (0.0, 0.28)  # how much longer packed answers are: the original's were, by 18 to 28 %

Fields = list[dict[str, Json]]  # for each block, its leaves by their paths


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One schema over one corpus, with packed answers so much longer."""

    schema: str
    blocks: int
    growth: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one run took, and what it found."""

    per_call: int
    progress: Progress
    fields: Fields

    def saving(self, single: "Measured") -> float:
        """Percent of the cost of one per call."""
        return 100 * (1 - self.progress.cost_pico / single.progress.cost_pico)

    def pays_until(self, single: "Measured") -> float:
        """How many percent longer its answers could be before it costs as much as one per call."""
        answers = price_call(find_model(MODEL), Usage(output=self.progress.output_tokens))
        return 100 * (single.progress.cost_pico - self.progress.cost_pico) / answers

    def mismatches(self, single: "Measured") -> int:
        """Count the fields whose values differ, and those that only one of the two has."""
        pairs = zip(self.fields, single.fields, strict=True)
        missing = object()
        return sum(
            mine.get(path, missing) != theirs.get(path, missing)
            for mine, theirs in pairs
            for path in mine.keys() | theirs.keys()
        )


def corpus(folder: Path, count: int) -> list[Path]:
    """Write the fixture's 29 blocks as often as needed; in every copy each block has a number."""
    whole = (FIXTURES / "document.md").read_text()
    parts = whole.strip().split("\n\n")
    paths: list[Path] = []
    for copy, start in enumerate(range(0, count, len(parts))):
        chosen = parts[: count - start]
        if copy:
            chosen = [_number_block(part, start + place) for place, part in enumerate(chosen, 1)]
        paths.append(folder / f"copy{copy}.md")
        paths[-1].write_text("\n\n".join(chosen) + "\n")
    return paths


def _number_block(part: str, number: int) -> str:
    """Number a block at its beginning, where an answer for the wrong copy is seen at once."""
    marks = part[: len(part) - len(part.lstrip("# "))]
    return f"{marks}Number {number}. {part[len(marks) :]}"


def measure(case: Case, per_call: int) -> Measured:
    """Ingest and run to the end on a ledger of its own: nothing can be taken from another run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        faults = f"longer={case.growth}" if case.growth else ""
        with open_engine(str(folder / "quire.db"), faults=faults) as engine:
            ingested = engine.ingest(*corpus(folder, case.blocks))
            assert sum(document.blocks for document in ingested.documents) == case.blocks
            run = engine.run(
                schema=str(FIXTURES / f"{case.schema}.json"), model=MODEL, pack_size=per_call
            )
            progress = run.wait()
            assert progress.done == case.blocks, progress
            rows = run.rows()
            columns = engine.queries.sample(run.id, "all", 1).fields
    fields = [dict(_leaves({name: row[name] for name in columns})) for row in rows]
    return Measured(per_call=per_call, progress=progress, fields=fields)


def _leaves(value: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    """Every value with its path: an object counts by its fields, an array by its items."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _leaves(inner, f"{path}/{name}")
    elif isinstance(value, list) and value:
        for place, inner in enumerate(value):
            yield from _leaves(inner, f"{path}/{place}")
    else:
        yield path, value


def planned_break_even(case: Case) -> int | None:
    """The smallest pack that the plan says is cheaper than one per call."""
    schema = read_schema((FIXTURES / f"{case.schema}.json").read_bytes(), case.schema)
    stage = extraction_recipe(schema, Params()).stages[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with open_engine(str(folder / "quire.db")) as engine:
            engine.ingest(*corpus(folder, case.blocks))
            sizes = _sizes(engine)
    return break_even(stage, find_model(MODEL), Policy(), sizes, 1 + case.growth)


def _sizes(engine: Engine) -> list[int]:
    with engine.ledger.snapshot() as tx:
        return list(
            tx.documents.block_sizes([document.id for document in tx.documents.list_documents()])
        )


def measured_break_even(case: Case, single: Measured) -> int | None:
    """The smallest pack that really was cheaper than one per call."""
    schema = read_schema((FIXTURES / f"{case.schema}.json").read_bytes(), case.schema)
    largest = largest_pack(extraction_recipe(schema, Params()).stages[0])
    sizes = range(2, largest + 1)
    cheaper = (
        size for size in sizes if measure(case, size).progress.cost_pico < single.progress.cost_pico
    )
    return next(cheaper, None)


def violations(case: Case, results: Sequence[Measured]) -> list[str]:
    """What a table of one case must not show; the first result is one per call."""
    single = results[0]
    lines: list[str] = []
    for result in results:
        found = result.progress
        name = f"{case.schema}, {case.blocks} blocks, {result.per_call} per call"
        if result.mismatches(single):
            lines.append(f"{name}: {result.mismatches(single)} mismatches")
        if found.splits:
            lines.append(f"{name}: {found.splits} splits")
        if result is not single and found.cost_pico >= single.progress.cost_pico:
            lines.append(f"{name}: not cheaper than one per call")
        fewest = -(-case.blocks // result.per_call)
        if case.schema == "extract" and found.calls != fewest:
            lines.append(f"{name}: {found.calls} calls, not {fewest}")
    return lines


def line(case: Case, sample: Measured, single: Measured) -> str:
    """One row of the table."""
    found = sample.progress
    return (
        f"| {case.schema} | {case.growth:.0%} | {case.blocks} | {sample.per_call} | {found.calls} "
        f"| {found.input_tokens:,} | {found.output_tokens:,} | {found.cost_usd:.4f} "
        f"| {sample.saving(single):.1f} % | {sample.mismatches(single)} | {found.splits} |"
    )


def main() -> int:
    """Print the table and the break-evens; 1 if a criterion is not met."""
    lines: list[str] = []
    evens: list[str] = []
    print(
        "| schema | longer | blocks | per call | calls | input tokens | output tokens | $ | saving"
        " | mismatches | splits |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    cases = [
        Case(schema=schema, blocks=count, growth=growth)
        for schema in SCHEMAS
        for growth in GROWTHS
        for count in COUNTS
    ]
    for case in cases:
        results = [measure(case, per_call) for per_call in PACKS]
        for result in results:
            print(line(case, result, results[0]), flush=True)
        lines += violations(case, results)
        planned, real = planned_break_even(case), measured_break_even(case, results[0])
        evens.append(
            f"| {case.schema} | {case.growth:.0%} | {case.blocks} | {planned} | {real} "
            f"| {results[-1].pays_until(results[0]):.0f} % |"
        )
        if planned is None or real is None:
            lines.append(f"{case.schema}, {case.blocks} blocks: packing never pays")
    print(
        "\n| schema | longer | blocks | planned break-even | measured break-even"
        f" | {PACKS[-1]} per call still pays when answers grow by another |"
    )
    print("|---|---|---|---|---|---|", *evens, sep="\n")
    print("", *(lines or ["Every criterion is met."]), sep="\n")
    return min(len(lines), 1)


if __name__ == "__main__":
    sys.exit(main())
