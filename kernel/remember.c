/*
 * Brings the session's memory and the history's file together: what goes where, and who
 * is asked. Runs in the kernel process, on the thread of the zloop. Owns the keeper, and
 * what a profile has said. Requests that wait for the keeper are in history_wait.c.
 *
 * While Python reads the user's profile, which may forbid the file, one cell can be on its
 * way, and requests: they are kept and go to the file, or not, when the place is known.
 */

#include "kernel/remember.h"

#include <ctype.h>
#include <stdlib.h>

#include "bridge/json_text.h"
#include "bridge/xalloc.h"
#include "kernel/history_keeper.h"
#include "kernel/history_place.h"
#include "kernel/history_wait.h"
#include "kernel/kernel.h"
#include "kernel/log.h"

/* ---- the thread ----------------------------------------------------------------------- */

/* For `_einkorn.history_session()`. */
static void show_session(struct kernel *kernel, int64_t session)
{
    struct link_page *page = kernel->door.memory.page;

    if (page) {
        atomic_store(&page->history_session, session);
    }
}

static void go_off(struct kernel *kernel, const char *why)
{
    log_warning("history: %s; this session's stays in memory", why);
    kernel->remember.off = true;
    show_session(kernel, kernel->remember.session);
    history_wait_give_up(kernel);
}

static int on_news(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    struct kernel *kernel = arg;
    struct history_news news;

    (void)loop;
    (void)item;
    while (history_keeper_take(kernel->remember.keeper, &news)) {
        switch (news.kind) {
        case HISTORY_NEWS_SESSION:
            kernel->remember.session = news.session;
            show_session(kernel, news.session);
            break;
        case HISTORY_NEWS_ROWS:
            history_wait_answer(kernel, news.ask, &news.rows);
            history_rows_release(&news.rows);
            break;
        case HISTORY_NEWS_OFF:
            go_off(kernel, news.text);
            free(news.text);
            break;
        }
    }
    return 0;
}

static const struct options *options_of(const struct kernel *kernel)
{
    return kernel->remember.file ? &kernel->remember.options : kernel->options;
}

/* -> whether there is a file, and a thread that sees to it. */
static bool has_keeper(struct kernel *kernel)
{
    struct remember *self = &kernel->remember;

    if (!self->keeper && !self->off && !self->held && history_place_wanted(options_of(kernel))) {
        zmq_pollitem_t item = {.events = ZMQ_POLLIN};

        self->keeper = history_keeper_new(options_of(kernel), SQLITE_LIBRARY);
        if (!self->keeper) {
            go_off(kernel, "there is no thread to be had");
            return false;
        }
        item.fd = history_keeper_fd(self->keeper);
        (void)zloop_poller(kernel->loop, &item, on_news, kernel);
        zloop_poller_set_tolerant(kernel->loop, &item);
    }
    return self->keeper && !self->off;
}

/* ---- what happens ----------------------------------------------------------------------- */

/* "exit", "quit ()": who goes through the history does not want to come across that. */
static bool is_exit(struct slice code)
{
    struct buffer text = BUFFER_INIT;
    size_t start = 0, n;
    bool is;

    if (code.n > 256) {
        return false;
    }
    json_string_decode(code, &text);
    n = text.n;
    while (n > 0 && isspace(text.p[n - 1])) {
        n--;
    }
    while (start < n && isspace(text.p[start])) {
        start++;
    }
    is = n - start >= 4 &&
         (memcmp(text.p + start, "exit", 4) == 0 || memcmp(text.p + start, "quit", 4) == 0);
    start += 4;
    while (is && start < n && isspace(text.p[start])) {
        start++;
    }
    is = is && (start == n || (text.p[start] == '(' && text.p[n - 1] == ')' &&
                               !memchr(text.p + start, '\n', n - start)));
    buffer_release(&text);
    return is;
}

static void note_put(struct kernel *kernel, int r)
{
    if (r == -EAGAIN && !kernel->remember.told_full) {
        kernel->remember.told_full = true;
        log_warning("history: the disk is too slow, or a cell too large: what is left out stays in "
                    "memory");
    }
}

static void put_cell(struct kernel *kernel, uint32_t line, struct slice code)
{
    int r = history_keeper_put(kernel->remember.keeper, HISTORY_CODE, line, code);

    if (r == 0 && kernel->remember.session == 0) {
        show_session(kernel, LINK_SESSION_COMES);
    }
    note_put(kernel, r);
}

