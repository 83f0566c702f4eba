"""The methods of `host`: what each call of a cell looks like on the wire, through a real worker."""

import json
from pathlib import Path

import pytest

import half

ROWS = json.loads((Path(__file__).parent / "host_methods.json").read_text())

# Calls that the table of the original leaves out: defaults, keywords, and what is newer.
MORE = [
    ("host.llm({'messages': [{'role': 'user', 'content': 'c'}], 'temperature': 0}, max_tokens=9)",
     "llm", [{"messages": [{"role": "user", "content": "c"}], "maxTokens": 9, "temperature": 0}]),
    ("host.llm([{'prompt': 'a', 'max_tokens': 3}])", "llm",
     [{"batch": [{"messages": [{"role": "user", "content": "a"}], "max_tokens": 3}],
       "maxTokens": 1024, "temperature": 0.7}]),
    ("host.save_artifact('r.csv')", "save_artifact",
     [{"path": "r.csv", "inputVersionIds": [], "priority": 0, "executionCellId": "c1",
       "producingCellId": "c1"}]),
    ("host.save_artifact('r.csv', producing_cell_id='mine')", "save_artifact",
     [{"path": "r.csv", "inputVersionIds": [], "priority": 0, "executionCellId": "c1",
       "producingCellId": "mine"}]),
    ("host.save_artifact('r', 'name', content_type='t', input_version_ids=['v'], "
     "source={'a_b': 1})", "save_artifact",
     [{"path": "r", "filename": "name", "contentType": "t", "inputVersionIds": ["v"], "priority": 0,
       "source": {"a_b": 1}, "executionCellId": "c1", "producingCellId": "c1"}]),
    ("host._call('save_artifact', ['path'])", "save_artifact", ["path"]),
    ("host._call('save_artifact', [{'producingCellId': 'mine'}, {}])", "save_artifact",
     [{"producingCellId": "mine", "executionCellId": "c1"}, {}]),
    ("host.collect(['a', 'b'])", "collect", [{"childIds": ["a", "b"]}]),
    ("host.env.list(None)", "env_list", [{"packages": []}]),
    ("host.env.list({'numpy'})", "env_list", [{"packages": ["numpy"]}]),
    ("host.query('q', (1, 2), limit=3)", "query",
     [{"sql": "q", "params": [1, 2], "limit": 3, "df": False, "scope": "project"}]),
    ("host.mcp.call('s', 't', {'snake_case': None})", "mcp_call",
     [{"server": "s", "tool": "t", "args": {"snake_case": None}}]),
    ("host.mcp.resources('s', cursor='n')", "mcp_resources", [{"server": "s", "cursor": "n"}]),
    ("host.endpoints.register('n', base_url='u', none=None)", "endpoints_register",
     [{"name": "n", "baseUrl": "u"}]),
    ("host.judge('t', {'s_t': 1})", "judge", [{"template": "t", "state": {"s_t": 1}}]),
    ("host.judge('t', 1, some_thing=2)", "judge",
     [{"template": "t", "state": 1, "params": {"some_thing": 2}}]),
    ("host.lab.list()", "lab_list", []),
    ("host.lab.describe('d')", "lab_describe", [{"deviceId": "d"}]),
    ("host.lab.create('d', 'p', seed=1)", "lab_create",
     [{"deviceId": "d", "profile": "p", "seed": 1}]),
    ("host.lab.observe('r')", "lab_observe", [{"runId": "r"}]),
    ("host.lab.observe('r', full=True)", "lab_observe_full", [{"runId": "r"}]),
    ("host.lab.execute('r', 'o', expected_revision=2)", "lab_execute",
     [{"runId": "r", "operation": "o", "expectedRevision": 2}]),
    ("host.lab.status('r', 'c')", "lab_status", [{"runId": "r", "commandId": "c"}]),
    ("host.lab.stop('r')", "lab_stop", [{"runId": "r"}]),
    ("host.lab.export('r')", "lab_export", [{"runId": "r"}]),
    ("host.lab.commands('r')", "lab_commands", [{"runId": "r", "afterSeq": 0, "limit": 50}]),
    ("host.lab.observations('r', after_sequence=3)", "lab_observations",
     [{"runId": "r", "afterSequence": 3, "limit": 20}]),
    ("host.lab.observations('r', full=True)", "lab_observations_full",
     [{"runId": "r", "afterSequence": -1, "limit": 20}]),
]  # fmt: skip
ROWS = [(row["call"], row["method"], row["args"]) for row in ROWS] + MORE


