/*
 * The history's thread and its two queues. Runs in the kernel process: the public
 * functions on the thread of the zloop, the rest on a thread of its own. Owns the
 * queues and the file.
 *
 * A disk may take minutes (NFS), or another process may hold the lock. So the lock
 * here is held for a few instructions, never over a call of SQLite, and the queue of
 * what waits has a bound. When something fails, the file is given up for good: a
 * session whose history is half in the file would help nobody.
 */

#include "kernel/history_keeper.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "bridge/clock.h"
#include "bridge/xalloc.h"
#include "kernel/history_place.h"
#include "kernel/options.h"
#include "kernel/quiet_thread.h"

enum { BATCH = 256 }; /* lines of one transaction */

enum item_kind { ITEM_LINE, ITEM_END, ITEM_ASK };

struct item {
    struct item *next;
    enum item_kind kind;
    int64_t put_ms;         /* CLOCK_MONOTONIC */
    enum history_kind what; /* ITEM_LINE, as the next two */
    int64_t line;
    struct buffer text;         /* a raw JSON string */
    struct history_query query; /* ITEM_ASK */
    uint64_t ask;
};

struct news {
    struct news *next;
    uint64_t ended; /* sessions that were over by then */
    struct history_news news;
};

struct history_keeper {
    pthread_t thread;
    const struct options *options;
    const char *library;
    int fd;
    uint64_t ends;      /* the zloop's: sessions that were ended */
    _Atomic bool hurry; /* the zloop's: it waits for our end */

    pthread_mutex_t lock; /* of all up to the next blank line */
    pthread_cond_t changed;
    struct item *first, **last;
    size_t items, bytes;
    size_t urgent; /* items that are not put off */
    bool stopping;
    bool off;      /* the file is given up */
    bool has_file; /* there is a session in the file */
    struct news *first_news, **last_news;

    char *path;     /* the thread's, as the next ones */
    uint64_t ended; /* sessions that were ended in the file */
    struct history_file file;
};

static int64_t now_ms(void)
{
    return clock_us(CLOCK_MONOTONIC) / 1000;
}

static struct timespec timespec_of(int64_t ms)
{
    return (struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
}

static void free_items(struct item *first)
{
    while (first) {
        struct item *next = first->next;

        buffer_release(&first->text);
        history_query_release(&first->query);
        free(first);
        first = next;
    }
}

/* ---- news: from the thread to the zloop ---------------------------------------------- */

static void tell(struct history_keeper *self, const struct history_news *told)
{
    struct news *news = xcalloc(1, sizeof *news);
    uint64_t one = 1;
    ssize_t written;

    news->news = *told;
    news->ended = self->ended;
    (void)pthread_mutex_lock(&self->lock);
    *self->last_news = news;
    self->last_news = &news->next;
    (void)pthread_mutex_unlock(&self->lock);
    written = write(self->fd, &one, sizeof one);
    (void)written; /* an eventfd that is full is readable */
}

static struct news *take_first(struct history_keeper *self)
{
    struct news *news;
    uint64_t count;
    ssize_t got = read(self->fd, &count, sizeof count);

