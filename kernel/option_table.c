/*
 * The table of commands and options. Runs in the kernel process, first of all.
 * One row for each spelling, so that the parser has no case of its own for any
 * name, and help, manual and tests can be held against it. Owns nothing.
 */

#include "kernel/option_table.h"

#include <string.h>

static const struct option_command commands_table[] = {
    {"kernel", COMMAND_KERNEL, IN_KERNEL},          {"install", COMMAND_INSTALL, IN_INSTALL},
    {"uninstall", COMMAND_UNINSTALL, IN_UNINSTALL}, {"doctor", COMMAND_DOCTOR, IN_DOCTOR},
    {"frames", COMMAND_FRAMES, IN_FRAMES},
};

static const struct option options_table[] = {
    {"f", IN_KERNEL, OPTION_PATH, offsetof(struct options, connection_file)},
    {"connection-file", IN_KERNEL, OPTION_PATH, offsetof(struct options, connection_file)},
    {"IPKernelApp.connection-file", IN_KERNEL, OPTION_PATH,
     offsetof(struct options, connection_file)},
    {"python", ANYWHERE, OPTION_TEXT, offsetof(struct options, python)},
    {"libpython", IN_KERNEL | IN_FRAMES, OPTION_TEXT, offsetof(struct options, libpython)},
    {"python-version", IN_KERNEL, OPTION_TEXT, offsetof(struct options, python_version)},
    {"max-output", IN_KERNEL, OPTION_COUNT, offsetof(struct options, max_output)},
    {"stall-timeout", IN_KERNEL, OPTION_SECONDS, offsetof(struct options, stall_timeout_ms)},
    {"on-death", IN_KERNEL, OPTION_ON_DEATH, 0},
    {"memory-limit", IN_KERNEL, OPTION_SIZE, offsetof(struct options, memory_limit)},
    {"cell-timeout", IN_KERNEL, OPTION_SECONDS, offsetof(struct options, cell_timeout_ms)},
    {"comm-timeout", IN_KERNEL, OPTION_SECONDS, offsetof(struct options, comm_timeout_ms)},
    {"shell", IN_KERNEL, OPTION_SHELL, 0},
    {"no-ipykernel-shim", IN_KERNEL, OPTION_SWITCH, offsetof(struct options, no_ipykernel_shim)},
    {"facts", IN_KERNEL, OPTION_SWITCH, offsetof(struct options, facts)},
    {"log", IN_KERNEL, OPTION_TEXT, offsetof(struct options, log_file)},
    {"log-level", IN_KERNEL, OPTION_LEVEL, 0},
    {"debug", IN_KERNEL, OPTION_DEBUG, 0},
    {"no-history", IN_KERNEL, OPTION_OFF, offsetof(struct options, history)},
    {"HistoryManager.enabled", IN_KERNEL, OPTION_TRUTH, offsetof(struct options, history)},
    {"HistoryAccessor.enabled", IN_KERNEL, OPTION_TRUTH, offsetof(struct options, history)},
    {"HistoryManager.hist-file", IN_KERNEL, OPTION_TEXT, offsetof(struct options, history_file)},
    {"HistoryAccessor.hist-file", IN_KERNEL, OPTION_TEXT, offsetof(struct options, history_file)},
    {"HistoryManager.db-log-output", IN_KERNEL, OPTION_TRUTH,
     offsetof(struct options, history_output)},
    {"ipython-dir", IN_KERNEL, OPTION_TEXT, offsetof(struct options, ipython_dir)},
    {"IPKernelApp.ipython-dir", IN_KERNEL, OPTION_TEXT, offsetof(struct options, ipython_dir)},
    {"BaseIPythonApplication.ipython-dir", IN_KERNEL, OPTION_TEXT,
     offsetof(struct options, ipython_dir)},
    {"profile", IN_KERNEL, OPTION_TEXT, offsetof(struct options, profile)},
    {"IPKernelApp.profile", IN_KERNEL, OPTION_TEXT, offsetof(struct options, profile)},
    {"BaseIPythonApplication.profile", IN_KERNEL, OPTION_TEXT, offsetof(struct options, profile)},
    {"profile-dir", IN_KERNEL, OPTION_TEXT, offsetof(struct options, profile_dir)},
    {"ProfileDir.location", IN_KERNEL, OPTION_TEXT, offsetof(struct options, profile_dir)},
    {"user", IN_PLACE, OPTION_USER, 0},
    {"sys-prefix", IN_PLACE, OPTION_SYS_PREFIX, 0},
    {"prefix", IN_PLACE, OPTION_PREFIX, 0},
    {"name", IN_PLACE, OPTION_TEXT, offsetof(struct options, name)},
    {"as-python3", IN_PLACE, OPTION_SWITCH, offsetof(struct options, as_python3)},
    {"display-name", IN_INSTALL, OPTION_TEXT, offsetof(struct options, display_name)},
    {"env", IN_INSTALL, OPTION_ENV, 0},
    {"restart-in-place", IN_INSTALL, OPTION_SWITCH, offsetof(struct options, restart_in_place)},
    {"help", ANYWHERE, OPTION_HELP, 0},
    {"h", ANYWHERE, OPTION_HELP, 0},
    {"version", ANYWHERE, OPTION_VERSION, 0},
};

static bool same_name(const char *name, const char *text, size_t n)
{
    if (strlen(name) != n) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (name[i] != (text[i] == '_' ? '-' : text[i])) {
            return false;
        }
    }
    return true;
}

const struct option_command *option_command_find(const char *word)
{
    for (size_t i = 0; i < sizeof commands_table / sizeof commands_table[0]; i++) {
        if (strcmp(word, commands_table[i].word) == 0) {
            return &commands_table[i];
        }
    }
    return NULL;
}

const struct option *option_find(int mask, const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof options_table / sizeof options_table[0]; i++) {
        const struct option *option = &options_table[i];
        if ((option->commands & mask) != 0 && same_name(option->name, name, n)) {
            return option;
        }
    }
    return NULL;
}

bool option_is_ipythons(const char *name, size_t n)
{
    static const char *const names[] = {"ext",        "gui",    "matplotlib", "pylab",
                                        "cache-size", "colors", "autocall"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (same_name(names[i], name, n)) {
            return true;
        }
    }
    return memchr(name, '.', n) != NULL;
}
