/*
 * host.bash: local to the worker, and never without the host's word for this
 * spawn. What stands in for the documents' dispatcher builder is a host that
 * allows every command: it signs what it is asked for.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/seeds/seed.h"

struct allowing {
    char seen[4][128]; /* generations that asked */
    size_t count;
    bool bash_was_called;
};

static const char *text_of(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static void authorize(struct allowing *self, json_t *spec, struct host_answer *answer)
{
    long long now = (long long)time(NULL) * 1000;
    const char *workspace = text_of(spec, "workspace");
    const char *root = *workspace ? workspace : text_of(spec, "cwd");
    json_t *capability = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I}", "version", "openai4s-bash-capability-v1",
        "command_sha256", text_of(spec, "commandSha256"), "cwd", text_of(spec, "cwd"), "workspace",
        workspace, "allowed_root", root, "generation", text_of(spec, "generation"), "challenge",
        text_of(spec, "challenge"), "issued_at_ms", (json_int_t)now, "expires_at_ms",
        (json_int_t)(now + 30000));
    char token[64];
    char *text;

    (void)snprintf(token, sizeof token, "0123456789abcdef0123456789abcdef-%zu", self->count);
    (void)json_object_set_new(capability, "token", json_string(token));
    text = json_dumps(capability, 0);
    if (self->count < 4) {
        (void)snprintf(self->seen[self->count++], 128, "%s", text_of(spec, "generation"));
    }
    host_answer_data(answer, text, strlen(text));
    free(text);
    json_decref(capability);
}

static void allow(void *arg, const struct host_call *call, struct host_answer *answer)
{
    struct allowing *self = arg;
    json_t *args = json_loadb(call->args.p, call->args.n, 0, NULL);

    if (strcmp(call->method.p, "authorize_bash") == 0) {
        authorize(self, json_array_get(args, 0), answer);
    } else if (strcmp(call->method.p, "bash") == 0) {
        self->bash_was_called = true;
        host_answer_error(answer, "host.bash must not reach the host dispatcher");
    } else if (strncmp(call->method.p, "prov_", 5) != 0) {
        host_answer_data(answer, "{\"ok\":true}", 11);
    }
    json_decref(args);
}

static void begin(struct seed *seed, struct allowing *host)
{
    *host = (struct allowing){.count = 0};
    seed_init(seed);
    seed->options.dispatch = allow;
    seed->options.dispatch_arg = host;
    seed_start(seed);
}

static bool was_logged(struct host *host, const char *method)
{
    size_t n;
    struct host_call_entry *calls = host_call_log_dup(host, &n);
    bool found = false;

    for (size_t i = 0; i < n; i++) {
        found = found || strcmp(calls[i].method, method) == 0;
    }
    free(calls);
    return found;
}

/* test_host_bash_is_kernel_local_and_never_rpcs */
Test(seeds_bash, runs_in_the_worker_and_is_no_call, .timeout = 100)
{
    struct allowing host;
    struct seed seed;

    begin(&seed, &host);
    seed_expect(&seed, "r = host.bash('echo kernel-local'); print(r['stdout'].strip())",
                "kernel-local\n");
    seed_expect(&seed, "import os\nprint(host.bash('pwd')['workdir'] == os.path.realpath('.'))",
                "True\n");
    cr_assert_not(host.bash_was_called);
    cr_assert(was_logged(seed.host, "bash"), "its audit");
    cr_assert(was_logged(seed.host, "authorize_bash"));
    seed_end(&seed);
}

/* test_host_bash_capability_is_bound_to_exact_worker_spawn */
Test(seeds_bash, a_capability_is_bound_to_this_spawn, .timeout = 100)
{
    struct allowing host;
    struct seed seed;
    char *first, *second;

    begin(&seed, &host);
    first = host_authorization_generation(seed.host);
    seed_expect(&seed, "print(host.bash('echo first')['stdout'].strip())", "first\n");
    cr_assert_eq(host_restart(seed.host, &seed.error), 0, "%s", seed.error.text);
    second = host_authorization_generation(seed.host);
    seed_expect(&seed, "print(host.bash('echo second')['stdout'].strip())", "second\n");
    cr_assert_str_neq(first, second);
    cr_assert_eq(host.count, 2);
    cr_assert_str_eq(host.seen[0], first);
    cr_assert_str_eq(host.seen[1], second);
    free(first);
    free(second);
    host_shutdown(seed.host);
    first = host_authorization_generation(seed.host);
    cr_assert_str_eq(first, "");
    free(first);
    seed_end(&seed);
}

/* test_host_bash_static_precheck_blocks_catastrophe */
Test(seeds_bash, a_catastrophe_is_refused_before_anybody_is_asked, .timeout = 100)
{
    struct host_result *result;
    struct allowing host;
    struct seed seed;

    begin(&seed, &host);
    result = seed_run(&seed, "try:\n"
                             "    host.bash('rm -rf /')\n"
                             "except RuntimeError as e:\n"
                             "    print('BLOCKED:', e)\n");
    cr_assert_null(result->error.p, "%s", result->error.p);
    cr_assert(strstr(result->out.p, "BLOCKED:") && strstr(result->out.p, "precheck"), "%s",
              result->out.p);
    cr_assert_eq(host.count, 0);
    host_result_destroy(&result);
    seed_end(&seed);
}

/* test_host_bash_python_is_the_kernel_interpreter_in_a_non_activated_launch */
Test(seeds_bash, its_python_is_the_cells_own, .timeout = 100)
{
    char directory[128], command[512];
    struct allowing host;
    struct seed seed;

    /* A venv's python, and a PATH without a `python`. */
    seed_init(&seed);
    (void)snprintf(directory, sizeof directory, "%s/venv", seed.directory);
    (void)snprintf(command, sizeof command, "%s -m venv --without-pip %s", SEED_PYTHON, directory);
    cr_assert_eq(system(command), 0); /* NOLINT(cert-env33-c): a fixed command */
    (void)snprintf(command, sizeof command, "%s/bin/python", directory);
    host = (struct allowing){.count = 0};
    seed.options.python = command;
    seed.options.environment = (char *[]){(char[]){"PATH=/bin"}, NULL};
    seed.options.dispatch = allow;
    seed.options.dispatch_arg = &host;
    seed_start(&seed);
    seed_expect(&seed,
                "import sys\n"
                "probe = host.bash('python -c \"import sys; print(sys.prefix)\"')\n"
                "print(probe['exit_code'], probe['stdout'].strip() == sys.prefix)\n"
                "print(sys.prefix.endswith('/venv'))",
                "0 True\nTrue\n");
    seed_end(&seed);
}

/* test_python_kernel_and_its_subprocesses_cannot_inherit_host_api_key, through host.bash */
Test(seeds_bash, its_command_has_no_key_of_the_host, .timeout = 100)
{
    struct allowing host;
    struct seed seed;

    (void)setenv("OPENAI4S_LLM_API_KEY", "synthetic-host-llm-secret-never-in-kernel", 1);
    begin(&seed, &host);
    seed_expect(&seed, "print(repr(host.bash('echo \"$OPENAI4S_LLM_API_KEY\"')['stdout'].strip()))",
                "''\n");
    seed_end(&seed);
}
