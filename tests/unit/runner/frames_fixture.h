#ifndef TESTS_RUNNER_FRAMES_FIXTURE_H
#define TESTS_RUNNER_FRAMES_FIXTURE_H

/*
 * An interpreter whose fd 0 and 1 are pipes of the test's, taken over by the
 * channel of `einkorn frames`. The test is the host.
 */

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "bridge/frames_channel.h"
#include "bridge/frames_names.h"
#include "bridge/frames_write.h"
#include "interpreter.h"

static struct {
    int to;   /* write requests here */
    int from; /* read frames here */
} host;

static inline void frames_start(void)
{
    int in[2];
    int out[2];
    cr_assert(pipe(in) == 0 && pipe(out) == 0);
    interpreter_start();
    cr_assert(dup2(in[0], 0) == 0 && dup2(out[1], 1) == 1);
    close(in[0]);
    close(out[1]);
    host.to = in[1];
    host.from = out[0];
    cr_assert(py_frames_names_init() == 0 && py_channel_open() == 0 && py_frames_write_init() == 0);
}

static inline void host_says(const char *text)
{
    cr_assert(eq(sz, (size_t)write(host.to, text, strlen(text)), strlen(text)));
}

/* All that waits, which is less than a pipe holds; "" if it is nothing. */
static inline const char *host_hears(void)
{
    static char text[1 << 16];
    (void)fcntl(host.from, F_SETFL, O_NONBLOCK);
    ssize_t n = read(host.from, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

/* The next line as text; NULL at the end. Fails the test on an exception. */
static inline const char *line_read(void)
{
    static char text[1 << 16];
    PyObject *line = NULL;
    cr_assert(eq(int, py_channel_read_line(&line), 0));
    if (line == NULL) {
        return NULL;
    }
    cr_assert(lt(long, (long)PyBytes_Size(line), (long)sizeof text));
    memcpy(text, PyBytes_AsString(line), (size_t)PyBytes_Size(line) + 1);
    Py_DECREF(line);
    return text;
}

/* The published object's descriptor, by its name in sys. */
static inline int published(const char *name)
{
    return PyObject_AsFileDescriptor(PySys_GetObject(name));
}

#endif
