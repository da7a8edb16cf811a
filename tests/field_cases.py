"""Faults that were reported of other proxies, F01 to F98: for each, the tests that show how wf-mcp fares.

The numbers are those of a list of such reports that is no part of this repository; the words are a name for the case.
A row has at least one of three things. `tests`: ids relative to `tests/`, which show the case, for handshake clients
and upstreams and, where the case has a side in the other era, for 2026-07-28 too. `does_not_apply`: where a decision
stands and what it says, word for word. `later`: what of the case is not shown or not built yet, and what happens today.

`tests/test_field_cases.py` checks the rows; `tests/field_run.py` checks that each test ran and passed when all did run.
"""

from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Decision:
    """Words that settle a case: a page of `docs/`, or a revision and page of the specification, and what it says."""

    where: str
    words: str


@dataclass(frozen=True, slots=True)
class Case:
    """One case."""

    words: str
    tests: tuple[str, ...] = ()
    does_not_apply: Decision | None = None
    later: str = ""


def _case(words: str, *tests: str, does_not_apply: Decision | None = None, later: str = "") -> Case:
    return Case(words, tests, does_not_apply, later)


_PROCESSES = {
    "F01": _case(
        "the host closes stdin, or is killed",
        "interaction/test_processes.py::test_after_eof_nothing_is_left",
        "interaction/test_processes.py::test_after_kill_9_of_the_host_nothing_is_left",
    ),
    "F02": _case(
        "an upstream that ignores EOF and SIGTERM",
        "interaction/test_reload.py::test_removing_a_stubborn_upstream_delays_nobody",
        "interaction/test_processes.py::test_after_a_signal_nothing_is_left",
        "interaction/test_bad_neighbours.py::test_what_upstreams_fork_is_ended_with_them",
    ),
    "F03": _case(
        "megabytes on stderr",
        "interaction/test_bad_neighbours.py::test_noise_harms_nothing",
        "interaction/test_bad_neighbours.py::test_the_stderr_tail_is_bounded",
        "edge/test_process.py::test_a_flood_of_stderr_blocks_nobody_and_leaves_a_bounded_tail",
    ),
    "F04": _case(
        "a banner and log lines on stdout",
        "interaction/test_bad_neighbours.py::test_noise_harms_nothing",
        "interaction/test_processes.py::test_stdout_carries_messages_only",
        "interaction/test_bad_neighbours.py::test_a_line_without_end_harms_nothing",
        "interaction/test_fault_walls.py::test_half_a_line_and_an_exit",
        "edge/test_channels.py::test_noise_on_stdout_is_logged_but_only_so_much",
    ),
    "F05": _case(
        "an upstream dies between calls",
        "interaction/test_calls.py::test_an_upstream_that_died_is_started_again",
        "interaction/test_field_upstreams.py::test_an_upstream_that_ends_by_itself",
        "runtime/test_connection.py::test_put_to_sleep_it_closes_and_the_next_call_opens_another",
    ),
    "F06": _case(
        "an upstream that crashes at every start",
        "interaction/test_bad_neighbours.py::test_no_tight_restart_loop",
        "interaction/test_bad_neighbours.py::test_status_tells_each_reason",
        "core/test_backoff.py::test_pauses_double_up_to_a_limit",
        "runtime/test_session.py::test_a_failed_start_is_tried_again_after_a_pause",
        "runtime/test_connection.py::test_between_two_trials_calls_fail_at_once_and_say_when_the_next_one_is",
        "runtime/test_connection.py::test_one_that_keeps_being_lost_is_waited_for_by_nobody",
        "interaction/test_field_upstreams.py::test_a_crash_loop_ends_with_a_reload",
    ),
    "F07": _case(
        "a first start that takes half a minute",
        "interaction/test_bad_neighbours.py::test_the_first_answers_come_in_time_and_hold_all_good_tools",
        "interaction/test_bad_neighbours.py::test_a_slow_starter_appears_later",
        "interaction/test_bad_neighbours.py::test_init_timeout_is_a_setting_of_each_upstream",
        "runtime/test_starts.py::test_a_start_that_takes_long_no_longer_counts",
    ),
    "F08": _case(
        "one or all upstreams unusable",
        "interaction/test_bad_neighbours.py::test_the_first_answers_come_in_time_and_hold_all_good_tools",
        "interaction/test_bad_neighbours.py::test_status_tells_each_reason",
        "interaction/test_bad_neighbours.py::test_all_upstreams_bad",
        "interaction/test_fault_walls.py::test_a_server_that_wants_a_login",
        "interaction/test_fault_walls.py::test_an_upstream_that_stops_reading",
    ),
    "F09": _case(
        "SIGTERM while streams are open",
        "interaction/test_http_front.py::test_sigterm_with_all_sorts_of_clients",
        "interaction/test_http_front.py::test_a_second_signal_forces_the_end",
        "interaction/test_processes.py::test_sigterm_with_open_streams_over_http",
    ),
}

