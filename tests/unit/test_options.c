/*
 * kernel/options.c, option_table.c: every spelling clients use, and the line for each mistake.
 */

#include "kernel/options.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/log.h"
#include "tests/unit/expect_text.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

enum { WORDS = 40 };

static struct options options;
static char error[OPTIONS_ERROR_MAX];

static void set_up(void)
{
    unsetenv("EINKORN_MAX_OUTPUT");
}

TestSuite(options, .init = set_up);

/* Parses "einkorn" and these words, from memory that may be written to, as argv's is. */
static int parse(const char *const *word)
{
    static char text[WORDS][256];
    static char *argv[WORDS + 2];
    static char program[] = "einkorn";
    int argc = 0;
    argv[argc++] = program;
    for (size_t i = 0; word[i] != NULL; i++) {
        cr_assert(lt(sz, strlen(word[i]), sizeof text[i]));
        memcpy(text[i], word[i], strlen(word[i]) + 1);
        argv[argc++] = text[i];
    }
    argv[argc] = NULL;
    options = (struct options){0};
    return options_parse(argc, argv, &options, error);
}

#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

static const struct {
    const char *word[3];
    const char *path;
} spellings[] = {
    {{"-f", "/x/c.json"}, "/x/c.json"},
    {{"-f=/x/c.json"}, "/x/c.json"},
    {{"-f/x/c.json"}, "/x/c.json"},
    {{"--f", "/x/c.json"}, "/x/c.json"},
    {{"--f=/x/c.json"}, "/x/c.json"},
    {{"--connection-file", "/x/c.json"}, "/x/c.json"},
    {{"--connection-file=/x/c.json"}, "/x/c.json"},
    {{"--connection_file", "/x/c.json"}, "/x/c.json"},
    {{"--connection_file=/x/c.json"}, "/x/c.json"},
    {{"--IPKernelApp.connection_file=/x/c.json"}, "/x/c.json"},
    {{"--IPKernelApp.connection_file", "/x/c.json"}, "/x/c.json"},
    {{"--f=\"/x y/c.json\""}, "/x y/c.json"},
    {{"--f='/x y/c.json'"}, "/x y/c.json"},
    {{"-f", "\"/x y/c.json\""}, "/x y/c.json"},
    {{"-f", "'c.json\""}, "'c.json\""},
    {{"-f", "\""}, "\""},
    {{"-f", "-dash"}, "-dash"},
    {{"-f=\"/x y/c.json\""}, "/x y/c.json"},
    {{"-f\"/x y/c.json\""}, "/x y/c.json"},
    {{"--connection-file='/x y/c.json'"}, "/x y/c.json"},
    {{"--connection-file", "\"/x y/c.json\""}, "/x y/c.json"},
    {{"--IPKernelApp.connection_file=\"/x y/c.json\""}, "/x y/c.json"},
    {{"-f=a=b"}, "a=b"},
    {{"--f=a=b"}, "a=b"},
};

Test(options, every_spelling_of_the_connection_file_is_taken)
{
    for (size_t i = 0; i < COUNT(spellings); i++) {
        const char *const *word = spellings[i].word;
        cr_expect(eq(int, parse(word), 0), "%s", word[0]);
        cr_expect(eq(int, (int)options.command, COMMAND_KERNEL));
        EXPECT_TEXT(options.connection_file, spellings[i].path);
        cr_expect(eq(int, PARSE("kernel", word[0], word[1]), 0), "%s", word[0]);
        EXPECT_TEXT(options.connection_file, spellings[i].path);
    }
}

Test(options, kernel_without_options_has_the_defaults)
{
    cr_assert(eq(int, PARSE("kernel"), 0));
    cr_expect(eq(int, (int)options.command, COMMAND_KERNEL));
    cr_expect(eq(ptr, (void *)(uintptr_t)options.connection_file, NULL));
    cr_expect(eq(ptr, (void *)(uintptr_t)options.python, NULL));
    cr_expect(eq(ptr, (void *)(uintptr_t)options.libpython, NULL));
    cr_expect(eq(ptr, (void *)(uintptr_t)options.python_version, NULL));
    cr_expect(eq(ptr, (void *)(uintptr_t)options.log_file, NULL));
    cr_expect(eq(sz, options.max_output, 1000000));
    cr_expect(eq(i64, options.stall_timeout_ms, 30000));
    cr_expect(not(options.restart_in_place));
    cr_expect(eq(u64, options.memory_limit, 0));
    cr_expect(eq(i64, options.cell_timeout_ms, 0));
    cr_expect(eq(i64, options.comm_timeout_ms, -1));
    cr_expect(eq(int, options.log_level, LEVEL_INFO));
    cr_expect(eq(sz, options.ignored_count, 0));
}

