#ifndef KERNEL_MEMORY_GROUP_H
#define KERNEL_MEMORY_GROUP_H

/*
 * What Linux says about the memory of the cgroup that this process is in, and
 * whom its OOM killer has ended. cgroup v1 and v2: "Memory Resource Controller"
 * and "Control Group v2" in the kernel's documentation.
 */

#include <stdbool.h>
#include <stdint.h>

#include "bridge/buffer.h"

enum { MEMORY_GROUP_NAME = 512 };

struct memory_group {
    bool counts;                  /* `kills` is known */
    uint64_t kills;               /* processes of our group that the OOM killer ended so far */
    bool machine_counts;          /* `machine_kills` is known */
    uint64_t machine_kills;       /* the same of the whole machine (/proc/vmstat) */
    char name[MEMORY_GROUP_NAME]; /* of the group above or at ours that has the least limit */
    uint64_t limit;               /* its limit in bytes; 0: there is none */
    uint64_t used;                /* what it uses now */
    uint64_t peak;                /* what it has used at most; 0: the system does not say */
};

/* Reads it all. `root` stands before /proc and the cgroup's mount point: "" but in tests. */
void memory_group_read(const char *root, struct memory_group *ret_group);

/* Has the OOM killer ended a process between the two? Of our group; or of the machine. */
bool memory_group_killed(const struct memory_group *before, const struct memory_group *after);

/* Appends the group's limit, use and counter in words, two reads apart; no NUL. */
void memory_group_put_words(const struct memory_group *before, const struct memory_group *after,
                            struct buffer *ret_text);

/* Appends a number of bytes as people say it: "512.0 MiB". */
void memory_put_size(uint64_t bytes, struct buffer *ret_text);

#endif
