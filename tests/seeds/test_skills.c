/* What a skill loader runs in the real worker, as the host's program hears of it. */

#include <string.h>

#include "tests/seeds/seed.h"

static const char loader[] =
    "import sys, hashlib, base64\n"
    "def load(source, run=True):\n"
    "    code = compile(source, '<sidecar>', 'exec')\n"
    "    if run: exec(code, {})\n"
    "    data = source.encode()\n"
    "    sys.audit('openai4s.skill_sidecar_loaded',\n"
    "              {'event': 'sidecar_loaded', 'name': 'n\xc3\xa9\\x01\"\\U0001f600', 'list': [1, "
    "2.5, None, {'b': {}, 'a': -1e300}, float('nan'), 10 ** 30],\n"
    "               'sha256': hashlib.sha256(data).hexdigest(), 'source_b64': "
    "base64.b64encode(data).decode()})\n"
    "sys.audit('openai4s.skill_loader_register', load.__code__)";

static void begin(struct seed *seed)
{
    struct host_cell bootstrap = {.code = loader, .origin = "system"};
    struct host_result *result = NULL;

    seed_begin(seed, seed_echo);
    cr_assert_eq(host_execute(seed->host, &bootstrap, &result, &seed->error), 0);
    cr_assert_null(result->error.p, "%s", result->error.p);
    cr_assert_null(result->skill_loads.p);
    host_result_destroy(&result);
}

Test(seeds_skills, what_a_loader_has_run_comes_with_the_result, .timeout = 100)
{
    struct host_result *result;
    struct seed seed;
    const char *first;

    begin(&seed);
    result = seed_run(&seed, "load('x = 1')\nload('y = 2')");
    cr_assert_null(result->error.p, "%s", result->error.p);
    cr_assert(result->skill_loads.p);
    /* with numbers that only Python's JSON has: jansson could not read it */
    first = strstr(result->skill_loads.p, "eCA9IDE=");
    cr_assert(first, "%s", result->skill_loads.p);
    cr_expect(strstr(first, "eSA9IDI="), "%s", result->skill_loads.p);
    cr_expect(strstr(first, "NaN"), "%s", result->skill_loads.p);
    cr_expect_null(strstr(result->skill_loads.p, "invalid_sidecar_event"));
    cr_expect(strstr(result->json.p, "\"skill_sidecar_loads\":["));
    cr_expect(host_is_recoverable(seed.host));
    host_result_destroy(&result);
    result = seed_run(&seed, "pass");
    cr_expect_null(result->skill_loads.p);
    host_result_destroy(&result);
    seed_end(&seed);
}

Test(seeds_skills, what_it_has_not_run_ends_the_recovery_until_a_restart, .timeout = 100)
{
    struct host_result *result;
    struct seed seed;

    begin(&seed);
    result = seed_run(&seed, "load('x = 1', run=False)");
    cr_expect_str_eq(result->skill_loads.p, "[{\"event\":\"invalid_sidecar_event\"}]");
    cr_expect_not(host_is_recoverable(seed.host));
    host_result_destroy(&result);
    cr_assert_eq(host_restart(seed.host, &seed.error), 0);
    cr_expect(host_is_recoverable(seed.host));
    seed_end(&seed);
}
