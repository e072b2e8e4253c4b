"""Every promise of SECURITY.md in its own words, the guards that keep it, and the test that sees when one is gone.

``sabotage.py`` takes the guards away, one at a time. A promise is a phrase that SECURITY.md has; ``NUMBERS`` are those
of the method itself.
"""

from __future__ import annotations

from typing import NamedTuple

NUMBERS = "(what the scores are)"
PROMISES = "tests/hostile/test_promises.py::"
TABLES = "tests/hostile/test_tables.py::"
KINDS = "tests/hostile/test_kinds.py::"
BOMBS = "tests/hostile/test_bombs.py::"
RUNS = "tests/hostile/test_runs.py::"
SHARE = "tests/hostile/test_soak.py::test_a_share_holds"
MODELS = "tests/hostile/test_models.py::"
MODEL_FILES = "tests/hostile/test_model_files.py::"
LOADED = "tests/cli/test_model_files.py::"
VETTED = "tests/cli/test_vetted.py::"
CHANGES = "tests/test_model_changes.py::"
FOREIGN = "tests/test_foreign.py::"
REDACTION = "tests/hostile/test_redaction.py::test_no_value_is_in_a_redacted_report"
SAVED = "tests/test_io.py::TestReading::"
APP = "tests/app/test_app.py::"


class Guard(NamedTuple):
    """What is lost with a guard, where it is, what its text becomes, and the test that goes red."""

    name: str
    file: str
    old: str
    new: str
    test: str