_CONCURRENCY_AND_SESSIONS = {
    "F10": _case(
        "calls to one upstream run one after the other",
        "interaction/test_calls.py::test_ten_calls_at_once_take_the_time_of_one",
        "interaction/test_field_clients.py::test_ten_clients_at_once",
        "interaction/test_fault_walls.py::test_slow_calls_hold_up_no_fast_one",
    ),
    "F11": _case(
        "a client or upstream that stalls holds up others",
        "edge/test_http_session.py::test_a_slow_reader_costs_only_its_own_response",
        "runtime/test_inbox.py::test_a_client_that_does_not_read_holds_up_neither_upstream_nor_others",
        "interaction/test_field_clients.py::test_a_client_that_stops_reading",
        "interaction/test_backpressure.py::test_a_client_that_never_reads",
        "interaction/test_fault_walls.py::test_slow_calls_hold_up_no_fast_one",
    ),
    "F12": _case(
        "request ids of every type",
        "interaction/test_http_front.py::test_ids_of_any_kind_at_once",
        "interaction/test_http_front.py::test_ids_of_any_kind_over_stdio",
    ),
    "F13": _case(
        "clients that drop their connection",
        "interaction/test_http_front.py::test_abrupt_disconnects",
    ),
    "F14": _case(
        "an HTTP upstream restarts and forgets the session",
        "edge/test_upstream.py::test_over_http_a_session_that_was_forgotten_is_lost_and_the_call_may_be_sent_again",
        "interaction/test_field_upstreams.py::test_an_http_upstream_that_restarts",
        "interaction/test_fault_walls.py::test_a_lost_session_is_opened_again",
    ),
    "F15": _case(
        "a client's session that is not known",
        "interaction/test_http_front.py::test_a_lost_session",
        "edge/test_http_front.py::test_unknown_ended_and_foreign_sessions_are_all_alike_not_found",
    ),
    "F16": _case(
        "initialize with a stale session id",
        "interaction/test_http_front.py::test_a_lost_session",
        "edge/test_http_front.py::test_initialize_with_a_stale_id_gives_a_fresh_session",
    ),
    "F17": _case(
        "sessions that nobody ends",
        "interaction/test_http_front.py::test_sessions_are_reclaimed",
        "edge/test_http_session.py::test_an_idle_session_ends_and_one_in_use_does_not",
        "edge/test_http_front.py::test_there_is_a_cap_on_sessions",
        "edge/test_http_front.py::test_a_refused_initialize_leaves_no_session",
        "runtime/test_idling.py::test_what_clients_that_are_gone_shared_is_closed_and_forgotten",
    ),
    "F18": _case("DELETE of a session that is not there", "interaction/test_http_front.py::test_a_lost_session"),
    "F19": _case(
        "state between the calls of one client",
        "interaction/test_processes.py::test_many_calls_use_one_process",
        "interaction/test_field_upstreams.py::test_calls_share_a_session",
    ),
    "F20": _case(
        "the one GET stream of a session",
        "interaction/test_http_front.py::test_the_newest_get_wins",
        "edge/test_http_session.py::test_a_frozen_get_is_replaced_and_the_next_one_works",
    ),
    "F21": _case(
        "an upstream drops idle connections",
        "interaction/test_field_upstreams.py::test_connections_that_are_cut",
        "interaction/test_field_upstreams.py::test_a_call_in_flight_that_is_cut_off",
        "interaction/test_field_upstreams.py::test_a_connection_that_is_swallowed",
        "runtime/test_keepalive.py::test_an_unanswered_ping_ends_the_connection_and_what_waits_for_it_and_the_next_call_works",
        "runtime/test_connection.py::test_three_failures_of_the_connection_in_a_row_open_another_one",
    ),
}

