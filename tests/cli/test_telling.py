"""What happens again and again is told now and then, with how often."""

from quire.cli.telling import WHILE, Sparing


def test_messages_of_a_kind_are_summed_up() -> None:
    said: list[str] = []
    moments = iter([0.0, 1.0, 2.0, 3.0, WHILE, WHILE + 1])
    tell = Sparing(said.append, lambda: next(moments))

    tell("429 slow down, request req_1; trying again")
    tell("429 slow down, request req_2; trying again")
    tell("500 broken, request req_3; trying again")
    tell("429 slow down, request req_4; trying again")
    tell("429 slow down, request req_5; trying again")
    tell("429 slow down, request req_6; trying again")
    tell.rest()
    tell.rest()

    assert said == [
        "429 slow down, request req_1; trying again",
        "500 broken, request req_3; trying again",
        "429 slow down, request req_5; trying again (2 more like it)",
        "429 slow down, request req_6; trying again (1 time more)",
    ]
