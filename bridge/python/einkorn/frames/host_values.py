"""What becomes of the arguments and the answers of the methods of ``host``."""

from .host_methods import METHODS, NAMED, WIRE_NAMES


def encode(arguments):
    """Return the arguments of a call as they go over the wire.

    In a dict that is an argument itself the keys become camelCase and those whose value is None
    are left out: the host takes an optional value that is absent, but no null.  What is inside of
    the values belongs to the user and is left alone.
    """
    if not isinstance(arguments, (list, tuple)):
        raise TypeError(f"args must be a list, not {type(arguments).__name__}")
    return [_encode_dict(item) if isinstance(item, dict) else item for item in arguments]


def _encode_dict(item):
    return {_camel(key): value for key, value in item.items() if value is not None}


def _camel(key):
    if not isinstance(key, str):
        return key
    first, *others = key.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in others)


def make_method(call, group, name):
    """Make the function of one row of the table.

    ``call(method, args)`` is what calls the host; ``group`` is where the row is: "host.skills".
    """
    path = f"{group}.{name}"
    wire_name = WIRE_NAMES.get(path, path.removeprefix("host.").replace(".", "_"))
    shape, signature, summary = METHODS[group][name]
    # Python itself binds what a cell passes to the parameters: the text is the table's.
    bind = eval(f"lambda {signature}: locals()")
    bind.__name__, bind.__qualname__ = name, path
    defaults = _containers(bind)
    before, after = BEFORE.get(wire_name), AFTER.get(wire_name)

    def method(*arguments, **keywords):
        values = bind(*arguments, **keywords)
        for parameter, default in defaults.items():
            values[parameter] = _filled(values[parameter], default)
        form = "_full" if values.pop("full", False) else ""
        sent = before(values) if before else values
        result = call(wire_name + form, [sent] if shape == NAMED else list(sent.values()))
        return after(wire_name, values, result) if after else result

    method.__name__, method.__qualname__, method.__doc__ = name, path, summary
    method.__wrapped__ = bind  # inspect.signature looks here
    return method


def _containers(function):
    """Return the parameters of a function whose default is a list or a dict."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    defaults = function.__defaults__ or ()
    found = dict(zip(names[len(names) - len(defaults) :], defaults))
    found.update(function.__kwdefaults__ or {})
    return {name: value for name, value in found.items() if isinstance(value, (list, dict))}


def _filled(value, default):
    """Return ``value`` as it is sent where ``default``, a list or a dict, is what is expected."""
    if isinstance(default, list) and value is not None and not isinstance(value, (str, dict)):
        value = list(value)  # a set, the keys of a dict, an array
    return value or default


# ---- methods that look at their arguments: BEFORE[wire name](values) -> what is sent ----------


def _llm(values):
    """A prompt, a request, or a list of them; a request's own values win over the keywords."""
    request = values.pop("request")
    if isinstance(request, list):
        return {"batch": [_llm_request(item) for item in request], **values}
    del values["max_concurrency"]
    return {**values, **_llm_request(request)}


def _llm_request(item):
    if isinstance(item, str):
        item = {"prompt": item}
    if not isinstance(item, dict):
        raise TypeError(f"host.llm: unsupported request type {type(item)!r}")
    if "messages" in item:
        messages = item["messages"]
    elif "prompt" in item:
        messages = [{"role": "user", "content": item["prompt"]}]
    else:
        raise ValueError("host.llm dict needs 'prompt' or 'messages'")
    for message in messages:
        if isinstance(message, dict) and message.get("role") == "system":
            raise ValueError(
                "host.llm: 'system' role is not allowed; the system prompt is host-controlled"
            )
    kept = {name: item[name] for name in ("max_tokens", "temperature") if name in item}
    return {"messages": messages, **kept}


def _judge(values):
    """The host knows the templates; a cell names one and cannot write its own questions."""
    template, params = values["template"], values["params"]
    if not isinstance(template, str) or not template.strip():
        raise ValueError("host.judge requires a template id")
    if "questions" in params:
        raise ValueError("host.judge does not accept a questions list; use a registered template")
    return {**values, "params": params or None}


def _collect(values):
    child_ids = values["child_ids"]
    return {**values, "child_ids": [child_ids] if isinstance(child_ids, str) else child_ids}


BEFORE = {
    "llm": _llm,
    "judge": _judge,
    "artifacts": lambda values: values["filters"],
    "collect": _collect,
    "endpoints_register": lambda values: {**values["spec"], "name": values["name"]},
}


# ---- methods that look at the answer: AFTER[wire name](wire name, values, answer) -> result ------


class LineageEntry(dict):
    """Where a version comes from: a dict whose items are attributes, too."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def _lineage_entry(wire_name, values, answer):
    return LineageEntry(answer) if isinstance(answer, dict) else answer


def _table(wire_name, values, answer):
    """A DataFrame, if that was asked for and pandas is here."""
    if values["df"]:
        try:
            import pandas
        except ImportError:
            return answer
        return pandas.DataFrame(answer["rows"], columns=answer["columns"])
    return answer


def _lab_result(wire_name, values, answer):
    """An answer with an error beside other things is an exception that has these."""
    if isinstance(answer, dict) and "error" in answer:
        error = RuntimeError(f"host.{wire_name.replace('_', '.', 1)}: {answer['error']}")
        error.error_kind, error.details = answer.get("error_kind"), answer.get("details")
        raise error
    return answer


AFTER = {
    "query": _table,
    "lineage_get": _lineage_entry,
    **{f"lab_{name}": _lab_result for name in METHODS["host.lab"]},
}