@pytest.mark.parametrize("call, method, args", ROWS, ids=[row[0] for row in ROWS])
def test_a_call_is_on_the_wire_as_the_table_says(worker, call, method, args):
    result = worker.execute(f"reply = {call}", host=lambda method, args: None, id="c1")
    assert result["error"] is None
    ours = [call for call in result.calls if not call[0].startswith("prov_")]
    # As text, which tells 30 from 30.0.
    assert json.dumps(ours, sort_keys=True) == json.dumps([(method, args)], sort_keys=True)


def test_no_row_of_our_table_goes_untested():
    values = half.use("host_values")
    wire_names = {
        values.WIRE_NAMES.get(f"{group}.{name}", f"{group}.{name}"[5:].replace(".", "_"))
        for group, rows in values.METHODS.items()
        for name in rows
    }
    assert wire_names - {method for _, method, _ in ROWS} == set()


CHECKS = [
    ("host.llm({})", "ValueError: host.llm dict needs 'prompt' or 'messages'"),
    ("host.llm({'messages': [{'role': 'system'}]})",
     "ValueError: host.llm: 'system' role is not allowed; the system prompt is host-controlled"),
    ("host.llm(['a', {'messages': [{'role': 'system'}]}])",
     "ValueError: host.llm: 'system' role is not allowed; the system prompt is host-controlled"),
    ("host.llm(3)", "TypeError: host.llm: unsupported request type <class 'int'>"),
    ("host.llm([3])", "TypeError: host.llm: unsupported request type <class 'int'>"),
    ("host.judge(' ', 1)", "ValueError: host.judge requires a template id"),
    ("host.judge('t', 1, questions=[])",
     "ValueError: host.judge does not accept a questions list; use a registered template"),
    ("host.read_file()",
     "TypeError: host.read_file() missing 1 required positional argument: 'path'"),
    ("host.read_file('p', 1)",
     "TypeError: host.read_file() takes 1 positional argument but 2 were given"),
    ("host.skills.get(nam='n')",
     "TypeError: host.skills.get() got an unexpected keyword argument 'nam'"),
    ("host._call('ping', 'x')", "TypeError: args must be a list, not str"),
    ("host.nothing", "AttributeError: '_Host' object has no attribute 'nothing'"),
    ("host.compute",
     "AttributeError: '_Host' object has no attribute 'compute' (not available in this kernel)"),
    ("host.skills.nothing", "AttributeError: '_Methods' object has no attribute 'nothing'"),
]  # fmt: skip


@pytest.mark.parametrize("call, error", CHECKS, ids=[call for call, _ in CHECKS])
def test_what_is_wrong_with_a_call_is_told_without_the_host(worker, call, error):
    result = worker.execute(call)
    assert result["error"].rstrip("\n").endswith(f"\n{error}")
    assert result.calls == []


def shown(worker, code, answer):
    """What a cell prints when the host answers each call with ``answer``."""
    result = worker.execute(code, host=lambda method, args: answer)
    assert result["error"] is None, result["error"]
    return result["stdout"]


