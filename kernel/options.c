/*
 * The command line.
 *
 * Runs in the kernel process, first of all. Launchers rewrite and quote the
 * connection file's option in their own ways, and batch clients hand traitlets
 * options of ipykernel to anything that looks like a kernel, so one table says
 * which names there are (option_table.h), and one place splits "name=value"
 * however it is spelt. Owns nothing.
 */

#include "kernel/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/log.h"
#include "kernel/option_table.h"
#include "kernel/option_values.h"

enum {
    MAX_OUTPUT = 1000000,
    STALL_TIMEOUT_MS = 30 * 1000,
    MEMORY_LIMIT_MIN = 32 << 20, /* below, Python does not start, for reasons that tell nothing */
};

struct parser {
    char **next; /* the argument to look at; NULL at the end */
    struct options options;
    const char *word;   /* of the command; NULL: none is written */
    int mask;           /* of the command */
    bool may_be_python; /* nothing but --python so far */
    bool max_output_given;
    char *error; /* OPTIONS_ERROR_MAX */
};

/* One argument, taken apart. */
struct argument {
    const char *whole; /* as the user wrote it */
    const char *name;
    size_t name_n;
    char *value; /* behind "=", or NULL */
};

__attribute__((format(printf, 2, 3))) static int fail(struct parser *self, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(self->error, OPTIONS_ERROR_MAX, format, arguments);
    va_end(arguments);
    return -EINVAL;
}

/* ---- values -------------------------------------------------------------------- */

static int take_count(struct parser *self, const char *source, const char *text, size_t *ret_count)
{
    return option_count(text, ret_count) == 0
               ? 0
               : fail(self, "%s: \"%.100s\" is not a number of characters (0: no bound)", source,
                      text);
}

static int take_seconds(struct parser *self, const char *name, const char *text, int64_t *ret_ms)
{
    return option_seconds(text, ret_ms) == 0
               ? 0
               : fail(self, "--%s: \"%.100s\" is not a number of seconds (0: none)", name, text);
}

static int take_size(struct parser *self, const char *name, const char *text, uint64_t *ret_bytes)
{
    return option_size(text, ret_bytes) == 0
               ? 0
               : fail(self, "--%s: \"%.100s\" is not a size such as 512M or 2G (0: none)", name,
                      text);
}

static int take_truth(struct parser *self, const char *name, const char *text,
                      struct option_truth *ret_truth)
{
    ret_truth->said = true;
    return option_truth(text, &ret_truth->is) == 0
               ? 0
               : fail(self, "--%s: \"%.100s\" is neither True nor False", name, text);
}

static int take_level(struct parser *self, const char *text)
{
    return option_level(text, &self->options.log_level) == 0
               ? 0
               : fail(self, "--log-level: \"%.100s\" is none of error, warning, info, debug", text);
}

static int take_on_death(struct parser *self, const char *text)
{
    self->options.restart_in_place = strcmp(text, "restart") == 0;
    return self->options.restart_in_place || strcmp(text, "exit") == 0
               ? 0
               : fail(self, "--on-death: \"%.100s\" is neither exit nor restart", text);
}

static int take_shell(struct parser *self, const char *text)
{
    static const char *const shells[] = {"auto", "plain", "ipython"};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(text, shells[i]) == 0) {
            self->options.shell = shells[i];
            return 0;
        }
    }
    return fail(self, "--shell: \"%.100s\" is none of auto, plain, ipython", text);
}

static int take_where(struct parser *self, enum install_where where, const char *prefix)
{
    if (self->options.where != INSTALL_NONE && self->options.where != where) {
        return fail(self, "%s takes only one of --user, --sys-prefix and --prefix DIR", self->word);
    }
    self->options.where = where;
    self->options.prefix = prefix;
    return 0;
}

static int take_variable(struct parser *self, const char *text)
{
    if (text[0] == '=' || strchr(text, '=') == NULL) {
        return fail(self, "--env: \"%.100s\" is not NAME=VALUE", text);
    }
    if (self->options.variable_count == OPTIONS_VARIABLES_MAX) {
        return fail(self, "--env: more than %d variables", OPTIONS_VARIABLES_MAX);
    }
    self->options.variables[self->options.variable_count++] = text;
    return 0;
}

/* VS Code puts quotes around a path with a space, and no shell takes them off. */
static char *without_quotes(char *text)
{
    size_t n = strlen(text);
    if (n >= 2 && (text[0] == '"' || text[0] == '\'') && text[n - 1] == text[0]) {
        text[n - 1] = '\0';
        text++;
    }
    return text;
}

