"""Keys outside the ledger are found where quire.toml says, then where vendors' tools look."""

from pathlib import Path

from quire.accounts.key_search import (
    DEFAULT_CREDENTIALS,
    KeyPlaces,
    KeySearch,
    search_keys,
    search_places,
)
from quire.domain.accounts import KeySource
from quire.domain.data import Json
from quire.settings import Settings

KEY, OTHER = "sk-the-first-key-1234", "sk-the-other-key-5678"


def key_search(
    provider: str = "openai",
    table: dict[str, Json] | None = None,
    folder: Path = Path(),
    **environment: str,
) -> KeySearch:
    """Look around with so much said."""
    return search_places(provider, KeyPlaces(table or {}, environment, folder))


def names(search: KeySearch) -> list[tuple[str, str]]:
    """Where keys were found, in order, and their ends."""
    return [(key.name, key.key.tail) for key in search.keys]


def test_the_vendors_own_variable_is_found() -> None:
    search = key_search(OPENAI_API_KEY=f" {KEY}\n", ANTHROPIC_API_KEY="sk-ant-somebody-elses")

    assert names(search) == [("OPENAI_API_KEY", "1234")]
    assert search.keys[0].source is KeySource.ENVIRONMENT
    assert search.keys[0].key.reveal() == KEY


def test_what_quire_toml_names_comes_before_the_vendors_variable(tmp_path: Path) -> None:
    (tmp_path / "team.key").write_text(f"{OTHER}\n")
    table: dict[str, Json] = {"key_env": "TEAM_KEY", "key_file": "team.key"}

    search = key_search(
        "openai", table, tmp_path, OPENAI_API_KEY="sk-a-third-key-9999", TEAM_KEY=KEY
    )

    path = str(tmp_path / "team.key")
    assert names(search) == [("TEAM_KEY", "1234"), (path, "5678"), ("OPENAI_API_KEY", "9999")]
    assert [key.source.value for key in search.keys] == ["environment", "file", "environment"]


def test_a_variable_that_is_named_twice_is_found_once() -> None:
    assert len(key_search(table={"key_env": "OPENAI_API_KEY"}, OPENAI_API_KEY=KEY).keys) == 1


def test_every_usual_variable_counts() -> None:
    search = key_search(
        "gemini", GOOGLE_API_KEY="AIza-the-other-one", GEMINI_API_KEY="AIza-the-first"
    )

    assert [key.name for key in search.keys] == ["GEMINI_API_KEY", "GOOGLE_API_KEY"]


def test_a_named_variable_that_is_not_set_is_not_replaced_by_another() -> None:
    search = key_search(table={"key_env": "TEAM_KEY"}, OPENAI_API_KEY=KEY)

    assert search.keys == ()
    assert str(search.problem) == "quire.toml says that the key of openai is in TEAM_KEY; set it"


def test_a_named_file_that_is_not_there_is_told_in_one_line(tmp_path: Path) -> None:
    search = key_search("openai", {"key_file": "no.key"}, tmp_path, OPENAI_API_KEY=KEY)

    assert search.keys == ()
    assert str(search.problem) == (
        f"the key file {tmp_path / 'no.key'} cannot be read: No such file or directory"
    )


def test_a_file_that_holds_more_than_a_key_is_not_repeated(tmp_path: Path) -> None:
    (tmp_path / "bad.key").write_text("user: me\npassword: hunter2\n")

    search = key_search("openai", {"key_file": "bad.key"}, tmp_path)

    assert "holds a blank or a line break" in str(search.problem)
    assert "hunter2" not in str(search.problem)


def test_a_variable_that_cannot_be_a_key_is_told_by_its_name() -> None:
    search = key_search(OPENAI_API_KEY="Bearer sk-one")

    assert str(search.problem).startswith("OPENAI_API_KEY holds a blank")
    assert search.keys == ()


def test_a_file_by_its_whole_path_is_read_from_there(tmp_path: Path) -> None:
    (tmp_path / "mine.key").write_text(KEY)

    assert key_search("openai", {"key_file": str(tmp_path / "mine.key")}, Path("/nowhere")).keys


def test_an_empty_variable_is_no_variable() -> None:
    assert key_search(OPENAI_API_KEY=" ") == key_search()


def test_vertex_falls_back_on_googles_own_search() -> None:
    with_token = key_search("vertex", GOOGLE_ACCESS_TOKEN="ya29.token-of-somebody")

    assert [key.name for key in key_search("vertex").keys] == [DEFAULT_CREDENTIALS]
    assert [key.name for key in with_token.keys] == ["GOOGLE_ACCESS_TOKEN", DEFAULT_CREDENTIALS]


def test_nothing_is_looked_for_where_nobody_asks_for_a_key() -> None:
    search = key_search("simulated", {"key_env": "MISSING"}, SIMULATED_API_KEY=KEY)

    assert (search.keys, search.problem) == ((), None)


def test_a_found_key_does_not_show_itself() -> None:
    assert KEY not in repr(key_search(OPENAI_API_KEY=KEY))


def test_settings_and_environment_say_where_a_provider_is_and_how(tmp_path: Path) -> None:
    settings = Settings(
        ledger="quire.db",
        folder=tmp_path,
        providers={"openai": {"key_file": "mine.key", "base_url": "https://a.example/v1/"}},
    )
    (tmp_path / "mine.key").write_text(KEY)
    gateway = {"MISTRAL_BASE_URL": "https://b.example/v1", "MISTRAL_API_KEY": OTHER}

    openai = search_keys("openai", settings, {})
    mistral = search_keys("mistral", settings, gateway)
    model = search_keys("mistral", settings, gateway, "https://c.example/v1")

    assert (openai.base_url, openai.options) == ("https://a.example/v1", {})
    assert openai.keys[0].key.reveal() == KEY
    assert (mistral.base_url, mistral.keys[0].name) == ("https://b.example/v1", "MISTRAL_API_KEY")
    assert model.base_url == "https://c.example/v1"


def test_what_else_quire_toml_says_of_a_provider_are_its_options() -> None:
    table: dict[str, Json] = {"project": "p", "location": "l", "key_env": "K"}
    settings = Settings(ledger="quire.db", providers={"vertex": table})

    said = {"K": KEY, "GOOGLE_CLOUD_PROJECT": "elsewhere"}

    assert search_keys("vertex", settings, said).options == {"project": "p", "location": "l"}


def test_what_vendors_tools_read_from_the_environment_are_options_too() -> None:
    said = {"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "", "OPENAI_ORG_ID": "o"}
    settings = Settings(ledger="quire.db")

    assert search_keys("vertex", settings, said).options == {"project": "p"}
    assert search_keys("openai", settings, said).options == {"organization": "o"}
    assert search_keys("groq", settings, said).options == {}
