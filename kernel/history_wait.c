/*
 * Answers to history_requests, and those requests that wait for the file. Runs in the kernel
 * process, on the thread of the zloop. Owns the requests that wait.
 *
 * What the file cannot tell, memory does: the results of this session, which the file
 * has only if the user wants that, and all of it where there is no file, or a slow one.
 */

#include "kernel/history_wait.h"

#include <stdlib.h>

#include "bridge/xalloc.h"
#include "kernel/history_keeper.h"
#include "kernel/kernel.h"
#include "kernel/log.h"
#include "kernel/reply.h"

/* ---- answers ----------------------------------------------------------------------- */

static void send_answer(struct kernel *kernel, const struct origin *origin, struct buffer *content)
{
    buffer_put_char(content, '}');
    reply_send(kernel, origin, slice_of("{}"), buffer_slice(content));
    iopub_status(&kernel->iopub, origin, "idle");
}

void history_answer_at_once(struct kernel *kernel, const struct origin *origin,
                            const struct history_query *query)
{
    struct buffer content = BUFFER_INIT;

    buffer_put_text(&content, "{\"status\":\"ok\",");
    history_answer(&kernel->history, query, kernel->remember.session, &content);
    send_answer(kernel, origin, &content);
    buffer_release(&content);
}

static void answer_from_file(struct kernel *kernel, const struct history_wait *wait,
                             const struct history_rows *rows)
{
    bool with_output = wait->query.with_output;
    struct buffer content = BUFFER_INIT;

    buffer_put_text(&content, "{\"status\":\"ok\",\"history\":[");
    for (size_t i = 0; i < rows->count; i++) {
        const struct history_row *row = &rows->row[i];
        struct slice input = {rows->text.p + row->input_at, row->input_n};
        struct slice output = {rows->text.p + row->output_at, row->output_n};

        if (with_output && output.n == 0 && row->session == kernel->remember.session) {
            output = history_output(&kernel->history, (uint32_t)row->line);
        }
        buffer_put_text(&content, i > 0 ? "," : "");
        history_put_row(&content, row->session, row->line, input, with_output, output);
    }
    buffer_put_char(&content, ']');
    send_answer(kernel, wait->origin, &content);
    buffer_release(&content);
}

/* ---- requests that wait --------------------------------------------------------------- */

static void end_wait(struct history_wait **at)
{
    struct history_wait *wait = *at;

    *at = wait->next;
    if (wait->kernel->loop) { /* it is over before we are released */
        (void)zloop_timer_end(wait->kernel->loop, wait->timer);
    }
    history_query_release(&wait->query);
    origin_unref(&wait->origin);
    free(wait);
}

void history_wait_give_up(struct kernel *kernel)
{
    while (kernel->remember.waits) {
        struct history_wait *wait = kernel->remember.waits;

        history_answer_at_once(kernel, wait->origin, &wait->query);
        end_wait(&kernel->remember.waits);
    }
}

static int on_late(zloop_t *loop, int timer, void *arg)
{
    struct history_wait *late = arg, **at = &late->kernel->remember.waits;
    struct kernel *kernel = late->kernel;

    (void)loop;
    (void)timer;
    while (*at != late) {
        at = &(*at)->next;
    }
    log_warning("history: the file does not answer; this session's lines are all that is told");
    history_answer_at_once(kernel, late->origin, &late->query);
    end_wait(at);
    return 0;
}

void history_wait_add(struct kernel *kernel, struct origin *origin, struct history_query *query,
                      uint64_t ask, size_t patience_ms)
{
    struct history_wait *wait = xcalloc(1, sizeof *wait), **last = &kernel->remember.waits;

    wait->kernel = kernel;
    wait->origin = origin_ref(origin);
    wait->query = *query;
    wait->ask = ask;
    wait->timer = zloop_timer(kernel->loop, patience_ms, 1, on_late, wait);
    while (*last) {
        last = &(*last)->next;
    }
    *last = wait;
}

void history_wait_answer(struct kernel *kernel, uint64_t ask, const struct history_rows *rows)
{
    struct history_wait **at = &kernel->remember.waits;

    while (*at && (*at)->ask != ask) {
        at = &(*at)->next;
    }
    if (!*at) {
        return; /* it was answered from memory */
    }
    if (history_query_is_range_of(&(*at)->query, kernel->remember.session)) {
        history_answer_at_once(kernel, (*at)->origin, &(*at)->query);
    } else {
        answer_from_file(kernel, *at, rows);
    }
    end_wait(at);
}
