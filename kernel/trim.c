/*
 * Gives back bytes of files that only the start needed. Runs in the kernel process. Linux
 * only: /proc/self/smaps and what MADV_DONTNEED means there.
 *
 * Code, and what lies beside it in the same files: constants, and the names, hashes
 * and relocations that the dynamic linker went through. Only mappings that are not
 * writable and of which no page was ever changed ("Anonymous: 0") are touched:
 * those are the files' own bytes.
 */

#include "kernel/trim.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kernel/log.h"

struct mapping {
    uintptr_t start, end;
    bool is_file; /* its bytes are those of a file, which nobody here can change */
};

/* "7f00-7f10 r-xp 00001000 fe:00 1234   /usr/lib/libx.so" -> true: it begins a mapping. */
static bool begin(const char *line, struct mapping *ret_mapping)
{
    char *at;
    uintptr_t start = strtoull(line, &at, 16);

    if (*at != '-' || at == line) {
        return false;
    }
    ret_mapping->start = start;
    ret_mapping->end = strtoull(at + 1, &at, 16);
    ret_mapping->is_file =
        (strncmp(at, " r-xp ", 6) == 0 || strncmp(at, " r--p ", 6) == 0) && strchr(at, '/') != NULL;
    return true;
}

size_t trim_files(void)
{
    struct mapping mapping = {0, 0, false};
    FILE *smaps = fopen("/proc/self/smaps", "re");
    char line[4096];
    size_t given = 0;

    while (smaps && fgets(line, sizeof line, smaps)) {
        if (begin(line, &mapping) || !mapping.is_file || strncmp(line, "Anonymous:", 10) != 0) {
            continue;
        }
        if (strtoul(line + 10, NULL, 10) == 0 &&
            madvise((void *)mapping.start, mapping.end - mapping.start, MADV_DONTNEED) == 0) {
            given += mapping.end - mapping.start;
        }
    }
    if (smaps) {
        (void)fclose(smaps);
    }
    log_debug("%zu bytes of files unmapped", given);
    return given;
}
