/*
 * Fuzz target: messages that are correctly signed and otherwise anything, and a
 * worker that answers with anything.
 *
 * The first byte says how the worker begins. The others are steps. Each begins with a byte that
 * says who acts (its two low bits) and how; a text of the input is its length in two bytes, low
 * byte first, and so many bytes. Whatever comes: nothing that the client is told is broken, every
 * request of a known kind gets one busy, one idle and its one reply.
 */

#include "fuzz_kernel.h"

#include <stdint.h>
#include <unistd.h>

#include "kernel/requests/requests.h"
#include "tests/fuzz/fuzz_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum actor {
    CLIENT,      /* a message of a type that is known, counted */
    CLIENT_RAW,  /* four parts of the input, whatever they are */
    WORKER_DONE, /* answers the request that runs */
    WORKER,      /* says something else */
};

enum {
    ACTOR = 3,
    CHANNEL_SHIFT = 2, /* CLIENT, CLIENT_RAW: two bits: which socket */
    WITH_PARENT = 1 << 4,
    WITH_METADATA = 1 << 5,
    WITH_BUFFER = 1 << 6,
    WITH_DATE = 1 << 7,
    WITH_CONTENT = 1 << 4, /* WORKER_DONE: of the input */
    OPEN_COMMS = 3 << 4,   /* WORKER: begins the comm messages that it has, and ends none */
    STEPS_MAX = 32,
    PIPED_MAX = 4096, /* bytes of a write to a pipe: never too many for it */
};

static const char *const types[] = {
    "execute_request",
    "kernel_info_request",
    "interrupt_request",
    "shutdown_request",
    "connect_request",
    "complete_request",
    "inspect_request",
    "history_request",
    "is_complete_request",
    "comm_info_request",
    "debug_request",
    "usage_request",
    "list_subshell_request",
    "create_subshell_request",
    "delete_subshell_request",
    "comm_open",
    "comm_msg",
    "comm_close",
    "input_reply",
    "frobnicate_request",
};
enum { TYPES = sizeof types / sizeof types[0] };

static enum channel channel_of(uint8_t step)
{
    static const enum channel channels[] = {CHANNEL_SHELL, CHANNEL_CONTROL, CHANNEL_STDIN,
                                            CHANNEL_SHELL};
    return channels[(step >> CHANNEL_SHIFT) & 3];
}

static void put_header(struct subject *subject, uint8_t step, const char *type, struct slice *input,
                       struct buffer *header)
{
    buffer_printf(header, "{\"msg_id\":\"fuzz-%zu\",\"msg_type\":\"%s\",\"session\":\"s\"",
                  subject->count, type);
    if ((step & WITH_DATE) != 0) {
        buffer_put_text(header, ",\"date\":");
        json_put_string(header, take_text(input));
    }
    buffer_put_char(header, '}');
}

static void send_known(struct subject *subject, uint8_t step, struct slice *input)
{
    struct slice part[5] = {{NULL, 0}, slice_of("{}"), slice_of("{}"), {NULL, 0}, {NULL, 0}};
    const char *type = types[take_byte(input) % TYPES];
    enum channel channel = channel_of(step);
    struct buffer header = BUFFER_INIT;
    put_header(subject, step, type, input, &header);
    part[0] = buffer_slice(&header);
    if ((step & WITH_PARENT) != 0) {
        part[1] = take_text(input);
    }
    if ((step & WITH_METADATA) != 0) {
        part[2] = take_text(input);
    }
    part[3] = take_text(input);
    if ((step & WITH_BUFFER) != 0) {
        part[4] = take_text(input);
    }
    subject_send(subject, channel, part, (step & WITH_BUFFER) != 0 ? 5 : 4);
    const struct request_type *known = request_type_find(slice_of(type));
    bool is_request = channel != CHANNEL_STDIN;
    subject->asked[subject->count++] = (struct asked){
        .is_request = is_request,
        .replies_due = is_request && known != NULL && known->replies ? 1 : 0,
    };
    buffer_release(&header);
}

static void send_raw(struct subject *subject, uint8_t step, struct slice *input)
{
    struct slice part[4];
    for (int i = 0; i < 4; i++) {
        part[i] = take_text(input);
    }
    /* In no other's name: those are counted, and the ids of turns are waited for. */
    if (memmem(part[0].p, part[0].n, "fuzz-", 5) == NULL &&
        memmem(part[0].p, part[0].n, "\\u", 2) == NULL) {
        subject_send(subject, channel_of(step), part, 4);
    }
}

static void say_done(struct subject *subject, uint64_t number)
{
    const struct slice part[] = {slice_of("{\"status\":\"ok\"}"), slice_of("{}"), slice_of("ok")};
    subject_say(subject, LINK_DONE, number, part, 3);
}

/* Takes the comm messages that came up, those that went ahead within what runs; or leaves them
 * open. */
