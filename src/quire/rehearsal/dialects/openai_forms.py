"""The forms of the bodies that OpenAI's endpoints take."""

from quire.rehearsal.dialects.forms import (
    ANYTHING,
    FLAG,
    NUMBER,
    OBJECT,
    PAIRS,
    TEXT,
    WORD,
    Body,
    Form,
    between,
    choice,
    closed,
    either,
    maybe,
    several,
)

_BREAKPOINT: Form = closed({"mode": choice("explicit"), "ttl": choice("30m", "12h")}, ["mode"])
_EFFORT: Form = {"enum": ["none", "minimal", "low", "medium", "high", "xhigh", "max", None]}
_TIER: Form = {"enum": ["auto", "default", "flex", "scale", "priority", "fast", "ultrafast", None]}
_VERBOSITY: Form = {"enum": ["low", "medium", "high", None]}

_RESPONSES_PART = either(
    closed(
        {"type": choice("input_text"), "text": TEXT, "prompt_cache_breakpoint": _BREAKPOINT},
        ["type", "text"],
    ),
    closed(
        {
            "type": choice("output_text"),
            "text": TEXT,
            "annotations": several(ANYTHING),
            "logprobs": several(ANYTHING),
        },
        ["type", "text"],
    ),
)
_RESPONSES_MESSAGE = closed(
    {
        "type": choice("message"),
        "role": choice("system", "developer", "user", "assistant"),
        "content": either(TEXT, several(_RESPONSES_PART, 1)),
        "phase": ANYTHING,
        "id": TEXT,
        "status": TEXT,
    },
    ["role", "content"],
)
_RESPONSES_FORMAT = either(
    closed({"type": choice("text")}, ["type"]),
    closed({"type": choice("json_object")}, ["type"]),
    closed(
        {
            "type": choice("json_schema"),
            "name": WORD,
            "schema": OBJECT,
            "strict": maybe(FLAG),
            "description": TEXT,
        },
        ["type", "name", "schema"],
    ),
)
_RESPONSES_TOOL = closed(
    {
        "type": choice("function"),
        "name": WORD,
        "parameters": maybe(OBJECT),
        "strict": maybe(FLAG),
        "description": maybe(TEXT),
    },
    ["type", "name"],
)
_RESPONSES_CHOICE = either(
    choice("none", "auto", "required"),
    closed({"type": choice("function"), "name": WORD}, ["type", "name"]),
)
_RESPONSES_CACHE = closed(
    {
        "mode": choice("implicit", "explicit"),
        "ttl": choice("30m", "12h"),
        "prewarm": FLAG,
        "comparison_response_id": maybe(TEXT),
    }
)
_RESPONSES_FIELDS: dict[str, Form] = {
    "model": WORD,
    "input": either(TEXT, several(_RESPONSES_MESSAGE, 1)),
    "instructions": maybe(TEXT),
    "max_output_tokens": between(16, whole=True),
    "reasoning": maybe(
        closed(
            {
                "effort": _EFFORT,
                "summary": {"enum": ["auto", "concise", "detailed", None]},
                "mode": TEXT,
                "context": {"enum": ["auto", "current_turn", "all_turns", None]},
            }
        )
    ),
    "text": closed({"format": _RESPONSES_FORMAT, "verbosity": _VERBOSITY}),
    "tools": several(_RESPONSES_TOOL),
    "tool_choice": _RESPONSES_CHOICE,
    "parallel_tool_calls": maybe(FLAG),
    "max_tool_calls": between(1, whole=True),
    "store": maybe(FLAG),
    "metadata": PAIRS,
    "service_tier": _TIER,
    "prompt_cache_key": maybe(TEXT),
    "prompt_cache_options": _RESPONSES_CACHE,
    "prompt_cache_retention": {"enum": ["in_memory", "24h", None]},
    "safety_identifier": {"type": ["string", "null"], "maxLength": 128},
    "truncation": {"enum": ["auto", "disabled", None]},
    "temperature": between(0, 2),
    "top_p": between(0, 1),
    "top_logprobs": between(0, 20, whole=True),
    "background": {"enum": [False, None]},
    "stream": {"enum": [False, None]},
    "include": maybe(several(TEXT)),
    "user": TEXT,
}
RESPONSES = Body(closed(_RESPONSES_FIELDS, ["model", "input"]))

