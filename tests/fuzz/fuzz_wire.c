/*
 * Fuzz target: the frames of a message.
 *
 * The bytes are frames, each after its length in two bytes, low byte first. The
 * key is empty, so the signature check is passed by an empty frame and the JSON
 * behind it is reached. Whatever is accepted must hold what wire.h promises.
 */

#include <stdint.h>
#include <stdlib.h>

#include "bridge/check.h"
#include "bridge/json_text.h"
#include "kernel/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* A message is too large for the stack; only the frames in use are touched. */
static struct wire_message message;

static void take_frames(const uint8_t *data, size_t n)
{
    size_t at = 0;
    while (n - at >= 2 && message.frames < WIRE_FRAMES_MAX) {
        size_t size = data[at] | (size_t)data[at + 1] << 8;
        at += 2;
        size = size < n - at ? size : n - at;
        zmq_msg_t *frame = &message.frame[message.frames++];
        CHECK(zmq_msg_init_size(frame, size) == 0);
        if (size > 0) {
            memcpy(zmq_msg_data(frame), data + at, size);
        }
        at += size;
    }
}

static void check_opened(void)
{
    enum json_kind kind;
    CHECK(message.identities <= WIRE_IDENTITIES_MAX);
    CHECK(message.first_buffer >= message.identities + 6);
    CHECK(message.first_buffer <= message.frames);
    CHECK(message.header.n <= WIRE_HEADER_MAX && message.parent_header.n <= WIRE_HEADER_MAX);
    CHECK(json_check(message.header, WIRE_DEPTH_MAX, &kind) == 0 && kind == JSON_OBJECT);
    CHECK(json_kind_of(message.msg_id) == JSON_STRING);
    CHECK(json_kind_of(message.msg_type) == JSON_STRING);
    CHECK((message.content_error != 0) == (message.bad_part != NULL));
    if (message.content_error == 0) {
        struct slice value;
        CHECK(json_object_find(message.content, "code", &value) != JSON_EKIND);
        CHECK(json_object_find(message.metadata, "cellId", &value) != JSON_EKIND);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct signer *signer;
    static struct replay *replay;
    if (signer == NULL) {
        CHECK(signer_new("hmac-sha256", slice_of(""), &signer) == 0);
        replay = replay_new(REPLAY_WINDOW);
    }
    take_frames(data, n);
    int error = wire_open(&message, signer, replay);
    if (error == 0) {
        check_opened();
    } else {
        CHECK(wire_error_text(error) != NULL);
    }
    wire_message_release(&message);
    return 0;
}
