/*
 * The module `_einkorn`: how the runner comes into an interpreter, and run(),
 * which is all that `python -c` is asked to do. The launcher configures the
 * runner before Python starts; the stock interpreter imports it as a file and
 * gives the same texts in sys.argv. Worker, main thread; owns the settings.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bridge/api.h"
#include "bridge/cell.h"
#include "bridge/fatal.h"
#include "bridge/forked.h"
#include "bridge/frames_loop.h"
#include "bridge/gate.h"
#include "bridge/half.h"
#include "bridge/loop.h"
#include "bridge/orphan.h"
#include "bridge/port_link.h"
#include "bridge/print.h"
#include "bridge/py_compat.h"
#include "bridge/runner.h"
#include "bridge/speaker.h"
#include "bridge/stacks.h"
#include "bridge/streams.h"
#include "bridge/threads.h"

static struct {
    bool configured;
    bool frames; /* there is no kernel: JSON lines, with whoever started us */
    struct link_fds fds;
    pid_t kernel;
    pid_t worker;
    size_t max_output;
    const char *library;
    const char *half; /* settings of the Python half */
} settings;

/* The kernel process died: the worker goes, and its children with it. */
static void on_orphaned(int number)
{
    (void)number;
    if (getpgrp() == getpid()) {
        (void)kill(0, SIGKILL);
    }
    _exit(128 + SIGKILL);
}

static int orphan_guard(pid_t kernel)
{
    struct sigaction action = {.sa_handler = on_orphaned};
    (void)sigfillset(&action.sa_mask);
    if (sigaction(ORPHAN_SIGNAL, &action, NULL) != 0) {
        return -errno;
    }
    return getppid() == kernel ? 0 : -ESRCH;
}

/*
 * The last thing of a worker that ends by itself. It tells its group, as the
 * kernel would: between our end and the kernel's next move the kernel may be
 * killed, and then nobody would. A forked child comes here, too, and is not meant.
 */
static void on_exit_of_worker(void)
{
    struct link_page *page = port_link_page();
    if (getpid() != settings.worker || getpgrp() != settings.worker || page == NULL) {
        return;
    }
    (void)signal(SIGTERM, SIG_IGN);
    atomic_store(&page->group_told, true);
    (void)kill(0, getppid() == settings.kernel ? SIGTERM : SIGKILL);
}

int einkorn_runner_configure(const struct runner_config *config)
{
    char *end = NULL;
    settings.library = config->library;
    settings.frames = strcmp(config->fds, RUNNER_FRAMES) == 0;
    if (settings.frames) {
        settings.configured = true;
        return 0;
    }
    settings.kernel = (pid_t)strtol(config->kernel_pid, &end, 10);
    if (*end != '\0' || link_fds_parse(config->fds, &settings.fds) != 0) {
        return -EINVAL;
    }
    settings.max_output = strtoull(config->max_output, &end, 10);
    if (*end != '\0') {
        return -EINVAL;
    }
    settings.half = config->settings;
    settings.worker = getpid();
    settings.configured = true;
    return orphan_guard(settings.kernel);
}

/* ---- the second way in ----------------------------------------------------------- */

/* sys.argv of the stock interpreter: -c RUNNER FDS PID LIBRARY MAX SETTINGS. Lasts for ever. */
static int py_configure_by_argv(void)
{
    enum { ARGUMENTS = 7 };
    static struct buffer text[ARGUMENTS];
    PyObject *argv_b = PySys_GetObject("argv");
    if (argv_b == NULL || !PyList_Check(argv_b) || PyList_Size(argv_b) != ARGUMENTS) {
        PyErr_SetString(PyExc_RuntimeError, "_einkorn is started by einkorn only");
        return -1;
    }
    for (Py_ssize_t i = 0; i < ARGUMENTS; i++) {
        PyObject *bytes = NULL;
        if (PyUnicode_FSConverter(PyList_GetItem(argv_b, i), &bytes) == 0) {
            return -1;
        }
        buffer_put_text(&text[i], PyBytes_AsString(bytes));
        buffer_put_char(&text[i], '\0');
        Py_DECREF(bytes);
    }
    const struct runner_config config = {
        .fds = (const char *)text[2].p,
        .kernel_pid = (const char *)text[3].p,
        .library = (const char *)text[4].p,
        .max_output = (const char *)text[5].p,
        .settings = (const char *)text[6].p,
    };
    (void)setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    int error = einkorn_runner_configure(&config);
    if (error != 0) {
        PyErr_Format(PyExc_RuntimeError, "_einkorn: bad arguments: %s", strerror(-error));
    }
    return error;
}

/* ---- run() --------------------------------------------------------------------------- */

static int py_reset_argv(void)
{
    PyObject *argv = Py_BuildValue("[s]", "");
    int error = argv != NULL ? PySys_SetObject("argv", argv) : -1;
    Py_XDECREF(argv);
    return error;
}

/*
 * Stack dumps go to the side pipe, where the kernel looks for them: at death,
 * and when the kernel wants to know where a worker hangs that does not react. A
 * used up RLIMIT_CPU is one more death; the last argument lets it be one.
 */
static int py_watch_faults(void)
{
    PyObject *module = PyImport_ImportModule("faulthandler");
    int side = settings.fds.side;
    fatal_install_behind(side);
    PyObject *enabled =
        module != NULL ? PyObject_CallMethod(module, "enable", "ii", side, 1) : NULL;
    fatal_install_before();
    PyObject *stacks = enabled != NULL
                           ? PyObject_CallMethod(module, "register", "iii", STACKS_SIGNAL, side, 1)
                           : NULL;
    PyObject *limit = stacks != NULL
                          ? PyObject_CallMethod(module, "register", "iiii", SIGXCPU, side, 1, 1)
                          : NULL;
    int error = limit != NULL ? 0 : -1;
    Py_XDECREF(module);
    Py_XDECREF(enabled);
    Py_XDECREF(stacks);
    Py_XDECREF(limit);
    return error;
}

