/*
 * Futexes and the lock made of them. Both processes run it. The futexes are
 * not PRIVATE: the ring's words are shared, and one form is enough. The lock
 * exists because a thread that waits for a producer that waits for the kernel
 * must still be interruptible. Owns nothing.
 */

#include "bridge/link_futex.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LOCK_FREE = 0, LOCK_HELD = 1, LOCK_CONTENDED = 2 };

int link_futex_wait(_Atomic uint32_t *word, uint32_t seen)
{
    long r = syscall(SYS_futex, word, FUTEX_WAIT, seen, NULL, NULL, 0);
    return r != 0 && errno == EINTR ? -EINTR : 0;
}

void link_futex_wake(_Atomic uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

bool link_lock_try(struct link_lock *self)
{
    uint32_t expected = LOCK_FREE;
    return atomic_compare_exchange_strong(&self->state, &expected, LOCK_HELD);
}

int link_lock_wait(struct link_lock *self)
{
    /* Who slept once takes it as contended: others may sleep still. */
    while (atomic_exchange(&self->state, LOCK_CONTENDED) != LOCK_FREE) {
        if (link_futex_wait(&self->state, LOCK_CONTENDED) == -EINTR) {
            return -EINTR;
        }
    }
    return 0;
}

void link_lock_release(struct link_lock *self)
{
    if (atomic_exchange(&self->state, LOCK_FREE) == LOCK_CONTENDED) {
        link_futex_wake(&self->state);
    }
}
