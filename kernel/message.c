/*
 * Sends messages to one client. Runs in the kernel process, on the thread of
 * the socket.
 */

#include "kernel/message.h"

#include <errno.h>
#include <inttypes.h>

#include "bridge/json_text.h"
#include "kernel/log.h"

enum { HEADER, PARENT, METADATA, CONTENT, PARTS };

static int send_frame(void *socket, struct slice bytes, bool more)
{
    int flags = ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0);

    return zmq_send(socket, bytes.p, bytes.n, flags) == -1 ? -errno : 0;
}

int message_send(void *socket, struct session *session, struct signer *signer,
                 const struct origin *to, const char *type, struct slice metadata,
                 struct slice content, struct buffer *ret_msg_id)
{
    struct buffer header = BUFFER_INIT;
    struct slice part[PARTS], raw;
    char hex[SIGN_HEX_MAX];
    size_t hex_n;
    int r = 0;

    session_put_header(session, type, &header);
    part[HEADER] = buffer_slice(&header);
    part[PARENT] = to->header;
    part[METADATA] = metadata;
    part[CONTENT] = content;
    signer_start(signer);
    for (size_t i = 0; i < PARTS; i++) {
        signer_add(signer, part[i]);
    }
    hex_n = signer_finish(signer, hex);

    for (size_t i = 0; i < to->identities && r == 0; i++) {
        r = send_frame(socket, to->identity[i], true);
    }
    if (r == 0) {
        r = send_frame(socket, slice_of("<IDS|MSG>"), true);
    }
    if (r == 0) {
        r = send_frame(socket, (struct slice){(const uint8_t *)hex, hex_n}, true);
    }
    for (size_t i = 0; i < PARTS && r == 0; i++) {
        r = send_frame(socket, part[i], i + 1 < PARTS);
    }
    if (r == 0 && ret_msg_id &&
        json_object_get_kind(part[HEADER], "msg_id", JSON_STRING, &raw) == 0) {
        json_string_decode(raw, ret_msg_id);
    }
    buffer_release(&header);
    return r;
}

/* Of a client that reads nothing: the first, the second, the fourth…, for there may be many. */
void message_tell_lost(int r, const char *what, uint64_t *dropped)
{
    if (r == -EAGAIN) {
        uint64_t n = ++*dropped;

        if ((n & (n - 1)) == 0) {
            log_warning("%s dropped: its client takes none (%" PRIu64 " dropped so far)", what, n);
        }
    } else if (r < 0) {
        log_debug("%s not sent: %s", what, zmq_strerror(-r));
    }
}