_CHAT_PART: dict[str, Form] = {
    "type": choice("text"),
    "text": TEXT,
    "prompt_cache_breakpoint": _BREAKPOINT,
}
_CHAT_CALL = closed(
    {
        "id": TEXT,
        "type": choice("function"),
        "function": closed({"name": WORD, "arguments": TEXT}, ["name", "arguments"]),
    },
    ["id", "type", "function"],
)


def _chat_message(part: dict[str, Form]) -> Form:
    return closed(
        {
            "role": choice("system", "developer", "user", "assistant"),
            "content": {
                "anyOf": [TEXT, several(closed(part, ["type", "text"]), 1), {"type": "null"}]
            },
            "name": TEXT,
            "refusal": maybe(TEXT),
            "tool_calls": several(_CHAT_CALL),
        },
        ["role", "content"],
    )


_CHAT_FORMAT = either(
    closed({"type": choice("text")}, ["type"]),
    closed({"type": choice("json_object")}, ["type"]),
    closed(
        {
            "type": choice("json_schema"),
            "json_schema": closed(
                {"name": WORD, "schema": OBJECT, "strict": maybe(FLAG), "description": TEXT},
                ["name"],
            ),
        },
        ["type", "json_schema"],
    ),
)
_CHAT_TOOL = closed(
    {
        "type": choice("function"),
        "function": closed(
            {
                "name": WORD,
                "parameters": OBJECT,
                "strict": maybe(FLAG),
                "description": TEXT,
            },
            ["name"],
        ),
    },
    ["type", "function"],
)
_CHAT_CHOICE = either(
    choice("none", "auto", "required"),
    closed(
        {"type": choice("function"), "function": closed({"name": WORD}, ["name"])},
        ["type", "function"],
    ),
)
_CHAT_FIELDS: dict[str, Form] = {
    "model": WORD,
    "messages": several(_chat_message(_CHAT_PART), 1),
    "max_completion_tokens": between(1, whole=True),
    "max_tokens": between(1, whole=True),
    "response_format": _CHAT_FORMAT,
    "reasoning_effort": _EFFORT,
    "verbosity": _VERBOSITY,
    "tools": several(_CHAT_TOOL),
    "tool_choice": _CHAT_CHOICE,
    "parallel_tool_calls": FLAG,
    "n": {"enum": [1, None]},
    "seed": maybe({"type": "integer"}),
    "stop": maybe(either(TEXT, several(TEXT))),
    "logprobs": maybe(FLAG),
    "top_logprobs": between(0, 20, whole=True),
    "logit_bias": maybe({"type": "object", "additionalProperties": NUMBER}),
    "frequency_penalty": between(-2, 2),
    "presence_penalty": between(-2, 2),
    "temperature": between(0, 2),
    "top_p": between(0, 1),
    "store": maybe(FLAG),
    "metadata": PAIRS,
    "service_tier": _TIER,
    "prompt_cache_key": maybe(TEXT),
    "prompt_cache_options": closed({"mode": choice("implicit", "explicit"), "ttl": choice("30m")}),
    "prompt_cache_retention": {"enum": ["in_memory", "24h", None]},
    "safety_identifier": {"type": ["string", "null"], "maxLength": 128},
    "stream": {"enum": [False, None]},
    "user": TEXT,
}
CHAT = Body(closed(_CHAT_FIELDS, ["model", "messages"]))

_LAX_PART: dict[str, Form] = {
    **_CHAT_PART,
    "cache_control": maybe(
        closed({"type": choice("ephemeral"), "ttl": choice("5m", "1h")}, ["type"])
    ),
}
# A router passes on what it knows, and drops what it does not.
LAX_CHAT = Body(
    {
        **closed(
            {**_CHAT_FIELDS, "messages": several(_chat_message(_LAX_PART), 1)},
            ["model", "messages"],
        ),
        "additionalProperties": True,
    }
)

_LASTING: Form = closed(
    {"anchor": choice("created_at"), "seconds": between(3_600, 2_592_000, whole=True)},
    ["anchor", "seconds"],
)
BATCH = Body(
    closed(
        {
            "input_file_id": WORD,
            "endpoint": choice("/v1/responses", "/v1/chat/completions"),
            "completion_window": WORD,
            "metadata": PAIRS,
            "output_expires_after": maybe(_LASTING),
        },
        ["input_file_id", "endpoint", "completion_window"],
    )
)
