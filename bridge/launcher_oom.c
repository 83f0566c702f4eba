/*
 * Out of memory, Linux chooses a process to kill by its size and its
 * oom_score_adj. The worker makes itself the likelier choice, so that the kernel
 * process stays to tell the user. Children inherit it; nothing but root can take
 * it back. Worker, once, before Python.
 */

#include <stdio.h>
#include <stdlib.h>

#include "bridge/launcher.h"

void launcher_volunteer_for_oom(void)
{
    enum { MORE = 200, MOST = 1000 }; /* proc(5): a thousandth of the memory each */
    FILE *file = fopen("/proc/self/oom_score_adj", "r+e");
    char text[32];
    if (file == NULL) {
        return; /* without it the choice is by size alone */
    }
    if (fgets(text, sizeof text, file) != NULL && fseek(file, 0, SEEK_SET) == 0) {
        long score = strtol(text, NULL, 10);
        (void)fprintf(file, "%ld", score + MORE < MOST ? score + MORE : (long)MOST);
    }
    (void)fclose(file);
}
