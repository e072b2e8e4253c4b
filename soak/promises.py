"""Every promise of SECURITY.md in its own words, and the tests that go red where it is broken.

A promise is a phrase that SECURITY.md has; ``tests/hostile/test_mutants.py`` compares both, and collects the tests.
``mutants.py`` shows that tests go red: it changes the checks of the code.
"""

from __future__ import annotations

HELD = "tests/hostile/test_promises.py::"
TABLES = "tests/hostile/test_tables.py::"
KINDS = "tests/hostile/test_kinds.py::"
BOMBS = "tests/hostile/test_bombs.py::"
RUNS = "tests/hostile/test_runs.py::"
SHARE = "tests/hostile/test_soak.py::test_a_share_holds"
ELSEWHERE = "tests/hostile/test_soak.py::test_a_share_of_changed_models_is_not_stale"
PLANTED = "tests/hostile/test_soak.py::TestPlantedFaults::"
MODELS = "tests/hostile/test_models.py::"
MODEL_FILES = "tests/hostile/test_model_files.py::"
LOADED = "tests/cli/test_model_files.py::"
SHEETS = "tests/cli/test_sheets.py::"
VETTED = "tests/cli/test_vetted.py::"
FOREIGN = "tests/test_foreign.py::"
REDACTION = "tests/hostile/test_redaction.py::test_no_value_is_in_a_redacted_report"
SAVED = "tests/test_io.py::TestReading::"
EXPLAINERS = "tests/test_saved_explainers.py::"
APP = "tests/app/test_app.py::"
CELL = "tests/app/test_cell.py::"

