/*
 * bridge/py_json.c: what each kind of Python value becomes, and that values
 * with code of their own can neither break the text nor the process.
 */

#include "bridge/py_json.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <criterion/parameterized.h>

#include "interpreter.h"

TestSuite(py_json, .init = interpreter_start, .fini = interpreter_stop);

static const struct {
    const char *expression, *json;
} written[] = {
    {"None", "null"},
    {"True", "true"},
    {"False", "false"},
    {"0", "0"},
    {"-(1 << 63)", "-9223372036854775808"},
    {"1 << 64", "18446744073709551616"},
    {"10 ** 30", "1000000000000000000000000000000"},
    {"__import__('enum').IntEnum('E', 'A B').B", "2"},
    {"type('Index', (), {'__index__': lambda self: 7})()", "7"},
    {"0.1", "0.1"},
    {"-0.0", "-0.0"},
    {"1e22", "1e+22"},
    {"1e16", "1e+16"},
    {"5.0", "5.0"},
    {"float('nan')", "null"},
    {"float('-inf')", "null"},
    {"'plain'", "\"plain\""},
    {"'\"\\\\\\n\\x00'", "\"\\\"\\\\\\n\\u0000\""},
    {"'\\xe9\\u20ac\\U0001f600'", "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\""},
    {"'a\\ud800b\\udfff'", "\"a\xEF\xBF\xBD"
                           "b\xEF\xBF\xBD\""},
    {"type('Text', (str,), {})('t')", "\"t\""},
    {"[]", "[]"},
    {"(1, [2, ()])", "[1,[2,[]]]"},
    {"{1}", "[1]"},
    {"range(3)", "[0,1,2]"},
    {"(c for c in 'ab')", "[\"a\",\"b\"]"},
    {"{}", "{}"},
    {"{'a': {'b': 1}, 'c': None}", "{\"a\":{\"b\":1},\"c\":null}"},
    {"{None: 1, True: 2, 3: 3, 2.5: 4, (1,): 5}",
     "{\"null\":1,\"true\":2,\"3\":3,\"2.5\":4,\"(1,)\":5}"},
    {"__import__('types').MappingProxyType({'x': 1})", "{\"x\":1}"},
    {"__import__('collections').OrderedDict(a=1)", "{\"a\":1}"},
    {"b''", "\"\""},
    {"b'f'", "\"Zg==\""},
    {"b'fo'", "\"Zm8=\""},
    {"b'foo'", "\"Zm9v\""},
    {"bytearray(b'\\xff\\xfe')", "\"//4=\""},
    {"memoryview(b'abcdef')[::2]", "\"YWNl\""},
    {"object", "\"<class 'object'>\""},
    {"type('Odd', (), {'__str__': lambda self: 'o\"dd'})()", "\"o\\\"dd\""},
    {"__import__('decimal').Decimal('1.50')", "\"1.50\""},
};
enum { WRITTEN = sizeof written / sizeof written[0] };

ParameterizedTestParameters(py_json, values_are_written_as_json)
{
    static size_t index[WRITTEN];
    for (size_t i = 0; i < WRITTEN; i++) {
        index[i] = i;
    }
    return cr_make_param_array(size_t, index, WRITTEN);
}

ParameterizedTest(size_t *index, py_json, values_are_written_as_json, .init = interpreter_start,
                  .fini = interpreter_stop)
{
    struct buffer buffer = BUFFER_INIT;
    PyObject *value = py_eval(written[*index].expression);
    cr_assert(value != NULL);
    cr_expect(eq(int, py_json_put(&buffer, value), 0));
    buffer_put_char(&buffer, '\0');
    cr_expect_str_eq((const char *)buffer.p, written[*index].json, "%s",
                     written[*index].expression);
    Py_DECREF(value);
    buffer_release(&buffer);
}

static const struct {
    const char *set_up, *exception;
} refused[] = {
    {"value = []; value.append(value)", "RecursionError"},
    {"value = {}; value['x'] = value", "RecursionError"},
    {"class C:\n def __str__(self): raise OSError\nvalue = C()", "OSError"},
    {"class C:\n def __iter__(self):\n  yield 1\n  raise OSError\nvalue = C()", "OSError"},
    {"class C:\n def __str__(self): raise KeyboardInterrupt\nvalue = {C(): 1}",
     "KeyboardInterrupt"},
};
enum { REFUSED = sizeof refused / sizeof refused[0] };

Test(py_json, exceptions_of_values_come_out)
{
    for (size_t i = 0; i < REFUSED; i++) {
        struct buffer buffer = BUFFER_INIT;
        cr_assert(py_exec(refused[i].set_up));
        PyObject *value = py_eval("value");
        cr_expect(eq(int, py_json_put(&buffer, value), -1));
        PyObject *exception = py_exception_take();
        cr_assert(exception != NULL);
        PyObject *name = PyType_GetName(Py_TYPE(exception));
        cr_expect(PyUnicode_CompareWithASCIIString(name, refused[i].exception) == 0, "%s",
                  refused[i].set_up);
        Py_DECREF(name);
        Py_DECREF(exception);
        Py_DECREF(value);
        buffer_release(&buffer);
    }
    cr_assert(py_exec("value.clear() if hasattr(value, 'clear') else None"));
}

Test(py_json, a_dict_that_changes_while_it_is_written_is_survived)
{
    struct buffer buffer = BUFFER_INIT;
    cr_assert(py_exec("class C:\n"
                      " def __str__(self):\n"
                      "  value.clear(); value.update({n: object() for n in range(1000)})\n"
                      "  return 'c'\n"
                      "value = {'a': C(), 'b': C()}\n"));
    PyObject *value = py_eval("value");
    (void)py_json_put(&buffer, value);
    PyErr_Clear();
    Py_DECREF(value);
    buffer_release(&buffer);
}

Test(py_json, an_integer_too_long_for_decimal_is_written_as_hexadecimal_text)
{
    struct buffer buffer = BUFFER_INIT;
    PyObject *value = py_eval("1 << 20000");
    cr_assert(eq(int, py_json_put(&buffer, value), 0));
    cr_expect(eq(u64, buffer.n, 5001 + 2 + 2)); /* digits, 0x, quotes */
    cr_expect(buffer.p[0] == '"' && buffer.p[1] == '0' && buffer.p[2] == 'x');
    Py_DECREF(value);
    buffer_release(&buffer);
}
