"""Settings come from the nearest quire.toml and the environment, and every mistake is told."""

from collections.abc import Callable
from pathlib import Path

import pytest

from quire.domain.errors import SettingsInvalid
from quire.recipes.policy_layers import resolve_policy
from quire.settings import TEMPLATE, Settings, base_url, read_settings

Read = Callable[..., Settings]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Write a quire.toml and read it, with some variables set."""

    def write_and_read(text: str = "", names: tuple[str, ...] = (), **environment: str) -> Settings:
        (tmp_path / "quire.toml").write_text(text)
        return read_settings(tmp_path, environment, names)

    return write_and_read


def refusal(read: Read, text: str) -> list[str]:
    with pytest.raises(SettingsInvalid) as caught:
        read(text)
    return str(caught.value).splitlines()


def test_the_first_file_of_a_folder_is_right_as_it_is_and_with_every_line_switched_on(
    read: Read,
) -> None:
    switched_on = TEMPLATE.replace("# [", "[").replace("\n# ", "\n")
    head, _, rest = switched_on.partition('ledger = "quire.db"')

    read(TEMPLATE)
    settings = read('ledger = "quire.db"' + rest)

    assert head.startswith("# Quire's settings")
    assert settings.aliases == {"cheap": "openai/gpt-6-luna"}
    assert [*settings.models] == ["compatible/my-model@http://10.0.0.5:8000/v1"]
    assert settings.providers["openai"]["key_env"] == "MY_OPENAI_KEY"


def test_models_aliases_and_providers_are_read(read: Read, tmp_path: Path) -> None:
    settings = read(
        """
        [models."azure/mine"]
        like = "openai/gpt-5-mini"
        retires = 2027-01-31
        limits = { requests = 500, input = 200_000 }
        tiers = [{ above = 1000, input = 1, output = 2 }]

        [aliases]
        cheap = "azure/mine"

        [providers.azure]
        base_url = "https://mine.openai.azure.com/"
        key_file = "azure.key"
        api = "chat"
        """
    )

    assert settings.models["azure/mine"]["retires"] == "2027-01-31"
    assert settings.models["azure/mine"]["limits"] == {"requests": 500, "input": 200_000}
    assert settings.aliases == {"cheap": "azure/mine"}
    assert settings.providers["azure"]["api"] == "chat"
    assert settings.folder == tmp_path


def test_every_mistake_is_told_in_a_line_of_its_own_that_names_the_file(
    read: Read, tmp_path: Path
) -> None:
    lines = refusal(
        read,
        """
        modle = "x"
        durable = "yes"
        [worker]
        lease = true
        [simulated]
        faults = 3
        [aliases]
        cheap = "luna"
        [providers.opanai]
        [providers.openai]
        bas_url = "https://x"
        [models."azure/mine"]
        windw = 3
        input = 250_000
        """,
    )

    at = f"{tmp_path / 'quire.toml'}: "
    assert [line.removeprefix(at) for line in lines] == [
        "durable must be true or false, not 'yes'",
        "unknown setting modle; did you mean model?",
        "worker.lease must be a positive number of seconds, from 0.01 to 86,400, not true",
        "simulated.faults must be a text, not 3",
        "aliases.cheap must be a model, as provider/model, not 'luna'",
        "unknown setting providers.opanai; did you mean providers.openai?",
        "unknown setting providers.openai.bas_url; did you mean providers.openai.base_url?",
        'models."azure/mine".input must be dollars per million tokens, from 0 to 1,000, not 250000',
        'unknown setting models."azure/mine".windw; did you mean models."azure/mine".window?',
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("models = 3", "models must be a table"),
        ('models."a/b" = 3', 'models."a/b" must be a table'),
        ("[models.openai.gpt-5]", 'write the whole name in quotes: [models."provider/model"]'),
        ('[models."a/b"]\nwindow = 0', "must be a whole number from 1"),
        ('[models."a/b"]\nwindow = true', "must be a whole number from 1"),
        (f'[models."a/b"]\nwindow = 1{"0" * 400}', "must be a whole number from 1"),
        ('[models."a/b"]\ninput = nan', "must be dollars per million tokens"),
        ('[models."a/b"]\ninput = inf', "must be dollars per million tokens"),
        ('[models."a/b"]\nstructured = "xml"', "must be schema, tool, json or text"),
        ('[models."a/b"]\nmarking = []', "must be none, automatic or breakpoint"),
        ('[models."a/b"]\nbatch = 2', "must be a part of the price"),
        ('[models."a/b"]\nbatch = { inptu = 2 }', 'did you mean models."a/b".batch.input?'),
        ('[models."a/b"]\ntiers = [3]', "tiers must be a list of tables"),
        ('[models."a/b"]\ntiers = [{ above = -1 }]', "tiers.above must be a whole number"),
        ('[models."a/b"]\nlimits = { rpm = 3 }', "known: requests, input, output, total"),
        ('[models."a/b"]\nretires = "soon"', "retires must be a date"),
        ('[models."a/b"]\nlike = "gpt"', "like must be a model, as provider/model"),
        ('[models."a/b"]\nurl = "host:80"', "url must be an address like https://HOST/path"),
        ('[aliases]\n"a/b" = "c/d"', "an alias has no slash"),
        ("[aliases]\na = 3", "aliases.a must be a model"),
        ("providers.openai = 3", "providers.openai must be a table"),
        ('[providers.openai]\nkey = "sk-1"', "a key does not belong in a file"),
        ('[providers.openai]\napi = "grpc"', "api must be responses or chat"),
        ('[providers.openai]\nkey_env = ""', "key_env must be a text that is not empty"),
        (
            '[providers.openai]\nheaders = "X: secret"',
            "headers must be a table of names and values",
        ),
        ('[providers.openai]\nheaders = { "a b" = "x" }', "'a b' is no header that can be set"),
        ('[providers.openai]\nheaders = { Host = "x" }', "'Host' is no header that can be set"),
        ('[providers.openai]\nheaders = { X-A = "ü" }', "X-A must be a line of plain characters"),
        ('[providers.openai]\nbase_url = "ftp://x"', "must be an address like https://HOST/path"),
        ('[providers.openai]\nbase_url = "http://h:x/"', "is not an address"),
        ('[providers.openai]\nbase_url = "http://h/?k=1"', "without ? and #"),
        ("[worker]\nlease = inf", "lease must be a positive number of seconds"),
        ("[worker]\nlease = 1e308", "lease must be a positive number of seconds"),
        ("[worker]\ngrace = 1e-308", "grace must be a positive number of seconds"),
        ("x = " + "[" * 9_000, "quire.toml: "),
    ],
)
def test_a_mistake_says_what_is_meant(read: Read, text: str, says: str) -> None:
    (line,) = refusal(read, text)

    assert says in line


def test_a_key_in_an_address_or_a_file_is_not_repeated(read: Read) -> None:
    (address,) = refusal(read, '[providers.openai]\nbase_url = "https://me:s3cret@host/v1"')
    (key,) = refusal(read, '[providers.openai]\nkey = "s3cret"')

    assert "holds a name or a key" in address
    assert "s3cret" not in address + key


@pytest.mark.parametrize(
    "text",
    [
        '[models."compatible/x@http://host/v1?api_key=s3cret"]',
        '[models."compatible/x@http://me:s3cret@host/v1"]',
        '[models."compatible/x@HTTP://me:s3cret@host/v1"]',
        '[aliases]\ncheap = "compatible/x@http://host/v1#s3cret"',
        '[providers.openai]\nbase_url = "htp://host/?api_key=s3cret"',
    ],
)
def test_a_key_in_the_address_of_a_model_is_refused_and_not_repeated(read: Read, text: str) -> None:
    (line,) = refusal(read, text)

    assert "without ? and #" in line or "holds a name or a key" in line
    assert "s3cret" not in line


def test_quire_toml_wins_over_the_environment_and_that_over_the_vendors_own_place(
    read: Read,
) -> None:
    silent = read()
    told = read('[providers.openai]\nbase_url = "https://gate.example/v1/"')
    said = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1/", "ANTHROPIC_BASE_URL": "  "}

    assert base_url(told, "openai", said) == "https://gate.example/v1"
    assert base_url(silent, "openai", said) == "http://127.0.0.1:9/v1"
    assert base_url(silent, "anthropic", said) == ""
    assert base_url(silent, "openai", {}) == ""
    assert base_url(silent, "nobody", said) == ""


@pytest.mark.parametrize(
    ("provider", "variable"),
    [
        ("anthropic", "ANTHROPIC_BASE_URL"),
        ("gemini", "GOOGLE_GEMINI_BASE_URL"),
        ("vertex", "GOOGLE_VERTEX_BASE_URL"),
        ("azure", "AZURE_OPENAI_ENDPOINT"),
        ("mistral", "MISTRAL_BASE_URL"),
        ("groq", "GROQ_BASE_URL"),
        ("openrouter", "OPENROUTER_BASE_URL"),
    ],
)
def test_vendors_own_variables_are_read(read: Read, provider: str, variable: str) -> None:
    assert base_url(read(), provider, {variable: "https://x.example/"}) == "https://x.example"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("box", "http://box:11434"),
        ("box:8080", "http://box:8080"),
        (":8080", "http://127.0.0.1:8080"),
        ("[::1]:8080", "http://[::1]:8080"),
        ("https://box.example/ollama/", "https://box.example/ollama"),
    ],
)
def test_ollamas_variable_says_where_it_listens(read: Read, host: str, url: str) -> None:
    assert base_url(read(), "ollama", {"OLLAMA_HOST": host}) == url


def test_an_address_in_the_environment_that_is_none_is_told_with_its_variable(read: Read) -> None:
    for host in ("not a url", "http://h:x"):
        with pytest.raises(SettingsInvalid, match="environment: GROQ_BASE_URL"):
            base_url(read(), "groq", {"GROQ_BASE_URL": host})


def test_an_empty_variable_says_nothing_and_a_wrong_one_is_refused(read: Read) -> None:
    assert read(QUIRE_LEASE="", QUIRE_GRACE=" ").lease == 30.0
    assert read("[worker]\nlease = 5", QUIRE_LEASE="7", QUIRE_GRACE="2.5") == read(
        "[worker]\nlease = 5\ngrace = 2.5"
    )
    for wrong in ("0", "-1", "soon", "nan", "inf", "1e308"):
        with pytest.raises(SettingsInvalid, match="environment: QUIRE_LEASE must be a positive"):
            read(QUIRE_LEASE=wrong)


def test_how_often_batches_are_looked_at_may_be_told(read: Read) -> None:
    assert read().poll is None
    assert read(QUIRE_POLL="2.5").poll == 2.5
    assert read("[worker]\npoll = 5", QUIRE_POLL="2.5").poll == 5


def test_the_seeds_names_of_policy_values_are_read_from_the_environment(read: Read) -> None:
    names = ("max_tries", "packing", "max_attempts", "batching_enabled", "ledger")
    said = read("", names, QUIRE_MAX_ATTEMPTS="4", QUIRE_BATCHING_ENABLED="false", QUIRE_LEDGER="x")

    policy = resolve_policy([("environment", said.environment_policy)]).policy

    assert (policy.max_tries, policy.packing) == (4, False)
    assert said.ledger == "x"
