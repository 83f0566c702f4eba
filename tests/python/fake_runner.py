"""A stand-in for the C runner, so that the Python half can be tested in a stock interpreter.

``main`` runs in a process of its own, as ``python -c "import fake_runner; ..."``, because the
Python half changes builtins, ``sys.meta_path`` and asyncio.  It makes the module ``_einkorn``, reads
a list of steps as JSON from fd 0, and writes what each of them gave as JSON to fd 1.  A step is a
cell (str), or a dict:

    code, store, silent     a cell; interrupt: [seconds, ...] after which SIGINT is sent
    idle                    seconds until the next request comes
    expressions             {name: source}
    call, arguments         the name of another hook, and what it is called with: its result is
                            "result"; a "buffers" (list of str) in the last argument becomes bytes
    answers                 what input() gets in the next cells (null: the client cannot ask)
"""

import contextvars
import importlib.util
import json
import os
import signal
import sys
import threading
import time
import types

ONLY_AST, TOP_LEVEL_AWAIT, COROUTINE = 0x400, 0x2000, 0x80

messages = []
answers = []
namespace = sys.modules["__main__"].__dict__
stdin_error = None
count = 0


class Stream:
    """Records what is written as stream messages."""

    encoding, errors = "utf-8", "replace"

    def __init__(self, name):
        self.name = name

    def write(self, text):
        last = messages[-1] if messages else {}
        if last.get("type") == "stream" and last["name"] == self.name:
            last["text"] += text
        else:
            messages.append({"type": "stream", "name": self.name, "text": text})
        return len(text)

    def flush(self):
        """Nothing is held back."""

    def isatty(self):
        return False


def publish(msg_type, content, metadata=None, buffers=()):
    message = {"type": msg_type, **json.loads(encode(content))}
    if msg_type.startswith("comm_"):
        message["metadata"] = json.loads(encode(metadata or {}))
        message["buffers"] = [bytes(memoryview(item)).decode() for item in buffers or ()]
    messages.append(message)


def publish_error(ename, evalue, traceback):
    messages.append({"type": "error", "ename": ename, "evalue": evalue, "traceback": traceback})


def ask(prompt, password):
    messages.append({"type": "input_request", "prompt": prompt, "password": password})
    answer = answers.pop(0)
    if answer is None:
        messages.pop()
        what = "getpass" if password else "raw_input"
        raise stdin_error(f"{what} was called, but this frontend does not support input requests.")
    return answer


def set_stdin_error(cls):
    global stdin_error
    stdin_error = cls


def set_interrupt_taker(taker):
    """As the gate does it: asked before KeyboardInterrupt is raised."""
    def handler(number, frame):
        if taker is None or not taker(frame):
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, handler if taker else signal.default_int_handler)


def encode(value):
    def other(item):
        if isinstance(item, bytes):
            import base64

            return base64.b64encode(item).decode()
        return str(item)

    return json.dumps(value, default=other)


def make_module():
    module = types.ModuleType("_einkorn")
    module.publish, module.error, module.ask = publish, publish_error, ask
    module.payload = lambda item: messages.append({"type": "payload", **item})
    module.set_stdin_error, module.encode = set_stdin_error, encode
    module.set_interrupt_taker = set_interrupt_taker
    module.awaits = lambda: None
    module.request_fd = lambda fds=os.pipe(): fds[0]  # nothing ever comes
    module.hold_interrupts = lambda function, argument: function(argument)
    module.cell = contextvars.ContextVar("cell", default=None)
    module.context = contextvars.Context()
    module.settings = ""
    module.stdout, module.stderr = Stream("stdout"), Stream("stderr")
    sys.stdout, sys.stderr = module.stdout, module.stderr
    sys.modules["_einkorn"] = module
    return module


def load_hooks():
    """Import the package as the runner does: its directory does not get onto sys.path."""
    from importlib.machinery import PathFinder

    directory = os.path.join(os.path.dirname(__file__), "..", "..", "bridge", "python")
    spec = PathFinder.find_spec("einkorn", [os.path.realpath(directory)])
    package = importlib.util.module_from_spec(spec)
    sys.modules["einkorn"] = package
    spec.loader.exec_module(package)
    import einkorn.hooks as hooks

    return hooks


def pieces(code, name):
    """Compile a cell as the runner does: (code object, is it the last expression?) in order."""
    import ast

    tree = compile(code, name, "exec", ONLY_AST | TOP_LEVEL_AWAIT, True)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    if tree.body:
        yield compile(tree, name, "exec", TOP_LEVEL_AWAIT, True), False
    if last:
        yield compile(ast.Expression(last.value), name, "eval", TOP_LEVEL_AWAIT, True), True


def run_cell(hooks, runner, step):
    global count
    code, store = step["code"], step.get("store", True)
    count += store
    try:
        name = hooks.begin(count, code, store, step.get("silent", False))
        timers = [threading.Timer(wait, os.kill, (os.getpid(), signal.SIGINT))
                  for wait in step.get("interrupt", ())]
        for timer in timers:
            timer.start()
        for compiled, is_last in list(pieces(code, name)):
            runner.context.run(runner.cell.set, count)
            value = runner.context.run(eval, compiled, namespace)
            if compiled.co_flags & COROUTINE:
                value = hooks.run_coroutine(value)
            if is_last and value is not None and not (";" in code and hooks.silenced(code)):
                runner.context.run(hooks.echo, value, count, store)
        result = {"status": "ok", "file": name}
    except BaseException as error:
        traceback = BaseException.__traceback__.__get__(error)
        while traceback and traceback.tb_frame.f_code.co_filename == __file__:
            traceback = traceback.tb_next
        ename, evalue, traceback = hooks.describe(BaseException.with_traceback(error, traceback))
        result = {"status": "error", "ename": ename, "evalue": evalue, "traceback": traceback}
    hooks.end()
    return result


def run_idle(hooks, seconds):
    reading, writing = os.pipe()
    timer = threading.Timer(seconds, os.write, (writing, b"x"))
    begun = time.monotonic()  # before the timer: it may be a while until this thread goes on
    timer.start()
    hooks.idle(reading)
    took = time.monotonic() - begun
    timer.join()
    os.close(reading)
    os.close(writing)
    return {"status": "ok", "took": took}


def run_call(hooks, runner, step):
    arguments = step["arguments"]
    if isinstance(arguments[-1], dict):
        texts = arguments[-1].get("buffers", ())
        arguments[-1]["buffers"] = [memoryview(text.encode()) for text in texts]
    begun = time.monotonic()
    result = runner.context.run(getattr(hooks, step["call"]), *arguments)
    return {"result": result, "took": time.monotonic() - begun}


def main():
    try:
        serve()
    except BaseException:
        sys.stderr = sys.__stderr__  # so that the test can tell what was wrong
        raise


def serve():
    steps = json.loads(sys.stdin.buffer.read())
    runner = make_module()
    hooks = load_hooks()
    hooks.start(namespace)
    results = []
    for step in steps:
        messages.clear()
        if isinstance(step, str):
            step = {"code": step}
        if "code" in step:
            result = run_cell(hooks, runner, step)
        elif "idle" in step:
            result = run_idle(hooks, step["idle"])
        elif "expressions" in step:
            result = hooks.expressions(step["expressions"])
        elif "call" in step:
            result = run_call(hooks, runner, step)
        else:
            answers[:] = step["answers"]
            result = {}
        results.append({**result, "messages": [dict(item) for item in messages]})
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as file:
        json.dump(results, file)
