/*
 * The worker's settings: see worker_settings.h. Runs in the kernel process, before
 * ZeroMQ is there; owns nothing.
 */

#include "kernel/worker_settings.h"

#include <stdlib.h>
#include <string.h>

#include "bridge/buffer.h"
#include "kernel/history_place.h"

static void put(struct buffer *text, const char *name, const char *value)
{
    if (value && !strchr(value, '\n')) {
        buffer_put_text(text, name);
        buffer_put_char(text, '=');
        buffer_put_text(text, value);
        buffer_put_char(text, '\n');
    }
}

/* One word of two: "--Trait.name" and its value. */
static void put_trait(struct buffer *text, const char *name, const char *value)
{
    struct buffer whole = BUFFER_INIT;

    buffer_put_text(&whole, name);
    if (value) {
        buffer_put_char(&whole, '=');
        buffer_put_text(&whole, value);
    }
    buffer_put_char(&whole, '\0');
    put(text, "trait", (const char *)whole.p);
    buffer_release(&whole);
}

/* IPython gets it too, for its rule that an argument goes before the profile. */
static void put_truth(struct buffer *text, const char *name, struct option_truth truth)
{
    if (truth.said) {
        put_trait(text, name, truth.is ? "True" : "False");
    }
}

char *worker_settings(const struct options *options)
{
    char *history = history_place_wanted(options) ? history_place_path(options) : NULL;
    struct buffer text = BUFFER_INIT;
    size_t i;

    put(&text, "shell", options->shell);
    put(&text, "ipykernel", options->no_ipykernel_shim ? "no" : "yes");
    put(&text, "facts", options->facts ? "yes" : NULL);
    put(&text, "connection_file", options->connection_file);
    put(&text, "history", history);
    put(&text, "history_chosen", options->history_file ? "yes" : NULL);
    put_truth(&text, "--HistoryManager.enabled", options->history);
    put_truth(&text, "--HistoryManager.db_log_output", options->history_output);
    put(&text, "ipython_dir", options->ipython_dir);
    put(&text, "profile", options->profile);
    put(&text, "profile_dir", options->profile_dir);
    for (i = 0; i < options->ignored_count && i < OPTIONS_IGNORED_MAX; i++) {
        put_trait(&text, options->ignored[i], options->ignored_value[i]);
    }
    buffer_put_char(&text, '\0');
    free(history);
    return (char *)text.p;
}
