/* Facts of a cell: files it read, variables it left, modules it did not load. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/seeds/seed.h"

static void put_file(const struct seed *seed, const char *name, const char *text)
{
    char path[128];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s", seed->directory, name);
    file = fopen(path, "we");
    cr_assert(file);
    (void)fputs(text, file);
    cr_assert_eq(fclose(file), 0);
}

/* test_files_read_are_runtime_observations_not_source_guesses */
Test(seeds_facts, files_read_are_those_that_were_read, .timeout = 100)
{
    struct host_result *result;
    struct seed seed;

    seed_begin(&seed, seed_echo);
    put_file(&seed, "executed.txt", "observed");
    put_file(&seed, "dead.txt", "not observed");
    result = seed_run(&seed, "from pathlib import Path\n"
                             "if False:\n"
                             "    Path('dead.txt').read_text()\n"
                             "print(Path('executed.txt').read_text())\n"
                             "Path('write-only.txt').write_text('output')");
    cr_assert_null(result->error.p, "%s", result->error.p);
    cr_assert_str_eq(result->out.p, "observed\n");
    cr_assert_str_eq(result->files_read.p, "[\"executed.txt\"]");
    host_result_destroy(&result);
    seed_expect(&seed, "print(open('write-only.txt').read())", "output\n");
    seed_end(&seed);
}

/* test_files_read_normalize_workspace_paths_and_exclude_external_reads */
Test(seeds_facts, files_read_are_of_the_workspace_by_their_plain_names, .timeout = 100)
{
    struct host_result *result;
    char path[128];
    struct seed seed;

    seed_begin(&seed, seed_echo);
    (void)snprintf(path, sizeof path, "%s/nested", seed.directory);
    cr_assert_eq(mkdir(path, 0700), 0);
    put_file(&seed, "nested/input.bin", "data");
    result =
        seed_run(&seed, "import os\n"
                        "open(os.path.join('nested', '..', 'nested', 'input.bin'), 'rb').read()\n"
                        "open('/dev/null', 'rb').read()\n"
                        "fd = os.open('created.bin', os.O_CREAT | os.O_WRONLY, 0o600)\n"
                        "os.close(fd)");
    cr_assert_null(result->error.p, "%s", result->error.p);
    cr_assert_str_eq(result->files_read.p, "[\"nested/input.bin\"]");
    host_result_destroy(&result);
    seed_end(&seed);
}

static json_t *variables_of(struct seed *seed)
{
    struct host_variables *variables = NULL;
    json_t *list, *by_name = json_object(), *item;
    size_t i;

    cr_assert_eq(host_inspect(seed->host, 200, &variables, &seed->error), 0, "%s",
                 seed->error.text);
    cr_assert_null(variables->error.p, "%s", variables->error.p);
    list = json_loadb(variables->variables.p, variables->variables.n, 0, NULL);
    json_array_foreach(list, i, item)
    {
        (void)json_object_set(by_name, json_string_value(json_object_get(item, "name")), item);
    }
    json_decref(list);
    host_variables_destroy(&variables);
    return by_name;
}

static void expect_json(const json_t *value, const char *expected)
{
    json_t *other = json_loads(expected, JSON_DECODE_ANY, NULL);
    char *text = json_dumps(value, JSON_ENCODE_ANY);

    cr_expect(json_equal(value, other), "%s, not %s", text, expected);
    free(text);
    json_decref(other);
}

/* test_variable_inspector_reads_only_safe_builtins_without_repr_hooks */
Test(seeds_facts, the_inspector_runs_no_code_of_the_values, .timeout = 100)
{
    static const char setup[] =
        "events = []\n"
        "class Meta(type):\n"
        "    def __getattribute__(cls, name):\n"
        "        if name == '__name__': events.append('metaclass-name')\n"
        "        return super().__getattribute__(name)\n"
        "class Hostile(metaclass=Meta):\n"
        "    def __repr__(self): events.append('repr'); raise RuntimeError('repr')\n"
        "    def __len__(self): events.append('len'); raise RuntimeError('len')\n"
        "    def __sizeof__(self): events.append('sizeof'); raise RuntimeError('sizeof')\n"
        "class TrapList(list):\n"
        "    def __repr__(self): events.append('list-repr'); raise RuntimeError('repr')\n"
        "    def __iter__(self): events.append('list-iter'); raise RuntimeError('iter')\n"
        "    def __len__(self): events.append('list-len'); raise RuntimeError('len')\n"
        "score = 0.93\n"
        "title = 'protein'\n"
        "samples = [1, 2, 3]\n"
        "mixed = [1, Hostile()]\n"
        "hostile = Hostile()\n"
        "trap = TrapList([1, 2])";
    json_t *variables, *samples;
    struct seed seed;

    seed_begin(&seed, seed_echo);
    seed_expect(&seed, setup, "");
    variables = variables_of(&seed);
    expect_json(json_object_get(json_object_get(variables, "score"), "preview"), "0.93");
    expect_json(json_object_get(json_object_get(variables, "title"), "preview"), "\"protein\"");
    samples = json_object_get(variables, "samples");
    expect_json(json_object_get(samples, "length"), "3");
    cr_expect_eq(json_string_length(json_object_get(samples, "fingerprint")), 64);
    expect_json(json_object_get(variables, "mixed"),
                "{\"name\":\"mixed\",\"type\":\"list\",\"kind\":\"container\",\"length\":2}");
    expect_json(json_object_get(variables, "hostile"),
                "{\"name\":\"hostile\",\"type\":\"Hostile\"}");
    expect_json(json_object_get(variables, "trap"), "{\"name\":\"trap\",\"type\":\"TrapList\"}");
    cr_expect_null(json_object_get(variables, "host"));
    cr_expect_null(json_object_get(variables, "openai4s"));
    json_decref(variables);
    seed_expect(&seed, "print(events)", "[]\n");
    seed_end(&seed);
}

/*
 * test_variable_inspector_hides_the_skill_bootstrap_it_did_not_author. The
 * documents' bootstrap comes from their skill loader; names of its kinds, bound by
 * a system cell, stand in.
 */
Test(seeds_facts, the_inspector_hides_what_a_skill_loader_binds, .timeout = 100)
{
    struct host_cell bootstrap = {.code = "import hashlib as _o4s_hashlib, sys as _o4s_sys\n"
                                          "_o4s_allowed = set()\n"
                                          "class _OpenAI4SSkillFinder: pass\n"
                                          "class _OpenAI4SSkillLoader: pass\n"
                                          "__openai4s_skill_load_events__ = []",
                                  .origin = "system"};
    struct host_result *result = NULL;
    json_t *variables;
    struct seed seed;

    seed_begin(&seed, seed_echo);
    cr_assert_eq(host_execute(seed.host, &bootstrap, &result, &seed.error), 0);
    cr_assert_null(result->error.p, "%s", result->error.p);
    host_result_destroy(&result);
    seed_expect(&seed, "pp = 7", "");
    variables = variables_of(&seed);
    cr_assert_eq(json_object_size(variables), 1);
    cr_assert(json_object_get(variables, "pp"));
    json_decref(variables);
    seed_end(&seed);
}
