"""A fault script is read strictly, and its draws are fair, stable, and new for every attempt."""

import pytest

from quire.domain.errors import SettingsInvalid
from quire.simulated.fault_scripts import NAMES, Faults, parse_fault_script


def test_an_empty_script_has_no_faults() -> None:
    assert parse_fault_script("") == Faults()
    assert parse_fault_script(" , ") == Faults()
    assert Faults().quiet


def test_a_script_is_read_in_full() -> None:
    faults = parse_fault_script(
        "skip=0.25, skip@ALPHA, skip@BETA, 429=1, seed=7, latency=0.05, longer=0.28, "
        "truncate_at=40, retry_after=2, log=/tmp/a=b@c.log"
    )

    assert faults == Faults(
        rates={"skip": 0.25, "429": 1.0},
        words={"skip": ("ALPHA", "BETA")},
        seed=7,
        latency=0.05,
        longer=0.28,
        truncate_at=40,
        retry_after=2.0,
        log="/tmp/a=b@c.log",
    )
    assert not faults.quiet


def test_a_word_may_contain_an_equals_sign() -> None:
    assert parse_fault_script("refuse@a=b").words == {"refuse": ("a=b",)}


@pytest.mark.parametrize("name", NAMES)
def test_every_name_takes_a_rate_and_a_word(name: str) -> None:
    assert parse_fault_script(f"{name}=0.5,{name}@X") == Faults(
        rates={name: 0.5}, words={name: ("X",)}
    )


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("skpi=0.1", "'skpi' is not a fault; did you mean skip?"),
        ("latencyy=1", "did you mean latency?"),
        ("refus@X", "did you mean refuse?"),
        ("seed@X", "'seed' is not a fault"),
        ("zzzz=1", "the names are skip, duplicate"),
        ("skip=2", "skip=2 must be a number from 0 to 1"),
        ("skip=-0.1", "skip=-0.1 must be a number from 0 to 1"),
        ("skip=nan", "skip=nan must be a number from 0 to 1"),
        ("skip=often", "skip=often must be a number from 0 to 1"),
        ("latency=inf", "latency=inf must be a number of at least 0"),
        ("seed=1.5", "seed=1.5 must be a whole number"),
        ("skip", "'skip' says nothing; write skip=0.1"),
        ("skip@", "'skip@' says nothing"),
        ("skip=0.1,skip=0.2", "skip is given twice"),
        ("seed=1,seed=2", "seed is given twice"),
    ],
)
def test_a_mistake_is_named_with_what_to_write_instead(script: str, message: str) -> None:
    with pytest.raises(SettingsInvalid) as caught:
        parse_fault_script(script)

    assert message in str(caught.value)


def test_what_is_wrong_stands_apart_from_what_to_write() -> None:
    with pytest.raises(SettingsInvalid) as caught:
        parse_fault_script("zzz")

    assert caught.value.message == "simulated faults: 'zzz' says nothing"
    assert caught.value.fix == "write zzz=0.1 or name@WORD"


def test_all_mistakes_are_reported_at_once() -> None:
    with pytest.raises(SettingsInvalid) as caught:
        parse_fault_script("skip=9,wrnog=1")

    assert "skip=9" in str(caught.value)
    assert "did you mean wrong?" in str(caught.value)


def test_a_rate_strikes_about_as_often_as_it_says() -> None:
    faults = parse_fault_script("skip=0.2,seed=3")

    struck = sum(faults.strikes_block("skip", attempt, "1x", "text") for attempt in range(2000))

    assert 320 < struck < 480


def test_a_draw_repeats_for_its_attempt_and_is_new_for_the_next() -> None:
    faults = parse_fault_script("skip=0.5")
    draws = [faults.strikes_block("skip", attempt, "1x", "text") for attempt in range(64)]

    assert draws == [
        faults.strikes_block("skip", number, "1x", "other text") for number in range(64)
    ]
    assert {True, False} == set(draws)


def test_seed_name_and_block_each_change_the_draw() -> None:
    def draws(script: str, name: str, uid: str) -> list[bool]:
        faults = parse_fault_script(script)
        return [faults.strikes_block(name, attempt, uid, "") for attempt in range(64)]

    base = draws("skip=0.5,wrong=0.5", "skip", "1x")

    assert base != draws("skip=0.5,wrong=0.5,seed=1", "skip", "1x")
    assert base != draws("skip=0.5,wrong=0.5", "wrong", "1x")
    assert base != draws("skip=0.5,wrong=0.5", "skip", "2x")


def test_rates_of_nought_and_one_are_never_and_always() -> None:
    faults = parse_fault_script("skip=0,wrong=1")

    assert not any(faults.strikes_block("skip", attempt, "1x", "") for attempt in range(200))
    assert all(faults.strikes_block("wrong", attempt, "1x", "") for attempt in range(200))


def test_a_word_strikes_its_blocks_always_and_no_others() -> None:
    faults = parse_fault_script("skip@ALPHA")

    assert faults.strikes_block("skip", 1, "1x", "an ALPHA block")
    assert not faults.strikes_block("skip", 1, "1x", "an alpha block")


def test_a_word_in_any_block_strikes_the_call() -> None:
    faults = parse_fault_script("500@ALPHA")

    assert faults.strikes_call("500", 1, ["one", "two ALPHA"])
    assert not faults.strikes_call("500", 1, ["one", "two"])
