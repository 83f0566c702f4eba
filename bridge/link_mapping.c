/*
 * A large payload where it is read: the other side's memfd, mapped, or in the
 * kernel its private copy of what came in records. Only sealed memfds are taken,
 * so neither their bytes nor their size can change and reading them can neither
 * surprise a parser nor end in SIGBUS. ZeroMQ and Python keep references, and
 * drop the last one on any thread, so the count is atomic. Both processes run
 * it. Owns the bytes; the fd stays the caller's.
 */

#include "bridge/link_mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "bridge/xalloc.h"

struct link_mapping {
    _Atomic uint32_t references;
    void *p;
    size_t n;
    bool is_heap; /* else p is from mmap */
};

/* Huge pages are refused: they are mapped in other units, and can run out. */
static bool trustworthy(int fd, uint64_t size)
{
    const int wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    struct stat stat;
    struct statfs filesystem;
    int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & wanted) == wanted && fstat(fd, &stat) == 0 && stat.st_size >= 0 &&
           (uint64_t)stat.st_size == size && fstatfs(fd, &filesystem) == 0 &&
           filesystem.f_type != HUGETLBFS_MAGIC;
}

int link_mapping_new(int fd, uint64_t size, struct link_mapping **ret_mapping)
{
    if (size == 0 || size > LINK_PAYLOAD_MAX || !trustworthy(fd, size)) {
        return LINK_ECORRUPT;
    }
    /* MAP_SHARED of a write-sealed memfd fails before Linux 6.7. */
    void *p = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) {
        return -errno;
    }
    struct link_mapping *self = xmalloc(sizeof *self);
    *self = (struct link_mapping){.references = 1, .p = p, .n = (size_t)size};
    *ret_mapping = self;
    return 0;
}

struct link_mapping *link_mapping_adopt(struct buffer *bytes)
{
    struct link_mapping *self = xmalloc(sizeof *self);
    *self = (struct link_mapping){.references = 1, .is_heap = true};
    self->p = buffer_detach(bytes, &self->n);
    return self;
}

struct slice link_mapping_slice(const struct link_mapping *self)
{
    return (struct slice){self->p, self->n};
}

struct link_mapping *link_mapping_ref(struct link_mapping *self)
{
    atomic_fetch_add(&self->references, 1);
    return self;
}

void link_mapping_unref(struct link_mapping *self)
{
    if (self != NULL && atomic_fetch_sub(&self->references, 1) == 1) {
        if (self->is_heap) {
            free(self->p);
        } else {
            munmap(self->p, self->n);
        }
        free(self);
    }
}
