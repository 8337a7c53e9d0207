"""Options that say what is asked, a schema or a recipe, as the engine's arguments."""

import sys
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date, time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from quire.cli.options import option
from quire.cli.printing import note, quantity
from quire.cli.session import session
from quire.domain.data import Json
from quire.domain.errors import NotFound, UsageError

if TYPE_CHECKING:
    from quire.domain.ids import DocumentId
    from quire.domain.recipes import Recipe
    from quire.engine import Engine, Order, Parameter, RecipeFile
    from quire.engine.library import Over

MOST_NAMED = 3  # documents in a line


MaybeSchema = Annotated[
    str | None, option("NAME", "A kept schema, or a schema's file.", "--schema", "-s")
]
RecipeName = Annotated[
    str | None,
    option("NAME", "In the place of a schema: a recipe, or a recipe's file.", "--recipe", "-r"),
]
Models = Annotated[
    str | None,
    option(
        "MODEL,MODEL…",
        "The models of a recipe's run, in the place of --model; the first is its own.",
        "--models",
    ),
]
Params = Annotated[
    list[str] | None, option("NAME=VALUE", "A parameter of the recipe; may be repeated.", "--param")
]
Inputs = Annotated[
    list[str] | None,
    option(
        "NAME=PATH",
        "Files for an input of the recipe, a document by number or title, or the results of a run's"
        " stage: run:7/thesis; may be repeated.",
        "--input",
    ),
]
Prompt = Annotated[
    str | None,
    option(
        "FILE", "The text of the recipe's prompt, such as a brief; - reads it here.", "--prompt"
    ),
]
Attachments = Annotated[
    list[str] | None,
    option(
        "PATH",
        "Files or folders for the recipe to read; may be repeated.",
        "--attach",
    ),
]
Per = Annotated[
    str | None,
    option(
        "UNIT",
        "What one record is of: block, document, section (section:2 by headings of the second"
        " level) or page (block).",
        "--per",
    ),
]
BlockTypes = Annotated[
    list[str] | None,
    option(
        "TYPE,TYPE…",
        "Ask about blocks of these types only: paragraph, table…; may be repeated.",
        "--block-type",
    ),
]
StopAfter = Annotated[
    str | None,
    option(
        "STAGE",
        "Carry out this stage and what it needs, nothing after it; `quire resume` goes on.",
        "--stop-after",
    ),
]
ReuseRun = Annotated[
    int | None,
    option("RUN", "Keep this run's results of what comes before --from, at no cost.", "--reuse"),
]
FromStage = Annotated[
    str | None, option("STAGE", "With --reuse: the first stage to ask again.", "--from")
]
Wallet = Annotated[
    str | None, option("NAME", "Spend only what this wallet holds; `quire wallet`.", "--wallet")
]
Budget = Annotated[
    str | None,
    option(
        "AMOUNT",
        "Dollars that it may spend in all; it is held when they are used up. Given again, it"
        " changes.",
        "--budget",
    ),
]
Person = Annotated[
    str | None,
    option("NAME", "Whose run it is: keys of theirs are used first; `quire keys add`.", "--person"),
]
StageName = Annotated[
    str | None,
    option(
        "STAGE",
        "A stage of the recipe, by default the last one; export takes all as well.",
        "--stage",
    ),
]


TEXT_KIND = "string"


class TypedOrder(NamedTuple):
    """What was typed of what is to be asked, and about what."""

    schema: str | None
    recipe: str | None
    document: Sequence[str] | None = None
    param: Sequence[str] | None = None
    input: Sequence[str] | None = None
    stop_after: str | None = None
    reuse: int | None = None
    from_stage: str | None = None
    models: str | None = None
    prompt: str | None = None
    attach: Sequence[str] | None = None
    per: str | None = None
    block_type: Sequence[str] | None = None


