/*
 * Answers requests by functions of the Python half. Worker, main thread.
 *
 * The functions are looked up by name when they are needed: what they stand on
 * (inspect, tokenize, json) is imported then, and not at start. What they return
 * is the reply's content; what they raise becomes an error reply.
 */

#include "bridge/answer.h"

#include "bridge/cell.h"
#include "bridge/forked.h"
#include "bridge/gate.h"
#include "bridge/half.h"
#include "bridge/json_text.h"
#include "bridge/mapped.h"
#include "bridge/py_compat.h"
#include "bridge/py_json.h"
#include "bridge/speaker.h"

enum { PART_TYPE, PART_HEADER, PART_METADATA, PART_CONTENT, PART_BUFFER };

static PyObject *py_string_member(struct slice content, const char *name)
{
    struct buffer text = BUFFER_INIT;
    struct slice raw;
    if (json_object_get_kind(content, name, JSON_STRING, &raw) == 0) {
        json_string_decode(raw, &text);
    }
    PyObject *value = py_text_from(buffer_slice(&text));
    buffer_release(&text);
    return value;
}

static long long number_member(struct slice content, const char *name, int64_t otherwise)
{
    int64_t value = otherwise;
    (void)json_object_get_int(content, name, otherwise, &value);
    return value;
}

/* ---- arguments: each -> a tuple, or NULL ------------------------------------- */

static PyObject *py_code(const struct link_request *request)
{
    return Py_BuildValue("(N)", py_string_member(request->parts.part[PART_CONTENT], "code"));
}

static PyObject *py_code_and_cursor(const struct link_request *request)
{
    struct slice content = request->parts.part[PART_CONTENT];
    return Py_BuildValue("(NL)", py_string_member(content, "code"),
                         number_member(content, "cursor_pos", -1));
}

static PyObject *py_code_cursor_and_level(const struct link_request *request)
{
    struct slice content = request->parts.part[PART_CONTENT];
    return Py_BuildValue("(NLL)", py_string_member(content, "code"),
                         number_member(content, "cursor_pos", -1),
                         number_member(content, "detail_level", 0));
}

/* Code that reads a buffer as numbers expects them at an address that malloc could have given. */
static bool is_aligned(struct slice bytes)
{
    return (uintptr_t)bytes.p % alignof(max_align_t) == 0;
}

static PyObject *py_buffer(const struct link_request *request, struct slice part)
{
    if (request->mapping != NULL && is_aligned(part)) {
        return py_mapped_view(request->mapping, part);
    }
    PyObject *bytes = PyBytes_FromStringAndSize((const char *)part.p, (Py_ssize_t)part.n);
    PyObject *view = bytes != NULL ? PyMemoryView_FromObject(bytes) : NULL;
    Py_XDECREF(bytes);
    return view;
}

