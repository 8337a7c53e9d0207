"""Bundles: every piece in one bundle, the same for all, by a strategy that is known."""

from hypothesis import given
from hypothesis import strategies as st

from quire.kits.judge.bundle_truths import mixed_bundles, truth_caution
from quire.kits.judge.experiment import Evidence
from quire.kits.judge.randomization import (
    RANDOM,
    ROUND_ROBIN,
    STRATEGIES,
    bundle_signature,
    bundles,
)
from tests.kits.judge.examples import experiment


@given(
    windows=st.lists(st.integers(0, 4), min_size=1, max_size=40),
    size=st.integers(1, 7),
    strategy=st.sampled_from(STRATEGIES),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_piece_is_in_one_bundle(
    windows: list[int], size: int, strategy: str, seed: int
) -> None:
    made = bundles(tuple(windows), size, strategy, seed)

    assert sorted(position for item in made for position in item) == list(range(len(windows)))
    assert len(made) == -(-len(windows) // size)
    assert all(len(item) == size for item in made[:-1])


def test_windows_take_turns() -> None:
    made = bundles((0, 0, 0, 1, 1, 2), 3, ROUND_ROBIN, 0)

    assert made == ((0, 3, 5), (1, 4, 2))


def test_the_seed_alone_decides_random_bundles() -> None:
    windows = (0,) * 20

    assert bundles(windows, 5, RANDOM, 1) == bundles(windows, 5, RANDOM, 1)
    assert bundles(windows, 5, RANDOM, 1) != bundles(windows, 5, RANDOM, 2)
    assert bundles(windows, 5, ROUND_ROBIN, 1) == bundles(windows, 5, ROUND_ROBIN, 2)


def test_a_bundle_is_named_by_what_is_in_it() -> None:
    assert bundle_signature(["e-2", "e-1"]) == bundle_signature(["e-1", "e-2"]) == "e-1|e-2"


def test_bundles_of_different_truths_are_known_before_anything_is_asked() -> None:
    truths = (1, 1, 2, 3, None, 2, None, None)
    evidence = tuple(
        Evidence(title=str(n), text=f"Text {n}.", truth=truth) for n, truth in enumerate(truths)
    )
    wanted = experiment(evidence=evidence, windows=(), evidence_bundle_size=2)

    assert mixed_bundles(wanted) == [1, 2]  # the last one's truths are not known, as is usual
    assert truth_caution(wanted).startswith("2 of 4 bundles hold pieces with different truths")
    assert truth_caution(experiment(evidence_bundle_size=2)) == ""
