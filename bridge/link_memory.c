/*
 * The shared memory of the door: one sealed memfd, the page, the ring, the area.
 * The ring is mapped twice in a row, so a record that crosses its end is
 * contiguous for both sides and nothing ever wraps. The seals keep the size:
 * no access inside the mapping can end in SIGBUS. Both processes run it. It
 * owns the mapping, not the fd.
 */

#include "bridge/link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAGIC = 0x6b6e6965, /* "eink" */
    FILE_SIZE = LINK_PAGE_SIZE + LINK_RING_SIZE + LINK_AREA_SIZE,
    MAP_SIZE = FILE_SIZE + LINK_RING_SIZE,
    AREA_AT = LINK_PAGE_SIZE + LINK_RING_SIZE, /* in the file */
    SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL,
};

_Static_assert(sizeof(struct link_page) <= LINK_PAGE_SIZE, "the page has its room");
_Static_assert((LINK_RING_SIZE & (LINK_RING_SIZE - 1)) == 0, "positions are masked");
_Static_assert(sizeof(struct link_record) == LINK_ALIGN, "bodies are aligned like headers");
_Static_assert(ATOMIC_INT_LOCK_FREE == 2 && ATOMIC_LLONG_LOCK_FREE == 2,
               "processes share atomics only where no hidden lock is behind them");

int link_memory_create(int *ret_fd)
{
    int fd = memfd_create("einkorn-door", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        return -errno;
    }
    const uint32_t start[2] = {MAGIC, LINK_VERSION};
    if (ftruncate(fd, FILE_SIZE) != 0 || fcntl(fd, F_ADD_SEALS, SEALS) != 0 ||
        pwrite(fd, start, sizeof start, offsetof(struct link_page, magic)) < 0) {
        int error = errno;
        close(fd);
        return -error;
    }
    *ret_fd = fd;
    return 0;
}

int link_memory_map(int fd, struct link_memory *ret_memory)
{
    struct stat stat;
    if (fstat(fd, &stat) != 0) {
        return -errno;
    }
    if (stat.st_size != FILE_SIZE || (fcntl(fd, F_GET_SEALS) & SEALS) != SEALS) {
        return LINK_ECORRUPT;
    }
    uint8_t *p = mmap(NULL, MAP_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        return -errno;
    }
    const int access = PROT_READ | PROT_WRITE;
    uint8_t *mirror = p + AREA_AT;
    uint8_t *area = mirror + LINK_RING_SIZE;
    if (mmap(p, AREA_AT, access, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED ||
        mmap(mirror, LINK_RING_SIZE, access, MAP_SHARED | MAP_FIXED, fd, LINK_PAGE_SIZE) ==
            MAP_FAILED ||
        mmap(area, LINK_AREA_SIZE, access, MAP_SHARED | MAP_FIXED, fd, AREA_AT) == MAP_FAILED) {
        int error = errno;
        munmap(p, MAP_SIZE);
        return -error;
    }
    struct link_page *page = (struct link_page *)(void *)p;
    if (page->magic != MAGIC || page->version != LINK_VERSION) {
        munmap(p, MAP_SIZE);
        return LINK_ECORRUPT;
    }
    *ret_memory = (struct link_memory){.page = page, .ring = p + LINK_PAGE_SIZE, .area = area};
    return 0;
}

int link_memory_hide_from_forks(struct link_memory *self)
{
    return madvise(self->page, MAP_SIZE, MADV_DONTFORK) == 0 ? 0 : -errno;
}

void link_memory_release(struct link_memory *self)
{
    if (self->page != NULL) {
        munmap(self->page, MAP_SIZE);
    }
    *self = (struct link_memory){NULL, NULL, NULL};
}