def test_any_method_can_be_called_by_its_name_and_the_codec_is_the_same(worker):
    args = "[{'a_b': {'c_d': None}, 'e': None, 'f__g': [None]}, {1: 2}, 'x_y']"
    code = f"host._call('any_thing', {args})"
    calls = worker.execute(code, host=lambda method, args: None).calls
    assert calls == [
        ("any_thing", [{"aB": {"c_d": None}, "fG": [None]}, {"1": 2}, "x_y"]),
    ]


def test_lineage_has_attributes(worker):
    answer = {"inputs": [1], "get": "shadowed"}
    code = "e = host.lineage['v']\nprint(e.inputs, e['inputs'], isinstance(e, dict), e.get('get'))"
    assert shown(worker, code, answer) == "[1] [1] True shadowed\n"
    result = worker.execute("e.missing")
    assert result["error"].endswith("AttributeError: missing\n")


PANDAS = """
import sys, types
class DataFrame:
    def __init__(self, rows, columns):
        self.made_of = rows, columns
module = types.ModuleType('pandas')
module.DataFrame = DataFrame
sys.modules['pandas'] = {module}
"""


def test_a_query_gives_a_dataframe_if_pandas_is_there(worker):
    answer = {"rows": [[1]], "columns": ["a"]}
    code = PANDAS.format(module="module") + "print(host.query('q', df=True).made_of)"
    assert shown(worker, code, answer) == "([[1]], ['a'])\n"
    assert shown(worker, "print(host.query('q'))", answer) == f"{answer}\n"
    code = PANDAS.format(module="None") + "print(host.query('q', df=True))"
    assert shown(worker, code, answer) == f"{answer}\n"


def test_a_credential_is_a_token_redeemed(worker):
    def host(method, args):
        return {"credentials_issue": {"token": "t1"}, "credentials_redeem": {"value": "v1"}}[method]

    result = worker.execute("print(host.credentials.get('n'))", host=host)
    assert result["stdout"] == "v1\n"
    assert [method for method, _ in result.calls] == ["credentials_issue", "credentials_redeem"]
    assert result.calls[1][1] == ["t1"]


def test_an_error_of_the_lab_with_more_beside_it_is_an_exception(worker):
    answer = {"error": "unknown outcome", "error_kind": "unknown", "details": {"command_id": "c"}}
    code = """\
try:
    host.lab.stop('r')
except RuntimeError as error:
    print(error, error.error_kind, error.details)
"""
    assert shown(worker, code, answer) == (
        "host.lab.stop: unknown outcome unknown {'command_id': 'c'}\n"
    )


def test_an_error_with_more_beside_it_is_data_elsewhere(worker):
    answer = {"error": "x", "detail": "still data"}
    assert shown(worker, "print(host.fold('MK'))", answer) == f"{answer}\n"


def test_methods_can_be_looked_at(worker):
    code = """\
import copy, inspect
print(inspect.signature(host.read_file), host.read_file.__doc__, host.read_file.__qualname__)
print({'skills', 'query', 'bash', 'read_file'} <= set(dir(host)), 'compute' in dir(host))
print(dir(host.query)[-1], hasattr(host, '__wrapped__'), host.glob is host.glob)
print(copy.copy(host).skills is not None, openai4s is host, host.skills is openai4s.skills)
"""
    assert shown(worker, code, None) == (
        "(path, *, offset=0, limit=2000) Read lines of a file. host.read_file\n"
        "True False\nschema False True\nTrue True True\n"
    )


# ---- modes --------------------------------------------------------------------------------------

CONTROL = (
    "frames query mcp compute delegate children collect stop_child send_message delegation_stats"
)


