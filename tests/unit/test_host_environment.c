/*
 * kernel/host_environment.c: the strict allowlist, rule by rule. The first
 * three are the documents' tests of the same names (tests/seeds/TABLE.md).
 */

#include <criterion/criterion.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/host.h"

static const char *value(char **environment, const char *name)
{
    size_t n = strlen(name);

    for (; *environment; environment++) {
        if (strncmp(*environment, name, n) == 0 && (*environment)[n] == '=') {
            return *environment + n + 1;
        }
    }
    return NULL;
}

static void expect(char **environment, const char *name, const char *expected)
{
    const char *found = value(environment, name);

    if (expected) {
        cr_expect(found && strcmp(found, expected) == 0, "%s is %s, not %s", name,
                  found ? found : "absent", expected);
    } else {
        cr_expect_null(found, "%s is %s", name, found);
    }
}

/* A directory of the test's own, resolved. */
static char directory[PATH_MAX];

static void make_directory(void)
{
    char name[] = "/tmp/einkorn-XXXXXX";

    cr_assert(mkdtemp(name));
    cr_assert(realpath(name, directory));
}

static void remove_directory(void)
{
    (void)rmdir(directory);
}

TestSuite(host_environment, .init = make_directory, .fini = remove_directory);

Test(host_environment, is_rebuilt_from_a_strict_allowlist)
{
    static const char *const source[] = {
        "PATH=/host/bin",
        "HOME=/home/scientist",
        "LANG=en_US.UTF-8",
        "TMPDIR=/safe/tmp",
        "MPLBACKEND=Agg",
        "VIRTUAL_ENV=/host/venv",
        "PYTHONPATH=/host/injected-pythonpath",
        "CONDA_PREFIX=/host/wrong-conda",
        "OPENAI4S_PROVENANCE_OFF=1",
        "OPENAI4S_SAFETY_AUDIT_HOOK=0",
        "OPENAI4S_KERNEL_MODE=host-override",
        "OPENAI4S_KERNEL_GENERATION=host-forged-generation",
        "OPENAI4S_WORKSPACE=/host/wrong-workspace",
        "OPENAI4S_LLM_API_KEY=llm-secret",
        "OPENAI4S_ARK_API_KEY=ark-secret",
        "OPENAI_API_KEY=openai-secret",
        "ANTHROPIC_API_KEY=anthropic-secret",
        "HF_TOKEN=hf-secret",
        "AWS_SECRET_ACCESS_KEY=aws-secret",
        "SYNTHETIC_OAUTH_CREDENTIAL=oauth-secret",
        "DATABASE_PASSWORD=db-secret",
        "SSH_AUTH_SOCK=/tmp/agent.sock",
        "HTTPS_PROXY=https://user:password@proxy.invalid",
        "LD_PRELOAD=/tmp/evil.so",
        "LD_LIBRARY_PATH=/tmp/evil-libs",
        "DYLD_INSERT_LIBRARIES=/tmp/evil.dylib",
        "DYLD_LIBRARY_PATH=/tmp/evil-dylibs",
        "BASH_ENV=/tmp/evil-bashrc",
        "NODE_OPTIONS=--require=/tmp/evil.js",
        "OPENAI4S_WORKER_CONNECT=127.0.0.1:1",
        "OPENAI4S_WORKER_BOOTSTRAP_PATH=/tmp/credential",
        NULL,
    };
    static const struct {
        const char *name, *value;
    } expected[] = {
        {"HOME", "/home/scientist"},
        {"LANG", "en_US.UTF-8"},
        {"TMPDIR", "/safe/tmp"},
        {"MPLBACKEND", "Agg"},
        {"MPLCONFIGDIR", "/safe/tmp/openai4s-matplotlib"},
        {"OPENAI4S_PROVENANCE_OFF", "1"},
        {"OPENAI4S_SAFETY_AUDIT_HOOK", "0"},
        {"OPENAI4S_KERNEL_MODE", "python"},
        {"OPENAI4S_KERNEL_GENERATION", "kernel:test-generation"},
        {"CONDA_DEFAULT_ENV", "science"},
        {"CONDA_SHLVL", "1"},
    };
    const char *copy[sizeof source / sizeof source[0]];
    char conda[PATH_MAX + 32], repo[PATH_MAX + 32], bin[PATH_MAX + 64];
    struct host_environment of = {.source = (char *const *)(uintptr_t)source,
                                  .mode = "python",
                                  .cwd = directory,
                                  .env_root = conda,
                                  .env_name = "science",
                                  .generation = "kernel:test-generation",
                                  .repo_root = repo};
    char **environment;
    size_t count = 0;

    memcpy(copy, source, sizeof source);
    (void)snprintf(conda, sizeof conda, "%s/conda/science", directory);
    (void)snprintf(repo, sizeof repo, "%s/trusted-repo", directory);
    (void)snprintf(bin, sizeof bin, "%s/bin:/host/bin", conda);
    environment = host_environment_new(&of);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        expect(environment, expected[i].name, expected[i].value);
    }
    expect(environment, "PATH", bin);
    expect(environment, "OPENAI4S_WORKSPACE", directory);
    expect(environment, "PWD", directory);
    expect(environment, "PYTHONPATH", repo); /* which is not there */
    expect(environment, "CONDA_PREFIX", conda);
    /* These and no others: no key, no loader's variable, no venv beside the selected runtime. */
    while (environment[count]) {
        count++;
    }
    cr_expect_eq(count, sizeof expected / sizeof expected[0] + 5);
    cr_expect_arr_eq(copy, source, sizeof source, "the source is not changed");
    cr_expect_str_eq(source[13], "OPENAI4S_LLM_API_KEY=llm-secret");
    free(environment);
}