_URIS_AND_NAMES = {
    "F22": _case(
        "templates with a query part",
        "core/test_uris.py::test_the_public_form_of_a_template",
        "interaction/test_field_names.py::test_expansions_of_templates",
    ),
    "F23": _case(
        "templates that span path segments",
        "core/test_uris.py::test_the_public_form_of_a_template",
        "interaction/test_field_names.py::test_expansions_of_templates",
    ),
    "F24": _case(
        "URIs that are no URLs",
        "interaction/test_namesakes.py::test_identical_uris",
        "runtime/test_catalogue.py::test_a_malformed_entry_costs_only_itself",
        "interaction/test_field_names.py::test_uris_that_are_no_urls",
    ),
    "F25": _case(
        "upstream names that no URI scheme may have",
        "interaction/test_namesakes.py::test_labels_of_odd_keys",
        "core/test_uris.py::test_decoding_is_the_inverse_of_encoding",
        "interaction/test_field_names.py::test_uris_of_oddly_named_upstreams",
    ),
    "F26": _case(
        "the same URI at two upstreams",
        "interaction/test_namesakes.py::test_identical_uris",
        "interaction/test_namesakes.py::test_unlisted_uris",
    ),
    "F27": _case(
        "links in results and prompts",
        "interaction/test_relay_basics.py::test_every_link_of_a_result_reads",
        "interaction/test_relay_basics.py::test_links_are_public",
        "interaction/test_relay_basics.py::test_results_stay_whole",
        "interaction/test_everything.py::test_a_prompt_s_embedded_resource_reads",
    ),
    "F28": _case(
        "the URIs inside a read result",
        "interaction/test_relay_basics.py::test_several_contents_of_one_resource",
        "builtin/test_links.py::test_a_read_answers_with_the_uri_exactly_as_the_client_wrote_it",
        "interaction/test_relay.py::test_a_subscription_and_its_end",
        "interaction/test_field_names.py::test_uris_inside_a_read_result",
    ),
    "F29": _case(
        "names that become too long",
        "interaction/test_hosts.py::test_shortened_names_are_told_by_name",
        "core/test_names.py::test_names_that_share_their_first_sixty_characters_stay_apart",
        "core/test_names.py::test_safe_names_are_legal_short_and_distinct",
    ),
    "F30": _case(
        "names with characters that hosts refuse",
        "interaction/test_namesakes.py::test_labels_of_odd_keys",
        "core/test_names.py::test_ids_without_a_usable_character_keep_apart",
        "core/test_names.py::test_the_safe_form_of_one_name",
        "interaction/test_field_names.py::test_tools_with_odd_names",
    ),
    "F31": _case(
        "one upstream's name begins another's",
        "core/test_names.py::test_labels_whose_safe_forms_meet",
        "core/test_names.py::test_two_labels_never_share_a_safe_name",
        "core/test_names.py::test_labels_without_a_clash_never_share_a_dotted_name",
        "interaction/test_field_names.py::test_one_name_begins_another",
    ),
    "F32": _case(
        "equal names of every kind at two upstreams",
        "interaction/test_namesakes.py::test_identical_tools_and_prompts",
        "interaction/test_namesakes.py::test_identical_uris",
        "interaction/test_differential.py::test_odd_json_is_the_same_as_directly",
    ),
    "F33": _case(
        "a second upstream changes the first one's names",
        "core/test_names.py::test_safe_names_depend_on_no_unrelated_upstream",
        "interaction/test_field_names.py::test_a_second_upstream_renames_nothing",
    ),
}

