/*
 * kernel/connection.c, connection_fields.c, connection_make.c: what a file may
 * say, the exact line for each way to be wrong, and what is on disk afterwards.
 */

#include "kernel/connection.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/expect_text.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define PORTS        "\"shell_port\":1,\"iopub_port\":2,\"stdin_port\":3,\"control_port\":4,\"hb_port\":5"

static char directory[PATH_MAX]; /* the working directory of a test, its own */
static struct connection connection;
static char error[CONNECTION_ERROR_MAX];

static void set_up(void)
{
    const char *base = getenv("TMPDIR");
    char made[PATH_MAX];
    (void)snprintf(made, sizeof made, "%s/test_connection.XXXXXX", base != NULL ? base : "/tmp");
    cr_assert(ne(ptr, mkdtemp(made), NULL));
    cr_assert(ne(ptr, realpath(made, directory), NULL));
    cr_assert(eq(int, chdir(directory), 0));
    static const char *const variables[] = {"JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR",
                                            "XDG_DATA_HOME", "HOME"};
    for (size_t i = 0; i < COUNT(variables); i++) {
        unsetenv(variables[i]);
    }
}

static void tear_down(void)
{
    connection_release(&connection);
    connection_release(&connection);
    cr_assert(eq(int, chdir("/"), 0));
    char command[PATH_MAX + 16];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", directory);
    cr_assert(eq(int, system(command), 0));
}

TestSuite(connection, .init = set_up, .fini = tear_down);

static void put_file(const char *name, const char *text, size_t n)
{
    FILE *file = fopen(name, "w");
    cr_assert(ne(ptr, file, NULL));
    cr_assert(eq(sz, fwrite(text, 1, n, file), n));
    cr_assert(eq(int, fclose(file), 0));
}

static char *get_file(const char *name)
{
    static char text[1 << 16];
    FILE *file = fopen(name, "r");
    cr_assert(ne(ptr, file, NULL), "%s", name);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    cr_assert(eq(int, fclose(file), 0));
    return text;
}

static int read_text(const char *text)
{
    put_file("c.json", text, strlen(text));
    return connection_read("c.json", &connection, error);
}

static char *endpoint(enum channel channel)
{
    static char text[CONNECTION_ENDPOINT_MAX];
    connection_endpoint(&connection, channel, text, sizeof text);
    return text;
}

Test(connection, usual_file_is_read)
{
    cr_assert(eq(int,
                 read_text("{\"shell_port\": 53794, \"iopub_port\": 53795, \"stdin_port\": 53796,"
                           "\"control_port\": 53797, \"hb_port\": 53798, \"ip\": \"127.0.0.1\","
                           "\"key\": \"a0436f6c-1916\", \"transport\": \"tcp\","
                           "\"signature_scheme\": \"hmac-sha512\", \"kernel_name\": \"einkorn\","
                           "\"jupyter_session\": \"/home/me/n.ipynb\"}"),
                 0),
              "%s", error);
    char path[PATH_MAX + 16];
    (void)snprintf(path, sizeof path, "%s/c.json", directory);
    EXPECT_TEXT(connection.path, path);
    cr_expect(not(connection.created));
    cr_expect(not(connection.changed));
    EXPECT_TEXT(connection.transport, "tcp");
    EXPECT_TEXT(connection.ip, "127.0.0.1");
    EXPECT_TEXT(connection.key, "a0436f6c-1916");
    EXPECT_TEXT(connection.scheme, "hmac-sha512");
    EXPECT_TEXT(connection.kernel_name, "einkorn");
    for (int channel = 0; channel < CHANNELS; channel++) {
        cr_expect(eq(int, connection.port[channel], 53794 + channel), "%s", channel_names[channel]);
    }
    EXPECT_TEXT(endpoint(CHANNEL_HB), "tcp://127.0.0.1:53798");
}

Test(connection, what_may_be_left_out_has_its_default)
{
    cr_assert(eq(int, read_text("{" PORTS "}"), 0), "%s", error);
    EXPECT_TEXT(connection.transport, "tcp");
    EXPECT_TEXT(connection.ip, "127.0.0.1");
    EXPECT_TEXT(connection.key, "");
    EXPECT_TEXT(connection.scheme, "hmac-sha256");
    cr_expect(eq(ptr, connection.kernel_name, NULL));
}

