/* bridge/statement.c: what can only be statements, and that the compiler says so, too. */

#include "bridge/statement.h"

#include "interpreter.h"

static const struct {
    const char *code;
    bool begins;
} rows[] = {
    {"x = 1", true},
    {"x=1", true},
    {"x\t =\n1", true},
    {"x +=1", true},
    {"_a9 @= 1", true},
    {"x |= 1", true},
    {"import os", true},
    {"for", true},
    {"if(1): 2", true},
    {"async def f(): pass", true},
    {"pass", true},
    {"\n\n  \n# x == 1\n\t# more\nx = 1", true},
    {"# only\nimport os", true},
    {"\xc3\xa4 = 1", true},
    {"", false},
    {"# nothing", false},
    {"#\n", false},
    {"x", false},
    {"x == 1", false},
    {"x ==1", false},
    {"x <= 1", false},
    {"x >= 1", false},
    {"x != 1", false},
    {"x + 1", false},
    {"x + (y == 1)", false},
    {"x // 2", false},
    {"x \\\n== 1", false},
    {"x[0] = 1", false}, /* it is one, but that is for the compiler to say */
    {"a, b = 1, 2", false},
    {"lambda x=1: x", false},
    {"not x", false},
    {"await x", false},
    {"importlib", false},
    {"import\xc3\xa4", false},
    {"print(1)", false},
    {"f'x'", false},
    {"None", false},
    {"match = 1", true},
    {"match == 1", false},
    {"(x == 1)", false},
    {"-x", false},
    {"1", false},
    {"1 == 1", false},
    {"*a, b", false},
    {" 1", false},
    {"\r\n1", false},
    {"\f1", false},
};

Test(statement, is_told_by_its_beginning)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_expect_eq(statement_begins(slice_of(rows[i].code)), rows[i].begins, "%s", rows[i].code);
    }
}

Test(statement, is_no_expression)
{
    interpreter_start();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        PyObject *code = Py_CompileString(rows[i].code, "<test>", Py_eval_input);
        cr_expect(code == NULL || !rows[i].begins, "%s", rows[i].code);
        PyErr_Clear();
        Py_XDECREF(code);
    }
}
