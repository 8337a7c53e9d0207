"""The forms of the bodies that OpenAI's endpoints take."""

from quire.rehearsal.vendor_apis.body_forms import (
    ANYTHING,
    FLAG,
    NUMBER,
    OBJECT,
    PAIRS,
    TEXT,
    WORD,
    BodyForm,
    Form,
    any_of,
    choice,
    list_of,
    nullable,
    number_between,
    record,
)

_BREAKPOINT: Form = record("mode", mode=choice("explicit"), ttl=choice("30m", "12h"))
_EFFORT: Form = {"enum": ["none", "minimal", "low", "medium", "high", "xhigh", "max", None]}
_TIER: Form = {"enum": ["auto", "default", "flex", "scale", "priority", "fast", "ultrafast", None]}
_VERBOSITY: Form = {"enum": ["low", "medium", "high", None]}

_SHARED_FIELDS: dict[str, Form] = {
    "store": nullable(FLAG),
    "metadata": PAIRS,
    "service_tier": _TIER,
    "prompt_cache_key": nullable(TEXT),
    "prompt_cache_retention": {"enum": ["in_memory", "24h", None]},
    "safety_identifier": {"type": ["string", "null"], "maxLength": 128},
    "temperature": number_between(0, 2),
    "top_p": number_between(0, 1),
    "top_logprobs": number_between(0, 20, whole=True),
    "stream": {"enum": [False, None]},
    "user": TEXT,
}

_RESPONSES_PART = any_of(
    record("type text", type=choice("input_text"), text=TEXT, prompt_cache_breakpoint=_BREAKPOINT),
    record(
        "type text",
        type=choice("output_text"),
        text=TEXT,
        annotations=list_of(ANYTHING),
        logprobs=list_of(ANYTHING),
    ),
)
_RESPONSES_MESSAGE = record(
    "role content",
    type=choice("message"),
    role=choice("system", "developer", "user", "assistant"),
    content=any_of(TEXT, list_of(_RESPONSES_PART, 1)),
    phase=ANYTHING,
    id=TEXT,
    status=TEXT,
)
_RESPONSES_FORMAT = any_of(
    record("type", type=choice("text")),
    record("type", type=choice("json_object")),
    record(
        "type name schema",
        type=choice("json_schema"),
        name=WORD,
        schema=OBJECT,
        strict=nullable(FLAG),
        description=TEXT,
    ),
)
_RESPONSES_TOOL = record(
    "type name",
    type=choice("function"),
    name=WORD,
    parameters=nullable(OBJECT),
    strict=nullable(FLAG),
    description=nullable(TEXT),
)
_RESPONSES_CHOICE = any_of(
    choice("none", "auto", "required"), record("type name", type=choice("function"), name=WORD)
)
_RESPONSES_CACHE = record(
    mode=choice("implicit", "explicit"),
    ttl=choice("30m", "12h"),
    prewarm=FLAG,
    comparison_response_id=nullable(TEXT),
)
_RESPONSES_FIELDS: dict[str, Form] = {
    **_SHARED_FIELDS,
    "model": WORD,
    "input": any_of(TEXT, list_of(_RESPONSES_MESSAGE, 1)),
    "instructions": nullable(TEXT),
    "max_output_tokens": number_between(16, whole=True),
    "reasoning": nullable(
        record(
            effort=_EFFORT,
            summary={"enum": ["auto", "concise", "detailed", None]},
            mode=TEXT,
            context={"enum": ["auto", "current_turn", "all_turns", None]},
        )
    ),
    "text": record(format=_RESPONSES_FORMAT, verbosity=_VERBOSITY),
    "tools": list_of(_RESPONSES_TOOL),
    "tool_choice": _RESPONSES_CHOICE,
    "parallel_tool_calls": nullable(FLAG),
    "max_tool_calls": number_between(1, whole=True),
    "prompt_cache_options": _RESPONSES_CACHE,
    "truncation": {"enum": ["auto", "disabled", None]},
    "background": {"enum": [False, None]},
    "include": nullable(list_of(TEXT)),
}
RESPONSES = BodyForm(record("model input", **_RESPONSES_FIELDS))

_CHAT_PART = {"type": choice("text"), "text": TEXT, "prompt_cache_breakpoint": _BREAKPOINT}
_CHAT_CALL = record(
    "id type function",
    id=TEXT,
    type=choice("function"),
    function=record("name arguments", name=WORD, arguments=TEXT),
)


def _chat_message(part: dict[str, Form]) -> Form:
    return record(
        "role content",
        role=choice("system", "developer", "user", "assistant"),
        content={"anyOf": [TEXT, list_of(record("type text", **part), 1), {"type": "null"}]},
        name=TEXT,
        refusal=nullable(TEXT),
        tool_calls=list_of(_CHAT_CALL),
    )


_CHAT_FORMAT = any_of(
    record("type", type=choice("text")),
    record("type", type=choice("json_object")),
    record(
        "type json_schema",
        type=choice("json_schema"),
        json_schema=record(
            "name", name=WORD, schema=OBJECT, strict=nullable(FLAG), description=TEXT
        ),
    ),
)
_CHAT_TOOL = record(
    "type function",
    type=choice("function"),
    function=record("name", name=WORD, parameters=OBJECT, strict=nullable(FLAG), description=TEXT),
)
_CHAT_CHOICE = any_of(
    choice("none", "auto", "required"),
    record("type function", type=choice("function"), function=record("name", name=WORD)),
)
_CHAT_FIELDS: dict[str, Form] = {
    **_SHARED_FIELDS,
    "model": WORD,
    "messages": list_of(_chat_message(_CHAT_PART), 1),
    "max_completion_tokens": number_between(1, whole=True),
    "max_tokens": number_between(1, whole=True),
    "response_format": _CHAT_FORMAT,
    "reasoning_effort": _EFFORT,
    "verbosity": _VERBOSITY,
    "tools": list_of(_CHAT_TOOL),
    "tool_choice": _CHAT_CHOICE,
    "parallel_tool_calls": FLAG,
    "n": {"enum": [1, None]},
    "seed": nullable({"type": "integer"}),
    "stop": nullable(any_of(TEXT, list_of(TEXT))),
    "logprobs": nullable(FLAG),
    "logit_bias": nullable({"type": "object", "additionalProperties": NUMBER}),
    "frequency_penalty": number_between(-2, 2),
    "presence_penalty": number_between(-2, 2),
    "prompt_cache_options": record(mode=choice("implicit", "explicit"), ttl=choice("30m")),
}
CHAT = BodyForm(record("model messages", **_CHAT_FIELDS))

_LAX_PART: dict[str, Form] = {
    **_CHAT_PART,
    "cache_control": nullable(record("type", type=choice("ephemeral"), ttl=choice("5m", "1h"))),
}
# A router passes on what it knows, and drops what it does not.
LAX_CHAT = BodyForm(
    {
        **record(
            "model messages", **(_CHAT_FIELDS | {"messages": list_of(_chat_message(_LAX_PART), 1)})
        ),
        "additionalProperties": True,
    }
)

_EXPIRY: Form = record(
    "anchor seconds",
    anchor=choice("created_at"),
    seconds=number_between(3_600, 2_592_000, whole=True),
)
BATCH = BodyForm(
    record(
        "input_file_id endpoint completion_window",
        input_file_id=WORD,
        endpoint=choice("/v1/responses", "/v1/chat/completions"),
        completion_window=WORD,
        metadata=PAIRS,
        output_expires_after=nullable(_EXPIRY),
    )
)
