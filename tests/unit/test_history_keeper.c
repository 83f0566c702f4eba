/*
 * Tests of kernel/history_keeper.c, history_file.c, history_sql.c, history_place.c and
 * sqlite.c: the thread, the file, and all that can be wrong with it. Each has a directory
 * of its own.
 */

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bridge/clock.h"
#include "kernel/history_keeper.h"
#include "kernel/history_place.h"
#include "kernel/options.h"
#include "kernel/sqlite.h"
#include "tests/unit/remove_tree.h"

enum { DEADLINE_MS = 20000, PATH = 256 };

static struct sqlite sqlite;
static char directory[PATH], file[PATH + 32];
static struct options options;

static void set_up(void)
{
    char error[256];

    (void)snprintf(directory, sizeof directory, "/tmp/ek-history-XXXXXX");
    cr_assert(mkdtemp(directory));
    (void)snprintf(file, sizeof file, "%s/a/b/history.sqlite", directory);
    options = (struct options){.history.is = true, .history_file = file};
    cr_assert_eq(sqlite_load(SQLITE_LIBRARY, &sqlite, error, sizeof error), 0, "%s", error);
}

static void tear_down(void)
{
    remove_tree(directory);
}

TestSuite(history_keeper, .init = set_up, .fini = tear_down);

/* ---- the database as another program sees it ------------------------------------------- */

static sqlite3 *open_database(void)
{
    sqlite3 *db;

    cr_assert_eq(sqlite.open_v2(file, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL), 0);
    cr_assert_eq(sqlite.exec(db, "PRAGMA busy_timeout = 20000", NULL, NULL, NULL), 0);
    return db;
}

/* Every column of every row of a SELECT, "|" between columns, one line each row. */
static void read_all(const char *sql, char *ret_text, size_t size)
{
    sqlite3 *db = open_database();
    sqlite3_stmt *statement;
    size_t n = 0;

    cr_assert_eq(sqlite.prepare_v2(db, sql, -1, &statement, NULL), 0, "%s: %s", sql,
                 sqlite.errmsg(db));
    *ret_text = '\0';
    while (sqlite.step(statement) == SQLITE_ROW) {
        const unsigned char *text = sqlite.column_text(statement, 0);

        n += (size_t)snprintf(ret_text + n, size - n, "%s\n", text ? (const char *)text : "NULL");
    }
    (void)sqlite.finalize(statement);
    (void)sqlite.close_v2(db);
}

static void expect_rows(const char *sql, const char *rows)
{
    char text[4096];

    read_all(sql, text, sizeof text);
    cr_expect_str_eq(text, rows, "%s: %s", sql, text);
}

static void execute(sqlite3 *db, const char *sql)
{
    cr_assert_eq(sqlite.exec(db, sql, NULL, NULL, NULL), 0, "%s: %s", sql, sqlite.errmsg(db));
}

static void write_file(const char *text)
{
    cr_assert_eq(history_place_make(file), 0);
    FILE *stream = fopen(file, "w");

    cr_assert(stream);
    (void)fputs(text, stream);
    (void)fclose(stream);
}

/* ---- the keeper --------------------------------------------------------------------------- */

static struct history_keeper *keeper_new(void)
{
    struct history_keeper *keeper = history_keeper_new(&options, SQLITE_LIBRARY);

    cr_assert(keeper);
    return keeper;
}

static void put(struct history_keeper *keeper, int64_t line, const char *raw)
{
    cr_assert_eq(history_keeper_put(keeper, HISTORY_CODE, line, slice_of(raw)), 0);
}

/* The next news, of that kind. */
static struct history_news wait_news(struct history_keeper *keeper, enum history_news_kind kind)
{
    struct pollfd fd = {.fd = history_keeper_fd(keeper), .events = POLLIN};
    struct history_news news;

