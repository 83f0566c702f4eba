"""
IPython's completer is made when somebody first asks for it (python/einkorn/ipython/completing.py), and nobody
can tell that it was not there before.
"""

import pytest

LOADED = "import sys\nprint('IPython.core.completer' in sys.modules)"


def complete(kernel, code):
    return kernel.ask("shell", "complete_request", {"code": code, "cursor_pos": len(code)}).content


@pytest.fixture
def late(start):
    """A kernel with IPython and without its completer."""
    kernel = start()
    kernel.run("%time 1")
    kernel.run("%lsmagic\nget_ipython().run_cell_magic('capture', '', '1');")
    assert kernel.execute(LOADED).stdout == "False\n"
    return kernel


MAKES = {
    "Completer": "get_ipython().Completer",
    "in a thread": "import threading; t = threading.Thread(target=lambda: get_ipython().Completer)\n"
                   "t.start(); t.join()",
    "complete": "get_ipython().complete('pri')",
    "the kernel": "get_ipython().kernel.do_complete('pri', 3)",
    "configurables": "list(get_ipython().configurables)",
    "its length": "len(get_ipython().configurables)",
    "an item": "get_ipython().configurables[3]",
    "what is in it": "None in get_ipython().configurables",
    "its text": "str(get_ipython().configurables)",
    "%config": "%config",
    "%config of one": "%config IPCompleter.use_jedi = False",
    "strdispatchers": "get_ipython().strdispatchers",
    "a hook": "get_ipython().set_hook('complete_command', lambda shell, event: ['x'], str_key='%%some')",
    "a matcher": "get_ipython().set_custom_completer(lambda self, text: ['x'])",
    "a frame": "get_ipython().set_completer_frame()",
    "instead": "get_ipython().Completer = get_ipython().Completer",
}


@pytest.mark.parametrize("name", MAKES)
def test_who_could_tell_has_it_made(late, name):
    late.run(MAKES[name])
    assert late.execute(LOADED).stdout == "True\n"
    assert late.execute("from IPython.core.completer import IPCompleter\nshell = get_ipython()\n"
                        "print(type(shell.Completer) is IPCompleter, shell.Completer is shell.Completer,\n"
                        "      [type(each) for each in shell.configurables].count(IPCompleter),\n"
                        "      shell.Completer.shell is shell, shell.Completer.namespace is globals(),\n"
                        "      shell.Completer.custom_completers is shell.strdispatchers['complete_command'])"
                        ).stdout == "True True 1 True True True\n"
    assert "print" in complete(late, "pri")["matches"]


def test_a_request_has_it_made(late):
    assert "print" in complete(late, "pri")["matches"]
    assert late.execute(LOADED).stdout == "True\n"


@pytest.mark.parametrize("code", [
    "get_ipython().user_ns", "get_ipython().kernel", "get_ipython().ev('1')", "get_ipython().hooks", "%who",
    "get_ipython().inspector", "get_ipython().register_magic_function(print)", "x = !echo 1", "%precision 3",
    "%alias_magic t time", "1 / 0",
])
def test_who_could_not_leaves_it(late, code):
    late.execute(code)
    assert late.execute(LOADED).stdout == "False\n"


def test_everything_that_completes_is_there_and_in_its_place(pair):
    pair.same("%time 1")
    shell = "shell = get_ipython()\n"
    pair.same(f"{shell}[type(each).__name__ for each in shell.configurables].index('IPCompleter')")
    pair.same(f"{shell}[type(each).__name__ for each in shell.configurables if 'ZMQ' not in type(each).__name__][:4]")
    pair.same(f"{shell}sorted(shell.strdispatchers)")
    pair.same(f"{shell}sorted((key, [f.__name__ for _, f in chain.chain])\n"
              "       for key, chain in shell.strdispatchers['complete_command'].strs.items())")
    pair.same(f"{shell}[m.__name__ for m in shell.Completer.matchers]")
    pair.same(f"{shell}shell.Completer.parent is shell, shell.Completer.config is shell.config")