GUARDS: dict[str, tuple[Guard, ...]] = {
    NUMBERS: (
        Guard("min and max of d1 swapped", "distances/overlap.py", "xp.minimum(p, q)", "xp.maximum(p, q)",
              PROMISES + "test_distances_of_what_is_equal_and_of_what_shares_nothing"),
        Guard("seed ignored", "_kernels/random.py", "[seed % 2**64, replicate, variant]", "[0, replicate, variant]",
              PROMISES + "test_another_seed_is_another_answer_and_the_same_seed_the_same"),
        Guard("limits half as wide", "scores/adjusted.py",
              "student.quantile(freedom, (1 + CONFIDENCE) / 2) * error",
              "student.quantile(freedom, (1 + CONFIDENCE) / 2) * error / 2",
              PROMISES + "test_limits_exclude_0_just_where_a_score_is_significant"),
        Guard("sign flipped", "scores/effects.py", "influence = -(solved", "influence = (solved",
              PROMISES + "test_the_feature_that_holds_the_answer_in_place_has_a_score_above_0"),
    ),
    # Tables
    "Reading a table never runs anything that is in it": (
        Guard("lines of JSON run as Python", "files/objects.py", "record = json.loads(line, object_pairs_hook=_once)",
              "record = eval(line)", PROMISES + "test_nothing_in_a_table_is_run"),
    ),
    "Any bytes give a table or one of xcid's own errors": (
        Guard("errors of readers as they are", "files/messages.py", "    except Exception as error:\n",
              "    except ZeroDivisionError as error:\n", TABLES + "test_explain[JSON-deep-down]"),
        Guard("Parquet from an open file", "files/packed.py", "file = open_file(path)",
              'file = open_file(path.open("rb"))', KINDS + "test_parquet_is_opened_by_its_name"),
    ),
    "a Parquet file must begin and end as one": (
        Guard("packed files by their names", "files/messages.py", "if not start.startswith(mark):", "if False:",
              TABLES + "test_explain[csv-named-Parquet]"),
        Guard("packed files without an end", "files/messages.py", "or file.read() != mark:", "and False:",
              TABLES + "test_explain[half-a-Parquet]"),
    ),
    "text must be UTF-8 without NUL bytes": (
        Guard("NUL in text", "files/delimited.py", "if at >= 0:", "if False:",
              TABLES + "test_explain[a-NUL-in-a-cell]"),
        Guard("text in any encoding", "files/delimited.py", 'ENCODING = "utf-8-sig"', 'ENCODING = "latin-1"',
              TABLES + "test_explain[latin-1]"),
    ),
    "Packed text (`.gz`, `.zip`, ...) is not read": (
        Guard("packed text by its name", "files/readers.py", "if suffix in COMPRESSED:", "if False:",
              TABLES + "test_explain[gzip-by-its-name]"),
        Guard("packed text by another name", "files/messages.py", "if found := _named(_start(path)):",
              'if found := "":', TABLES + "test_explain[gzip-named-csv]"),
    ),
    "unpack to more than 128 MiB and to more than 100 times their size are refused": (
        Guard("files of any size", "files/unpacked.py", "if unpacked > max(SMALL, TIMES * packed):",
              "if False:", KINDS + "test_kinds_that_unpack_to_anything[coded-text.parquet]"),
    ),
    "text is counted as it is read": (
        Guard("sizes by the footer alone", "files/packed.py", "                n_written += _n_written(column)\n",
              "                pass\n", BOMBS + "test_a_footer_that_lies"),
    ),
    "a cell counts 8 bytes at least": (
        Guard("cells that take no room", "files/unpacked.py", "CELL = 8 ", "CELL = 0 ",
              KINDS + "test_rows_that_a_column_of_parquet_says_it_has"),
    ),
    "16 where a JSON file leaves it out": (
        Guard("a new name in each line", "files/objects.py", "CELL = 16 ", "CELL = 0 ",
              KINDS + "test_a_new_name_in_each_line"),
    ),
    "Long text that a file repeats by a short code or a view counts as often as it is repeated": (
        Guard("codes of long text not counted", "files/packed.py", "return int(lengths[codes].sum())", "return 0",
              KINDS + "test_kinds_that_unpack_to_anything[coded-text.parquet]"),
        Guard("text counted column by column", "files/packed.py", "n_written += _n_written(", "n_written = _n_written(",
              KINDS + "test_kinds_that_unpack_to_anything"),
    ),
    "more than 10,000 columns are refused": (
        Guard("any number of columns", "files/tables.py", "if n_columns > MOST_COLUMNS:", "if False:",
              KINDS + "test_more_columns_than_can_be_explained[.csv]"),
    ),
    "must be numbers, booleans, dates, text or codes of these": (
        Guard("any kind of column", "files/packed.py", "if not _is(_value(inner(field.type)), *KNOWN):", "if False:",
              KINDS + "test_kinds_that_unpack_to_anything[coded-lists.feather]"),
        Guard("text that is not UTF-8", "files/packed.py", "column.validate(full=True)", "pass",
              KINDS + "test_text_that_is_not_utf_8"),
    ),
    "devices, pipes and folders are refused": (
        Guard("devices taken for files", "files/unpacked.py",
              "if not path.is_file() or not path.stat().st_size:", "if False:", KINDS + "test_devices_and_pipes"),
    ),
    "status 2 and one line that names the file": (
        Guard("status 1 for bad tables", "cli/__init__.py", "return BAD_INPUT if isinstance(error, BAD) else FAILED",
              "return FAILED", TABLES + "test_explain[names-only]"),
        Guard("messages in many lines", "cli/__init__.py", "' '.join(message.split())", "message",
              MODELS + "TestFromTheStart::test_at_the_command_line[raises in two lines]"),
        Guard("a full stdout", "cli/__init__.py", "except OSError as error:\n        drop",
              "except ZeroDivisionError as error:\n        drop", RUNS + "TestStreams::test_no_way_out[>/dev/full]"),
        Guard("a result that a model moves", "cli/__init__.py", "setattr(options, name, value.absolute())", "pass",
              RUNS + "TestModels::test_a_failing_row_is_a_status_on_every_road[alone]"),
    ),
    "the row and the column where there is one": (
        Guard("cells without their row", "files/sources.py",
              'return called if line is None else f"{called} (line {line})"', 'return "a row"',
              TABLES + "TestWhere::test_blank_lines_and_newlines_in_cells_are_counted"),
    ),
    "no result file is left behind": (
        Guard("half a result", "files/writers.py",
              "        with contextlib.suppress(OSError):\n            temporary.unlink(missing_ok=True)",
              "        pass", "tests/test_io.py::TestWriting::test_a_failing_write_leaves_the_old_file"),
    ),
    "Tables of up to 10,000 columns are explained": (
        Guard("a matrix times its own view", "_kernels/arrays.py",
              "across.copy() if rows.shape[-2] > MOST_AT_ONCE else across", "across",
              "tests/test_wide.py::TestProductsOfAMatrixWithItself"),
    ),
    "comes out as an error of xcid, with the cause behind it": (
        Guard("foreign errors as they are", "errors.py", "    except (XcidError, MemoryError):",
              "    except Exception:", SHARE + "[inputs]"),
    ),
    "`MemoryError`, Ctrl-C and sequences without an end stay what they are": (
        Guard("no memory taken for a bad table", "errors.py", "    except (XcidError, MemoryError):",
              "    except XcidError:", FOREIGN + "test_what_is_told"),
    ),
    "Times with a time zone are not compared": (
        Guard("times with and without a zone", "space/features.py", "if column.unit and (not column.zoned) in _zoned(",
              "if False and _zoned(", FOREIGN + "TestTimeZones"),
        Guard("zones of files are lost", "files/cells.py", "if has_zone != rule.zoned:", "if False:",
              "tests/cli/test_time_zones.py"),
    ),
    "answers that a model masks are no answers": (
        Guard("masked answers count", "models/predictor.py", "    if n_masked:", "    if False:",
              FOREIGN + "test_masked_answers_are_none"),
    ),
    # Models
    "a pickle with such a name is an error": (
        Guard("pickles by another name", "files/models.py", "    if not zipfile.is_zipfile(path):\n",
              "    if not zipfile.is_zipfile(path):\n        return __import__('joblib').load(path)\n",
              LOADED + "test_pickles_in_disguise_do_not_run[.skops]"),
    ),
    "it is refused for others": (
        Guard("any type in a model file", "files/models.py", "    if unknown:\n", "    if False:\n",
              VETTED + "TestOthersNeedTrust::test_a_function_that_would_run_commands"),
    ),
    "comes only in the way that it was read for": (
        Guard("vetted types by any node", "files/models.py", "and maker not in makers(name)", "and False",
              MODEL_FILES + "TestFilesOfOthers::test_a_booster_that_would_open_a_file"),
    ),
    "Text that would be read from files that cells name is refused": (
        Guard("texts by the names of files", "files/models.py",
              'inner.get("input", "content") != "content":', "False:",
              MODEL_FILES + "TestFilesOfOthers::test_texts_by_the_names_of_files[filename]"),
    ),
    "a tree that asks for a feature beyond those of its model": (
        Guard("trees with any feature", "files/models.py", "np.any(features >= ", "np.any(features < -",
              VETTED + "test_features_that_a_row_does_not_have"),
    ),
    "are never offered for `--trust`": (
        Guard("trust offered for any function", "files/models.py", 'if name.partition(".")[0] in LOUD', "if False",
              MODEL_FILES + "TestFilesOfOthers::test_no_function_that_runs_code_is_offered"),
    ),
    "loads every model file but a pickle in a process of its own first": (
        Guard("model files not tried", "files/trial.py",
              "yield lambda features: _ask(process, ours, path, SECONDS + size / 2**20, features)",
              "yield lambda features: None",
              MODEL_FILES + "TestTrial::test_harm_is_one_line"),
    ),
    "nor does it go on with a file that changed meanwhile": (
        Guard("model files replaced after the trial", "files/trial.py", "if _signature(path) != before:", "if False:",
              MODEL_FILES + "TestTrial::test_a_file_that_changes_meanwhile_is_refused"),
    ),
    "archive that unpacks to too much is refused by the same rule as tables": (
        Guard("model files of any size", "files/models.py",
              "unpacked.check(path, path.stat().st_size, unpacked.in_zip(file))", "pass",
              LOADED + "TestTrust::test_archives_that_unpack_to_too_much"),
        Guard("archives within archives not counted", "files/unpacked.py",
              'content.read(4) == b"PK\\x03\\x04"', "False", BOMBS + "test_archives_within_an_archive_count"),
    ),
    "Without it no pickle is loaded": (
        Guard("pickles that nobody asked for", "files/models.py", "if suffix in UNPICKLED and unsafe_pickle:",
              "if suffix in UNPICKLED:", LOADED + "test_pickles_are_refused[.pkl]"),
    ),
    "What it raises becomes the status of a row": (
        Guard("a piece without flips ends all", "cli/explain.py",
              "explainer = explainer.but(one_sided=one_side.append, failed=failures.append)", "pass",
              "tests/cli/test_pieces_without_flips.py"),
        Guard("a failing row that ends the run", "_faults.py", "for piece in reference() if", "for piece in [] if",
              "tests/test_faults.py::test_a_row_that_fails_alone_is_a_status_like_one_that_fails_among_others"),
        Guard("failing rows that nobody hears of", "cli/explain.py", "    if found:\n        n_rows",
              "    if False:\n        n_rows",
              RUNS + "TestModels::test_a_failing_row_is_a_status_on_every_road[alone]"),
    ),
    "that is changed in place is never explained by its past": (
        Guard("a changed model is not noticed", "subject.py", 'if self.trust == "watched" and now == self.fingerprint:',
              "if True:", CHANGES + "test_a_changed_model_is_explained_as_it_is[forest: fit]"),
        Guard("a copy trusts what was read elsewhere", "subject.py", 'trust if is_same else "lost"', "trust",
              CHANGES + "test_a_copy_is_of_the_model_that_came_with_it[tree: a leaf-pickle]"),
    ),
    "also where it would end the process by `SystemExit`": (
        Guard("models that end the process", "models/predictor.py", "except (Exception, SystemExit) as error:",
              "except Exception as error:", MODELS + "TestFromTheStart::test_one_error_with_words[ends the process]"),
    ),
    "Ctrl-C stays yours": (
        Guard("Ctrl-C taken for a failing model", "models/predictor.py", "except (Exception, SystemExit) as error:",
              "except BaseException as error:", MODELS + "TestFromTheStart::test_an_interrupt_is_the_users"),
    ),
    "It gets copies": (
        Guard("the background in the hands of a model", "space/makers.py", "cells = matrix.astype(self.dtype)\n",
              "cells = matrix.astype(self.dtype, copy=False)\n",
              MODELS + "TestInputs::test_a_model_that_writes_over_its_input_changes_nothing[recommended-array]"),
    ),
    # Saved explanations
    "arrays are read without pickles": (
        Guard("pickles in saved explanations", "files/saved.py", "allow_pickle=False", "allow_pickle=True",
              SAVED + "test_pickle_is_never_run"),
    ),
    "Any bytes give an explanation or `InvalidFile`": (
        Guard("errors of saved explanations as they are", "files/saved.py",
              "except Exception as error:  # a damaged archive",
              "except ZeroDivisionError as error:  # a damaged archive", SAVED + "test_foreign"),
    ),
    "files that unpack to too much are refused by the same rules as tables": (
        Guard("saved explanations of any size", "files/saved.py",
              "unpacked.check(path, path.stat().st_size, unpacked.in_zip(file))", "pass",
              BOMBS + "test_saved_explanations_have_the_same_limit"),
    ),
    # Results
    "text that a spreadsheet would take for a formula": (
        Guard("formulas in CSV", "files/writers.py", "return text.lstrip(MARK).startswith(STARTS) and",
              "return False and", "tests/hostile/test_formulas.py::test_formulas_get_a_mark"),
    ),
    "treat every name and value as text": (
        Guard("report without escapes", "report/page.py", "return text.translate(_ESCAPES)", "return text",
              PROMISES + "test_names_do_not_become_elements_of_a_report"),
    ),
    "a policy in the page forbids all scripts but its own and all connections elsewhere": (
        Guard("reports with any script", "report/page.py", "default-src 'none'; script-src '{script}'; ", "",
              PROMISES + "test_the_policy_of_a_report"),
        Guard("app with any script", "app/server.py", "default-src 'none'; script-src 'self'; ", "",
              APP + "TestServer::test_headers"),
    ),
    "Names that reach a terminal lose their control characters": (
        Guard("commands to a terminal", "cli/_terminal.py",
              'return "".join(letter if letter.isprintable() or letter == "\\n" else "?" for letter in text)',
              "return text", "tests/cli/test_explain.py::test_odd_names[.csv]"),
    ),
    # Runs in a folder
    "A run reads the model, the background and the table that it began with": (
        Guard("workers that take any model file", "runs/worker.py", "with verify_unchanged(task.inputs):",
              "with verify_unchanged(()):", RUNS + "TestSeals::test_a_worker_refuses_a_file_that_was_replaced"),
        Guard("rows of a table that changed", "runs/run.py", "with verify_unchanged([data]):",
              "with verify_unchanged(()):",
              "tests/runs/test_results.py::TestGoingOn::test_a_table_that_changes_meanwhile"),
    ),
    "a chunk that is damaged, of another run, or no plain file is made again": (
        Guard("damaged chunks", "runs/fragments.py", "if checksum.decode() != hashlib.sha256(rest).hexdigest():",
              "if False:", RUNS + "TestSeals::test_no_chunk_that_is_damaged"),
        Guard("chunks of another run", "runs/fragments.py", 'if (head.pop("run"), head["number"]) != (run, number):',
              'if (head.pop("run") and run, head["number"]) != (run, number):',
              RUNS + "TestSeals::test_no_chunk_of_another_run"),
        Guard("folders of others", "runs/folder.py", "if others and not {MANIFEST, LOCK} & set(others):", "if False:",
              "tests/runs/test_results.py::TestFolder::test_other_folders_are_left_alone"),
    ),
    "Links are not followed, neither in the folder nor where the result is put together": (
        Guard("chunks by links", "runs/fragments.py", "if not stat.S_ISREG(path.lstat().st_mode):", "if False:",
              RUNS + "TestSeals::test_no_chunk_by_a_link"),
        Guard("other files of a run by links", "runs/folder.py", "not kind((path / name).lstat().st_mode)",
              "not kind((path / name).stat().st_mode)", RUNS + "TestSeals::test_no_file_of_a_run_by_a_link"),
        Guard("results through links", "files/writers.py",
              "temporary.unlink(missing_ok=True)\n        temporary.touch(exist_ok=False)", "temporary.touch()",
              RUNS + "TestSeals::test_no_link_is_followed_to_write"),
    ),
    "writes to stdout goes to stderr, and with `--quiet` nowhere": (
        Guard("models that print into the result", "cli/_terminal.py", "os.dup2(2, 1)\n", "pass\n",
              RUNS + "TestModels::test_one_that_prints_does_not_break_json_nor_quiet"),
        Guard("models that are heard under --quiet", "cli/_terminal.py", "        if quiet:\n            _nowhere(2)\n",
              "", RUNS + "TestModels::test_one_that_prints_does_not_break_json_nor_quiet"),
    ),
    "`--time-limit` ends a process whose model hangs": (
        Guard("models that hang for ever", "runs/run.py", "or one.deadline < now]", "]",
              RUNS + "TestModels::test_one_that_hangs_is_ended"),
    ),
    # Redaction
    "leaves no value of the tables in a report": (
        Guard("cells in a redacted report", "report/page.py", 'cell=lambda text: "hidden"', "cell=_cut",
              REDACTION + "[classes]"),
        Guard("outputs in a redacted report", "report/page.py", 'number=lambda value: "a hidden number"',
              "number=format_number", REDACTION + "[numbers]"),
        Guard("names of rows in a redacted report", "report/page.py", "row=lambda position, name: str(position)",
              "row=lambda position, name: _cut(name)", REDACTION + "[classes]"),
        Guard("levels in a redacted report", "report/page.py",
              'name if name == "missing" else f"value {position + 1}"', "name", REDACTION + "[classes]"),
        Guard("settings in a redacted report", "report/page.py", "    setting=_name_alone,\n", "    setting=str,\n",
              REDACTION + "[threshold]"),
        Guard("scales in a redacted report", "report/page.py", "    line=_from_0_to_1,\n",
              "    line=lambda low, high: lambda points: points,\n", REDACTION + "[numbers]"),
    ),
    # Messages and logs
    "cut to 60 letters": (
        Guard("whole cells in messages", "_names.py", "MOST_SHOWN = 60 ", "MOST_SHOWN = 6000 ",
              TABLES + "TestWhere::test_only_the_cell_that_is_wrong_is_shown"),
    ),
    "lists up to eight that are": (
        Guard("all levels in messages", "space/columns.py", "MOST_SHOWN = 8\n", "MOST_SHOWN = 8000\n",
              PROMISES + "test_eight_levels_are_listed"),
    ),
    "is cut to 200 letters": (
        Guard("whole rows in messages of libraries", "files/messages.py", "MOST_SAID = 200 ", "MOST_SAID = 20000 ",
              PROMISES + "test_what_libraries_say_is_cut"),
    ),
    "has times, counts and kinds of errors, and no data": (
        Guard("cells in the log", "cli/_runs.py", 'folder.log(f"ended by {type(error).__name__}")',
              'folder.log(f"ended by {type(error).__name__}: {error}")',
              "tests/runs/test_results.py::TestFolder::test_no_data_in_the_log"),
    ),
    # The app
    "listens on 127.0.0.1 only": (
        Guard("app for everybody", "app/server.py", "listener.bind((HOST, port))", 'listener.bind(("", port))',
              APP + "test_it_listens_on_this_machine_only"),
    ),
    "its path has the random token of the printed address": (
        Guard("requests without the token", "app/server.py", "has_token = hmac.compare_digest(token, self.token)",
              "has_token = True", APP + "TestServer::test_without_the_token"),
    ),
    "its `Host` (and `Origin`, if any) is that of the page": (
        Guard("requests of other hosts", "app/server.py", "hosts[0] in self.hosts", "True",
              APP + "TestServer::test_other_hosts"),
        Guard("requests of other pages", "app/server.py", "set(origins) <= self.origins", "True",
              APP + "TestServer::test_other_origins"),
    ),
    "limited to 1 MiB": (
        Guard("requests of any size", "app/server.py", "if len(read) > MOST_BYTES:", "if False:",
              APP + "TestServer::test_refusals_are_words"),
    ),
    "eight at a time, those that are still being sent among them": (
        Guard("any number of requests", "app/server.py", "if self.waiting >= MOST_WAITING:", "if False:",
              APP + "TestServer::test_work_is_done_one_at_a_time_and_the_queue_is_short"),
        Guard("requests count when they are read", "app/server.py", "        self.waiting += 1\n",
              "        await request.body()\n        self.waiting += 1\n",
              APP + "TestServer::test_what_is_still_being_sent_is_in_the_queue"),
    ),
    "ten seconds to send a request": (
        Guard("slow clients of the app stay", "app/server.py", "            else:\n                self.drop()", "",
              SHARE + "[app]"),
    ),
    "beyond 256 connections the oldest that is not at work ends": (
        Guard("any number of connections to the app", "app/server.py", "if len(self.connections) >= MOST_OPEN else []",
              "if False else []", APP + "TestConnections"),
    ),
    "the token is not among its arguments": (
        Guard("token among a browser's arguments", "cli/app.py", "args=(page.as_uri(),)", "args=(address,)",
              "tests/cli/test_app.py::test_a_browser_is_opened_only_where_asked_for_and_its_arguments_tell_nothing"),
    ),
    # Resources
    "bound what an `Explainer` holds": (
        Guard("calls of any size", "models/predictor.py", "max_rows = max(1, memory // (64 * len(space.names)))",
              "max_rows = 2**62", "tests/test_models.py::TestMemory::test_calls_stay_under_the_ceiling"),
        Guard("samples without end", "pipeline.py", "if kept_bytes <= setup.max_evidence_bytes", "if True",
              "tests/test_explainer.py::test_evidence_is_dropped_beyond_its_limit"),
    ),
    "how long it waits for a model": (
        Guard("models as slow as they like", "_faults.py",
              "if self.seconds is not None and time.monotonic() - self.start > self.seconds:", "if False:",
              "tests/test_faults.py::TestTimeLimit::test_slow_rows_get_a_status"),
    ),
    "budgets of evaluations are kept to the row": (
        Guard("one evaluation more than asked for", "generators/search.py",
              "left = self.budget - self.n_evaluations[rows]", "left = self.budget - self.n_evaluations[rows] + 1",
              PROMISES + "test_a_budget_is_never_exceeded_by_a_single_row"),
    ),
}  # fmt: skip
