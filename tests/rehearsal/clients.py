"""What tests ask the rehearsal server: blocks and their schema, and the vendors' own clients."""

import json
import ssl
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anthropic
import openai

from quire.domain.models import CacheMarking, ModelFacts, Price, StructuredOutput, Wire

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the file has escapes that newer Pythons warn of
    from google import genai as genai
    from google.genai import types as types

KEY = "sk-test-abcdefgh-1234"
GPT, OLD_GPT = "gpt-6-luna", "gpt-4.1"
HAIKU, SONNET = "claude-haiku-5-5", "claude-sonnet-5-5"
FLASH = "gemini-3.8-flash"

_VERIFY = ssl.create_default_context()  # for all clients: each would read the certificates again
_PRICE = Price(input=1, output=1, cached=1, written_short=1, written_long=1)


def _facts(name: str, wire: Wire, minimum: int) -> ModelFacts:
    return ModelFacts(
        name=name,
        window=100_000,
        max_output=8_000,
        price=_PRICE,
        cache_minimum=minimum,
        wire=wire,
    )


MODELS = {
    facts.name: facts
    for facts in (
        _facts(f"openai/{GPT}", Wire(marking=CacheMarking.BREAKPOINT, sampling=False), 1_024),
        _facts(f"openai/{OLD_GPT}", Wire(marking=CacheMarking.AUTOMATIC), 1_024),
        _facts(
            f"anthropic/{HAIKU}",
            Wire(structured=StructuredOutput.TOOL, marking=CacheMarking.BREAKPOINT),
            512,
        ),
        _facts(f"anthropic/{SONNET}", Wire(marking=CacheMarking.BREAKPOINT), 512),
        _facts(f"gemini/{FLASH}", Wire(marking=CacheMarking.AUTOMATIC), 1_024),
    )
}

SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["results"],
    "properties": {
        "results": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["block_uid", "word_count", "has_question"],
                "properties": {
                    "block_uid": {"type": "string"},
                    "word_count": {"type": "integer"},
                    "has_question": {"type": "boolean"},
                },
            },
        }
    },
}
PREFIX = "Read every block with care. " * 200  # 1,400 tokens
PREFIX_TOKENS = len(PREFIX) // 4


def with_schema(text: str) -> int:
    """Tokens that are billed for a text and the schema beside it."""
    return -(-len(text + json.dumps(SCHEMA, separators=(",", ":"))) // 4)


def message(*contents: str) -> str:
    """A user message that carries these blocks."""
    blocks = [
        {"block_uid": f"{place}k", "block_content": content}
        for place, content in enumerate(contents or ("One two three.", "Is it so?"), 1)
    ]
    return f"Answer.\n{json.dumps({'blocks': blocks})}"


def counts(text: str) -> list[int]:
    """The word counts of an answer, in order."""
    return [record["word_count"] for record in json.loads(text)["results"]]


@contextmanager
def openai_client(url: str, **how: Any) -> Iterator[openai.OpenAI]:
    """OpenAI's own client, which does not try again."""
    options: dict[str, Any] = {
        "api_key": KEY,
        "base_url": f"{url}/v1",
        "max_retries": 0,
        "http_client": openai.DefaultHttpxClient(verify=_VERIFY),
    }
    with openai.OpenAI(**options | how) as made:
        yield made


@contextmanager
def anthropic_client(url: str, **how: Any) -> Iterator[anthropic.Anthropic]:
    """Anthropic's own client, which does not try again."""
    options: dict[str, Any] = {
        "api_key": KEY,
        "base_url": url,
        "max_retries": 0,
        "http_client": anthropic.DefaultHttpxClient(verify=_VERIFY),
    }
    with anthropic.Anthropic(**options | how) as made:
        yield made


@contextmanager
def gemini_client(url: str, **how: Any) -> Iterator[genai.Client]:
    """Google's own client."""
    options = types.HttpOptions(
        base_url=url,
        client_args={"verify": _VERIFY},
        async_client_args={"verify": _VERIFY, "ssl": _VERIFY},  # by either of two libraries
        **how,
    )
    client = genai.Client(api_key=KEY, http_options=options)
    try:
        yield client
    finally:
        client.close()


def respond(client: openai.OpenAI, user: str = "", **how: Any) -> Any:
    """Ask OpenAI's Responses API about blocks."""
    asked: dict[str, Any] = {
        "model": GPT,
        "input": [
            {"role": "developer", "content": "Count words."},
            {"role": "user", "content": user or message()},
        ],
        "text": {
            "format": {"type": "json_schema", "name": "answer", "schema": SCHEMA, "strict": True}
        },
        "store": False,
    }
    return client.responses.create(**asked | how)


def chat(client: openai.OpenAI, user: str = "", **how: Any) -> Any:
    """Ask OpenAI's Chat Completions API about blocks."""
    asked: dict[str, Any] = {
        "model": GPT,
        "messages": [
            {"role": "developer", "content": "Count words."},
            {"role": "user", "content": user or message()},
        ],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
        },
    }
    return client.chat.completions.create(**asked | how)


def create_message(client: anthropic.Anthropic, user: str = "", **how: Any) -> Any:
    """Ask Anthropic's Messages API about blocks."""
    asked: dict[str, Any] = {
        "model": SONNET,
        "max_tokens": 1_000,
        "system": "Count words.",
        "messages": [{"role": "user", "content": user or message()}],
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
    }
    return client.messages.create(**asked | how)


def generate(client: genai.Client, user: str = "", model: str = FLASH, **config: Any) -> Any:
    """Ask Gemini about blocks."""
    options: dict[str, Any] = {
        "system_instruction": "Count words.",
        "response_mime_type": "application/json",
        "response_json_schema": SCHEMA,
    }
    return client.models.generate_content(
        model=model,
        contents=user or message(),
        config=types.GenerateContentConfig(**options | config),
    )