HOOKED = """
def mine(shell, event):
    "Comes before IPython's own, for it was asked for with a higher priority; the other after it."
    raise IPython.core.error.TryNext
def other(shell, event): return ['other']
import IPython.core.error
get_ipython().set_hook('complete_command', other, str_key='import', priority=60)
get_ipython().set_hook('complete_command', mine, str_key='import', priority=40)
get_ipython().set_hook('complete_command', other, str_key='%own')
"""


def test_hooks_of_ones_own_stand_among_ipythons(pair):
    pair.same(HOOKED)
    pair.same("sorted((key, [f.__name__ for _, f in chain.chain])\n"
              "       for key, chain in get_ipython().strdispatchers['complete_command'].strs.items())")
    pair.same("get_ipython().complete('', '%own ', 5)")


def test_one_of_ones_own_stays(late):
    late.run("class Mine:\n    pass\nshell = get_ipython()\nshell.Completer = Mine()")
    assert late.execute("print(type(shell.Completer).__name__, 'IPCompleter' in str(shell.configurables),\n"
                        "      type(shell.Completer).__name__)").stdout == "Mine True Mine\n"


def test_it_can_be_replaced_for_a_while(late):
    late.run("from unittest.mock import patch\nshell = get_ipython()\n"
             "with patch.object(shell, 'Completer', 'other'): during = shell.Completer")
    assert late.execute("print(during, type(shell.Completer).__name__)").stdout == "other IPCompleter\n"


def test_the_configuration_of_a_profile_is_its(start, tmp_path):
    (tmp_path / "profile_default").mkdir()
    (tmp_path / "profile_default" / "ipython_config.py").write_text("c.IPCompleter.use_jedi = False")
    kernel = start(env={"IPYTHONDIR": str(tmp_path)})
    assert kernel.execute("print(get_ipython().Completer.use_jedi)").stdout == "False\n"


def test_threads_get_the_same(late):
    assert late.execute("""
import threading
start, got = threading.Barrier(4), []
def work(read):
    start.wait()
    got.append((read(), get_ipython().Completer))
shell = get_ipython()
reads = [lambda: shell.Completer, lambda: len(shell.configurables), lambda: shell.strdispatchers['complete_command'],
         lambda: shell.kernel.do_complete('pri', 3)['matches'][:1]]
threads = [threading.Thread(target=work, args=(read,)) for read in reads]
for thread in threads: thread.start()
for thread in threads: thread.join()
made = {id(completer) for _, completer in got}
print(len(got), len(made), str(shell.configurables).count('IPCompleter'))""").stdout == "4 1 1\n"


def test_an_interrupt_waits_until_it_is_whole(late):
    late.run("""
import time
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == 'IPython.core.completer':
            print('go')
            time.sleep(0.5)
import sys
sys.meta_path.insert(0, Slow())""")
    cell = late.started("get_ipython().Completer\ntime.sleep(60)")
    late.interrupt()
    assert late.finished(cell).error[0] == "KeyboardInterrupt"
    assert late.execute(f"print(type(get_ipython().Completer).__name__)\n{LOADED}").stdout == "IPCompleter\nTrue\n"
    assert "print" in complete(late, "pri")["matches"]


def test_a_failure_is_told_and_leaves_the_rest(late):
    late.run("import sys\nsys.modules['IPython.core.completer'] = None")
    assert late.fail("get_ipython().Completer").error[0] == "ModuleNotFoundError"
    assert complete(late, "pri")["ename"] == "ModuleNotFoundError"
    assert late.run("%time 1 + 1")[-1] == ("result", {"text/plain": "2"})
    late.run("del sys.modules['IPython.core.completer']")
    assert "print" in complete(late, "pri")["matches"]
    assert late.execute("print(str(get_ipython().configurables).count('IPCompleter'))").stdout == "1\n"
