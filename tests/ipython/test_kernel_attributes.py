"""The public names of ipykernel's kernel object, and what of them we have."""

import ast
import os

import client

# The kernel process does it, or has it; nothing in Python could answer.
SOCKETS = "the sockets and the threads that serve them are the kernel process's"
REQUESTS = "requests are taken by the kernel process; do_… answers what Python can be asked"
DEBUGGER = "there is no debugger yet"
SUBSHELLS = "there are no subshells yet"
LIFE = "the kernel runs already, and its process sees to its end"

WITHOUT = {
    **dict.fromkeys((
        "control_thread", "shell_channel_thread", "shell_channel_thread_main", "shell_main",
        "record_ports", "process_control", "dispatch_shell", "dispatch_control", "control_msg_types",
        "should_handle", "pre_handler_hook", "post_handler_hook", "init_metadata", "finish_metadata",
        "saved_sigint_handler"), SOCKETS),
    **dict.fromkeys((
        "comm_info_request", "complete_request", "connect_request", "execute_request",
        "history_request", "inspect_request", "interrupt_request", "is_complete_request",
        "kernel_info_request", "shutdown_request", "usage_request", "get_process_metric_value",
        "do_apply"), REQUESTS),
    **dict.fromkeys((
        "debug_just_my_code", "debug_request", "debug_shell_socket", "debugger", "debugger_class",
        "debugpy_stream", "dispatch_debugpy", "do_debug_request", "filter_internal_frames",
        "poll_stopped_queue"), DEBUGGER),
    **dict.fromkeys((
        "create_subshell_request", "delete_subshell_request", "list_subshell_request"), SUBSHELLS),
    **dict.fromkeys(("start", "enter_eventloop"), LIFE),
}

# Ours are None: a stream is a socket of the kernel process.
NONE = {"shell_stream", "control_stream", "stdin_socket", "iopub_thread"}
# The class is another, what can be done with it is the same.
OTHERS = {"session", "iopub_socket", "shell_handlers", "control_handlers", "help_links", "msg_types",
          "user_ns", "user_module", "compiler_class", "eventloop"}

NAMES = """
import traitlets.config
k = get_ipython().kernel
of_traitlets = set(dir(traitlets.config.SingletonConfigurable)) - {'parent', 'config', 'log'}
print({name: type(getattr(k, name, None)).__name__ for name in dir(k)
       if not name.startswith('_') and name not in of_traitlets})
"""


def test_each_name_is_there_or_missing_for_a_reason(pair):
    ours, theirs = (ast.literal_eval(seen.text()) for seen in pair.both(NAMES))
    assert set(theirs) - set(ours) == set(WITHOUT)
    assert {name for name in theirs if ours.get(name) == "NoneType" != theirs[name]} == NONE
    others = {name for name in set(ours) & set(theirs) - NONE if ours[name] != theirs[name]}
    assert others <= OTHERS, [(name, ours[name], theirs[name]) for name in others - OTHERS]


LOOP = "k = get_ipython().kernel\nloop = k.io_loop\n"


def test_the_loop_is_tornados_and_runs_what_it_is_given(pair):
    pair.same(LOOP + "import asyncio, tornado.ioloop\n"
              "print(loop is tornado.ioloop.IOLoop.current(), loop is k.io_loop, type(loop).__name__,\n"
              "      loop.asyncio_loop is asyncio.get_running_loop())")
    pair.same("import threading\nfound = []\n"
              "t = threading.Thread(target=lambda: found.append(k.io_loop)); t.start(); t.join()\n"
              "found == [loop]")
    pair.same("done = asyncio.Event(); said = []\n"
              "loop.add_callback(said.append, 1)\nloop.call_later(0, said.append, 2)\n"
              "loop.call_later(0.01, done.set)\nawait done.wait()\nsaid")


def test_what_the_loop_is_given_runs_between_cells(fresh):
    fresh.run(LOOP + "loop.call_later(0.01, print, 'later')")
    fresh.take("iopub", lambda m: m.content.get("text") == "later\n")


def test_a_thread_wakes_the_loop_that_had_nothing_to_do(fresh, tmp_path):
    """By tornado's way, and by asyncio's own."""
    os.mkfifo(tmp_path / "go")
    fresh.run(LOOP + "import threading")
    for call in ("loop.add_callback", "loop.asyncio_loop.call_soon_threadsafe"):
        fresh.run(f"threading.Thread(target=lambda: (open({str(tmp_path / 'go')!r}).read(),\n"
                  f"    {call}(print, {call!r}))).start()")
        (tmp_path / "go").write_text("")  # the cell is over
        fresh.take("iopub", lambda m: m.content.get("text") == f"{call}\n")
    assert fresh.run("1 + 1") == [("result", client.text("2"))]


def test_a_handler_that_is_never_called_is_told_of(fresh):
    """Of types that are not comms' nothing comes to Python."""
    told = fresh.execute("get_ipython().kernel.shell_handlers['my_msg'] = print").stream("stderr")
    assert "RuntimeWarning: Einkorn answers 'my_msg' outside of Python" in told
    told = fresh.execute("get_ipython().kernel.control_handlers['my_msg'] = print").stream("stderr")
    assert "never called" in told
    assert fresh.run("'my_msg' in get_ipython().kernel.shell_handlers") == [
        ("result", client.text("True"))]