/* Where an option's value belongs. */
static void *place_of(struct parser *self, const struct option *option)
{
    return (char *)&self->options + option->offset;
}

/* ---- options ---------------------------------------------------------------------- */

/* `value` is NULL exactly if the option takes none. */
static int apply(struct parser *self, const struct option *option, char *value)
{
    switch (option->kind) {
    case OPTION_TEXT:
        *(const char **)place_of(self, option) = value;
        return 0;
    case OPTION_PATH:
        value = without_quotes(value);
        if (value[0] == '\0') {
            return fail(self, "the connection file's name is empty");
        }
        *(const char **)place_of(self, option) = value;
        return 0;
    case OPTION_COUNT:
        self->max_output_given = true;
        return take_count(self, "--max-output", value, place_of(self, option));
    case OPTION_SECONDS:
        return take_seconds(self, option->name, value, place_of(self, option));
    case OPTION_SIZE:
        return take_size(self, option->name, value, place_of(self, option));
    case OPTION_TRUTH:
        return take_truth(self, option->name, value, place_of(self, option));
    case OPTION_ON_DEATH:
        return take_on_death(self, value);
    case OPTION_SHELL:
        return take_shell(self, value);
    case OPTION_LEVEL:
        return take_level(self, value);
    case OPTION_ENV:
        return take_variable(self, value);
    case OPTION_DEBUG:
        self->options.log_level = LEVEL_DEBUG;
        return 0;
    case OPTION_USER:
        return take_where(self, INSTALL_USER, NULL);
    case OPTION_SYS_PREFIX:
        return take_where(self, INSTALL_SYS_PREFIX, NULL);
    case OPTION_PREFIX:
        return take_where(self, INSTALL_PREFIX, value);
    case OPTION_SWITCH:
        *(bool *)place_of(self, option) = true;
        return 0;
    case OPTION_OFF:
        *(struct option_truth *)place_of(self, option) = (struct option_truth){0};
        return 0;
    case OPTION_HELP:
        self->options.command = COMMAND_HELP;
        return 0;
    case OPTION_VERSION:
        self->options.command = COMMAND_VERSION;
        return 0;
    }
    return 0;
}

/* "--name=value", "--name", "-f=value", "-fvalue". `text` begins with a dash. */
static struct argument take_argument(char *text)
{
    struct argument argument = {.whole = text};
    if (strncmp(text, "-f", 2) == 0 && text[2] != '\0') {
        argument.name = text + 1;
        argument.name_n = 1;
        argument.value = text + (text[2] == '=' ? 3 : 2);
        return argument;
    }
    argument.name = text + strspn(text, "-");
    argument.name_n = strcspn(argument.name, "=");
    char *equals = strchr(text, '=');
    argument.value = equals != NULL ? equals + 1 : NULL;
    return argument;
}

/* Notes what main logs. */
static void ignore(struct parser *self, const char *text)
{
    if (self->options.ignored_count < OPTIONS_IGNORED_MAX) {
        self->options.ignored[self->options.ignored_count] = text;
    }
    self->options.ignored_count++;
}

/* "--Trait.name=value" or "--Trait.name value", for IPython. */
static bool ignore_trait(struct parser *self, const struct argument *argument)
{
    if (strncmp(argument->whole, "--", 2) != 0 ||
        !option_is_ipythons(argument->name, argument->name_n)) {
        return false;
    }
    ignore(self, argument->whole);
    if (argument->value == NULL && *self->next != NULL && (*self->next)[0] != '-') {
        if (self->options.ignored_count <= OPTIONS_IGNORED_MAX) {
            self->options.ignored_value[self->options.ignored_count - 1] = *self->next;
        }
        self->next++;
    }
    return true;
}

/*
 * Whether Python would take this word, and we do not. VS Code and others run a
 * kernelspec's argv[0] as if it were an interpreter. A script is known by its
 * looks, so that a mistyped command is told to be one.
 */
static bool is_for_python(const char *text)
{
    size_t n = strlen(text);
    if (text[0] == '-') {
        return n > 1 && strchr("bBcEImOPqsSuWxX", text[1]) != NULL;
    }
    return strchr(text, '/') != NULL || (n > 3 && strcmp(text + n - 3, ".py") == 0);
}