def reuse_from_options(run: int | None, from_stage: str | None) -> tuple[int, str] | None:
    """Whose results are kept, and up to where; one without the other says too little."""
    if run is None and from_stage is None:
        return None
    if run is None or from_stage is None:
        raise UsageError("--reuse RUN and --from STAGE go together: what is kept, and up to where")
    return run, from_stage


def order_from_options(
    engine: "Engine", typed: TypedOrder, model: str | None, policy: Mapping[str, Json]
) -> "Order":
    """The order that was typed; what only recipes know is refused of a schema."""
    if (typed.schema is None) == (typed.recipe is None):
        raise UsageError("give --schema NAME or --recipe NAME, one of the two")
    if typed.recipe is None:
        _refuse_recipe_options(typed)
    elif typed.per or typed.block_type:
        name = "--per" if typed.per else "--block-type"
        raise UsageError(f"{name} is for schemas: a recipe's stages say what they are about")
    order = engine.orders.resolve(
        schema=typed.schema,
        recipe=typed.recipe,
        model=model,
        models=None if typed.models is None else typed.models.split(","),
        over=_select_inputs(engine, typed),
        parameters=_read_parameters(engine, typed),
        stop_after=typed.stop_after,
        reuse=reuse_from_options(typed.reuse, typed.from_stage),
        per=typed.per,
        policy=policy,
    )
    order = engine.orders.with_blocks(order, typed.block_type or ())
    if typed.per == "page":
        whole = engine.library.find_unpaged([document for document, _ in order.inputs])
        if whole:
            have = quantity(len(whole), "document has", "documents have")
            note(f"{have} no pages, and {'is' if len(whole) == 1 else 'are'} asked about as one")
    return order


def _refuse_recipe_options(typed: TypedOrder) -> None:
    recipe_only = {"--param": typed.param, "--input": typed.input, "--reuse": typed.reuse}
    recipe_only |= {"--stop-after": typed.stop_after, "--from": typed.from_stage}
    recipe_only |= {"--models": typed.models, "--prompt": typed.prompt, "--attach": typed.attach}
    for name, value in recipe_only.items():
        if value:
            raise UsageError(f"{name} is for recipes: it goes with --recipe, not with --schema")


def _read_parameters(engine: "Engine", typed: TypedOrder) -> dict[str, Json]:
    """Parameters by name, each read as the recipe declares it; the recipe checks them."""
    if not typed.param and typed.prompt is None:
        return {}
    file = _open_recipe(engine, typed)
    declared, values = file.parameters, dict[str, Json]()
    if typed.prompt is not None:
        name = next((item.name for item in declared.values() if item.prompt), None)
        if name is None:
            said = f"{file.recipe.name} takes no --prompt"
            raise UsageError(
                f"{said}: none of its parameters has prompt = true; --param gives those"
            )
        values[name] = _read_prompt(typed.prompt)
    for text in typed.param or ():
        name, value = _split_pair("--param", "NAME=VALUE", text)
        if name in values:
            raise UsageError(f"--param {name} is given twice")
        values[name] = _read_value(declared, name, value)
    return values


def _open_recipe(engine: "Engine", typed: TypedOrder) -> "RecipeFile":
    from quire.engine.recipe_list import RecipeList

    return RecipeList(engine.registry).open(typed.recipe or "")