static void take_comms(struct subject *subject, bool finish)
{
    struct link_request *request;
    while (link_reader_poll(&subject->reader, LINK_COMM, 0, &request) == 0) {
        uint64_t number = request->number;
        link_request_destroy(&request);
        subject_say(subject, LINK_BEGIN, number, NULL, 0);
        if (finish && number != lane_running(&subject->kernel->lane)) {
            say_done(subject, number);
        }
    }
}

/* -> whether a request was running. */
static bool answer(struct subject *subject, struct slice content, const char *status)
{
    struct link_request *request;
    uint64_t number = lane_running(&subject->kernel->lane);
    if (number == 0) {
        return false;
    }
    while (link_reader_poll(&subject->reader, LINK_SHELL, 0, &request) == 0) {
        link_request_destroy(&request);
    }
    take_comms(subject, true);
    const struct slice part[] = {content, slice_of("{}"), slice_of(status)};
    subject_say(subject, LINK_DONE, number, part, 3);
    return true;
}

static void answer_of_input(struct subject *subject, uint8_t step, struct slice *input)
{
    static const char *const status[] = {"ok", "error", "ok", "exit"};
    struct slice content = slice_of("{\"status\":\"ok\"}");
    if ((step & WITH_CONTENT) != 0) {
        content = take_text(input);
        subject->wild = true;
    }
    (void)answer(subject, content, status[(step >> CHANNEL_SHIFT) & 3]);
}

static void speak(struct subject *subject, uint8_t step, struct slice *input)
{
    static const char *const published[] = {"execute_result", "comm_open", "comm_close",
                                            "display_data"};
    uint64_t number = lane_running(&subject->kernel->lane);
    uint64_t serial = (step >> 6) != 0 ? ++subject->asks : subject->asks;
    struct slice text = take_text(input);
    if (number == 0 || subject->kernel->worker != WORKER_READY) {
        return;
    }
    if ((step & OPEN_COMMS) == OPEN_COMMS) {
        take_comms(subject, false);
        return;
    }
    subject->wild = true;
    if ((step & (1 << 4)) != 0) {
        const struct slice part[] = {{(const uint8_t *)&serial, sizeof serial}, text};
        subject_say(subject, LINK_ASK, number, part, 2);
    } else if ((step & (1 << 5)) != 0) {
        CHECK(link_producer_write(&subject->worker, LINK_STREAM, number, &text, 1, NULL) == 0);
        (void)!write(subject->stdio[step >> 7], text.p, text.n < PIPED_MAX ? text.n : PIPED_MAX);
        subject_hear_worker(subject);
    } else {
        const struct slice part[] = {slice_of(published[(step >> CHANNEL_SHIFT) & 3]),
                                     slice_of("{}"), text};
        subject_say(subject, LINK_PUBLISH, number, part, 3);
    }
}

static void take_step(struct subject *subject, struct slice *input)
{
    uint8_t step = take_byte(input);
    switch ((enum actor)(step & ACTOR)) {
    case CLIENT:
        send_known(subject, step, input);
        subject_turn(subject);
        break;
    case CLIENT_RAW:
        send_raw(subject, step, input);
        subject_turn(subject);
        break;
    case WORKER_DONE:
        answer_of_input(subject, step, input);
        break;
    case WORKER:
        speak(subject, step, input);
        break;
    }
}

/*
 * All that still waits is answered; then the accounts must be even, unless the
 * kernel is at its end already: that comes by time, and takes what is under way.
 */
static void settle(struct subject *subject)
{
    struct kernel *kernel = subject->kernel;
    if (kernel->worker == WORKER_STARTING) {
        subject_say_ready(subject);
    }
    while (!kernel->door_corrupt && kernel->lane.ahead.first != NULL) {
        say_done(subject, kernel->lane.ahead.first->origin->number);
    }
    while (!kernel->door_corrupt && answer(subject, slice_of("{\"status\":\"ok\"}"), "ok")) {
    }
    shutdown_answer(kernel); /* by a timer, when the cell has ended */
    subject_turn(subject);
    for (size_t i = 0; i < subject->count && !kernel->door_corrupt && !kernel->finished; i++) {
        const struct asked *asked = &subject->asked[i];
        CHECK(asked->replies == asked->replies_due);
        CHECK(asked->busy == (asked->is_request ? 1 : 0) && asked->idle == asked->busy);
    }
}

static struct subject kept; /* from run to run */

/* CZMQ complains of sockets that are left. */
static void release(void)
{
    subject_release(&kept);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct slice input = {data, n};
    if (kept.kernel == NULL) {
        (void)zsys_handler_set(NULL);
        log_init(-1, LEVEL_ERROR);
        subject_begin(&kept);
        (void)atexit(release);
    }
    subject_begin(&kept);
    switch (take_byte(&input) & 3) {
    case 0:
        break; /* it becomes ready at the end */
    case 1:
        subject_break(&kept);
        break;
    default:
        subject_say_ready(&kept);
    }
    for (int i = 0; i < STEPS_MAX && input.n > 0; i++) {
        take_step(&kept, &input);
    }
    settle(&kept);
    return 0;
}
