"""The shape of the code: short files, short functions, plain names, and a pure core."""

import ast
import gc
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from quire.ledger.statements import migrations

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "quire"
CODE = ("src", "tests", "benchmarks", "scripts")
TEXT = (*CODE, "docs", "examples", ".ci")
TEXT_ENDINGS = {".cfg", ".csv", ".json", ".jsonl", ".md", ".py", ".sh", ".sql", ".toml", ".txt", ""}

PURE = ("domain", "plan", "gates", "simulated")
NEVER_SWALLOWS = ("domain", "plan", "gates", "pipeline", "ledger")
PLUGIN_CALLERS = (  # ask what others wrote, which may raise anything
    "src/quire/gates/chain.py",  # gates
    "src/quire/domain/class_schemas.py",  # classes
)
VAGUE = {"base", "common", "helper", "helpers", "manager", "managers", "misc", "util", "utils"}

# Participles without -ed; those that are verbs as they stand (read, run, put, set, split) may be.
IRREGULAR = re.compile(
    "become|been|begun|born|bought|bound|broken|brought|built|caught|chosen|dealt|done|drawn"
    "|driven|eaten|fallen|fed|felt|flown|forgotten|fought|found|frozen|given|gone|got|grown"
    "|had|heard|held|hidden|kept|known|laid|led|left|lent|lit|lost|made|meant|met|paid|ridden"
    "|risen|said|sat|seen|sent|shaken|shown|slept|sold|sought|spent|spoken|stolen|stood|struck"
    "|sung|sunk|swept|sworn|taken|taught|thought|thrown|told|torn|understood|won|worn|woken"
    "|written"
)
VERBS_IN_ED = {"embed", "exceed", "feed", "need", "proceed", "seed", "shed", "succeed"}
KEPT_PARTICIPLES = {
    ("RemoteProgress", "done"),  # as of `Progress`: the words of `quire status --json`
    ("RemoteProgress", "failed"),
    ("RunProgress", "done"),
    ("RunProgress", "failed"),
    ("Progress", "done"),  # counts that callers of quire.open(…) read
    ("StageProgress", "expanded"),
    ("Ingestion", "skipped"),
    ("Progress", "failed"),
    ("Progress", "held"),
    ("Forecast", "expected"),  # the same, and a key of `quire plan --json`
}

# Figures of speech that once named things here; each thing has its plain name now.
WITHDRAWN = re.compile(
    "cook|dish(es)?|doors?|means|offices?|outside|patients?|scenes?|shelf|shelves|strangers?"
    "|surroundings|told"
)
KEPT_WORDS = {"strangers"}  # a column of batches, and a key of `quire batches --json`

EACH = re.compile(r"each(?<![^\W_]each)_*\b")  # begins with letters, which are found quickly

# Folders whose modules are slots: one file for each vendor, dialect, table, gate, format, command.
SLOTS = {"providers", "rehearsal/vendor_apis", "ledger/tables", "gates", "sources", "export", "cli"}

HOSTS = re.compile("|".join((r"pypi\." "org", r"pythonhosted\." "org", r"pypi\." "python")))
MACHINE_PATHS = re.compile(r"(?<![\w.~*-])/(?:root|home|Users|work|workspace|mnt|srv)/\w")


@pytest.fixture(scope="module", autouse=True)
def _trees() -> Iterator[None]:
    """What is read here is kept: to look for garbage in it takes longer than to read it."""
    gc.disable()
    yield
    for kept in (_tree, _nodes, _statements, _identifiers):
        kept.cache_clear()
    gc.enable()


def test_no_module_is_longer_than_450_lines() -> None:
    long = [_name(path) for path in _modules(*CODE) if len(path.read_text().splitlines()) > 450]

    assert long == []


def test_every_migration_has_a_number_of_its_own() -> None:
    names = sorted(path.name for path in (SOURCE / "ledger/sql/migrations").glob("*.sql"))

    assert [int(name[:4]) for name in names] == list(range(1, len(names) + 1))


def test_no_function_is_longer_than_40_lines() -> None:
    long = [
        f"{_name(path)}:{node.lineno} {node.name}"
        for path in _modules(*CODE)
        for _, node in _functions(path)
        if (node.end_lineno or 0) - node.lineno + 1 > 40
    ]

    assert long == []


