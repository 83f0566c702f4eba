/* bridge/sha256.c: against the published examples, and against Python's at every length. */

#include "bridge/sha256.h"

#include <criterion/criterion.h>

#include "interpreter.h"

static const struct {
    const char *text, *digest;
} published[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
};

Test(sha256, gives_the_published_digests)
{
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        char text[2 * SHA256_BYTES + 1];
        sha256_hex(slice_of(published[i].text), text);
        cr_expect_str_eq(text, published[i].digest);
    }
}

Test(sha256, agrees_with_python_at_every_length, .init = interpreter_start,
     .fini = interpreter_stop)
{
    cr_assert(py_exec("import hashlib\ntext = bytes(i * 7 & 255 for i in range(300))\n"));
    PyObject *text = py_eval("text");
    PyObject *digests = py_eval("[hashlib.sha256(text[:n]).hexdigest() for n in range(301)]");
    for (size_t n = 0; n <= 300; n++) {
        char ours[2 * SHA256_BYTES + 1];
        sha256_hex((struct slice){(const uint8_t *)PyBytes_AsString(text), n}, ours);
        PyObject *theirs_b = PyList_GetItem(digests, (Py_ssize_t)n);
        cr_expect(PyUnicode_CompareWithASCIIString(theirs_b, ours) == 0, "%zu bytes", n);
    }
    Py_DECREF(text);
    Py_DECREF(digests);
}
