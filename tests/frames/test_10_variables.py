"""inspect_variables: what a host may know of the cells' variables without running their code."""

import random
import sys

import pytest

import reference_variables

sys.set_int_max_str_digits(0)


def inspect(worker, **keys):
    worker.send({"type": "inspect_variables", "id": "look", **keys})
    answer = worker.read()
    assert answer["type"] == "variables_response" and answer["id"] == "look"
    return answer


def entries(worker):
    return {entry["name"]: entry for entry in inspect(worker, limit=500)["variables"]}


VALUES = [
    "None", "True", "False", "0", "-1", "7", "2**63", "-2**64", "2**4095", "2**4096 - 1", "2**4096",
    "-(2**4096)", "-(2**4096) + 1", "3**9000", "-(7**5000)",
    "0.93", "0.1", "-0.0", "1e22", "5e-324", "1e16", "float('nan')", "float('inf')", "-float('inf')",
    "''", "'protein'", "'x' * 240", "'x' * 241", "'ä\\n\\t\"\\\\'", "'\\U0001f600' * 300", "'a\\x00b\\x7f'",
    "'y' * 65536", "'y' * 65537", "'ä' * 40000", "'\\U0001f600' * 65536", "'\\U0001f600' * 65537",
    "''.join(map(chr, range(32, 50000)))",
    "b''", "b'\\x00\\xff'", "b'z' * 48", "b'z' * 49", "b'z' * 65536", "b'z' * 65537", "bytes(range(256)) * 400",
    "[]", "[1, 2, 3]", "list(range(12))", "list(range(13))", "[None, True, 1.5, 'a', b'b', float('nan')]",
    "['\"', 'ä', '\\n', '\\x01', '/', '\\u2028', '\\x7f']", "['x' * 300] * 3", "[3**9000]",
    "()", "(1,)", "tuple('abcdefghijklmnop')", "{}", "{'a': 1, 2: None, b'c': 1.5}", "{i: i for i in range(20)}",
    "set()", "{3, 1, 2}", "{'b', 'a', 10, 9}", "set(range(100))", "frozenset()", "frozenset({1.5, 'x'})",
    "frozenset(range(13))",
    "[[1]]", "[1, [2]]", "{'a': []}", "{(1,): 1}", "[object()]", "{frozenset()}", "list(range(12)) + [[]]",
    "bytearray(b'x')", "range(3)", "1j", "object()", "int", "len", "type('Own', (int,), {})(3)",
    "type('x' * 200, (), {})()", "type('Ünï', (dict,), {})()", "__import__('collections').OrderedDict(a=1)",
]  # fmt: skip


@pytest.mark.parametrize("expression", VALUES)
def test_each_kind_of_value_is_told_as_the_protocol_has_it(worker, expression):
    assert worker.execute(f"value = {expression}")["error"] is None
    value = eval(expression)
    if type(value) in (set, frozenset) and len(value) > 12:  # which twelve is Python's affair
        value = eval(worker.execute(f"print({expression})")["stdout"])
    assert entries(worker)["value"] == reference_variables.entry("value", value)


def test_many_values_are_told_as_the_reference_tells_them(worker):
    chance = random.Random(7)

    def scalar():
        return chance.choice([
            None, True, chance.getrandbits(chance.choice([3, 60, 4090, 4100])) * chance.choice([1, -1]),
            chance.uniform(-1e9, 1e9), chance.random() * 10.0 ** chance.randint(-300, 300),
            "".join(chr(chance.choice([65, 10, 233, 8364, 128512])) for _ in range(chance.randint(0, 30))),
            bytes(chance.getrandbits(8) for _ in range(chance.randint(0, 60))),
        ])  # fmt: skip

    def container():
        members = [scalar() for _ in range(chance.randint(0, 15))]
        kind = chance.choice([list, tuple, set, frozenset, dict])
        if kind is dict:
            return {scalar(): member for member in members}
        return kind(members[:12] if kind in (set, frozenset) else members)

    values = {f"v{i:03}": container() if i % 2 else scalar() for i in range(400)}
    worker.execute("\n".join(f"{name} = {value!r}" for name, value in values.items()))
    found = entries(worker)
    for name, value in values.items():
        assert found[name] == reference_variables.entry(name, value)
    worker.execute("for name in [n for n in globals() if n[0] == 'v']: del globals()[name]")


@pytest.mark.parametrize("code", ["'\\ud800'", "['\\udfff a']", "{'\\ud800': 1}"])
def test_a_lone_surrogate_has_a_fingerprint_and_is_shown_as_one_that_cannot_be(worker, code):
    worker.execute(f"value = {code}")
    found = entries(worker)["value"]
    reference = reference_variables.entry("value", eval(code))
    assert found["fingerprint"] == reference["fingerprint"]
    assert "\ufffd" in found["preview"]


