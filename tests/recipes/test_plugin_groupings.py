"""A package's grouping behind its guard: what it gives is checked, what it breaks is one line."""

from collections.abc import Callable, Iterable, Sequence
from itertools import count, islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.data import plain_json
from quire.domain.errors import PluginFailed
from quire.domain.groupings import Driver, DriverItem, GroupingContext, Part
from quire.domain.ids import DocumentId
from quire.recipes import plugin_registry
from quire.recipes.plugin_registry import GuardedGrouping

DOCUMENTS = (DocumentId(3), DocumentId(5))
AROUND = GroupingContext({}, {}, 1, ("m",), DOCUMENTS)
WHO = "grouping odd of package oddities: "
THING = DriverItem(7)


class OddGrouping:
    """Gives whatever it was told to give, or raises it."""

    name = "odd"
    driver = Driver.DOCUMENT
    wants_documents = True

    def __init__(self, gives: Any) -> None:
        """Keep it for later."""
        self.gives = gives

    def _give(self) -> Any:
        if isinstance(self.gives, BaseException):
            raise self.gives
        return self.gives

    def mistakes(self, context: GroupingContext) -> Sequence[str]:
        """What it was told."""
        found: Sequence[str] = self._give()
        return found

    def fan(self, driven: DriverItem, context: GroupingContext) -> Iterable[Part]:
        """What it was told."""
        found: Iterable[Part] = self._give()
        return found

    def count(self, driven: int, context: GroupingContext) -> int:
        """What it was told."""
        found: int = self._give()
        return found


def guard(gives: object) -> GuardedGrouping:
    """A guard before one that gives this."""
    return GuardedGrouping(OddGrouping(gives), "oddities")


def fan_parts(gives: object) -> list[Part]:
    """All parts of one thing."""
    return list(guard(gives).fan(THING, AROUND))


class Unspeakable(Exception):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        """Fail."""
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("one\n two"), "ValueError: one two"),
        (SystemExit(3), "SystemExit: 3"),
        (RecursionError(), "RecursionError"),
        (Unspeakable(), "Unspeakable"),
        (ValueError("\ud800"), "ValueError: ?"),
    ],
)
@pytest.mark.parametrize("what", ["mistakes", "count", "fan"])
def test_whatever_it_raises_is_one_line_with_its_name(
    error: BaseException, said: str, what: str
) -> None:
    odd = guard(error)
    asked: dict[str, Callable[[], object]] = {
        "mistakes": lambda: odd.mistakes(AROUND),
        "count": lambda: odd.count(1, AROUND),
        "fan": lambda: list(odd.fan(THING, AROUND)),
    }

    with pytest.raises(PluginFailed) as caught:
        asked[what]()

    assert str(caught.value) == f"{WHO}{what} failed: {said}; mend or update its package"


def test_an_error_after_the_first_parts_lets_those_through() -> None:
    def parts() -> Iterable[Part]:
        yield Part("m")
        raise KeyError("gone")

    found = guard(parts()).fan(THING, AROUND)

    assert next(found) == Part("m")
    with pytest.raises(PluginFailed, match="fan failed: KeyError: 'gone'"):
        next(found)


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (5, "5 is no Part"),
        ("m", "'m' is no Part"),
        ((), r"\(\) is no Part"),
        (("m", 0, {}, (), 1), "is no Part"),
        (Part(3), "the model 3 is no name"),  # type: ignore[arg-type]
        (Part("m\x00"), "is no name"),
        (Part("m\ud800"), "is no name"),
        (Part("m", "x"), "the sample 'x' is no number"),  # type: ignore[arg-type]
        (Part("m", True), "the sample True is no number"),
        (Part("m", -1), "the sample -1 is no number"),
        (Part("m", 2**63), "is no number from 0 on"),
        (Part("m", 0, [1]), "is no JSON object"),  # type: ignore[arg-type]
        (Part("m", 0, {"x": {1}}), "TypeError"),  # type: ignore[dict-item]
        (Part("m", 0, {"x": float("nan")}), "ValueError"),
        (Part("m", 0, {"x": "\ud800"}), "UnicodeEncodeError"),
        (Part("m", 0, {"x": "y" * 100_000}), "a part of 100,008 bytes is more than 100,000"),
        (Part("m", 0, {}, (DocumentId(999),)), "999 is no document of the stage's input"),
        (Part("m", 0, {}, (DocumentId(True),)), "True is no document"),
        (Part("m", 0, {}, 3), "the documents 3 are no tuple"),  # type: ignore[arg-type]
    ],
)
def test_a_part_that_cannot_be_used_is_refused(part: object, said: str) -> None:
    with pytest.raises(PluginFailed, match=said):
        fan_parts([part])