#define FILE_LINE "connection file c.json: "

static const struct {
    const char *text, *line;
} wrong[] = {
    {"", "the file is empty"},
    {"x", "line 1: not JSON: invalid token"},
    {"{", "line 1: not JSON: string or '}' expected"},
    {"{\n\n  \"key\" \"secret\"}", "line 3: not JSON: ':' expected"},
    {"{\"a\":1} x", "line 1: not JSON: end of file expected"},
    {"\xFF{}", "line 1: not JSON: unable to decode byte 0xff"},
    {"[]", "not a JSON object"},
    {"\"text\"", "not a JSON object"},
    {"null", "not a JSON object"},
    {"{}", "shell_port is missing"},
    {"{\"shell_port\":1,\"iopub_port\":2,\"stdin_port\":3,\"control_port\":4}",
     "hb_port is missing"},
    {"{\"shell_port\":\"1\"}", "shell_port must be an integer from 0 to 65535"},
    {"{\"shell_port\":1.0}", "shell_port must be an integer from 0 to 65535"},
    {"{\"shell_port\":null}", "shell_port must be an integer from 0 to 65535"},
    {"{\"shell_port\":true}", "shell_port must be an integer from 0 to 65535"},
    {"{\"shell_port\":-1}", "shell_port must be an integer from 0 to 65535"},
    {"{\"shell_port\":1,\"iopub_port\":65536}", "iopub_port must be an integer from 0 to 65535"},
    {"{\"shell_port\":4294967297}", "shell_port must be an integer from 0 to 65535"},
    {"{\"shell_port\":1,\"iopub_port\":2,\"stdin_port\":3,\"control_port\":2,\"hb_port\":5}",
     "iopub_port and control_port are both 2"},
    {"{\"transport\":\"udp\"}", "unknown transport \"udp\" (tcp and ipc are known)"},
    {"{\"transport\":7}", "transport must be a string"},
    {"{\"ip\":\"\"," PORTS "}", "ip is empty"},
    {"{\"ip\":7," PORTS "}", "ip must be a string"},
    {"{\"transport\":\"ipc\"," PORTS "}", "ip is missing"},
    {"{\"key\":7," PORTS "}", "key must be a string"},
    {"{\"key\":null," PORTS "}", "key must be a string"},
    {"{\"signature_scheme\":[]," PORTS "}", "signature_scheme must be a string"},
};

Test(connection, each_mistake_has_its_line)
{
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char line[CONNECTION_ERROR_MAX];
        (void)snprintf(line, sizeof line, FILE_LINE "%s", wrong[i].line);
        cr_expect(eq(int, read_text(wrong[i].text), -EINVAL), "%s", wrong[i].text);
        EXPECT_TEXT(error, line);
        cr_expect(eq(ptr, connection.path, NULL), "left alone");
    }
}

Test(connection, key_is_in_no_error_line)
{
    cr_expect(eq(int, read_text("{\"key\" \"topsecret\"}"), -EINVAL));
    cr_expect(eq(ptr, strstr(error, "topsecret"), NULL));
    cr_expect(eq(int, read_text("{\"key\": \"topsecret"), -EINVAL));
    cr_expect(eq(ptr, strstr(error, "topsecret"), NULL));
}

static char *repeated(char c, size_t n)
{
    char *text = malloc(n + 1);
    memset(text, c, n);
    text[n] = '\0';
    return text;
}

