/*
 * A bucket with a hole: see pace.h. Runs in the kernel process. Owns nothing,
 * and knows no clock.
 */

#include "kernel/pace.h"

enum { US_PER_SEC = 1000000 };

size_t pace_level(const struct pace *self, int64_t now_us)
{
    int64_t passed = now_us > self->at_us ? now_us - self->at_us : 0;
    uint64_t seconds = (uint64_t)passed / US_PER_SEC, rest = (uint64_t)passed % US_PER_SEC;
    uint64_t gone = rest * self->per_sec / US_PER_SEC;

    if (seconds > self->level / (self->per_sec > 0 ? self->per_sec : 1)) {
        return 0;
    }
    gone += seconds * self->per_sec;
    return gone < self->level ? self->level - (size_t)gone : 0;
}

void pace_add(struct pace *self, int64_t now_us, size_t amount)
{
    self->level = pace_level(self, now_us) + amount;
    self->at_us = now_us;
}