_SCHEMAS_AND_CONTENT = {
    "F34": _case(
        "references inside schemas",
        "interaction/test_differential.py::test_odd_json_is_the_same_as_directly",
        "interaction/test_field_relay.py::test_schemas_arrive_as_sent",
    ),
    "F35": _case(
        "schemas whose root is a union",
        "interaction/test_field_relay.py::test_schemas_arrive_as_sent",
    ),
    "F36": _case(
        "structured results",
        "interaction/test_relay_basics.py::test_results_stay_whole",
        "interaction/test_field_relay.py::test_a_client_that_checks_results",
    ),
    "F37": _case(
        "an error of a tool that has an output schema",
        "interaction/test_relay_basics.py::test_results_stay_whole",
        "interaction/test_field_relay.py::test_a_client_that_checks_results",
    ),
    "F38": _case("arguments arrive untouched", "interaction/test_relay_basics.py::test_arguments_arrive_untouched"),
    "F39": _case(
        "params null or absent",
        "interaction/test_field_relay.py::test_params_that_are_null_over_http",
        "interaction/test_field_relay.py::test_params_that_are_null_over_stdio",
    ),
    "F40": _case(
        "large arguments and results",
        "interaction/test_payloads.py::test_a_50_mb_line_passes_in_linear_time",
        "interaction/test_payloads.py::test_a_large_result_of_an_http_upstream",
        "interaction/test_payloads.py::test_large_arguments",
        "interaction/test_payloads.py::test_a_large_result_does_not_hold_up_small_ones",
        "interaction/test_http_front.py::test_large_requests",
        "interaction/test_http_front.py::test_large_results_at_once",
        "interaction/test_field_clients.py::test_a_large_result_over_sse",
        "interaction/test_field_upstreams.py::test_an_sse_upstream_that_refuses_a_message",
        "edge/test_sse.py::test_messages_come_in_order_and_an_event_may_have_any_size",
    ),
    "F41": _case(
        "several contents of one resource",
        "interaction/test_relay_basics.py::test_several_contents_of_one_resource",
    ),
    "F42": _case(
        "all fields of resources",
        "interaction/test_differential.py::test_odd_json_is_the_same_as_directly",
        "interaction/test_relay_basics.py::test_several_contents_of_one_resource",
        "runtime/test_listing.py::test_resources_keep_what_they_are_besides_their_address",
    ),
    "F43": _case(
        "_meta both ways",
        "interaction/test_relay_basics.py::test_unknown_meta_of_a_request_is_passed_on",
        "interaction/test_relay_basics.py::test_results_stay_whole",
        "runtime/test_calls.py::test_each_hop_has_a_token_of_its_own",
    ),
    "F44": _case(
        "all fields of tools, prompts and templates",
        "interaction/test_differential.py::test_odd_json_is_the_same_as_directly",
        "differential/test_scenarios.py::test_an_upstream_that_can_do_everything",
        "interaction/test_field_relay.py::test_schemas_arrive_as_sent",
    ),
    "F45": _case("rich error results", "interaction/test_relay_basics.py::test_results_stay_whole"),
    "F46": _case(
        "empty content",
        "interaction/test_relay_basics.py::test_results_stay_whole",
        "interaction/test_relay_basics.py::test_prompts_stay_whole",
        "interaction/test_relay_basics.py::test_several_contents_of_one_resource",
        "matrix/test_matrix.py::test_every_feature_in",
    ),
    "F47": _case(
        "blocks of every kind in one result",
        "interaction/test_relay_basics.py::test_results_stay_whole",
        "interaction/test_relay_basics.py::test_links_are_public",
    ),
}

_ERRORS_AND_LISTS = {
    "F48": _case(
        "an upstream's own JSON-RPC errors",
        "interaction/test_relay_basics.py::test_an_error_is_the_upstream_s_own",
        "interaction/test_field_relay.py::test_errors_of_every_request",
        "matrix/test_matrix.py::test_every_feature_in",
    ),
    "F49": _case(
        "tools that there are not",
        "interaction/test_relay_basics.py::test_unknown_names",
        "interaction/test_relay_basics.py::test_results_stay_whole",
        "interaction/test_field_relay.py::test_tools_that_there_are_not",
    ),
    "F50": _case(
        "methods that there are not",
        "edge/test_http_front.py::test_an_unknown_method_is_an_error_of_the_protocol",
        "interaction/test_field_relay.py::test_methods_that_there_are_not",
    ),
    "F51": _case(
        "an upstream that is down is no unknown tool",
        "interaction/test_calls.py::test_a_lost_upstream_is_not_an_unknown_tool",
        "edge/test_front.py::test_the_model_is_told_of_an_absent_upstream_in_a_result_without_secrets",
        "runtime/test_resolve.py::test_a_name_of_an_upstream_that_cannot_be_reached_says_so",
    ),
    "F52": _case("an upstream that lists in pages", "interaction/test_lists.py::test_lists_follow_every_page"),
    "F53": _case(
        "a client that follows our cursors",
        "interaction/test_lists.py::test_our_own_pages",
        "edge/test_lists.py::test_pages_hold_everything_once_our_own_tools_last",
        "core/test_paging.py::test_the_pages_together_are_the_list",
        "interaction/test_field_lists.py::test_a_client_that_follows_cursors",
    ),
    "F54": _case(
        "list_changed of an upstream",
        "interaction/test_lists.py::test_a_changed_list_is_announced_and_shown",
        "interaction/test_lists.py::test_the_list_right_after_the_notice_is_fresh",
        "interaction/test_listen.py::test_a_modern_upstream_is_heard",
        "interaction/test_modern_upstreams.py::test_a_handshake_client_hears_of_changed_lists",
    ),
    "F55": _case(
        "a storm of list_changed",
        "runtime/test_catalogue.py::test_an_upstream_that_calls_its_list_changed_on_every_list_is_not_asked_for_ever",
        "interaction/test_field_lists.py::test_a_storm_of_notices",
        "interaction/test_field_lists.py::test_an_upstream_that_is_never_content",
    ),
    "F56": _case(
        "progress under the client's own token",
        "interaction/test_calls.py::test_progress_comes_before_the_result",
        "interaction/test_http_front.py::test_two_clients_that_are_asked_at_once",
        "runtime/test_calls.py::test_a_caller_hears_its_own_token_with_its_own_type",
        "runtime/test_calls.py::test_a_call_without_a_token_is_sent_as_it_is",
        "interaction/test_field_relay.py::test_progress_tokens_of_any_kind",
    ),
    "F57": _case(
        "subscriptions",
        "interaction/test_relay.py::test_a_subscription_and_its_end",
        "interaction/test_field_relay.py::test_methods_that_there_are_not",
        "interaction/test_listen.py::test_resources_are_watched_until_the_stream_ends",
        "interaction/test_modern_upstreams.py::test_a_handshake_client_subscribes",
    ),
    "F58": _case(
        "only what is there is promised",
        "edge/test_front.py::test_initialize_has_the_capabilities_and_instructions_of_everything_behind",
        "core/test_merge.py::test_handshake_clients_are_offered_what_somebody_has",
        "interaction/test_field_lists.py::test_what_is_promised",
        "edge/test_front.py::test_discover_says_what_modern_clients_get",
    ),
    "F59": _case(
        "log levels",
        "interaction/test_relay.py::test_the_level_reaches_every_upstream",
        "interaction/test_relay.py::test_levels_on_a_shared_session",
        "runtime/test_session.py::test_an_upstream_that_does_not_log_is_asked_for_no_level",
        "interaction/test_modern_upstreams.py::test_a_handshake_client_s_log_level_is_asked_for",
        "interaction/test_rounds.py::test_the_log_level_of_a_session_rides_on_each_request",
        "interaction/test_parked.py::test_whose_log_it_is",
    ),
}