static PyObject *py_buffers(const struct link_request *request)
{
    PyObject *list = PyList_New(0);
    for (size_t i = PART_BUFFER; list != NULL && i < request->parts.count; i++) {
        PyObject *view = py_buffer(request, request->parts.part[i]);
        if (view == NULL || PyList_Append(list, view) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(view);
    }
    return list;
}

static struct parent_text text_of(const struct link_request *request)
{
    const struct slice *part = request->parts.part;
    return (struct parent_text){part[PART_HEADER], part[PART_METADATA], part[PART_CONTENT]};
}

/* The type and the whole message, as the `comm` package expects it. */
static PyObject *py_message(const struct link_request *request)
{
    const struct parent_text text = text_of(request);
    PyObject *arguments = NULL;
    PyObject *buffers = py_buffers(request);
    PyObject *message = buffers != NULL ? py_parent_new(&text) : NULL;
    if (message != NULL && PyDict_SetItemString(message, "buffers", buffers) == 0) {
        arguments = Py_BuildValue("(NO)", py_text_from(request->parts.part[PART_TYPE]), message);
    }
    Py_XDECREF(buffers);
    Py_XDECREF(message);
    return arguments;
}

static const struct {
    const char *type;
    const char *hook;
    PyObject *(*py_arguments)(const struct link_request *request);
    const char *with_error; /* members of an error reply that clients read unguarded */
} questions[] = {
    {"complete_request", "complete", py_code_and_cursor,
     ",\"matches\":[],\"cursor_start\":0,\"cursor_end\":0,\"metadata\":{}"},
    {"inspect_request", "inspect", py_code_cursor_and_level, ""},
    {"is_complete_request", "is_complete", py_code, ""},
    {"comm_open", "comm", py_message, ""},
    {"comm_msg", "comm", py_message, ""},
    {"comm_close", "comm", py_message, ""},
};

/* ---- asking ---------------------------------------------------------------------- */

/* -> what the hook returned, or NULL. */
static PyObject *py_call_hook(const char *name, PyObject *context, PyObject *arguments)
{
    PyObject *hooks = PyImport_ImportModule("einkorn.hooks");
    PyObject *hook = hooks != NULL ? PyObject_GetAttrString(hooks, name) : NULL;
    PyObject *run = hook != NULL ? PyObject_GetAttrString(context, "run") : NULL;
    PyObject *first = run != NULL ? PyTuple_Pack(1, hook) : NULL;
    PyObject *all = first != NULL ? PySequence_Concat(first, arguments) : NULL;
    PyObject *value = all != NULL ? PyObject_CallObject(run, all) : NULL;
    Py_XDECREF(hooks);
    Py_XDECREF(hook);
    Py_XDECREF(run);
    Py_XDECREF(first);
    Py_XDECREF(all);
    return value;
}

/* The content of the reply. -> 0, or -1 with what went wrong set. */
static int py_ask(size_t question, const struct link_request *request, PyObject *context,
                  struct buffer *ret_content)
{
    PyObject *arguments = questions[question].py_arguments(request);
    PyObject *value =
        arguments != NULL ? py_call_hook(questions[question].hook, context, arguments) : NULL;
    int error = value != NULL ? 0 : -1;
    if (value == Py_None) {
        buffer_put_text(ret_content, "{\"status\":\"ok\"}"); /* a comm message: no reply */
    } else if (value != NULL) {
        error = py_json_put(ret_content, value);
    }
    Py_XDECREF(arguments);
    Py_XDECREF(value);
    return error;
}

static int py_answer_question(const struct port *port, const struct link_request *request,
                              size_t question)
{
    struct buffer content = BUFFER_INIT;
    const struct parent_text text = text_of(request);
    struct speaker *speaker = py_speaker_begin(port, request->number, &text, false);
    if (speaker == NULL) {
        return -1;
    }
    gate_arm();
    int error = py_ask(question, request, speaker_context_b(), &content);
    PyObject *problem = error != 0 ? py_exception_take() : NULL;
    if (py_gate_disarm() != 0) {
        PyObject *late = py_exception_take();
        Py_XDECREF(problem);
        problem = late;
    }
    if (forked_is_child()) {
        py_forked_end(problem, half_hook_b(HOOK_DESCRIBE));
    }
    if (problem != NULL) {
        struct buffer members = BUFFER_INIT;
        py_cell_describe(problem, &members);
        Py_CLEAR(problem);
        buffer_clear(&content);
        buffer_put_text(&content, "{\"status\":\"error\",");
        buffer_put_slice(&content, buffer_slice(&members));
        buffer_put_text(&content, questions[question].with_error);
        buffer_put_char(&content, '}');
        buffer_release(&members);
        error = -1;
    }
    py_cell_finish(speaker);
    error = port->py_done(request->number, buffer_slice(&content), slice_of("{}"),
                          error != 0 ? "error" : "ok");
    buffer_release(&content);
    return error;
}

enum { QUESTIONS = sizeof questions / sizeof *questions };

/* -> its place in the table, or QUESTIONS. */
static size_t find_question(const struct link_request *request)
{
    const struct link_parts *parts = &request->parts;
    size_t i = 0;
    while (i < QUESTIONS &&
           !(parts->count > PART_CONTENT && slice_is(parts->part[PART_TYPE], questions[i].type))) {
        i++;
    }
    return i;
}

int py_answer(const struct port *port, const struct link_request *request)
{
    size_t i = find_question(request);
    if (i == QUESTIONS) {
        return 0;
    }
    return py_answer_question(port, request, i) == 0 ? 1 : -1;
}

/* ---- while another request runs ------------------------------------------------ */

/* It stays armed, and its event loop and files stay as they are. -> what was raised, or NULL. */
static PyObject *py_ask_within(size_t question, const struct link_request *request,
                               PyObject *context, struct speaker *speaker)
{
    struct buffer content = BUFFER_INIT;
    PyObject *problem = NULL;
    if (py_ask(question, request, context, &content) != 0) {
        problem = py_exception_take();
    }
    buffer_release(&content);
    if (py_cell_flush(speaker) != 0) {
        Py_XDECREF(problem);
        problem = py_exception_take();
    }
    return problem;
}

int py_answer_within(const struct port *port, const struct link_request *request)
{
    size_t i = find_question(request);
    if (i == QUESTIONS) {
        return 0;
    }
    const struct parent_text text = text_of(request);
    struct speaker *before = NULL;
    PyObject *context = PyObject_CallMethod(speaker_context_b(), "copy", NULL);
    struct speaker *speaker =
        context != NULL ? py_speaker_begin_within(port, request->number, &text, context, &before)
                        : NULL;
    if (speaker == NULL) {
        Py_XDECREF(context);
        return -1;
    }
    PyObject *problem = py_ask_within(i, request, context, speaker);
    if (forked_is_child()) {
        py_forked_end(problem, half_hook_b(HOOK_DESCRIBE));
    }
    int error =
        port->py_done(request->number, slice_of("{\"status\":\"ok\"}"), slice_of("{}"), "ok");
    py_speaker_back(before);
    Py_DECREF(context);
    if (error == 0 && problem != NULL &&
        PyErr_GivenExceptionMatches(problem, PyExc_KeyboardInterrupt)) {
        PyErr_SetObject((PyObject *)Py_TYPE(problem), problem);
        error = -1;
    }
    Py_XDECREF(problem);
    return error == 0 ? 1 : -1;
}