static int py_set_member(PyObject *module, const char *name, PyObject *value_b)
{
    return PyModule_AddObjectRef(module, name, value_b);
}

static int py_fill_module(PyObject *module)
{
    if (py_set_member(module, "cell", speaker_var_b()) != 0 ||
        py_set_member(module, "context", speaker_context_b()) != 0 ||
        py_set_member(module, "stdout", stream_object_b(PORT_STDOUT)) != 0 ||
        py_set_member(module, "stderr", stream_object_b(PORT_STDERR)) != 0) {
        return -1;
    }
    PyObject *half = PyUnicode_DecodeFSDefault(settings.half);
    int error = half != NULL ? py_set_member(module, "settings", half) : -1;
    Py_XDECREF(half);
    PyObject *modules_b = PySys_GetObject("modules");
    return error == 0 && modules_b != NULL ? PyDict_SetItemString(modules_b, "_einkorn", module)
                                           : -1;
}

static int py_open_door(void)
{
    int error = port_link_init(&settings.fds);
    if (error == 0) {
        error = forked_init(&settings.fds);
    }
    if (error != 0) {
        PyErr_Format(PyExc_RuntimeError, "einkorn: the door does not open: error %d", error);
    }
    return error;
}

static int py_start_half(PyObject *namespace)
{
    if (py_half_load(settings.library) != 0) {
        return -1;
    }
    PyObject *done = PyObject_CallFunctionObjArgs(half_hook_b(HOOK_START), namespace, NULL);
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}

/* "3.11.7": the first word of what Python calls itself. */
static int py_say_ready(void)
{
    char version[32];
    (void)snprintf(version, sizeof version, "%.*s", (int)strcspn(Py_GetVersion(), " "),
                   Py_GetVersion());
    return py_port_link_ready(version);
}

/*
 * The exact cut is the kernel's (kernel/output.c). It has cut already when the
 * worker keeps text back, also where the pieces of several threads came to it in
 * another order than they were counted here.
 */
static size_t speaker_limit(void)
{
    return settings.max_output != 0 ? settings.max_output + SPEAKER_SLACK : 0;
}

static int py_start(PyObject *module)
{
    PyObject *main_b = PyImport_AddModule("__main__");
    PyObject *namespace_b = main_b != NULL ? PyModule_GetDict(main_b) : NULL;
    if (namespace_b == NULL || py_open_door() != 0 || py_compat_init() != 0 ||
        py_speaker_init(&port_link, speaker_limit()) != 0 || py_streams_init() != 0 ||
        py_print_init() != 0 || py_threads_init() != 0 || py_fill_module(module) != 0 ||
        py_watch_faults() != 0 || py_start_half(namespace_b) != 0 ||
        py_cell_init(namespace_b) != 0 || py_gate_open(port_link_page(), settings.kernel) != 0) {
        return -1;
    }
    if (atexit(on_exit_of_worker) != 0) {
        (void)PyErr_NoMemory();
        return -1;
    }
    /* What site and its hooks printed is no output of a cell: it goes before READY. */
    return py_streams_flush_others() != 0 ? -1 : py_say_ready();
}

/* What the exception that ends us says is shown by the kernel's death report: fd 2. */
static void py_speak_on_fd2(void)
{
    PyObject *stderr_b = PySys_GetObject("__stderr__");
    if (stderr_b != NULL) {
        (void)PySys_SetObject("stderr", stderr_b);
    }
}

/* Before the interpreter begins to end: from then on Python cannot start a thread. */
static void py_finish(void)
{
    PyObject *done = PyObject_CallNoArgs(half_hook_b(HOOK_FINISH));
    if (done == NULL) {
        PyErr_WriteUnraisable(NULL);
    }
    Py_XDECREF(done);
}

static PyObject *py_run(PyObject *module, PyObject *unused)
{
    (void)unused;
    if ((!settings.configured && py_configure_by_argv() != 0) || py_reset_argv() != 0) {
        return NULL;
    }
    if (settings.frames) {
        return py_frames_run(module, settings.library) == 0 ? Py_NewRef(Py_None) : NULL;
    }
    if (py_start(module) != 0) {
        py_speak_on_fd2();
        return NULL;
    }
    fatal_prepare();
    if (py_loop_run() != 0) {
        py_speak_on_fd2();
        return NULL;
    }
    py_finish();
    Py_RETURN_NONE;
}

static PyMethodDef run_method[] = {
    {"run", py_run, METH_NOARGS, "run()\n--\n\nServes requests until the kernel closes the door."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_einkorn",    .m_doc = "Einkorn's cell runner.",
    .m_size = -1,          .m_methods = run_method,
};

PyMODINIT_FUNC PyInit__einkorn(void);

PyMODINIT_FUNC PyInit__einkorn(void)
{
    if (strstr(Py_GetVersion(), "free-threading") != NULL) {
        PyErr_SetString(PyExc_ImportError,
                        "einkorn: this is a free-threaded Python, which has no stable ABI yet; "
                        "use a build with the GIL");
        return NULL;
    }
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && PyModule_AddFunctions(module, api_common_methods) != 0) {
        Py_CLEAR(module);
    }
    for (size_t i = 0; module != NULL && api_link_tables[i] != NULL; i++) {
        if (PyModule_AddFunctions(module, api_link_tables[i]) != 0) {
            Py_CLEAR(module);
        }
    }
    return module;
}
