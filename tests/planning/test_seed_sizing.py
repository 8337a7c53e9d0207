"""Both sizing functions of the seeds, by hand, and ours beside them on the same numbers."""

from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import assume, given
from hypothesis import strategies as st

from quire.planning.packing import SizedTask, pack
from quire.planning.sizing import Budget


class Block(NamedTuple):
    uid: str
    type: str
    content: str


class Model(NamedTuple):
    window: int
    max_output: int


SONNET = Model(200_000, 16_384)
HAIKU = Model(200_000, 8_192)
SAFETY_MARGIN = 2_000


def available_input(window: int, reserve: int, tool: int, system: int, prompt: int) -> int:
    """Seed 001 as shipped: what the blocks of one call may take."""
    return max(512, window - reserve - tool - system - prompt)


def block_cost(block: Block) -> int:
    """Seed 001 as shipped: input tokens of one block."""
    return -(-len(f"{block.uid}\n{block.type}\n{block.content}\n") // 4) + 16


def shipped_packs(
    costs: Sequence[int], cap: int, max_input: int, out: int, max_output: int
) -> list[list[int]]:
    """Seed 001 as shipped: greedy over input, with one output estimate for all."""
    packs: list[list[int]] = []
    current: list[int] = []
    taken = 0
    for index, cost in enumerate(costs):
        count = len(current) + 1
        if current and (count > cap or taken + cost > max_input or count * out > max_output):
            packs.append(current)
            current, taken = [], 0
        current.append(index)
        taken += cost
    return [*packs, current] if current else packs


class Average(NamedTuple):
    """What the protocol of seed 000 knows when it sizes packs."""

    system_chars: float
    prompt_chars: float
    block_chars: float
    fields: int
    revises: bool


def input_tokens(known: Average, chars: float) -> float:
    return (known.prompt_chars + chars + 100) / 4


def output_tokens(known: Average, chars: float) -> float:
    return chars / 4 + known.fields * 30 if known.revises else known.fields * 40


def averaged_pack_size(model: Model, known: Average, max_batch_size: int | None = None) -> int:
    """Seed 000: one pack size for the whole run, from the average block."""
    input_budget = model.window - model.max_output - known.system_chars / 4 - SAFETY_MARGIN
    output_budget = model.max_output - SAFETY_MARGIN
    size = min(
        int(input_budget // input_tokens(known, known.block_chars)),
        int(output_budget // output_tokens(known, known.block_chars)),
        20,
    )
    return max(1, min(size, max_batch_size or size))


def test_the_shipped_function_costs_a_block_as_by_hand() -> None:
    # 2 + 1 + 9 + 1 + 400 + 1 = 414 characters: 104 tokens, and 16 around them.
    assert block_cost(Block("u1", "paragraph", "x" * 400)) == 120


def test_the_shipped_function_leaves_input_as_by_hand() -> None:
    assert available_input(200_000, 20_000, 2_000, 1_000, 50) == 176_950


def test_the_shipped_function_leaves_at_least_512() -> None:
    assert available_input(20_000, 15_000, 2_000, 2_500, 100) == 512


def test_the_shipped_function_closes_packs_by_input_as_by_hand() -> None:
    # 4 × 120 = 480 fits 512, a fifth does not.
    assert [len(p) for p in shipped_packs([120] * 10, 10, 512, 250, 8_192)] == [4, 4, 2]


def test_the_shipped_function_closes_packs_by_output_as_by_hand() -> None:
    # 2 × 900 = 1,800 fits 2,000, a third does not.
    assert [len(p) for p in shipped_packs([120] * 5, 10, 10_000, 900, 2_000)] == [2, 2, 1]


def test_the_shipped_function_closes_packs_by_count_as_by_hand() -> None:
    assert [len(p) for p in shipped_packs([120] * 25, 10, 10_000, 250, 8_192)] == [10, 10, 5]


def test_the_averaging_function_is_capped_at_20_as_by_hand() -> None:
    # Input (200,000 − 16,384 − 2,000 − 2,000) ÷ 450 = 399; output 14,384 ÷ 320 = 44; cap 20.
    assert averaged_pack_size(SONNET, Average(8_000, 400, 1_300, 8, False)) == 20


def test_the_averaging_function_sizes_revisions_by_output_as_by_hand() -> None:
    # 1,300 ÷ 4 + 8 × 30 = 565; 6,192 ÷ 565 = 10.96.
    assert averaged_pack_size(HAIKU, Average(8_000, 400, 1_300, 8, True)) == 10


def test_the_averaging_function_obeys_the_schema_as_by_hand() -> None:
    assert averaged_pack_size(HAIKU, Average(8_000, 400, 1_300, 8, True), 4) == 4


def test_the_averaging_function_never_goes_below_one() -> None:
    assert averaged_pack_size(HAIKU, Average(8_000, 400, 4_000_000, 8, True)) == 1


def fits(sizes: Sequence[SizedTask], budget: Budget) -> bool:
    return (
        len(sizes) <= budget.cap
        and sum(size.input for size in sizes) <= budget.input
        and sum(size.output for size in sizes) <= budget.output
    )


def test_the_averaging_function_passes_a_budget_that_ours_keeps() -> None:
    known = Average(0, 0, 2_500, 1, True)  # four blocks of 500, then two of 6,500
    sized = [
        SizedTask(n, 1, int(output_tokens(known, n))) for n in (500, 500, 500, 500, 6_500, 6_500)
    ]
    budget = Budget(input=100, output=3_000, cap=20)
    size = int(budget.output // output_tokens(known, 2_500))
    theirs = [sized[start : start + size] for start in range(0, len(sized), size)]

    ours = list(pack(sized, budget))

    assert not all(fits(their, budget) for their in theirs)
    assert all(fits(our, budget) for our in ours)


@given(
    costs=st.lists(st.integers(17, 400), max_size=60),
    cap=st.integers(1, 25),
    max_input=st.integers(400, 3_000),
    out=st.integers(1, 900),
    max_output=st.integers(900, 8_192),
)
def test_ours_needs_no_more_requests_than_the_shipped_function(
    costs: list[int], cap: int, max_input: int, out: int, max_output: int
) -> None:
    budget = Budget(input=max_input, output=max_output, cap=cap)
    sized = [SizedTask(index, cost, out) for index, cost in enumerate(costs)]
    theirs = shipped_packs(costs, cap, max_input, out, max_output)
    assert all(fits([sized[index] for index in their], budget) for their in theirs)

    ours = list(pack(sized, budget))

    assert len(ours) <= len(theirs)
    assert all(fits(our, budget) for our in ours)


@given(
    chars=st.lists(st.integers(0, 3_000), min_size=1, max_size=60),
    model=st.builds(Model, st.integers(30_000, 60_000), st.integers(6_000, 16_384)),
    fields=st.integers(1, 10),
    revises=st.booleans(),
)
def test_ours_needs_no_more_requests_than_the_averaging_function_where_its_packs_fit(
    chars: list[int], model: Model, fields: int, revises: bool
) -> None:
    known = Average(4_000, 200, sum(chars) / len(chars), fields, revises)
    size = averaged_pack_size(model, known)
    budget = Budget(
        input=model.window - model.max_output - 1_000 - SAFETY_MARGIN,
        output=model.max_output - SAFETY_MARGIN,
        cap=size,
    )
    sized = [
        SizedTask(index, -int(-input_tokens(known, n) // 1), -int(-output_tokens(known, n) // 1))
        for index, n in enumerate(chars)
    ]
    theirs = [sized[start : start + size] for start in range(0, len(sized), size)]
    assume(all(fits(their, budget) for their in theirs))

    ours = list(pack(sized, budget))

    assert len(ours) <= len(theirs)
    assert all(fits(our, budget) for our in ours)