static void expect_path(const char *interpreter, const char *env_root, const char *source_path,
                        const char *expected)
{
    char path[256];
    char *source[] = {path, NULL};
    struct host_environment of = {.source = source_path ? source : source + 1,
                                  .cwd = directory,
                                  .interpreter = interpreter,
                                  .env_root = env_root};
    char **environment;

    (void)snprintf(path, sizeof path, "PATH=%s", source_path ? source_path : "");
    environment = host_environment_new(&of);
    expect(environment, "PATH", expected);
    free(environment);
}

Test(host_environment, the_interpreters_directory_leads_path_when_no_env_is_selected)
{
    char bin[PATH_MAX + 64], interpreter[PATH_MAX + 128], expected[PATH_MAX + 128];

    expect_path("/venv/bin/python", NULL, "/usr/bin:/bin", "/venv/bin:/usr/bin:/bin");
    /* Unresolved: a venv's python is a link. */
    (void)snprintf(bin, sizeof bin, "%s/bin", directory);
    (void)snprintf(interpreter, sizeof interpreter, "%s/python", bin);
    (void)snprintf(expected, sizeof expected, "%s:/usr/bin:/bin", bin);
    cr_assert_eq(mkdir(bin, 0700), 0);
    cr_assert_eq(symlink("/usr/bin/python3", interpreter), 0);
    expect_path(interpreter, NULL, "/usr/bin:/bin", expected);
    (void)unlink(interpreter);
    (void)rmdir(bin);
    /* A selected environment wins. */
    expect_path("/venv/bin/python", "/conda/science", "/usr/bin:/bin",
                "/conda/science/bin:/usr/bin:/bin");
    /* A bare or relative interpreter never puts the workspace on PATH. */
    expect_path("python", NULL, "/usr/bin:/bin", "/usr/bin:/bin");
    expect_path("./python", NULL, "/usr/bin:/bin", "/usr/bin:/bin");
    expect_path("", NULL, "/usr/bin:/bin", "/usr/bin:/bin");
    expect_path(NULL, NULL, "/usr/bin:/bin", "/usr/bin:/bin");
}

Test(host_environment, a_directory_that_leads_path_stands_there_once)
{
    expect_path("/bin/python", NULL, "/usr/bin:/bin", "/bin:/usr/bin");
    expect_path("/python", NULL, "/bin", "/:/bin");
    expect_path(NULL, NULL, NULL, "/usr/local/bin:/usr/bin:/bin");
    expect_path("/venv/bin/python", NULL, "", "/venv/bin");
}