HOSTILE = """
events = []
class Meta(type):
    def __getattribute__(cls, name):
        if name == '__name__': events.append('metaclass name')
        return super().__getattribute__(name)
    def __instancecheck__(cls, other): events.append('instancecheck'); return True
    def __eq__(cls, other): events.append('metaclass eq'); return True
    __hash__ = type.__hash__
    __name__ = property(lambda cls: events.append('metaclass property'))
class Hostile(metaclass=Meta):
    def __getattribute__(self, name): events.append(name); raise RuntimeError
    def __repr__(self): events.append('repr'); raise RuntimeError
    def __len__(self): events.append('len'); raise RuntimeError
    def __sizeof__(self): events.append('sizeof'); raise RuntimeError
    def __eq__(self, other): events.append('eq'); raise RuntimeError
    def __hash__(self): return hash('hostile')
    def __iter__(self): events.append('iter'); raise RuntimeError
class TrapList(list):
    def __repr__(self): events.append('list repr')
    def __iter__(self): events.append('list iter')
    def __len__(self): events.append('list len')
class TrapText(str):
    def __lt__(self, other): events.append('lt'); raise RuntimeError
    def startswith(self, *args): events.append('startswith')
    def __eq__(self, other): events.append('text eq'); return False
    def __hash__(self): return hash('hostile')
mixed = [1, Hostile()]
hostile = Hostile()
trap = TrapList([1, 2])
keys = {Hostile(): 1}
globals()[TrapText('own key')] = 1
globals()[5] = 2
renamed = type('Renamed', (), {})()
type(renamed).__name__ = TrapText('never shown')
del events[:]
"""


def test_no_code_of_the_values_runs(start):
    worker = start()
    assert worker.execute(HOSTILE)["error"] is None
    found = entries(worker)
    assert found["mixed"] == {"name": "mixed", "type": "list", "kind": "container", "length": 2}
    assert found["keys"] == {"name": "keys", "type": "dict", "kind": "container", "length": 1}
    assert found["hostile"] == {"name": "hostile", "type": "Hostile"}
    assert found["trap"] == {"name": "trap", "type": "TrapList"}
    assert found["renamed"] == {"name": "renamed", "type": "object"}
    assert "own key" not in found
    result = worker.execute("print(events)")
    assert (result["stdout"], result["error"]) == ("[]\n", None)


def test_a_type_without_a_name_is_an_object(worker):
    worker.execute("value = type('', (), {})()")
    assert entries(worker)["value"] == {"name": "value", "type": "object"}


def test_nothing_that_a_cell_replaces_is_used(start):
    worker = start()
    worker.execute(
        "import sys, hashlib, json\n"
        "calls = []\n"
        "def spy(*a, **k): calls.append(a); raise RuntimeError\n"
        "hashlib.sha256 = json.dumps = spy\n"
        "sys.modules['hashlib'] = sys.modules['_hashlib'] = sys.modules['json'] = None\n"
    )
    worker.execute("import codecs; codecs.register_error('surrogatepass', spy); value = ['ä', 1]")
    assert entries(worker)["value"] == reference_variables.entry("value", ["ä", 1])
    assert worker.execute("print(calls)")["stdout"] == "[]\n"


def test_names_that_are_not_the_users_are_hidden(start):
    worker = start()
    worker.execute("__own = _o4s_x = _OpenAI4SGate = host_ = _o4 = openai4s_x = _ = 1")
    names = [entry["name"] for entry in inspect(worker)["variables"]]
    assert names == ["_", "_o4", "host_", "openai4s_x"]


def test_names_are_sorted_cut_and_counted(start):
    worker = start()
    worker.execute("globals().update({n: 1 for n in ['b', 'ä', 'a', 'B', 'n' * 200]})")
    answer = inspect(worker, limit=3)
    assert [entry["name"] for entry in answer["variables"]] == ["B", "a", "b"]
    assert (answer["truncated"], answer["limit"]) == (True, 3)
    answer = inspect(worker, limit=5)
    assert [entry["name"] for entry in answer["variables"][3:]] == ["n" * 160, "ä"]
    assert (answer["truncated"], answer["limit"]) == (False, 5)
    assert inspect(worker)["limit"] == 200


@pytest.mark.parametrize("limit", [0, -1, 501, 2**70, True, False, 1.0, "5", None, [1]])
def test_a_bad_limit_is_refused(worker, limit):
    assert inspect(worker, limit=limit) == {
        "type": "variables_response",
        "id": "look",
        "variables": [],
        "truncated": False,
        "limit": 0,
        "error": "invalid variable inspection limit",
    }


def test_what_cannot_be_had_fails_closed_and_the_worker_lives_on(start):
    """An integer of half the memory there is: its last bits are not to be had."""
    worker = start()
    worker.execute("value = -(1 << (8 * 300_000_000))")
    worker.execute("import resource\nresource.setrlimit(resource.RLIMIT_AS, (500_000_000, resource.RLIM_INFINITY))")
    assert inspect(worker, limit=9) == {
        "type": "variables_response",
        "id": "look",
        "variables": [],
        "truncated": False,
        "limit": 9,
        "error": "variable inspection failed closed",
    }
    worker.execute("del value\nother = 5")
    assert [entry["name"] for entry in inspect(worker)["variables"]] == ["other", "resource"]


def test_a_low_limit_of_digits_shows_large_integers_by_their_size(start):
    worker = start()
    worker.execute("import sys\nsys.set_int_max_str_digits(640)\nvalue = 2**4000\nlist_ = [value]")
    found = entries(worker)
    assert found["value"]["preview"] == "<integer 4001 bits>"
    assert found["list_"]["preview"] == '["<integer 4001 bits>"]'


def test_looking_is_no_cell(start):
    worker = start()
    worker.execute("x = 1")
    inspect(worker)
    assert "<kernel:2>" in worker.execute("1 / 0")["error"]