def test_every_module_says_in_its_first_line_what_it_is_for() -> None:
    silent = [_name(path) for path in _modules("src") if not _says_its_purpose(path)]

    assert silent == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    vague = [
        _name(path)
        for path in _modules("src")
        if VAGUE
        & {part.strip("_").lower() for part in path.relative_to(ROOT).with_suffix("").parts}
    ]

    assert vague == []


def test_a_function_is_named_by_a_verb_or_a_noun_and_never_by_a_bare_participle() -> None:
    participles = [
        f"{_name(path)}:{function.lineno} {function.name}"
        for path in (*_modules("src", "benchmarks", "scripts"), *_test_helpers())
        for owner, function in _functions(path)
        if _is_participle(function.name) and (owner, function.name) not in KEPT_PARTICIPLES
    ]

    assert participles == []


def test_a_loop_variable_is_named_by_the_thing() -> None:
    unnamed = [
        f"{_name(path)}:{line}"
        for path in _modules(*CODE)
        if EACH.search(path.read_text())  # few files, and walking all takes seconds
        for name, line in _identifiers(path)
        if name.strip("_") == "each"
    ]

    assert unnamed == []


def test_no_identifier_is_a_figure_of_speech() -> None:
    figures = [
        f"{_name(path)}:{line} {name}"
        for path in (*_modules("src", "benchmarks", "scripts"), *_test_helpers())
        for name, line in _identifiers(path)
        if name not in KEPT_WORDS
        and any(WITHDRAWN.fullmatch(word.lower()) for word in re.findall("[A-Z]?[a-z]+", name))
    ]

    assert figures == []


def test_a_class_name_exists_once() -> None:
    counts = Counter(
        node.name
        for path in _modules("src")
        if not _is_vendor(path)
        for _, node in _statements(path)
        if isinstance(node, ast.ClassDef)
    )

    assert [name for name, count in counts.items() if count > 1] == []


def test_a_module_name_exists_once_in_a_layer_unless_it_is_a_slot() -> None:
    counts = Counter(
        (path.relative_to(SOURCE).parts[0], path.stem)
        for path in _modules("src/quire")
        if path.stem != "__init__" and str(path.parent.relative_to(SOURCE)) not in SLOTS
    )

    assert [name for name, count in counts.items() if count > 1] == []


def test_every_name_that_a_docstring_quotes_exists() -> None:
    columns = re.findall(
        r"(\w+) (?:TEXT|INTEGER|BLOB|REAL)\b", "".join(migrations("sqlite").values())
    )
    known = {name for path in _modules("src") for name in _defined_names(path)}.union(columns)
    unknown = [
        f"{_name(path)}:{line} {name}"
        for path in _modules("src")
        for name, line in _unknown_names(path, known)
    ]

    assert unknown == []


def test_the_core_neither_opens_files_nor_prints() -> None:
    impure = [
        f"{_name(path)}:{node.lineno}"
        for path in _modules(*(f"src/quire/{package}" for package in PURE))
        for node in _nodes(path)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"open", "print", "input"}
    ]

    assert impure == []


def test_rules_verbs_and_the_ledger_never_swallow_every_error() -> None:
    swallowing = [
        f"{_name(path)}:{line}"
        for path in _modules(*(f"src/quire/{package}" for package in NEVER_SWALLOWS))
        if _name(path) not in PLUGIN_CALLERS
        for line in _swallows(path)
    ]

    assert swallowing == []


def test_a_loop_swallows_every_error_at_most_once() -> None:
    counts = {_name(path): len(_swallows(path)) for path in _modules("src/quire/dispatch")}

    assert {name: count for name, count in counts.items() if count > 1} == {}


def test_the_public_names_are_those_that_the_package_lists() -> None:
    package = import_module("quire")
    listed = list(getattr(package, "__all__", []))

    assert sorted(listed) == sorted(_typed_names(_tree(SOURCE / "__init__.py")) | {"__version__"})
    assert [name for name in listed if not hasattr(package, name)] == []