static int parse_argument(struct parser *self)
{
    char *text = *self->next;
    if (self->may_be_python && is_for_python(text)) {
        self->options.command = COMMAND_PYTHON;
        self->options.python_argv = self->next;
        return 0;
    }
    self->next++;
    /* `jupyter run FILE` gives its files to the kernel too. */
    if (text[0] != '-' && self->mask == IN_KERNEL && self->options.connection_file != NULL) {
        ignore(self, text);
        return 0;
    }
    if (text[0] != '-' || text[1] == '\0') {
        return fail(self, "unexpected argument \"%.200s\"; see einkorn --help", text);
    }
    struct argument argument = take_argument(text);
    const struct option *option = option_find(self->mask, argument.name, argument.name_n);
    if (option == NULL) {
        self->may_be_python = false;
        if (self->mask == IN_KERNEL && ignore_trait(self, &argument)) {
            return 0;
        }
        return fail(self, "unknown option %.200s; see einkorn --help", text);
    }
    if (strcmp(option->name, "python") != 0) {
        self->may_be_python = false;
    }
    if (!option_takes_value(option)) {
        return argument.value == NULL ? apply(self, option, NULL)
                                      : fail(self, "option --%s takes no value", option->name);
    }
    if (argument.value == NULL) {
        if (*self->next == NULL) {
            return fail(self, "option %.200s needs a value", text);
        }
        argument.value = *self->next++;
    }
    return apply(self, option, argument.value);
}

/* What install and uninstall need: one place, and one name. */
static int check_place(struct parser *self)
{
    struct options *options = &self->options;
    if (options->where == INSTALL_NONE) {
        return fail(self, "%s needs --user, --sys-prefix or --prefix DIR", self->word);
    }
    if (options->where == INSTALL_PREFIX && options->prefix[0] == '\0') {
        return fail(self, "--prefix: the directory's name is empty");
    }
    if (options->as_python3 && options->name != NULL) {
        return fail(self, "%s takes only one of --name and --as-python3", self->word);
    }
    if (options->as_python3) {
        options->name = "python3";
    }
    if (options->name != NULL && option_kernel_name(options->name) != 0) {
        return fail(self, "--name: \"%.100s\" has more than letters, digits, '.', '_' and '-'",
                    options->name);
    }
    return 0;
}

/* What the arguments have to be together. */
static int check(struct parser *self)
{
    const struct options *options = &self->options;
    const char *text = getenv("EINKORN_MAX_OUTPUT");
    switch (options->command) {
    case COMMAND_INSTALL:
    case COMMAND_UNINSTALL:
        return check_place(self);
    case COMMAND_KERNEL:
        if (options->memory_limit > 0 && options->memory_limit < MEMORY_LIMIT_MIN) {
            return fail(self, "--memory-limit: Python needs 32M at least");
        }
        return !self->max_output_given && text != NULL && text[0] != '\0'
                   ? take_count(self, "EINKORN_MAX_OUTPUT", text, &self->options.max_output)
                   : 0;
    case COMMAND_DOCTOR:
    case COMMAND_FRAMES:
    case COMMAND_PYTHON:
    case COMMAND_HELP:
    case COMMAND_VERSION:
        break;
    }
    return 0;
}

/* The command's word, if there is one. */
static void take_command(struct parser *self)
{
    const char *word = *self->next;
    const struct option_command *command = word != NULL ? option_command_find(word) : NULL;
    if (command == NULL) {
        self->options.command = word == NULL ? COMMAND_HELP : COMMAND_KERNEL;
        self->mask = IN_KERNEL;
        self->may_be_python = true;
        return;
    }
    self->word = word;
    self->options.command = command->command;
    self->mask = command->mask;
    self->next++;
}

int options_parse(int argc, char **argv, struct options *ret_options,
                  char ret_error[OPTIONS_ERROR_MAX])
{
    struct parser parser = {
        .next = argv + (argc > 0 ? 1 : 0),
        .options = {.max_output = MAX_OUTPUT,
                    .stall_timeout_ms = STALL_TIMEOUT_MS,
                    .shell = "auto",
                    .comm_timeout_ms = -1,
                    .history.is = true,
                    .log_level = LEVEL_INFO},
        .error = ret_error,
    };
    take_command(&parser);
    while (*parser.next != NULL && parser.options.command != COMMAND_PYTHON) {
        int error = parse_argument(&parser);
        if (error != 0) {
            return error;
        }
    }
    int error = check(&parser);
    if (error == 0) {
        *ret_options = parser.options;
    }
    return error;
}
