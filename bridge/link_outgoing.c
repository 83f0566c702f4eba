/*
 * A payload on its way out: gathering its parts, and the memfd for a large
 * one. The worker fills a memfd before it takes the producer's lock, so other
 * threads print on meanwhile. Both processes run it. Owns nothing but an fd
 * until it is handed over.
 */

#include "bridge/link_outgoing.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

void link_outgoing_copy(struct link_outgoing *self, uint8_t *to, size_t n)
{
    while (n > 0) {
        struct slice from = self->index == 0 ? self->head : self->part[self->index - 1];
        size_t now = from.n - self->offset;
        now = now < n ? now : n;
        if (now > 0) {
            memcpy(to, from.p + self->offset, now);
        }
        to += now;
        n -= now;
        self->offset += now;
        if (n > 0) {
            self->index++;
            self->offset = 0;
        }
    }
}

static int write_all(int fd, struct slice bytes)
{
    while (bytes.n > 0) {
        ssize_t n = write(fd, bytes.p, bytes.n);
        if (n < 0 && errno != EINTR) {
            return -errno;
        }
        if (n > 0) {
            bytes.p += n;
            bytes.n -= (size_t)n;
        }
    }
    return 0;
}

int link_outgoing_memfd(const struct link_outgoing *self)
{
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
    int fd = memfd_create("einkorn-payload", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        return -errno;
    }
    int r = write_all(fd, self->head);
    for (size_t i = 0; r == 0 && i < self->count; i++) {
        r = write_all(fd, self->part[i]);
    }
    if (r == 0 && fcntl(fd, F_ADD_SEALS, seals) != 0) {
        r = -errno;
    }
    if (r != 0) {
        close(fd);
        return r;
    }
    return fd;
}
