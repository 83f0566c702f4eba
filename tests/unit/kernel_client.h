#ifndef TESTS_UNIT_KERNEL_CLIENT_H
#define TESTS_UNIT_KERNEL_CLIENT_H

/*
 * The client's part in the tests of the kernel: signed messages, and what comes
 * back, its signatures verified.
 */

#include "kernel_stage.h"

static inline void stage_sign(struct signer *signer, const struct slice part[4], char *ret_text)
{
    signer_start(signer);
    for (int i = 0; i < 4; i++) {
        signer_add(signer, part[i]);
    }
    ret_text[signer_finish(signer, ret_text)] = '\0';
}

/*
 * A message of these parts (header, parent, metadata, content), from the delimiter on.
 * `signature` NULL: the right one.
 */
static inline zmsg_t *stage_message(struct stage *self, const char *const text[4],
                                    const char *signature)
{
    char hex[SIGN_HEX_MAX + 1];
    zmsg_t *message = zmsg_new();
    struct slice part[4];

    for (int i = 0; i < 4; i++) {
        part[i] = slice_of(text[i]);
    }
    stage_sign(self->signer, part, hex);
    zmsg_addstr(message, "<IDS|MSG>");
    zmsg_addstr(message, signature ? signature : hex);
    for (int i = 0; i < 4; i++) {
        zmsg_addstr(message, text[i]);
    }
    return message;
}

/* Sends signed parts from the client, and a buffer if it is not NULL. */
static inline void stage_send_parts(struct stage *self, zsock_t *socket, const char *const text[4],
                                    const char *buffer)
{
    zmsg_t *message = stage_message(self, text, NULL);

    if (buffer) {
        zmsg_addstr(message, buffer);
    }
    cr_assert(zmsg_send(&message, socket) == 0);
}

static inline void stage_send_as(struct stage *self, zsock_t *socket, const char *id,
                                 const char *type, const char *parent, const char *content)
{
    char header[STAGE_TEXT];

    (void)snprintf(header, sizeof header, "{\"msg_id\":\"%s\",\"msg_type\":\"%s\"}", id, type);
    stage_send_parts(self, socket, (const char *const[]){header, parent, "{}", content}, NULL);
}

/* A message whose parent_header is `parent`. Its id is "m" and the number of messages so far. */
static inline void stage_send_child(struct stage *self, zsock_t *socket, const char *type,
                                    const char *parent, const char *content)
{
    char id[16];

    (void)snprintf(id, sizeof id, "m%u", ++self->sent);
    stage_send_as(self, socket, id, type, parent, content);
}

static inline void stage_send(struct stage *self, enum channel channel, const char *type,
                              const char *content)
{
    stage_send_child(self, self->client[channel], type, "{}", content);
}

static inline void stage_execute(struct stage *self, const char *content)
{
    stage_send(self, CHANNEL_SHELL, "execute_request", content);
}

/* A message that the client got: the frames' texts with what is most asked for. */
struct told {
    zmsg_t *frames;
    const char *topic, *content; /* topic: the first frame, whatever it is */
    char type[80], parent[80];
};

static inline void told_release(struct told *self)
{
    zmsg_destroy(&self->frames);
}

static inline void stage_member(zframe_t *frame, const char *key, char *ret_text, size_t size)
{
    struct slice object = {zframe_data(frame), zframe_size(frame)}, raw;
    struct buffer text = BUFFER_INIT;

    if (json_object_get_kind(object, key, JSON_STRING, &raw) == 0) {
        json_string_decode(raw, &text);
    }
    (void)snprintf(ret_text, size, "%.*s", (int)text.n, (const char *)text.p);
    buffer_release(&text);
}

/* The next message on a client's socket, its signature verified. */
static inline void stage_receive_at(struct stage *self, zsock_t *socket, struct told *ret_told)
{
    struct slice part[4];
    zframe_t *frame, *signature;
    char hex[SIGN_HEX_MAX + 1];

    stage_wait(self, socket);
    ret_told->frames = zmsg_recv(socket);
    frame = zmsg_first(ret_told->frames);
    ret_told->topic = (const char *)zframe_data(frame);
    while (frame && !zframe_streq(frame, "<IDS|MSG>")) {
        frame = zmsg_next(ret_told->frames);
    }
    cr_assert(frame);
    signature = zmsg_next(ret_told->frames);
    for (int i = 0; i < 4; i++) {
        frame = zmsg_next(ret_told->frames);
        cr_assert(frame);
        part[i] = (struct slice){zframe_data(frame), zframe_size(frame)};
        if (i == 0) {
            stage_member(frame, "msg_type", ret_told->type, sizeof ret_told->type);
        } else if (i == 1) {
            stage_member(frame, "msg_id", ret_told->parent, sizeof ret_told->parent);
        }
    }
    stage_sign(self->signer, part, hex);
    cr_assert(zframe_streq(signature, hex), "the signature is wrong");
    /* As a text: with a NUL of its own. */
    ret_told->content = "";
    if (zframe_size(frame) < (size_t)1 << 16) {
        char *text = zframe_strdup(frame);

        zmsg_addmem(ret_told->frames, text, strlen(text) + 1);
        free(text);
        ret_told->content = (const char *)zframe_data(zmsg_last(ret_told->frames));
    }
}

static inline void stage_receive(struct stage *self, enum channel channel, struct told *ret_told)
{
    stage_receive_at(self, self->client[channel], ret_told);
}

/* The next message there must be of that type, that parent, and have that in its content. */
static inline void stage_expect(struct stage *self, enum channel channel, const char *type,
                                const char *parent, const char *fragment)
{
    struct told told;

    stage_receive(self, channel, &told);
    cr_assert(strcmp(told.type, type) == 0 && strcmp(told.parent, parent) == 0 &&
                  strstr(told.content, fragment) != NULL,
              "%s for %s with %s wanted on %s, not %s for %s: %s", type, parent, fragment,
              channel_names[channel], told.type, told.parent, told.content);
    told_release(&told);
}

static inline void stage_expect_status(struct stage *self, const char *parent, const char *state)
{
    stage_expect(self, CHANNEL_IOPUB, "status", parent, state);
}

/* One request of its own: what had come before it has been seen to. IOPub is not read. */
static inline void stage_turn(struct stage *self)
{
    struct told told;
    char id[16];

    cr_assert_lt(self->turns, STAGE_TURNS_MAX, "waited in vain for what turns should bring");
    (void)snprintf(id, sizeof id, "turn %u", ++self->turns);
    stage_send_as(self, self->client[CHANNEL_CONTROL], id, "connect_request", "{}", "{}");
    stage_receive(self, CHANNEL_CONTROL, &told);
    cr_assert_str_eq(told.parent, id);
    told_release(&told);
}

#endif