Test(options, all_of_the_kernels_options_are_kept)
{
    cr_assert(eq(int,
                 PARSE("kernel", "--python=/v/bin/python", "--libpython", "/l.so",
                       "--python-version=3.12.1", "--max-output=5", "--log", "/tmp/log",
                       "--log-level=Warning", "--stall-timeout=0.5", "--on-death", "restart",
                       "--memory-limit=2G", "--cell_timeout", "60", "--comm-timeout=0.25"),
                 0),
              "%s", error);
    EXPECT_TEXT(options.python, "/v/bin/python");
    EXPECT_TEXT(options.libpython, "/l.so");
    EXPECT_TEXT(options.python_version, "3.12.1");
    cr_expect(eq(sz, options.max_output, 5));
    cr_expect(eq(i64, options.stall_timeout_ms, 500));
    cr_expect(options.restart_in_place);
    cr_expect(eq(u64, options.memory_limit, UINT64_C(2) << 30));
    cr_expect(eq(i64, options.cell_timeout_ms, 60000));
    cr_expect(eq(i64, options.comm_timeout_ms, 250));
    EXPECT_TEXT(options.log_file, "/tmp/log");
    cr_expect(eq(int, options.log_level, LEVEL_WARNING));
    cr_assert(eq(int, PARSE("--on-death=restart", "--on-death=exit"), 0));
    cr_expect(not(options.restart_in_place));
    cr_assert(eq(int, PARSE("--comm-timeout=0"), 0));
    cr_expect(eq(i64, options.comm_timeout_ms, 0));
    cr_assert(eq(int, PARSE("--debug", "--libpython="), 0));
    cr_expect(eq(int, options.log_level, LEVEL_DEBUG));
    EXPECT_TEXT(options.libpython, "");
}

Test(options, max_output_comes_from_the_option_then_the_environment)
{
    setenv("EINKORN_MAX_OUTPUT", "77", 1);
    cr_assert(eq(int, PARSE("kernel"), 0));
    cr_expect(eq(sz, options.max_output, 77));
    cr_assert(eq(int, PARSE("kernel", "--max-output", "0"), 0));
    cr_expect(eq(sz, options.max_output, 0));
    setenv("EINKORN_MAX_OUTPUT", "", 1);
    cr_assert(eq(int, PARSE("kernel"), 0));
    cr_expect(eq(sz, options.max_output, 1000000));
    setenv("EINKORN_MAX_OUTPUT", "many", 1);
    cr_assert(eq(int, PARSE("kernel"), -EINVAL));
    EXPECT_TEXT(error, "EINKORN_MAX_OUTPUT: \"many\" is not a number of characters (0: no bound)");
    cr_expect(eq(int, PARSE("--version"), 0), "only a kernel minds");
    cr_expect(eq(int, PARSE("kernel", "--max-output=9"), 0));
    cr_expect(eq(sz, options.max_output, 9));
}

#define EIGHT_TRAITS                                                                               \
    "--A.a=1", "--A.a=2", "--A.a=3", "--A.a=4", "--A.a=5", "--A.a=6", "--A.a=7", "--A.a=8"

Test(options, options_of_other_programs_are_passed_over_and_noted)
{
    cr_assert(eq(int,
                 PARSE("-f", "c.json", "--Other.trait=:memory:", "--Session.key=b''",
                       "--InteractiveShell.ast_node_interactivity", "all", "--debug"),
                 0),
              "%s", error);
    EXPECT_TEXT(options.connection_file, "c.json");
    cr_expect(eq(sz, options.ignored_count, 3));
    EXPECT_TEXT(options.ignored[0], "--Other.trait=:memory:");
    EXPECT_TEXT(options.ignored[1], "--Session.key=b''");
    EXPECT_TEXT(options.ignored[2], "--InteractiveShell.ast_node_interactivity");
    EXPECT_TEXT(options.ignored_value[2], "all");
    cr_expect(options.ignored_value[0] == NULL && options.ignored_value[1] == NULL);
    cr_expect(eq(int, options.log_level, LEVEL_DEBUG));
    cr_assert(
        eq(int, PARSE(EIGHT_TRAITS, EIGHT_TRAITS, EIGHT_TRAITS, EIGHT_TRAITS, "--A.b", "1"), 0));
    cr_expect(eq(sz, options.ignored_count, OPTIONS_IGNORED_MAX + 1));
}