Test(host_environment, what_may_pass)
{
    static const struct {
        const char *entry;
        bool passes;
    } rows[] = {
        {"USER=u", true},
        {"LOGNAME=u", true},
        {"SHELL=/bin/sh", true},
        {"TERM=dumb", true},
        {"LC_ALL=C", true},
        {"LC_TIME=", true},
        {"TZ=UTC", true},
        {"OMP_NUM_THREADS=2", true},
        {"OPENBLAS_NUM_THREADS=2", true},
        {"MKL_NUM_THREADS=2", true},
        {"NUMEXPR_NUM_THREADS=2", true},
        {"NUMEXPR_MAX_THREADS=2", true},
        {"CUDA_VISIBLE_DEVICES=0", true},
        {"CUDA_DEVICE_ORDER=PCI_BUS_ID", true},
        {"OPENAI4S_GUARDS_OFF=1", true},
        {"OPENAI4S_DLOPEN_BLOCK_ROOTS=/x", true},
        {"OPENAI4S_DATA_DIR=/data", true},
        {"OPENAI4S_EGRESS=closed", true},
        {"OPENAI4S_ARTIFACTS_ROOTS=/x", true},
        {"VIRTUAL_ENV=/venv", true}, /* no environment is selected */
        {"HOMEWORK=1", false},
        {"LANGUAGE_KEY=1", false},
        {"OMP_SECRET=1", false},
        {"CONDA_PREFIX=/x", false},
        {"PYTHONSTARTUP=/x", false},
        {"OPENAI4S_LLM_API_KEY=k", false},
        {"OPENAI4S_WORKER_CONNECT=127.0.0.1:1", false},
        {"CUDA_TOKEN=k", false},
        {"https_proxy=http://proxy.invalid", false},
        {"LD_AUDIT=/x", false},
        {"no equals sign", false},
        {"=", false},
        {"", false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *source[] = {rows[i].entry, NULL};
        struct host_environment of = {.source = (char *const *)(uintptr_t)source, .cwd = directory};
        char **environment = host_environment_new(&of);
        bool found = false;

        for (char **entry = environment; *entry; entry++) {
            found = found || strcmp(*entry, rows[i].entry) == 0;
        }
        cr_expect_eq(found, rows[i].passes, "%s", rows[i].entry);
        expect(environment, "OPENAI4S_KERNEL_MODE", "repl");
        expect(environment, "OPENAI4S_KERNEL_GENERATION", NULL);
        expect(environment, "PYTHONPATH", NULL);
        expect(environment, "MPLCONFIGDIR", "/tmp/openai4s-matplotlib");
        free(environment);
    }
}

Test(host_environment, paths_are_resolved_as_far_as_they_exist)
{
    static const struct {
        const char *tail, *resolved;
    } rows[] = {{"/link", "/real"}, {"/link/not/there", "/real/not/there"}, {"//gone/", "/gone/"}};
    char link[PATH_MAX + 32], real[PATH_MAX + 32];

    (void)snprintf(real, sizeof real, "%s/real", directory);
    (void)snprintf(link, sizeof link, "%s/link", directory);
    cr_assert_eq(mkdir(real, 0700), 0);
    cr_assert_eq(symlink("real", link), 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char given[PATH_MAX + 64], expected[PATH_MAX + 64];
        struct host_environment of = {.cwd = given, .repo_root = given};
        char **environment;

        (void)snprintf(given, sizeof given, "%s%s", directory, rows[i].tail);
        (void)snprintf(expected, sizeof expected, "%s%s", directory, rows[i].resolved);
        environment = host_environment_new(&of);
        expect(environment, "PWD", expected);
        expect(environment, "PYTHONPATH", expected);
        free(environment);
    }
    (void)unlink(link);
    (void)rmdir(real);
    cr_assert_eq(chdir(directory), 0);
    char **environment = host_environment_new(&(struct host_environment){.repo_root = "new"});

    expect(environment, "PWD", directory);
    (void)snprintf(real, sizeof real, "%s/new", directory);
    expect(environment, "PYTHONPATH", real);
    free(environment);
}

Test(host_environment, a_matplotlib_directory_of_the_users_stays)
{
    char mine[] = "MPLCONFIGDIR=/mine", temporary[] = "TMPDIR=/t";
    char *source[] = {mine, temporary, NULL};
    char **environment =
        host_environment_new(&(struct host_environment){.source = source, .cwd = directory});

    expect(environment, "MPLCONFIGDIR", "/mine");
    free(environment);
}
