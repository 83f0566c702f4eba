#ifndef KERNEL_OPTION_TABLE_H
#define KERNEL_OPTION_TABLE_H

/*
 * Which commands and options `einkorn` knows: their names, what takes which, and
 * where a value belongs. How they are spelt and what follows from them is the
 * business of options.c, which alone reads the table.
 */

#include <stdbool.h>
#include <stddef.h>

#include "kernel/options.h"

/* What an option does, and with which value. */
enum option_kind {
    OPTION_TEXT,    /* a value, kept as it is */
    OPTION_PATH,    /* a value, without the quotes around it */
    OPTION_COUNT,   /* a size_t */
    OPTION_SECONDS, /* an int64_t, milliseconds */
    OPTION_SIZE,    /* a uint64_t, bytes */
    OPTION_TRUTH,   /* a struct option_truth, as traitlets spells it */
    OPTION_LEVEL,   /* --log-level */
    OPTION_ENV,     /* --env */
    OPTION_ON_DEATH,
    OPTION_SHELL,
    OPTION_DEBUG, /* from here on: no value */
    OPTION_USER,
    OPTION_SYS_PREFIX,
    OPTION_SWITCH, /* a bool that becomes true */
    OPTION_OFF,    /* a struct option_truth that becomes false, in our own words */
    OPTION_HELP,
    OPTION_VERSION,
    OPTION_PREFIX, /* a value again */
};

/* Which commands take it. */
enum {
    IN_KERNEL = 1,
    IN_INSTALL = 2,
    IN_UNINSTALL = 4,
    IN_DOCTOR = 8,
    IN_FRAMES = 16,
    IN_PLACE = IN_INSTALL | IN_UNINSTALL,
    ANYWHERE = IN_KERNEL | IN_PLACE | IN_DOCTOR | IN_FRAMES,
};

struct option_command {
    const char *word;
    enum command command;
    int mask; /* one of the above */
};

struct option {
    const char *name; /* without dashes at the front */
    int commands;     /* which take it, a mask */
    enum option_kind kind;
    size_t offset; /* in struct options, of the kinds that say what lies there */
};

/* The command of this word. -> NULL: it is none. */
const struct option_command *option_command_find(const char *word);

/*
 * The option of this name that a command of `mask` takes: n bytes without the dashes at
 * the front; a dash in it may be written as an underscore. -> NULL: there is none.
 */
const struct option *option_find(int mask, const char *name, size_t n);

static inline bool option_takes_value(const struct option *self)
{
    return self->kind < OPTION_DEBUG || self->kind == OPTION_PREFIX;
}

/*
 * Whether the name is a trait of IPython's ("IPCompleter.use_jedi"), or one of its short
 * names of those that say what is to be loaded or shown.
 */
bool option_is_ipythons(const char *name, size_t n);

#endif
