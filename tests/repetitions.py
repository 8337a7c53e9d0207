"""Which tests only repeat a behaviour: what they add on PostgreSQL is left to `make soak`.

A test that runs on both databases and with several values runs with all of them on SQLite, and with
the first on PostgreSQL, where it costs five times as much. Every point at which a process may die
counts as a test of its own, and so does everything where the database is what is tested.

What stands above the ledger does not know which database there is: of the files below, all tests
run on SQLite, and on PostgreSQL the first, with those whose statements no other test would run
there or that are about deaths. Files about many workers at once, locks or chunks run on both.
"""

from collections.abc import Mapping

ABOUT_DATABASES = ("tests/ledger/", "tests/accounts/")
ABOVE_LEDGER = (
    "tests/engine/test_chosen_retries.py",
    "tests/engine/test_doctor.py",
    "tests/engine/test_doctor_keys.py",
    "tests/engine/test_doctor_work.py",
    "tests/engine/test_extract.py",
    "tests/engine/test_extract_schemas.py",
    "tests/engine/test_kept_forecasts.py",
    "tests/engine/test_pack_strips.py",
    "tests/engine/test_probes.py",
    "tests/engine/test_recipe_orders.py",
    "tests/engine/test_rehearsals.py",
    "tests/engine/test_result_documents.py",
    "tests/engine/test_result_lineage.py",
    "tests/engine/test_result_pages.py",
    "tests/engine/test_run_models.py",
    "tests/engine/test_schema_drafts.py",
    "tests/engine/test_spend.py",
    "tests/engine/test_strange_rows.py",
    "tests/engine/test_token_counts.py",
    "tests/export/test_bundle.py",
    "tests/export/test_data_frames.py",
    "tests/export/test_delimited.py",
    "tests/export/test_formats.py",
    "tests/export/test_jsonl.py",
    "tests/export/test_object_stores.py",
    "tests/export/test_result_rows.py",
    "tests/export/test_row_facts.py",
    "tests/export/test_typed_files.py",
    "tests/kits/judge/test_design.py",
    "tests/kits/judge/test_experiment_export.py",
    "tests/kits/judge/test_experiment_runs.py",
    "tests/kits/judge/test_family.py",
    "tests/kits/judge/test_forecasts.py",
    "tests/pipeline/test_again_costs.py",
    "tests/pipeline/test_answered.py",
    "tests/pipeline/test_attacks_on_recipes.py",
    "tests/pipeline/test_completion_modes.py",
    "tests/pipeline/test_compression.py",
    "tests/pipeline/test_continuation.py",
    "tests/pipeline/test_continued_runs.py",
    "tests/pipeline/test_controls.py",
    "tests/pipeline/test_critics.py",
    "tests/pipeline/test_decide.py",
    "tests/pipeline/test_deliveries.py",
    "tests/pipeline/test_document_recipes.py",
    "tests/pipeline/test_each_model.py",
    "tests/pipeline/test_embeddings.py",
    "tests/pipeline/test_failure_holds.py",
    "tests/pipeline/test_followers.py",
    "tests/pipeline/test_history.py",
    "tests/pipeline/test_lenient_runs.py",
    "tests/pipeline/test_lineage.py",
    "tests/pipeline/test_missing_inputs.py",
    "tests/pipeline/test_money.py",
    "tests/pipeline/test_notifications.py",
    "tests/pipeline/test_packs.py",
    "tests/pipeline/test_plugin_holds.py",
    "tests/pipeline/test_progress.py",
    "tests/pipeline/test_provider_holds.py",
    "tests/pipeline/test_purge.py",
    "tests/pipeline/test_quotes.py",
    "tests/pipeline/test_recipe_controls.py",
    "tests/pipeline/test_recipes.py",
    "tests/pipeline/test_refused_content.py",
    "tests/pipeline/test_regate.py",
    "tests/pipeline/test_rerun.py",
    "tests/pipeline/test_retrying_stages.py",
    "tests/pipeline/test_reuse.py",
    "tests/pipeline/test_reused_decisions.py",
    "tests/pipeline/test_rules.py",
    "tests/pipeline/test_shared_questions.py",
    "tests/pipeline/test_shown_documents.py",
    "tests/pipeline/test_stop_after.py",
    "tests/pipeline/test_tight_budgets.py",
    "tests/pipeline/test_undecidable.py",
    "tests/pipeline/test_undo.py",
    "tests/pipeline/test_units.py",
    "tests/pipeline/test_verdicts.py",
    "tests/pipeline/test_wallet_states.py",
    "tests/pipeline/test_wallets.py",
    "tests/rehearsed/test_batch_attacks.py",
    "tests/rehearsed/test_batch_rows.py",
    "tests/rehearsed/test_kept_lines.py",
    "tests/rehearsed/test_late_batches.py",
    "tests/rehearsed/test_stage_controls.py",
    "tests/rehearsed/test_two_vendors.py",
    "tests/rehearsed/test_unread_lines.py",
    "tests/review/test_audit.py",
    "tests/review/test_bulk.py",
    "tests/review/test_inbox.py",
    "tests/review/test_required.py",
)
ONLY_USES = {  # statements that few other tests run on PostgreSQL or none, and which does
    "accepted_blocks_after": "test_a_row_that_was_committed_behind_later_ones_is_streamed_too",
    "add_command": "test_the_same_command_undoes_once",
    "add_edited_result": "test_what_was_made_from_something_else_is_stale_until_it_is_asked_again",
    "add_late_result": "test_an_answer_that_is_out_at_the_undo_is_kept_as_a_version_when_it_comes",
    "add_marks": "test_marking_again_replaces_what_was_said",
    "add_run_blocks": "test_only_blocks_of_some_types_are_asked_about",
    "adopt_attempts": "test_a_run_that_spent_without_a_wallet_gets_none",
    "ancestors": "test_a_result_about_a_document_reads_all_blocks_that_it_was_made_from",
    "answered_attempts_without": "test_a_run_can_be_cancelled_without_its_gate_and_what_was_paid"
    "_for_counts_later",
    "answered_tasks": "test_answers_that_were_taken_are_judged_again_like_any_other",
    "answers_about_same_block": "test_samples_that_differ_disagree",
    "ask_anew": "test_a_veto_that_stands_is_an_objection",
    "block_sizes_from": "test_of_many_blocks_a_sample_is_sized_for_the_forecast_that_is_kept",
    "block_tasks_of_documents": "test_a_recipe_has_a_table_of_rows_for_every_stage",
    "blocks_of_document": "test_rows_of_a_file_without_text_are_not_asked_and_told",
    "calls_of_chain": "test_an_answer_that_comes_after_a_purge_leaves_its_cost_but_no_word",
    "calls_reserved_for": "test_status_says_that_calls_wait_for_money_that_others_have_reserved",
    "causes_of_blocked_tasks": "test_what_is_blocked_says_why_even_when_the_run_has_ended",
    "credentials_of_provider": "test_resume_does_not_lift_what_a_person_cannot_cure",
    "critics_of_renewed_answers": "test_a_critic_that_was_let_go_is_asked_again_after_an_undo",
    "decisions_of_run": "test_a_decision_takes_an_item_out_and_it_stays_findable",
    "documents_with_pages": "test_what_has_no_pages_is_refused_before_anything_is_begun",
    "entries_of_wallet": "test_a_late_answer_corrects_what_was_counted_under_its_own_key",
    "failed_outcomes_after": "test_a_filter_takes_what_fits_by_field_text_and_state",
    "failures_of_webhook": "test_tries_are_further_apart_each_time_and_come_to_an_end",
    "flag_stale_stage": "test_an_edit_that_is_undone_makes_way_for_what_stood_before",
    "followers_in_stage": "test_who_followed_what_was_purged_asks_for_itself",
    "forget_continuations": "test_a_chain_that_failed_as_a_whole_begins_anew_when_it_is_retried",
    "forgive_losses": "test_an_outage_of_lost_calls_holds_the_run_and_costs_no_block",
    "gathering_tasks_to_block": "test_of_nothing_at_all_nothing_is_made",
    "groups_of_stage": "test_a_report_is_one_document_of_all_its_sections",
    "has_event": "test_one_text_that_is_refused_is_ranked_by_words_and_others_are_not",
    "has_unreadable_lines": "test_a_mended_decoder_reads_what_was_kept_without_a_second_call",
    "inbox_texts": "test_a_page_looks_at_a_bounded_number_of_results",
    "ingest_document_again": "test_two_paths_of_one_content_are_two_rows_of_one_task_and_one_cost",
    "judged_targets": "test_who_was_judged_by_a_critic_that_does_not_pass_any_more_fails_with_it",
    "last_activity": "test_limits_that_a_further_model_was_told_are_known",
    "last_answers_of_tasks": "test_a_failure_says_where_it_is_what_was_refused_and_what_the_critic"
    "_said",
    "list_schemas": "test_a_schema_in_a_file_is_not_kept",
    "move_critics": "test_rerun_of_a_critic_lets_its_targets_wait_for_its_new_word",
    "next_audit_item": "test_marks_change_no_result_and_are_counted_by_field",
    "outcome_of_task": "test_a_record_is_shown_whole_and_only_with_its_own_run",
    "outline_of_document": "test_what_a_person_wrote_of_a_section_arrives_at_that_section_alone",
    "purge_extracts": "test_a_purge_erases_extracts_with_the_document_and_no_others",
    "remove_webhook": "test_a_webhook_that_is_removed_is_told_nothing",
    "renew_owed_tasks": "test_whoever_is_asked_once_more_takes_no_answer_of_another_run",
    "runs_before": "test_the_run_of_a_draft_is_in_no_list_that_did_not_ask_for_it",
    "set_budget": "test_a_budget_holds_it_and_a_larger_one_lets_it_go_on",
    "slices_of_attempts": "test_answers_of_several_slices_that_come_together_count_each_in_its_own",
    "spend_since": "test_a_day_counts_what_was_sent_since_midnight_and_simulated_money_apart",
    "stale_tasks": "test_what_a_person_confirmed_is_not_made_again_and_costs_nothing",
    "tasks_to_block": "test_who_follows_is_judged_by_the_critic_too_and_its_word_is_shared",
    "tasks_to_criticise": "test_a_word_that_was_not_heard_is_heard_by_the_sweep",
    "tasks_to_reset": "test_a_failed_answer_that_was_overruled_has_failed_again",
    "unsent_requests_of_tasks": "test_a_rejected_answer_whose_critic_failed_is_asked_again",
}
ABOUT_DEATHS = (  # and about many at once, or chunks, in files that are about neither else
    "test_a_bulk_that_was_cut_off_goes_on_with_the_same_command",
    "test_a_document_whose_call_is_out_is_not_purged_yet",
    "test_a_worker_that_dies_between_a_call_for_embeddings_and_its_extract_pays_once",
    "test_killing_at_any_point_ends_with_one_record_for_each_section",
    "test_more_tasks_of_each_of_two_results_than_a_chunk_are_all_made",
    "test_more_tasks_of_one_thing_than_a_chunk_are_all_made",
    "test_one_worker_delivers_and_the_next_goes_on_when_it_died",
    "test_thousands_may_follow_one",
    "test_two_equal_orders_at_once_are_one_run",
    "test_two_who_find_the_same_answer_store_and_count_it_once",
    "test_what_a_dead_worker_had_free_goes_back",
    "test_workers_side_by_side_ask_nothing_twice",
)


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
        alone = file not in ABOVE_LEDGER or function in (*ONLY_USES.values(), *ABOUT_DEATHS)
        test = (name if alone else file, values.get("point") if alone else None)
        met = test in self._met
        self._met.add(test)
        return met
