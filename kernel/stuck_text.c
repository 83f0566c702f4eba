/*
 * The notice that a cell gets when Python does not react. Runs in the kernel
 * process. Apart from stuck.c because it is words only: what is known comes in,
 * text comes out.
 *
 * Who reads it wants to know three things: that the stop was heard, where the
 * program hangs, and what can be done. The stack of the thread that took the
 * signal, which is the cell's, comes first; faulthandler writes it last.
 */

#include "kernel/stuck_text.h"

#include "kernel/stack_text.h"

static void put_call(const struct process_facts *facts, struct buffer *text)
{
    buffer_printf(text, "waits in the system call %s", facts->call);
    if (facts->file[0] != '\0') {
        buffer_printf(text, " of %s", facts->file);
    }
}

static void put_child(const struct process_facts *facts, struct buffer *text)
{
    buffer_printf(text, "waits for the child process %d", (int)facts->child);
    if (facts->child_name[0] != '\0') {
        buffer_printf(text, " (%s)", facts->child_name);
    }
}

/* What its main thread does, as the end of "Python …". */
static void put_activity(const struct process_facts *facts, struct buffer *text)
{
    if (facts->state == 'T' || facts->state == 't') {
        buffer_put_text(text, "is stopped by a signal or a debugger");
    } else if (facts->child != 0) {
        put_child(facts, text);
    } else if (facts->call) {
        put_call(facts, text);
    } else if (facts->state == 'R') {
        buffer_put_text(text, "runs code that is not Python's own");
    } else if (facts->state == 0) {
        buffer_put_text(text, "runs, and the system does not tell what it does");
    } else {
        buffer_put_text(text, "waits in the system");
    }
    if (facts->wait_channel[0] != '\0') {
        buffer_printf(text, " (at %s)", facts->wait_channel);
    }
    if (facts->state == 'D') {
        buffer_put_text(text, ", which nothing can interrupt");
    }
}

static void drop_our_frame(struct buffer *text)
{
    const uint8_t *end = text->n > 0 ? memrchr(text->p, '\n', text->n) : NULL;
    size_t before = end ? (size_t)(end - text->p) : 0;

    if (end && stack_text_is_ours((struct slice){end + 1, text->n - before - 1})) {
        text->n = before;
    }
}

static void drop_line_ends(struct buffer *text)
{
    while (text->n > 0 && text->p[text->n - 1] == '\n') {
        text->n--;
    }
}

/* The thread that took the signal, then the others; cut where it gets long. */
static void put_stacks(struct slice stacks, struct buffer *text)
{
    static const char current[] = "Current thread ";
    const uint8_t *at =
        stacks.n > 0 ? memmem(stacks.p, stacks.n, current, sizeof current - 1) : NULL;
    size_t before = at ? (size_t)(at - stacks.p) : 0;
    struct buffer all = BUFFER_INIT;
    size_t shown;

    buffer_put(&all, stacks.p + before, stacks.n - before);
    drop_line_ends(&all);
    drop_our_frame(&all);
    if (before > 0) {
        buffer_put_text(&all, "\n\n");
        buffer_put(&all, stacks.p, before);
        drop_line_ends(&all);
    }
    shown = all.n;
    if (shown > STUCK_STACKS_SHOWN) {
        const uint8_t *end = memrchr(all.p, '\n', STUCK_STACKS_SHOWN);

        shown = end ? (size_t)(end - all.p) : STUCK_STACKS_SHOWN;
    }
    buffer_put(text, all.p, shown);
    buffer_put_text(text, shown < all.n ? "\n  ...\n" : "\n");
    buffer_release(&all);
}

void stuck_text(long long waited_ms, const struct process_facts *facts, int64_t cpu_ms,
                struct slice stacks, struct buffer *ret_text)
{
    buffer_printf(ret_text, "Python has not reacted to the interrupt for %lld s: it ",
                  (waited_ms + 500) / 1000);
    put_activity(facts, ret_text);
    if (cpu_ms >= 0) {
        buffer_printf(ret_text, ", and has used %.1f s of CPU time since", (double)cpu_ms / 1000);
    }
    buffer_put_text(ret_text, ".\nIt goes on when that returns; to stop it now, restart the "
                              "kernel. A further interrupt shows this anew.\n");
    if (stacks.n > 0) {
        buffer_put_text(ret_text, "\n");
        put_stacks(stacks, ret_text);
    } else {
        buffer_put_text(ret_text, "Its Python stacks could not be had: it takes no signals.\n");
    }
}