Test(connection, what_is_too_long_is_refused)
{
    char *many = repeated(' ', (1 << 20) + 1);
    many[0] = '{';
    cr_expect(eq(int, read_text(many), -EINVAL));
    EXPECT_TEXT(error, FILE_LINE "larger than 1 MiB");
    free(many);

    char text[8192];
    char *key = repeated('k', 4097);
    (void)snprintf(text, sizeof text, "{\"key\":\"%s\"," PORTS "}", key);
    cr_expect(eq(int, read_text(text), -EINVAL));
    EXPECT_TEXT(error, FILE_LINE "key is longer than 4096 bytes");
    (void)snprintf(text, sizeof text, "{\"key\":\"%s\"," PORTS "}", key + 1);
    cr_expect(eq(int, read_text(text), 0));
    connection_release(&connection);
    free(key);

    char *host = repeated('h', 256);
    (void)snprintf(text, sizeof text, "{\"ip\":\"%s\"," PORTS "}", host);
    cr_expect(eq(int, read_text(text), -EINVAL));
    EXPECT_TEXT(error, FILE_LINE "ip is longer than 255 characters");
    (void)snprintf(text, sizeof text, "{\"ip\":\"%s\"," PORTS "}", host + 1);
    cr_expect(eq(int, read_text(text), 0));
    cr_expect(eq(sz, strlen(endpoint(CHANNEL_SHELL)), strlen("tcp://:1") + 255));
    free(host);
}

Test(connection, path_of_an_ipc_socket_must_fit_with_its_number)
{
    char text[1024];
    char *name = repeated('p', 105);
    name[0] = '/';
    (void)snprintf(text, sizeof text, "{\"transport\":\"ipc\",\"ip\":\"%s\"," PORTS "}", name);
    cr_expect(eq(int, read_text(text), 0), "107 bytes fit: %s", error);
    connection_release(&connection);
    free(name);

    name = repeated('p', 106);
    name[0] = '/';
    (void)snprintf(text, sizeof text, "{\"transport\":\"ipc\",\"ip\":\"%s\"," PORTS "}", name);
    cr_expect(eq(int, read_text(text), -EINVAL));
    EXPECT_TEXT(error,
                FILE_LINE "ip: the path of the shell socket is too long (108 bytes, at most 107)");
    free(name);
}

Test(connection, unreadable_files_are_named)
{
    cr_assert(eq(int, mkdir("d", 0700), 0));
    cr_expect(eq(int, connection_read("d", &connection, error), -EINVAL));
    EXPECT_TEXT(error, "connection file d: not a regular file");
    cr_assert(eq(int, mkfifo("f", 0600), 0));
    cr_expect(eq(int, connection_read("f", &connection, error), -EINVAL));
    EXPECT_TEXT(error, "connection file f: not a regular file");
    put_file("plain", "", 0);
    cr_expect(eq(int, connection_read("plain/c.json", &connection, error), -ENOTDIR));
    EXPECT_TEXT(error, "connection file plain/c.json: Not a directory");
    char *name = repeated('n', 300);
    cr_expect(eq(int, connection_read(name, &connection, error), -ENAMETOOLONG));
    free(name);
}

Test(connection, nul_in_a_text_is_refused)
{
    cr_expect(eq(int, read_text("{\"key\":\"a\\u0000b\"," PORTS "}"), -EINVAL));
    static const char text[] = "{\"key\":\"a\0b\"," PORTS "}";
    put_file("c.json", text, sizeof text - 1);
    cr_expect(eq(int, connection_read("c.json", &connection, error), -EINVAL));
}

