"""The catalog knows its models, and says what to type where it does not."""

import pytest

from quire.domain.errors import UnknownModel
from quire.domain.models import ModelFacts
from quire.providers.catalog import CATALOG, find_model


def test_the_simulated_models_have_the_stated_windows_and_outputs() -> None:
    small, large = find_model("simulated/small"), find_model("simulated/large")

    assert (small.window, small.max_output) == (32_000, 8_192)
    assert (large.window, large.max_output) == (200_000, 16_384)


def test_every_model_has_a_price_for_every_kind_of_token() -> None:
    for facts in CATALOG.values():
        price = facts.price
        assert 0 < price.cached < price.input < price.written_short < price.written_long
        assert price.input < price.output


def test_the_simulated_models_say_that_they_are_simulated() -> None:
    for facts in CATALOG.values():
        if facts.provider == "simulated":
            assert facts.note == "simulated: no model is called, no money is spent"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("small", "simulated/small"),
        ("Large", "simulated/large"),
        ("simulated/smal", "simulated/small"),
        ("simulate/small", "simulated/small"),
    ],
)
def test_a_near_miss_is_told_the_full_name(typed: str, meant: str) -> None:
    with pytest.raises(UnknownModel) as caught:
        find_model(typed)

    assert f"no model is called '{typed}'; did you mean {meant}" in str(caught.value)


def test_a_name_like_none_of_ours_is_told_all_of_them() -> None:
    with pytest.raises(UnknownModel) as caught:
        find_model("acme/brain-9000")

    assert "there are simulated/small, simulated/large." in str(caught.value)


def test_the_users_own_facts_come_first() -> None:
    mine = ModelFacts(
        name="simulated/small", window=1, max_output=1, price=CATALOG["simulated/large"].price
    )

    assert find_model("simulated/small", {"simulated/small": mine}) is mine