    while (!history_keeper_take(keeper, &news)) {
        cr_assert_eq(poll(&fd, 1, DEADLINE_MS), 1, "waited in vain for news");
    }
    cr_assert_eq(news.kind, kind, "news of kind %d, not %d: %s", (int)news.kind, (int)kind,
                 news.kind == HISTORY_NEWS_OFF ? news.text : "");
    return news;
}

static void expect_off(struct history_keeper *keeper, const char *fragment)
{
    struct history_news news = wait_news(keeper, HISTORY_NEWS_OFF);

    cr_expect(strstr(news.text, fragment), "%s", news.text);
    free(news.text);
    cr_expect_eq(history_keeper_put(keeper, HISTORY_CODE, 9, slice_of("\"x\"")), -ESHUTDOWN);
    cr_expect(history_keeper_destroy(&keeper, DEADLINE_MS));
}

/* Asks, and has the answer as a JSON list. */
static void expect_answer(struct history_keeper *keeper, const char *content, const char *answer)
{
    struct buffer text = BUFFER_INIT;
    struct history_query query;
    struct history_news news;

    cr_assert_null(history_query_read(slice_of(content), &query));
    cr_assert_eq(history_keeper_ask(keeper, &query, 42), 0);
    do {
        struct pollfd fd = {.fd = history_keeper_fd(keeper), .events = POLLIN};

        while (!history_keeper_take(keeper, &news)) {
            cr_assert_eq(poll(&fd, 1, DEADLINE_MS), 1, "waited in vain for an answer");
        }
        cr_assert_neq(news.kind, HISTORY_NEWS_OFF, "%s", news.text);
    } while (news.kind != HISTORY_NEWS_ROWS);
    cr_expect_eq(news.ask, 42);
    for (size_t i = 0; i < news.rows.count; i++) {
        const struct history_row *row = &news.rows.row[i];

        buffer_printf(&text, "[%d,%d,%.*s,%.*s]", (int)row->session, (int)row->line,
                      (int)row->input_n, (const char *)news.rows.text.p + row->input_at,
                      (int)row->output_n, (const char *)news.rows.text.p + row->output_at);
    }
    buffer_put_char(&text, '\0');
    cr_expect_str_eq((const char *)text.p, answer, "%s: %s", content, (const char *)text.p);
    buffer_release(&text);
    history_rows_release(&news.rows);
    history_query_release(&query);
}

static void end(struct history_keeper **keeper)
{
    cr_expect(history_keeper_destroy(keeper, DEADLINE_MS));
}

Test(history_keeper, a_session_is_stored_as_ipython_stores_it)
{
    struct history_keeper *keeper = keeper_new();
    struct stat made;

    put(keeper, 1, "\"a = 1\\n\\n\"");
    cr_expect_eq(wait_news(keeper, HISTORY_NEWS_SESSION).session, 1);
    put(keeper, 2, "\"%time\\ud800\"");
    cr_assert_eq(history_keeper_put(keeper, HISTORY_SOURCE, 2, slice_of("\"t()\\n\"")), 0);
    cr_assert_eq(history_keeper_put(keeper, HISTORY_OUTPUT, 2, slice_of("\"'ä'\\n\"")), 0);
    end(&keeper);
    expect_rows("SELECT sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' "
                "ORDER BY name",
                "CREATE TABLE history (session integer, line integer, source text, "
                "source_raw text, PRIMARY KEY (session, line))\n"
                "CREATE TABLE output_history (session integer, line integer, output text, "
                "PRIMARY KEY (session, line))\n"
                "CREATE TABLE sessions (session integer primary key autoincrement, "
                "start timestamp, end timestamp, num_cmds integer, remark text)\n");
    expect_rows("SELECT session || '|' || line || '|' || source || '|' || source_raw FROM history",
                "1|1|a = 1|a = 1\n1|2|t()|%time\xEF\xBF\xBD\n");
    expect_rows("SELECT session || '|' || line || '|' || output FROM output_history",
                "1|2|'ä'\n\n");
    expect_rows("SELECT session || '|' || num_cmds || '|' || remark || '|' || (end >= start) "
                "FROM sessions WHERE start LIKE '20__-__-__ __:__:__.______'",
                "1|2||1\n");
    (void)snprintf(file, sizeof file, "%s/a/b", directory);
    cr_assert_eq(stat(file, &made), 0);
    cr_expect_eq(made.st_mode & 0777, 0700);
}

