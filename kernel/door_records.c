/*
 * What each record of the worker's does. Runs in the kernel process, on the thread
 * of the zloop. Owns nothing.
 *
 * The worker runs user code, so a record is not trusted: what is missing in it, or has
 * another size than it must, is LINK_ECORRUPT, and the worker is ended. Bytes that go to
 * clients as JSON are checked where we build on their form (on_done, note).
 */

#include "kernel/door_records.h"

#include <stdio.h>
#include <string.h>

#include "bridge/clock.h"
#include "bridge/json_text.h"
#include "kernel/control.h"
#include "kernel/early_text.h"
#include "kernel/kernel.h"
#include "kernel/log.h"
#include "kernel/lookup.h"
#include "kernel/worker_death.h"

enum {
    REPLY_DEPTH_MAX = 256, /* nesting of a reply that Python made */
    NOTED_MAX = 1 << 20,   /* bytes of a message that is looked into on its way */
};

/* ---- each kind; -> 0, or LINK_ECORRUPT ------------------------------------- */

static int on_ready(struct kernel *kernel, const struct link_item *item,
                    const struct link_parts *parts)
{
    (void)item;
    if (parts->count < 1) {
        return LINK_ECORRUPT;
    }
    (void)snprintf(kernel->python_version, sizeof kernel->python_version, "%.*s",
                   (int)parts->part[0].n, (const char *)parts->part[0].p);
    control_tell(kernel->control, &kernel->session, kernel->python_version);
    kernel->worker = WORKER_READY;
    if (kernel->died_us != 0) {
        log_info("Python is in place again, %.1f ms after its end",
                 (double)(clock_us(CLOCK_MONOTONIC) - kernel->died_us) / 1000);
    }
    remember_ready(kernel);
    if (kernel->start_text.n > 0) {
        log_warning("Python wrote while it started: %.*s", (int)kernel->start_text.n,
                    (const char *)kernel->start_text.p);
        buffer_release(&kernel->start_text);
    }
    lane_run(kernel);
    return 0;
}

static int on_stream(struct kernel *kernel, const struct link_item *item,
                     const struct link_parts *parts)
{
    struct origin *origin = lane_origin(kernel, item->request);
    int stream = item->is_stderr ? 1 : 0;

    (void)parts;
    if (item->from_pipe && item->is_stderr) {
        worker_death_note_fd2(kernel, item->payload);
    }
    if (item->from_pipe && kernel->worker == WORKER_STARTING) {
        if (kernel->start_text.n + item->payload.n <= DOOR_START_TEXT_MAX) {
            buffer_put_slice(&kernel->start_text, item->payload);
        }
    } else if (!origin) {
        early_text_log(&kernel->early_text, item->payload);
    } else if (item->from_pipe) {
        output_pipe(&kernel->output, origin, stream, item->payload);
    } else {
        output_text(&kernel->output, origin, stream, item->payload);
    }
    return 0;
}

/* What Python publishes and the kernel answers questions about: comms, results of cells. */
static void note(struct kernel *kernel, uint64_t request, struct slice type, struct slice content)
{
    const struct job *job = kernel->lane.current;
    bool is_result = slice_is(type, "execute_result");
    struct slice data, text;
    enum json_kind kind;

    if ((!is_result && !slice_is(type, "comm_open") && !slice_is(type, "comm_close")) ||
        content.n > NOTED_MAX || json_check(content, REPLY_DEPTH_MAX, &kind) < 0 ||
        kind != JSON_OBJECT) {
        return;
    }
    if (!is_result) {
        comms_note(&kernel->comms, type, content);
    } else if (job && job->origin->number == request && job->store_history &&
               json_object_get_kind(content, "data", JSON_OBJECT, &data) == 0 &&
               json_object_get_kind(data, "text/plain", JSON_STRING, &text) == 0) {
        remember_result(kernel, job->count, text);
    }
}

