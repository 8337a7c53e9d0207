"""Layers of settings."""

import json

import pytest

from quire.domain.data import Json
from quire.domain.errors import SettingsInvalid
from quire.domain.policy import Policy, SourcedPolicy
from quire.recipes.policy_layers import policy_from_json, resolve_policy, schema_layer
from quire.recipes.user_schemas import load_schema


def refusal(*layers: tuple[str, dict[str, Json]]) -> list[str]:
    """Resolve what must be refused; return the lines."""
    with pytest.raises(SettingsInvalid) as refused:
        resolve_policy(layers)
    return str(refused.value).splitlines()


def test_without_layers_the_built_in_values_hold() -> None:
    assert resolve_policy([]) == SourcedPolicy(policy=Policy(), sources={})


def test_the_most_specific_layer_decides_each_value_by_itself() -> None:
    resolved = resolve_policy(
        [
            ("flag", {"pack_size": 4}),
            ("schema", {"pack_size": 5, "max_tries": 5}),
            ("quire.toml", {"max_tries": 9, "concurrency": 2}),
        ]
    )

    assert resolved.policy == Policy(pack_size=4, max_tries=5, concurrency=2)
    assert resolved.sources == {
        "pack_size": "flag",
        "max_tries": "schema",
        "concurrency": "quire.toml",
    }


def test_what_a_layer_does_not_give_is_left_to_the_next() -> None:
    assert resolve_policy(
        [("flag", {"pack_size": None}), ("schema", {"pack_size": 3})]
    ).sources == {"pack_size": "schema"}


@pytest.mark.parametrize(
    ("given", "packing"),
    [(True, True), (False, False), ("on", True), ("off", False), ("auto", True)],
)
def test_packing_is_a_switch(given: Json, packing: bool) -> None:
    assert resolve_policy([("flag", {"packing": given})]).policy.packing is packing


def test_a_probed_pack_size_is_left_to_whoever_knows_the_probes() -> None:
    for layer in ("flag", "quire.toml", "environment"):
        resolved = resolve_policy([(layer, {"pack_size": "probed"}), ("later", {"pack_size": 3})])

        assert (resolved.probed, resolved.policy.pack_size) == (True, None)
        taken = resolved.with_pack_size(40, "probe")
        assert (taken.probed, taken.policy.pack_size) == (False, 40)
        assert policy_from_json(taken.as_json()) == taken


def test_a_number_wins_over_a_probe_that_a_later_layer_asks_for() -> None:
    resolved = resolve_policy([("flag", {"pack_size": 3}), ("schema", {"pack_size": "probed"})])

    assert (resolved.probed, resolved.policy.pack_size) == (False, 3)


def test_the_old_names_are_understood() -> None:
    resolved = resolve_policy([("schema", {"batching_enabled": False, "max_attempts": 7})])

    assert resolved.policy == Policy(packing=False, max_tries=7)
    assert set(resolved.sources) == {"packing", "max_tries"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pack_size", 0),
        ("pack_size", 26),
        ("pack_size", True),
        ("pack_size", "8"),
        ("pack_size", 2.0),
        ("packing", "yes"),
        ("packing", 1),
        ("max_tries", 0),
        ("max_calls", -1),
        ("concurrency", 0),
        ("call_timeout", 0),
        ("call_timeout", float("nan")),
        ("temperature", 2.1),
        ("ledger", "fat"),
        ("ledger", ["lean"]),
        ("estimated_output_per_task", 0),
    ],
)
def test_a_value_of_the_wrong_type_or_range_is_refused(name: str, value: Json) -> None:
    (line,) = refusal(("quire.toml", {name: value}))

    assert line.startswith(f"quire.toml: {name} must be ")


def test_all_mistakes_of_all_layers_are_told_at_once() -> None:
    lines = refusal(
        ("flag", {"pack_size": 0, "concurency": 3}), ("environment", {"max_tries": "many"})
    )

    assert lines == [
        'flag: pack_size must be a whole number from 1 to 25 or "probed", not 0',
        "flag: concurency is not known; did you mean concurrency?",
        'environment: max_tries must be a whole number from 1 to 100, not "many"',
    ]


def test_a_mistake_in_a_layer_that_does_not_decide_is_still_told() -> None:
    assert refusal(("flag", {"max_tries": 2}), ("quire.toml", {"max_tries": 0}))


def test_a_name_and_its_alias_in_one_layer_are_refused() -> None:
    (line,) = refusal(("schema", {"max_tries": 2, "max_attempts": 3}))

    assert "max_attempts says the same as max_tries" in line


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("pack_size", "8", 8),
        ("packing", "FALSE", False),
        ("packing", "off", False),
        ("temperature", "0.25", 0.25),
        ("call_timeout", "30", 30.0),
        ("ledger", "full", "full"),
        ("max_tries", " 2 ", 2),
    ],
)
def test_the_environments_text_is_read_as_a_value(name: str, text: str, value: Json) -> None:
    assert getattr(resolve_policy([("environment", {name: text})]).policy, name) == value


def test_an_empty_environment_variable_is_not_given() -> None:
    assert resolve_policy([("environment", {"pack_size": ""})]).sources == {}


def test_whole_seconds_become_a_fraction() -> None:
    assert isinstance(resolve_policy([("flag", {"call_timeout": 30})]).policy.call_timeout, float)


def test_the_schemas_layer_holds_only_policy() -> None:
    schema = load_schema(
        {
            "type": "object",
            "additionalProperties": False,
            "properties": {"x": {}},
            "prompt_config": {"model": "m", "max_attempts": 4, "temperature": 1},
        },
        name="s",
    )

    assert schema_layer(schema) == {"max_attempts": 4, "temperature": 1}


def test_a_stored_policy_is_read_back_as_it_was() -> None:
    resolved = resolve_policy([("flag", {"pack_size": 4, "temperature": 1, "call_timeout": 30})])

    assert policy_from_json(json.loads(json.dumps(resolved.as_json()))) == resolved


def test_a_policy_stored_by_another_version_is_read_as_far_as_known() -> None:
    stored: Json = {
        "novelty": {"value": 1, "source": "flag"},
        "max_tries": {"value": 2, "source": "flag"},
    }
    assert isinstance(stored, dict)

    assert policy_from_json(stored) == SourcedPolicy(
        policy=Policy(max_tries=2), sources={"max_tries": "flag"}
    )
