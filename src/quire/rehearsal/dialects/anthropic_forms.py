"""The forms of the bodies that Anthropic's endpoints take."""

from quire.rehearsal.dialects.forms import (
    ANYTHING,
    FLAG,
    OBJECT,
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

_CACHE = maybe(closed({"type": choice("ephemeral"), "ttl": choice("5m", "1h")}, ["type"]))
_TEXT_BLOCK = closed(
    {
        "type": choice("text"),
        "text": WORD,
        "cache_control": _CACHE,
        "citations": maybe({"type": "array", "maxItems": 0}),
    },
    ["type", "text"],
)
_MESSAGE = closed(
    {
        "role": choice("user", "assistant"),
        "content": either(WORD, several(_TEXT_BLOCK, 1)),
    },
    ["role", "content"],
)
_DISPLAY: Form = {"enum": ["summarized", "omitted", None]}
_THINKING = either(
    closed({"type": choice("adaptive"), "display": _DISPLAY}, ["type"]),
    closed(
        {
            "type": choice("enabled"),
            "budget_tokens": {"type": "integer", "minimum": 1024},
            "display": _DISPLAY,
        },
        ["type", "budget_tokens"],
    ),
    closed({"type": choice("disabled", "between_tools")}, ["type"]),
)
_TOOL = closed(
    {
        "type": {"enum": ["custom", None]},
        "name": {"type": "string", "pattern": "^[a-zA-Z0-9_-]{1,128}$"},
        "description": TEXT,
        "input_schema": {
            "type": "object",
            "properties": {"type": choice("object")},
            "required": ["type"],
        },
        "cache_control": _CACHE,
        "strict": FLAG,
        "input_examples": several(OBJECT),
        "eager_input_streaming": maybe(FLAG),
    },
    ["name", "input_schema"],
)
_CHOICE = either(
    closed({"type": choice("auto", "any"), "disable_parallel_tool_use": FLAG}, ["type"]),
    closed({"type": choice("none")}, ["type"]),
    closed(
        {"type": choice("tool"), "name": WORD, "disable_parallel_tool_use": FLAG}, ["type", "name"]
    ),
)
_OUTPUT = closed(
    {
        "effort": {"enum": ["low", "medium", "high", "xhigh", "max", None]},
        "format": maybe(
            closed({"type": choice("json_schema"), "schema": OBJECT}, ["type", "schema"])
        ),
    }
)
_COUNTED: dict[str, Form] = {
    "model": WORD,
    "messages": {"type": "array", "items": _MESSAGE, "minItems": 1, "maxItems": 100_000},
    "system": either(TEXT, several(_TEXT_BLOCK)),
    "output_config": _OUTPUT,
    "thinking": _THINKING,
    "tools": several(_TOOL),
    "tool_choice": _CHOICE,
    "cache_control": _CACHE,
    "speed": {"enum": ["standard", "fast", None]},
}
_FIELDS: dict[str, Form] = {
    **_COUNTED,
    "max_tokens": {"type": "integer", "minimum": 0},
    "metadata": closed({"user_id": maybe(TEXT)}),
    "service_tier": choice("auto", "standard_only"),
    "stop_sequences": several(WORD),
    "inference_geo": maybe(TEXT),
    "diagnostics": maybe(ANYTHING),
    "stream": {"enum": [False, None]},
}
MESSAGES = Body(closed(_FIELDS, ["model", "messages", "max_tokens"]))
# The version before took what steers chance.
OLDER_MESSAGES = Body(
    closed(
        {
            **_FIELDS,
            "temperature": between(0, 1),
            "top_p": between(0, 1),
            "top_k": between(0, whole=True),
        },
        ["model", "messages", "max_tokens"],
    )
)
COUNTING = Body(closed(_COUNTED, ["model", "messages"]))