Test(history_keeper, a_session_that_ran_nothing_leaves_nothing)
{
    struct history_keeper *keeper = keeper_new();

    expect_answer(keeper, "{\"hist_access_type\":\"tail\"}", "");
    end(&keeper);
    cr_expect_eq(access(file, F_OK), -1);
}

Test(history_keeper, what_was_put_is_in_the_file_within_a_second)
{
    struct history_keeper *keeper = keeper_new();

    put(keeper, 1, "\"first\"");
    (void)wait_news(keeper, HISTORY_NEWS_SESSION);
    put(keeper, 2, "\"second\"");
    int64_t put_us = clock_us(CLOCK_MONOTONIC);
    char text[64] = "";

    /* Nobody asks the thread for it. */
    while (strcmp(text, "2\n") != 0 && clock_us(CLOCK_MONOTONIC) - put_us < DEADLINE_MS * 1000L) {
        (void)poll(NULL, 0, 20);
        read_all("SELECT count(*) FROM history", text, sizeof text);
    }
    cr_expect_str_eq(text, "2\n");
    end(&keeper);
}

Test(history_keeper, the_next_session_has_a_number_of_its_own)
{
    struct history_keeper *keeper = keeper_new();

    put(keeper, 1, "\"old\"");
    cr_assert_eq(history_keeper_put_end(keeper), 0);
    put(keeper, 1, "\"new\"");
    cr_expect_eq(wait_news(keeper, HISTORY_NEWS_SESSION).session, 2,
                 "the number of a session that is over is no news");
    end(&keeper);
    expect_rows("SELECT session || '|' || num_cmds FROM sessions", "1|1\n2|1\n");
    expect_rows("SELECT session || '|' || source FROM history", "1|old\n2|new\n");
}

Test(history_keeper, asks_are_answered_as_ipython_answers)
{
    static const struct {
        const char *content, *answer;
    } rows[] = {
        {"{\"hist_access_type\":\"tail\",\"n\":3}", "[2,1,\"z\",][3,1,\"q\\\"\",][3,2,\"x\",]"},
        {"{\"hist_access_type\":\"tail\",\"n\":0}", ""},
        {"{\"hist_access_type\":\"tail\",\"n\":99,\"output\":true}",
         "[1,1,\"x\",\"'1'\"][1,2,\"y\",][2,1,\"z\",][3,1,\"q\\\"\",][3,2,\"x\",]"},
        {"{\"hist_access_type\":\"tail\",\"n\":1,\"raw\":false}", "[3,2,\"x!\",]"},
        {"{\"hist_access_type\":\"range\",\"session\":-2,\"start\":1}", "[1,1,\"x\",][1,2,\"y\",]"},
        {"{\"hist_access_type\":\"range\",\"session\":1,\"start\":2,\"stop\":9}", "[1,2,\"y\",]"},
        {"{\"hist_access_type\":\"range\",\"session\":1,\"start\":1,\"stop\":2}", "[1,1,\"x\",]"},
        {"{\"hist_access_type\":\"range\",\"session\":7}", ""},
        {"{\"hist_access_type\":\"search\",\"pattern\":\"[xy]\"}",
         "[1,1,\"x\",][1,2,\"y\",][3,2,\"x\",]"},
        {"{\"hist_access_type\":\"search\",\"pattern\":\"?\",\"unique\":true}",
         "[1,2,\"y\",][2,1,\"z\",][3,2,\"x\",]"},
        {"{\"hist_access_type\":\"search\",\"n\":2,\"unique\":true}",
         "[3,1,\"q\\\"\",][3,2,\"x\",]"},
        {"{\"hist_access_type\":\"search\",\"pattern\":\"q*\",\"n\":5,\"output\":true}",
         "[3,1,\"q\\\"\",]"},
    };
    struct history_keeper *keeper = keeper_new();

    put(keeper, 1, "\"x\"");
    cr_assert_eq(history_keeper_put(keeper, HISTORY_OUTPUT, 1, slice_of("\"'1'\"")), 0);
    put(keeper, 2, "\"y\"");
    (void)history_keeper_put_end(keeper);
    put(keeper, 1, "\"z\"");
    (void)history_keeper_put_end(keeper);
    put(keeper, 1, "\"q\\\"\"");
    put(keeper, 2, "\"x\"");
    cr_assert_eq(history_keeper_put(keeper, HISTORY_SOURCE, 2, slice_of("\"x!\"")), 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        expect_answer(keeper, rows[i].content, rows[i].answer);
    }
    end(&keeper);
}

