"""A table's method bears its statement's name, so that one grep finds both."""

import ast
from collections.abc import Iterator
from pathlib import Path

from quire.ledger import tables
from quire.ledger.statements import load

TABLES = Path(tables.__file__).parent
STATEMENTS = load("sqlite").keys() | load("postgres").keys()

# Methods that run several statements, or one of several, and why they are not cut.
SEVERAL = {
    "Attempts.answer_open_attempts": "an answer and its response are stored together",
    "Attempts.store_answers": "a response and what it used are stored together",
    "Attempts.replace_decoded": "what was read anew, with what it used",
    "Attempts.take_answered": "of all attempts, or of all but those that cannot be read",
    "Batches.add_calls": "calls join a draft, which grows by them",
    "Batches.note_submission": "a batch, its nonce and its calls are signed together",
    "Checks.correct_tallies": "counted and corrected under one lock",
    "Controls.renew_chosen_answers": "a task and the result that makes way",
    "Controls.renew_objected_answers": "a task and the result that makes way",
    "Controls.renew_tasks": "results make way before their tasks move",
    "Controls.renew_critic_tasks": "critics' tasks and their words",
    "Controls.reset_tasks_without_inputs": "stages that gather look at other inputs",
    "Controls.mark_stage_stale": "a mark on tasks, and on the results that persons look at",
    "Critiques.failed_critiques": "found by either end",
    "Documents.add_blocks": "those that say what none said before, and the others",
    "Documents.next_subjects": "of all blocks, or of a sample of them",
    "Inbox.answers_about_same": "about a block, a result or a document",
    "Inbox.inbox_entries": "of the rank that the last page ended in, and then of later ones",
    "Inbox.scored_inbox_entries": "of the score that a page ended in, and then of later ones",
    "Lineage.check_stale": "a mark on tasks, and on the results that persons look at",
    "Lineage.mark_stale": "a mark on tasks, and on the results that persons look at",
    "Lineage.copy_stage": "tasks, and then what hangs on them",
    "Lineage.tasks_of_lineages": "an origin, and what comes from it",
    "Lineage.tasks_to_block": "stages that leave out look at other inputs",
    "Lineage.tasks_to_release": "stages that leave out look at other inputs",
    "Lineage.tasks_to_reset": "stages that leave out look at other inputs",
    "Lineage.tasks_of_documents": "tasks about a document, or about its blocks",
    "PrefixCaches.start_priming": "a prefix is known before it is primed",
    "Purges.erase_exchanges": "all that was sent and came back",
    "Purges._descent": "results lead to documents, and documents to results",
    "Purges.erase_documents": "all that documents left behind",
    "Requests.add_requests": "a request and its members",
    "Results.task_history": "what was read, asked and said of some tasks",
    "Tallies.fold_tallies": "rows are taken out, and their sums put back",
    "Views.list_requests": "the next ones of each lane, then the first of these",
    "Wallets.add_entry": "a wallet is always the sum of its entries",
    "Webhooks.remove_webhook": "a webhook, and what it was still to be told",
    "Webhooks.note_delivery": "the outbox and the webhook together",
    "Webhooks.note_failed_delivery": "the outbox and the webhook together",
    "Events.add_event": "an event, and who is to be told of it",
    "Tasks.expand_blocks": "of all blocks, or of a sample of them",
    "Tasks.move_tasks_of_stage": "a retry grants fresh tries as well",
}


def test_a_tables_method_bears_its_statements_name() -> None:
    others = {
        method: names
        for method, names in _statements_by_method()
        if method not in SEVERAL and names != {method.split(".")[1].lstrip("_")}
    }

    assert others == {}


def test_every_listed_method_runs_a_statement_of_another_name() -> None:
    methods = dict(_statements_by_method())

    assert [
        method for method in SEVERAL if methods.get(method, set()) <= {method.split(".")[1]}
    ] == []


def _statements_by_method() -> Iterator[tuple[str, set[str]]]:
    """Every method that names statements, with those that it names."""
    for path in TABLES.glob("*.py"):
        for table in ast.parse(path.read_text()).body:
            if not isinstance(table, ast.ClassDef):
                continue
            for method in table.body:
                if isinstance(method, ast.FunctionDef) and (names := _names_in(method)):
                    yield f"{table.name}.{method.name}", names


def _names_in(method: ast.FunctionDef) -> set[str]:
    return {
        node.value
        for node in ast.walk(method)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value in STATEMENTS
    }
