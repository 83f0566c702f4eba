/*
 * The records of the ring, as the kernel reads them: hostile bytes that can
 * change while they are looked at. A header is copied out once and only the
 * copy is judged; every payload that will be parsed is copied, or lies in a
 * sealed memfd. One breach and the worker's word is worth nothing any more.
 * Owns the joined payload and the mapping of the current item.
 */

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bridge/link_consumer.h"
#include "bridge/link_futex.h"
#include "bridge/link_mapping.h"
#include "bridge/link_passing.h"

enum { KEEP_MIN = 64 << 10 }; /* bytes of a payload that is kept instead of copied again */

void link_records_free(struct link_consumer *self, uint64_t tail)
{
    struct link_page *page = self->memory.page;
    self->tail = tail;
    self->next_tail = tail;
    atomic_store(&page->tail, tail);
    atomic_fetch_add(&page->tail_changes, 1);
    if (atomic_load(&page->producer_waits) != 0) {
        link_futex_wake(&page->tail_changes);
    }
}

/* Copies the record's header out and judges it. -> bytes in the ring, 0: corrupt. */
static uint64_t read_record(struct link_consumer *self, const uint8_t *p,
                            struct link_record *ret_record)
{
    uint64_t there = self->head - self->tail;
    if (there < sizeof *ret_record) {
        return 0;
    }
    memcpy(ret_record, p, sizeof *ret_record);
    atomic_signal_fence(memory_order_seq_cst); /* the compiler must not read it again */
    uint32_t kind = ret_record->kind & LINK_KIND_MASK;
    uint32_t flags = ret_record->kind & ~(uint32_t)LINK_KIND_MASK;
    uint64_t room =
        (sizeof *ret_record + (uint64_t)ret_record->length + LINK_ALIGN - 1) & ~(uint64_t)15;
    bool fits = ret_record->length <= LINK_RECORD_MAX && room <= there;
    bool known = kind >= LINK_READY && kind < LINK_KIND_END && (flags & ~(uint32_t)LINK_FLAGS) == 0;
    bool stderr_ok = (flags & LINK_STDERR) == 0 || kind == LINK_STREAM;
    bool large_ok = (flags & LINK_LARGE) == 0 || (flags & LINK_MORE) == 0;
    return fits && known && stderr_ok && large_ok ? room : 0;
}

static int take_sync(struct link_consumer *self, const struct link_record *record, const uint8_t *p)
{
    struct link_sync sync;
    if (record->kind != LINK_SYNC || record->length != sizeof sync || self->joining) {
        return LINK_ECORRUPT;
    }
    memcpy(&sync, p, sizeof sync);
    atomic_signal_fence(memory_order_seq_cst);
    if (sync.position[0] < self->sync.position[0] || sync.position[1] < self->sync.position[1]) {
        return LINK_ECORRUPT;
    }
    self->sync = sync;
    self->syncing = true;
    return 0;
}

/*
 * The memfd that was sent with this serial. It can be received once, and is lost where no file
 * may be opened any more: so it gets the place of the spare one. -> fd, LINK_ECORRUPT.
 */
static int receive_memfd(struct link_consumer *self, uint64_t serial)
{
    uint64_t sent = 0;
    int fd = -1;
    if (self->spare >= 0) {
        close(self->spare);
        self->spare = -1;
    }
    ssize_t n = link_passing_receive(self->request, &sent, sizeof sent, MSG_DONTWAIT, &fd);
    if (n == (ssize_t)sizeof sent && sent == serial && fd >= 0) {
        return fd;
    }
    if (fd >= 0) {
        close(fd);
    }
    return LINK_ECORRUPT;
}

static int take_large(struct link_consumer *self, const struct link_record *record,
                      const uint8_t *p, struct slice *ret_payload)
{
    struct link_large large;
    if (record->length != sizeof large) {
        return LINK_ECORRUPT;
    }
    memcpy(&large, p, sizeof large);
    atomic_signal_fence(memory_order_seq_cst);
    if (large.serial != self->large_serial + 1) {
        return LINK_ECORRUPT;
    }
    int fd = receive_memfd(self, large.serial);
    int r = LINK_ECORRUPT;
    if (fd >= 0) {
        r = link_mapping_new(fd, large.size, &self->mapping);
        close(fd);
    }
    self->spare = fcntl(self->bell, F_DUPFD_CLOEXEC, 0);
    if (r != 0) {
        return LINK_ECORRUPT;
    }
    self->large_serial = large.serial;
    *ret_payload = link_mapping_slice(self->mapping);
    return 0;
}

/* Appends the record to the joined payload. -> 1: whole; 0: more follows; LINK_ECORRUPT. */
static int join(struct link_consumer *self, const struct link_record *record, const uint8_t *p)
{
    if (!self->joining) {
        buffer_clear(&self->joined);
    }
    if (record->length > LINK_PAYLOAD_MAX - self->joined.n) {
        return LINK_ECORRUPT;
    }
    buffer_put(&self->joined, p, record->length);
    self->joining = (record->kind & LINK_MORE) != 0;
    self->joined_kind = record->kind & ~(uint32_t)LINK_MORE;
    self->joined_request = record->request;
    return self->joining ? 0 : 1;
}

int link_records_take(struct link_consumer *self, struct link_item *ret_item)
{
    const uint8_t *p = self->memory.ring + (self->tail & (LINK_RING_SIZE - 1));
    const uint8_t *body = p + sizeof(struct link_record);
    struct link_record record;
    uint64_t room = read_record(self, p, &record);
    if (room == 0) {
        return LINK_ECORRUPT;
    }
    const uint32_t kind = record.kind & LINK_KIND_MASK;
    if (self->joining && ((record.kind & ~(uint32_t)LINK_MORE) != self->joined_kind ||
                          record.request != self->joined_request)) {
        return LINK_ECORRUPT;
    }
    struct slice payload = {body, record.length};
    uint64_t tail = self->tail + room;
    int r = 1;
    if (kind == LINK_SYNC) {
        r = take_sync(self, &record, body);
    } else if ((record.kind & LINK_LARGE) != 0) {
        r = take_large(self, &record, body, &payload) == 0 ? 1 : LINK_ECORRUPT;
    } else if (kind != LINK_STREAM || self->joining || (record.kind & LINK_MORE) != 0) {
        r = join(self, &record, body);
        payload = buffer_slice(&self->joined);
        if (r == 1 && payload.n >= KEEP_MIN) {
            self->mapping = link_mapping_adopt(&self->joined);
        }
    } else {
        self->next_tail = tail; /* the text stays in the ring until it is done with */
    }
    if (r < 0) {
        return r;
    }
    if (self->next_tail != tail) {
        link_records_free(self, tail);
    }
    if (r == 1) {
        *ret_item = (struct link_item){.kind = (enum link_kind)kind,
                                       .is_stderr = (record.kind & LINK_STDERR) != 0,
                                       .request = record.request,
                                       .payload = payload,
                                       .mapping = self->mapping};
    }
    return r;
}
