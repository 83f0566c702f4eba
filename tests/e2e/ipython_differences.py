"""
What these tests say of the plain shell that is otherwise where IPython runs the cells.

With `--shell=ipython` in EINKORN_TEST_ARGS the tests named here are left out. Each is IPython's own
way, which notebooks know from ipykernel; whatever else fails then is a bug of ours.
"""

ABSENT = "is about a Python without IPython"
NAMES = "IPython puts open and get_ipython into the namespace, and __builtin__ into sys.modules"
IMPORTS = "IPython imports asyncio and logging"
CLASS = "IPython shows a class as its name"
LONGER = "IPython's tracebacks are longer"
SWALLOWS = "IPython's completer and inspector answer with what they have when they are interrupted"
CLEARS = "IPython's own end takes away the names of modules before it finalizes what needs them"
DEBUGGER = "an interrupt at the prompt of IPython's debugger: tests/ipython/test_debugger_prompt.py"

DIFFERENCES = {
    "test_what_is_left_to_the_end_is_done[object that needs a module]": CLEARS,
    "test_what_is_left_to_the_end_is_done[object in a cycle that needs a module]": CLEARS,
    "test_ipython_display_where_ipython_is_not": ABSENT,
    "test_raw_display_and_metadata": ABSENT,
    "test_magics_are_syntax_errors": ABSENT,
    "test_main_is_the_session_and_has_no_file": NAMES,
    "test_the_namespace_is_main_and_has_none_of_our_names": NAMES,
    "test_the_logging_tree_is_untouched": IMPORTS,
    "test_asyncio_is_imported_only_when_needed": IMPORTS,
    "test_surface": CLASS,
    "test_colours_are_the_users_to_switch_off": "IPython's kernels set FORCE_COLOR and its kin",
    "test_one_error_message_and_the_same_reply[raise SystemExit(0)": "IPython warns of SystemExit",
    "test_one_error_message_and_the_same_reply[import sys": "IPython warns of SystemExit",
    "test_system_exit_in_a_session": "IPython warns of SystemExit",
    "test_recursion": LONGER,
    "test_recursion_is_an_ordinary_error": LONGER,
    "test_notes_groups_and_chains": "IPython writes exception groups to stderr",
    "test_syntax_errors['x = (1,": "IPython compiles with ALLOW_INCOMPLETE: another message",
    "test_representations": "of an object with every attribute IPython asks for its text only",
    "test_the_debugger_asks": "IPython replies BdbQuit without a message",
    "test_a_look_up_has_a_budget": SWALLOWS,
    "test_an_interrupt_at_pdbs_prompt_ends_the_cell": DEBUGGER,
    "test_startup_files_of_the_prompt_are_not_run": "IPython runs PYTHONSTARTUP, as ipykernel does",
    "test_a_session_is_written_as_ipython_writes_it": "IPython may make the profile's directory first",
    "test_directories_that_cannot_be_used[runtime": "IPython warns of the directory",
    "test_variables_of_the_environment[developer": "asyncio tells of each cell that takes long",
    "test_completion_and_inspection_run_nothing_but_attribute_access": "jedi asks for items, too",
    "test_store_history_off_leaves_no_trace": "IPython keeps such results in Out",
}


def reason(name):
    """Why a test (its name with parameters) cannot hold under IPython; None if it must."""
    whole = name.partition("[")[0]
    for start, why in DIFFERENCES.items():
        if whole == start or ("[" in start and name.startswith(start)):
            return why
    return None