Test(history_keeper, before_the_first_cell_the_one_before_is_the_last_in_the_file)
{
    struct history_keeper *keeper = keeper_new();

    put(keeper, 1, "\"x\"");
    end(&keeper);
    keeper = keeper_new();
    expect_answer(keeper, "{\"hist_access_type\":\"range\",\"session\":-1}", "[1,1,\"x\",]");
    end(&keeper);
}

Test(history_keeper, two_of_them_share_a_file)
{
    struct history_keeper *one = keeper_new(), *other = keeper_new();
    char raw[16];

    for (int line = 1; line <= 300; line++) {
        (void)snprintf(raw, sizeof raw, "\"%d\"", line);
        put(one, line, raw);
        put(other, line, raw);
    }
    end(&one);
    end(&other);
    expect_rows("SELECT group_concat(num_cmds) FROM sessions", "300,300\n");
    expect_rows("SELECT count(*) FROM history GROUP BY session", "300\n300\n");
}

Test(history_keeper, a_file_that_was_replaced_gets_a_session_of_its_own)
{
    struct history_keeper *keeper = keeper_new();
    sqlite3 *db;

    put(keeper, 1, "\"x\"");
    (void)wait_news(keeper, HISTORY_NEWS_SESSION);
    cr_assert_eq(unlink(file), 0);
    db = open_database();
    execute(db, "CREATE TABLE sessions (session integer primary key autoincrement, "
                "start timestamp, end timestamp, num_cmds integer, remark text);"
                "INSERT INTO sessions VALUES (1, 'somebody', NULL, NULL, '')");
    (void)sqlite.close_v2(db);
    put(keeper, 2, "\"y\"");
    cr_expect_eq(wait_news(keeper, HISTORY_NEWS_SESSION).session, 2);
    end(&keeper);
    expect_rows("SELECT session || '|' || line FROM history", "2|2\n");
}

Test(history_keeper, a_lock_is_waited_for)
{
    struct history_keeper *keeper = keeper_new();
    sqlite3 *db;

    put(keeper, 1, "\"x\"");
    (void)wait_news(keeper, HISTORY_NEWS_SESSION);
    db = open_database();
    execute(db, "BEGIN EXCLUSIVE");
    put(keeper, 2, "\"y\"");
    (void)poll(NULL, 0, HISTORY_KEEPER_GATHER_MS * 2);
    execute(db, "COMMIT");
    (void)sqlite.close_v2(db);
    end(&keeper);
    expect_rows("SELECT line FROM history", "1\n2\n");
}

Test(history_keeper, a_lock_that_stays_ends_it)
{
    struct history_keeper *keeper;
    sqlite3 *db;

    cr_assert_eq(history_place_make(file), 0);
    db = open_database();
    execute(db, "BEGIN EXCLUSIVE");
    keeper = keeper_new();
    put(keeper, 1, "\"x\"");
    expect_off(keeper, "history.sqlite: database is locked");
    (void)sqlite.close_v2(db);
}