Test(options, short_names_of_ipythons_traits_are_for_ipython)
{
    cr_assert(eq(int, PARSE("kernel", "--matplotlib=inline", "--ext", "autoreload", "--pylab"), 0),
              "%s", error);
    cr_expect(eq(sz, options.ignored_count, 3));
    EXPECT_TEXT(options.ignored[0], "--matplotlib=inline");
    EXPECT_TEXT(options.ignored[1], "--ext");
    EXPECT_TEXT(options.ignored_value[1], "autoreload");
    EXPECT_TEXT(options.ignored[2], "--pylab");
    cr_expect(options.ignored_value[2] == NULL);
    cr_expect(eq(int, PARSE("kernel", "-ext=autoreload"), -EINVAL));
    cr_expect(eq(int, PARSE("install", "--user", "--ext=autoreload"), -EINVAL));
}

Test(options, the_place_of_the_history_is_said_as_for_ipykernel)
{
    cr_assert(eq(int, PARSE("kernel"), 0));
    cr_expect(options.history.is && !options.history_output.is);
    cr_expect(options.history_file == NULL && options.profile == NULL);
    cr_expect_not(options.history.said || options.history_output.said);
    cr_assert(eq(int, PARSE("kernel", "--no-history"), 0));
    cr_expect(not(options.history.is || options.history.said));
    cr_assert(eq(int, PARSE("kernel", "--HistoryManager.enabled=False"), 0));
    cr_expect(options.history.said && !options.history.is);
    cr_assert(eq(int, PARSE("kernel", "--no-history", "--HistoryManager.enabled", "True"), 0));
    cr_expect(options.history.is && options.history.said);
    cr_assert(
        eq(int,
           PARSE("kernel", "--HistoryManager.hist_file=:memory:", "--profile=p",
                 "--HistoryManager.db_log_output=1", "--profile-dir", "/d", "--ipython-dir", "/i"),
           0));
    cr_expect(options.history_output.is && options.history_output.said);
    cr_expect(eq(sz, options.ignored_count, 0));
    EXPECT_TEXT(options.history_file, ":memory:");
    EXPECT_TEXT(options.profile, "p");
    EXPECT_TEXT(options.profile_dir, "/d");
    EXPECT_TEXT(options.ipython_dir, "/i");
    cr_assert(eq(int,
                 PARSE("kernel", "--IPKernelApp.profile=q", "--ProfileDir.location=/e",
                       "--BaseIPythonApplication.ipython_dir=/j"),
                 0));
    EXPECT_TEXT(options.profile, "q");
    EXPECT_TEXT(options.profile_dir, "/e");
    EXPECT_TEXT(options.ipython_dir, "/j");
    cr_expect(eq(int, PARSE("kernel", "--HistoryManager.enabled=no"), -EINVAL));
    EXPECT_TEXT(error, "--HistoryManager.enabled: \"no\" is neither True nor False");
}

Test(options, help_and_version_are_commands_and_no_argument_is_help)
{
    cr_expect(eq(int, parse((const char *const[]){NULL}), 0));
    cr_expect(eq(int, (int)options.command, COMMAND_HELP));
    cr_expect(eq(int, PARSE("--help"), 0));
    cr_expect(eq(int, (int)options.command, COMMAND_HELP));
    cr_expect(eq(int, PARSE("-h"), 0));
    cr_expect(eq(int, (int)options.command, COMMAND_HELP));
    cr_expect(eq(int, PARSE("install", "--help"), 0));
    cr_expect(eq(int, (int)options.command, COMMAND_HELP));
    cr_expect(eq(int, PARSE("--version"), 0));
    cr_expect(eq(int, (int)options.command, COMMAND_VERSION));
}