_TIME_AND_QUESTIONS = {
    "F60": _case(
        "a cancel reaches the upstream",
        "interaction/test_relay.py::test_a_cancel_with_its_reason",
        "interaction/test_modern_http.py::test_leaving_cancels",
        "interaction/test_modern_upstreams.py::test_a_cancel_reaches_it",
    ),
    "F61": _case(
        "answers that come after a cancel",
        "runtime/test_calls.py::test_progress_after_the_result_is_dropped",
        "interaction/test_field_clients.py::test_answers_after_a_cancel",
    ),
    "F62": _case(
        "calls that take minutes",
        "docs/test_reference.py::test_defaults_are_those_of_the_model",
        "interaction/test_field_clients.py::test_a_long_call",
        "interaction/test_field_clients.py::test_a_call_that_takes_too_long",
        "core/test_config_entry.py::test_no_limit_is_set_unless_it_is_asked_for",
        "runtime/test_ages.py::test_a_call_is_named_once_it_is_old",
        "runtime/test_patience.py::test_who_makes_progress_may_take_longer_than_the_limit",
    ),
    "F63": _case(
        "a call that takes longer than its upstream may",
        "edge/test_upstream.py::test_what_takes_too_long_is_cancelled_there_and_said",
        "edge/test_front.py::test_the_model_is_told_of_a_timeout_in_a_result",
        "interaction/test_field_clients.py::test_a_call_that_takes_too_long",
        "runtime/test_patience.py::test_who_makes_none_is_told_after_the_limit_why_the_call_is_cancelled",
    ),
    "F64": _case(
        "elicitation",
        "interaction/test_calls.py::test_questions_of_an_upstream",
        "interaction/test_http_front.py::test_two_clients_that_are_asked_at_once",
        "differential/test_scenarios.py::test_an_upstream_that_can_do_everything",
        "interaction/test_field_clients.py::test_every_outcome_of_a_question",
        "interaction/test_field_clients.py::test_a_long_call",
        "interaction/test_rounds.py::test_a_handshake_client_is_asked_by_a_modern_upstream",
        "interaction/test_parked.py::test_server_everything",
        "interaction/test_parked.py::test_several_questions",
        "interaction/test_rounds.py::test_a_refusal_is_the_end_of_the_call",
    ),
    "F65": _case(
        "sampling",
        "interaction/test_calls.py::test_questions_of_an_upstream",
        "edge/test_clients.py::test_what_a_client_is_asked_and_told_arrives_whole",
        "edge/test_clients.py::test_a_clients_refusal_keeps_its_code_message_and_data",
        "interaction/test_field_clients.py::test_every_outcome_of_a_question",
        "interaction/test_field_clients.py::test_a_long_call",
        "interaction/test_rounds.py::test_a_handshake_client_is_asked_by_a_modern_upstream",
        "interaction/test_parked.py::test_server_everything",
    ),
    "F66": _case(
        "an upstream that refuses capabilities that it does not know",
        "interaction/test_field_upstreams.py::test_an_upstream_that_refuses_capabilities",
        does_not_apply=Decision(
            "docs/how-it-works.md", "each upstream has one session, and it is told that client's name and capabilities"
        ),
    ),
    "F67": _case(
        "roots",
        "interaction/test_relay.py::test_changed_roots",
        "interaction/test_bad_neighbours.py::test_an_early_question_does_not_deadlock",
        "runtime/test_calls.py::test_outside_any_call_the_standing_client_is_asked",
        "interaction/test_field_clients.py::test_roots_of_two_clients",
        "interaction/test_rounds.py::test_a_handshake_client_is_asked_by_a_modern_upstream",
        "interaction/test_parked.py::test_server_everything",
    ),
    "F68": _case(
        "tasks",
        "interaction/test_relay.py::test_a_research_task",
        "interaction/test_relay.py::test_a_task_is_its_owners",
        "runtime/test_tasks.py::test_tasks_of_namesakes_do_not_mix",
        "interaction/test_rounds.py::test_a_task_is_driven_to_its_end",
        "interaction/test_extensions.py::test_a_task_from_its_start_to_its_result",
        "interaction/test_extensions.py::test_a_task_is_found_by_requests_with_other_capabilities",
    ),
    "F69": _case(
        "completion",
        "interaction/test_everything.py::test_completions_are_routed",
        "runtime/test_dispatch.py::test_a_completion_goes_to_the_upstream_that_its_ref_names",
        "runtime/test_dispatch.py::test_a_completion_without_a_ref_is_the_callers_mistake",
        "interaction/test_field_relay.py::test_completions",
        does_not_apply=Decision(
            "2025-11-25 server/utilities/completion § Error Handling",
            "Method not found: `-32601` (Capability not supported)",
        ),
    ),
    "F70": _case(
        "instructions",
        "edge/test_front.py::test_initialize_has_the_capabilities_and_instructions_of_everything_behind",
        "edge/test_front.py::test_initialize_does_not_wait_longer_than_list_wait_and_then_promises_everything",
        "core/test_merge.py::test_instructions_stand_under_the_label_of_whose_they_are",
        "interaction/test_field_clients.py::test_instructions_of_several",
        "matrix/test_matrix.py::test_every_feature_in",
    ),
    "F71": _case(
        "a client's own headers",
        "interaction/test_real_servers.py::test_headers_toward_an_http_upstream",
        "runtime/test_dispatch.py::test_headers_are_forwarded_only_as_configured",
        "interaction/test_field_clients.py::test_headers_of_a_client_stay_here",
        "interaction/test_field_clients.py::test_headers_of_a_client_at_an_sse_upstream",
    ),
    "F72": _case(
        "an upstream's token expires",
        "edge/test_upstream.py::test_over_http_a_refusal_names_status_and_address",
        "interaction/test_field_upstreams.py::test_a_token_that_expired",
        "interaction/test_fault_walls.py::test_a_server_that_wants_a_login",
        "interaction/test_fault_walls.py::test_a_token_that_is_no_longer_good",
        later="OAuth (no issue yet): after a 401 the upstream is left alone for 15 minutes, or until a reload; signing"
        " in and refreshing are not there",
    ),
    "F73": _case(
        "an upstream redirects to another spelling",
        "interaction/test_field_upstreams.py::test_an_upstream_that_redirects",
        "interaction/test_field_upstreams.py::test_a_redirect_that_leads_nowhere",
    ),
}

