/*
 * The worker's fds as the text of a command line argument: written by the
 * kernel, read by the launcher after exec. Owns nothing but what
 * link_fds_close closes.
 */

#include "bridge/link.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

void link_fds_format(const struct link_fds *self, char ret_text[LINK_FDS_TEXT])
{
    (void)snprintf(ret_text, LINK_FDS_TEXT, "%d,%d,%d,%d,%d,%d", self->memory, self->bell,
                   self->request, self->pipe[0], self->pipe[1], self->side);
}

/* One number, then `end`. -> the text behind it, NULL. */
static const char *parse_fd(const char *text, char end, int *ret_fd)
{
    long value = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9' && value <= INT_MAX; p++) {
        value = value * 10 + (*p - '0');
    }
    if (p == text || *p != end || value > INT_MAX) {
        return NULL;
    }
    *ret_fd = (int)value;
    return end == '\0' ? p : p + 1;
}

int link_fds_parse(const char *text, struct link_fds *ret_fds)
{
    struct link_fds fds;
    int *const field[] = {&fds.memory,  &fds.bell,    &fds.request,
                          &fds.pipe[0], &fds.pipe[1], &fds.side};
    enum { FIELDS = sizeof field / sizeof field[0] };
    for (size_t i = 0; i < FIELDS; i++) {
        text = parse_fd(text, i + 1 < FIELDS ? ',' : '\0', field[i]);
        if (text == NULL) {
            return -EINVAL;
        }
    }
    *ret_fds = fds;
    return 0;
}

void link_fds_close(struct link_fds *self)
{
    int *const field[] = {&self->memory,  &self->bell,    &self->request,
                          &self->pipe[0], &self->pipe[1], &self->side};
    for (size_t i = 0; i < sizeof field / sizeof field[0]; i++) {
        if (*field[i] >= 0) {
            close(*field[i]);
        }
        *field[i] = -1;
    }
}