Test(connection, endpoints_have_zeromqs_form)
{
    static const struct {
        const char *transport, *ip;
        int port;
        const char *endpoint;
    } cases[] = {
        {"tcp", "127.0.0.1", 5555, "tcp://127.0.0.1:5555"},
        {"tcp", "127.0.0.1", 0, "tcp://127.0.0.1:*"},
        {"tcp", "*", 5, "tcp://*:5"},
        {"tcp", "*", 0, "tcp://*:*"},
        {"tcp", "0.0.0.0", 65535, "tcp://0.0.0.0:65535"},
        {"tcp", "localhost", 5, "tcp://localhost:5"},
        {"tcp", "::1", 5, "tcp://[::1]:5"},
        {"tcp", "[::1]", 0, "tcp://[::1]:*"},
        {"tcp", "::", 7, "tcp://[::]:7"},
        {"tcp", "fe80::1%eth0", 7, "tcp://[fe80::1%eth0]:7"},
        {"ipc", "/run/x", 1, "ipc:///run/x-1"},
        {"ipc", "@name", 2, "ipc://@name-2"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[512];
        (void)snprintf(text, sizeof text,
                       "{\"transport\":\"%s\",\"ip\":\"%s\",\"shell_port\":%d,\"iopub_port\":0,"
                       "\"stdin_port\":0,\"control_port\":0,\"hb_port\":0}",
                       cases[i].transport, cases[i].ip, cases[i].port);
        cr_assert(eq(int, read_text(text), 0), "%s", error);
        cr_expect(strcmp(endpoint(CHANNEL_SHELL), cases[i].endpoint) == 0, "%s",
                  endpoint(CHANNEL_SHELL));
        connection_release(&connection);
    }
}

Test(connection, relative_ipc_path_becomes_absolute)
{
    cr_assert(eq(int, read_text("{\"transport\":\"ipc\",\"ip\":\"k\"," PORTS "}"), 0));
    char expected[PATH_MAX + 16];
    (void)snprintf(expected, sizeof expected, "ipc://%s/k-2", directory);
    EXPECT_TEXT(endpoint(CHANNEL_IOPUB), expected);
}

Test(connection, missing_file_is_made_when_it_is_written_and_removed_at_the_end)
{
    cr_assert(eq(int, connection_read("new.json", &connection, error), 0));
    cr_expect(connection.created && connection.changed);
    EXPECT_TEXT(connection.ip, "127.0.0.1");
    cr_expect(eq(sz, strlen(connection.key), 32));
    cr_expect(eq(sz, strspn(connection.key, "0123456789abcdef"), 32));
    EXPECT_TEXT(endpoint(CHANNEL_SHELL), "tcp://127.0.0.1:*");
    cr_expect(ne(int, access("new.json", F_OK), 0), "not before its ports are known");

    char key[33];
    (void)snprintf(key, sizeof key, "%s", connection.key);
    for (int channel = 0; channel < CHANNELS; channel++) {
        connection.port[channel] = 1000 + channel;
    }
    cr_assert(eq(int, connection_write(&connection, error), 0), "%s", error);
    cr_expect(not(connection.changed));
    struct stat status;
    cr_assert(eq(int, stat("new.json", &status), 0));
    cr_expect(eq(int, (int)(status.st_mode & 07777), 0600));

    struct connection again;
    cr_assert(eq(int, connection_read("new.json", &again, error), 0), "%s", error);
    cr_expect(not(again.created));
    EXPECT_TEXT(again.key, key);
    EXPECT_TEXT(again.scheme, "hmac-sha256");
    cr_expect(eq(int, again.port[CHANNEL_HB], 1004));
    connection_release(&again);
    cr_expect(eq(int, access("new.json", F_OK), 0), "it was not the second one's file");

    connection_release(&connection);
    cr_expect(ne(int, access("new.json", F_OK), 0));
}

Test(connection, keys_are_random)
{
    struct connection other;
    cr_assert(eq(int, connection_read("a.json", &connection, error), 0));
    cr_assert(eq(int, connection_read("b.json", &other, error), 0));
    cr_expect(ne(str, connection.key, other.key));
    connection_release(&other);
}

Test(connection, file_that_was_never_written_is_never_removed)
{
    cr_assert(eq(int, connection_read("late.json", &connection, error), 0));
    put_file("late.json", "theirs", 6);
    connection_release(&connection);
    EXPECT_TEXT(get_file("late.json"), "theirs");
}

Test(connection, chosen_ports_are_written_back_and_unknown_keys_stay)
{
    cr_assert(eq(int,
                 read_text("{\"shell_port\":0,\"iopub_port\":0,\"stdin_port\":0,"
                           "\"control_port\":0,\"hb_port\":9,\"key\":\"k\\u00e9\","
                           "\"mine\":{\"deep\":[1,2.5,null]},\"ip\":\"127.0.0.1\"}"),
                 0));
    connection.port[CHANNEL_SHELL] = 1;
    connection.port[CHANNEL_IOPUB] = 2;
    connection.port[CHANNEL_STDIN] = 3;
    connection.port[CHANNEL_CONTROL] = 4;
    connection.changed = true;
    cr_assert(eq(int, connection_write(&connection, error), 0), "%s", error);
    EXPECT_TEXT(get_file("c.json"),
                "{\n  \"shell_port\": 1,\n  \"iopub_port\": 2,\n  \"stdin_port\": 3,\n"
                "  \"control_port\": 4,\n  \"hb_port\": 9,\n  \"key\": \"k\xC3\xA9\",\n"
                "  \"mine\": {\n    \"deep\": [\n      1,\n      2.5,\n      null\n    ]\n  },\n"
                "  \"ip\": \"127.0.0.1\"\n}");
    connection_release(&connection);
    cr_expect(eq(int, access("c.json", F_OK), 0), "it was there before us, and stays");
}

Test(connection, symbolic_link_stays_one)
{
    put_file("real.json", "{" PORTS "}", strlen("{" PORTS "}"));
    cr_assert(eq(int, symlink("real.json", "link.json"), 0));
    cr_assert(eq(int, connection_read("link.json", &connection, error), 0));
    connection.port[CHANNEL_SHELL] = 77;
    cr_assert(eq(int, connection_write(&connection, error), 0));
    struct stat status;
    cr_assert(eq(int, lstat("link.json", &status), 0));
    cr_expect(eq(int, (int)(status.st_mode & S_IFMT), S_IFLNK));
    cr_expect(ne(ptr, strstr(get_file("real.json"), "\"shell_port\": 77"), NULL));
}

Test(connection, file_that_cannot_be_written_is_named_and_leaves_nothing)
{
    cr_assert(eq(int, connection_read("no/such/c.json", &connection, error), 0));
    char line[2 * PATH_MAX];
    (void)snprintf(line, sizeof line,
                   "connection file %s/no/such/c.json: cannot be written: "
                   "No such file or directory",
                   directory);
    cr_expect(eq(int, connection_write(&connection, error), -ENOENT));
    EXPECT_TEXT(error, line);
    cr_expect(connection.changed);
}

static const struct {
    const char *variable, *below;
} places[] = {
    {"HOME", "/.local/share/jupyter/runtime"},
    {"XDG_DATA_HOME", "/jupyter/runtime"},
    {"JUPYTER_DATA_DIR", "/runtime"},
    {"JUPYTER_RUNTIME_DIR", ""},
};

/* Each variable that is set goes before those set so far. */
Test(connection, file_without_a_name_goes_to_jupyters_runtime_directory)
{
    for (size_t i = 0; i < COUNT(places); i++) {
        char value[PATH_MAX + 32], expected[2 * PATH_MAX];
        (void)snprintf(value, sizeof value, "%s/place/%zu", directory, i);
        (void)snprintf(expected, sizeof expected, "%s%s/kernel-%ld.json", value, places[i].below,
                       (long)getpid());
        cr_assert(eq(int, setenv(places[i].variable, value, 1), 0));
        cr_assert(eq(int, connection_read(NULL, &connection, error), 0), "%s", error);
        EXPECT_TEXT(connection.path, expected);
        cr_assert(eq(int, connection_write(&connection, error), 0), "%s", error);
        cr_expect(eq(int, access(expected, R_OK), 0));
        struct stat status;
        *strrchr(expected, '/') = '\0';
        cr_assert(eq(int, stat(expected, &status), 0));
        cr_expect(eq(int, (int)(status.st_mode & 07777), 0700));
        connection_release(&connection);
    }
}

Test(connection, without_any_directory_the_line_says_what_to_set)
{
    cr_expect(eq(int, connection_read(NULL, &connection, error), -ENOENT));
    EXPECT_TEXT(error, "no directory for a connection file: set JUPYTER_RUNTIME_DIR or HOME");
    put_file("plain", "", 0);
    cr_assert(eq(int, setenv("JUPYTER_RUNTIME_DIR", "plain/x", 1), 0));
    cr_expect(eq(int, connection_read(NULL, &connection, error), -ENOTDIR));
    EXPECT_TEXT(error, "cannot make the directory plain/x: Not a directory");
}

/* ---- registration files ------------------------------------------------------------ */

#define SPECIFIED                                                                                  \
    "\"kernel_id\":\"a-1\",\"registration_ip\":\"10.0.0.1\",\"registration_port\":7,\"key\":\"k\""

static const char *reported_to(void)
{
    static char text[CONNECTION_ENDPOINT_MAX];
    connection_registration_endpoint(&connection, text, sizeof text);
    return text;
}

Test(connection, registration_file_says_where_to_report)
{
    static const struct {
        const char *text, *reported_to, *shell, *kernel_id;
    } cases[] = {
        {"{" SPECIFIED "}", "tcp://10.0.0.1:7", "tcp://10.0.0.1:*", "a-1"},
        {"{" SPECIFIED ",\"ip\":\"*\"}", "tcp://10.0.0.1:7", "tcp://*:*", "a-1"},
        {"{\"kernel_id\":\"a\",\"registration_ip\":\"::1\",\"registration_port\":65535}",
         "tcp://[::1]:65535", "tcp://[::1]:*", "a"},
        {"{\"kernel_id\":\"a\",\"registration_ip\":\"/r\",\"registration_port\":1,"
         "\"transport\":\"ipc\"}",
         "ipc:///r-1", "ipc:///r-0", "a"},
        {"{\"ip\":\"127.0.0.1\",\"registration_port\":9,\"key\":null}", "tcp://127.0.0.1:9",
         "tcp://127.0.0.1:*", NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        cr_assert(eq(int, read_text(cases[i].text), 0), "%s", error);
        EXPECT_TEXT(reported_to(), cases[i].reported_to);
        EXPECT_TEXT(endpoint(CHANNEL_SHELL), cases[i].shell);
        cr_expect(connection.changed);
        cr_expect(eq(int, connection.kernel_id != NULL, cases[i].kernel_id != NULL));
        if (cases[i].kernel_id != NULL) {
            EXPECT_TEXT(connection.kernel_id, cases[i].kernel_id);
        }
        connection_release(&connection);
    }
}

static const struct {
    const char *text, *line;
} wrong_registrations[] = {
    {"{\"registration_port\":0}", "registration_port must be an integer from 1 to 65535"},
    {"{\"registration_port\":65536}", "registration_port must be an integer from 1 to 65535"},
    {"{\"registration_port\":null}", "registration_port must be an integer from 1 to 65535"},
    {"{\"registration_port\":1}", "ip is missing"},
    {"{\"registration_port\":1,\"ip\":\"\"}", "ip is empty"},
    {"{\"registration_port\":1,\"ip\":\"x\",\"key\":1}", "key must be a string"},
    {"{\"registration_port\":1,\"hb_port\":2}",
     "it has hb_port too: ports are either given or asked for"},
    {"{\"registration_port\":1,\"kernel_id\":\"a\"}", "registration_ip is missing"},
    {"{\"registration_port\":1,\"registration_ip\":\"x\"}", "kernel_id is missing"},
    {"{\"registration_port\":1,\"registration_ip\":\"x\",\"kernel_id\":null}",
     "kernel_id must be a string"},
    {"{\"registration_port\":1,\"registration_ip\":\"x\",\"kernel_id\":\"\"}",
     "kernel_id must be 1 to 128 letters, digits, dots, dashes and underscores"},
    {"{\"registration_port\":1,\"registration_ip\":\"x\",\"kernel_id\":\"/\"}",
     "kernel_id must be 1 to 128 letters, digits, dots, dashes and underscores"},
    {"{\"registration_port\":1,\"registration_ip\":5,\"kernel_id\":\"a\"}",
     "registration_ip must be a string"},
};

Test(connection, each_mistake_of_a_registration_file_has_its_line)
{
    for (size_t i = 0; i < COUNT(wrong_registrations); i++) {
        char line[CONNECTION_ERROR_MAX];
        (void)snprintf(line, sizeof line, "registration file c.json: %s",
                       wrong_registrations[i].line);
        cr_expect(eq(int, read_text(wrong_registrations[i].text), -EINVAL));
        EXPECT_TEXT(error, line);
    }
}

static int read_registration(const char *host, const char *id, const char *transport)
{
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "{\"registration_port\":1,\"registration_ip\":\"%s\",\"kernel_id\":\"%s\","
                   "\"transport\":\"%s\",\"ip\":\"/x\"}",
                   host, id, transport);
    return read_text(text);
}

Test(connection, what_is_too_long_in_a_registration_file_is_refused)
{
    char *id = repeated('i', 129);
    cr_expect(eq(int, read_registration("x", id, "tcp"), -EINVAL));
    cr_expect(eq(int, read_registration("x", id + 1, "tcp"), 0), "%s", error);
    connection_release(&connection);
    free(id);

    char *host = repeated('h', 256);
    cr_expect(eq(int, read_registration(host, "a", "tcp"), -EINVAL));
    EXPECT_TEXT(error, "registration file c.json: registration_ip is longer than 255 characters");
    host[0] = '/';
    host[106] = '\0';
    cr_expect(eq(int, read_registration(host, "a", "ipc"), -EINVAL));
    EXPECT_TEXT(error, "registration file c.json: registration_ip: the path of the registration "
                       "socket is too long (108 bytes, at most 107)");
    free(host);
}

/* As the sockets would, when they are bound. */
static void choose_ports(void)
{
    for (int channel = 0; channel < CHANNELS; channel++) {
        connection.port[channel] = 1000 + channel;
    }
}

Test(connection, registration_file_is_kept_and_another_one_written)
{
    cr_assert(eq(int, setenv("JUPYTER_RUNTIME_DIR", directory, 1), 0));
    cr_assert(eq(int, read_text("{" SPECIFIED ",\"mine\":1}"), 0));
    char path[PATH_MAX + 32];
    (void)snprintf(path, sizeof path, "%s/kernel-a-1.json", directory);
    EXPECT_TEXT(connection.path, path);
    choose_ports();
    cr_assert(eq(int, connection_write(&connection, error), 0), "%s", error);
    EXPECT_TEXT(get_file("c.json"), "{" SPECIFIED ",\"mine\":1}");
    EXPECT_TEXT(get_file(path),
                "{\n  \"kernel_id\": \"a-1\",\n  \"key\": \"k\",\n  \"mine\": 1,\n"
                "  \"transport\": \"tcp\",\n  \"ip\": \"10.0.0.1\",\n"
                "  \"signature_scheme\": \"hmac-sha256\",\n  \"shell_port\": 1000,\n"
                "  \"iopub_port\": 1001,\n  \"stdin_port\": 1002,\n  \"control_port\": 1003,\n"
                "  \"hb_port\": 1004\n}");
    connection_release(&connection);
    cr_expect(ne(int, access(path, F_OK), 0));
    cr_expect(eq(int, access("c.json", F_OK), 0));
}

Test(connection, registration_file_with_the_other_ones_name_is_not_overwritten)
{
    cr_assert(eq(int, setenv("JUPYTER_RUNTIME_DIR", directory, 1), 0));
    put_file("kernel-a-1.json", "{" SPECIFIED "}", strlen("{" SPECIFIED "}"));
    cr_assert(eq(int, symlink("kernel-a-1.json", "link.json"), 0));
    cr_assert(eq(int, connection_read("link.json", &connection, error), 0), "%s", error);
    char path[PATH_MAX + 32];
    (void)snprintf(path, sizeof path, "%s/kernel-%ld.json", directory, (long)getpid());
    EXPECT_TEXT(connection.path, path);
}

Test(connection, without_a_directory_a_registration_file_is_still_read)
{
    cr_assert(eq(int, read_text("{" SPECIFIED "}"), 0), "%s", error);
    choose_ports();
    cr_expect(eq(int, connection_write(&connection, error), -ENOENT));
    EXPECT_TEXT(error, "no directory for a connection file: set JUPYTER_RUNTIME_DIR or HOME");
    EXPECT_TEXT(get_file("c.json"), "{" SPECIFIED "}");
    connection_release(&connection);
    cr_expect(eq(int, access("c.json", F_OK), 0));
}