Test(options, install_says_where)
{
    cr_assert(eq(int, PARSE("install", "--user"), 0));
    cr_expect(eq(int, (int)options.command, COMMAND_INSTALL));
    cr_expect(eq(int, (int)options.where, INSTALL_USER));
    cr_assert(eq(int, PARSE("install", "--sys-prefix", "--name", "e.2_b-c"), 0));
    cr_expect(eq(int, (int)options.where, INSTALL_SYS_PREFIX));
    EXPECT_TEXT(options.name, "e.2_b-c");
    cr_assert(eq(int,
                 PARSE("install", "--prefix=/opt", "--python", "/p", "--display-name", "My Python"),
                 0));
    cr_expect(eq(int, (int)options.where, INSTALL_PREFIX));
    EXPECT_TEXT(options.prefix, "/opt");
    EXPECT_TEXT(options.python, "/p");
    EXPECT_TEXT(options.display_name, "My Python");
}

Test(options, install_takes_variables_and_the_name_python3)
{
    cr_assert(eq(int, PARSE("install", "--user", "--env", "A=1", "--env=B=x=y", "--env=C="), 0));
    cr_assert(eq(sz, options.variable_count, 3));
    EXPECT_TEXT(options.variables[0], "A=1");
    EXPECT_TEXT(options.variables[1], "B=x=y");
    EXPECT_TEXT(options.variables[2], "C=");
    cr_expect(not(options.as_python3));
    cr_assert(eq(int, PARSE("install", "--user", "--as-python3"), 0));
    cr_expect(options.as_python3);
    EXPECT_TEXT(options.name, "python3");
}

Test(options, more_variables_than_there_is_room_for_are_refused)
{
    static char word[] = "--env=A=1", install[] = "install", user[] = "--user";
    char *argv[OPTIONS_VARIABLES_MAX + 5] = {word, install, user};
    for (size_t i = 3; i < COUNT(argv) - 2; i++) {
        argv[i] = word;
    }
    cr_assert(eq(int, options_parse((int)COUNT(argv) - 2, argv, &options, error), 0));
    cr_expect(eq(sz, options.variable_count, OPTIONS_VARIABLES_MAX));
    argv[COUNT(argv) - 2] = word;
    cr_assert(eq(int, options_parse((int)COUNT(argv) - 1, argv, &options, error), -EINVAL));
    EXPECT_TEXT(error, "--env: more than 64 variables");
}

Test(options, frames_is_a_command)
{
    cr_assert(eq(int, PARSE("frames"), 0));
    cr_expect(eq(int, (int)options.command, COMMAND_FRAMES));
    cr_expect(options.python == NULL && options.libpython == NULL);
    cr_assert(eq(int, PARSE("frames", "--python", "/p", "--libpython=/l"), 0));
    EXPECT_TEXT(options.python, "/p");
    EXPECT_TEXT(options.libpython, "/l");
}

Test(options, uninstall_and_doctor_are_commands)
{
    cr_assert(eq(int, PARSE("uninstall", "--sys-prefix", "--python", "/p", "--name=e"), 0));
    cr_expect(eq(int, (int)options.command, COMMAND_UNINSTALL));
    cr_expect(eq(int, (int)options.where, INSTALL_SYS_PREFIX));
    EXPECT_TEXT(options.python, "/p");
    EXPECT_TEXT(options.name, "e");
    cr_assert(eq(int, PARSE("uninstall", "--prefix=/x", "--as-python3"), 0));
    EXPECT_TEXT(options.name, "python3");
    cr_assert(eq(int, PARSE("doctor"), 0));
    cr_expect(eq(int, (int)options.command, COMMAND_DOCTOR));
    cr_assert(eq(int, PARSE("doctor", "--python", "/p"), 0));
    EXPECT_TEXT(options.python, "/p");
}