void remember_cell(struct kernel *kernel, uint32_t line, struct slice code)
{
    if (is_exit(code)) {
        return;
    }
    history_add(&kernel->history, line, code);
    if (kernel->remember.held) {
        kernel->remember.held_line = line;
        show_session(kernel, LINK_SESSION_COMES);
    } else if (has_keeper(kernel)) {
        put_cell(kernel, line, code);
    }
}

void remember_source(struct kernel *kernel, uint32_t line, struct slice text)
{
    struct buffer raw = BUFFER_INIT;

    json_put_string(&raw, text);
    if (history_set_source(&kernel->history, line, buffer_slice(&raw)) && has_keeper(kernel)) {
        note_put(kernel, history_keeper_put(kernel->remember.keeper, HISTORY_SOURCE, line,
                                            buffer_slice(&raw)));
    }
    buffer_release(&raw);
}

void remember_result(struct kernel *kernel, uint32_t line, struct slice text)
{
    history_set_output(&kernel->history, line, text);
    if (options_of(kernel)->history_output.is && has_keeper(kernel)) {
        note_put(kernel, history_keeper_put(kernel->remember.keeper, HISTORY_OUTPUT, line, text));
    }
}

/* Memory knows it all: the file need not be asked. */
static bool is_enough(const struct kernel *kernel, const struct history_query *query)
{
    const struct remember *self = &kernel->remember;

    return history_query_is_range_of(query, self->session) ||
           (query->access == HISTORY_TAIL && self->session != 0 && query->n >= 0 &&
            (uint64_t)query->n <= kernel->history.count);
}

/* -> whether an answer will come: from the file, or when it is known where that is. */
static bool may_ask(struct kernel *kernel, const struct history_query *query, uint64_t ask)
{
    const struct remember *self = &kernel->remember;
    bool starts = kernel->worker == WORKER_STARTING && !self->keeper;

    return self->held || (starts && history_place_wanted(kernel->options)) ||
           (has_keeper(kernel) && history_keeper_ask(self->keeper, query, ask) == 0);
}

/* It is known where the file is: what waits for that is asked now. */
static void ask_all(struct kernel *kernel)
{
    struct remember *self = &kernel->remember;

    if (self->waits && has_keeper(kernel)) {
        for (struct history_wait *wait = self->waits; wait; wait = wait->next) {
            (void)history_keeper_ask(self->keeper, &wait->query, wait->ask);
        }
    } else {
        history_wait_give_up(kernel);
    }
}

static char *copy_of(struct slice text)
{
    char *copy = xcalloc(text.n + 1, 1);

    memcpy(copy, text.p, text.n);
    return copy;
}

void remember_hold(struct kernel *kernel)
{
    struct remember *self = &kernel->remember;

    self->held = !self->keeper && !self->off && history_place_wanted(kernel->options);
}

void remember_place(struct kernel *kernel, struct slice file, bool outputs)
{
    struct remember *self = &kernel->remember;
    const struct job *job = kernel->lane.current;

    if (!self->held) {
        return;
    }
    self->held = false;
    free(self->file);
    self->file = copy_of(file);
    self->options = *kernel->options;
    self->options.history_file = self->file;
    self->options.history_output.is = kernel->options->history_output.is || outputs;
    show_session(kernel, 0);
    if (job && job->count == self->held_line && has_keeper(kernel)) {
        put_cell(kernel, job->count, job->code);
    }
    ask_all(kernel);
}

void remember_ready(struct kernel *kernel)
{
    if (!kernel->remember.held && !kernel->remember.keeper) {
        ask_all(kernel);
    }
}

void remember_answer(struct kernel *kernel, struct origin *origin, struct history_query *query)
{
    struct remember *self = &kernel->remember;

    if (is_enough(kernel, query) || !may_ask(kernel, query, ++self->asks)) {
        history_answer_at_once(kernel, origin, query);
        history_query_release(query);
        return;
    }
    history_wait_add(kernel, origin, query, self->asks,
                     self->keeper ? REMEMBER_ANSWER_MS : REMEMBER_PLACE_MS);
}

void remember_forget(struct kernel *kernel)
{
    struct remember *self = &kernel->remember;

    history_release(&kernel->history);
    if (self->keeper) {
        (void)history_keeper_put_end(self->keeper);
    }
    self->session = 0;
    self->held = false;
    self->held_line = 0;
}

void remember_release(struct kernel *kernel)
{
    history_wait_give_up(kernel);
    if (!history_keeper_destroy(&kernel->remember.keeper, REMEMBER_END_MS)) {
        log_warning("history: the disk does not answer, the last lines are lost");
    } else {
        free(kernel->remember.file); /* else a thread may still look at it */
        kernel->remember.file = NULL;
    }
    history_release(&kernel->history);
}