    (void)got; /* nothing more, if there were several at once */
    (void)pthread_mutex_lock(&self->lock);
    news = self->first_news;
    if (news) {
        self->first_news = news->next;
        self->last_news = news->next ? self->last_news : &self->first_news;
    }
    (void)pthread_mutex_unlock(&self->lock);
    return news;
}

bool history_keeper_take(struct history_keeper *self, struct history_news *ret_news)
{
    struct news *news;

    while ((news = take_first(self)) != NULL) {
        bool is_past = news->news.kind == HISTORY_NEWS_SESSION && news->ended != self->ends;

        *ret_news = news->news;
        free(news);
        if (!is_past) {
            return true;
        }
    }
    return false;
}

int history_keeper_fd(const struct history_keeper *self)
{
    return self->fd;
}

/* ---- the thread ------------------------------------------------------------------------ */

static void give_up(struct history_keeper *self)
{
    struct history_news news = {.kind = HISTORY_NEWS_OFF};
    struct buffer text = BUFFER_INIT;
    struct item *dropped;
    size_t n;

    if (self->path) {
        buffer_printf(&text, "%s: %s", self->path, self->file.error);
    } else {
        buffer_put_text(&text, "no home directory is known");
    }
    buffer_put_char(&text, '\0');
    news.text = (char *)buffer_detach(&text, &n);
    (void)pthread_mutex_lock(&self->lock);
    self->off = true;
    dropped = self->first;
    self->first = NULL;
    self->last = &self->first;
    self->items = self->bytes = self->urgent = 0;
    (void)pthread_mutex_unlock(&self->lock);
    free_items(dropped);
    tell(self, &news);
}

/* Makes of a raw JSON string what the file has: UTF-8, of code without newlines at its end. */
static void make_plain(struct buffer *text, bool is_code)
{
    struct buffer plain = BUFFER_INIT;

    history_plain(buffer_slice(text), &plain);
    while (is_code && plain.n > 0 && plain.p[plain.n - 1] == '\n') {
        plain.n--;
    }
    buffer_release(text);
    *text = plain;
}

static struct history_line line_of(struct item *item)
{
    make_plain(&item->text, item->what != HISTORY_OUTPUT);
    return (struct history_line){
        .line = item->line, .kind = item->what, .text = buffer_slice(&item->text)};
}

/* Writes the lines that the list begins with, and moves it behind them. -> 0, -1. */
static int write_lines(struct history_keeper *self, struct item **at)
{
    struct history_news news = {.kind = HISTORY_NEWS_SESSION, .session = self->file.session};
    struct history_line line[BATCH];
    size_t count = 0;

    for (; *at && count < BATCH && (*at)->kind == ITEM_LINE; *at = (*at)->next) {
        line[count++] = line_of(*at);
    }
    if (history_file_write(&self->file, line, count) < 0) {
        return -1;
    }
    if (self->file.session != news.session) {
        news.session = self->file.session;
        tell(self, &news);
    }
    return 0;
}

static int answer(struct history_keeper *self, const struct item *item)
{
    struct history_news news = {.kind = HISTORY_NEWS_ROWS, .ask = item->ask};

    if (history_file_read(&self->file, &item->query, &news.rows) < 0) {
        return -1;
    }
    tell(self, &news);
    return 0;
}

/* -> 0, -1: the file is of no use. */
static int handle(struct history_keeper *self, struct item *item)
{
    int r = 0;

    while (item && r == 0) {
        switch (item->kind) {
        case ITEM_LINE:
            r = write_lines(self, &item);
            break;
        case ITEM_END:
            r = history_file_end(&self->file);
            self->ended++;
            item = item->next;
            break;
        case ITEM_ASK:
            r = answer(self, item);
            item = item->next;
            break;
        }
    }
    return r;
}

/* Waits until there is something that is due, and takes it. -> NULL: it is all over. */
static struct item *take_items(struct history_keeper *self)
{
    struct item *taken;

    (void)pthread_mutex_lock(&self->lock);
    while (!self->stopping && self->urgent == 0) {
        int64_t gather = self->has_file ? HISTORY_KEEPER_GATHER_MS : HISTORY_KEEPER_FIRST_MS;
        struct timespec due;

        if (!self->first) {
            (void)pthread_cond_wait(&self->changed, &self->lock);
            continue;
        }
        due = timespec_of(self->first->put_ms + gather);
        if (pthread_cond_timedwait(&self->changed, &self->lock, &due) == ETIMEDOUT) {
            break;
        }
    }
    taken = self->first;
    self->first = NULL;
    self->last = &self->first;
    self->items = self->bytes = self->urgent = 0;
    (void)pthread_mutex_unlock(&self->lock);
    return taken;
}

static int find_place(struct history_keeper *self)
{
    self->path = history_place_path(self->options);
    if (!self->path) {
        return -1;
    }
    history_file_init(&self->file, self->library, self->path, &self->hurry);
    return 0;
}

static void *run(void *arg)
{
    struct history_keeper *self = arg;
    struct item *items;
    int r = 0;

    while (r == 0 && (items = take_items(self)) != NULL) {
        if (!self->path) {
            r = find_place(self);
        }
        r = r < 0 ? r : handle(self, items);
        free_items(items);
        (void)pthread_mutex_lock(&self->lock);
        self->has_file = self->file.session != 0;
        (void)pthread_mutex_unlock(&self->lock);
    }
    if (r < 0) {
        give_up(self);
    }
    return NULL;
}

/* ---- the zloop's side --------------------------------------------------------------------- */

struct history_keeper *history_keeper_new(const struct options *options, const char *library)
{
    struct history_keeper *self = xcalloc(1, sizeof *self);
    pthread_condattr_t monotonic;
    int r;