def _read_prompt(where: str) -> str:
    """The text of a file, or of what is typed here."""
    try:
        raw = sys.stdin.buffer.read() if where == "-" else Path(where).read_bytes()
        text = raw.decode("utf-8-sig").strip()
    except OSError as error:
        raise UsageError(f"--prompt {where}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"--prompt {where} is not UTF-8 at byte {error.start}") from None
    if not text:
        raise UsageError(f"--prompt {where} holds no text")
    return text


def _read_value(declared: "Mapping[str, Parameter]", name: str, text: str) -> Json:
    """A value as TOML says it; text needs no quotes where the recipe wants text."""
    if name not in declared or declared[name].kind == TEXT_KIND:
        return text
    try:
        value = tomllib.loads(f"it = {text}")["it"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text  # whoever checks it says what is wanted
    return text if isinstance(value, date | time) else value


def _select_inputs(engine: "Engine", typed: TypedOrder) -> "Over":
    if typed.input and typed.document:
        raise UsageError("give --input or --document, not both: --input names documents too")
    if typed.attach and typed.document:
        raise UsageError("give --attach or --document, not both: --attach names documents too")
    if typed.document:
        found: list[DocumentId] = []
        for name in typed.document:
            found += _result_documents(engine, name) or engine.library.resolve_documents([name])
        return found
    if not typed.input and not typed.attach:
        return None
    named: dict[str, list[DocumentId]] = defaultdict(list)
    for text in typed.input or ():
        name, where = _split_pair("--input", "NAME=PATH", text)
        named[name] += _find_documents(engine, where)
    attached = [
        document for where in typed.attach or () for document in _find_documents(engine, where)
    ]
    if not attached:
        return dict(named)
    name = _attached_input(_open_recipe(engine, typed).recipe)
    return {**named, name: [*named[name], *attached]} if name else attached


def _attached_input(recipe: "Recipe") -> str:
    """The input that what is attached belongs to; "" where there is one, without a name."""
    if recipe.attach or not recipe.inputs:
        return recipe.attach
    if len(recipe.inputs) > 1:
        options = " ".join(f"--input {name}=PATH" for name in recipe.inputs)
        raise UsageError(f"{recipe.name} has several inputs, and --attach names none: {options}")
    return recipe.inputs[0]


def _result_documents(engine: "Engine", name: str) -> "list[DocumentId]":
    """The documents of results, where it is those that are named."""
    found = engine.library.find_result_documents(name)
    if found is None:
        return []
    if found.missing:
        tasks = quantity(found.missing, "task")
        note(f"{name}: {quantity(len(found.documents), 'result')}; {tasks} came to none")
    return [*found.documents]


def _find_documents(engine: "Engine", where: str) -> "list[DocumentId]":
    """Documents of files, which are taken in on the way, or one that is in the ledger."""
    if not (Path(where).exists() or any(name in where for name in "*?[")):
        if results := _result_documents(engine, where):
            return results
        try:
            return engine.library.resolve_documents([where])
        except NotFound:
            raise NotFound(
                f"there is no such file or document: {where!r}; `quire documents` lists documents"
            ) from None
    ingestion = engine.ingest(where, aside=True)
    for line in ingestion.refused:
        note(f"quire: {line}")
    if not ingestion.documents:
        raise UsageError(f"nothing of {where} could be read")
    return [document.document_id for document in ingestion.documents]


def _split_pair(option: str, form: str, typed: str) -> tuple[str, str]:
    name, sign, value = typed.partition("=")
    if not sign or not name.strip():
        raise UsageError(f"{option} takes {form}, not {typed!r}")
    return name.strip(), value


def tell_earlier(context: typer.Context, engine: "Engine", order: "Order") -> None:
    """Tell it, unless nobody wants to be told anything."""
    if not session(context).quiet and (again := _earlier_note(engine, order)):
        note(again)


def _earlier_note(engine: "Engine", order: "Order") -> str:
    """Say that a new run asks again what an earlier one has answers to; "" where none has."""
    found = engine.orders.earlier_answers(order)
    if found is None:
        return ""
    what = "this"
    if found.blocks is not None:
        what = f"{found.answered:,} of these {quantity(found.blocks, 'block')}"
    settings = f", with other settings ({', '.join(found.settings)})" if found.settings else ""
    ways = f"`quire attach {found.run_id}` goes on with it"
    if 0 < len(found.new_documents) <= MOST_NAMED:
        flags = " ".join(f"--document {document}" for document in found.new_documents)
        ways = f"`{flags}` asks only about what is new, {ways}"
    answers = f"run {found.run_id} has answers to {what} already{settings}"
    return f"{answers}; a new run asks all again: {ways}"