_CONFIGURATION = {
    "F74": _case(
        "references to variables",
        "core/test_expand.py::test_references_are_replaced_once",
        "core/test_expand.py::test_a_value_is_never_expanded_again",
        "core/test_expand.py::test_doubling_every_dollar_keeps_any_text",
        "core/test_config_entry.py::test_variables_are_expanded_in_every_field",
    ),
    "F75": _case(
        "a variable that is missing",
        "interaction/test_guard_and_trust.py::test_a_missing_variable",
        "interaction/test_field_secrets.py::test_a_variable_that_is_missing_for_a_while",
        "core/test_config_entry.py::test_a_missing_variable_keeps_only_this_upstream_from_starting",
        "core/test_plan.py::test_a_variable_that_changes_or_appears_restarts_its_upstream_only",
    ),
    "F76": _case(
        "comments, commas, marks and duplicates",
        "core/test_config.py::test_a_file_as_hosts_write_it_is_read_with_comments_marks_and_trailing_commas",
        "core/test_config.py::test_a_file_that_cannot_be_used_is_refused_with_place_path_and_expectation",
        "core/test_config.py::test_keys_given_twice_are_all_reported",
        "edge/test_configfile.py::test_a_byte_order_mark_is_accepted",
        "interaction/test_cli.py::test_comments_and_other_hosts_keys",
    ),
    "F77": _case(
        "spellings of the transport",
        "core/test_config_kind.py::test_a_named_transport_wins_over_the_guess",
        "core/test_config_kind.py::test_an_unnamed_transport_is_guessed_from_the_path",
        "core/test_config_kind.py::test_contradictions_are_errors",
        "core/test_config_entry.py::test_what_nobody_reads_is_noted_key_by_key",
    ),
    "F78": _case(
        "entries that are switched off",
        "interaction/test_cli.py::test_disabled",
        "core/test_config_entry.py::test_every_switch_is_understood",
        "core/test_config_entry.py::test_switches_that_contradict_each_other_are_an_error",
        "interaction/test_field_lists.py::test_an_upstream_is_switched_off_and_on",
    ),
    "F79": _case(
        "a broken file at a reload",
        "interaction/test_reload.py::test_a_bad_file_leaves_all_running",
        "interaction/test_reload.py::test_a_call_in_flight_outlives_a_reload",
        "runtime/test_operator.py::test_a_configuration_that_cannot_be_used_changes_nothing",
    ),
    "F80": _case(
        "calls in flight during a reload",
        "interaction/test_reload.py::test_a_call_in_flight_outlives_a_reload",
        "interaction/test_reload.py::test_removing_and_changing_upstreams",
        "interaction/test_field_lists.py::test_a_call_on_an_upstream_that_is_replaced",
    ),
    "F81": _case(
        "working folders, tildes and relative commands",
        "core/test_config_entry.py::test_a_relative_command_starts_at_the_file",
        "core/test_config_entry.py::test_a_relative_working_folder_starts_at_the_file",
        "core/test_config_entry.py::test_arguments_are_verbatim_but_for_variables_and_a_leading_tilde",
        "edge/test_process.py::test_errors_of_the_start_name_what_is_wrong",
        "edge/test_process.py::test_a_command_is_looked_up_where_the_child_will_stand",
    ),
    "F82": _case(
        "an env block without PATH",
        "interaction/test_calls.py::test_the_parent_s_environment_does_not_leak",
        "edge/test_process.py::test_a_child_gets_the_base_environment_its_own_and_nothing_else",
        "edge/test_process.py::test_a_command_is_looked_up_where_the_child_will_stand",
    ),
    "F83": _case(
        "clients learn of a reload",
        "interaction/test_reload.py::test_adding_an_upstream_tells_each_client_once_per_kind",
        "interaction/test_reload.py::test_an_upstream_with_tools_only_changes_tools_only",
        "interaction/test_field_lists.py::test_idle_clients_hear_of_a_reload",
        "interaction/test_listen.py::test_a_reload_is_heard",
    ),
}