Test(history_keeper, the_kernels_end_does_not_wait_for_a_lock)
{
    struct history_keeper *keeper;
    int64_t began;
    sqlite3 *db;

    cr_assert_eq(history_place_make(file), 0);
    db = open_database();
    execute(db, "BEGIN EXCLUSIVE");
    keeper = keeper_new();
    put(keeper, 1, "\"x\"");
    began = clock_us(CLOCK_MONOTONIC);
    end(&keeper);
    cr_expect_lt(clock_us(CLOCK_MONOTONIC) - began, HISTORY_FILE_LOCKED_MS * 1000L / 2);
    (void)sqlite.close_v2(db);
}

Test(history_keeper, a_corrupt_file_ends_it_and_stays_as_it_is)
{
    char text[64] = "";
    struct history_keeper *keeper;
    FILE *stream;

    write_file("this is not a database, and it is longer than a header");
    keeper = keeper_new();
    put(keeper, 1, "\"x\"");
    expect_off(keeper, "not a database");
    stream = fopen(file, "r");
    cr_assert(stream && fgets(text, sizeof text, stream));
    (void)fclose(stream);
    cr_expect_str_eq(text, "this is not a database, and it is longer than a header");
}

Test(history_keeper, a_corrupt_file_cannot_be_asked)
{
    struct history_query query;
    struct history_keeper *keeper = keeper_new();

    write_file("this is not a database, and it is longer than a header");
    cr_assert_null(history_query_read(slice_of("{\"hist_access_type\":\"tail\"}"), &query));
    cr_assert_eq(history_keeper_ask(keeper, &query, 1), 0);
    history_query_release(&query);
    expect_off(keeper, "not a database");
}

Test(history_keeper, an_empty_file_is_filled)
{
    struct history_keeper *keeper = keeper_new();

    write_file("");
    expect_answer(keeper, "{\"hist_access_type\":\"tail\"}", "");
    put(keeper, 1, "\"x\"");
    expect_answer(keeper, "{\"hist_access_type\":\"tail\"}", "[1,1,\"x\",]");
    end(&keeper);
}

Test(history_keeper, a_table_of_another_kind_ends_it)
{
    struct history_keeper *keeper = keeper_new();
    sqlite3 *db;

    cr_assert_eq(history_place_make(file), 0);
    db = open_database();
    execute(db, "CREATE TABLE history (something)");
    (void)sqlite.close_v2(db);
    put(keeper, 1, "\"x\"");
    expect_off(keeper, "history.sqlite: table history has 1 columns");
    expect_rows("SELECT count(*) FROM sqlite_master WHERE name = 'sessions'", "0\n");
}

Test(history_keeper, a_place_that_cannot_be_made_ends_it)
{
    struct history_keeper *keeper;

    options.history_file = "/proc/self/no/history.sqlite"; /* for root, too */
    keeper = keeper_new();
    put(keeper, 1, "\"x\"");
    expect_off(keeper, "/proc/self/no/history.sqlite: ");
}

Test(history_keeper, a_directory_in_its_place_ends_it)
{
    struct history_keeper *keeper;

    cr_assert_eq(history_place_make(file), 0);
    cr_assert_eq(mkdir(file, 0700), 0);
    keeper = keeper_new();
    put(keeper, 1, "\"x\"");
    expect_off(keeper, "unable to open database file");
}

Test(history_keeper, a_full_disk_ends_it)
{
    struct history_keeper *keeper;

    options.history_file = "/dev/full";
    keeper = keeper_new();
    put(keeper, 1, "\"x\"");
    expect_off(keeper, "/dev/full: ");
}

Test(history_keeper, a_machine_without_the_library_goes_on)
{
    struct history_keeper *keeper = history_keeper_new(&options, "libsqlite3.so.none");

    put(keeper, 1, "\"x\"");
    expect_off(keeper, "libsqlite3.so.none");
    cr_expect_eq(access(file, F_OK), -1);
}

