"""Modules of ``einkorn.frames`` in this process, behind a runner that is a double.

    from half import runner, use
    host = use("host").build("repl", "g1")
    runner.host = function(method, args)      answers, as the program that drives a worker does
    runner.calls, runner.frames               what went out
"""

import importlib
import json
import os
import sys
import types

PACKAGE = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../bridge/python"))


class Runner(types.ModuleType):
    """The functions of ``_einkorn`` that these modules call."""

    def __init__(self):
        super().__init__("_einkorn")
        self.reset()

    def reset(self):
        self.calls, self.frames, self.host = [], [], lambda method, args: None

    def host_call(self, method, args):
        args = json.loads(json.dumps(args))
        self.calls.append((method, args))
        try:
            answer = self.host(method, args)
        except Exception as error:
            answer = {"error": str(error)}
        answer = json.loads(json.dumps(answer))
        if isinstance(answer, dict) and set(answer) == {"error"}:
            raise RuntimeError(f"host.{method} error: {answer['error']}")
        return answer

    def write_frame(self, frame):
        self.frames.append(frame)

    @staticmethod
    def listen(event, listener):
        pass

    @staticmethod
    def hold_interrupts(function, argument):
        return function(argument)


runner = Runner()


def use(name):
    """Return the module ``einkorn.frames.<name>``, imported anew."""
    runner.reset()
    for loaded in [key for key in sys.modules if key.partition(".")[0] == "einkorn"]:
        del sys.modules[loaded]
    sys.modules["_einkorn"] = runner
    sys.path.insert(0, PACKAGE)
    try:
        return importlib.import_module(f"einkorn.frames.{name}")
    finally:
        sys.path.remove(PACKAGE)
