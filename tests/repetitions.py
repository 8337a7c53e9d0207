"""Which tests only repeat a behaviour: what they add on PostgreSQL is left to `make soak`.

A test that runs on both databases and with several values runs with all of them on SQLite, and with
the first on PostgreSQL, where it costs five times as much. Every point at which a process may die
counts as a test of its own, and so does everything where the database is what is tested.

What stands above the ledger does not know which database there is: of the files below, all tests
run on SQLite, and on PostgreSQL the first, with those whose statements no other test would run
there. Whatever is about many workers at once, locks, chunks or deaths runs on both.
"""

from collections.abc import Mapping

ABOUT_DATABASES = ("tests/ledger/", "tests/accounts/")
ABOVE_LEDGER = (
    "tests/engine/test_doctor.py",
    "tests/engine/test_doctor_keys.py",
    "tests/engine/test_doctor_work.py",
    "tests/engine/test_probes.py",
    "tests/engine/test_recipe_orders.py",
    "tests/engine/test_rehearsals.py",
    "tests/engine/test_result_documents.py",
    "tests/engine/test_result_lineage.py",
    "tests/engine/test_run_models.py",
    "tests/export/test_jsonl.py",
    "tests/export/test_result_rows.py",
    "tests/kits/judge/test_experiment_runs.py",
    "tests/pipeline/test_completion_modes.py",
    "tests/pipeline/test_compression.py",
    "tests/pipeline/test_continuation.py",
    "tests/pipeline/test_continued_runs.py",
    "tests/pipeline/test_controls.py",
    "tests/pipeline/test_critics.py",
    "tests/pipeline/test_decide.py",
    "tests/pipeline/test_document_recipes.py",
    "tests/pipeline/test_each_model.py",
    "tests/pipeline/test_failure_holds.py",
    "tests/pipeline/test_history.py",
    "tests/pipeline/test_lenient_runs.py",
    "tests/pipeline/test_lineage.py",
    "tests/pipeline/test_missing_inputs.py",
    "tests/pipeline/test_packs.py",
    "tests/pipeline/test_plugin_holds.py",
    "tests/pipeline/test_progress.py",
    "tests/pipeline/test_provider_holds.py",
    "tests/pipeline/test_recipe_controls.py",
    "tests/pipeline/test_recipes.py",
    "tests/pipeline/test_refused_content.py",
    "tests/pipeline/test_regate.py",
    "tests/pipeline/test_rerun.py",
    "tests/pipeline/test_retrying_stages.py",
    "tests/pipeline/test_reuse.py",
    "tests/pipeline/test_stop_after.py",
    "tests/pipeline/test_undecidable.py",
    "tests/pipeline/test_verdicts.py",
    "tests/rehearsed/test_batch_rows.py",
    "tests/rehearsed/test_late_batches.py",
    "tests/rehearsed/test_stage_controls.py",
    "tests/rehearsed/test_two_vendors.py",
    "tests/rehearsed/test_unread_lines.py",
)
ONLY_USES = {  # statements that no other test runs on PostgreSQL, and which does
    "ancestors": "test_a_result_about_a_document_reads_all_blocks_that_it_was_made_from",
    "answered_attempts_without": "test_a_run_can_be_cancelled_without_its_gate_and_what_was_paid"
    "_for_counts_later",
    "causes_of_blocked_tasks": "test_what_is_blocked_says_why_even_when_the_run_has_ended",
    "forget_continuations": "test_a_chain_that_failed_as_a_whole_begins_anew_when_it_is_retried",
    "forgive_losses": "test_an_outage_of_lost_calls_holds_the_run_and_costs_no_block",
    "gathering_tasks_to_block": "test_of_nothing_at_all_nothing_is_made",
    "groups_of_stage": "test_a_report_is_one_document_of_all_its_sections",
    "judged_targets": "test_who_was_judged_by_a_critic_that_does_not_pass_any_more_fails_with_it",
    "last_activity": "test_limits_that_a_further_model_was_told_are_known",
    "last_answers_of_tasks": "test_a_failure_says_where_it_is_what_was_refused_and_what_the"
    "_critic_said",
    "list_schemas": "test_a_schema_in_a_file_is_not_kept",
    "move_critics": "test_rerun_of_a_critic_lets_its_targets_wait_for_its_new_word",
    "purge_extracts": "test_a_purge_erases_extracts_with_the_document_and_no_others",
    "tasks_to_criticise": "test_a_word_that_was_not_heard_is_heard_by_the_sweep",
    "unsent_requests_of_tasks": "test_a_rejected_answer_whose_critic_failed_is_asked_again",
}


class Repetitions:
    """Remembers which tests it has met on PostgreSQL."""

    def __init__(self) -> None:
        """None so far."""
        self._met = set[tuple[str, object]]()

    def is_repetition(self, nodeid: str, values: Mapping[str, object]) -> bool:
        """Is it a test met before, with other values, or another one of the same statements?"""
        if values.get("ledger_url") != "postgres" or nodeid.startswith(ABOUT_DATABASES):
            return False
        name = nodeid.partition("[")[0]
        file, _, function = name.partition("::")
        alone = file not in ABOVE_LEDGER or function in ONLY_USES.values()
        test = (name if alone else file, values.get("point") if alone else None)
        met = test in self._met
        self._met.add(test)
        return met