_SECURITY_AND_HOSTS = {
    "F84": _case(
        "the environment of children",
        "interaction/test_calls.py::test_the_parent_s_environment_does_not_leak",
        "interaction/test_field_secrets.py::test_the_environment_after_a_restart_and_a_reload",
        "edge/test_process.py::test_the_base_environment_names_what_it_takes",
    ),
    "F85": _case(
        "secrets in logs",
        "interaction/test_guard_and_trust.py::test_secrets_are_shown_nowhere",
        "interaction/test_field_secrets.py::test_a_log_of_everything_has_no_secret",
        "edge/test_logs.py::test_no_line_shows_a_secret_and_no_traceback_does",
        "core/test_secrets.py::test_no_form_of_a_secret_survives",
    ),
    "F86": _case(
        "foreign hosts and origins",
        "interaction/test_http_front.py::test_strangers_and_reverse_proxies",
        "interaction/test_guard_and_trust.py::test_foreign_host_and_origin_are_refused",
        "edge/test_serving.py::test_a_foreign_host_or_origin_is_refused_everywhere_and_told_which_setting",
    ),
    "F87": _case(
        "what is hidden cannot be used",
        "runtime/test_dispatch.py::test_an_unknown_or_hidden_name_is_invalid_params",
        "runtime/test_dispatch.py::test_a_hidden_resource_cannot_be_read",
        "runtime/test_dispatch.py::test_a_hidden_resource_cannot_be_read_before_the_list_is_known",
        "runtime/test_dispatch.py::test_a_completion_for_something_hidden_is_refused",
        "edge/test_front.py::test_what_is_hidden_is_unknown_in_either_era",
        later="issue 7: plug-ins hide; the configuration has no include or exclude yet, and"
        " an expansion of a hidden template is readable",
    ),
    "F88": _case(
        "a tool's definition changes",
        "interaction/test_field_lists.py::test_a_tool_that_changes",
        "runtime/test_kept_list.py::test_what_is_described_otherwise_is_named_once",
    ),
    "F89": _case(
        "strangers and the admin tools",
        "interaction/test_admin.py::test_admin_tools_need_a_token_over_http",
        "interaction/test_guard_and_trust.py::test_other_addresses_need_tokens",
        "interaction/test_http_front.py::test_strangers_and_reverse_proxies",
        "interaction/test_http_front.py::test_content_types",
        later="issue 7: no admin tool adds an upstream yet; there are four, and they read and reload",
    ),
    "F90": _case(
        "a host that forgets its session",
        "interaction/test_http_front.py::test_a_host_that_forgets_its_session",
        "interaction/test_sessionless.py::test_the_path",
        "interaction/test_sessionless.py::test_hosts_of_the_table",
        "interaction/test_sessionless.py::test_a_thousand_requests",
    ),
    "F91": _case(
        "a newer revision at initialize",
        "interaction/test_http_front.py::test_version_headers",
        "edge/test_http_front.py::test_any_version_may_be_proposed",
    ),
    "F92": _case(
        "another revision in a later header",
        "interaction/test_http_front.py::test_version_headers",
        "edge/test_http_front.py::test_a_version_header_is_judged_by_its_form",
        "interaction/test_modern_http.py::test_headers_that_contradict_the_body",
        does_not_apply=Decision("docs/inventory.md", "any date passes once a session is open, anything else is 400"),
    ),
    "F93": _case(
        "content types and Accept",
        "interaction/test_http_front.py::test_content_types",
        "edge/test_http_front.py::test_content_type_and_accept",
        "interaction/test_field_upstreams.py::test_content_types_of_an_upstream",
    ),
    "F94": _case(
        "/mcp and /mcp/",
        "interaction/test_http_front.py::test_both_paths",
        "edge/test_serving.py::test_both_spellings_are_served_without_a_redirect",
    ),
    "F95": _case(
        "hosts with a limit of tools",
        "runtime/test_listing.py::test_lists_are_merged_in_config_order",
        does_not_apply=Decision("docs/inventory.md", "limiting the number of tools"),
        later="issue 7: filters in the configuration are not there yet; plug-ins can hide tools",
    ),
}