static int on_publish(struct kernel *kernel, const struct link_item *item,
                      const struct link_parts *parts)
{
    char type[128];

    if (parts->count < 3 || parts->part[0].n >= sizeof type) {
        return LINK_ECORRUPT;
    }
    (void)snprintf(type, sizeof type, "%.*s", (int)parts->part[0].n,
                   (const char *)parts->part[0].p);
    output_flush(&kernel->output);
    note(kernel, item->request, parts->part[0], parts->part[2]);
    iopub_publish_parts(&kernel->iopub, type, lane_origin(kernel, item->request), parts->part[1],
                        parts->part[2], parts->part + 3, parts->count - 3, item->mapping);
    return 0;
}

static int on_ask(struct kernel *kernel, const struct link_item *item,
                  const struct link_parts *parts)
{
    struct origin *origin = lane_origin(kernel, item->request);
    uint64_t serial;

    if (parts->count < 2 || parts->part[0].n != sizeof serial || !origin) {
        return LINK_ECORRUPT;
    }
    memcpy(&serial, parts->part[0].p, sizeof serial);
    output_flush(&kernel->output);
    input_ask(kernel, origin, serial, parts->part[1]);
    return 0;
}

static int on_lookup(struct kernel *kernel, const struct link_item *item,
                     const struct link_parts *parts)
{
    uint64_t serial;

    (void)item;
    if (parts->count < 3 || parts->part[0].n != sizeof serial) {
        return LINK_ECORRUPT;
    }
    memcpy(&serial, parts->part[0].p, sizeof serial);
    lookup_answer(kernel, serial, parts->part[1], parts->part[2]);
    return 0;
}

static int on_done(struct kernel *kernel, const struct link_item *item,
                   const struct link_parts *parts)
{
    for (size_t i = 0; i < 2 && i < parts->count; i++) {
        enum json_kind kind;

        if (json_check(parts->part[i], REPLY_DEPTH_MAX, &kind) < 0 || kind != JSON_OBJECT) {
            return LINK_ECORRUPT;
        }
    }
    /* Its first member follows the brace at once: another is put before it. */
    if (parts->count < 3 || parts->part[0].n <= 2 || memcmp(parts->part[0].p, "{\"", 2) != 0) {
        return LINK_ECORRUPT;
    }
    lane_done(kernel, item->request, parts->part[0], parts->part[1], parts->part[2]);
    kernel->door_quiet = lane_running(&kernel->lane) == 0;
    return 0;
}

static int on_begin(struct kernel *kernel, const struct link_item *item,
                    const struct link_parts *parts)
{
    (void)parts;
    lane_begin(kernel, item->request);
    return 0;
}

static int on_history(struct kernel *kernel, const struct link_item *item,
                      const struct link_parts *parts)
{
    const struct job *job = kernel->lane.current;
    const struct slice *part = parts->part;

    if (parts->count == 1 && slice_is(part[0], "hold")) {
        remember_hold(kernel);
    } else if (parts->count == 3 && slice_is(part[0], "place")) {
        remember_place(kernel, part[1], slice_is(part[2], "outputs"));
    } else if (parts->count != 2 || !slice_is(part[0], "source")) {
        return LINK_ECORRUPT;
    } else if (job && job->origin->number == item->request && job->store_history) {
        remember_source(kernel, job->count, part[1]);
    }
    return 0;
}

static int (*const on_record[LINK_KIND_END])(struct kernel *, const struct link_item *,
                                             const struct link_parts *) = {
    [LINK_READY] = on_ready, [LINK_STREAM] = on_stream,   [LINK_PUBLISH] = on_publish,
    [LINK_ASK] = on_ask,     [LINK_DONE] = on_done,       [LINK_LOOKUP] = on_lookup,
    [LINK_BEGIN] = on_begin, [LINK_HISTORY] = on_history,
};

int door_handle(struct kernel *kernel, const struct link_item *item)
{
    struct link_parts parts; /* large, and floods of text have none: not zeroed */

    parts.count = 0;
    kernel->door_quiet = false;
    if (item->kind != LINK_STREAM && link_parts_read(item->payload, &parts) < 0) {
        return LINK_ECORRUPT;
    }
    return on_record[item->kind](kernel, item, &parts);
}
