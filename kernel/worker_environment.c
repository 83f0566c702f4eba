/*
 * What user code finds in os.environ beside what we were started with. Runs in
 * the kernel process, before a worker is spawned: a change in the kernel's own
 * environment would be seen by libraries of ours, and one in Python's would be
 * code of ours in the worker.
 */

#include "kernel/worker_environment.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "bridge/xalloc.h"

static const struct {
    const char *text;
    bool is_colour; /* the user's to decide */
} variables[] = {
    {"TERM=xterm-color", false}, {"PAGER=cat", false},    {"GIT_PAGER=cat", false},
    {"CLICOLOR=1", true},        {"FORCE_COLOR=1", true}, {"CLICOLOR_FORCE=1", true},
};

enum { VARIABLES = sizeof variables / sizeof variables[0] };

static bool same_name(const char *one, const char *other)
{
    size_t n = strcspn(one, "=");

    return n == strcspn(other, "=") && memcmp(one, other, n) == 0;
}

static bool is_there(char *const *environment, const char *text)
{
    for (; *environment; environment++) {
        if (same_name(*environment, text)) {
            return true;
        }
    }
    return false;
}

static bool has(char *const *environment, const char *entry)
{
    for (; *environment; environment++) {
        if (strcmp(*environment, entry) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether that entry gives way to one of ours. */
static bool is_replaced(const char *entry)
{
    for (size_t i = 0; i < VARIABLES; i++) {
        if (!variables[i].is_colour && same_name(entry, variables[i].text)) {
            return true;
        }
    }
    return false;
}

char **worker_environment_new(char *const *environment)
{
    bool no_colour = is_there(environment, "NO_COLOR") && !has(environment, "NO_COLOR=");
    size_t count = 0, n = 0;
    char **result;

    while (environment[count]) {
        count++;
    }
    result = xcalloc(count + VARIABLES + 1, sizeof *result);
    for (size_t i = 0; i < count; i++) {
        if (!is_replaced(environment[i])) {
            result[n++] = environment[i];
        }
    }
    for (size_t i = 0; i < VARIABLES; i++) {
        const char *text = variables[i].text;

        if (!variables[i].is_colour || (!no_colour && !is_there(environment, text))) {
            result[n++] = (char *)(uintptr_t)text; /* execve takes what is not const, and reads */
        }
    }
    return result;
}