_PERFORMANCE = {
    "F96": _case(
        "a process or a handshake for each call",
        "interaction/test_processes.py::test_many_calls_use_one_process",
        "interaction/test_lists.py::test_lists_are_kept",
        "interaction/test_field_upstreams.py::test_calls_share_a_session",
        "interaction/test_processes.py::test_what_a_call_costs",
    ),
    "F97": _case(
        "processes multiply with clients",
        "runtime/test_mounts.py::test_a_client_that_goes_takes_its_own_sessions_along_and_leaves_the_shared_ones",
        "interaction/test_http_front.py::test_sessions_are_reclaimed",
        "interaction/test_field_clients.py::test_processes_of_many_clients",
        "runtime/test_idling.py::test_beyond_the_number_that_may_be_open_the_idle_ones_go_and_then_nobody_gets_another",
        "interaction/test_ownership.py::test_idle_clients_share_one_session_for_lists",
    ),
    "F98": _case(
        "an upstream that hangs delays every list",
        "interaction/test_bad_neighbours.py::test_the_first_answers_come_in_time_and_hold_all_good_tools",
        "runtime/test_listing.py::test_many_silent_upstreams_cost_no_more_time_than_one",
        "runtime/test_catalogue.py::test_nobody_waits_longer_than_they_have_to_for_a_silent_upstream",
        "interaction/test_field_lists.py::test_upstreams_that_hang",
    ),
}

CASES = MappingProxyType(
    {
        **_PROCESSES,
        **_CONCURRENCY_AND_SESSIONS,
        **_URIS_AND_NAMES,
        **_SCHEMAS_AND_CONTENT,
        **_ERRORS_AND_LISTS,
        **_TIME_AND_QUESTIONS,
        **_CONFIGURATION,
        **_SECURITY_AND_HOSTS,
        **_PERFORMANCE,
    }
)
