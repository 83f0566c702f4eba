#ifndef KERNEL_SIGN_H
#define KERNEL_SIGN_H

/*
 * Signatures of messages (Messaging spec, "The wire protocol") and the window
 * that refuses replays.
 */

#include "bridge/slice.h"

enum {
    SIGN_HEX_MAX = 128,
    SIGN_KEY_MAX = 4096, /* bytes of a key */
};

/*
 * One HMAC computation at a time: whoever signs in slices and verifies between
 * them needs two. Its key lives in locked memory.
 */
struct signer;

/*
 * `scheme` is "hmac-" and a digest that OpenSSL has, by OpenSSL's or Python's
 * name ("hmac-sha256", "hmac-sha3_256", "hmac-blake2b"); an empty key makes a
 * signer whose signatures are empty, and the scheme does not matter.
 * -> 0, -EINVAL: no such scheme, or the key is over SIGN_KEY_MAX.
 */
int signer_new(const char *scheme, struct slice key, struct signer **ret_signer);
void signer_destroy(struct signer **self_p);

/* Lowercase hex of the HMAC over the parts in order. In steps, for long ones. */
void signer_start(struct signer *self);
void signer_add(struct signer *self, struct slice part);
size_t signer_finish(struct signer *self, char ret_hex[SIGN_HEX_MAX]); /* -> bytes of it */

/* Constant-time comparison; with an empty key only the empty signature is right. */
bool signer_verify(struct signer *self, const struct slice *part, size_t count,
                   struct slice signature);

/*
 * The signatures seen last, of any length (an empty one is never stored).
 * Oldest out first. Takes 24 bytes for each of them, as they come.
 */
enum { REPLAY_WINDOW = 65536 };
struct replay;
struct replay *replay_new(size_t capacity); /* 1 to REPLAY_WINDOW */
void replay_destroy(struct replay **self_p);
bool replay_has(const struct replay *self, struct slice signature);

/* After verification only. One that is there already stays at its age. */
void replay_store(struct replay *self, struct slice signature);

#endif