def test_no_file_names_a_package_registry_or_a_path_of_one_machine() -> None:
    found = [
        f"{_name(path)}: {match.group()}"
        for path in _texts()
        for pattern in (HOSTS, MACHINE_PATHS)
        for match in pattern.finditer(path.read_text(errors="replace"))
    ]

    assert found == []


def _modules(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def _test_helpers() -> list[Path]:
    return [path for path in _modules("tests") if not path.name.startswith("test_")]


def _is_vendor(path: Path) -> bool:
    return path.is_relative_to(SOURCE / "rehearsal" / "vendor_apis")


def _is_participle(name: str) -> bool:
    word = name.strip("_")
    regular = re.fullmatch("[a-z]+ed", word) and word not in VERBS_IN_ED
    return bool(regular or IRREGULAR.fullmatch(word))


def _functions(path: Path) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Every function, with the name of the class that it is a part of."""
    for owner, node in _statements(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield owner, node


@cache
def _statements(path: Path) -> list[tuple[str, ast.AST]]:
    """All but expressions, in which nothing is defined, with the class that each is a part of."""
    found = list[tuple[str, ast.AST]]()
    left: list[tuple[str, ast.AST]] = [("", _tree(path))]
    while left:
        owner, node = left.pop()
        found.append((owner, node))
        inner = node.name if isinstance(node, ast.ClassDef) else owner
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                left.append((inner, child))
    return found


@cache
def _identifiers(path: Path) -> set[tuple[str, int]]:
    """Every name that something is given or used by, with its line."""
    found = set[tuple[str, int]]()
    for node in _nodes(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add((node.name, node.lineno))
        elif isinstance(node, ast.Name):
            found.add((node.id, node.lineno))
        elif isinstance(node, ast.Attribute):
            found.add((node.attr, node.lineno))
        elif isinstance(node, ast.arg | ast.keyword) and node.arg:
            found.add((node.arg, node.lineno))
    return found


def _unknown_names(path: Path, known: set[str]) -> Iterator[tuple[str, int]]:
    """Single words in backticks that name nothing here, nor anything known, with their lines."""
    here = set[str]()
    for _, node in _statements(path):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for name in re.findall(r"`([A-Za-z_]\w*)`", ast.get_docstring(node) or ""):
                if name not in known:
                    here = here or {name for name, _ in _identifiers(path)}
                if name not in known | here:
                    yield name, getattr(node, "lineno", 1)


def _defined_names(path: Path) -> Iterator[str]:
    """Functions and classes; keys and values, which the code has as texts."""
    for node in _nodes(path):
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.name
            case ast.Constant(value=str(text)):
                yield text


def _texts() -> Iterator[Path]:
    inside = (path for folder in TEXT for path in (ROOT / folder).rglob("*"))
    for path in (*ROOT.glob("[!.]*"), *inside):
        if path.is_file() and path.suffix in TEXT_ENDINGS and path.stat().st_size < 1_000_000:
            yield path


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def _nodes(path: Path) -> list[ast.AST]:
    """All that is written in it: to go through a tree takes as long as to read it."""
    return list(ast.walk(_tree(path)))


def _says_its_purpose(path: Path) -> bool:
    first, *rest = (ast.get_docstring(_tree(path)) or "").split("\n")
    return re.fullmatch(r"\S.+\.", first) is not None and (not rest or rest[0] == "")


def _swallows(path: Path) -> list[int]:
    """Lines of handlers that catch everything and do not raise it again."""
    return [
        node.lineno
        for node in _nodes(path)
        if isinstance(node, ast.ExceptHandler)
        and _catches_everything(node.type)
        and not (isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None)
    ]


def _catches_everything(caught: ast.expr | None) -> bool:
    names: Iterable[ast.expr | None] = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(
        name is None or (isinstance(name, ast.Name) and name.id in {"Exception", "BaseException"})
        for name in names
    )


def _typed_names(tree: ast.Module) -> set[str]:
    """Names that a type checker sees; they are imported for real only when they are asked for."""
    return {
        alias.asname or alias.name
        for branch in tree.body
        if isinstance(branch, ast.If)
        for node in branch.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