@pytest.mark.parametrize("mode", ["python", "analysis", "r", "R"])
def test_a_trimmed_kernel_has_no_control_methods(start, mode):
    worker = start(env={"OPENAI4S_KERNEL_MODE": mode})
    result = worker.execute(f"""\
for name in {CONTROL.split()!r}:
    try:
        getattr(host, name)
    except AttributeError as error:
        print(error)
print([name for name in {CONTROL.split()!r} if name in dir(host) or hasattr(host, name)])
print(host.read_file('p'), host._call('ping', []))
""", host=lambda method, args: method)  # fmt: skip
    assert result["error"] is None
    text = "'_Host' object has no attribute '{}' (not available in this kernel)"
    assert result["stdout"].splitlines() == [
        *(text.format(name) for name in CONTROL.split()), "[]", "read_file ping",
    ]  # fmt: skip


def test_an_unknown_mode_has_no_host_and_says_so_once(start):
    worker = start(env={"OPENAI4S_KERNEL_MODE": "sideways"})
    first = worker.execute("print('host' in globals(), 'openai4s' in globals())")
    assert first["stdout"] == "False False\n"
    logs = [text for text in first.logs if text.startswith("host sdk unavailable")]
    assert logs == ["host sdk unavailable: build_host: unknown kernel mode 'sideways'"]
    assert not [log for log in worker.execute("1").logs if "host sdk" in log]


def test_jupyter_mode_has_no_host(start):
    worker = start(env={"OPENAI4S_KERNEL_MODE": "jupyter"})
    result = worker.execute("print('host' in globals(), 'openai4s' in globals())")
    assert (result["stdout"], result.logs) == ("False False\n", [])


def test_the_mode_is_read_once(start):
    worker = start(env={"OPENAI4S_KERNEL_MODE": "python"})
    worker.execute("import os\nos.environ['OPENAI4S_KERNEL_MODE'] = 'repl'\ndel host, openai4s")
    result = worker.execute("print(hasattr(host, 'query'), openai4s is host)")
    assert result["stdout"] == "False True\n"


def test_a_host_that_a_cell_replaces_stays_replaced_and_one_it_deletes_comes_back(worker):
    worker.execute("host.read_file.mark = 1\nhost = 3")
    assert worker.execute("print(host, openai4s.read_file.mark)")["stdout"] == "3 1\n"
    worker.execute("del host")
    assert worker.execute("print(host.read_file.mark)")["stdout"] == "1\n"


def test_a_remote_worker_without_a_host_has_a_name_that_raises(monkeypatch):
    monkeypatch.setenv("OPENAI4S_WORKER_CONNECT", "127.0.0.1:1")
    install, namespace = half.use("host_install").install, {}
    install(namespace, "sideways")
    host = namespace["host"]
    assert host is namespace["openai4s"]
    text = "the host SDK could not be imported in this worker .build_host: unknown kernel mode"
    for use in (lambda: host.glob, lambda: host("x"), lambda: host._call("ping", [])):
        with pytest.raises(RuntimeError, match=text):
            use()
    assert half.runner.frames == [
        {"type": "log", "msg": "host sdk unavailable: build_host: unknown kernel mode 'sideways'"}
    ]


GENERATIONS = [
    ({"OPENAI4S_KERNEL_GENERATION": "g1"}, None, "g1"),
    ({"OPENAI4S_KERNEL_GENERATION": "g1"}, "remote", "remote"),
    ({}, None, "worker:"),
]


@pytest.mark.parametrize("environment, told, generation", GENERATIONS)
def test_what_the_driver_calls_this_worker(monkeypatch, environment, told, generation):
    monkeypatch.delenv("OPENAI4S_KERNEL_GENERATION", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    if told:
        monkeypatch.setattr("sys._openai4s_remote_generation", told, raising=False)
    namespace = {}
    half.use("host_install").install(namespace, "repl")
    assert namespace["host"]._generation.startswith(generation)


def test_a_cell_that_does_not_use_host_does_not_load_its_table(start):
    code = "import sys\nprint(sorted(name for name in sys.modules if 'frames.' in name))"
    loaded = eval(start().execute(code)["stdout"])
    assert {name for name in loaded if "host" in name or "bash" in name} == {
        "einkorn.frames.host",
        "einkorn.frames.host_install",
    }