    self->options = options;
    self->library = library;
    self->last = &self->first;
    self->last_news = &self->first_news;
    self->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)pthread_mutex_init(&self->lock, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&self->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    r = self->fd < 0 ? -errno : quiet_thread_start(&self->thread, run, self);
    if (r < 0) {
        if (self->fd >= 0) {
            (void)close(self->fd);
        }
        free(self);
        return NULL;
    }
    (void)pthread_setname_np(self->thread, "history");
    return self;
}

/* Takes the item. -> 0, -EAGAIN, -ESHUTDOWN. */
static int put(struct history_keeper *self, struct item *item)
{
    size_t bytes = item->text.n;
    bool is_urgent = item->kind == ITEM_ASK || item->kind == ITEM_END;
    int r = 0;

    item->put_ms = now_ms();
    (void)pthread_mutex_lock(&self->lock);
    if (self->off) {
        r = -ESHUTDOWN;
    } else if (item->kind != ITEM_END && (self->items >= HISTORY_KEEPER_ITEMS ||
                                          bytes > HISTORY_KEEPER_BYTES - self->bytes)) {
        r = -EAGAIN;
    } else {
        bool wake = is_urgent || !self->first; /* else it wakes by itself */

        *self->last = item;
        self->last = &item->next;
        self->items++;
        self->bytes += bytes;
        self->urgent += is_urgent ? 1 : 0;
        if (wake) {
            (void)pthread_cond_signal(&self->changed);
        }
    }
    (void)pthread_mutex_unlock(&self->lock);
    if (r < 0) {
        free_items(item);
    }
    return r;
}

int history_keeper_put(struct history_keeper *self, enum history_kind kind, int64_t line,
                       struct slice text)
{
    struct item *item = xcalloc(1, sizeof *item);

    item->kind = ITEM_LINE;
    item->what = kind;
    item->line = line;
    buffer_put_slice(&item->text, text);
    return put(self, item);
}

int history_keeper_put_end(struct history_keeper *self)
{
    struct item *item = xcalloc(1, sizeof *item);

    item->kind = ITEM_END;
    self->ends++;
    return put(self, item);
}

int history_keeper_ask(struct history_keeper *self, const struct history_query *query,
                       uint64_t number)
{
    struct item *item = xcalloc(1, sizeof *item);

    item->kind = ITEM_ASK;
    item->ask = number;
    item->query = *query;
    memset(&item->query.pattern, 0, sizeof item->query.pattern);
    buffer_put_slice(&item->query.pattern, buffer_slice(&query->pattern));
    return put(self, item);
}

bool history_keeper_destroy(struct history_keeper **self_p, int64_t wait_ms)
{
    struct history_keeper *self = *self_p;
    struct timespec until = timespec_of(now_ms() + wait_ms);
    struct history_news news;

    if (!self) {
        return true;
    }
    *self_p = NULL;
    atomic_store(&self->hurry, true);
    (void)history_keeper_put_end(self);
    (void)pthread_mutex_lock(&self->lock);
    self->stopping = true;
    (void)pthread_cond_signal(&self->changed);
    (void)pthread_mutex_unlock(&self->lock);
    if (pthread_clockjoin_np(self->thread, NULL, CLOCK_MONOTONIC, &until) != 0) {
        (void)pthread_detach(self->thread); /* it may stand in the disk for ever: all stays */
        return false;
    }
    while (history_keeper_take(self, &news)) {
        history_rows_release(&news.rows);
        free(news.text);
    }
    free_items(self->first);
    (void)close(self->fd);
    (void)pthread_cond_destroy(&self->changed);
    (void)pthread_mutex_destroy(&self->lock);
    free(self->path);
    free(self);
    return true;
}
