"""A sample of sizes: neighbours from all over the documents, which have as much text as all do."""

from hypothesis import given
from hypothesis import strategies as st

from quire.planning.size_samples import STRETCH, SampledSize, Stretch, fit_to_mean, spread_stretches


def test_the_first_and_the_last_blocks_are_in_a_sample() -> None:
    found = list(spread_stretches([10_000], 1_000))

    assert len(found) == 20
    assert (found[0], found[-1]) == (Stretch(0, 0), Stretch(0, 10_000 - STRETCH))


@given(st.lists(st.integers(0, 300), min_size=1).filter(lambda counts: sum(counts) > 200))
def test_every_stretch_begins_at_a_block_that_has_neighbours_enough(counts: list[int]) -> None:
    for document, index in spread_stretches(counts, 200):
        assert 0 <= index < counts[document]
        assert sum(counts[document:]) - index >= STRETCH


def test_sizes_are_put_right_by_how_much_text_there_is_in_all() -> None:
    sample = [SampledSize(110, 100), SampledSize(330, 300)]

    assert fit_to_mean(sample, 400.0) == [220, 660]
    assert fit_to_mean([SampledSize(2, 0)], 0.0) == [2]
