"""A sample is spread over all documents, drawn by its seed, and comes out the same every time."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.policy import Policy
from quire.planning.pack_probe import DocumentBlocks, blocks_to_draw, draw_blocks, largest_content
from quire.planning.packing import SizedTask, pack
from quire.planning.rendering import item_bytes, prefix_bytes, render_prefix
from quire.planning.sizing import (
    bound_tokens,
    call_budget,
    output_estimate,
    output_shape,
    reserved_output,
)
from tests.planning.examples import REVISION, TEXT, make_facts, make_stage


def test_every_document_gives_what_its_length_deserves() -> None:
    documents = [
        DocumentBlocks("long", 300),
        DocumentBlocks("middle", 100),
        DocumentBlocks("short", 100),
    ]

    for seed in range(20):
        assert blocks_to_draw(documents, 50, seed) == {"long": 30, "middle": 10, "short": 10}


def test_where_there_are_more_documents_than_picks_every_seed_takes_others() -> None:
    documents = [DocumentBlocks(f"d{number}", 1) for number in range(100)]

    taken = [
        frozenset(u for u, n in blocks_to_draw(documents, 10, seed).items() if n)
        for seed in range(9)
    ]

    assert {len(item) for item in taken} == {10}
    assert len({*taken}) == 9


def test_all_are_taken_where_there_are_no_more() -> None:
    documents = [DocumentBlocks("a", 3), DocumentBlocks("b", 4), DocumentBlocks("none", 0)]

    assert (
        blocks_to_draw(documents, 7, 0)
        == blocks_to_draw(documents, 50, 1)
        == {"a": 3, "b": 4, "none": 0}
    )


@given(
    lengths=st.lists(st.integers(min_value=0, max_value=400), min_size=1, max_size=30),
    wanted=st.integers(min_value=1, max_value=300),
    seed=st.integers(),
)
def test_shares_are_exact_to_the_next_whole_number(
    lengths: list[int], wanted: int, seed: int
) -> None:
    documents = [DocumentBlocks(str(number), length) for number, length in enumerate(lengths)]
    total = sum(lengths)

    found = blocks_to_draw(documents, wanted, seed)

    assert sum(found.values()) == min(wanted, total)
    for document in documents:
        assert 0 <= found[document.uid] <= document.blocks
        if total > wanted:
            assert abs(found[document.uid] - wanted * document.blocks / total) < 1


def test_blocks_are_drawn_in_order_alike_for_a_seed_and_otherwise_for_another() -> None:
    blocks = [(index, 10) for index in range(100)]

    first = draw_blocks("doc", blocks, 10, 0)

    assert first == sorted(first) == draw_blocks("doc", reversed(blocks), 10, 0)
    assert len(first) == 10
    assert first != draw_blocks("doc", blocks, 10, 1)
    assert first != draw_blocks("other", blocks, 10, 0)


def test_every_block_has_the_same_chance() -> None:
    blocks = [(index,) for index in range(10)]

    counts = Counter(item for seed in range(1000) for item in draw_blocks("doc", blocks, 3, seed))

    assert all(230 < count < 370 for count in counts.values())


@pytest.mark.parametrize("properties", [{"topic": TEXT}, REVISION])
def test_the_largest_content_just_fits_a_call(properties: dict[str, object]) -> None:
    stage, facts = make_stage(properties), make_facts(window=8_000, max_output=2_000)  # type: ignore[arg-type]

    most = largest_content(stage, facts, Policy())

    room = call_budget(
        facts,
        prefix_bytes(render_prefix(stage)),
        len(stage.prompt.encode()),
        reserved_output(facts),
        2,
    )
    shape = output_shape(stage.schema, Policy().estimated_output_per_task)

    def calls(size: int) -> int:
        """A tiny neighbour shows whether anything is left."""
        answer = output_estimate(shape, size, None, facts.max_output)
        item = SizedTask(1, bound_tokens(item_bytes(size)), answer)
        return len([*pack([item, SizedTask(2, 0, 0)], room)])

    assert most > 1_000
    assert (calls(most), calls(most + 3)) == (1, 2)


def test_nothing_fits_where_the_prefix_fills_the_window() -> None:
    stage = make_stage(instructions="word " * 10_000)

    assert largest_content(stage, make_facts(window=8_000), Policy()) == -1