/* The words for Python begin at `first`, and are left as they are. */
static const struct {
    const char *word[6];
    size_t first;
    const char *python;
} for_python[] = {
    {{"-c", "print(1)"}, 0, NULL},
    {{"-cprint(1)"}, 0, NULL},
    {{"-m", "pip", "--version"}, 0, NULL},
    {{"-I", "/x/probe.py"}, 0, NULL},
    {{"-Ic", "1"}, 0, NULL},
    {{"-u", "-E", "-m", "x"}, 0, NULL},
    {{"-W", "error", "-c", "1"}, 0, NULL},
    {{"-X", "utf8", "x.py"}, 0, NULL},
    {{"script.py", "-f", "x", "--help"}, 0, NULL},
    {{"./script"}, 0, NULL},
    {{"/x/y z", "kernel"}, 0, NULL},
    {{"--python", "/p", "-c", "1"}, 2, "/p"},
    {{"--python=/p", "-m", "x", "--python=/q"}, 1, "/p"},
    {{"--python=/p", "s.py"}, 1, "/p"},
};

Test(options, what_an_interpreter_would_take_is_left_for_python)
{
    for (size_t i = 0; i < COUNT(for_python); i++) {
        const char *const *word = for_python[i].word;
        cr_assert(eq(int, parse(word), 0), "%s: %s", word[0], error);
        cr_assert(eq(int, (int)options.command, COMMAND_PYTHON), "%s", word[0]);
        for (size_t k = for_python[i].first; k < COUNT(for_python[i].word) && word[k]; k++) {
            EXPECT_TEXT(options.python_argv[k - for_python[i].first], word[k]);
        }
        if (for_python[i].python) {
            EXPECT_TEXT(options.python, for_python[i].python);
        } else {
            cr_expect(options.python == NULL);
        }
    }
}

static const struct {
    const char *word[5];
    const char *line;
} wrong[] = {
    {{"--existing", "x"}, "unknown option --existing; see einkorn --help"},
    {{"kernel", "-c", "print(1)"}, "unknown option -c; see einkorn --help"},
    {{"kernel", "script.py"}, "unexpected argument \"script.py\"; see einkorn --help"},
    {{"-f", "c.json", "-m", "x"}, "unknown option -m; see einkorn --help"},
    {{"--A.b=1", "script.py"}, "unexpected argument \"script.py\"; see einkorn --help"},
    {{"-i"}, "unknown option -i; see einkorn --help"},
    {{"instal"}, "unexpected argument \"instal\"; see einkorn --help"},
    {{".py"}, "unexpected argument \".py\"; see einkorn --help"},
    {{"--nonsense=1"}, "unknown option --nonsense=1; see einkorn --help"},
    {{"-"}, "unexpected argument \"-\"; see einkorn --help"},
    {{"--"}, "unknown option --; see einkorn --help"},
    {{""}, "unexpected argument \"\"; see einkorn --help"},
    {{"kernel", "kernel"}, "unexpected argument \"kernel\"; see einkorn --help"},
    {{"-f"}, "option -f needs a value"},
    {{"kernel", "--python"}, "option --python needs a value"},
    {{"-f", ""}, "the connection file's name is empty"},
    {{"--f="}, "the connection file's name is empty"},
    {{"--f=\"\""}, "the connection file's name is empty"},
    {{"--debug=1"}, "option --debug takes no value"},
    {{"--log-level=loud"}, "--log-level: \"loud\" is none of error, warning, info, debug"},
    {{"--max-output="}, "--max-output: \"\" is not a number of characters (0: no bound)"},
    {{"--max-output=-1"}, "--max-output: \"-1\" is not a number of characters (0: no bound)"},
    {{"--max-output=+1"}, "--max-output: \"+1\" is not a number of characters (0: no bound)"},
    {{"--max-output= 1"}, "--max-output: \" 1\" is not a number of characters (0: no bound)"},
    {{"--max-output=1k"}, "--max-output: \"1k\" is not a number of characters (0: no bound)"},
    {{"--max-output=99999999999999999999"},
     "--max-output: \"99999999999999999999\" is not a number of characters (0: no bound)"},
    {{"--stall-timeout=x"}, "--stall-timeout: \"x\" is not a number of seconds (0: none)"},
    {{"--cell_timeout=-1"}, "--cell-timeout: \"-1\" is not a number of seconds (0: none)"},
    {{"--comm-timeout=1m"}, "--comm-timeout: \"1m\" is not a number of seconds (0: none)"},
    {{"--memory-limit=1X"}, "--memory-limit: \"1X\" is not a size such as 512M or 2G (0: none)"},
    {{"--memory-limit=31M"}, "--memory-limit: Python needs 32M at least"},
    {{"--on-death=live"}, "--on-death: \"live\" is neither exit nor restart"},
    {{"--restart-in-place"}, "unknown option --restart-in-place; see einkorn --help"},
    {{"--user"}, "unknown option --user; see einkorn --help"},
    {{"install"}, "install needs --user, --sys-prefix or --prefix DIR"},
    {{"install", "--prefix"}, "option --prefix needs a value"},
    {{"install", "--user", "--prefix", "/x"},
     "install takes only one of --user, --sys-prefix and --prefix DIR"},
    {{"install", "--user", "--name", "a b"},
     "--name: \"a b\" has more than letters, digits, '.', '_' and '-'"},
    {{"install", "--user", "--name", ".."},
     "--name: \"..\" has more than letters, digits, '.', '_' and '-'"},
    {{"install", "--prefix="}, "--prefix: the directory's name is empty"},
    {{"install", "--user", "--env", "A"}, "--env: \"A\" is not NAME=VALUE"},
    {{"install", "--user", "--env", "=1"}, "--env: \"=1\" is not NAME=VALUE"},
    {{"install", "--user", "--env"}, "option --env needs a value"},
    {{"install", "--user", "--as-python3", "--name=x"},
     "install takes only one of --name and --as-python3"},
    {{"uninstall"}, "uninstall needs --user, --sys-prefix or --prefix DIR"},
    {{"uninstall", "--user", "--sys-prefix"},
     "uninstall takes only one of --user, --sys-prefix and --prefix DIR"},
    {{"uninstall", "--user", "--env", "A=1"}, "unknown option --env; see einkorn --help"},
    {{"uninstall", "--user", "--display-name=x"},
     "unknown option --display-name=x; see einkorn --help"},
    {{"uninstall", "--user", "--name", ""},
     "--name: \"\" has more than letters, digits, '.', '_' and '-'"},
    {{"frames", "-f", "c.json"}, "unknown option -f; see einkorn --help"},
    {{"frames", "x"}, "unexpected argument \"x\"; see einkorn --help"},
    {{"doctor", "--user"}, "unknown option --user; see einkorn --help"},
    {{"doctor", "-c", "1"}, "unknown option -c; see einkorn --help"},
    {{"doctor", "--A.b=1"}, "unknown option --A.b=1; see einkorn --help"},
    {{"install", "--user", "-f", "x"}, "unknown option -f; see einkorn --help"},
    {{"install", "--user", "--A.b=1"}, "unknown option --A.b=1; see einkorn --help"},
};

