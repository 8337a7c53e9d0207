"""No program logic reads a sentence: kinds and fields decide, words are made of them at the end.

Held on the syntax tree: nothing in src/quire takes a text apart, searches it or compares it where
its name says that it is a sentence. What may is listed below, each with its reason.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src" / "quire"

# What sentences are called, with or without something before (`end_reason`) or an s at the end.
NAMES = {"detail", "error", "reason", "message", "problem", "said", "why", "fix", "words"}
NAMES |= {"cause", "headline", "hint", "mistake", "recorded", "remark", "summary", "waits_for"}

# How texts are read. Cutting one to a length, joining and quoting are not reading.
METHODS = {"startswith", "endswith", "partition", "rpartition", "split", "rsplit", "splitlines"}
METHODS |= {"removeprefix", "removesuffix", "replace", "find", "rfind", "index", "rindex", "count"}
METHODS |= {"lower", "upper", "casefold", "strip", "lstrip", "rstrip", "translate"}
ABOUT_BLANKS = {"split", "strip", "lstrip", "rstrip"}  # where they are given nothing
PATTERNS = {"search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split"}

READING = (ast.Call, ast.Compare, ast.Match)  # few of all nodes, and asking of each takes long
WORDING = {"domain/wording.py", "domain/task_wording.py"}  # puts kinds and fields into words

ALLOWED = {
    # Vendors say some things only in words.
    "providers/anthropic.py: _meaning": "Anthropic's error messages",
    "providers/error_codes.py: _meaning": "the error messages of OpenAI and those like it",
    "providers/error_codes.py: is_about_parameters": "vendors' error messages",
    "providers/error_codes.py: name_error": "vendors' error messages",
    "providers/google.py: _meaning_of_quota": "Google's error messages",
    "providers/google.py: _meaning_of_refusal": "Google's error messages",
    "providers/error_codes.py: _meaning_of_refusal": "vendors' error messages",
    "providers/refused_parts.py: _refused_format": "vendors' error messages",
    "providers/refused_parts.py: _refused_length": "vendors' error messages",
    "providers/refused_parts.py: _refused_role": "vendors' error messages",
    "providers/refused_parts.py: _refused_whole": "vendors' error messages",
    "providers/refused_parts.py: _refused_words": "vendors' error messages",
    "providers/refused_parts.py: _role_left_out": "vendors' error messages",
    "providers/refused_parts.py: names_unknown_model": "vendors' error messages",
    "providers/refused_parts.py: template_refusal": "vendors' error messages",
    "providers/openai_formats.py: _response_stop": "OpenAI's code of why an answer ended",
    # So do libraries.
    "providers/network_errors.py: _exchange_failure": "aiohttp's message",
    "providers/network_errors.py: _tls_failure": "OpenSSL's code of what went wrong",
    "gates/shape.py: _reason": "jsonschema_rs' message, whose value is shown shorter",
    "kits/judge/experiment_file.py: read_toml": "tomllib says the line in its message",
    "recipes/recipe_files.py: _syntax_mistake": "tomllib says the line in its message",
    "rehearsal/vendor_apis/body_forms.py: mistake": "orjson's message, the first line of it",
    "sources/jsonl.py: _block": "the line in the json module's message is always 1",
    "cli/session.py: _print_misuse": "Typer's message, made to begin like ours",
    # Models answer in words.
    "gates/marker_kinds.py: _decode_quality": "a model's answer",
    "gates/marker_verdicts.py: _read_repeated_line": "a model's answer",
    "gates/marker_verdicts.py: _read_with_remark": "a model's answer",
    "gates/marker_verdicts.py: _names_letter": "a model's answer",
    "gates/marker_verdicts.py: _names_other_end": "a model's answer",
    "gates/marker_kinds.py: _separator_checks": "a model's answer",
    "gates/marker_verdicts.py: _without_articles": "a model's answer",
    "gates/marker_lines.py: split_remark": "a model's answer",
    "gates/marker_remarks.py: _denies_verdict": "a model's answer",
    "gates/marker_remarks.py: _split_remark": "a model's answer",
    "gates/marker_remarks.py: _takes_back": "a model's answer",
    "gates/marker_remarks.py: may_take_back": "a model's answer",
    # Only the form of what is shown depends on it.
    "cli/live_progress.py: __call__": "vendors' errors that differ in an id are shown once",
    "engine/progress_words.py: plain_words": "old ledgers hold lines with names of codes in them",
    "engine/doctor/findings.py: finding_of_error": "counts lines",
    "engine/library.py: ingest": "puts lines behind each other",
    "engine/uploads.py: ingest": "an upload is shown under its own name, not where it lay",
    "kits/judge/toml_tables.py: _sort_key": "sorts mistakes as people count",
    "kits/judge/toml_tables.py: summarize_mistakes": "mistakes that differ in a name are counted",
}


def test_no_code_reads_a_sentence() -> None:
    found = {
        f"{path.relative_to(ROOT).as_posix()}: {function}": code
        for path in sorted(ROOT.rglob("*.py"))
        if path.relative_to(ROOT).as_posix() not in WORDING
        for function, code in _readers(path.read_text("utf-8"))
    }

    assert {where: code for where, code in found.items() if where not in ALLOWED} == {}
    assert [where for where in ALLOWED if where not in found] == []  # it is needed no more


@pytest.mark.parametrize(
    "code",
    [
        "event.detail.startswith('batch ')",
        "str(error).partition('; ')",
        "'a run will tell' in probe.message",
        "f'quire resume {run}' not in hold.detail",
        "why[0].partition(': ')",
        "_cost_words(batch).replace('at most', '≤')",
        "_CULPRIT.match(task.error)",
        "re.findall('`[^`]+`', finding.fix)",
        "stage.waits_for == f'waits for {name}'",
        "(error.reason or '').lower()",
        "lambda wait_reason: wait_reason.removeprefix('it ')",
    ],
)
def test_reading_a_sentence_is_seen(code: str) -> None:
    assert len(list(_readers(f"def decide():\n    return {code}"))) == 1


@pytest.mark.parametrize(
    "code",
    [
        "hold.kind is HoldKind.USER",
        "hold.detail",
        "f'held: {hold.detail}'",
        "hold.detail == ''",
        "error in seen",
        "'; '.join(reasons)",
        "error.message[:200]",
        "' '.join(message.split())",
        "document.text.startswith('#')",
    ],
)
def test_showing_and_keeping_a_sentence_is_not_reading_it(code: str) -> None:
    assert list(_readers(f"def show():\n    return {code}")) == []


def _readers(code: str) -> Iterator[tuple[str, str]]:
    """The functions of a module that read a sentence, and where they do."""
    pending: list[tuple[ast.AST, str]] = [(ast.parse(code), "")]
    while pending:
        node, function = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function = node.name
        if isinstance(node, READING) and _reads(node):
            yield function, ast.unparse(node)
        pending += [(child, function) for child in ast.iter_child_nodes(node)]


def _reads(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr=method), args=arguments):
            if method in METHODS and _is_sentence(value):
                return bool(arguments) or method not in ABOUT_BLANKS
            return method in PATTERNS and any(map(_is_sentence, arguments))
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[right]):
            return _is_text(left) and _is_sentence(right)
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[right]):
            return any(
                _is_sentence(one) and _is_text(other)
                for one, other in ((left, right), (right, left))
            )
        case ast.Match(subject=subject):
            return _is_sentence(subject)
    return False


def _is_sentence(node: ast.expr) -> bool:
    """Whether an expression is called a sentence, or is made by what is called one."""
    match node:
        case ast.Call(func=ast.Name(id="str" | "repr"), args=[inner]):
            return _is_sentence(inner)
        case ast.Call(func=inner) | ast.Subscript(value=inner):
            return _is_sentence(inner)
        case ast.BoolOp(values=values):
            return any(map(_is_sentence, values))
        case ast.Name(id=name) | ast.Attribute(attr=name):
            last = name.rpartition("_")[2]
            return bool({name, last, last.removesuffix("s")} & NAMES)
    return False


def _is_text(node: ast.expr) -> bool:
    """Whether an expression is a text that stands in the code; "" asks only if there is any."""
    match node:
        case ast.Constant(value=str(text)):
            return text != ""
    return isinstance(node, ast.JoinedStr)
