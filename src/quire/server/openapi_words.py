"""OpenAPI words: what every parameter and field means, where its route does not say it itself."""

from typing import Any

from fastapi import FastAPI

from quire.server.field_words import FIELD_WORDS

WORDS = {
    "after": "Only what comes after this number.",
    "audit": "The number of an audit.",
    "batch": "The number of a batch.",
    "by": "What spend is told by, such as model, stage or day; several, parted by commas.",
    "call": "The number of a call.",
    "cursor": "What `next` of the page before said.",
    "delimiter": "What parts the columns of a CSV file; by default it is found out.",
    "document": "The number of a document.",
    "encoding": "How texts are encoded; by default it is found out.",
    "format": "The form of the export.",
    "keep": "A document of the same name stays in use beside the new one.",
    "key_column": "The column that names each row of a table.",
    "limit": "How many at most.",
    "name": "Its name.",
    "no": "Which item of the sample, from 0.",
    "ocr": "Read pictures of pages by character recognition.",
    "only": "Only results that stand so: confirmed, accepted, failed or unreviewed.",
    "q": "Words to look for.",
    "ref": "A schema's name, or name@version.",
    "run": "The number of a run.",
    "score_max": "Only results whose lowest critic's score is not above this.",
    "score_min": "Only results whose lowest critic's score is not below this.",
    "seed": "What draws the sample; the same seed draws the same.",
    "since": "Only what changed at or after this moment.",
    "skip_bad_rows": "Leave out rows of a table that cannot be read, instead of the file.",
    "stage": "The name of a stage of the recipe.",
    "state": "Only those in this state.",
    "task": "The number of a task.",
    "text_column": "The column of a table that holds the text.",
    "token": "The number of a token.",
    "webhook": "The number of a webhook.",
}


def describe_document(app: FastAPI) -> None:
    """Let the app's description say of every parameter and every field what it is."""
    make = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = make()
            _describe_parameters(document)
            _describe_fields(document)
        return make()

    app.openapi = openapi  # type: ignore[method-assign]  # as FastAPI's documentation says


def _describe_parameters(document: dict[str, Any]) -> None:
    for route in document["paths"].values():
        for operation in route.values():
            for parameter in operation.get("parameters", ()):
                parameter.setdefault("description", WORDS.get(parameter["name"], ""))


def _describe_fields(document: dict[str, Any]) -> None:
    for name, shape in document["components"]["schemas"].items():
        for field, said in shape.get("properties", {}).items():
            words = FIELD_WORDS.get(f"{name}.{field}") or FIELD_WORDS.get(field, "")
            said.setdefault("description", words)