Test(options, each_mistake_has_its_line)
{
    for (size_t i = 0; i < COUNT(wrong); i++) {
        error[0] = '\0';
        cr_expect(eq(int, parse(wrong[i].word), -EINVAL), "%s", wrong[i].line);
        EXPECT_TEXT(error, wrong[i].line);
    }
}

Test(options, long_words_do_not_break_the_line)
{
    char word[200];
    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    cr_expect(eq(int, PARSE(word), -EINVAL));
    cr_expect(lt(sz, strlen(error), OPTIONS_ERROR_MAX));
    memcpy(word, "--max-output=", strlen("--max-output="));
    cr_expect(eq(int, PARSE(word), -EINVAL));
}

Test(options, help_names_every_option)
{
    static const char *const names[] = {"-f FILE",
                                        "--python PATH",
                                        "--libpython",
                                        "--python-version",
                                        "--max-output",
                                        "EINKORN_MAX_OUTPUT",
                                        "--log FILE",
                                        "--log-level",
                                        "--debug",
                                        "--user",
                                        "--sys-prefix",
                                        "--prefix",
                                        "--name",
                                        "--display-name",
                                        "--version",
                                        "--help",
                                        "uninstall",
                                        "doctor",
                                        "--env",
                                        "--as-python3",
                                        "-c CODE",
                                        "-m MODULE",
                                        "-I",
                                        "SCRIPT.py",
                                        "--on-death",
                                        "--restart-in-place",
                                        "--cell-timeout",
                                        "--comm-timeout",
                                        "--memory-limit",
                                        "--stall-timeout"};
    for (size_t i = 0; i < COUNT(names); i++) {
        cr_expect(strstr(options_help, names[i]) != NULL, "%s", names[i]);
    }
}