@pytest.mark.parametrize("number", [-5, "x", True, 2**63, None, 1.5])
def test_a_count_that_is_no_number_is_refused(number: object) -> None:
    with pytest.raises(PluginFailed, match=r"count failed: ValueError: .* is no number of tasks"):
        guard(number).count(1, AROUND)


def test_good_parts_pass_as_they_are() -> None:
    parts = [
        Part("m"),
        ("m", 2),
        Part("", 2**63 - 1, {"a": [1, None, "ä"], "b": {"c": 1.5}}, DOCUMENTS),
        Part("m", 0, {}, (DocumentId(7),)),  # the one it is driven by
        Part("m", 0, {}, [DocumentId(5)]),  # type: ignore[arg-type]
    ]

    assert fan_parts(parts) == [
        Part("m"),
        Part("m", 2),
        parts[2],
        parts[3],
        Part("m", 0, {}, (DocumentId(5),)),
    ]
    assert guard(4).count(1, AROUND) == 4
    assert guard(("a", 1)).mistakes(AROUND) == ["a", "1"]


def test_what_it_changes_afterwards_changes_nothing() -> None:
    said: dict[str, Any] = {}

    def parts() -> Iterable[Part]:
        for number in range(3):
            said["n"] = number
            yield Part("m", number, said)

    assert [package.part for package in fan_parts(parts())] == [{"n": 0}, {"n": 1}, {"n": 2}]


def test_a_long_fan_is_read_as_far_as_it_is_asked_for_and_an_endless_one_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken: list[int] = []

    def parts() -> Iterable[Part]:
        for number in count():
            taken.append(number)
            yield Part("m", number)

    assert len(list(islice(guard(parts()).fan(THING, AROUND), 10))) == 10
    assert len(taken) == 10
    monkeypatch.setattr(plugin_registry, "MOST_PARTS", 100)
    with pytest.raises(PluginFailed, match="fan gives more than 100 tasks about one thing"):
        fan_parts(parts())


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3)
        | st.tuples(inner, inner)
    ),
    max_leaves=6,
)
MODELS = st.text(max_size=3) | ANYTHING
SAMPLES = st.integers() | ANYTHING
PARTS = st.dictionaries(st.text(max_size=3), ANYTHING, max_size=3) | ANYTHING
SHOWN = st.lists(st.sampled_from([3, 5, 7, 9]), max_size=2).map(tuple) | ANYTHING


@given(st.lists(st.tuples(MODELS, SAMPLES, PARTS, SHOWN) | ANYTHING, max_size=3) | ANYTHING)
def test_any_garbage_is_either_refused_in_one_line_or_fit_for_the_ledger(gives: object) -> None:
    said, found = "", list[Part]()
    try:
        found = fan_parts(gives)
    except PluginFailed as error:
        said = str(error)
    assert said.startswith(WHO if said else "")
    assert len(said.encode().splitlines()) <= 1
    for package in found:
        assert type(package) is Part
        package.model.encode()
        assert 0 <= package.sample < 2**63
        assert len(plain_json(dict(package.part)).encode()) <= 100_000
        assert set(package.documents) <= {3, 5, 7}