PROMISES: dict[str, tuple[str, ...]] = {
    # Tables
    "Reading a table never runs anything that is in it": (HELD + "test_nothing_in_a_table_is_run",),
    "Any bytes give a table or one of xcid's own errors": (
        TABLES + "test_explain[JSON-deep-down]",
        KINDS + "test_parquet_is_opened_by_its_name",
    ),
    "a Parquet file must begin and end as one": (
        TABLES + "test_explain[csv-named-Parquet]",
        TABLES + "test_explain[half-a-Parquet]",
    ),
    "text must be UTF-8 or that of Windows (cp1252), without NUL bytes": (
        TABLES + "test_explain[a-NUL-in-a-cell]",
        TABLES + "test_explain[latin-1]",
    ),
    "Packed text (`.gz`, `.zip`, ...) is not read": (
        TABLES + "test_explain[gzip-by-its-name]",
        TABLES + "test_explain[gzip-named-csv]",
    ),
    "The bytes of an Excel workbook are counted as they are unpacked": (SHEETS + "test_a_bomb_is_refused",),
    "no room is made for cells before the place of the last one is known": (
        SHEETS + "test_a_cell_far_out_is_refused_before_there_is_room_for_all_before_it",
    ),
    "unpack to more than 128 MiB and to more than 100 times their size are refused": (
        KINDS + "test_kinds_that_unpack_to_anything[coded-text.parquet]",
    ),
    "text is counted as it is read, and reading ends where it gets too much": (
        BOMBS + "test_a_footer_that_lies",
        BOMBS + "test_reading_ends_where_text_gets_too_much",
    ),
    "a cell counts 8 bytes at least": (KINDS + "test_rows_that_a_column_of_parquet_says_it_has",),
    "16 where a JSON file leaves it out": (KINDS + "test_a_new_name_in_each_line",),
    "Long text that a file repeats by a short code or a view counts as often as it is repeated": (
        KINDS + "test_kinds_that_unpack_to_anything[coded-text.parquet]",
        KINDS + "test_kinds_that_unpack_to_anything",
    ),
    "more than 10,000 columns are refused": (KINDS + "test_more_columns_than_can_be_explained[.csv]",),
    "must be numbers, booleans, dates, text or codes of these": (
        KINDS + "test_kinds_that_unpack_to_anything[coded-lists.feather]",
        KINDS + "test_text_that_is_not_utf_8",
    ),
    "devices, pipes and folders are refused": (KINDS + "test_devices_and_pipes",),
    "A date that may be two days": (SHARE + "[columns]", PLANTED + "test_marks_that_are_one"),
    "Whole numbers that lose digits are noted": (SHARE + "[columns]", PLANTED + "test_digits_that_get_lost"),
    "calculated in 64 bits or refused": (SHARE + "[conditions]", PLANTED + "test_numbers_that_wrap"),
    "status 2 and one line that names the file": (
        TABLES + "test_explain[names-only]",
        MODELS + "TestFromTheStart::test_at_the_command_line[raises in two lines]",
        RUNS + "TestStreams::test_no_way_out[>/dev/full]",
        RUNS + "TestModels::test_a_failing_row_is_a_status_on_every_road[alone]",
    ),
    "the row and the column where there is one": (
        TABLES + "TestWhere::test_blank_lines_and_newlines_in_cells_are_counted",
    ),
    "no result file is left behind": ("tests/test_io.py::TestWriting::test_a_failing_write_leaves_the_old_file",),
    "Tables of up to 10,000 columns are explained": ("tests/test_wide.py::TestProductsOfAMatrixWithItself",),
    "comes out as an error of xcid, with the cause behind it": (SHARE + "[inputs]",),
    "`MemoryError`, Ctrl-C and sequences without an end stay what they are": (FOREIGN + "test_what_is_told",),
    "Times with a time zone are not compared": (
        FOREIGN + "TestTimeZones",
        "tests/cli/test_time_zones.py",
    ),
    "predictions that a model masks are no predictions": (FOREIGN + "test_masked_answers_are_none",),
    # Models
    "a pickle with such a name is an error": (LOADED + "test_pickles_in_disguise_do_not_run[.skops]",),
    "it is refused for others": (VETTED + "TestOthersNeedTrust::test_a_function_that_would_run_commands",),
    "comes only in the way that it was read for": (
        MODEL_FILES + "TestFilesOfOthers::test_a_booster_that_would_open_a_file",
    ),
    "Text that would be read from files that cells name is refused": (
        MODEL_FILES + "TestFilesOfOthers::test_texts_by_the_names_of_files[filename]",
    ),
    "are never offered for `--trust`": (MODEL_FILES + "TestFilesOfOthers::test_no_function_that_runs_code_is_offered",),
    "so is a tree that asks for a feature beyond those of its model": (
        VETTED + "test_features_that_a_row_does_not_have",
    ),
    "that is changed in place is never explained by its past": (
        "tests/test_model_changes.py::test_a_changed_model_is_explained_as_it_is",
        "tests/test_model_changes.py::test_without_the_comparison_it_would_be_stale",
    ),
    "an explanation from before the change that is answered anew": (
        "tests/test_answers_after_changes.py::test_an_answer_after_a_change",
        "tests/test_answers_after_changes.py::test_without_the_comparison_it_would_be_stale",
    ),
    "before each explanation 16 reference rows are predicted again": (
        "tests/test_untold_changes.py::test_a_change_that_no_digest_tells_of",
        "tests/test_untold_changes.py::test_without_the_comparison_it_would_be_stale",
    ),
    "in the workers of Dask, Ray and Spark, and in a page that is open": (ELSEWHERE,),
    "is not resumed with another one": (ELSEWHERE + "[run]",),
    "loads every model file but a pickle in a process of its own first": (
        MODEL_FILES + "TestTrial::test_harm_is_one_line",
    ),
    "nor does it go on with a file that changed meanwhile": (
        MODEL_FILES + "TestTrial::test_a_file_that_changes_meanwhile_is_refused",
    ),
    "archive that unpacks to too much is refused by the same rule as tables": (
        LOADED + "TestTrust::test_archives_that_unpack_to_too_much",
        BOMBS + "test_archives_within_an_archive_count",
    ),
    "Without it no pickle is loaded": (LOADED + "test_pickles_are_refused[.pkl]",),
    "What it raises becomes the status of a row": (
        "tests/cli/test_pieces_without_flips.py",
        "tests/test_faults.py::test_a_row_that_fails_alone_is_a_status_like_one_that_fails_among_others",
        RUNS + "TestModels::test_a_failing_row_is_a_status_on_every_road[alone]",
    ),
    "also where it would end the process by `SystemExit`": (
        MODELS + "TestFromTheStart::test_one_error_with_words[ends the process]",
    ),
    "Ctrl-C stays yours": (MODELS + "TestFromTheStart::test_an_interrupt_is_the_users",),
    "It gets copies": (
        MODELS + "TestInputs::test_a_model_that_writes_over_its_input_changes_nothing[recommended-array]",
    ),
    # Saved explanations
    "arrays are read without pickles": (SAVED + "test_pickle_is_never_run",),
    "Any bytes give an explanation or `InvalidFile`": (SAVED + "test_foreign",),
    "files that unpack to too much are refused by the same rules as tables": (
        BOMBS + "test_saved_explanations_have_the_same_limit",
    ),
    # Saved explainers
    "models are read as those of `--model`, with the same list of types": (
        EXPLAINERS + "test_types_of_ones_own_need_trust",
        EXPLAINERS + "test_no_pickle_is_run[model-0.skops]",
    ),
    "settings name nothing but parts of xcid itself": (
        EXPLAINERS + "test_a_name_in_the_settings_brings_nothing_but_parts_of_xcid",
    ),
    "A file whose parts are not those that were saved is refused by their digests": (
        EXPLAINERS + "test_any_part_that_changed_is_noticed",
    ),
    "one that unpacks to too much by the same rules as tables": (
        EXPLAINERS + "test_a_bomb_is_refused_before_it_is_unpacked",
    ),
    "none of its parts is written outside a folder of its own": (EXPLAINERS + "test_nothing_is_written_elsewhere",),
    "A model that predicts something else for the reference data than it did when it was saved is refused": (
        EXPLAINERS + "test_another_model_is_noticed",
    ),
    # Results
    "text that a spreadsheet would take for a formula": ("tests/hostile/test_formulas.py::test_formulas_get_a_mark",),
    "treat every name and value as text": (HELD + "test_names_do_not_become_elements_of_a_report",),
    "a policy in the page forbids all scripts but its own and all connections elsewhere": (
        HELD + "test_the_policy_of_a_report",
        APP + "TestServer::test_headers",
    ),
    "Names that reach a terminal or a notebook lose their control characters": (
        "tests/cli/test_explain.py::test_odd_names[.csv]",
        "tests/test_notebook.py::test_letters_that_act_on_others_are_written_out",
    ),
    # Runs in a folder
    "A run reads the model, the background and the table that it began with": (
        RUNS + "TestSeals::test_a_worker_refuses_a_file_that_was_replaced",
        "tests/runs/test_results.py::TestGoingOn::test_a_table_that_changes_meanwhile",
    ),
    "a chunk that is damaged, of another run, or no plain file is made again": (
        RUNS + "TestSeals::test_no_chunk_that_is_damaged",
        RUNS + "TestSeals::test_no_chunk_of_another_run",
        "tests/runs/test_results.py::TestFolder::test_other_folders_are_left_alone",
    ),
    "Links are not followed, neither in the folder nor where the result is put together": (
        RUNS + "TestSeals::test_no_chunk_by_a_link",
        RUNS + "TestSeals::test_no_file_of_a_run_by_a_link",
        RUNS + "TestSeals::test_no_link_is_followed_to_write",
    ),
    "clocks that jump change nothing": (SHARE + "[surroundings]", PLANTED + "test_a_run_that_asks_for_the_time"),
    "Where the system refuses a file, or the disk is full": (
        SHARE + "[surroundings]",
        PLANTED + "test_an_error_that_is_not_told",
        PLANTED + "test_files_that_are_written_in_place",
    ),
    "writes to stdout goes to stderr, and with `--quiet` nowhere": (
        RUNS + "TestModels::test_one_that_prints_does_not_break_json_nor_quiet",
    ),
    "`--time-limit` ends a process whose model hangs": (RUNS + "TestModels::test_one_that_hangs_is_ended",),
    # Redaction
    "leaves no value of the tables in a report": (
        REDACTION + "[classes]",
        REDACTION + "[numbers]",
        REDACTION + "[threshold]",
    ),
    # Messages and logs
    "cut to 60 letters": (TABLES + "TestWhere::test_only_the_cell_that_is_wrong_is_shown",),
    "lists up to eight that are": (HELD + "test_eight_levels_are_listed",),
    "is cut to 200 letters": (HELD + "test_what_libraries_say_is_cut",),
    "has times, counts and kinds of errors, and no data": (
        "tests/runs/test_results.py::TestFolder::test_no_data_in_the_log",
    ),
    # The app
    "listens on 127.0.0.1 only": (APP + "test_it_listens_on_this_machine_only",),
    "its path has the random token of the printed address": (APP + "TestServer::test_without_the_token",),
    "its `Host` (and `Origin`, if any) is that of the page": (
        APP + "TestServer::test_other_hosts",
        APP + "TestServer::test_other_origins",
    ),
    "limited to 1 MiB": (APP + "TestServer::test_refusals_are_words",),
    "eight at a time, those that are still being sent among them": (
        APP + "TestServer::test_work_is_done_one_at_a_time_and_the_queue_is_short",
        APP + "TestServer::test_what_is_still_being_sent_is_in_the_queue",
    ),
    "ten seconds to send a request": (SHARE + "[app]",),
    "beyond 256 connections the oldest that is not at work ends": (APP + "TestConnections",),
    "the token is not among its arguments": (
        "tests/cli/test_app.py::test_a_browser_is_opened_only_where_asked_for_and_its_arguments_tell_nothing",
    ),
    "the kernel answers messages, each of them, whatever is in it": (
        CELL + "test_a_message_without_a_number_gets_an_error_without_one",
        CELL + "test_what_is_wrong_is_said_under_the_number_of_the_message",
    ),
    "treats every name and value as text there, too": (
        "tests/browser/test_widget.py::test_text_is_shown_and_never_run",
    ),
    # Resources
    "bound what an `Explainer` holds": (
        "tests/test_models.py::TestMemory::test_calls_stay_under_the_ceiling",
        "tests/test_explainer.py::test_evidence_is_dropped_beyond_its_limit",
    ),
    "how long it waits for a model": ("tests/test_faults.py::TestTimeLimit::test_slow_rows_get_a_status",),
    "budgets of evaluations are kept to the row": (HELD + "test_a_budget_is_never_exceeded_by_a_single_row",),
}