Test(history_keeper, a_library_that_is_another_is_refused)
{
    struct history_keeper *keeper = history_keeper_new(&options, "libc.so.6");

    put(keeper, 1, "\"x\"");
    expect_off(keeper, "sqlite3_open_v2");
}

/* The thread stands at a lock. */
Test(history_keeper, what_waits_for_the_disk_is_bounded)
{
    struct history_keeper *keeper;
    struct buffer large = BUFFER_INIT;
    int puts = 0, r;
    sqlite3 *db;

    cr_assert_eq(history_place_make(file), 0);
    db = open_database();
    execute(db, "BEGIN EXCLUSIVE");
    keeper = keeper_new();
    buffer_put_char(&large, '"');
    while (large.n < HISTORY_KEEPER_BYTES / 4) {
        buffer_put_char(&large, 'x');
    }
    buffer_put_char(&large, '"');
    while ((r = history_keeper_put(keeper, HISTORY_CODE, ++puts, buffer_slice(&large))) == 0) {
        cr_assert_lt(puts, 100);
    }
    cr_expect_eq(r, -EAGAIN);
    cr_expect_geq(puts, 4);
    buffer_release(&large);
    end(&keeper);
    (void)sqlite.close_v2(db);
}

Test(history_keeper, lines_that_wait_are_counted_too)
{
    struct history_keeper *keeper;
    int64_t puts = 0;
    sqlite3 *db;
    int r;

    cr_assert_eq(history_place_make(file), 0);
    db = open_database();
    execute(db, "BEGIN EXCLUSIVE");
    keeper = keeper_new();
    while ((r = history_keeper_put(keeper, HISTORY_CODE, ++puts, slice_of("\"x\""))) == 0) {
        cr_assert_lt(puts, 3 * HISTORY_KEEPER_ITEMS);
    }
    cr_expect_eq(r, -EAGAIN);
    cr_expect_gt(puts, HISTORY_KEEPER_ITEMS);
    end(&keeper);
    (void)sqlite.close_v2(db);
}

/* ---- the place ------------------------------------------------------------------------------ */

static void expect_place(const struct options *given, const char *path)
{
    char *found = history_place_path(given);

    cr_expect_str_eq(found, path, "%s", found);
    free(found);
}

Test(history_place, is_ipythons_own)
{
    (void)unsetenv("IPYTHONDIR");
    (void)setenv("HOME", "/h", 1);
    expect_place(&(struct options){0}, "/h/.ipython/profile_default/history.sqlite");
    expect_place(&(struct options){.profile = "p"}, "/h/.ipython/profile_p/history.sqlite");
    expect_place(&(struct options){.ipython_dir = "~/i", .profile = "p"},
                 "/h/i/profile_p/history.sqlite");
    expect_place(&(struct options){.profile_dir = "/d", .profile = "p"}, "/d/history.sqlite");
    expect_place(&(struct options){.history_file = "~/x", .profile_dir = "/d"}, "/h/x");
    (void)setenv("IPYTHONDIR", "/e", 1);
    expect_place(&(struct options){0}, "/e/profile_default/history.sqlite");
    expect_place(&(struct options){.ipython_dir = "/i"}, "/i/profile_default/history.sqlite");
    (void)setenv("IPYTHONDIR", "~/e", 1);
    expect_place(&(struct options){0}, "/h/e/profile_default/history.sqlite");
    (void)setenv("IPYTHONDIR", "", 1);
    expect_place(&(struct options){0}, "/h/.ipython/profile_default/history.sqlite");
}

Test(history_place, is_none_where_that_is_wanted)
{
    cr_expect(history_place_wanted(&(struct options){.history.is = true}));
    cr_expect(history_place_wanted(&(struct options){.history.is = true, .history_file = "x"}));
    cr_expect_not(
        history_place_wanted(&(struct options){.history.is = false, .history_file = "x"}));
    cr_expect_not(history_place_wanted(&(struct options){.history.is = true, .history_file = ""}));
    cr_expect_not(
        history_place_wanted(&(struct options){.history.is = true, .history_file = ":memory:"}));
}
